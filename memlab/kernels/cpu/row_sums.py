"""Sums over a line of values, in fp64."""

from __future__ import annotations

import numpy as np

from memlab.kernels.cpu.compile import summing
from memlab.kernels.registry import Array


@summing
def sum_values(values: Array) -> float:
    """The sum of all."""
    total = 0.0
    for i in range(values.size):
        total += values[i]
    return total


@summing
def sum_squares(values: Array, centre: float) -> float:
    """The sum of squared distances from ``centre``."""
    total = 0.0
    for i in range(values.size):
        total += (values[i] - centre) ** 2
    return total


@summing
def sum_products(x: Array, mean: float, dy: Array) -> float:
    """The sum of ``dy`` times the distance of ``x`` from ``mean``."""
    total = 0.0
    for i in range(dy.size):
        total += (x[i] - mean) * np.float64(dy[i])
    return total


@summing
def inner(x: Array, y: Array) -> float:
    """The sum of the products of two lines."""
    total = 0.0
    for i in range(x.size):
        total += x[i] * np.float64(y[i])
    return total
