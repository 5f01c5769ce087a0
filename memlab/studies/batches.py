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
from memlab.studies.figures import Study, duration, ratio

FLAT = 1.25
"""Times are the same where the largest is at most so many times the least."""


@dataclass(frozen=True)
class Batches(Study):
    """Time per sample of several ways by batch, and what was recorded on a GPU, if anything was."""

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


@dataclass(frozen=True)
class Columns(Study):
    """How many columns the matrix product of each layer has: what lanes can be filled with. Rows
    go from the most columns to the least."""

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


def columns(network: str | Network, batch: int, lanes: int | None) -> Columns:
    """The columns that the layers of a network offer to so many lanes; without a number, to the
    fp32 values of a vector of this machine.

    Raises:
        InputError: no such network, one without such a layer, or a number below 1.
    """
    made = network if isinstance(network, Network) else zoo.build(network)
    size = whole("batch", batch)
    most = _here() if lanes is None else whole("lanes", lanes)
    nodes = [node for node in made.nodes if node.kind in ("conv2d", "linear")]
    if not nodes:
        raise InputError(f"{made.label} has no convolution and no linear layer; try 'resnet50'.")
    return Columns(made.label, size, most, _rows(nodes, size))


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
