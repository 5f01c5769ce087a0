"""What memory moves for one warp of a GPU that lowers an image: sectors, not single values.

The 32 threads of a warp load or store together. As many transactions happen as there are sectors
of 32 B with one of their values in it, each once (CUDA C++ Best Practices Guide, "Coalesced Access
to Global Memory", compute capability 6.0 and later). 4 sectors make a line of 128 B.

A thread has one value of the lowered matrix, ``lowered[c, ky, kx, oy, ox]``. Two orders number the
threads: along a row of the matrix, ``ox`` first, as memlab's own kernel does; and down a column,
``kx``, ``ky``, ``c`` first, as the loops over a window do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from math import prod
from typing import Any

from memlab import strings, units
from memlab.kernels.indices import source
from memlab.networks.graph import Network, Node
from memlab.networks.layers import text
from memlab.studies.convolutions import conv, find
from memlab.studies.figures import Study

WARP = 32
"""Threads that access memory together."""
SECTOR, LINE = 32, 128
"""Bytes."""
FP32 = 4
CELLS = LINE // FP32
"""Values of a line."""
MOST = WARP * SECTOR
"""Bytes that move for a warp where no 2 threads share a sector."""
LOAD, STORE = "load", "store"
ROW, COLUMN = ORDERS = "row", "column"
STRIDES = (1, 2, 4)


def sectors(addresses: Iterable[int]) -> set[int]:
    """The sectors that values lie in: one each, for values of 4 or 8 B do not cross a border.

    ``addresses`` are bytes from the beginning of an array. CUDA lets it begin at a line.

    >>> len(sectors(range(0, 128, 4)))
    4
    """
    return {address // SECTOR for address in addresses}


def moved(addresses: Iterable[int]) -> int:
    """Bytes that move.

    >>> moved([0, 4, 40])
    64
    """
    return SECTOR * len(sectors(addresses))


# -- the accesses of a warp -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Thread:
    """``number`` counts in the warp. ``load`` and ``store`` are the bytes at which its values begin
    in the image and in the matrix; what lies in the padding is not loaded."""

    number: int
    c: int
    ky: int
    kx: int
    oy: int
    ox: int
    load: int | None
    store: int


@dataclass(frozen=True, slots=True)
class Line:
    """128 B of an array: the byte where they begin, and the threads by the cells they access."""

    start: int
    cells: dict[int, tuple[int, ...]]

    @property
    def sectors(self) -> tuple[int, ...]:
        """Which of its 4 sectors move."""
        return tuple(sorted({cell * FP32 // SECTOR for cell in self.cells}))

    @property
    def threads(self) -> tuple[int, ...]:
        """All threads that access it."""
        return tuple(sorted(thread for found in self.cells.values() for thread in found))


@dataclass(frozen=True, slots=True)
class Side:
    """The loads of a warp, or its stores: threads, and the byte that each of them accesses."""

    name: str
    accesses: tuple[tuple[int, int], ...]

    @property
    def addresses(self) -> list[int]:
        """The bytes alone, in the order of the threads."""
        return [address for _, address in self.accesses]

    @property
    def sectors(self) -> int:
        """How many sectors move."""
        return len(sectors(self.addresses))

    @property
    def moved(self) -> int:
        """Bytes that move."""
        return moved(self.addresses)

    @property
    def used(self) -> int:
        """Bytes of them that a thread asked for."""
        return FP32 * len(set(self.addresses))

    @property
    def lines(self) -> tuple[Line, ...]:
        """The lines that are accessed, in the order of memory."""
        ordered = sorted((address, thread) for thread, address in self.accesses)
        return tuple(
            _line(number * LINE, list(found))
            for number, found in groupby(ordered, key=lambda access: access[0] // LINE)
        )

    @property
    def cost(self) -> str:
        """``'Loads move 160 B and use 128 B of it.'``"""
        key = "nothing" if not self.moved else "whole" if self.moved == self.used else "part"
        sizes = {"moved": units.exact(self.moved), "used": units.exact(self.used)}
        return say(key, side=say(f"side.{self.name}"), **sizes)

    @property
    def headline(self) -> str:
        """``'Loads from the image: 5 sectors in 2 lines'``."""
        count, touched = self.sectors, len(self.lines)
        return say(
            "lines",
            side=say(f"side.{self.name}"),
            array=say(f"array.{self.name}"),
            sectors=say("sector" if count == 1 else "sectors", count=count),
            lines=say("line" if touched == 1 else "several", count=touched),
        )


def _line(start: int, accesses: list[tuple[int, int]]) -> Line:
    cells: dict[int, tuple[int, ...]] = {}
    for address, thread in accesses:
        cell = (address - start) // FP32
        cells[cell] = (*cells.get(cell, ()), thread)
    return Line(start, cells)


@dataclass(frozen=True)
class Warp(Study):
    """A warp, counted from 0, that lowers one image of a layer, drawn with its own stride or with
    another; ``order`` says how its threads are numbered.

    Raises:
        InputError: no such convolution.
    """

    network: Network
    layer: str
    order: str
    stride: int
    warp: int = 0

    def __post_init__(self) -> None:
        find(self.network, self.layer)

    # -- exact figures ----------------------------------------------------------------------

    @cached_property
    def node(self) -> Node:
        """The layer that is drawn."""
        own = find(self.network, self.layer)
        layer = replace(conv(own), stride=self.stride)
        return replace(own, layer=layer, shape=layer.output(*own.input_shapes))

    @cached_property
    def last(self) -> int:
        """The number of the last warp."""
        return warps(self.node, self.order) - 1

    @property
    def inner(self) -> int:
        """A warp that no padding reaches, where the image is large enough."""
        return min(inner(self.node, self.order), self.last)

    @cached_property
    def threads(self) -> tuple[Thread, ...]:
        """The threads of the warp that have a value to do."""
        return threads(self.node, self.order, self.warp)

    @cached_property
    def load(self) -> Side:
        """What they load from the image."""
        return Side(LOAD, tuple((t.number, t.load) for t in self.threads if t.load is not None))

    @cached_property
    def store(self) -> Side:
        """What they store to the lowered matrix."""
        return Side(STORE, tuple((t.number, t.store) for t in self.threads))

    @property
    def sides(self) -> tuple[Side, Side]:
        """First the loads, then the stores."""
        return self.load, self.store

    # -- in words -----------------------------------------------------------------------------

    @property
    def title(self) -> str:
        """``'VGG-16 conv1_2: 3x3, to 64, ..., fp32; neighbours along a row, warp 8 (0 to 99)'``."""
        return f"{self._layer}; {self.which}"

    @property
    def which(self) -> str:
        """The order of the threads, and the warp."""
        order = say(f"order.{self.order}")
        return say("which", order=order, warp=f"{self.warp:,}", last=f"{self.last:,}")

    @property
    def headline(self) -> str:
        """What moves for loads and for stores."""
        return " ".join(side.cost for side in self.sides)

    @property
    def ends(self) -> str:
        """The first thread and the last: ``'Thread 0: c 0, ky 0, kx 0, oy 1, ox 32. ...'``."""
        names = ("number", "c", "ky", "kx", "oy", "ox")
        ends = (self.threads[0], self.threads[-1])
        return " ".join(say("thread", **{n: getattr(end, n) for n in names}) for end in ends)

    @property
    def idle(self) -> str:
        """Why some of the 32 access nothing."""
        idle = WARP - len(self.threads)
        padding = len(self.threads) - len(self.load.accesses)
        counts = {"idle": idle, "padding": padding}
        return " ".join(say(key, count=count) for key, count in counts.items() if count)

    @property
    def sentences(self) -> list[str]:
        return [each for each in (self.headline, self.ends, self.idle) if each]

    def as_dict(self) -> dict[str, Any]:
        return {
            "network": self.network.name,
            "layer": self.layer,
            "order": self.order,
            "stride": self.stride,
            "warp": self.warp,
            "sides": {
                side.name: {"moved": side.moved, "used": side.used, "addresses": side.addresses}
                for side in self.sides
            },
        }

    @property
    def _layer(self) -> str:
        node = self.node
        return say(
            "title",
            network=self.network.title,
            layer=node.name,
            settings=node.layer.describe(),
            shape=text(node.input_shapes[0]),
        )


def span(numbers: Sequence[int]) -> str:
    """Numbers in a row as one: ``'0–2, 9–11'``."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs)


def say(key: str, /, **values: object) -> str:
    """A text about warps."""
    return strings.get(f"warp.{key}", **values)


# -- which value each thread has, by the index map of lowering ------------------------------------


def matrix(node: Node) -> tuple[int, int, int]:
    """The lowered matrix of one image: its rows, and the rows and columns of the output."""
    _, high, wide = node.shape
    return node.input_shapes[0][0] * conv(node).kernel ** 2, high, wide


def warps(node: Node, order: str) -> int:
    """How many warps lower one image; some have fewer than 32 values to do."""
    rows, high, wide = matrix(node)
    if order == COLUMN:
        return -(-prod(matrix(node)) // WARP)
    x = lanes(node)
    return rows * -(-high * x // WARP) * -(-wide // x)


def inner(node: Node, order: str) -> int:
    """A warp that no padding reaches, where the image is large enough."""
    rows, _, wide = matrix(node)
    pad = conv(node).padding
    if order == COLUMN:
        return -(-(pad * wide + pad) * rows // WARP)
    x = lanes(node)
    across = -(-wide // x)
    return -(-pad * x // WARP) * across + min(1, across - 1)


def lanes(node: Node) -> int:
    """Threads of a warp side by side in one row of the output: 32, or fewer where it is short, and
    then the warp has several rows."""
    return min(WARP, 1 << (node.shape[2] - 1).bit_length())


def threads(node: Node, order: str, warp: int) -> tuple[Thread, ...]:
    """The threads of a warp that have a value to do."""
    values = _down(node, warp) if order == COLUMN else _along(node, warp)
    return tuple(_thread(node, *value) for value in values)


def _along(node: Node, warp: int) -> Iterator[tuple[int, int, int, int]]:
    """Thread, row of the matrix, and place, for a grid (ox | oy | c·k·k)."""
    _, high, wide = matrix(node)
    x = lanes(node)
    across, down = -(-wide // x), -(-high * x // WARP)
    row, rest = divmod(warp, down * across)
    first, block = divmod(rest, across)
    for number in range(WARP):
        oy, ox = first * (WARP // x) + number // x, block * x + number % x
        if oy < high and ox < wide:
            yield number, row, oy, ox


def _down(node: Node, warp: int) -> Iterator[tuple[int, int, int, int]]:
    """The same for threads in a line, the row of the matrix first."""
    rows, high, wide = matrix(node)
    for number in range(WARP):
        place, row = divmod(WARP * warp + number, rows)
        if place < high * wide:
            yield number, row, *divmod(place, wide)


def _thread(node: Node, number: int, row: int, oy: int, ox: int) -> Thread:
    layer, (_, height, width) = conv(node), node.input_shapes[0]
    c, position = divmod(row, layer.kernel**2)
    ky, kx = divmod(position, layer.kernel)
    settings = layer.stride, layer.padding, layer.dilation
    iy, ix = source(oy, ky, *settings), source(ox, kx, *settings)
    inside = 0 <= iy < height and 0 <= ix < width
    load = FP32 * ((c * height + iy) * width + ix) if inside else None
    store = FP32 * ((row * node.shape[1] + oy) * node.shape[2] + ox)
    return Thread(number, c, ky, kx, oy, ox, load, store)
