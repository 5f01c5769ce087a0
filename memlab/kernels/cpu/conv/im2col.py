"""Lowering (im2col): every value that a kernel covers, copied to where a matrix product wants it.

Row ``(c, ky, kx)`` of the lowered matrix holds, for every output place ``(oy, ox)``, the value of
the image under that kernel position, and 0 where that lies outside::

    lowered[c, ky, kx, oy, ox] = image[c, source(oy, ky), source(ox, kx)]

Two ways, by shape. **Plane shift**: where output and image have one size, each ``(c, ky, kx)`` is
the whole plane of the image, shifted: one long copy, then zeros at the edge that wrapped around.
**Strips**: elsewhere only the first kernel positions are gathered from the image; at a later one
the same values come again, a few rows up or columns to the left, so its plane is one long copy of a
plane that is lowered already, and only the rows or columns that moved in are gathered. No scratch
memory is needed.
"""

from __future__ import annotations

import numpy as np

from memlab.kernels.cpu.compile import compiled
from memlab.kernels.cpu.conv.col2im import col2im as col2im
from memlab.kernels.cpu.memory_blocks import clear, copy
from memlab.kernels.maps.windows import inside, recurrence, source
from memlab.kernels.registry import Array

_U = np.uint64
Settings = tuple[int, int, int]
"""Stride, padding, dilation."""
Sizes = tuple[int, int, int, int]
"""Rows and columns of the image's planes, and of the lowered ones."""


@compiled
def im2col(image: Array, lowered: Array, stride: int, pad: int, dilation: int) -> None:
    """Lower an image (C, H, W) into (C, k, k, Ho, Wo); both contiguous, of one format."""
    channels, kernel, _, rows, columns = lowered.shape
    sizes = image.shape[1], image.shape[2], rows, columns
    line, out, settings = image.reshape(-1), lowered.reshape(-1), (stride, pad, dilation)
    same = stride == 1 and image.shape[1:] == (rows, columns)
    for c in range(channels):
        at, to = c * sizes[0] * sizes[1], c * kernel**2 * rows * columns
        if same:
            _shift(line, at, out, to, kernel, sizes, settings)
        else:
            _strips(line, at, out, to, kernel, sizes, settings)


# Below, a plane is the line that it lies in and where it begins: a view of each would cost more
# than the copy of a small plane.


@compiled
def _shift(
    line: Array, at: int, out: Array, to: int, kernel: int, sizes: Sizes, settings: Settings
) -> None:
    """Every lowered plane is the plane of the image, shifted by whole rows and columns."""
    _, _, rows, columns = sizes
    size = rows * columns
    for ky in range(kernel):
        for kx in range(kernel):
            left = source(0, kx, *settings)
            offset = source(0, ky, *settings) * columns + left
            start, stop = inside(size, size, 1, offset)
            if start > 0:
                clear(out, to, start)
            copy(line, at + start + offset, out, to + start, stop - start)
            if stop < size:
                clear(out, to + stop, size - stop)
            start, stop = inside(columns, columns, 1, left)
            _clear_columns(out, to, rows, columns, 0, start)
            _clear_columns(out, to, rows, columns, stop, columns)
            to += size


@compiled
def _strips(
    line: Array, at: int, out: Array, to: int, kernel: int, sizes: Sizes, settings: Settings
) -> None:
    """A lowered plane that holds the values of an earlier one is a copy of it, but for its last
    rows or columns."""
    _, _, rows, columns = sizes
    size = rows * columns
    positions, places = recurrence(settings[0], settings[2])
    down, across = min(places, rows), min(places, columns)
    for ky in range(kernel):
        for kx in range(kernel):
            if ky >= positions:
                earlier, moved = to - positions * kernel * size, down * columns
                copy(out, earlier + moved, out, to, size - moved)
                _gather_rows(line, at, out, to, rows - down, ky, kx, sizes, settings)
            elif kx >= positions:
                copy(out, to - positions * size + across, out, to, size - across)
                _gather_columns(line, at, out, to, columns - across, ky, kx, sizes, settings)
            else:
                _gather_rows(line, at, out, to, 0, ky, kx, sizes, settings)
            to += size


@compiled
def _gather_rows(
    line: Array, at: int, out: Array, to: int, first: int, ky: int, kx: int,
    sizes: Sizes, settings: Settings,
) -> None:  # fmt: skip
    """The rows of a lowered plane from ``first`` on."""
    (height, width, rows, columns), stride = sizes, settings[0]
    upper, lower = inside(height, rows, stride, source(0, ky, *settings))
    start, stop = inside(width, columns, stride, source(0, kx, *settings))
    upper = max(upper, first)
    lower = max(upper, lower)
    left = source(start, kx, *settings)
    clear(out, to + first * columns, (upper - first) * columns)
    for oy in range(upper, lower):
        row, begin = to + oy * columns, at + source(oy, ky, *settings) * width + left
        if start > 0:
            clear(out, row, start)
        _gather(line, begin, out, row + start, stop - start, stride)
        if stop < columns:
            clear(out, row + stop, columns - stop)
    clear(out, to + lower * columns, (rows - lower) * columns)


@compiled
def _gather(line: Array, at: int, out: Array, to: int, count: int, stride: int) -> None:
    """Every ``stride``-th value from ``at`` on."""
    if stride == 1:
        copy(line, at, out, to, count)
    elif stride == 2:  # a stride that the compiler knows fills vectors
        values, target = line[at:], out[to : to + count]
        for i in range(count):
            target[i] = values[2 * i]
    else:
        for i in range(count):
            out[_U(to + i)] = line[_U(at + i * stride)]


@compiled
def _gather_columns(
    line: Array, at: int, out: Array, to: int, first: int, ky: int, kx: int,
    sizes: Sizes, settings: Settings,
) -> None:  # fmt: skip
    """The columns of a lowered plane from ``first`` on."""
    (height, width, rows, columns), stride = sizes, settings[0]
    upper, lower = inside(height, rows, stride, source(0, ky, *settings))
    for ox in range(first, columns):
        ix = source(ox, kx, *settings)
        if 0 <= ix < width:
            _clear_columns(out, to, upper, columns, ox, ox + 1)
            for oy in range(upper, lower):
                iy = source(oy, ky, *settings)
                out[_U(to + oy * columns + ox)] = line[_U(at + iy * width + ix)]
            _clear_columns(out, to + lower * columns, rows - lower, columns, ox, ox + 1)
        else:
            _clear_columns(out, to, rows, columns, ox, ox + 1)


@compiled
def _clear_columns(out: Array, to: int, rows: int, columns: int, start: int, stop: int) -> None:
    for x in range(start, stop):
        at = _U(to + x)
        for _ in range(rows):
            out[at] = 0
            at += _U(columns)
