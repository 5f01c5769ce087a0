"""What a larger batch buys: time per sample, measured, and columns that fill the lanes of a vector.

Lowered, a convolution multiplies a matrix with a column for each output place of each sample:
B Ho Wo of them (claim A6). A linear layer has B, or one for each token of each sample.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import ceil, prod

from memlab import strings, units
from memlab.bench import batch, recorded
from memlab.bench.batch import Curve, Sweep
from memlab.bench.recorded import Recorded
from memlab.errors import InputError, whole
from memlab.networks import zoo
from memlab.networks.graph import Network, Node
from memlab.networks.layers import text as dims
from memlab.studies import timings
from memlab.studies.figures import Study, columns, duration, ratio
from memlab.views.draw.chart import Axis, Chart
from memlab.views.draw.labels import Text
from memlab.views.draw.marks import Fact, Mark, Rule
from memlab.views.draw.page import Page, Still, report
from memlab.views.draw.scale import Log, powers_around
from memlab.views.draw.table import Table, Words
from memlab.views.draw.ways import Bar, Names, Way, bars, drawn

WAYS = ("linear-4096", "samples", "pixels", "loop", "one-lane")
MOST = 5
"""Samples of each way at each batch."""
FLAT = 1.25
"""Times are the same where the largest is at most so many times the least."""
INSET = 0.028
"""Of the axis of batches, free before the first and after the last."""
ROOM = 11
"""Doublings that an axis has labels for; of more it names every other one."""


@dataclass(frozen=True, repr=False)
class BatchTimes(Still, Study):
    """Time per sample of several ways at growing batches, beside what was recorded on a GPU; a
    notebook shows the picture, ``print`` the text."""

    measured: Sweep
    gpu: Recorded | None = None

    @property
    def title(self) -> str:
        head, case = strings.get("batch.title"), self.measured.case
        if all(curve.name.startswith("linear") for curve in self.measured.curves):
            return head
        settings, shape = case.layer.describe(), dims(case.shape)
        return strings.get("batch.convolution", title=head, settings=settings, shape=shape)

    @property
    def sentences(self) -> list[str]:
        """What the figures of each way say."""
        case = self.measured.case
        places = prod(case.layer.output(case.shape)[1:])
        return [reading(curve, self.measured.lanes, places) for curve in self.measured.curves]

    @property
    def notes(self) -> list[str]:
        found = self.measured
        samples = [each for curve in found.curves for each in curve.samples.values()]
        return [
            *timings.taken(samples, processor=True),
            timings.where(found.machine),
            *timings.products(found.blas),
            *on_gpu(self.gpu),
        ]

    def page(self) -> Page:
        axis = [(strings.get("batch.time"), True), (strings.get("batch.ratios"), False)]
        return report(self, Words([axis], told=False, gap=16), _per_sample(self), marked=True)


def way(curve: Curve) -> str:
    """A way as people call it; a recorded one as it was recorded."""
    key = f"batch.way.{curve.name}"
    return strings.get(key) if strings.has(key) else curve.name


def each_sample(curve: Curve, size: int) -> str:
    """Time per sample at a batch: ``'99.3 µs'``."""
    return duration(curve.at(size))


def against(curve: Curve, size: int) -> str:
    """The same by the least of all batches: ``'13.6'``."""
    return ratio(curve.at(size) / curve.least)


def ends(curve: Curve) -> str:
    """``'1.35 ms to 99.3 µs: 13.6 ×'``."""
    first, last = curve.batches[0], _best(curve)
    times = {"first": each_sample(curve, first), "last": each_sample(curve, last)}
    return strings.get("batch.ends", **times, ratio=against(curve, first))


def reading(curve: Curve, lanes: int = 0, places: int = 0) -> str:
    """What the figures of one way say. What it was chosen to show is said only where they show it:
    by a text of its own for that verdict."""
    kind = "linear" if curve.name.startswith("linear-") else curve.name
    full = filling(curve, lanes) if kind == "samples" else None
    verdict = "full" if full else judged(curve)
    first = curve.batches[0]
    last = curve.batches[-1] if verdict == "uneven" else _best(curve)
    own = f"batch.reading.{kind}_{verdict}"
    return strings.get(
        own if strings.has(own) else f"batch.reading.{verdict}",
        name=way(curve),
        ratio=against(curve, first),
        spread=ratio(_spread(curve, curve.batches)),
        percent=_percent(curve, [size for size in curve.batches if size >= (full or 0)]),
        first=f"{first:,}",
        last=f"{last:,}",
        weights=_weights(curve),
        lanes=lanes,
        full=full,
        places=places,
        room=ceil(places / max(1, lanes)) * lanes,
    )


def judged(curve: Curve) -> str:
    """``flat`` where the time per sample is the same at every batch, ``falls`` or ``uneven``."""
    if _spread(curve, curve.batches) <= FLAT:
        return "flat"
    return "falls" if curve.fall > FLAT else "uneven"


def filling(curve: Curve, lanes: int) -> int | None:
    """The first batch that fills the lanes, where the time falls up to it and is the same from
    there on."""
    onward = [size for size in curve.batches if size >= lanes]
    if len(onward) < 2 or onward[0] == curve.batches[0]:
        return None
    falls = curve.at(curve.batches[0]) > FLAT * curve.at(onward[0])
    return onward[0] if falls and _spread(curve, onward) <= FLAT else None


def on_gpu(found: Recorded | None) -> list[str]:
    """What recorded figures say, or that there are none."""
    lines = batch.curves(found.result.lines) if found else []
    if found is None or not lines:
        return [strings.get("batch.unrecorded", command=recorded.COMMAND)]
    where = strings.get("recorded.where", command=found.command, where=found.where)
    return [*(strings.get("batch.recorded", reading=reading(c)) for c in lines), f"{where}."]


def _weights(curve: Curve) -> str:
    """The bytes of weights that are read for a sample, at both ends."""
    least, most = curve.batches[0], curve.batches[-1]
    first, last = (units.short(curve.weights // size) for size in (least, most))
    values = {"first": first, "last": last, "least": f"{least:,}", "most": f"{most:,}"}
    return strings.get("batch.weights", **values)


def _best(curve: Curve) -> int:
    """The last batch with the least time per sample."""
    return min(reversed(curve.batches), key=curve.at)


def _spread(curve: Curve, sizes: Iterable[int]) -> float:
    times = [curve.at(size) for size in sizes]
    return max(times) / min(times)


def _percent(curve: Curve, sizes: Sequence[int]) -> int:
    return ceil(round(100 * _spread(curve, sizes) - 100, 6))


def _per_sample(found: BatchTimes) -> Chart:
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


def _filled(found: BatchTimes, sizes: list[int], top: float) -> list[Mark]:
    """The batch that fills a vector of this processor, where samples do."""
    full = found.measured.lanes
    if all(curve.name != "samples" for curve in found.measured.curves):
        return []
    if not sizes[0] <= full <= sizes[-1]:
        return []
    label = strings.get("batch.full", lanes=full)
    rule = Rule(full, look="before", above=4)
    return [rule, Text(full, top, label, 11, "middle", dy=-10, held=True)]


def _way(found: BatchTimes, curve: Curve) -> Way:
    """Name and ends of a way, beside its first point."""
    points, facts = [(size, curve.at(size) / curve.least) for size in curve.batches], []
    for size in curve.batches:
        name = f"{way(curve)}, {strings.get('batch.batch')} {size:,}"
        value = f"{each_sample(curve, size)}, {against(curve, size)} ×"
        facts.append(
            Fact(name, value, more=timings.origin(curve.samples[size], found.measured.machine))
        )
    label = [(way(curve), True)]
    return Way([label, ends(curve)], points, facts, points[0])


def _by_batch(found: BatchTimes) -> list[str]:
    """A line for every way, then one for every batch: time per sample, and by the least."""
    curves = found.measured.curves
    cells = [[strings.get("batch.batch"), *(curve.name for curve in curves)]]
    for size in curves[0].batches:
        pairs = ((each_sample(c, size), against(c, size)) for c in curves)
        cells.append([f"{size:,}", *(f"{time} {ratio:>5} x" for time, ratio in pairs)])
    names = [f"{curve.name}: {way(curve)}" for curve in curves]
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


@dataclass(frozen=True, slots=True)
class Row:
    """Layers of one kind with maps of one size: the size, how many they are, and the columns of
    each."""

    kind: str
    map: tuple[int, ...]
    count: int
    columns: int

    @property
    def size(self) -> str:
        """``'7x7'``, empty for a linear layer of vectors."""
        return dims(self.map) if self.map else ""

    @property
    def layers(self) -> str:
        """``'9 convolutions'``."""
        kind = "layer" if self.kind == "conv2d" else "linear_layer"
        plural = "s" if self.count > 1 else ""
        return strings.get(f"batch.columns.{kind}{plural}", count=self.count)

    @property
    def counted(self) -> str:
        """``'49 columns'``."""
        key = "batch.columns.one" if self.columns == 1 else "batch.columns.several"
        return strings.get(key, count=f"{self.columns:,}")


@dataclass(frozen=True, repr=False)
class LaneColumns(Still, Study):
    """How many columns the matrix product of each layer has, beside the lanes of a vector that they
    fill. Rows go from the most columns to the least."""

    network: str
    batch: int
    lanes: int
    rows: tuple[Row, ...]

    @property
    def title(self) -> str:
        values = {"network": self.network, "batch": f"{self.batch:,}", "lanes": self.lanes}
        return strings.get("batch.columns.title", **values)

    @property
    def convolutions(self) -> tuple[Row, ...]:
        """Those that are convolutions."""
        return tuple(row for row in self.rows if row.kind == "conv2d")

    @property
    def below(self) -> int:
        """How many convolutions have fewer columns than there are lanes."""
        return sum(row.count for row in self.convolutions if row.columns < self.lanes)

    @property
    def sentences(self) -> list[str]:
        """The least, how many are below the lanes, and the linear layers."""
        lines = []
        if self.convolutions:
            least, total = self.convolutions[-1], sum(row.count for row in self.convolutions)
            values = {"columns": least.counted, "filled": self.filled(least)}
            lines = [
                strings.get("batch.columns.headline", **values, batch=f"{self.batch:,}"),
                strings.get("batch.columns.below", below=self.below, count=total),
            ]
        for row in self.rows:
            if row.kind == "linear":
                values = {"columns": row.counted, "filled": self.filled(row)}
                lines.append(strings.get("batch.columns.linear", **values))
        return lines

    def filled(self, row: Row) -> str:
        """``'3 vectors of 16 and 1 left'``."""
        vectors, left = divmod(row.columns, self.lanes)
        if not vectors:
            return strings.get("batch.columns.none", left=left, lanes=self.lanes)
        key = "batch.columns.vector" if vectors == 1 else "batch.columns.vectors"
        full = strings.get(key, vectors=f"{vectors:,}", lanes=self.lanes)
        return strings.get("batch.columns.left", vectors=full, left=left) if left else full

    def page(self) -> Page:
        heads = [
            strings.get(f"batch.columns.{key}") for key in ("output", "count", "columns", "filled")
        ]
        rows = [[r.size, r.layers, f"{r.columns:,}", self.filled(r)] for r in self.rows]
        last = max(row.columns for row in self.rows).bit_length()
        powers = tuple(2.0**power for power in range(0, last + 1, -(-last // ROOM)))
        chart = bars(
            [_bar(self, row) for row in self.rows],
            Log(1, 2**last, marked=powers),
            30,
            axis=Axis(strings.get("batch.columns.columns"), strings.get("batch.ratios")),
            told=Table(heads, rows, "<<>>"),
            marks=_vector(self, 2**last),
            above=18,
            gap=12,
        )
        return report(self, chart, size=12)


def _vector(found: LaneColumns, most: int) -> list[Mark]:
    """The lanes of one vector, as a line across."""
    if found.lanes > most:
        return []
    label = strings.get("batch.columns.vector", lanes=found.lanes)
    return [
        Rule(found.lanes, look="before", above=4),
        Text(found.lanes, 0, label, 11, "middle", dy=-10),
    ]


def _bar(found: LaneColumns, row: Row) -> Bar:
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
    made = network if isinstance(network, Network) else zoo.build(network)
    size = whole("batch", batch)
    most = _here() if lanes is None else whole("lanes", lanes)
    nodes = [node for node in made.nodes if node.kind in ("conv2d", "linear")]
    if not nodes:
        raise InputError(f"{made.label} has no convolution and no linear layer; try 'resnet50'.")
    return LaneColumns(made.label, size, most, _rows(nodes, size))


def _rows(nodes: list[Node], batch: int) -> tuple[Row, ...]:
    """One row for each kind and size of output, from the most columns to the least."""

    def key(node: Node) -> tuple[int, tuple[int, ...], str]:
        places = node.shape[1:] if node.kind == "conv2d" else node.shape[:-1]
        return -batch * prod(places), places, node.kind

    groups = groupby(sorted(nodes, key=key), key=key)
    return tuple(
        Row(kind, places, len(list(members)), -negative)
        for (negative, places, kind), members in groups
    )


def _here() -> int:
    from memlab.kernels.vectors import BITS

    return BITS // 32
