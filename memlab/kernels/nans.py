"""Whether a NaN is among values, read from their bits: nothing is allocated."""

from __future__ import annotations

from memlab.kernels.arrays import bits, lines
from memlab.kernels.compile import compiled
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


def has_nan(array: Array) -> bool:
    """Whether any value is NaN; integers and packed bits hold none."""
    bound = _BOUNDS.get(array.dtype.name)
    if bound is None:
        return False
    sign = 1 << (8 * array.itemsize - 1)
    return any(_beyond(line, sign - 1, bound) for (line,) in lines(bits(array)))


@compiled
def _beyond(values: Array, magnitude: int, bound: int) -> bool:
    found = False
    for i in range(values.size):
        found |= (values[i] & magnitude) > bound
    return found
