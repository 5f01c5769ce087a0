"""The gradients of a convolution, one lowered tile at a time.

``dW = dY L^T`` is made of dot products along the places: a few channels are lowered for many places
at once. ``dL = W^T dY`` is made for a few rows of one tile, which col2im adds to the image while
they are in the cache.
"""

from __future__ import annotations

from memlab.kernels.compile import compiled
from memlab.kernels.dots import dot_rows
from memlab.kernels.lanes import DOTS, ROWS, VECTORS, ZERO, multiply_panel
from memlab.kernels.linear import sum_bias
from memlab.kernels.registry import Array, Call, kernel
from memlab.kernels.runs import copy_run
from memlab.kernels.tiles import (
    Window,
    add_back,
    block_lanes,
    fill_table,
    groups,
    pack,
    shifted,
    window,
)
from memlab.kernels.vectors import BITS


@kernel("conv2d.backward", "im2col-tile")
def conv2d_backward(call: Call) -> None:
    """``dW`` adds up over the images; ``dX`` is made image by image."""
    dy, at = call["dy"], window(call, "dy")
    lowered, panel, table = (_own(call[name]) for name in ("lowered", "panel", "table"))
    for b, x in enumerate(call["x"]):
        _weight_gradient(x, call["dweight"], dy[b], lowered, at, groups(call), b > 0)
    if "dx" in call.arrays:
        for b, dx in enumerate(call["dx"]):
            if not call.accumulate:
                dx.fill(0)
            _input_gradient(dx, call["weight"], dy[b], panel, table.reshape(-1), at, groups(call))
    if "dbias" in call.arrays:
        sum_bias(dy, call["dbias"])


def _own(workspace: Array) -> Array:
    """That of the first thread."""
    extents = 3 if workspace.dtype.kind == "i" else 2
    return workspace if workspace.ndim == extents else workspace[0]


@compiled
def _weight_gradient(
    x: Array, dweight: Array, dy: Array, lowered: Array, at: Window, groups: int, add: bool
) -> None:
    outer, inner = len(dweight) // groups, dweight.shape[1]
    taps, places, (rows, tile) = at.kernel * at.kernel, at.rows * at.columns, lowered.shape
    image, panel = x.reshape(-1), lowered.reshape(-1)
    for g in range(groups):
        maps = g * outer, (g + 1) * outer
        for c in range(0, inner, rows // taps):
            channels = min(rows // taps, inner - c)
            for first in range(0, places, tile):
                count = min(tile, places - first)
                pack(image, (g * inner + c, channels), at, first, count, panel, tile)
                depth = c * taps, channels * taps
                _dot(dy, maps, depth, panel, tile, dweight, first, count, add or first > 0)


@compiled
def _dot(
    dy: Array, maps: tuple[int, int], depth: tuple[int, int], panel: Array, tile: int,
    dweight: Array, first: int, count: int, add: bool,
) -> None:  # fmt: skip
    """Some maps of ``dY`` with some rows of the lowered matrix, at ``count`` places."""
    a, out, inner, places = dy.reshape(-1), dweight.reshape(-1), dweight[0].size, dy[0].size
    begin, rows = depth
    for row in range(0, rows, DOTS[1]):
        for k in range(maps[0], maps[1], DOTS[0]):
            dot_rows(
                BITS, DOTS[0], DOTS[1], a, (k * places + first, places), panel, (row * tile, tile),
                out, (k * inner + begin + row, inner),
                (min(DOTS[0], maps[1] - k), min(DOTS[1], rows - row), count), add,
            )  # fmt: skip


@compiled
def _input_gradient(
    dx: Array, weight: Array, dy: Array, panel: Array, table: Array, at: Window, groups: int
) -> None:
    outer, places, lanes = len(weight) // groups, at.rows * at.columns, block_lanes(dy)
    together = len(panel) - ROWS  # the last rows are for the product
    source, flat = dy.reshape(-1), panel.reshape(-1)
    for first in range(0, places, lanes):
        count = min(lanes, places - first)
        if shifted(at):
            fill_table(table, at, first, count)
        for g in range(groups):
            for k in range(g * outer, (g + 1) * outer, together):
                maps = min(together, (g + 1) * outer - k)
                for m in range(maps):
                    row = (k + m) * places, places, first
                    copy_run(BITS, VECTORS, 1, source, row, flat, m * lanes, count)
                _spread(dx, weight, (k, maps, g), flat, together, table, at, first, count)


@compiled
def _spread(
    dx: Array, weight: Array, maps: tuple[int, int, int], panel: Array, together: int,
    table: Array, at: Window, first: int, count: int,
) -> None:  # fmt: skip
    """What some maps of ``dY`` at ``count`` places add to the image.

    The rows of a block are different channels at one tap: taps of one channel meet in the image, so
    that one would wait for what the other stores.
    """
    a, image, depth, lanes = weight.reshape(-1), dx.reshape(-1), weight[0].size, block_lanes(dx)
    (k, steps, group), product = maps, together * lanes
    taps, inner = at.kernel * at.kernel, weight.shape[1]
    for c in range(0, inner, ROWS):
        rows = min(ROWS, inner - c)
        for tap in range(taps):
            multiply_panel(
                BITS, ROWS, VECTORS, a, (k * depth + c * taps + tap, taps, depth),
                panel, (product, lanes), (rows, lanes, steps), (ZERO, 0), a, panel, (0, lanes),
            )  # fmt: skip
            places = product, lanes, rows
            add_back(panel, places, image, group * inner + c, tap, table, at, first, count)
