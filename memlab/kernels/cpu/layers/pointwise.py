"""Value by value: relu, tanh, dropout, sums, and concat, which copies."""

from __future__ import annotations

from itertools import accumulate

import numpy as np

from memlab.kernels.cpu.arrays import bits, lines, start
from memlab.kernels.cpu.compile import compiled
from memlab.kernels.cpu.small.bitmask import pack_positive, relu_backward_masked
from memlab.kernels.operands import inputs
from memlab.kernels.registry import Array, Call, kernel


@kernel("relu")
def relu(call: Call) -> None:
    """``max(x, 0)``; NaN stays. A mask notes where y is above 0, where there is one."""
    for x, y in lines(call["x"], call["y"]):
        _relu(x, y)
    if "mask" in call.arrays:
        pack_positive(call["y"], call["mask"])


@kernel("relu.backward")
def relu_backward(call: Call) -> None:
    """``dy`` where y is above 0, which a mask may hold instead of y."""
    if "mask" in call.arrays:
        relu_backward_masked(call["dy"], call["mask"], call["dx"], call.accumulate)
        return
    for dy, y, dx in lines(call["dy"], call["y"], call["dx"]):
        if start(dy) == start(dx):
            _erase(y, dx)
        else:
            _relu_backward(dy, y, dx, call.accumulate)


@kernel("tanh")
def tanh(call: Call) -> None:
    """The hyperbolic tangent."""
    for x, y in lines(call["x"], call["y"]):
        _tanh(x, y)


@kernel("tanh.backward")
def tanh_backward(call: Call) -> None:
    """``dy (1 - y^2)``."""
    for dy, y, dx in lines(call["dy"], call["y"], call["dx"]):
        _tanh_backward(dy, y, dx, call.accumulate)


@kernel("add")
def add(call: Call) -> None:
    """``x0 + x1 + ...``."""
    first, second, *rest = inputs(call)
    for x0, x1, y in lines(first, second, call["y"]):
        _add(x0, x1, y)
    for x in rest:
        _accumulate(call["y"], x)


@kernel("accumulate")
def accumulate_gradient(call: Call) -> None:
    """``dx += dy``: a gradient meets another one at a fork."""
    _accumulate(call["dx"], call["dy"])


@kernel("concat")
def concat(call: Call) -> None:
    """Each input into its channels of y."""
    parts, y = inputs(call), call["y"]
    ends = list(accumulate(x.shape[1] for x in parts))
    for x, end in zip(parts, ends, strict=True):
        np.copyto(bits(y[:, end - x.shape[1] : end]), bits(x))


def _accumulate(dx: Array, dy: Array) -> None:
    for target, source in lines(dx, dy):
        _add(target, source, target)


@compiled
def _relu(x: Array, y: Array) -> None:
    zero = y.dtype.type(0)
    for i in range(y.size):
        y[i] = zero if x[i] <= zero else x[i]


@compiled
def _relu_backward(dy: Array, y: Array, dx: Array, accumulate: bool) -> None:
    zero = dx.dtype.type(0)
    if accumulate:
        for i in range(dx.size):
            dx[i] += zero if y[i] <= zero else dy[i]
    else:
        for i in range(dx.size):
            dx[i] = zero if y[i] <= zero else dy[i]


@compiled
def _erase(y: Array, dx: Array) -> None:
    """Where dy and dx are one array: told so, the compiler takes whole vectors."""
    zero = dx.dtype.type(0)
    for i in range(dx.size):
        dx[i] = zero if y[i] <= zero else dx[i]


@compiled
def _tanh(x: Array, y: Array) -> None:
    for i in range(y.size):
        y[i] = np.tanh(x[i])


@compiled
def _tanh_backward(dy: Array, y: Array, dx: Array, accumulate: bool) -> None:
    one = dx.dtype.type(1)
    if accumulate:
        for i in range(dx.size):
            dx[i] += dy[i] * (one - y[i] * y[i])
    else:
        for i in range(dx.size):
            dx[i] = dy[i] * (one - y[i] * y[i])


@compiled
def _add(x0: Array, x1: Array, y: Array) -> None:
    for i in range(y.size):
        y[i] = x0[i] + x1[i]
