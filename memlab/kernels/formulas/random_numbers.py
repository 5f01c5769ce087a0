"""Random numbers that can be asked for by index, in plain Python, for whoever compiles them.

The generator is splitmix64 (Steele, Lea and Flood 2014); its i-th number needs none before it, so
that any number of threads draw the same ones.
"""

from __future__ import annotations

import numpy as np

_U = np.uint64
GOLDEN, _MIX1, _MIX2 = _U(0x9E3779B97F4A7C15), _U(0xBF58476D1CE4E5B9), _U(0x94D049BB133111EB)
_30, _27, _31 = _U(30), _U(27), _U(31)


def mix(z: np.uint64) -> np.uint64:
    """Spread 64 bits over 64 bits; products wrap around."""
    z = (z ^ (z >> _30)) * _MIX1
    z = (z ^ (z >> _27)) * _MIX2
    return z ^ (z >> _31)


def number(seed: np.uint64, index: int) -> np.uint64:
    """The ``index``-th number, from 0 on; the seed is the ``mix`` of a key."""
    return mix(seed + _U(index + 1) * GOLDEN)
