"""Formulas of optimizers: each changes value ``i`` of a parameter and of its states in place, as
PyTorch does.

``arrays`` are the parameter ``w``, its gradient ``g``, and its states in the order of
``memlab.optimizers``. ``settings`` are numbers, in fp64 or in the format of the parameter.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from memlab.kernels.device_independent import optimizer_formula


@optimizer_formula("sgd", 1, lambda of: (of["rate"],))
def sgd(i: int, arrays: Any, settings: Any) -> None:
    """Update by gradient descent: ``w -= rate g``."""
    (w, g), (rate,) = arrays, settings
    w[i] -= rate * g[i]


@optimizer_formula("momentum", 2, lambda of: (of["rate"], of["momentum"]))
def momentum(i: int, arrays: Any, settings: Any) -> None:
    """Update with momentum: ``v = momentum v + g``, then ``w -= rate v``; without dampening."""
    (w, g, v), (rate, keep) = arrays, settings
    v[i] = keep * v[i] + g[i]
    w[i] -= rate * v[i]


@optimizer_formula("adagrad", 2, lambda of: (of["rate"], of["epsilon"]))
def adagrad(i: int, arrays: Any, settings: Any) -> None:
    """Update by Adagrad: ``s += g^2``, then ``w -= rate g / (sqrt(s) + epsilon)`` (Duchi, Hazan and
    Singer 2011)."""
    (w, g, s), (rate, epsilon) = arrays, settings
    s[i] += g[i] * g[i]
    w[i] -= rate * g[i] / (math.sqrt(s[i]) + epsilon)


@optimizer_formula(
    "rmsprop", 4, lambda of: (of["rate"], of["alpha"], 1 - of["alpha"], of["epsilon"])
)
def rmsprop(i: int, arrays: Any, settings: Any) -> None:
    """Update by RMSProp: Adagrad with a running mean of ``g^2`` instead of the sum (Tieleman and
    Hinton 2012)."""
    (w, g, v), (rate, keep, take, epsilon) = arrays, settings
    v[i] = keep * v[i] + take * g[i] * g[i]
    w[i] -= rate * g[i] / (math.sqrt(v[i]) + epsilon)


def adam_settings(of: Mapping[str, float]) -> tuple[float, ...]:
    """Settings of Adam: rate, beta1, 1 - beta1, beta2, 1 - beta2, epsilon, and the correction that
    the root is divided by.

    The rate is divided by its own correction already (Kingma and Ba 2015, end of section 2).
    """
    beta1, beta2 = of["beta1"], of["beta2"]
    rate, correction = of["rate"] / (1 - beta1 ** of["step"]), (1 - beta2 ** of["step"]) ** 0.5
    return rate, beta1, 1 - beta1, beta2, 1 - beta2, of["epsilon"], correction


@optimizer_formula("adam", 7, adam_settings)
def adam(i: int, arrays: Any, settings: Any) -> None:
    """Update by Adam: running means of ``g`` and ``g^2``, corrected for their start at 0 (Kingma
    and Ba 2015)."""
    (w, g, m, v), (rate, keep1, take1, keep2, take2, epsilon, correction) = arrays, settings
    m[i] = keep1 * m[i] + take1 * g[i]
    v[i] = keep2 * v[i] + take2 * g[i] * g[i]
    w[i] -= rate * m[i] / (math.sqrt(v[i]) / correction + epsilon)
