"""Whether NaN is among values, and where, read from their bits: nothing is allocated."""

from __future__ import annotations

from memlab.kernels.cpu.arrays import bits, lines
from memlab.kernels.cpu.compile import compiled
from memlab.kernels.registry import Array

_BOUNDS = {
    "float64": 0x7FF0000000000000,
    "float32": 0x7F800000,
    "float16": 0x7C00,
    "bfloat16": 0x7F80,
    "float8_e5m2": 0x7C,
    "float8_e4m3fn": 0x7E,
}
"""The bits of the largest value that is a number, without the sign: infinity, where there is one;
whatever lies beyond is NaN."""


_PRIME = 1099511628211
"""That of the hash FNV-1a in 64 bits."""


def nan_places(array: Array) -> int:
    """Where NaN stands, as one number: 0 for nowhere; different places give different numbers,
    except with a chance of 1 in 2^64. Integers and packed bits hold none."""
    bound = _BOUNDS.get(array.dtype.name)
    if bound is None:
        return 0
    values, magnitude = bits(array), (1 << (8 * array.itemsize - 1)) - 1
    if not any(_beyond(line, magnitude, bound) for (line,) in lines(values)):
        return 0
    start, found = 1, 0
    for (line,) in lines(values):
        found = _hash(line, magnitude, bound, start, found)
        start += line.size
    return found


@compiled
def _beyond(values: Array, magnitude: int, bound: int) -> bool:
    found = False
    for i in range(values.size):
        found |= (values[i] & magnitude) > bound
    return found


@compiled
def _hash(values: Array, magnitude: int, bound: int, start: int, found: int) -> int:
    for i in range(values.size):
        if (values[i] & magnitude) > bound:
            found = (found ^ (start + i)) * _PRIME
    return found
