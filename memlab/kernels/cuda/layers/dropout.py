"""Dropout, with the numbers that the CPU draws: each depends on its index alone."""

from __future__ import annotations

import numpy as np
from numba import cuda

from memlab.kernels.cuda.arrays import launch_on_values
from memlab.kernels.cuda.compile import Values, compiled, inlined
from memlab.kernels.maps import random_numbers
from memlab.kernels.maps.random_numbers import GOLDEN
from memlab.kernels.operands import dropout_settings
from memlab.kernels.registry import Call, kernel

_U = np.uint64
_1 = _U(1)

mix = inlined(random_numbers.mix)


@kernel("dropout", device="cuda")
def dropout(call: Call) -> None:
    """0 with probability p, else ``x / (1 - p)``."""
    launch_on_values(_dropout, [call["x"], call["y"]], *dropout_settings(call), False)


@kernel("dropout.backward", device="cuda")
def dropout_backward(call: Call) -> None:
    """The same places are 0, the same are scaled."""
    settings = dropout_settings(call)
    launch_on_values(_dropout, [call["dy"], call["dx"]], *settings, call.accumulate)


@compiled
def _dropout(
    x: Values, x_pitch: int, y: Values, y_pitch: int, batch: int, count: int, key: int, least: int,
    factor: float, add: bool,
) -> None:  # fmt: skip
    """Keep a value whose 63 bits are at least ``least``."""
    zero, scale, seed = y.dtype.type(0), y.dtype.type(factor), mix(_U(key))
    b = cuda.blockIdx.y
    while b < batch:
        i = cuda.grid(1)
        while i < count:
            drawn = mix(seed + _U(b * count + i + 1) * GOLDEN) >> _1
            kept = x[_U(b * x_pitch + i)] * scale if drawn >= _U(least) else zero
            to = _U(b * y_pitch + i)
            y[to] = y[to] + kept if add else kept
            i += cuda.gridsize(1)
        b += cuda.gridDim.y
