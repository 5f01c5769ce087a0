"""Sums over a line of values, in fp64."""

from __future__ import annotations

import numpy as np

from memlab.kernels.cpu.compile import summing
from memlab.kernels.registry import Array


@summing
def sum_values(values: Array) -> float:
    """Sum of all values."""
    total = 0.0
    for i in range(values.size):
        total += values[i]
    return total


@summing
def sum_squares(values: Array, centre: float) -> float:
    """Sum of the squared differences from ``centre``."""
    total = 0.0
    for i in range(values.size):
        total += (values[i] - centre) ** 2
    return total


@summing
def sum_products(x: Array, mean: float, dy: Array) -> float:
    """Sum of ``(x - mean) dy``."""
    total = 0.0
    for i in range(dy.size):
        total += (x[i] - mean) * np.float64(dy[i])
    return total


@summing
def inner(x: Array, y: Array) -> float:
    """Inner product of two lines: the sum of ``x y``."""
    total = 0.0
    for i in range(x.size):
        total += x[i] * np.float64(y[i])
    return total
