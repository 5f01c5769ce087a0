"""Formulas of one value or two: activations, sums, dropout, the gradient of a loss.

A formula of backward returns the gradient of the input, from ``dy`` and from the value that forward
kept.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from memlab.kernels.device_independent import ApplyFormula, formula, shared_kernel, value_by_value
from memlab.kernels.formulas.random_numbers import number
from memlab.kernels.operands import inputs
from memlab.kernels.registry import KernelCall
from memlab.layers import GELU

_U = np.uint64
ZERO, ONE = np.float32(0), np.float32(1)  # widened where they meet fp64
_ROOT_HALF, _DENSITY = math.sqrt(0.5), 1 / math.sqrt(2 * math.pi)
_ROOT, _CUBE = math.sqrt(2 / math.pi), 0.044715
"""Constants of GELU's tanh approximation: ``tanh(_ROOT (x + _CUBE x^3))`` replaces ``erf(x /
sqrt(2))``."""


@formula
def identity(x: Any) -> Any:
    """Return the value unchanged."""
    return x


@formula
def plus(x: Any, other: Any) -> Any:
    """Sum of two values."""
    return x + other


@shared_kernel("add")
def add(call: KernelCall, apply_formula: ApplyFormula) -> None:
    """Write ``y = x0 + x1 + ...``."""
    first, second, *rest = inputs(call)
    apply_formula(plus, first, second, call["y"])
    for x in rest:
        apply_formula(identity, x, call["y"], add=True)


@shared_kernel("accumulate")
def accumulate(call: KernelCall, apply_formula: ApplyFormula) -> None:
    """Add a gradient to another one, ``dx += dy``: backward of a fork."""
    apply_formula(identity, call["dy"], call["dx"], add=True)


@value_by_value("relu", "x", "y")
def relu(x: Any) -> Any:
    """ReLU, ``max(x, 0)``; NaN stays NaN."""
    return ZERO if x <= ZERO else x


@value_by_value("relu.backward", "dy", "y", "dx")
def relu_backward(dy: Any, y: Any) -> Any:
    """Gradient of ReLU: ``dy`` where the output y is above 0, else 0."""
    return ZERO if y <= ZERO else dy


@value_by_value("tanh", "x", "y")
def tanh(x: Any) -> Any:
    """Hyperbolic tangent."""
    return math.tanh(x)


@value_by_value("tanh.backward", "dy", "y", "dx")
def tanh_backward(dy: Any, y: Any) -> Any:
    """Gradient of the hyperbolic tangent, ``dy (1 - y^2)``."""
    return dy * (ONE - y * y)


@shared_kernel("gelu")
def gelu(call: KernelCall, apply_formula: ApplyFormula) -> None:
    """Write GELU, ``y = x Phi(x)``, with Phi by the error function or by its tanh approximation."""
    apply_formula(gelu_exact if _is_exact(call) else gelu_tanh, call["x"], call["y"])


@shared_kernel("gelu.backward")
def gelu_backward(call: KernelCall, apply_formula: ApplyFormula) -> None:
    """Write or add the gradient of GELU: ``dy`` times the derivative at x."""
    backward = gelu_exact_backward if _is_exact(call) else gelu_tanh_backward
    apply_formula(backward, call["dy"], call["x"], call["dx"], add=call.accumulate)


def _is_exact(call: KernelCall) -> bool:
    """True if the layer computes GELU by the error function."""
    assert isinstance(call.layer, GELU)
    return call.layer.form == "exact"


@formula
def gelu_exact(x: Any) -> Any:
    """GELU by the error function, ``x (1 + erf(x / sqrt(2))) / 2``."""
    return x * 0.5 * (1 + math.erf(x * _ROOT_HALF))


@formula
def gelu_exact_backward(dy: Any, x: Any) -> Any:
    """Gradient of GELU by the error function, ``dy (Phi(x) + x phi(x))``."""
    below = 0.5 * (1 + math.erf(x * _ROOT_HALF))
    return dy * (below + x * _DENSITY * math.exp(-0.5 * x * x))


@formula
def gelu_tanh(x: Any) -> Any:
    """GELU by the tanh approximation, ``x (1 + tanh(...)) / 2``."""
    return 0.5 * x * (1 + math.tanh(_ROOT * (x + _CUBE * x**3)))


@formula
def gelu_tanh_backward(dy: Any, x: Any) -> Any:
    """Gradient of GELU by the tanh approximation: ``dy`` times its derivative."""
    t = math.tanh(_ROOT * (x + _CUBE * x**3))
    inner = _ROOT * (1 + 3 * _CUBE * x * x)
    return dy * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * inner)


def _squared_error_factor(call: KernelCall) -> float:
    """Factor of the difference in the gradient of a squared error: 2 / (samples times
    micro-batches)."""
    return 2 / call.mean_over(len(call["x"]))


@value_by_value("squared_error.backward", "x", "labels", "dx", setting=_squared_error_factor)
def squared_error_backward(x: Any, target: Any, setting: Any) -> Any:
    """Gradient of the mean squared error, ``setting (x - target)``; setting is ``2 / batch``."""
    return setting * (x - target)


def cross_entropy_backward(probability: Any, expected: Any, count: Any) -> Any:
    """Gradient of the mean cross-entropy, ``(probability - expected) / count``; ``expected`` is 1
    at the label, else 0."""
    return (probability - expected) / count


def dropout_value(x: Any, seed: Any, index: Any, least: Any, scale: Any) -> Any:
    """Dropout of one value: ``scale x`` if the 63 bits drawn for ``index`` are at least ``least``,
    else 0.

    The bits depend on nothing but the seed, which is that of the operation, and the index of the
    value in its batch. So forward, backward and a recomputation draw the same bits, wherever the
    values are stored.
    """
    return x * scale if number(seed, index) >> _U(1) >= _U(least) else ZERO
