"""How many columns each layer's matrix product has: what its lanes can be filled with.

Lowered, a convolution multiplies a matrix with a column for each output place of each sample:
B Ho Wo of them (claim A6). A linear layer has B, or one for each token of each sample.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from math import prod
from zlib import crc32

from memlab.errors import InputError, whole
from memlab.networks import zoo
from memlab.networks.graph import Network, Node
from memlab.networks.layers import text as dims
from memlab.views import bars, extents
from memlab.views.batch.words import say
from memlab.views.network.twin import columns as table
from memlab.views.speed.plot import Doublings
from memlab.views.still import Still
from memlab.views.svg import Box, Svg

WIDTH, PITCH = 820, 30
LEFT, RIGHT = 170, 560
"""Ends of the axis; the figures stand behind the bars."""
ROOM = 11
"""Doublings that an axis has labels for; of more it names every other one."""


@dataclass(frozen=True, slots=True)
class Row:
    """Layers of one kind with maps of one size: the size, how many they are, and the columns of
    each."""

    kind: str
    map: tuple[int, ...]
    count: int
    columns: int


@dataclass(frozen=True, repr=False)
class LaneColumns(Still):
    """Columns of a network's layers beside the lanes of a vector; a notebook shows the picture,
    ``print`` the text."""

    network: str
    batch: int
    lanes: int
    rows: tuple[Row, ...]

    @property
    def convolutions(self) -> tuple[Row, ...]:
        """The convolutions, from the most columns to the least."""
        return tuple(row for row in self.rows if row.kind == "conv2d")

    @property
    def below(self) -> int:
        """How many convolutions have fewer columns than there are lanes."""
        return sum(row.count for row in self.convolutions if row.columns < self.lanes)

    def sentences(self) -> list[str]:
        """The least, how many are below the lanes, and the linear layers."""
        lines = []
        if self.convolutions:
            least = self.convolutions[-1]
            total = sum(row.count for row in self.convolutions)
            head = say("columns.headline", **self._said(least), batch=f"{self.batch:,}")
            lines = [head, say("columns.below", below=self.below, count=total)]
        linear = [row for row in self.rows if row.kind == "linear"]
        return lines + [say("columns.linear", **self._said(row)) for row in linear]

    def filled(self, row: Row) -> str:
        """``'3 vectors of 16 and 1 left'``."""
        vectors, left = divmod(row.columns, self.lanes)
        if not vectors:
            return say("columns.none", left=left, lanes=self.lanes)
        key = "vector" if vectors == 1 else "vectors"
        full = say(f"columns.{key}", vectors=f"{vectors:,}", lanes=self.lanes)
        return say("columns.left", vectors=full, left=left) if left else full

    def svg(self) -> str:
        return draw(self).render(" ".join([f"{title(self)}.", *self.sentences()]))

    def text(self) -> str:
        heads = [say(f"columns.{head}") for head in ("output", "count", "columns", "filled")]
        cells = [
            heads,
            *([*_names(row), f"{row.columns:,}", self.filled(row)] for row in self.rows),
        ]
        return "\n".join([f"{title(self)}.", *self.sentences(), "", *table(cells, left=2)])

    def _said(self, row: Row) -> dict[str, str]:
        return {"columns": _columns(row), "filled": self.filled(row)}


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
    width = _here() if lanes is None else whole("lanes", lanes)
    nodes = [node for node in made.nodes if node.kind in ("conv2d", "linear")]
    if not nodes:
        raise InputError(f"{made.label} has no convolution and no linear layer; try 'resnet50'.")
    return LaneColumns(made.label, size, width, _rows(nodes, size))


def title(found: LaneColumns) -> str:
    """What is shown."""
    batch = f"{found.batch:,}"
    return say("columns.title", network=found.network, batch=batch, lanes=found.lanes)


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


def _columns(row: Row) -> str:
    key = "one" if row.columns == 1 else "several"
    return say(f"columns.{key}", count=f"{row.columns:,}")


def _names(row: Row) -> list[str]:
    """``['7x7', '9 convolutions']``."""
    kind = "layer" if row.kind == "conv2d" else "linear_layer"
    counted = say(f"columns.{kind}" + ("s" if row.count > 1 else ""), count=row.count)
    return [dims(row.map) if row.map else "", counted]


def draw(found: LaneColumns) -> Svg:
    """A bar of columns for each size of output, and the lanes as a line across."""
    head = [line for each in found.sentences() for line in extents.wrap(each, WIDTH, 12)]
    top = 70 + 16 * len(head)
    bottom = top + PITCH * len(found.rows)
    svg = Svg(WIDTH, bottom + 40, f"l{crc32(repr(found).encode()):08x}")
    svg.text(0, 12, extents.shortened(title(found), WIDTH, 12), 12, dim=True)
    for index, line in enumerate(head):
        svg.text(0, 34 + 16 * index, line, 12, bold=not index)
    axis = Doublings(0, max(row.columns for row in found.rows).bit_length())
    _grid(svg, axis, top, bottom)
    if found.lanes <= 2**axis.last:
        x = _x(axis, found.lanes)
        svg.line(x, top - 4, x, bottom, class_="before")
        svg.text(x, top - 10, say("columns.vector", lanes=found.lanes), 11, "middle")
    for index, row in enumerate(found.rows):
        _bar(svg, found, row, axis, top + PITCH * index + 20)
    return svg


def _bar(svg: Svg, found: LaneColumns, row: Row, axis: Doublings, base: float) -> None:
    """One size of output: its layers, and the columns of each."""
    output, counted = _names(row)
    svg.text(LEFT - 12, base, [(output, True), (f" {counted}", False)], 12, "end")
    end = max(_x(axis, row.columns), LEFT + 2)
    bars.draw(svg, Box(LEFT, base - 12, end, base + 4), "planned")
    svg.text(end + 8, base, f"{_columns(row)}: {found.filled(row)}", 12, chip=True)


def _x(axis: Doublings, columns: int) -> float:
    return LEFT + (RIGHT - LEFT) * axis.place(columns)


def _grid(svg: Svg, axis: Doublings, top: float, bottom: float) -> None:
    every = -(-axis.last // ROOM) or 1
    for place, label in axis.ticks[::every]:
        x = LEFT + (RIGHT - LEFT) * place
        svg.line(x, top, x, bottom, class_="grid")
        svg.text(x, bottom + 15, label, 11, "middle")
    right = svg.text(LEFT, bottom + 32, say("columns.columns"), 12, bold=True).right
    svg.text(right + 10, bottom + 32, say("ratios"), 11, dim=True)
