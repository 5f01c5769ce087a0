"""The way back (col2im): every lowered value added to the place of the image that it was read from.

Two ways, by shape. **Plane shift**: where output and image have one size, a lowered plane is added
to the image's as one long line; what lies in the padding, and would land on the opposite edge, is
told by its column and left out. **Rows**: elsewhere row by row. At stride 2 two neighbouring kernel
columns together fill a row of the image, and a single one does with zeros between, so that both
fill vectors. Nothing but the image is written.
"""

from __future__ import annotations

import numpy as np

from memlab.kernels.cpu.compile import compiled
from memlab.kernels.cpu.memory_blocks import clear
from memlab.kernels.maps.windows import inside, source
from memlab.kernels.registry import Array

_U = np.uint64
Settings = tuple[int, int, int]
"""Stride, padding, dilation."""
Sizes = tuple[int, int, int, int]
"""Rows and columns of the image's planes, and of the lowered ones."""
Range = tuple[int, int]
"""From the first to before the last."""

SHORT = 16
"""A row with fewer values is added one by one: vectors take longer to begin."""
BITS = 40
"""``i * (2**40 // n + 1) >> 40`` is ``i // n`` as long as ``i * n < 2**40``; the product fits
into 64 bits as long as ``i < 2**24 * n``."""


@compiled
def col2im(
    lowered: Array, image: Array, stride: int, pad: int, dilation: int, accumulate: bool
) -> None:
    """Add every value of (C, k, k, Ho, Wo) to the image (C, H, W), or to zeros.

    Both are contiguous and of one format.
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
    """Add lowered planes to a plane of their size, shifted back."""
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
    """Add the first ``width`` of every ``columns`` values."""
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
    """Add lowered planes to a plane, row by row."""
    (height, width, rows, columns), (stride, _, dilation) = sizes, settings
    size, pairs = rows * columns, stride == 2 and dilation == 1
    for ky in range(kernel):
        upper, lower = inside(height, rows, stride, source(0, ky, *settings))
        for kx in range(0, kernel, 2 if pairs else 1):
            left = source(0, kx, *settings)
            places = inside(width, columns, stride, left)
            beside = inside(width, columns, stride, left + 1)
            plane = at + (ky * kernel + kx) * size
            for oy in range(upper, lower):
                row = to + source(oy, ky, *settings) * width + left
                if pairs and kx + 1 < kernel:
                    _add_pair(line, plane + oy * columns, size, out, row, places, beside)
                else:
                    _add_row(line, plane + oy * columns, out, row, places, stride)


@compiled
def _add_row(line: Array, at: int, out: Array, to: int, places: Range, stride: int) -> None:
    """``out[to + ox * stride] += line[at + ox]`` for some places ``ox``."""
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
    line: Array, at: int, size: int, out: Array, to: int, places: Range, beside: Range
) -> None:
    """A row of one plane and of the next, ``size`` values on, at stride 2: one fills the even
    columns from ``to`` on, the other the odd ones."""
    (start, stop), (first, last) = places, beside
    if first < start:
        out[_U(to + 2 * first + 1)] += line[_U(at + size + first)]
    even, odd, target = _U(at + start), _U(at + size + start), _U(to + 2 * start)
    for i in range(_U(max(0, last - start))):
        out[target + i + i] += line[even + i]
        out[target + i + i + _U(1)] += line[odd + i]
    if last < stop:
        out[_U(to + 2 * last)] += line[_U(at + last)]
