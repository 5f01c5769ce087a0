"""Value by value: relu, tanh, sums, and concat, which copies.

Two kernels serve them all, one for a function of a value and one for a function of two. A thread
takes every so many values of a sample, so that neighbours read neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import cuda

from memlab.kernels.cuda.arrays import launch_on_values, line, pitch
from memlab.kernels.cuda.compile import Values, compiled, inlined, launch
from memlab.kernels.cuda.grids import values
from memlab.kernels.operands import inputs
from memlab.kernels.registry import Array, Call, kernel

_U = np.uint64
ZERO, ONE = np.float32(0), np.float32(1)  # widened where they meet fp64


def of_one(function: Callable[[Any], Any]) -> Any:
    """A kernel for ``y = f(x)``, or ``y += f(x)``."""
    f = inlined(function)

    def each(
        x: Values, x_pitch: int, y: Values, y_pitch: int, batch: int, count: int, add: bool
    ) -> None:
        b = cuda.blockIdx.y
        while b < batch:
            i = cuda.grid(1)
            while i < count:
                value, to = f(x[_U(b * x_pitch + i)]), _U(b * y_pitch + i)
                y[to] = y[to] + value if add else value
                i += cuda.gridsize(1)
            b += cuda.gridDim.y

    return compiled(each, function)


def of_two(function: Callable[[Any, Any], Any]) -> Any:
    """A kernel for ``y = f(a, b)``, or ``y += f(a, b)``."""
    f = inlined(function)

    def each(
        one: Values, one_pitch: int, other: Values, other_pitch: int, y: Values, y_pitch: int,
        batch: int, count: int, add: bool,
    ) -> None:  # fmt: skip
        b = cuda.blockIdx.y
        while b < batch:
            i = cuda.grid(1)
            while i < count:
                to = _U(b * y_pitch + i)
                value = f(one[_U(b * one_pitch + i)], other[_U(b * other_pitch + i)])
                y[to] = y[to] + value if add else value
                i += cuda.gridsize(1)
            b += cuda.gridDim.y

    return compiled(each, function)


@of_one
def _copy(x: Any) -> Any:
    return x


@of_one
def _relu(x: Any) -> Any:
    return ZERO if x <= ZERO else x


@of_one
def _tanh(x: Any) -> Any:
    return math.tanh(x)


@of_two
def _add(one: Any, other: Any) -> Any:
    return one + other


@of_two
def _relu_backward(dy: Any, y: Any) -> Any:
    return ZERO if y <= ZERO else dy


@of_two
def _tanh_backward(dy: Any, y: Any) -> Any:
    return dy * (ONE - y * y)


@kernel("relu", device="cuda")
def relu(call: Call) -> None:
    """``max(x, 0)``; NaN stays."""
    launch_on_values(_relu, [call["x"], call["y"]], False)


@kernel("relu.backward", device="cuda")
def relu_backward(call: Call) -> None:
    """``dy`` where y is above 0."""
    launch_on_values(_relu_backward, [call["dy"], call["y"], call["dx"]], call.accumulate)


@kernel("tanh", device="cuda")
def tanh(call: Call) -> None:
    """The hyperbolic tangent."""
    launch_on_values(_tanh, [call["x"], call["y"]], False)


@kernel("tanh.backward", device="cuda")
def tanh_backward(call: Call) -> None:
    """``dy (1 - y^2)``."""
    launch_on_values(_tanh_backward, [call["dy"], call["y"], call["dx"]], call.accumulate)


@kernel("add", device="cuda")
def add(call: Call) -> None:
    """``x0 + x1 + ...``."""
    first, second, *rest = inputs(call)
    launch_on_values(_add, [first, second, call["y"]], False)
    for x in rest:
        copy(x, call["y"], accumulate=True)


@kernel("accumulate", device="cuda")
def accumulate_gradient(call: Call) -> None:
    """``dx += dy``: a gradient meets another one at a fork."""
    copy(call["dy"], call["dx"], accumulate=True)


@kernel("concat", device="cuda")
def concat(call: Call) -> None:
    """Each input into its channels of y."""
    y, start = call["y"], 0
    for x in inputs(call):
        batch, count = len(x), x.size // len(x)
        # a slice of a line: one of a larger device array takes Numba as long as it has rows
        spans = line(x), pitch(x), line(y)[start:], pitch(y)
        launch(_copy, values(count, batch), *spans, batch, count, False)
        start += count


def copy(source: Array, target: Array, accumulate: bool = False) -> None:
    """Values into, or onto, those of an array of the same shape."""
    launch_on_values(_copy, [source, target], accumulate)
