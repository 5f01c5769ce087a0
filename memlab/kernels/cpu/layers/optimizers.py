"""Optimizers: a parameter and its state change in place, as PyTorch's do."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from memlab.kernels.cpu.compile import compiled
from memlab.kernels.operands import adam_settings, parameters
from memlab.kernels.registry import Array, Call, kernel


@kernel("sgd")
def sgd(call: Call) -> None:
    """``w -= rate g``."""
    for w, g in _lines(call):
        _sgd(w, g, call.settings["rate"])


@kernel("momentum")
def momentum(call: Call) -> None:
    """``v = momentum v + g``, then ``w -= rate v``; no dampening."""
    for w, g, v in _lines(call, "momentum"):
        _momentum(w, g, v, call.settings["rate"], call.settings["momentum"])


@kernel("adagrad")
def adagrad(call: Call) -> None:
    """``s += g^2``, then ``w -= rate g / (sqrt(s) + epsilon)`` (Duchi, Hazan and Singer 2011)."""
    for w, g, s in _lines(call, "sum_of_squares"):
        _adagrad(w, g, s, call.settings["rate"], call.settings["epsilon"])


@kernel("rmsprop")
def rmsprop(call: Call) -> None:
    """As Adagrad, with a running mean of g^2 instead of the sum (Tieleman and Hinton 2012)."""
    of = call.settings
    for w, g, v in _lines(call, "mean_square"):
        _rmsprop(w, g, v, of["rate"], of["alpha"], of["epsilon"])


@kernel("adam")
def adam(call: Call) -> None:
    """Running means of g and g^2, corrected for their start at 0 (Kingma and Ba 2015)."""
    settings = adam_settings(call)
    for w, g, m, v in _lines(call, "first_moment", "second_moment"):
        _adam(w, g, m, v, *settings)


def _lines(call: Call, *states: str) -> Iterator[tuple[Array, ...]]:
    """Each parameter with its gradient and its states, as lines."""
    for arrays in parameters(call, *states):
        yield tuple(array.reshape(-1) for array in arrays)


@compiled
def _sgd(w: Array, g: Array, rate: float) -> None:
    for i in range(w.size):
        w[i] -= rate * g[i]


@compiled
def _momentum(w: Array, g: Array, v: Array, rate: float, momentum: float) -> None:
    for i in range(w.size):
        v[i] = momentum * v[i] + g[i]
        w[i] -= rate * v[i]


@compiled
def _adagrad(w: Array, g: Array, s: Array, rate: float, epsilon: float) -> None:
    for i in range(w.size):
        s[i] += g[i] * g[i]
        w[i] -= rate * g[i] / (np.sqrt(s[i]) + epsilon)


@compiled
def _rmsprop(w: Array, g: Array, v: Array, rate: float, alpha: float, epsilon: float) -> None:
    for i in range(w.size):
        v[i] = alpha * v[i] + (1 - alpha) * g[i] * g[i]
        w[i] -= rate * g[i] / (np.sqrt(v[i]) + epsilon)


@compiled
def _adam(
    w: Array,
    g: Array,
    m: Array,
    v: Array,
    rate: float,
    beta1: float,
    beta2: float,
    epsilon: float,
    correction: float,
) -> None:
    for i in range(w.size):
        m[i] = beta1 * m[i] + (1 - beta1) * g[i]
        v[i] = beta2 * v[i] + (1 - beta2) * g[i] * g[i]
        w[i] -= rate * m[i] / (np.sqrt(v[i]) / correction + epsilon)
