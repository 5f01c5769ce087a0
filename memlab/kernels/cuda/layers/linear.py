"""Linear layers, and the bias that they share with convolutions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import cuda

from memlab.kernels.cuda.block_sums import sum_values
from memlab.kernels.cuda.compile import Values, compiled, launch
from memlab.kernels.cuda.conv.matrix_product import product
from memlab.kernels.cuda.flat_arrays import by_channel, line, pitch
from memlab.kernels.registry import KernelCall, kernel

_U = np.uint64


@kernel("linear", device="cuda")
def linear(call: KernelCall) -> None:
    """Compute ``y = x W^T + b``.

    Shapes: x (B, F), weight (G, F), bias (G,), y (B, G).
    """
    product(call["x"], call["weight"], call["y"], transpose_b=True)
    add_bias(call, call["y"])


@kernel("linear.backward", device="cuda")
def linear_backward(call: KernelCall) -> None:
    """Compute ``dW = dy^T x``, ``db`` as the sum of ``dy``, and ``dx = dy W``.

    Shapes are those of ``linear``; each gradient has the shape of its tensor.
    """
    dy = call["dy"]
    if call.learns:
        product(dy, call["x"], call["dweight"], call.accumulate_weights, transpose_a=True)
    sum_bias(call, dy)
    if "dx" in call.arrays:
        product(dy, call["weight"], call["dx"], call.accumulate)


def add_bias(call: KernelCall, y: Any) -> None:
    """Add the bias, if the call has one, to each output y (B, G), or to each channel of y (B, G, H,
    W)."""
    if "bias" in call.arrays:
        shape, extents = by_channel(y)
        launch(_add_bias, shape, line(y), pitch(y), line(call["bias"]), *extents)


def sum_bias(call: KernelCall, dy: Any) -> None:
    """Compute the gradient of the bias, if there is one: the sum of ``dy`` over batch and map."""
    if "dbias" in call.arrays:
        sum_values(dy, call["dbias"], accumulate=call.accumulate_weights)


@compiled
def _add_bias(y: Values, y_pitch: int, bias: Values, batch: int, channels: int, plane: int) -> None:
    """Add the bias to every value of every channel."""
    left, top, b = cuda.grid(3)
    across, down, along = cuda.gridsize(3)
    while b < batch:
        c = top
        while c < channels:
            i = left
            while i < plane:
                y[_U(b * y_pitch + c * plane + i)] += bias[c]
                i += across
            c += down
        b += along
