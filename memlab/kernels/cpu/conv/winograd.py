"""Winograd's F(2x2, 3x3): four outputs from 16 products instead of 36 (Lavin and Gray 2016).

A tile ``d`` of 4x4 values under a 3x3 kernel ``w`` gives 2x2 outputs::

    Y = A' [ (G w G') * (B' d B) ] A

The products are taken value by value, and summed over the channels: for each of the 16 places, one
matrix product over many tiles. The workspace holds 16 K C values of transformed weights, 16 T (C +
K) of the inputs and outputs of T tiles, as many as stay near the processor, and a padded row. A
fused kernel keeps all but the weights in registers (G5).

The gradients are the transposes. With ``dM = A dY A'``, ``dU = dM V'`` gives ``dw = G' dU G``, and
``dV = U' dM`` gives ``dd = B dV B'``, which overlap and add up.
"""

from __future__ import annotations

from collections.abc import Iterator

from memlab.kernels.cpu.blas import gemm
from memlab.kernels.cpu.conv.winograd_transforms import (
    gather_weights,
    spread_input,
    spread_output,
    transform_input,
    transform_output,
    transform_weights,
)
from memlab.kernels.cpu.layers.linear import add_bias, sum_bias
from memlab.kernels.registry import Array, Call, kernel
from memlab.layers import Conv2d


@kernel("conv2d", "winograd")
def conv2d(call: Call) -> None:
    """``Y = A' [U * V] A``, some rows of tiles at a time."""
    pad, u = _pad(call), call["transformed weights"]
    row, v, m = _buffers(call)
    transform_weights(call["weight"], u)
    for image, y in zip(call["x"], call["y"], strict=True):
        for first, down, across in _blocks(v, y):
            transform_input(image, row, v, first, down, across, pad)
            for place, near, far in _products(v, m, down * across):
                gemm(u[place], near, far)
            transform_output(m, y, first, down, across)
    if "bias" in call.arrays:
        add_bias(call["y"], call["bias"])


@kernel("conv2d.backward", "winograd")
def conv2d_backward(call: Call) -> None:
    """``dU = dM V'`` over all tiles, then ``dV = U' dM`` of each."""
    pad, u = _pad(call), call["transformed weights"]
    row, v, m = _buffers(call)
    u.fill(0)
    for image, dy in zip(call["x"], call["dy"], strict=True):
        for first, down, across in _blocks(v, dy):
            transform_input(image, row, v, first, down, across, pad)
            spread_output(dy, row, m, first, down, across)
            for place, near, far in _products(v, m, down * across):
                gemm(far, near, u[place], accumulate=True, transpose_b=True)
    gather_weights(u, call["dweight"], call.accumulate_weights)
    if "dx" in call.arrays:
        _input_gradients(call)
    if "dbias" in call.arrays:
        sum_bias(call["dy"], call["dbias"], call.accumulate_weights)


def _input_gradients(call: Call) -> None:
    row, v, m = _buffers(call)
    u = call["transformed weights"]
    transform_weights(call["weight"], u)
    for dx, dy in zip(call["dx"], call["dy"], strict=True):
        if not call.accumulate:
            dx.fill(0)
        for first, down, across in _blocks(v, dy):
            spread_output(dy, row, m, first, down, across)
            for place, near, far in _products(v, m, down * across):
                gemm(u[place], far, near, transpose_a=True)
            spread_input(v, row, dx, first, down, across, _pad(call))


def _buffers(call: Call) -> list[Array]:
    """The padded row, the transformed inputs and outputs; those of the first thread."""
    buffers = [("padded row", 1), ("transformed inputs", 3), ("transformed outputs", 3)]
    return [call[name] if call[name].ndim == axes else call[name][0] for name, axes in buffers]


def _blocks(v: Array, maps: Array) -> Iterator[tuple[int, int, int]]:
    """The rows of tiles that are transformed together: the first, how many, and their tiles."""
    rows, across = (-(-extent // 2) for extent in maps.shape[1:])
    together = v.shape[2] // across
    for first in range(0, rows, together):
        yield first, min(together, rows - first), across


def _products(v: Array, m: Array, tiles: int) -> Iterator[tuple[int, Array, Array]]:
    """For each of the 16 places, the matrices of inputs and outputs by tiles."""
    for place in range(16):
        yield place, v[place, :, :tiles], m[place, :, :tiles]


def _pad(call: Call) -> int:
    assert isinstance(call.layer, Conv2d)
    return call.layer.padding
