"""Direct convolution: the loops of the definition, without a workspace.

A thread computes one value of the output, or of the input's gradient, from everything that
contributes to it. A weight contributes everywhere, so a block of threads computes one value of its
gradient.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import cuda

from memlab.kernels.cuda import block_sums
from memlab.kernels.cuda.compile import THREADS, Values, compiled, inlined, launch, results
from memlab.kernels.cuda.elementwise_loops import at_every_place, every_place
from memlab.kernels.cuda.flat_arrays import line, pitch
from memlab.kernels.cuda.layers.linear import add_bias, sum_bias
from memlab.kernels.formulas.accumulation import write_or_add
from memlab.kernels.formulas.windows import reader, source
from memlab.kernels.operands import ConvWindow, conv_window, convolution
from memlab.kernels.registry import KernelCall, kernel

_U = np.uint64

add_up = inlined(block_sums.add_up, globals())


class ConvMaps(NamedTuple):
    """Operands of a convolution: images x, weights and outputs y, or the gradients of some of them.

    A group has ``inner`` maps of x and ``outer`` maps of y.
    """

    x: Values
    x_pitch: int
    weight: Values
    y: Values
    y_pitch: int
    batch: int
    inner: int
    outer: int
    at: ConvWindow
    add: bool


@kernel("conv2d", "direct")
def conv2d(call: KernelCall) -> None:
    """Compute ``y = w * x`` (convolution), plus the bias if there is one.

    Shapes: x (B, C, H, W), weight (K, C/g, k, k), bias (K,), y (B, K, Ho, Wo).
    """
    y = call["y"]
    launch(_forward, *every_place(y), _maps(call, call["x"], call["weight"], y, False))
    add_bias(call, y)


@kernel("conv2d.backward", "direct")
def conv2d_backward(call: KernelCall) -> None:
    """Compute ``dw``, the sum of ``dy x`` over the output places, ``dx``, the sum of ``dy w`` over
    its products, and the gradient of the bias.

    Shapes are those of ``conv2d``; each gradient has the shape of its tensor.
    """
    dy = call["dy"]
    if call.learns:
        x, dweight = call["x"], call["dweight"]
        shape = results(dweight.size, dy.shape[3])
        launch(_weight_gradient, shape, _maps(call, x, dweight, dy, call.accumulate_weights))
    if "dx" in call.arrays:
        maps = _maps(call, call["dx"], call["weight"], dy, call.accumulate)
        launch(_input_gradient, *every_place(call["dx"]), maps)
    sum_bias(call, dy)


def _maps(call: KernelCall, x: Any, weight: Any, y: Any, add: bool) -> ConvMaps:
    """Operands of a convolution, as the kernels take them."""
    (outer, inner, *_), groups = weight.shape, convolution(call).groups
    lines = line(x), pitch(x), line(weight), line(y), pitch(y)
    return ConvMaps(*lines, len(x), inner, outer // groups, conv_window(call), add)


@at_every_place(ConvMaps)
def _forward(b: int, k: int, oy: int, ox: int, of: ConvMaps) -> None:
    """Compute one value of the output."""
    at = of.at
    first = b * of.x_pitch + k // of.outer * of.inner * at.height * at.width
    total, w = of.x.dtype.type(0), k * of.inner * at.kernel * at.kernel
    for c in range(of.inner):
        for ky in range(at.kernel):
            iy = source(oy, ky, at.stride, at.pad, at.dilation)
            row = first + (c * at.height + iy) * at.width
            for kx in range(at.kernel):
                ix = source(ox, kx, at.stride, at.pad, at.dilation)
                if 0 <= iy < at.height and 0 <= ix < at.width:
                    total += of.weight[_U(w)] * of.x[_U(row + ix)]
                w += 1
    of.y[_U(b * of.y_pitch + (k * at.rows + oy) * at.columns + ox)] = total


@at_every_place(ConvMaps)
def _input_gradient(b: int, channel: int, iy: int, ix: int, of: ConvMaps) -> None:
    """Compute one value of the input's gradient."""
    at, g, c = of.at, channel // of.inner, channel % of.inner
    total = of.y.dtype.type(0)
    for ky in range(at.kernel):
        oy = reader(iy, ky, at.stride, at.pad, at.dilation)
        for kx in range(at.kernel):
            ox = reader(ix, kx, at.stride, at.pad, at.dilation)
            if 0 <= oy < at.rows and 0 <= ox < at.columns:
                for k in range(g * of.outer, (g + 1) * of.outer):
                    w = ((k * of.inner + c) * at.kernel + ky) * at.kernel + kx
                    place = (k * at.rows + oy) * at.columns + ox
                    total += of.weight[_U(w)] * of.y[_U(b * of.y_pitch + place)]
    to = _U(b * of.x_pitch + (channel * at.height + iy) * at.width + ix)
    write_or_add(of.x, to, total, of.add)


@compiled
def _weight_gradient(of: ConvMaps) -> None:
    """Compute one value of the weights' gradient, with a block of threads."""
    sums, at = cuda.shared.array(THREADS, np.float64), of.at
    w = cuda.blockIdx.x
    kx, ky = w % at.kernel, w // at.kernel % at.kernel
    c = w // (at.kernel * at.kernel) % of.inner
    k = w // (at.kernel * at.kernel * of.inner)
    channel = k // of.outer * of.inner + c
    total = 0.0
    for b in range(of.batch):
        oy = cuda.threadIdx.y
        while oy < at.rows:
            iy = source(oy, ky, at.stride, at.pad, at.dilation)
            ox = cuda.threadIdx.x
            while ox < at.columns:
                ix = source(ox, kx, at.stride, at.pad, at.dilation)
                if 0 <= iy < at.height and 0 <= ix < at.width:
                    here = of.x[_U(b * of.x_pitch + (channel * at.height + iy) * at.width + ix)]
                    there = of.y[_U(b * of.y_pitch + (k * at.rows + oy) * at.columns + ox)]
                    total += here * there
                ox += cuda.blockDim.x
            oy += cuda.blockDim.y
    thread = cuda.threadIdx.y * cuda.blockDim.x + cuda.threadIdx.x
    sums[thread] = total
    add_up(sums, thread)
    if thread == 0:
        write_or_add(of.weight, w, sums[0], of.add)
