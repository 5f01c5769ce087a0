"""Dropout, and the numbers that it draws.

A number depends on the key of the operation and the index of the value in its batch, on nothing
else: forward, backward and a recomputation draw the same, wherever the values are stored.
"""

from __future__ import annotations

import numpy as np

from memlab.kernels.cpu.arrays import lines
from memlab.kernels.cpu.compile import compiled
from memlab.kernels.maps.generator import GOLDEN, mix
from memlab.kernels.operands import dropout_settings
from memlab.kernels.registry import Array, Call, kernel

_U = np.uint64
_1 = _U(1)

_mix = compiled(mix)


@kernel("dropout")
def dropout(call: Call) -> None:
    """0 with probability p, else ``x / (1 - p)``."""
    _drop(call, call["x"], call["y"], accumulate=False)


@kernel("dropout.backward")
def dropout_backward(call: Call) -> None:
    """The same places are 0, the same are scaled."""
    _drop(call, call["dy"], call["dx"], call.accumulate)


def _drop(call: Call, source: Array, target: Array, accumulate: bool) -> None:
    start, settings = call.first, dropout_settings(call)
    for x, y in lines(source, target):
        _dropout(x, y, start, *settings, accumulate)
        start += x.size


@compiled
def _dropout(
    x: Array,
    y: Array,
    start: int,
    key: int,
    least: int,
    factor: float,
    accumulate: bool,
) -> None:
    """Keep a value whose 63 bits are at least ``least``; ``start`` is the index of the first."""
    zero, scale, seed = y.dtype.type(0), y.dtype.type(factor), _mix(np.uint64(key))
    for i in range(y.size):
        drawn = _mix(seed + np.uint64(start + i + 1) * GOLDEN) >> _1
        value = x[i] * scale if drawn >= np.uint64(least) else zero
        y[i] = (y[i] if accumulate else zero) + value
