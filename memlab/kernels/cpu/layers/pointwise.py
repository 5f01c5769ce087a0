"""Value by value: what is special on a processor beside the formulas of ``maps.pointwise``."""

from __future__ import annotations

from itertools import accumulate

import numpy as np

from memlab.kernels import device_independent
from memlab.kernels.cpu.compile import compiled
from memlab.kernels.cpu.elementwise_loops import each, update
from memlab.kernels.cpu.flat_arrays import bits, lines, start
from memlab.kernels.cpu.small_formats.bitmask import pack_positive, relu_backward_masked
from memlab.kernels.formulas import pointwise
from memlab.kernels.formulas.accumulation import write_or_add
from memlab.kernels.formulas.pointwise import dropped
from memlab.kernels.formulas.random_numbers import mix
from memlab.kernels.operands import dropout_settings, inputs
from memlab.kernels.registry import Array, KernelCall, kernel

device_independent.register("cpu", device_independent.Loops(each, update))


@kernel("relu")
def relu(call: KernelCall) -> None:
    """``max(x, 0)``; NaN stays. A mask notes where y is above 0, where there is one."""
    each(pointwise.relu, call["x"], call["y"])
    if "mask" in call.arrays:
        pack_positive(call["y"], call["mask"])


@kernel("relu.backward")
def relu_backward(call: KernelCall) -> None:
    """``dy`` where y is above 0, which a mask may hold instead of y."""
    dy, dx, add = call["dy"], call["dx"], call.accumulate
    if "mask" in call.arrays:
        relu_backward_masked(dy, call["mask"], dx, add)
    elif start(dy) == start(dx):
        for y, values in lines(call["y"], dx):
            _erase(y, values)
    else:
        each(pointwise.relu_backward, dy, call["y"], dx, add=add)


@compiled
def _erase(y: Array, dx: Array) -> None:
    """Where dy and dx are one array, what stays is not even read."""
    zero = dx.dtype.type(0)
    for i in range(dx.size):
        dx[i] = zero if y[i] <= zero else dx[i]


@kernel("concat")
def concat(call: KernelCall) -> None:
    """Each input into its channels of y."""
    parts, y = inputs(call), call["y"]
    ends = list(accumulate(x.shape[1] for x in parts))
    for x, end in zip(parts, ends, strict=True):
        np.copyto(bits(y[:, end - x.shape[1] : end]), bits(x))


@kernel("dropout")
def dropout(call: KernelCall) -> None:
    """0 with probability p, else ``x / (1 - p)``."""
    _drop(call, call["x"], call["y"], add=False)


@kernel("dropout.backward")
def dropout_backward(call: KernelCall) -> None:
    """The same places are 0, the same are scaled."""
    _drop(call, call["dy"], call["dx"], call.accumulate)


def _drop(call: KernelCall, source: Array, target: Array, add: bool) -> None:
    first, settings = call.first, dropout_settings(call)
    for x, y in lines(source, target):
        _dropout(x, y, first, *settings, add)
        first += x.size


@compiled
def _dropout(
    x: Array, y: Array, first: int, key: int, least: int, factor: float, add: bool
) -> None:
    """``first`` is the index of the first value."""
    scale, seed = y.dtype.type(factor), mix(np.uint64(key))
    for i in range(y.size):
        write_or_add(y, i, dropped(x[i], seed, first + i, least, scale), add)
