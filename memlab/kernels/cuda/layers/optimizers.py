"""Optimizers: a parameter and its state change in place, in the format of the parameter."""

from __future__ import annotations

import math
from typing import Any

from numba import cuda

from memlab.kernels.cuda.arrays import line
from memlab.kernels.cuda.compile import Values, compiled, launch
from memlab.kernels.cuda.grids import values
from memlab.kernels.operands import adam_settings, parameters
from memlab.kernels.registry import Call, kernel


@kernel("sgd", device="cuda")
def sgd(call: Call) -> None:
    """``w -= rate g``."""
    _launch(_sgd, call, [], call.settings["rate"])


@kernel("momentum", device="cuda")
def momentum(call: Call) -> None:
    """``v = momentum v + g``, then ``w -= rate v``; no dampening."""
    _launch(_momentum, call, ["momentum"], call.settings["rate"], call.settings["momentum"])


@kernel("adagrad", device="cuda")
def adagrad(call: Call) -> None:
    """``s += g^2``, then ``w -= rate g / (sqrt(s) + epsilon)`` (Duchi, Hazan and Singer 2011)."""
    of = call.settings
    _launch(_adagrad, call, ["sum_of_squares"], of["rate"], of["epsilon"])


@kernel("rmsprop", device="cuda")
def rmsprop(call: Call) -> None:
    """As Adagrad, with a running mean of g^2 instead of the sum (Tieleman and Hinton 2012)."""
    of = call.settings
    _launch(_rmsprop, call, ["mean_square"], of["rate"], of["alpha"], of["epsilon"])


@kernel("adam", device="cuda")
def adam(call: Call) -> None:
    """Running means of g and g^2, corrected for their start at 0 (Kingma and Ba 2015)."""
    _launch(_adam, call, ["first_moment", "second_moment"], *adam_settings(call))


def _launch(kernel: Any, call: Call, states: list[str], *settings: float) -> None:
    for arrays in parameters(call, *states):
        lines = (line(array) for array in arrays)
        launch(kernel, values(arrays[0].size), *lines, arrays[0].size, *settings)


@compiled
def _sgd(w: Values, g: Values, count: int, rate: float) -> None:
    step = w.dtype.type(rate)
    i = cuda.grid(1)
    while i < count:
        w[i] -= step * g[i]
        i += cuda.gridsize(1)


@compiled
def _momentum(w: Values, g: Values, v: Values, count: int, rate: float, momentum: float) -> None:
    number = w.dtype.type
    step, keep = number(rate), number(momentum)
    i = cuda.grid(1)
    while i < count:
        v[i] = keep * v[i] + g[i]
        w[i] -= step * v[i]
        i += cuda.gridsize(1)


@compiled
def _adagrad(w: Values, g: Values, s: Values, count: int, rate: float, epsilon: float) -> None:
    step, small = w.dtype.type(rate), w.dtype.type(epsilon)
    i = cuda.grid(1)
    while i < count:
        s[i] += g[i] * g[i]
        w[i] -= step * g[i] / (math.sqrt(s[i]) + small)
        i += cuda.gridsize(1)


@compiled
def _rmsprop(
    w: Values, g: Values, v: Values, count: int, rate: float, alpha: float, epsilon: float
) -> None:
    number = w.dtype.type
    step, small, keep, take = number(rate), number(epsilon), number(alpha), number(1 - alpha)
    i = cuda.grid(1)
    while i < count:
        v[i] = keep * v[i] + take * g[i] * g[i]
        w[i] -= step * g[i] / (math.sqrt(v[i]) + small)
        i += cuda.gridsize(1)


@compiled
def _adam(
    w: Values, g: Values, m: Values, v: Values, count: int, rate: float, beta1: float,
    beta2: float, epsilon: float, correction: float,
) -> None:  # fmt: skip
    number = w.dtype.type
    step, small, scale = number(rate), number(epsilon), number(correction)
    keep1, keep2, take1, take2 = number(beta1), number(beta2), number(1 - beta1), number(1 - beta2)
    i = cuda.grid(1)
    while i < count:
        m[i] = keep1 * m[i] + take1 * g[i]
        v[i] = keep2 * v[i] + take2 * g[i] * g[i]
        w[i] -= step * m[i] / (math.sqrt(v[i]) / scale + small)
        i += cuda.gridsize(1)
