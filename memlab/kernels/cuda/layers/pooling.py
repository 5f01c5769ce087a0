"""Pooling: a thread makes one value of the output, or of the input's gradient.

Backward asks which windows cover a value, so that no two threads add to one place. Indices count
the window's places, row by row.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from memlab.kernels.cuda.compile import Places, Values, inlined, launch
from memlab.kernels.cuda.elementwise_loops import at_every_place, every_place
from memlab.kernels.cuda.flat_arrays import line, pitch
from memlab.kernels.formulas.accumulation import write_or_add
from memlab.kernels.formulas.windows import counted, covered, covering
from memlab.kernels.operands import Geometry, geometry
from memlab.kernels.registry import KernelCall, kernel

_U = np.uint64


class PoolMaps(NamedTuple):
    """Images and what pooling makes of them, or the gradients of both."""

    x: Values
    x_pitch: int
    y: Values
    y_pitch: int
    at: Geometry
    add: bool


class MapsWithIndices(NamedTuple):
    """The same, with the places that the windows took."""

    maps: PoolMaps
    indices: Places
    indices_pitch: int


@kernel("max_pool2d", device="cuda")
def max_pool2d(call: KernelCall) -> None:
    """The largest value of each window, the first of equals; its place where training asks."""
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
    """Each ``dy`` goes to the place that its window took."""
    indices = call["indices"]
    kept = MapsWithIndices(_maps(call, call["dx"], call["dy"]), line(indices), pitch(indices))
    launch(_maximum_backward, *every_place(call["dx"]), kept)


@kernel("avg_pool2d", device="cuda")
def avg_pool2d(call: KernelCall) -> None:
    """The mean of each window, zeros of the padding included; what hangs over the padded map is
    not counted."""
    launch(_mean, *every_place(call["y"]), _maps(call, call["x"], call["y"]))


@kernel("avg_pool2d.backward", device="cuda")
def avg_pool2d_backward(call: KernelCall) -> None:
    """Each ``dy`` in equal parts to the places of its window."""
    launch(_mean_backward, *every_place(call["dx"]), _maps(call, call["dx"], call["dy"]))


def _maps(call: KernelCall, x: Any, y: Any) -> PoolMaps:
    spans = line(x), pitch(x), line(y), pitch(y)
    return PoolMaps(*spans, geometry(call, x, y), call.accumulate)


@inlined
def _of_x(b: int, c: int, row: int, column: int, of: PoolMaps) -> int:
    """Where a value of the image is."""
    return b * of.x_pitch + (c * of.at.height + row) * of.at.width + column


@inlined
def _of_y(b: int, c: int, row: int, column: int, pitch: int, of: PoolMaps) -> int:
    """Where a value of the output is, or its index."""
    return b * pitch + (c * of.at.rows + row) * of.at.columns + column


@inlined
def _largest(x: Any, plane: int, oy: int, ox: int, at: Geometry) -> tuple[Any, int]:
    """The first of the largest values in a window, or a NaN, and its place."""
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
    best, _ = _largest(of.x, _of_x(b, c, 0, 0, of), oy, ox, of.at)
    of.y[_U(_of_y(b, c, oy, ox, of.y_pitch, of))] = best


@at_every_place(MapsWithIndices)
def _maximum_and_place(b: int, c: int, oy: int, ox: int, kept: MapsWithIndices) -> None:
    of = kept.maps
    best, place = _largest(of.x, _of_x(b, c, 0, 0, of), oy, ox, of.at)
    of.y[_U(_of_y(b, c, oy, ox, of.y_pitch, of))] = best
    kept.indices[_U(_of_y(b, c, oy, ox, kept.indices_pitch, of))] = place


@at_every_place(MapsWithIndices)
def _maximum_backward(b: int, c: int, iy: int, ix: int, kept: MapsWithIndices) -> None:
    of, at = kept.maps, kept.maps.at
    first_row, last_row = covering(iy, at.high, at.rows, at)
    first, last = covering(ix, at.wide, at.columns, at)
    total = of.y.dtype.type(0)
    for oy in range(first_row, last_row):
        row = (iy + at.pad - oy * at.stride) * at.wide + ix + at.pad
        for ox in range(first, last):
            index = kept.indices[_U(_of_y(b, c, oy, ox, kept.indices_pitch, of))]
            if index == row - ox * at.stride:
                total += of.y[_U(_of_y(b, c, oy, ox, of.y_pitch, of))]
    write_or_add(of.x, _U(_of_x(b, c, iy, ix, of)), total, of.add)


@at_every_place(PoolMaps)
def _mean(b: int, c: int, oy: int, ox: int, of: PoolMaps) -> None:
    at, number = of.at, of.x.dtype.type
    (first, last), total = covered(ox, at.wide, at.width, at), number(0)
    first_row, last_row = covered(oy, at.high, at.height, at)
    for iy in range(first_row, last_row):
        for ix in range(first, last):
            total += of.x[_U(_of_x(b, c, iy, ix, of))]
    count = counted(oy, at.high, at.height, at) * counted(ox, at.wide, at.width, at)
    of.y[_U(_of_y(b, c, oy, ox, of.y_pitch, of))] = total / number(count)


@at_every_place(PoolMaps)
def _mean_backward(b: int, c: int, iy: int, ix: int, of: PoolMaps) -> None:
    at, number = of.at, of.x.dtype.type
    first_row, last_row = covering(iy, at.high, at.rows, at)
    first, last = covering(ix, at.wide, at.columns, at)
    total = number(0)
    for oy in range(first_row, last_row):
        tall = counted(oy, at.high, at.height, at)
        for ox in range(first, last):
            count = number(tall * counted(ox, at.wide, at.width, at))
            total += of.y[_U(_of_y(b, c, oy, ox, of.y_pitch, of))] / count
    write_or_add(of.x, _U(_of_x(b, c, iy, ix, of)), total, of.add)
