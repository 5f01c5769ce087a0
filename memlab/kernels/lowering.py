"""Lowering (im2col): every value that a kernel covers, copied to where a matrix product wants it.

Row ``(c, ky, kx)`` of the lowered matrix holds, for every output place ``(oy, ox)``, the value of
the image under that kernel position::

    lowered[c, ky, kx, oy, ox] = image[c, oy * stride + ky * dilation - pad,
                                          ox * stride + kx * dilation - pad]

and 0 where that lies outside. Where output and image have one size, each ``(c, ky, kx)`` is the
whole plane of the image, shifted: one long copy, and then zeros at the edge that wrapped around.
Elsewhere indices are unsigned: that spares the check for negative ones, so that loops fill vectors.
"""

from __future__ import annotations

import numpy as np

from memlab.kernels.compile import compiled
from memlab.kernels.registry import Array
from memlab.kernels.windows import inside

_U = np.uint64


@compiled
def im2col(image: Array, lowered: Array, stride: int, pad: int, dilation: int) -> None:
    """Lower an image (C, H, W) into (C, k, k, Ho, Wo)."""
    if stride == 1 and image.shape[1:] == lowered.shape[3:]:
        _shift(image, lowered, pad, dilation)
    else:
        _gather(image, lowered, stride, pad, dilation)


@compiled
def col2im(
    lowered: Array, image: Array, stride: int, pad: int, dilation: int, accumulate: bool
) -> None:
    """Add every value of (C, k, k, Ho, Wo) to the place of the image that it was read from.

    The lowered values are spent: some become 0.
    """
    if not accumulate:
        _clear(image.reshape(-1))
    if stride == 1 and image.shape[1:] == lowered.shape[3:]:
        _shift_back(lowered, image, pad, dilation)
    else:
        _scatter(lowered, image, stride, pad, dilation)


@compiled
def _shift(image: Array, lowered: Array, pad: int, dilation: int) -> None:
    """``lowered[c, ky, kx]`` is the plane ``image[c]``, shifted by whole rows and columns."""
    channels, kernel, _, rows, columns = lowered.shape
    size = rows * columns
    planes, targets = image.reshape(channels, -1), lowered.reshape(channels, kernel, kernel, -1)
    for c in range(channels):
        plane = planes[c]
        for ky in range(kernel):
            for kx in range(kernel):
                left = kx * dilation - pad
                offset = (ky * dilation - pad) * columns + left
                start, stop = inside(size, size, 1, offset)
                target = targets[c, ky, kx]
                _clear(target[:start])
                _copy(plane[start + offset :], target[start:stop])
                _clear(target[stop:])
                _clear_columns(lowered[c, ky, kx], *inside(columns, columns, 1, left))


@compiled
def _shift_back(lowered: Array, image: Array, pad: int, dilation: int) -> None:
    """Add ``lowered[c, ky, kx]`` to the plane ``image[c]``, shifted back."""
    channels, kernel, _, rows, columns = lowered.shape
    size = rows * columns
    planes, sources = image.reshape(channels, -1), lowered.reshape(channels, kernel, kernel, -1)
    for c in range(channels):
        plane = planes[c]
        for ky in range(kernel):
            for kx in range(kernel):
                left = kx * dilation - pad
                offset = (ky * dilation - pad) * columns + left
                start, stop = inside(size, size, 1, offset)
                _clear_columns(lowered[c, ky, kx], *inside(columns, columns, 1, left))
                _add(sources[c, ky, kx, start:stop], plane[start + offset :])


@compiled
def _gather(image: Array, lowered: Array, stride: int, pad: int, dilation: int) -> None:
    """Copy value by value."""
    channels, kernel, _, rows, columns = lowered.shape
    for c in range(channels):
        for ky in range(kernel):
            up = ky * dilation - pad
            upper, lower = inside(image.shape[1], rows, stride, up)
            for kx in range(kernel):
                left = kx * dilation - pad
                start, stop = inside(image.shape[2], columns, stride, left)
                plane, target = image[c], lowered[c, ky, kx]
                _clear_rows(target, upper, lower)
                _clear_columns(target, start, stop)
                for oy in range(upper, lower):
                    iy = _U(oy * stride + up)
                    for ox in range(start, stop):
                        target[_U(oy), _U(ox)] = plane[iy, _U(ox * stride + left)]


@compiled
def _scatter(lowered: Array, image: Array, stride: int, pad: int, dilation: int) -> None:
    """Add value by value."""
    channels, kernel, _, rows, columns = lowered.shape
    for c in range(channels):
        for ky in range(kernel):
            up = ky * dilation - pad
            upper, lower = inside(image.shape[1], rows, stride, up)
            for kx in range(kernel):
                left = kx * dilation - pad
                start, stop = inside(image.shape[2], columns, stride, left)
                plane, source = image[c], lowered[c, ky, kx]
                for oy in range(upper, lower):
                    iy = _U(oy * stride + up)
                    for ox in range(start, stop):
                        plane[iy, _U(ox * stride + left)] += source[_U(oy), _U(ox)]


@compiled
def _clear(values: Array) -> None:
    for i in range(values.size):
        values[i] = 0


@compiled
def _clear_columns(plane: Array, start: int, stop: int) -> None:
    """The columns before ``start`` and from ``stop`` on become 0."""
    rows, columns = plane.shape
    for x in range(start):
        for y in range(rows):
            plane[y, x] = 0
    for x in range(stop, columns):
        for y in range(rows):
            plane[y, x] = 0


@compiled
def _clear_rows(plane: Array, start: int, stop: int) -> None:
    """The rows before ``start`` and from ``stop`` on become 0."""
    rows, columns = plane.shape
    for y in range(start):
        for x in range(columns):
            plane[y, x] = 0
    for y in range(stop, rows):
        for x in range(columns):
            plane[y, x] = 0


@compiled
def _copy(source: Array, target: Array) -> None:
    for i in range(target.size):
        target[i] = source[i]


@compiled
def _add(source: Array, target: Array) -> None:
    for i in range(source.size):
        target[i] += source[i]
