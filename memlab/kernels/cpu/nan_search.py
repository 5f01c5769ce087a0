"""Whether NaN is among values, and where, read from their bits: nothing is allocated."""

from __future__ import annotations

from memlab.formats import FLOATS
from memlab.kernels.cpu.compile import compiled
from memlab.kernels.cpu.flat_arrays import bits, lines
from memlab.kernels.registry import Array

_BOUNDS = {
    each.type_name: each.top + each.infinities << each.padding
    for each in FLOATS.values()
    if each.nan
}
"""By type, the bits of the largest value that is a number, without the sign: infinity, where there
is one; whatever lies beyond is NaN."""

_PRIME = 1099511628211
"""That of the hash FNV-1a in 64 bits."""


def nan_places(array: Array) -> int:
    """Where NaN stands, as one number: 0 for nowhere; different places give different numbers,
    except with a chance of 1 in 2^64. Integers, packed bits and formats without NaN hold none."""
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
