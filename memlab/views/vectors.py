"""The still views of vectors and batches: lanes, reading memory, time per sample, columns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import sqrt

from memlab import strings
from memlab.bench import batch, lanes, reading, recorded
from memlab.bench.batch import Sweep
from memlab.bench.curves import GAIN, Curve, Measured
from memlab.bench.reading import Reading
from memlab.bench.recorded import Recorded
from memlab.networks.graph import Network
from memlab.studies import batches, vectors
from memlab.studies.batches import Batches, Columns, Row
from memlab.studies.figures import billions, columns
from memlab.studies.timings import origin
from memlab.studies.vectors import Lanes, Memory
from memlab.views.draw.bars import Bar, bars
from memlab.views.draw.chart import Axis, Chart
from memlab.views.draw.marks import Fact, Label, Line, Mark, Points, Rule, Text
from memlab.views.draw.page import Page
from memlab.views.draw.report import report
from memlab.views.draw.scale import Log, powers_around
from memlab.views.draw.still import Still
from memlab.views.draw.table import Table, Words
from memlab.views.draw.ways import Names, Way, drawn

FAR = 8
"""How many times the knee's lanes linear is drawn for."""
WAYS = ("linear-4096", "samples", "pixels", "loop", "one-lane")
MOST = 5
"""Samples of each way at each batch."""
INSET = 0.028
"""Of the axis of batches, free before the first and after the last."""
ROOM = 11
"""Doublings that an axis has labels for; of more it names every other one."""

# -- lanes ----------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class VectorLanes(Still):
    """Operations per second against the lanes of a vector."""

    measured: Measured

    def page(self) -> Page:
        found = Lanes(self.measured)
        marked = [f"{n} {strings.get('lanes.lanes')}: {label}." for n, label in found.marks]
        return report(
            found,
            _rates(found),
            Words(marked, drawn=False, gap=1),
            Words(found.details, 11, dim=True, gap=8),
        )


def _rates(found: Lanes) -> Chart:
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


def _widths(found: Lanes, top: float) -> list[Mark]:
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


def _way_of(found: Lanes, curve: Curve) -> Way:
    """Format, rate and width at the end of its line."""
    places, facts = [(point.lanes, point.rate / 1e9) for point in curve.points], []
    for point in curve.points:
        name = f"{curve.format}, {point.lanes} {strings.get('lanes.lanes')}"
        value = strings.get("lanes.operations", rate=billions(point.rate))
        facts.append(Fact(name, value, more=origin(point.samples, found.measured.machine)))
    label = [(curve.format, True), (f" {vectors.bend(curve)}", False)]
    return Way([label], places, facts, places[-1])


def _by_lanes(found: Lanes) -> Table:
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
class MemoryRate(Still):
    """Values read per second against the bytes of a value."""

    measured: Reading

    def page(self) -> Page:
        found, each = Memory(self.measured), self.measured.rates
        heads = ("format", "bytes", "values", "bandwidth")
        rows = [
            [e.format, str(e.bits // 8), billions(e.values), billions(e.bandwidth)] for e in each
        ]
        chart = Chart(
            powers_around(e.bits / 8 for e in each),
            powers_around(room * e.values / 1e9 for e in each for room in (0.8, 1.25)),
            [*_same_bytes(found), *_read(found)],
            230,
            Axis(strings.get("lanes.memory.bytes"), strings.get("lanes.doublings")),
            Axis(strings.get("lanes.memory.rate")),
            right=210,
            told=Table([strings.get(f"lanes.memory.{key}") for key in heads], rows),
            gap=12,
        )
        return report(found, chart)


def _same_bytes(found: Memory) -> list[Mark]:
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


def _read(found: Memory) -> list[Mark]:
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


# -- batches --------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class BatchTimes(Still):
    """Time per sample of several ways at growing batches, beside what was recorded on a GPU; a
    notebook shows the picture, ``print`` the text."""

    measured: Sweep
    gpu: Recorded | None = None

    def page(self) -> Page:
        found = Batches(self.measured, self.gpu)
        axis = [(strings.get("batch.time"), True), (strings.get("batch.ratios"), False)]
        return report(found, Words([axis], told=False, gap=16), _per_sample(found), marked=True)


def _per_sample(found: Batches) -> Chart:
    curves = found.measured.curves
    sizes = sorted({size for curve in curves for size in curve.batches})
    most = max(curve.at(size) / curve.least for curve in curves for size in curve.batches)
    edge = (sizes[-1] / sizes[0]) ** INSET
    up = powers_around([1, most], label="{:,g} ×".format)
    ways = [_way(found, curve) for curve in curves]
    return Chart(
        Log(sizes[0] / edge, sizes[-1] * edge, label="{:,g}".format, marked=tuple(sizes)),
        up,
        [*_filled(found, sizes, up.last), *drawn(ways), Names(ways, -40, 34)],
        max(270, 34 * len(curves)),
        Axis(strings.get("batch.batch")),
        Axis(side="right"),
        left=236,
        right=64,
        above=16,
        told=_by_batch(found),
        gap=6,
    )


def _filled(found: Batches, sizes: list[int], top: float) -> list[Mark]:
    """The batch that fills a vector of this processor, where samples do."""
    full = found.measured.lanes
    if all(curve.name != "samples" for curve in found.measured.curves):
        return []
    if not sizes[0] <= full <= sizes[-1]:
        return []
    label = strings.get("batch.full", lanes=full)
    rule = Rule(full, look="before", above=4)
    return [rule, Text(full, top, label, 11, "middle", dy=-10, held=True)]


def _way(found: Batches, curve: batch.Curve) -> Way:
    """Name and ends of a way, beside its first point."""
    points, facts = [(size, curve.at(size) / curve.least) for size in curve.batches], []
    for size in curve.batches:
        name = f"{batches.way(curve)}, {strings.get('batch.batch')} {size:,}"
        value = f"{batches.each_sample(curve, size)}, {batches.against(curve, size)} ×"
        facts.append(Fact(name, value, more=origin(curve.samples[size], found.measured.machine)))
    label = [(batches.way(curve), True)]
    return Way([label, batches.ends(curve)], points, facts, points[0])


def _by_batch(found: Batches) -> list[str]:
    """A line for every way, then one for every batch: time per sample, and by the least."""
    curves = found.measured.curves
    cells = [[strings.get("batch.batch"), *(curve.name for curve in curves)]]
    for size in curves[0].batches:
        pairs = ((batches.each_sample(c, size), batches.against(c, size)) for c in curves)
        cells.append([f"{size:,}", *(f"{time} {ratio:>5} x" for time, ratio in pairs)])
    names = [f"{curve.name}: {batches.way(curve)}" for curve in curves]
    return [*names, "", *columns(cells, left=0)]


def batch_times(
    ways: Iterable[str] = WAYS, batches: Iterable[int] = batch.BATCHES, *, progress: bool = True
) -> BatchTimes:
    """Time linear layers and convolutions at growing batches, here and now.

    It takes about 10 s, by processor time of one thread. Figures that ``make gpu`` recorded on a
    GPU stand beside them.

    Args:
        ways: ``linear-1024`` and ``linear-4096`` are linear layers by BLAS; ``samples`` and
            ``pixels`` are a convolution whose lanes are samples, or places of one sample; ``loop``
            and ``one-lane`` are plain loops over the samples.
        batches: at least two batch sizes.
        progress: show what is timed, where it takes more than a second.

    Raises:
        InputError: a value that is not allowed, or more bytes than are free.
    """
    found = batch.measure(ways, batches, MOST, progress)
    return BatchTimes(found, recorded.latest())


# -- columns --------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class LaneColumns(Still):
    """Columns of a network's layers beside the lanes of a vector; a notebook shows the picture,
    ``print`` the text."""

    rows: Columns

    def page(self) -> Page:
        heads = [
            strings.get(f"batch.columns.{key}") for key in ("output", "count", "columns", "filled")
        ]
        found = self.rows
        rows = [[r.size, r.layers, f"{r.columns:,}", found.filled(r)] for r in found.rows]
        last = max(row.columns for row in found.rows).bit_length()
        powers = tuple(2.0**power for power in range(0, last + 1, -(-last // ROOM)))
        chart = bars(
            [_bar(found, row) for row in found.rows],
            Log(1, 2**last, marked=powers),
            30,
            axis=Axis(strings.get("batch.columns.columns"), strings.get("batch.ratios")),
            told=Table(heads, rows, "<<>>"),
            marks=_vector(found, 2**last),
            above=18,
            gap=12,
        )
        return report(found, chart, size=12)


def _vector(found: Columns, most: int) -> list[Mark]:
    """The lanes of one vector, as a line across."""
    if found.lanes > most:
        return []
    label = strings.get("batch.columns.vector", lanes=found.lanes)
    return [
        Rule(found.lanes, look="before", above=4),
        Text(found.lanes, 0, label, 11, "middle", dy=-10),
    ]


def _bar(found: Columns, row: Row) -> Bar:
    """One size of output: its layers, and the columns of each."""
    said = f"{row.counted}: {found.filled(row)}"
    name = [(row.size, True), (f" {row.layers}", False)]
    return Bar(row.columns, "planned", said, Fact(f"{row.size} {row.layers}", said), name)


def lane_columns(
    network: str | Network = "resnet50", batch: int = 1, lanes: int | None = None
) -> LaneColumns:
    """The columns that each convolution and linear layer of a network offers to the lanes.

    Args:
        network: a name of ``memlab.zoo``, or a network of yours.
        batch: the mini-batch size.
        lanes: values of a vector; without it, the fp32 values of this machine's.

    Raises:
        InputError: no such network, one without such a layer, or a number below 1.
    """
    return LaneColumns(batches.columns(network, batch, lanes))
