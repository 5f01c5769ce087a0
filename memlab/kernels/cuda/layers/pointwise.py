"""Kernels of pointwise layers that need more on a GPU than the formulas of ``formulas.pointwise``.

concat copies. dropout uses the random numbers that the CPU draws: each depends on its index alone.
"""

from __future__ import annotations

import numpy as np
from numba import cuda

from memlab.kernels import device_independent
from memlab.kernels.cuda.compile import Values, compiled, launch, values
from memlab.kernels.cuda.elementwise_loops import FORMULA_KERNELS, apply_formula, update
from memlab.kernels.cuda.flat_arrays import launch_on_values, line, pitch
from memlab.kernels.formulas.accumulation import write_or_add
from memlab.kernels.formulas.pointwise import dropout_value, identity
from memlab.kernels.formulas.random_numbers import mix
from memlab.kernels.operands import dropout_settings, inputs
from memlab.kernels.registry import KernelCall, kernel

_U = np.uint64

device_independent.register("cuda", device_independent.Loops(apply_formula, update))


@kernel("concat", device="cuda")
def concat(call: KernelCall) -> None:
    """Copy each input (B, C_i, ...) into its channels of y (B, sum of C_i, ...)."""
    y, start = call["y"], 0
    for x in inputs(call):
        batch, count = len(x), x.size // len(x)
        # sliced as a line: Numba slices a device array in a time that grows with its rows
        spans = line(x), pitch(x), line(y)[start:], pitch(y)
        launch(FORMULA_KERNELS[identity], values(count, batch), *spans, batch, count, 0.0, False)
        start += count


@kernel("dropout", device="cuda")
def dropout(call: KernelCall) -> None:
    """Compute dropout: 0 with probability p, else ``x / (1 - p)``.

    Shapes: x and y (B, ...).
    """
    launch_on_values(_dropout, [call["x"], call["y"]], *dropout_settings(call), False)


@kernel("dropout.backward", device="cuda")
def dropout_backward(call: KernelCall) -> None:
    """Compute the gradient of dropout: ``dy / (1 - p)`` where forward kept the value, else 0.

    Shapes: dy and dx (B, ...).
    """
    settings = dropout_settings(call)
    launch_on_values(_dropout, [call["dy"], call["dx"]], *settings, call.accumulate)


@compiled
def _dropout(
    x: Values, x_pitch: int, y: Values, y_pitch: int, batch: int, count: int, key: int, least: int,
    factor: float, add: bool,
) -> None:  # fmt: skip
    """Apply dropout to every value, with the random numbers of its index."""
    scale, seed = y.dtype.type(factor), mix(_U(key))
    b = cuda.blockIdx.y
    while b < batch:
        i = cuda.grid(1)
        while i < count:
            value = dropout_value(x[_U(b * x_pitch + i)], seed, b * count + i, least, scale)
            write_or_add(y, _U(b * y_pitch + i), value, add)
            i += cuda.gridsize(1)
        b += cuda.gridDim.y
