"""What wider vectors and fewer bits buy, measured: operations by lanes, values read by bytes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import sqrt

from memlab import strings, units
from memlab.bench import curves, lanes, reading
from memlab.bench.curves import GAIN, Curve, Measured
from memlab.bench.reading import Rate, Reading
from memlab.studies.figures import Study, billions, ratio, share
from memlab.studies.timings import origin, where
from memlab.views.draw.chart import Axis, Chart
from memlab.views.draw.labels import Label, Text
from memlab.views.draw.marks import Fact, Line, Mark, Points, Rule
from memlab.views.draw.page import Page, Still, report
from memlab.views.draw.scale import powers_around
from memlab.views.draw.table import Table, Words
from memlab.views.draw.ways import Names, Way, drawn

WARP_BITS, WARP_LANES = 32, 32
"""Bits of a value, and threads, of a GPU warp."""
FAR = 8
"""How many times the knee's lanes linear is drawn for."""


@dataclass(frozen=True, repr=False)
class VectorLanes(Still, Study):
    """Operations per second against the lanes of a vector, and where each format stops to gain."""

    measured: Measured

    @property
    def reference(self) -> Curve:
        """The format whose lanes the marks count: fp32 where it was measured, else the first."""
        named = {each.format: each for each in self.measured.curves}
        return named.get("fp32", self.measured.curves[0])

    @property
    def title(self) -> str:
        found = self.measured
        lanes = [point.lanes for curve in found.curves for point in curve.points]
        return strings.get(
            "lanes.title_forced" if found.target else "lanes.title",
            least=min(lanes),
            most=max(lanes),
            processor=found.machine.processor,
            target=found.target,
        )

    @property
    def sentences(self) -> list[str]:
        """Which width was found, and how; what the registers hold, and how that is known."""
        one = self.reference
        return [width(one), *fall(one), f"{self.registers} {self._agreement}"]

    @property
    def registers(self) -> str:
        """The width by the processor's features, or by those of the target that was forced."""
        found, one = self.measured, self.reference
        kind = "forced" if found.target else "plain"
        key = "lanes.registers" if found.feature and not found.target else f"lanes.registers_{kind}"
        values = {"bits": found.bits, "lanes": found.bits // one.bits, "format": one.format}
        return strings.get(key, **values, feature=found.feature)

    @property
    def _agreement(self) -> str:
        """The measured width beside that of the registers."""
        bits, one = self.measured.bits, self.reference
        if not one.ends:
            return ""
        if one.width == bits:
            return strings.get("lanes.agree")
        if one.width < bits:
            return strings.get("lanes.parts", bits=bits, count=bits // one.width, part=one.width)
        return strings.get("lanes.wider", count=one.width // bits)

    @property
    def details(self) -> list[str]:
        """The other formats, and what the compiler does by itself."""
        found, one = self.measured, self.reference
        others = [each for each in found.curves if each is not one]
        lines = [" ".join([width(each), *fall(each)]) for each in others]
        if others:
            values = curves.ratios(found)
            listed = " : ".join(map(ratio, values.values()))
            lines.append(strings.get("lanes.ratios", formats=" : ".join(values), ratios=listed))
        if any(each.falls for each in found.curves):
            lines.append(strings.get("lanes.falls", registers=found.registers))
        return [*lines, self._chosen]

    @property
    def _chosen(self) -> str:
        found = self.measured
        if not found.chosen_bits:
            return strings.get("lanes.chosen_none")
        counts = [
            strings.get("lanes.register_count", kind=kind, count=count)
            for kind, count in found.chosen.items()
        ]
        return strings.get("lanes.chosen", bits=found.chosen_bits, counts=", ".join(counts))

    @property
    def notes(self) -> list[str]:
        found = self.measured
        missing, count = ", ".join(found.missing), len(found.curves[0].points[0].samples)
        clock = strings.get(f"lanes.{found.clock}")
        return [
            *([strings.get("lanes.missing", formats=missing)] if missing else []),
            strings.get("lanes.samples", count=count, clock=clock),
            where(found.machine),
        ]

    @property
    def marks(self) -> list[tuple[int, str]]:
        """Lanes of the reference that are marked, each with its label, from few to many."""
        found, one = self.measured, self.reference
        feature = found.feature or strings.get("lanes.mark.unnamed")
        if found.target:
            feature = strings.get("lanes.mark.forced", feature=feature)
        lanes = found.bits // one.bits
        values = {"bits": found.bits, "lanes": lanes, "format": one.format, "feature": feature}
        if one.ends and one.width == found.bits:
            lines = [(lanes, strings.get("lanes.mark.both", **values))]
        else:
            lines = [(lanes, strings.get("lanes.mark.registers", **values))]
            if one.ends:
                knee = {"bits": one.width, "lanes": one.knee.lanes, "format": one.format}
                lines.append((one.knee.lanes, strings.get("lanes.mark.measured", **knee)))
        if one.bits == WARP_BITS:
            warp = strings.get("lanes.mark.warp", lanes=WARP_LANES, format=one.format)
            lines.append((WARP_LANES, warp))
        return sorted(lines)

    def page(self) -> Page:
        marked = [f"{n} {strings.get('lanes.lanes')}: {label}." for n, label in self.marks]
        return report(
            self,
            _rates(self),
            Words(marked, drawn=False, gap=1),
            Words(self.details, 11, dim=True, gap=8),
        )


def width(curve: Curve) -> str:
    """The width of one format by its own curve."""
    values = {
        "format": curve.format,
        "lanes": curve.knee.lanes,
        "bits": curve.width,
        "deviation": share(curve.deviation),
    }
    if not curve.ends:
        return strings.get("lanes.unbroken", **values)
    more = strings.get("lanes.more", gain=share(curve.gain))
    beyond = more if curve.gain else strings.get("lanes.no_more")
    return strings.get("lanes.measured", **values, beyond=beyond)


def fall(curve: Curve) -> list[str]:
    """How deep the slowest loop beyond the knee falls, where one does."""
    if not curve.falls:
        return []
    knee = curve.knee
    wider = [each for each in curve.points if each.lanes > knee.lanes]
    low = min(wider, key=lambda each: each.rate)
    part = ratio(low.rate / knee.rate)
    values = {"format": curve.format, "lanes": low.lanes, "part": part, "ring": knee.lanes}
    return [strings.get("lanes.fall", **values)]


def bend(curve: Curve) -> str:
    """Where a curve bends: ``'57.0 at 4 lanes, 128 bits'``."""
    knee = curve.knee
    number = billions(knee.rate)
    return strings.get("lanes.at", number=number, lanes=knee.lanes, bits=curve.width)


def _rates(found: VectorLanes) -> Chart:
    measured, one = found.measured, found.reference
    points = [point for curve in measured.curves for point in curve.points]
    counts = [*(point.lanes for point in points), *(lanes for lanes, _ in found.marks)]
    rates = [*(point.rate for point in points), one.linear(_last(one))]
    up = powers_around(rate / 1e9 for rate in rates)
    ways = [_way_of(found, curve) for curve in measured.curves]
    knees = [(c.knee.lanes, c.knee.rate / 1e9) for c in measured.curves if c.ends]
    rings = [Points(knees, "ring", 18)] if knees else []
    return Chart(
        powers_around(counts),
        up,
        [*_widths(found, up.last), *_linear(one), *rings, *drawn(ways), Names(ways, 14, 15)],
        300,
        Axis(strings.get("lanes.lanes"), strings.get("lanes.ring", gain=f"{GAIN:g}")),
        Axis(strings.get("lanes.rate"), strings.get("lanes.doublings")),
        right=220,
        above=15 * len(found.marks),
        told=_by_lanes(found),
        gap=8,
    )


def _last(curve: Curve) -> int:
    """As far as linear is drawn: far enough beyond the knee to see the two part."""
    return min(FAR * curve.knee.lanes, curve.points[-1].lanes)


def _widths(found: VectorLanes, top: float) -> list[Mark]:
    """Lines down from labels: the more lanes, the higher the label, so that none crosses one."""
    marks: list[Mark] = []
    for index, (count, label) in enumerate(found.marks):
        dy = -8.0 - 15 * index
        rule = Rule(count, look="before thin", above=-dy - 4)
        marks += [rule, Text(count, top, label, 11, "end", 4, dy, chip=True, held=True)]
    return marks


def _linear(curve: Curve) -> list[Mark]:
    """What each lane would add if all added as much."""
    last = _last(curve)
    line = [(each.lanes, curve.linear(each.lanes) / 1e9) for each in curve.points]
    line = [(lanes, rate) for lanes, rate in line if lanes <= last]
    places = [(*place, "end", -10, -6) for place in reversed(line)]
    places += [(*place, "start", 10, 18) for place in reversed(line)]
    label = strings.get("lanes.linear", format=curve.format)
    return [Line([line[0], line[-1]], "before"), Label(label, places, 11, chip=True)]


def _way_of(found: VectorLanes, curve: Curve) -> Way:
    """Format, rate and width at the end of its line."""
    places, facts = [(point.lanes, point.rate / 1e9) for point in curve.points], []
    for point in curve.points:
        name = f"{curve.format}, {point.lanes} {strings.get('lanes.lanes')}"
        value = strings.get("lanes.operations", rate=billions(point.rate))
        facts.append(Fact(name, value, more=origin(point.samples, found.measured.machine)))
    label = [(curve.format, True), (f" {bend(curve)}", False)]
    return Way([label], places, facts, places[-1])


def _by_lanes(found: VectorLanes) -> Table:
    """A line for each number of lanes, a column for each format; a star at each knee."""
    curves = found.measured.curves
    lanes = sorted({point.lanes for curve in curves for point in curve.points})
    heads = [strings.get("lanes.lanes"), *(curve.format for curve in curves)]
    rows = [[str(count), *(_cell(curve, count) for curve in curves)] for count in lanes]
    return Table(heads, rows, title=f"{strings.get('lanes.rate')}:")


def _cell(curve: Curve, lanes: int) -> str:
    found = [point for point in curve.points if point.lanes == lanes]
    if not found:
        return "- "
    knee = curve.ends and lanes == curve.knee.lanes
    return billions(found[0].rate) + ("*" if knee else " ")


def vector_lanes(
    formats: Iterable[str] = lanes.FORMATS, target: str | None = None, *, progress: bool = True
) -> VectorLanes:
    """Time multiply-adds in vectors of 1 to 64 lanes, here and now: some seconds.

    Args:
        formats: of ``"fp64"``, ``"fp32"``, ``"bf16"`` and ``"int8"``; the last two where the
            processor has dot products for them.
        target: ``"avx2"`` or ``"sse2"`` compiles for an older x86-64 processor, in a new process.
        progress: show what is timed, where it takes more than a second.

    Raises:
        InputError: a value that is not allowed, or nothing that this processor computes.
    """
    if target is not None:
        return VectorLanes(lanes.forced(target, formats))
    return VectorLanes(lanes.measure(formats, progress=progress))


# -- memory ---------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class MemoryRate(Still, Study):
    """Values read per second against the bytes of a value."""

    measured: Reading

    @property
    def narrow(self) -> Rate:
        """The format of the fewest bits."""
        return min(self.measured.rates, key=lambda each: each.bits)

    @property
    def wide(self) -> Rate:
        """The last of those of the most bits."""
        return sorted(self.measured.rates, key=lambda each: each.bits)[-1]

    @property
    def title(self) -> str:
        size, processor = units.short(self.measured.nbytes), self.measured.machine.processor
        return strings.get("lanes.memory.title", size=size, processor=processor)

    @property
    def sentences(self) -> list[str]:
        """The bytes per second of all formats, and the values per second of the narrowest."""
        speeds = [each.bandwidth for each in self.measured.rates]
        narrow, wide = self.narrow, self.wide
        if len(speeds) == 1:
            rate = billions(speeds[0])
            return [strings.get("lanes.memory.one", format=wide.format, rate=rate)]
        least, most = billions(min(speeds)), billions(max(speeds))
        values = {
            "format": narrow.format,
            "first": wide.format,
            "less": f"{narrow.bits / wide.bits:g}",
            "more": ratio(narrow.values / wide.values),
        }
        return [
            strings.get("lanes.memory.head", least=least, most=most),
            strings.get("lanes.memory.against", **values),
        ]

    @property
    def notes(self) -> list[str]:
        found = self.measured
        key = "lanes.memory.caches" if found.largest else "lanes.memory.unknown"
        size, cache = units.short(found.nbytes), units.short(found.largest)
        times = ratio(found.nbytes / max(1, found.largest))
        count, clock = len(found.rates[0].samples), strings.get(f"lanes.{found.clock}")
        return [
            strings.get(key, times=times, size=size, cache=cache),
            strings.get("lanes.memory.samples", count=count, clock=clock),
            where(found.machine),
        ]

    def page(self) -> Page:
        each = self.measured.rates
        heads = ("format", "bytes", "values", "bandwidth")
        rows = [
            [e.format, str(e.bits // 8), billions(e.values), billions(e.bandwidth)] for e in each
        ]
        chart = Chart(
            powers_around(e.bits / 8 for e in each),
            powers_around(room * e.values / 1e9 for e in each for room in (0.8, 1.25)),
            [*_same_bytes(self), *_read(self)],
            230,
            Axis(strings.get("lanes.memory.bytes"), strings.get("lanes.doublings")),
            Axis(strings.get("lanes.memory.rate")),
            right=210,
            told=Table([strings.get(f"lanes.memory.{key}") for key in heads], rows),
            gap=12,
        )
        return report(self, chart)


def _same_bytes(found: MemoryRate) -> list[Mark]:
    """Through the widest format: half the bytes, twice the values."""
    narrow, wide, rate = found.narrow.bits / 8, found.wide.bits / 8, found.wide.bandwidth / 1e9
    if narrow == wide:
        return []
    middle = sqrt(narrow * wide)
    label = strings.get("lanes.memory.linear")
    return [
        Line([(nbytes, rate / nbytes) for nbytes in (narrow, wide)], "before"),
        Label(label, [(middle, rate / middle, "end", -24, dy) for dy in (16, 28)], 11, chip=True),
    ]


def _read(found: MemoryRate) -> list[Mark]:
    """A point for each format, with its figures where it is free."""
    marks: list[Mark] = []
    for index, each in enumerate(found.measured.rates):
        x, y = each.bits / 8, each.values / 1e9
        values, rate = billions(each.values), billions(each.bandwidth)
        label = strings.get("lanes.memory.point", format=each.format, values=values, rate=rate)
        places = [(x, y, "start", 9, dy) for dy in range(-8, -120, -8)]
        fact = Fact(label, more=origin(each.samples, found.measured.machine))
        marks.append(Points([(x, y)], index, fact=fact))
        marks.append(Label(label, places, chip=True, kept=True, apart=4))
    return marks


def memory_rate(
    formats: Iterable[str] = reading.READ, *, progress: bool = True
) -> MemoryRate:  # fmt: skip
    """Time how fast values of several formats are read from memory, here and now: about a second.

    Args:
        formats: names of number formats of at least a byte.
        progress: show what is read, where it takes more than a second.

    Raises:
        InputError: no such format, or too little free memory.
    """
    return MemoryRate(reading.measure(formats, progress=progress))
