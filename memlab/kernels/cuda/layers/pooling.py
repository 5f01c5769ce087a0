"""Pooling: a thread makes one value of the output, or of the input's gradient.

Backward asks which windows cover a value, so that no two threads add to one place. Indices count
the window's places, row by row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import cuda

from memlab.kernels.cuda.arrays import line, pitch
from memlab.kernels.cuda.compile import Places, Shape, Values, compiled, inlined, launch
from memlab.kernels.cuda.grids import planes
from memlab.kernels.maps.accumulation import put
from memlab.kernels.maps.windows import counted, covered, covering
from memlab.kernels.operands import Geometry, geometry
from memlab.kernels.registry import Call, kernel

_U = np.uint64


@kernel("max_pool2d", device="cuda")
def max_pool2d(call: Call) -> None:
    """The largest value of each window, the first of equals; its place where training asks."""
    x, y, at = call["x"], call["y"], geometry(call, call["x"], call["y"])
    spans = line(x), pitch(x), line(y), pitch(y)
    if "indices" in call.arrays:
        indices = call["indices"]
        places = line(indices), pitch(indices)
        launch(_maximum_and_place, _grid(y), *spans, *places, len(x), x.shape[1], at)
    else:
        launch(_maximum, _grid(y), *spans, len(x), x.shape[1], at)


@kernel("max_pool2d.backward", device="cuda")
def max_pool2d_backward(call: Call) -> None:
    """Each ``dy`` goes to the place that its window took."""
    dx, dy, indices = call["dx"], call["dy"], call["indices"]
    spans = line(dy), pitch(dy), line(indices), pitch(indices), line(dx), pitch(dx)
    at = geometry(call, dx, dy)
    launch(_maximum_backward, _grid(dx), *spans, len(dx), dx.shape[1], at, call.accumulate)


@kernel("avg_pool2d", device="cuda")
def avg_pool2d(call: Call) -> None:
    """The mean of each window, zeros of the padding included; what hangs over the padded map is
    not counted."""
    x, y = call["x"], call["y"]
    spans = line(x), pitch(x), line(y), pitch(y)
    launch(_mean, _grid(y), *spans, len(x), x.shape[1], geometry(call, x, y))


@kernel("avg_pool2d.backward", device="cuda")
def avg_pool2d_backward(call: Call) -> None:
    """Each ``dy`` in equal parts to the places of its window."""
    dx, dy = call["dx"], call["dy"]
    spans = line(dy), pitch(dy), line(dx), pitch(dx)
    at = geometry(call, dx, dy)
    launch(_mean_backward, _grid(dx), *spans, len(dx), dx.shape[1], at, call.accumulate)


def _grid(maps: Any) -> Shape:
    batch, channels, rows, columns = maps.shape
    return planes(columns, rows, batch * channels)


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


@compiled
def _maximum(
    x: Values, x_pitch: int, y: Values, y_pitch: int, batch: int, channels: int, at: Geometry
) -> None:
    left, top, plane = cuda.grid(3)
    across, down, along = cuda.gridsize(3)
    while plane < batch * channels:
        b, c = plane // channels, plane % channels
        image = b * x_pitch + c * at.height * at.width
        oy = top
        while oy < at.rows:
            ox = left
            while ox < at.columns:
                best, _ = _largest(x, image, oy, ox, at)
                y[_U(b * y_pitch + (c * at.rows + oy) * at.columns + ox)] = best
                ox += across
            oy += down
        plane += along


@compiled
def _maximum_and_place(
    x: Values, x_pitch: int, y: Values, y_pitch: int, indices: Places, indices_pitch: int,
    batch: int, channels: int, at: Geometry,
) -> None:  # fmt: skip
    left, top, plane = cuda.grid(3)
    across, down, along = cuda.gridsize(3)
    while plane < batch * channels:
        b, c = plane // channels, plane % channels
        image = b * x_pitch + c * at.height * at.width
        oy = top
        while oy < at.rows:
            ox = left
            while ox < at.columns:
                best, place = _largest(x, image, oy, ox, at)
                o = (c * at.rows + oy) * at.columns + ox
                y[_U(b * y_pitch + o)] = best
                indices[_U(b * indices_pitch + o)] = place
                ox += across
            oy += down
        plane += along


@compiled
def _maximum_backward(
    dy: Values, dy_pitch: int, indices: Places, indices_pitch: int, dx: Values, dx_pitch: int,
    batch: int, channels: int, at: Geometry, add: bool,
) -> None:  # fmt: skip
    left, top, plane = cuda.grid(3)
    across, down, along = cuda.gridsize(3)
    while plane < batch * channels:
        b, c = plane // channels, plane % channels
        iy = top
        while iy < at.height:
            first_row, last_row = covering(iy, at.high, at.rows, at)
            ix = left
            while ix < at.width:
                first, last = covering(ix, at.wide, at.columns, at)
                total = dy.dtype.type(0)
                for oy in range(first_row, last_row):
                    row = (iy + at.pad - oy * at.stride) * at.wide + ix + at.pad
                    for ox in range(first, last):
                        o = (c * at.rows + oy) * at.columns + ox
                        if indices[_U(b * indices_pitch + o)] == row - ox * at.stride:
                            total += dy[_U(b * dy_pitch + o)]
                to = _U(b * dx_pitch + (c * at.height + iy) * at.width + ix)
                put(dx, to, total, add)
                ix += across
            iy += down
        plane += along


@compiled
def _mean(
    x: Values, x_pitch: int, y: Values, y_pitch: int, batch: int, channels: int, at: Geometry
) -> None:
    number = x.dtype.type
    left, top, plane = cuda.grid(3)
    across, down, along = cuda.gridsize(3)
    while plane < batch * channels:
        b, c = plane // channels, plane % channels
        image = b * x_pitch + c * at.height * at.width
        oy = top
        while oy < at.rows:
            first_row, last_row = covered(oy, at.high, at.height, at)
            ox = left
            while ox < at.columns:
                (first, last), total = covered(ox, at.wide, at.width, at), number(0)
                for iy in range(first_row, last_row):
                    for ix in range(first, last):
                        total += x[_U(image + iy * at.width + ix)]
                count = counted(oy, at.high, at.height, at) * counted(ox, at.wide, at.width, at)
                y[_U(b * y_pitch + (c * at.rows + oy) * at.columns + ox)] = total / number(count)
                ox += across
            oy += down
        plane += along


@compiled
def _mean_backward(
    dy: Values, dy_pitch: int, dx: Values, dx_pitch: int, batch: int, channels: int, at: Geometry,
    add: bool,
) -> None:  # fmt: skip
    number = dy.dtype.type
    left, top, plane = cuda.grid(3)
    across, down, along = cuda.gridsize(3)
    while plane < batch * channels:
        b, c = plane // channels, plane % channels
        iy = top
        while iy < at.height:
            first_row, last_row = covering(iy, at.high, at.rows, at)
            ix = left
            while ix < at.width:
                first, last = covering(ix, at.wide, at.columns, at)
                total = number(0)
                for oy in range(first_row, last_row):
                    tall = counted(oy, at.high, at.height, at)
                    for ox in range(first, last):
                        count = number(tall * counted(ox, at.wide, at.width, at))
                        o = (c * at.rows + oy) * at.columns + ox
                        total += dy[_U(b * dy_pitch + o)] / count
                to = _U(b * dx_pitch + (c * at.height + iy) * at.width + ix)
                put(dx, to, total, add)
                ix += across
            iy += down
        plane += along
