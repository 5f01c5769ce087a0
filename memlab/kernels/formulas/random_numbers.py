"""Random numbers by index, in plain Python that every device compiles.

The generator is splitmix64 (Steele, Lea and Flood 2014). Its i-th number needs none before it, so
any number of threads draw the same numbers.
"""

from __future__ import annotations

import numpy as np

_U = np.uint64
GOLDEN, _MIX1, _MIX2 = _U(0x9E3779B97F4A7C15), _U(0xBF58476D1CE4E5B9), _U(0x94D049BB133111EB)
_30, _27, _31 = _U(30), _U(27), _U(31)


def mix(z: np.uint64) -> np.uint64:
    """Hash 64 bits to 64 bits, so that every bit of the result depends on all bits of ``z``;
    products wrap around."""
    z = (z ^ (z >> _30)) * _MIX1
    z = (z ^ (z >> _27)) * _MIX2
    return z ^ (z >> _31)


def number(seed: np.uint64, index: int) -> np.uint64:
    """Random number at ``index``, from 0 on, in the sequence of ``seed``; a seed is the ``mix`` of
    a key."""
    return mix(seed + _U(index + 1) * GOLDEN)
