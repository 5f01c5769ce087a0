"""Direct convolution: the loops of the definition, without a workspace.

``y[k, oy, ox]`` is the sum over ``c, ky, kx`` of ``w[k, c, ky, kx] x[c, iy, ix]``, where ``iy = oy
* stride - pad + ky * dilation``. ``dw`` sums ``dy x`` over the output places, and ``dx`` sums ``dy
w`` over all products that a value of x took part in. Indices are unsigned, which spares the check
for negative ones.
"""

from __future__ import annotations

import numpy as np

from memlab.kernels.cpu.compile import compiled
from memlab.kernels.cpu.layers.linear import add_bias, sum_bias
from memlab.kernels.formulas.accumulation import write_or_add
from memlab.kernels.formulas.windows import inside
from memlab.kernels.operands import convolution
from memlab.kernels.registry import Array, KernelCall, kernel

_U = np.uint64

Settings = tuple[int, int, int, int]
"""Groups, stride, padding, dilation."""


@kernel("conv2d", "direct")
def conv2d(call: KernelCall) -> None:
    """Compute ``y = w * x`` (convolution), plus the bias if there is one.

    Shapes: x (B, C, H, W), weight (K, C/g, k, k), bias (K,), y (B, K, Ho, Wo).
    """
    for x, y in zip(call["x"], call["y"], strict=True):
        _forward(x, call["weight"], y, _settings(call))
    if "bias" in call.arrays:
        add_bias(call["y"], call["bias"])


@kernel("conv2d.backward", "direct")
def conv2d_backward(call: KernelCall) -> None:
    """Compute ``dw``, summed over the images, ``dx`` image by image, and the gradient of the bias.

    Shapes are those of ``conv2d``; each gradient has the shape of its tensor.
    """
    settings, adds = _settings(call), call.accumulate_weights
    if call.learns:
        for b, (x, dy) in enumerate(zip(call["x"], call["dy"], strict=True)):
            _weight_gradient(x, call["dweight"], dy, settings, adds or b > 0)
    if "dx" in call.arrays:
        for dx, dy in zip(call["dx"], call["dy"], strict=True):
            _input_gradient(dx, call["weight"], dy, settings, call.accumulate)
    if "dbias" in call.arrays:
        sum_bias(call["dy"], call["dbias"], adds)


def _settings(call: KernelCall) -> Settings:
    """Groups, stride, padding and dilation of the layer."""
    layer = convolution(call)
    return layer.groups, layer.stride, layer.padding, layer.dilation


@compiled
def _forward(x: Array, weight: Array, y: Array, settings: Settings) -> None:
    """Convolve one image x (C, H, W) into y (K, Ho, Wo)."""
    groups, stride, pad, dilation = settings
    outputs, inner, kernel, _ = weight.shape
    for k in range(outputs):
        first = k // (outputs // groups) * inner
        for oy in range(y.shape[1]):
            top = oy * stride - pad
            upper, lower = inside(x.shape[1], kernel, dilation, top)
            for ox in range(y.shape[2]):
                left = ox * stride - pad
                begin, end = inside(x.shape[2], kernel, dilation, left)
                total = 0.0
                for c in range(inner):
                    for ky in range(upper, lower):
                        for kx in range(begin, end):
                            iy, ix = _U(top + ky * dilation), _U(left + kx * dilation)
                            total += weight[k, c, _U(ky), _U(kx)] * x[first + c, iy, ix]
                y[k, oy, ox] = total


@compiled
def _weight_gradient(
    x: Array, dweight: Array, dy: Array, settings: Settings, accumulate: bool
) -> None:
    """Write, or add, the gradient of the weights from one image."""
    groups, stride, pad, dilation = settings
    outputs, inner, kernel, _ = dweight.shape
    for k in range(outputs):
        first = k // (outputs // groups) * inner
        for c in range(inner):
            for ky in range(kernel):
                up = ky * dilation - pad
                upper, lower = inside(x.shape[1], dy.shape[1], stride, up)
                for kx in range(kernel):
                    left = kx * dilation - pad
                    begin, end = inside(x.shape[2], dy.shape[2], stride, left)
                    total = 0.0
                    for oy in range(upper, lower):
                        for ox in range(begin, end):
                            iy, ix = _U(oy * stride + up), _U(ox * stride + left)
                            total += dy[k, _U(oy), _U(ox)] * x[first + c, iy, ix]
                    write_or_add(dweight, (k, c, ky, kx), total, accumulate)


@compiled
def _input_gradient(
    dx: Array, weight: Array, dy: Array, settings: Settings, accumulate: bool
) -> None:
    """Write, or add, the gradient of one image."""
    groups, stride, pad, dilation = settings
    outputs, inner, kernel, _ = weight.shape
    if not accumulate:
        dx[:] = 0
    for k in range(outputs):
        first = k // (outputs // groups) * inner
        for oy in range(dy.shape[1]):
            top = oy * stride - pad
            upper, lower = inside(dx.shape[1], kernel, dilation, top)
            for ox in range(dy.shape[2]):
                left = ox * stride - pad
                begin, end = inside(dx.shape[2], kernel, dilation, left)
                for c in range(inner):
                    for ky in range(upper, lower):
                        for kx in range(begin, end):
                            iy, ix = _U(top + ky * dilation), _U(left + kx * dilation)
                            dx[first + c, iy, ix] += dy[k, oy, ox] * weight[k, c, _U(ky), _U(kx)]
