"""Convolution by lowering one tile at a time, into the packed panel of a matrix product.

A matrix product packs its operand into panels that fit the cache, and lowering can be that packing:
the lowered values of some neighbouring output places are written where the product reads them, and
nowhere else. The panel is the workspace. Where it does not hold all channels, some channels are
lowered at a time, and the output adds up.

The gradient ``dW = dY L^T`` is made of dot products along the places: a few channels are lowered
for many places at once. ``dL = W^T dY`` is computed for a few rows of one tile, which col2im adds
to the image while they are in the cache.
"""

from __future__ import annotations

from memlab.kernels.cpu.compile import compiled
from memlab.kernels.cpu.conv_tiles.block_products import (
    ADD,
    BIAS,
    DOTS,
    ROWS,
    VECTORS,
    ZERO,
    dot_rows,
    multiply_panel,
)
from memlab.kernels.cpu.conv_tiles.packing import (
    add_back,
    block_lanes,
    check_workspace,
    copy_run,
    fill_table,
    is_plane_shift,
    pack,
)
from memlab.kernels.cpu.layers.linear import sum_bias
from memlab.kernels.cpu.memcpy import clear
from memlab.kernels.cpu.threads import image_ranges, run_on_threads, thread_workspaces
from memlab.kernels.cpu.vector_code import BITS
from memlab.kernels.operands import ConvWindow, conv_window, convolution
from memlab.kernels.registry import Array, KernelCall, kernel


@kernel("conv2d", "im2col-tile")
def conv2d(call: KernelCall) -> None:
    """Compute ``Y = W L`` plus the bias, tile by tile of ``L``; each thread has its own tiles and
    its own panel.

    Shapes: x (B, C, H, W), weight (K, C/g, k, k), bias (K,), y (B, K, Ho, Wo).
    """
    x, y, weight, bias = call["x"], call["y"], call["weight"], call.arrays.get("bias")
    at, groups, panels = (
        conv_window(call),
        convolution(call).groups,
        thread_workspaces(call["workspace"], 2),
    )
    check_workspace(panels[0])
    tiles = -(-at.rows * at.columns // panels[0].shape[1])

    def some(panel: Array, units: range) -> None:
        for b, first, stop in image_ranges(units, tiles):
            _forward(x[b], weight, bias, y[b], panel, at, groups, (first, stop))

    run_on_threads(some, panels, len(x) * tiles)


@compiled
def _forward(
    x: Array, weight: Array, bias: Array | None, y: Array, panel: Array, at: ConvWindow,
    groups: int,
    tiles: tuple[int, int],
) -> None:  # fmt: skip
    """Compute the tiles of an image from the first to before the second number of ``tiles``."""
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
    """Compute some output maps at ``count`` places from some rows of the lowered matrix."""
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


@kernel("conv2d.backward", "im2col-tile")
def conv2d_backward(call: KernelCall) -> None:
    """Compute ``dW``, summed over the images, ``dX`` image by image, and the gradient of the bias.

    A thread computes some columns or rows of ``dW``, and some images or channels of ``dX``, so the
    order of every sum is that of a single thread. Shapes are those of ``conv2d``; each gradient has
    the shape of its tensor.
    """
    if call.learns:
        _weight_gradients(call)
    if "dx" in call.arrays:
        _input_gradients(call)
    if "dbias" in call.arrays:
        sum_bias(call["dy"], call["dbias"], call.accumulate_weights)


def _weight_gradients(call: KernelCall) -> None:
    """Compute ``dW`` over all images, on several threads."""
    x, dy, dweight = call["x"], call["dy"], call["dweight"]
    at, groups, workspaces = (
        conv_window(call),
        convolution(call).groups,
        thread_workspaces(call["lowered"], 2),
    )
    check_workspace(workspaces[0])
    together = len(workspaces[0]) // at.kernel**2
    chunks = groups * -(-dweight.shape[1] // together)
    parts, adds = _parts_per_unit(chunks, len(workspaces)), call.accumulate_weights

    def some(lowered: Array, units: range) -> None:
        for b in range(len(x)):
            add = adds or b > 0
            for unit in units:
                _weight_gradient(x[b], dweight, dy[b], lowered, at, groups, unit, parts, add)

    run_on_threads(some, workspaces, chunks * parts)


def _input_gradients(call: KernelCall) -> None:
    """Compute ``dX`` of all images, on several threads."""
    dx, dy, weight, add = call["dx"], call["dy"], call["weight"], call.accumulate
    at, groups = conv_window(call), convolution(call).groups
    panels, tables = thread_workspaces(call["panel"], 2), thread_workspaces(call["table"], 3)
    check_workspace(panels[0], ROWS)
    parts = _parts_per_unit(len(dx), len(panels))

    def some(workspace: tuple[Array, Array], units: range) -> None:
        panel, table = workspace
        for unit in units:
            b, part = divmod(unit, parts)
            _input_gradient(dx[b], weight, dy[b], panel, table, at, groups, (part, parts), add)

    workspaces = [(panel, table.reshape(-1)) for panel, table in zip(panels, tables, strict=True)]
    run_on_threads(some, workspaces, len(dx) * parts)


def _parts_per_unit(units: int, threads: int) -> int:
    """Number of parts that each unit of work is cut into, so that the threads have about as much to
    do."""
    return 1 if units % threads == 0 or units >= 4 * threads else threads


@compiled
def _part_range(count: int, block: int, part: int, parts: int) -> tuple[int, int]:
    """Range of part number ``part`` of ``count`` values, cut into ``parts`` parts of whole blocks:
    the first value and the one after the last."""
    blocks = -(-count // block)
    return blocks * part // parts * block, min(count, blocks * (part + 1) // parts * block)


@compiled
def _weight_gradient(
    x: Array, dweight: Array, dy: Array, lowered: Array, at: ConvWindow, groups: int,
    unit: int, parts: int, add: bool,
) -> None:  # fmt: skip
    """Add, to the gradient of some maps' weights, one image's sums for the channels that are
    lowered together."""
    outer, inner = len(dweight) // groups, dweight.shape[1]
    taps, places, (rows, tile) = at.kernel * at.kernel, at.rows * at.columns, lowered.shape
    image, panel, together = x.reshape(-1), lowered.reshape(-1), rows // taps
    chunk, chunks_per_group = unit // parts, -(-inner // together)
    g, c = chunk // chunks_per_group, chunk % chunks_per_group * together
    channels = min(together, inner - c)
    start, stop = _part_range(outer, DOTS[0], unit % parts, parts)
    for first in range(0, places, tile):
        count = min(tile, places - first)
        pack(image, (g * inner + c, channels), at, first, count, panel, tile)
        maps, depth = (g * outer + start, g * outer + stop), (c * taps, channels * taps)
        _multiply_rows(dy, maps, depth, panel, tile, dweight, first, count, add or first > 0)


@compiled
def _multiply_rows(
    dy: Array, maps: tuple[int, int], depth: tuple[int, int], panel: Array, tile: int,
    dweight: Array, first: int, count: int, add: bool,
) -> None:  # fmt: skip
    """Multiply some maps of ``dY`` with some rows of the lowered matrix, at ``count`` places, into
    ``dW``."""
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
    dx: Array, weight: Array, dy: Array, panel: Array, table: Array, at: ConvWindow, groups: int,
    part: tuple[int, int], add: bool,
) -> None:  # fmt: skip
    """Compute the gradient of some channels of an image; ``part`` is (number of the part, number of
    parts)."""
    outer, places, lanes = len(weight) // groups, at.rows * at.columns, block_lanes(dy)
    together = len(panel) - ROWS  # the last rows are for the product
    source, flat, inner = dy.reshape(-1), panel.reshape(-1), weight.shape[1]
    channels = _part_range(inner, ROWS, part[0], part[1])
    if not add:
        for g in range(groups):
            _clear(dx, g * inner + channels[0], g * inner + channels[1])
    for first in range(0, places, lanes):
        count = min(lanes, places - first)
        if is_plane_shift(at):
            fill_table(table, at, first, count)
        for g in range(groups):
            for k in range(g * outer, (g + 1) * outer, together):
                maps = min(together, (g + 1) * outer - k)
                for m in range(maps):
                    row = (k + m) * places, places, first
                    copy_run(BITS, VECTORS, 1, source, row, flat, m * lanes, count)
                _add_input_gradients(
                    dx, weight, (k, maps, g), channels, flat, table, at, first, count
                )


@compiled
def _clear(dx: Array, first: int, stop: int) -> None:
    """Write 0 into the channels from ``first`` to before ``stop``."""
    plane = dx[0].size
    clear(dx, first * plane, (stop - first) * plane)


@compiled
def _add_input_gradients(
    dx: Array, weight: Array, maps: tuple[int, int, int], channels: tuple[int, int], panel: Array,
    table: Array, at: ConvWindow, first: int, count: int,
) -> None:  # fmt: skip
    """Add, to some channels of the image, the terms of some maps of ``dY`` at ``count`` places.

    The rows of a block are different channels at one tap. Taps of one channel would meet in the
    image, so that one would wait for the other's store.
    """
    a, image, depth, lanes = weight.reshape(-1), dx.reshape(-1), weight[0].size, block_lanes(dx)
    (k, steps, group), product = maps, panel.size - ROWS * lanes
    taps, inner = at.kernel * at.kernel, weight.shape[1]
    for c in range(channels[0], channels[1], ROWS):
        rows = min(ROWS, channels[1] - c)
        for tap in range(taps):
            multiply_panel(
                BITS, ROWS, VECTORS, a, (k * depth + c * taps + tap, taps, depth),
                panel, (product, lanes), (rows, lanes, steps), (ZERO, 0), a, panel, (0, lanes),
            )  # fmt: skip
            places = product, lanes, rows
            add_back(panel, places, image, group * inner + c, tap, table, at, first, count)
