"""Dropout, and the numbers that it draws.

A number depends on the key of the operation and the index of the value in its batch, on nothing
else: forward, backward and a recomputation draw the same, wherever the values are stored. The
generator is splitmix64 (Steele, Lea and Flood 2014), asked for its i-th number directly.
"""

from __future__ import annotations

import numpy as np

from memlab.kernels.arrays import lines
from memlab.kernels.compile import compiled
from memlab.kernels.registry import Array, Call, kernel
from memlab.networks.layers import Dropout

_U = np.uint64
_GOLDEN, _MIX1, _MIX2 = _U(0x9E3779B97F4A7C15), _U(0xBF58476D1CE4E5B9), _U(0x94D049BB133111EB)
_30, _27, _31, _1 = _U(30), _U(27), _U(31), _U(1)


@kernel("dropout")
def dropout(call: Call) -> None:
    """0 with probability p, else ``x / (1 - p)``."""
    _drop(call, call["x"], call["y"], accumulate=False)


@kernel("dropout.backward")
def dropout_backward(call: Call) -> None:
    """The same places are 0, the same are scaled."""
    _drop(call, call["dy"], call["dx"], call.accumulate)


def _drop(call: Call, source: Array, target: Array, accumulate: bool) -> None:
    layer = call.layer
    assert isinstance(layer, Dropout)
    # 63 bits: a Python int then has one type in compiled code, and NumPy makes no scalar
    key, p, start = call.key % 2**63, float(layer.p), 0
    for x, y in lines(source, target):
        _dropout(x, y, key, start, int(p * 2**63), 1 / (1 - p), accumulate)
        start += x.size


@compiled
def _mix(z: np.uint64) -> np.uint64:
    z = (z ^ (z >> _30)) * _MIX1
    z = (z ^ (z >> _27)) * _MIX2
    return z ^ (z >> _31)


@compiled
def _dropout(
    x: Array,
    y: Array,
    key: int,
    start: int,
    least: int,
    factor: float,
    accumulate: bool,
) -> None:
    """Keep a value whose 63 bits are at least ``least``; ``start`` is the index of the first."""
    zero, scale, seed = y.dtype.type(0), y.dtype.type(factor), _mix(np.uint64(key))
    for i in range(y.size):
        drawn = _mix(seed + np.uint64(start + i + 1) * _GOLDEN) >> _1
        value = x[i] * scale if drawn >= np.uint64(least) else zero
        y[i] = (y[i] if accumulate else zero) + value
