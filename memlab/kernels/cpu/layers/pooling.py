"""Pooling: a window slides over every map. Indices count the places of a window, row by row.

In loops over a window the index is unsigned, which spares the check for negative ones.
"""

from __future__ import annotations

import numpy as np

from memlab.kernels.cpu.compile import compiled
from memlab.kernels.cpu.flat_arrays import lines
from memlab.kernels.formulas.windows import counted_rows, covered_rows
from memlab.kernels.operands import Geometry, pool_geometry
from memlab.kernels.registry import Array, KernelCall, kernel

_U = np.uint64


@kernel("max_pool2d")
def max_pool2d(call: KernelCall) -> None:
    """Compute the largest value of each window, the first of equal ones, and its place where
    training needs it.

    Shapes: x (B, C, H, W), y and indices (B, C, Ho, Wo).
    """
    x, y, indices = call["x"], call["y"], call.arrays.get("indices")
    at, index_arrays = pool_geometry(call, x, y), () if indices is None else (indices,)
    for x_line, y_line, *index in lines(x, y, *index_arrays):
        _maximum(x_line, y_line, index[0] if index else None, at)


@kernel("max_pool2d.backward")
def max_pool2d_backward(call: KernelCall) -> None:
    """Add each value of ``dy`` to the place of ``dx`` that its window took.

    Shapes: dy and indices (B, C, Ho, Wo), dx (B, C, H, W).
    """
    dx, dy, indices = call["dx"], call["dy"], call["indices"]
    at = pool_geometry(call, dx, dy)
    for dx_line, dy_line, index in lines(dx, dy, indices):
        _maximum_backward(dy_line, index, dx_line, at, call.accumulate)


@kernel("avg_pool2d")
def avg_pool2d(call: KernelCall) -> None:
    """Compute the mean of each window, zeros of the padding included; places beyond the padded map
    do not count.

    Shapes: x (B, C, H, W), y (B, C, Ho, Wo).
    """
    at = pool_geometry(call, call["x"], call["y"])
    for x, y in lines(call["x"], call["y"]):
        _mean(x, y, at)


@kernel("avg_pool2d.backward")
def avg_pool2d_backward(call: KernelCall) -> None:
    """Add each value of ``dy``, in equal parts, to the places of ``dx`` under its window.

    Shapes: dy (B, C, Ho, Wo), dx (B, C, H, W).
    """
    at = pool_geometry(call, call["dx"], call["dy"])
    for dx, dy in lines(call["dx"], call["dy"]):
        _mean_backward(dy, dx, at, call.accumulate)


@compiled
def _maximum(x: Array, y: Array, indices: Array | None, pool_geometry: Geometry) -> None:
    """Largest value of every window, with its place if there are ``indices``."""
    height, width, rows, columns, high, wide, stride, pad = pool_geometry
    for plane in range(x.size // (height * width)):
        image = x[plane * height * width :][: height * width]
        for oy in range(rows):
            top, first = oy * stride - pad, (plane * rows + oy) * columns
            for ox in range(columns):
                left = ox * stride - pad
                best, place = _largest(image, height, width, top, left, high, wide)
                y[first + ox] = best
                if indices is not None:
                    indices[first + ox] = place


@compiled
def _largest(
    image: Array, height: int, width: int, top: int, left: int, kh: int, kw: int
) -> tuple[float, int]:
    """Largest value in a window (the first of equal ones, or a NaN), and its place."""
    ky, kx = max(0, -top), max(0, -left)
    best, place = image[(top + ky) * width + left + kx], ky * kw + kx
    for y in range(ky, min(kh, height - top)):
        for x in range(kx, min(kw, width - left)):
            value = image[_U((top + y) * width + left + x)]
            larger = (value > best) | (value != value)
            best = value if larger else best
            place = y * kw + x if larger else place
    return best, place


@compiled
def _maximum_backward(dy: Array, indices: Array, dx: Array, at: Geometry, accumulate: bool) -> None:
    """Add each gradient to the place that its window took."""
    if not accumulate:
        dx[:] = 0
    for plane in range(dx.size // (at.height * at.width)):
        for oy in range(at.rows):
            for ox in range(at.columns):
                o = (plane * at.rows + oy) * at.columns + ox
                place = np.int64(indices[o])
                iy = oy * at.stride - at.pad + place // at.wide
                ix = ox * at.stride - at.pad + place % at.wide
                dx[(plane * at.height + iy) * at.width + ix] += dy[o]


@compiled
def _mean(x: Array, y: Array, at: Geometry) -> None:
    """Write the mean of every pooling window."""
    for plane in range(x.size // (at.height * at.width)):
        for oy in range(at.rows):
            top, bottom = covered_rows(oy, at.high, at.height, at)
            tall = counted_rows(oy, at.high, at.height, at)
            for ox in range(at.columns):
                left, right = covered_rows(ox, at.wide, at.width, at)
                total = 0.0
                for iy in range(top, bottom):
                    first = (plane * at.height + iy) * at.width
                    for i in range(first + left, first + right):
                        total += x[_U(i)]
                count = tall * counted_rows(ox, at.wide, at.width, at)
                y[(plane * at.rows + oy) * at.columns + ox] = total / count


@compiled
def _mean_backward(dy: Array, dx: Array, at: Geometry, accumulate: bool) -> None:
    """Add each gradient, in equal parts, to the places of its window."""
    if not accumulate:
        dx[:] = 0
    for plane in range(dx.size // (at.height * at.width)):
        for oy in range(at.rows):
            top, bottom = covered_rows(oy, at.high, at.height, at)
            tall = counted_rows(oy, at.high, at.height, at)
            for ox in range(at.columns):
                left, right = covered_rows(ox, at.wide, at.width, at)
                count = tall * counted_rows(ox, at.wide, at.width, at)
                share = dy[(plane * at.rows + oy) * at.columns + ox] / count
                for iy in range(top, bottom):
                    first = (plane * at.height + iy) * at.width
                    for i in range(first + left, first + right):
                        dx[_U(i)] += share
