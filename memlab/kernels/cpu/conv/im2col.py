"""Lowering (im2col) of one image, and its adjoint (col2im).

im2col copies every value that a kernel covers to where a matrix product reads it. col2im adds
every lowered value to the place that it was read from. Row ``(c, ky, kx)`` of the lowered matrix
holds, for every output place ``(oy, ox)``, the value of the image under that kernel position,
and 0 where that lies outside::

    lowered[c, ky, kx, oy, ox] = image[c, source(oy, ky), source(ox, kx)]

im2col has two loops, chosen by shape. **Plane shift**: where output and image have one size, each
``(c, ky, kx)`` is the whole plane of the image, shifted: one long copy, then zeros at the edge that
wrapped around. **Strips**: elsewhere only the first kernel positions are gathered from the image.
At a later position the same values come again, a few rows further up or columns further left. So
its plane is one long copy of a plane that is lowered already, and only the rows or columns that
moved in are gathered. No scratch memory is needed.

col2im has two loops, too. **Plane shift**: where output and image have one size, a lowered plane is
added to the image's plane as one long line. Values of the padding, which would land on the opposite
edge, are recognised by their column and left out. **Rows**: elsewhere row by row. At stride 2 two
neighbouring kernel columns together fill a row of the image, and a single one does with zeros
between, so that both fill vectors. Only the image is written.
"""

from __future__ import annotations

import numpy as np

from memlab.kernels.cpu.compile import compiled
from memlab.kernels.cpu.memcpy import clear, copy
from memlab.kernels.formulas.windows import inside, recurrence, source
from memlab.kernels.registry import Array

_U = np.uint64
Settings = tuple[int, int, int]
"""Stride, padding, dilation."""
Sizes = tuple[int, int, int, int]
"""Rows and columns of a plane of the image, then of a lowered plane."""
Range = tuple[int, int]
"""First place, and the one after the last."""

SHORT = 16
"""Values in a row below which they are added one by one, since vectors take longer to start."""
BITS = 40
"""Bits of a fixed-point inverse: ``i * (2**40 // n + 1) >> 40`` is ``i // n`` as long as ``i * n <
2**40``; the product fits into 64 bits as long as ``i < 2**24 * n``."""


@compiled
def im2col(image: Array, lowered: Array, stride: int, pad: int, dilation: int) -> None:
    """Lower an image (C, H, W) into (C, k, k, Ho, Wo); both are contiguous and of one format."""
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
    """Lower a plane where every lowered plane is the image's plane, shifted by whole rows and
    columns."""
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
    """Lower a plane by copying earlier lowered planes, and gathering only their last rows or
    columns."""
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
    """Gather the rows of a lowered plane from row ``first`` on."""
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
    """Copy ``count`` values that lie ``stride`` apart, from index ``at`` on."""
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
    """Gather the columns of a lowered plane from column ``first`` on."""
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
    """Write 0 into the columns of a plane from ``start`` to before ``stop``."""
    for x in range(start, stop):
        at = _U(to + x)
        for _ in range(rows):
            out[at] = 0
            at += _U(columns)


@compiled
def col2im(
    lowered: Array, image: Array, stride: int, pad: int, dilation: int, accumulate: bool
) -> None:
    """Add every lowered value of (C, k, k, Ho, Wo) to its place in the image (C, H, W).

    Without ``accumulate`` the image is set to 0 first. Both arrays are contiguous and of one
    format.
    """
    channels, kernel, _, rows, columns = lowered.shape
    sizes = image.shape[1], image.shape[2], rows, columns
    line, out, settings = lowered.reshape(-1), image.reshape(-1), (stride, pad, dilation)
    exact = rows < 1 << 64 - BITS and rows * columns**2 < 1 << BITS
    same = stride == 1 and image.shape[1:] == (rows, columns) and exact
    size = sizes[0] * sizes[1]
    for c in range(channels):
        if not accumulate:
            clear(out, c * size, size)
        at = c * kernel**2 * rows * columns
        if same:
            _add_planes(line, at, out, c * size, kernel, sizes, settings)
        else:
            _add_rows(line, at, out, c * size, kernel, sizes, settings)


@compiled
def _add_planes(
    line: Array, at: int, out: Array, to: int, kernel: int, sizes: Sizes, settings: Settings
) -> None:
    """Add lowered planes to a plane of the same size, each shifted back."""
    _, _, rows, columns = sizes
    for ky in range(kernel):
        up = source(0, ky, *settings)
        upper, lower = inside(rows, rows, 1, up)
        for kx in range(kernel):
            left = source(0, kx, *settings)
            start, stop = inside(columns, columns, 1, left)
            if upper < lower and start < stop:
                first, last = upper * columns + start, (lower - 1) * columns + stop
                shifted = to + first + up * columns + left
                _add_line(line, at + first, out, shifted, last - first, stop - start, columns)
            at += rows * columns


@compiled
def _add_line(
    line: Array, at: int, out: Array, to: int, count: int, width: int, columns: int
) -> None:
    """Add the first ``width`` of every ``columns`` values of a line."""
    values, target = line[at : at + count], out[to : to + count]
    if width == columns:
        for i in range(count):
            target[i] += values[i]
    else:
        inverse = _U((1 << BITS) // columns + 1)
        for i in range(_U(count)):
            column = i - ((i * inverse) >> _U(BITS)) * _U(columns)
            added = target[i] + values[i]
            target[i] = added if column < _U(width) else target[i]


@compiled
def _add_rows(
    line: Array, at: int, out: Array, to: int, kernel: int, sizes: Sizes, settings: Settings
) -> None:
    """Add lowered planes to a plane of the image, row by row."""
    (height, width, rows, columns), (stride, _, dilation) = sizes, settings
    size, pairs = rows * columns, stride == 2 and dilation == 1
    for ky in range(kernel):
        upper, lower = inside(height, rows, stride, source(0, ky, *settings))
        for kx in range(0, kernel, 2 if pairs else 1):
            left = source(0, kx, *settings)
            places = inside(width, columns, stride, left)
            next_places = inside(width, columns, stride, left + 1)
            plane = at + (ky * kernel + kx) * size
            for oy in range(upper, lower):
                row = to + source(oy, ky, *settings) * width + left
                if pairs and kx + 1 < kernel:
                    _add_pair(line, plane + oy * columns, size, out, row, places, next_places)
                else:
                    _add_row(line, plane + oy * columns, out, row, places, stride)


@compiled
def _add_row(line: Array, at: int, out: Array, to: int, places: Range, stride: int) -> None:
    """Add ``out[to + ox * stride] += line[at + ox]`` for the output places ``ox`` of a range."""
    (start, stop), step = places, _U(stride)
    source, target, count = _U(at + start), _U(to + start * stride), _U(stop - start)
    if stride > 2 or stop - start < SHORT:
        for i in range(count):
            out[target] += line[source + i]
            target += step
    elif stride == 1:
        for i in range(count):
            out[target + i] += line[source + i]
    else:
        for i in range(count - _U(1)):
            out[target + i + i] += line[source + i]
            out[target + i + i + _U(1)] += 0  # else the compiler scatters value by value
        out[_U(to + (stop - 1) * 2)] += line[_U(at + stop - 1)]


@compiled
def _add_pair(
    line: Array, at: int, size: int, out: Array, to: int, places: Range, next_places: Range
) -> None:
    """Add, at stride 2, a row of one lowered plane and the same row of the next, ``size`` values
    further on.

    The first fills the even columns from index ``to`` on, the second the odd ones.
    """
    (start, stop), (first, last) = places, next_places
    if first < start:
        out[_U(to + 2 * first + 1)] += line[_U(at + size + first)]
    even, odd, target = _U(at + start), _U(at + size + start), _U(to + 2 * start)
    for i in range(_U(max(0, last - start))):
        out[target + i + i] += line[even + i]
        out[target + i + i + _U(1)] += line[odd + i]
    if last < stop:
        out[_U(to + 2 * last)] += line[_U(at + last)]
