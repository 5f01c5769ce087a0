"""Convolution without lowering: a table says where the values of a tile lie in the image.

At stride 1, neighbouring output places read neighbouring values, whatever the tap (ky, kx). So the
product needs, for each tap, the distance of a tile's values and which of them lie inside the image;
every channel is read alike. The table holds that for one tile at a time. (An indirect convolution,
Dukhan 2019, has channels last, and a pointer for each tap of each place.)
"""

from __future__ import annotations

from memlab.kernels.cpu.compile import compiled
from memlab.kernels.cpu.conv_tiles.block_products import (
    BIAS,
    ROWS,
    VECTORS,
    ZERO,
    multiply_offsets,
)
from memlab.kernels.cpu.conv_tiles.packing import block_lanes, fill_table, is_plane_shift
from memlab.kernels.cpu.threads import image_ranges, run_on_threads, thread_workspaces
from memlab.kernels.cpu.vector_code import BITS
from memlab.kernels.operands import ConvWindow, conv_window, convolution
from memlab.kernels.registry import Array, KernelCall, kernel


@kernel("conv2d", "offsets")
def conv2d(call: KernelCall) -> None:
    """Compute ``Y = W L`` plus the bias, with every value of ``L`` read from its place in the
    image.

    Each thread has its own blocks of places and its own table. Shapes: x (B, C, H, W), weight (K,
    C/g, k, k), bias (K,), y (B, K, Ho, Wo); the stride is 1.
    """
    x, y, weight, bias = call["x"], call["y"], call["weight"], call.arrays.get("bias")
    at, groups = conv_window(call), convolution(call).groups
    line, line_blocks = _line(at, block_lanes(weight))
    blocks = at.rows * at.columns // line * line_blocks

    def some(table: Array, units: range) -> None:
        for b, first, stop in image_ranges(units, blocks):
            _forward(x[b], weight, bias, y[b], table, at, groups, (first, stop))

    run_on_threads(
        some, [table.reshape(-1) for table in thread_workspaces(call["table"], 3)], len(x) * blocks
    )


@compiled
def _forward(
    x: Array, weight: Array, bias: Array | None, y: Array, table: Array, at: ConvWindow,
    groups: int,
    blocks: tuple[int, int],
) -> None:  # fmt: skip
    """Compute the blocks of an image from the first to before the second number of ``blocks``."""
    lanes = block_lanes(x)
    line, line_blocks = _line(at, lanes)
    for block in range(blocks[0], blocks[1]):
        row, first = block // line_blocks * line, block % line_blocks * lanes
        count = min(lanes, line - first)
        fill_table(table, at, row + first, count)
        for g in range(groups):
            _multiply(x, weight, bias, y, table, at, (g, groups), row + first, count)


@compiled
def _line(at: ConvWindow, lanes: int) -> tuple[int, int]:
    """Number of places along which a step to the right is one value of the image, and number of
    blocks in them."""
    line = at.rows * at.columns if is_plane_shift(at) else at.columns
    return line, -(-line // lanes)


@compiled
def _multiply(
    x: Array, weight: Array, bias: Array | None, y: Array, table: Array, at: ConvWindow,
    group: tuple[int, int], first: int, count: int,
) -> None:  # fmt: skip
    """Compute all output maps of a group at ``count`` places; ``group`` is (number of the group,
    number of groups)."""
    a, out, image, depth = weight.reshape(-1), y.reshape(-1), x.reshape(-1), weight[0].size
    outer, inner = len(weight) // group[1], weight.shape[1]
    places, plane, taps = at.rows * at.columns, at.height * at.width, at.kernel * at.kernel
    initial, start = (a, ZERO) if bias is None else (bias, BIAS)
    place = group[0] * inner * plane + first // at.columns * at.width + first % at.columns
    end = (group[0] + 1) * outer
    for k in range(group[0] * outer, end, ROWS):
        multiply_offsets(
            BITS, ROWS, VECTORS, a, (k * depth, depth, 1), out, (k * places + first, places),
            (min(ROWS, end - k), count, depth), (start, k), initial, image, table,
            (place, plane, taps),
        )  # fmt: skip
