"""Which value each thread of a warp loads and stores, by the index map of lowering.

A thread has one value of the lowered matrix, ``lowered[c, ky, kx, oy, ox]``. Two orders number the
threads: along a row of the matrix, ``ox`` first, as memlab's own kernel does; and down a column,
``kx``, ``ky``, ``c`` first, as the loops over a window do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from memlab.kernels.indices import source
from memlab.lesson.transactions import WARP
from memlab.networks.graph import Node
from memlab.views.copies.layer import conv

ROW, COLUMN = ORDERS = "row", "column"
FP32 = 4


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
