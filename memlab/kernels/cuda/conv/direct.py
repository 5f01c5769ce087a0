"""Direct convolution: the textbook's loops, and no workspace.

A thread makes one value of the output, or of the input's gradient, and looks for whatever took part
in it. A weight takes part everywhere, so a block of threads makes one value of its gradient.
"""

from __future__ import annotations

import numpy as np
from numba import cuda

from memlab.kernels.cuda import block_sums
from memlab.kernels.cuda.arrays import line, pitch
from memlab.kernels.cuda.compile import Values, compiled, inlined, launch
from memlab.kernels.cuda.grids import THREADS, planes, results
from memlab.kernels.cuda.layers.linear import add_bias, sum_bias
from memlab.kernels.maps.accumulation import put
from memlab.kernels.maps.windows import reader, source
from memlab.kernels.operands import Window, convolution, weight_shape, window
from memlab.kernels.registry import Call, kernel

_U = np.uint64

add_up = inlined(block_sums.add_up, globals())


@kernel("conv2d", "direct")
def conv2d(call: Call) -> None:
    """``y = w * x``, plus the bias."""
    x, y, at = call["x"], call["y"], window(call)
    outer, inner, *_ = weight_shape(call)
    shape = planes(at.columns, at.rows, len(x) * outer)
    launch(
        _forward, shape, line(x), pitch(x), line(call["weight"]), line(y), pitch(y), len(x),
        outer, inner, convolution(call).groups, at,
    )  # fmt: skip
    add_bias(call, y)


@kernel("conv2d.backward", "direct")
def conv2d_backward(call: Call) -> None:
    """``dw`` sums ``dy x`` over the places, and ``dx`` sums ``dy w`` over what it took part in."""
    x, dy, at = call["x"], call["dy"], window(call)
    outer, inner, *_ = weight_shape(call)
    groups = convolution(call).groups
    launch(
        _weight_gradient, results(call["dweight"].size, at.columns), line(x), pitch(x), line(dy),
        pitch(dy), line(call["dweight"]), len(x), outer, inner, groups, at, call.accumulate_weights,
    )  # fmt: skip
    if "dx" in call.arrays:
        dx = call["dx"]
        shape = planes(at.width, at.height, len(x) * inner * groups)
        launch(
            _input_gradient, shape, line(dy), pitch(dy), line(call["weight"]), line(dx), pitch(dx),
            len(x), outer, inner, groups, at, call.accumulate,
        )  # fmt: skip
    sum_bias(call, dy)


@compiled
def _forward(
    x: Values, x_pitch: int, weight: Values, y: Values, y_pitch: int, batch: int, outer: int,
    inner: int, groups: int, at: Window,
) -> None:  # fmt: skip
    left, top, plane = cuda.grid(3)
    across, down, along = cuda.gridsize(3)
    while plane < batch * outer:
        b, k = plane // outer, plane % outer
        first = b * x_pitch + k // (outer // groups) * inner * at.height * at.width
        oy = top
        while oy < at.rows:
            ox = left
            while ox < at.columns:
                total, w = x.dtype.type(0), k * inner * at.kernel * at.kernel
                for c in range(inner):
                    for ky in range(at.kernel):
                        iy = source(oy, ky, at.stride, at.pad, at.dilation)
                        row = first + (c * at.height + iy) * at.width
                        for kx in range(at.kernel):
                            ix = source(ox, kx, at.stride, at.pad, at.dilation)
                            if 0 <= iy < at.height and 0 <= ix < at.width:
                                total += weight[_U(w)] * x[_U(row + ix)]
                            w += 1
                y[_U(b * y_pitch + (k * at.rows + oy) * at.columns + ox)] = total
                ox += across
            oy += down
        plane += along


@compiled
def _input_gradient(
    dy: Values, dy_pitch: int, weight: Values, dx: Values, dx_pitch: int, batch: int, outer: int,
    inner: int, groups: int, at: Window, add: bool,
) -> None:  # fmt: skip
    left, top, plane = cuda.grid(3)
    across, down, along = cuda.gridsize(3)
    taps, maps = at.kernel * at.kernel, outer // groups
    while plane < batch * inner * groups:
        b, channel = plane // (inner * groups), plane % (inner * groups)
        g, c = channel // inner, channel % inner
        iy = top
        while iy < at.height:
            ix = left
            while ix < at.width:
                total = dy.dtype.type(0)
                for ky in range(at.kernel):
                    oy = reader(iy, ky, at.stride, at.pad, at.dilation)
                    for kx in range(at.kernel):
                        ox = reader(ix, kx, at.stride, at.pad, at.dilation)
                        if 0 <= oy < at.rows and 0 <= ox < at.columns:
                            for k in range(g * maps, (g + 1) * maps):
                                w = (k * inner + c) * taps + ky * at.kernel + kx
                                place = (k * at.rows + oy) * at.columns + ox
                                total += weight[_U(w)] * dy[_U(b * dy_pitch + place)]
                to = _U(b * dx_pitch + (channel * at.height + iy) * at.width + ix)
                put(dx, to, total, add)
                ix += across
            iy += down
        plane += along


@compiled
def _weight_gradient(
    x: Values, x_pitch: int, dy: Values, dy_pitch: int, dweight: Values, batch: int, outer: int,
    inner: int, groups: int, at: Window, add: bool,
) -> None:  # fmt: skip
    sums = cuda.shared.array(THREADS, np.float64)
    w = cuda.blockIdx.x
    kx, ky = w % at.kernel, w // at.kernel % at.kernel
    c, k = w // (at.kernel * at.kernel) % inner, w // (at.kernel * at.kernel * inner)
    channel = k // (outer // groups) * inner + c
    total = 0.0
    for b in range(batch):
        oy = cuda.threadIdx.y
        while oy < at.rows:
            iy = source(oy, ky, at.stride, at.pad, at.dilation)
            ox = cuda.threadIdx.x
            while ox < at.columns:
                ix = source(ox, kx, at.stride, at.pad, at.dilation)
                if 0 <= iy < at.height and 0 <= ix < at.width:
                    here = x[_U(b * x_pitch + (channel * at.height + iy) * at.width + ix)]
                    total += here * dy[_U(b * dy_pitch + (k * at.rows + oy) * at.columns + ox)]
                ox += cuda.blockDim.x
            oy += cuda.blockDim.y
    thread = cuda.threadIdx.y * cuda.blockDim.x + cuda.threadIdx.x
    sums[thread] = total
    add_up(sums, thread)
    if thread == 0:
        put(dweight, w, sums[0], add)
