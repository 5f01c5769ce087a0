"""Pooling: a thread computes one value of the output, or of the input's gradient.

In backward a thread looks for the windows that cover its value, so no two threads add to one place.
Indices count the places of a window, row by row.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from memlab.kernels.cuda.compile import Places, Values, inlined, launch
from memlab.kernels.cuda.elementwise_loops import at_every_place, every_place
from memlab.kernels.cuda.flat_arrays import line, pitch
from memlab.kernels.formulas.accumulation import write_or_add
from memlab.kernels.formulas.windows import counted_rows, covered_rows, covering_windows
from memlab.kernels.operands import Geometry, pool_geometry
from memlab.kernels.registry import KernelCall, kernel

_U = np.uint64


class PoolMaps(NamedTuple):
    """Operands of a pooling: images x and results y, or the gradients of both."""

    x: Values
    x_pitch: int
    y: Values
    y_pitch: int
    at: Geometry
    add: bool


class MapsWithIndices(NamedTuple):
    """Operands of a pooling, and the places that its windows took."""

    maps: PoolMaps
    indices: Places
    indices_pitch: int


@kernel("max_pool2d", device="cuda")
def max_pool2d(call: KernelCall) -> None:
    """Compute the largest value of each window, the first of equal ones, and its place where
    training needs it.

    Shapes: x (B, C, H, W), y and indices (B, C, Ho, Wo).
    """
    maps, indices = _maps(call, call["x"], call["y"]), call.arrays.get("indices")
    if indices is None:
        launch(_maximum, *every_place(call["y"]), maps)
    else:
        launch(
            _maximum_and_place,
            *every_place(call["y"]),
            MapsWithIndices(maps, line(indices), pitch(indices)),
        )


@kernel("max_pool2d.backward", device="cuda")
def max_pool2d_backward(call: KernelCall) -> None:
    """Compute ``dx``: each value of ``dy`` goes to the place that its window took.

    Shapes: dy and indices (B, C, Ho, Wo), dx (B, C, H, W).
    """
    indices = call["indices"]
    operands = MapsWithIndices(_maps(call, call["dx"], call["dy"]), line(indices), pitch(indices))
    launch(_maximum_backward, *every_place(call["dx"]), operands)


@kernel("avg_pool2d", device="cuda")
def avg_pool2d(call: KernelCall) -> None:
    """Compute the mean of each window, zeros of the padding included; places beyond the padded map
    do not count.

    Shapes: x (B, C, H, W), y (B, C, Ho, Wo).
    """
    launch(_mean, *every_place(call["y"]), _maps(call, call["x"], call["y"]))


@kernel("avg_pool2d.backward", device="cuda")
def avg_pool2d_backward(call: KernelCall) -> None:
    """Compute ``dx``: each value of ``dy`` goes, in equal parts, to the places under its window.

    Shapes: dy (B, C, Ho, Wo), dx (B, C, H, W).
    """
    launch(_mean_backward, *every_place(call["dx"]), _maps(call, call["dx"], call["dy"]))


def _maps(call: KernelCall, x: Any, y: Any) -> PoolMaps:
    """Operands of a pooling, as the kernels take them."""
    spans = line(x), pitch(x), line(y), pitch(y)
    return PoolMaps(*spans, pool_geometry(call, x, y), call.accumulate)


@inlined
def _index_in_x(b: int, c: int, row: int, column: int, of: PoolMaps) -> int:
    """Index of a value of the image."""
    return b * of.x_pitch + (c * of.at.height + row) * of.at.width + column


@inlined
def _index_in_y(b: int, c: int, row: int, column: int, pitch: int, of: PoolMaps) -> int:
    """Index of a value of the output, or of its place in the indices."""
    return b * pitch + (c * of.at.rows + row) * of.at.columns + column


@inlined
def _largest(x: Any, plane: int, oy: int, ox: int, at: Geometry) -> tuple[Any, int]:
    """Largest value in a window (the first of equal ones, or a NaN), and its place."""
    top, left = oy * at.stride - at.pad, ox * at.stride - at.pad
    ky, kx = max(0, -top), max(0, -left)
    best, place = x[_U(plane + (top + ky) * at.width + left + kx)], ky * at.wide + kx
    for row in range(ky, min(at.high, at.height - top)):
        for column in range(kx, min(at.wide, at.width - left)):
            value = x[_U(plane + (top + row) * at.width + left + column)]
            if value > best or value != value:
                best, place = value, row * at.wide + column
    return best, place


@at_every_place(PoolMaps)
def _maximum(b: int, c: int, oy: int, ox: int, of: PoolMaps) -> None:
    """Write the largest value of one window."""
    best, _ = _largest(of.x, _index_in_x(b, c, 0, 0, of), oy, ox, of.at)
    of.y[_U(_index_in_y(b, c, oy, ox, of.y_pitch, of))] = best


@at_every_place(MapsWithIndices)
def _maximum_and_place(b: int, c: int, oy: int, ox: int, operands: MapsWithIndices) -> None:
    """Write the largest value of one window, and its place."""
    of = operands.maps
    best, place = _largest(of.x, _index_in_x(b, c, 0, 0, of), oy, ox, of.at)
    of.y[_U(_index_in_y(b, c, oy, ox, of.y_pitch, of))] = best
    operands.indices[_U(_index_in_y(b, c, oy, ox, operands.indices_pitch, of))] = place


@at_every_place(MapsWithIndices)
def _maximum_backward(b: int, c: int, iy: int, ix: int, operands: MapsWithIndices) -> None:
    """Compute one value of ``dx``: the sum of ``dy`` over the windows that took it."""
    of, at = operands.maps, operands.maps.at
    first_row, last_row = covering_windows(iy, at.high, at.rows, at)
    first, last = covering_windows(ix, at.wide, at.columns, at)
    total = of.y.dtype.type(0)
    for oy in range(first_row, last_row):
        row = (iy + at.pad - oy * at.stride) * at.wide + ix + at.pad
        for ox in range(first, last):
            index = operands.indices[_U(_index_in_y(b, c, oy, ox, operands.indices_pitch, of))]
            if index == row - ox * at.stride:
                total += of.y[_U(_index_in_y(b, c, oy, ox, of.y_pitch, of))]
    write_or_add(of.x, _U(_index_in_x(b, c, iy, ix, of)), total, of.add)


@at_every_place(PoolMaps)
def _mean(b: int, c: int, oy: int, ox: int, of: PoolMaps) -> None:
    """Write the mean of one window."""
    at, number = of.at, of.x.dtype.type
    (first, last), total = covered_rows(ox, at.wide, at.width, at), number(0)
    first_row, last_row = covered_rows(oy, at.high, at.height, at)
    for iy in range(first_row, last_row):
        for ix in range(first, last):
            total += of.x[_U(_index_in_x(b, c, iy, ix, of))]
    count = counted_rows(oy, at.high, at.height, at) * counted_rows(ox, at.wide, at.width, at)
    of.y[_U(_index_in_y(b, c, oy, ox, of.y_pitch, of))] = total / number(count)


@at_every_place(PoolMaps)
def _mean_backward(b: int, c: int, iy: int, ix: int, of: PoolMaps) -> None:
    """Compute one value of ``dx``: the sum, over the windows that cover it, of ``dy`` divided by
    their sizes."""
    at, number = of.at, of.x.dtype.type
    first_row, last_row = covering_windows(iy, at.high, at.rows, at)
    first, last = covering_windows(ix, at.wide, at.columns, at)
    total = number(0)
    for oy in range(first_row, last_row):
        tall = counted_rows(oy, at.high, at.height, at)
        for ox in range(first, last):
            count = number(tall * counted_rows(ox, at.wide, at.width, at))
            total += of.y[_U(_index_in_y(b, c, oy, ox, of.y_pitch, of))] / count
    write_or_add(of.x, _U(_index_in_x(b, c, iy, ix, of)), total, of.add)
