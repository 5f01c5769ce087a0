"""What wider vectors and fewer bits buy, measured: operations by lanes, values read by bytes."""

from __future__ import annotations

from dataclasses import dataclass

from memlab import strings, units
from memlab.bench import curves
from memlab.bench.curves import Curve, Measured
from memlab.bench.reading import Rate, Reading
from memlab.studies import timings
from memlab.studies.figures import Study, billions, percent, ratio

WARP_BITS, WARP_LANES = 32, 32
"""Bits of a value, and threads, of a GPU warp."""


@dataclass(frozen=True)
class Lanes(Study):
    """Operations per second by the lanes of a vector, and where each format stops to gain."""

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
            timings.where(found.machine),
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


def width(curve: Curve) -> str:
    """The width of one format by its own curve."""
    values = {
        "format": curve.format,
        "lanes": curve.knee.lanes,
        "bits": curve.width,
        "deviation": percent(curve.deviation),
    }
    if not curve.ends:
        return strings.get("lanes.unbroken", **values)
    more = strings.get("lanes.more", gain=percent(curve.gain))
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


# -- memory ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Memory(Study):
    """Values read per second by the bytes of a value."""

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
            timings.where(found.machine),
        ]
