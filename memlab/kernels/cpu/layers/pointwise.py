"""Kernels of pointwise layers that need more on a processor than the formulas of
``formulas.pointwise``."""

from __future__ import annotations

from itertools import accumulate

import numpy as np

from memlab.kernels import device_independent
from memlab.kernels.cpu.compile import compiled
from memlab.kernels.cpu.elementwise_loops import apply_formula, update
from memlab.kernels.cpu.flat_arrays import bits, lines, start
from memlab.kernels.cpu.small_formats.bitmask import pack_positive, relu_backward_masked
from memlab.kernels.formulas import pointwise
from memlab.kernels.formulas.accumulation import write_or_add
from memlab.kernels.formulas.pointwise import dropout_value
from memlab.kernels.formulas.random_numbers import mix
from memlab.kernels.operands import dropout_settings, inputs
from memlab.kernels.registry import Array, KernelCall, kernel

device_independent.register("cpu", device_independent.Loops(apply_formula, update))


@kernel("relu")
def relu(call: KernelCall) -> None:
    """Compute ``y = max(x, 0)``; NaN stays NaN. If the call has a mask, its bits say where y is
    above 0.

    Shapes: x and y (B, ...), mask (B, values of a sample / 8, rounded up) in uint8.
    """
    apply_formula(pointwise.relu, call["x"], call["y"])
    if "mask" in call.arrays:
        pack_positive(call["y"], call["mask"])


@kernel("relu.backward")
def relu_backward(call: KernelCall) -> None:
    """Compute ``dx``: ``dy`` where y is above 0, else 0. A mask may say so instead of y.

    Shapes: y, dy and dx (B, ...), mask (B, values of a sample / 8, rounded up) in uint8.
    """
    dy, dx, add = call["dy"], call["dx"], call.accumulate
    if "mask" in call.arrays:
        relu_backward_masked(dy, call["mask"], dx, add)
    elif start(dy) == start(dx):
        for y, values in lines(call["y"], dx):
            _erase(y, values)
    else:
        apply_formula(pointwise.relu_backward, dy, call["y"], dx, add=add)


@compiled
def _erase(y: Array, dx: Array) -> None:
    """Set ``dx`` to 0 where y is not above 0, when dy and dx are one array; other values are not
    even read."""
    zero = dx.dtype.type(0)
    for i in range(dx.size):
        dx[i] = zero if y[i] <= zero else dx[i]


@kernel("concat")
def concat(call: KernelCall) -> None:
    """Copy each input (B, C_i, ...) into its channels of y (B, sum of C_i, ...)."""
    parts, y = inputs(call), call["y"]
    ends = list(accumulate(x.shape[1] for x in parts))
    for x, end in zip(parts, ends, strict=True):
        np.copyto(bits(y[:, end - x.shape[1] : end]), bits(x))


@kernel("dropout")
def dropout(call: KernelCall) -> None:
    """Compute dropout: 0 with probability p, else ``x / (1 - p)``.

    Shapes: x and y (B, ...).
    """
    _drop(call, call["x"], call["y"], add=False)


@kernel("dropout.backward")
def dropout_backward(call: KernelCall) -> None:
    """Compute the gradient of dropout: ``dy / (1 - p)`` where forward kept the value, else 0.

    Shapes: dy and dx (B, ...).
    """
    _drop(call, call["dy"], call["dx"], call.accumulate)


def _drop(call: KernelCall, source: Array, target: Array, add: bool) -> None:
    """Apply dropout, with the random numbers of the call, from one array to another."""
    first, settings = call.first, dropout_settings(call)
    for x, y in lines(source, target):
        _dropout(x, y, first, *settings, add)
        first += x.size


@compiled
def _dropout(
    x: Array, y: Array, first: int, key: int, least: int, factor: float, add: bool
) -> None:
    """Apply dropout to a line; ``first`` is the index in the batch of its first value."""
    scale, seed = y.dtype.type(factor), mix(np.uint64(key))
    for i in range(y.size):
        write_or_add(y, i, dropout_value(x[i], seed, first + i, least, scale), add)
