"""Tiles: neighbouring output places of a convolution, and the values of the image that they read.

Places are counted along the rows of the output, so a tile may continue in the next row. The tap
(ky, kx) of an output place reads the image some rows below it and some columns to the right of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from memlab.kernels.cpu.compile import compiled
from memlab.kernels.cpu.conv_tiles.block_products import ROWS, VECTORS
from memlab.kernels.cpu.llvm_modules import types
from memlab.kernels.cpu.vector_code import BITS, Value, Writer, data_pointers, intrinsic, unpacked
from memlab.kernels.formulas.windows import inside
from memlab.kernels.operands import ConvWindow
from memlab.kernels.registry import Array

_U = np.uint64
PLACES = 62
"""Largest number of lanes whose bits ``inside_bits`` can return in a signed integer."""


def check_workspace(panel: Array, rows: int = 0) -> None:
    """Check that a workspace of tiles is large enough, since the kernels write to it unchecked.

    Args:
        panel: the workspace: rows by places, a multiple of a block's lanes.
        rows: rows for the product that must fit behind at least one other row.

    Raises:
        AssertionError: a kernel would write beyond the workspace.
    """
    lanes = VECTORS * BITS // (8 * panel.itemsize)
    if panel.shape[1] % lanes or len(panel) <= rows or lanes > PLACES:
        raise AssertionError(
            f"a block of {ROWS} rows of {lanes} lanes ({VECTORS} vectors of {BITS} bits) would "
            f"write beyond a workspace of {len(panel)} rows of {panel.shape[1]} places; make "
            f"layers.algorithms.TILE a multiple of {lanes}, BLOCK at least {ROWS} and lanes at "
            f"most {PLACES}."
        )


@compiled
def block_lanes(values: Array) -> int:
    """Number of values in a row of a block of sums."""
    return VECTORS * BITS // (8 * values.itemsize)


@compiled
def is_plane_shift(at: ConvWindow) -> bool:
    """Return whether output and image have one size at stride 1, so that a tap is a shift of the
    whole plane."""
    return at.stride == 1 and at.height == at.rows and at.width == at.columns


@compiled
def inside_bits(at: ConvWindow, first: int, count: int, up: int, left: int) -> int:
    """Word with a bit for each of ``count`` places (at most ``PLACES``), set if the place reads
    inside the image.

    A place reads the value ``up`` rows below it and ``left`` columns to its right; the stride is 1.
    """
    bits, lane = 0, 0
    start, stop = inside(at.width, at.columns, 1, left)
    while lane < count:
        row, column = (first + lane) // at.columns, (first + lane) % at.columns
        length = min(at.columns - column, count - lane)
        begin, end = max(start, column), min(stop, column + length)
        if 0 <= row + up < at.height and begin < end:
            bits |= ((1 << (end - begin)) - 1) << (lane + begin - column)
        lane += length
    return bits


@compiled
def fill_table(table: Array, at: ConvWindow, first: int, count: int) -> None:
    """Fill a table with two numbers for every tap: the distance of its values from the places, and
    ``inside_bits`` for them."""
    for tap in range(at.kernel * at.kernel):
        up = tap // at.kernel * at.dilation - at.pad
        left = tap % at.kernel * at.dilation - at.pad
        table[2 * tap] = up * at.width + left
        table[2 * tap + 1] = inside_bits(at, first, count, up, left)


@compiled
def pack(
    image: Array, channels: tuple[int, int], at: ConvWindow, first: int, count: int, panel: Array,
    tile: int,
) -> None:  # fmt: skip
    """Lower ``count`` output places of some channels into a panel.

    Args:
        image: all channels of an image, as a line.
        channels: (first channel, number of channels).
        at: sizes and settings of the convolution.
        first: first output place.
        count: number of output places. Lanes beyond them hold anything.
        panel: the panel, as a line: one row for each channel and tap.
        tile: distance from one row of the panel to the next, in values.
    """
    if is_plane_shift(at):
        _pack_shifted(image, channels, at, first, count, panel, tile)
    else:
        _pack_rows(image, channels, at, first, count, panel, tile)


@compiled
def _pack_shifted(
    image: Array, channels: tuple[int, int], at: ConvWindow, first: int, count: int, panel: Array,
    tile: int,
) -> None:  # fmt: skip
    """Lower places of a convolution whose taps are shifts of the whole plane."""
    plane, lanes, taps = at.height * at.width, block_lanes(image), at.kernel * at.kernel
    for tap in range(taps):
        up = tap // at.kernel * at.dilation - at.pad
        left = tap % at.kernel * at.dilation - at.pad
        for j in range(0, count, lanes):
            bits = inside_bits(at, first + j, min(lanes, count - j), up, left)
            source = channels[0] * plane + first + j + up * at.width + left
            for c in range(channels[1]):
                row = (c * taps + tap) * tile + j
                copy_lanes(BITS, VECTORS, image, source + c * plane, bits, panel, row)


@compiled
def _pack_rows(
    image: Array, channels: tuple[int, int], at: ConvWindow, first: int, count: int, panel: Array,
    tile: int,
) -> None:  # fmt: skip
    """Lower places row by row, for any stride."""
    plane, lanes, lane = at.height * at.width, block_lanes(image), 0
    while lane < count:
        oy, ox = (first + lane) // at.columns, (first + lane) % at.columns
        length = min(at.columns - ox, count - lane, lanes)
        for ky in range(at.kernel):
            iy = oy * at.stride + ky * at.dilation - at.pad
            width = at.width if 0 <= iy < at.height else 0
            for kx in range(at.kernel):
                left = ox * at.stride + kx * at.dilation - at.pad
                for c in range(channels[1]):
                    row = ((c * at.kernel + ky) * at.kernel + kx) * tile + lane
                    begin = (channels[0] + c) * plane + iy * at.width
                    source = begin, width, left
                    if at.stride == 1:
                        copy_run(BITS, VECTORS, 1, image, source, panel, row, length)
                    elif at.stride == 2:
                        copy_run(BITS, VECTORS, 2, image, source, panel, row, length)
                    else:
                        _copy_strided(image, source, at.stride, panel, row, length)
        lane += length


@compiled
def _copy_strided(
    image: Array, source: tuple[int, int, int], stride: int, panel: Array, to: int, count: int
) -> None:
    """Copy ``count`` values of a row that lie ``stride`` apart; places outside the row give 0."""
    begin, width, left = source
    for i in range(count):
        place = left + i * stride
        inner = 0 <= place < width
        panel[_U(to + i)] = image[_U(begin + place)] if inner else 0


@compiled
def add_back(
    panel: Array, source: tuple[int, int, int], image: Array, channel: int, tap: int, table: Array,
    at: ConvWindow, first: int, count: int,
) -> None:  # fmt: skip
    """Add rows of a lowered tile, all of one tap, to the places of the image that they were read
    from.

    Args:
        panel: the lowered tile, as a line.
        source: (first index, distance from row to row, number of rows) in the panel; each row is
            one channel.
        image: all channels of the image, as a line.
        channel: channel of the first row.
        tap: number of the tap, ``ky * kernel + kx``.
        table: the table of ``fill_table`` for these places.
        at: sizes and settings of the convolution.
        first: first output place.
        count: number of output places.
    """
    begin, apart, rows = source
    plane = at.height * at.width
    if is_plane_shift(at):
        target, bits = channel * plane + first + table[2 * tap], table[2 * tap + 1]
        for r in range(rows):
            add_lanes(BITS, VECTORS, panel, begin + r * apart, image, target + r * plane, bits)
    else:
        _add_rows(panel, source, image, channel * plane, tap, at, first, count)


@compiled
def _add_rows(
    panel: Array, source: tuple[int, int, int], image: Array, to: int, tap: int, at: ConvWindow,
    first: int, count: int,
) -> None:  # fmt: skip
    """Add rows of a lowered tile to the image row by row, for any stride."""
    begin, apart, rows = source
    plane, lane = at.height * at.width, 0
    while lane < count:
        oy, ox = (first + lane) // at.columns, (first + lane) % at.columns
        length = min(at.columns - ox, count - lane)
        iy = oy * at.stride + tap // at.kernel * at.dilation - at.pad
        left = ox * at.stride + tap % at.kernel * at.dilation - at.pad
        start, stop = inside(at.width, length, at.stride, left)
        if 0 <= iy < at.height:
            for r in range(rows):
                target = to + r * plane + iy * at.width + left
                here = begin + r * apart + lane
                for i in range(start, stop):
                    image[_U(target + i * at.stride)] += panel[_U(here + i)]
        lane += length


@intrinsic
def copy_lanes(
    typing: Any, bits: Any, vectors: Any, source: Any, start: Any, mask: Any, target: Any, to: Any
) -> Any:
    """Copy ``vectors`` vectors; lanes whose bit in ``mask`` is off become 0 and are not read."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Value:
        _, _, there, first, mask, here, place = args
        there, here = data_pointers(context, builder, (source, there), (target, here))
        write = Writer(builder, source.dtype, bits.literal_value)
        for v in range(vectors.literal_value):
            lanes = write.load(
                there, write.sum(first, v * write.lanes), write.mask_of_bits(mask, v)
            )
            write.store(lanes, here, write.sum(place, v * write.lanes))
        return context.get_dummy_value()

    int64 = types.int64
    return types.void(bits, vectors, source, int64, int64, target, int64), code


@intrinsic
def copy_run(
    typing: Any, bits: Any, vectors: Any, apart: Any, source: Any, row: Any, target: Any, to: Any,
    count: Any,
) -> Any:  # fmt: skip
    """Copy ``count`` values of a row that lie ``apart`` (1 or 2) values from each other; places
    outside the row give 0.

    ``row`` is (index of its first value, its length, place of the first value to copy).
    """

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Value:
        _, _, _, there, row, here, place, count = args
        there, here = data_pointers(context, builder, (source, there), (target, here))
        first, length, left = unpacked(builder, row)
        write, step = Writer(builder, source.dtype, bits.literal_value), apart.literal_value
        for v in range(vectors.literal_value):
            pieces = []
            for piece in range(v * step, (v + 1) * step):
                index = write.sum(first, left, piece * write.lanes)
                pieces.append(write.load(there, index, write.mask_within(left, length, piece)))
            lanes = write.strided_lanes(step, pieces)
            write.store(lanes, here, write.sum(place, v * write.lanes), write.mask_before(count, v))
        return context.get_dummy_value()

    int64 = types.int64
    at = types.UniTuple(int64, 3)
    return types.void(bits, vectors, apart, source, at, target, int64, int64), code


@intrinsic
def add_lanes(
    typing: Any, bits: Any, vectors: Any, source: Any, start: Any, target: Any, to: Any, mask: Any
) -> Any:
    """Add ``vectors`` vectors to others, only in lanes whose bit in ``mask`` is on."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Value:
        _, _, there, first, here, place, mask = args
        there, here = data_pointers(context, builder, (source, there), (target, here))
        write = Writer(builder, source.dtype, bits.literal_value)
        for v in range(vectors.literal_value):
            where, on = write.sum(place, v * write.lanes), write.mask_of_bits(mask, v)
            lanes = write.load(there, write.sum(first, v * write.lanes))
            write.store(builder.fadd(lanes, write.load(here, where, on)), here, where, on)
        return context.get_dummy_value()

    int64 = types.int64
    return types.void(bits, vectors, source, int64, target, int64, int64), code
