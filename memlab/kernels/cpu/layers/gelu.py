"""GELU, ``x Phi(x)``: Phi by the error function, or by a tanh that is close to it."""

from __future__ import annotations

import math

import numpy as np

from memlab.kernels.cpu.arrays import lines
from memlab.kernels.cpu.compile import compiled
from memlab.kernels.registry import Array, Call, kernel
from memlab.layers import GELU

_ROOT_HALF, _DENSITY = math.sqrt(0.5), 1 / math.sqrt(2 * math.pi)
_ROOT, _CUBE = math.sqrt(2 / math.pi), 0.044715
"""``tanh(_ROOT (x + _CUBE x^3))`` takes the place of ``erf(x / sqrt(2))``."""


@kernel("gelu")
def gelu(call: Call) -> None:
    """``x (1 + erf(x / sqrt(2))) / 2``, or with the tanh."""
    forward = _exact if _is_exact(call) else _tanh
    for x, y in lines(call["x"], call["y"]):
        forward(x, y)


@kernel("gelu.backward")
def gelu_backward(call: Call) -> None:
    """``dy`` times the derivative."""
    backward = _exact_backward if _is_exact(call) else _tanh_backward
    for x, dy, dx in lines(call["x"], call["dy"], call["dx"]):
        backward(x, dy, dx, call.accumulate)


def _is_exact(call: Call) -> bool:
    assert isinstance(call.layer, GELU)
    return call.layer.form == "exact"


@compiled
def _exact(x: Array, y: Array) -> None:
    for i in range(y.size):
        y[i] = x[i] * 0.5 * (1 + math.erf(x[i] * _ROOT_HALF))


@compiled
def _exact_backward(x: Array, dy: Array, dx: Array, accumulate: bool) -> None:
    for i in range(dx.size):
        below = 0.5 * (1 + math.erf(x[i] * _ROOT_HALF))
        slope = below + x[i] * _DENSITY * np.exp(-0.5 * x[i] * x[i])
        dx[i] = (dx[i] if accumulate else 0) + dy[i] * slope


@compiled
def _tanh(x: Array, y: Array) -> None:
    for i in range(y.size):
        y[i] = 0.5 * x[i] * (1 + np.tanh(_ROOT * (x[i] + _CUBE * x[i] ** 3)))


@compiled
def _tanh_backward(x: Array, dy: Array, dx: Array, accumulate: bool) -> None:
    for i in range(dx.size):
        t = np.tanh(_ROOT * (x[i] + _CUBE * x[i] ** 3))
        inner = _ROOT * (1 + 3 * _CUBE * x[i] * x[i])
        slope = 0.5 * (1 + t) + 0.5 * x[i] * (1 - t * t) * inner
        dx[i] = (dx[i] if accumulate else 0) + dy[i] * slope
