"""Convolution by lowering one tile at a time, into the packed panel of a matrix product.

A matrix product packs its operand into panels that fit the cache, and lowering can be that packing:
the lowered values of some neighbouring output places are written where the product reads them, and
nowhere else. The panel is the workspace; where it does not hold all channels, they take turns and
the output adds up.
"""

from __future__ import annotations

from memlab.kernels.cpu.compile import compiled
from memlab.kernels.cpu.threads import own, pieces, spread
from memlab.kernels.cpu.tile.block_products import ADD, BIAS, ROWS, VECTORS, ZERO, multiply_panel
from memlab.kernels.cpu.tile.packing import block_lanes, check, pack
from memlab.kernels.cpu.vectors import BITS
from memlab.kernels.operands import Window, convolution, window
from memlab.kernels.registry import Array, Call, kernel


@kernel("conv2d", "im2col-tile")
def conv2d(call: Call) -> None:
    """``Y = W L``, tile by tile of ``L``; each thread has its own tiles and its own panel."""
    x, y, weight, bias = call["x"], call["y"], call["weight"], call.arrays.get("bias")
    at, groups, panels = window(call), convolution(call).groups, own(call["workspace"], 2)
    check(panels[0])
    tiles = -(-at.rows * at.columns // panels[0].shape[1])

    def some(panel: Array, units: range) -> None:
        for b, first, stop in pieces(units, tiles):
            _forward(x[b], weight, bias, y[b], panel, at, groups, (first, stop))

    spread(some, panels, len(x) * tiles)


@compiled
def _forward(
    x: Array, weight: Array, bias: Array | None, y: Array, panel: Array, at: Window, groups: int,
    tiles: tuple[int, int],
) -> None:  # fmt: skip
    """Some tiles of an image, counted from the first to before the second."""
    outer, inner = len(weight) // groups, weight.shape[1]
    taps, places, (steps, tile) = at.kernel * at.kernel, at.rows * at.columns, panel.shape
    together, image, lowered = steps // taps, x.reshape(-1), panel.reshape(-1)
    for g in range(groups):
        for first in range(tiles[0] * tile, min(tiles[1] * tile, places), tile):
            count = min(tile, places - first)
            for c in range(0, inner, together):
                channels = min(together, inner - c)
                pack(image, (g * inner + c, channels), at, first, count, lowered, tile)
                maps = g * outer, (g + 1) * outer
                depth = c * taps, channels * taps
                _multiply(weight, maps, depth, bias, lowered, tile, y, first, count)


@compiled
def _multiply(
    weight: Array, maps: tuple[int, int], depth: tuple[int, int], bias: Array | None,
    panel: Array, tile: int, y: Array, first: int, count: int,
) -> None:  # fmt: skip
    """Some output maps at ``count`` places, from some rows of the lowered matrix."""
    a, out, inner, places = weight.reshape(-1), y.reshape(-1), weight[0].size, y[0].size
    begin, steps = depth
    initial, start = (a, ZERO) if bias is None else (bias, BIAS)
    start = ADD if begin else start
    for k in range(maps[0], maps[1], ROWS):
        for j in range(0, count, block_lanes(a)):
            multiply_panel(
                BITS, ROWS, VECTORS, a, (k * inner + begin, inner, 1),
                out, (k * places + first + j, places), (min(ROWS, maps[1] - k), count - j, steps),
                (start, k), initial, panel, (j, tile),
            )  # fmt: skip
