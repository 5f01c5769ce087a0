"""Search for NaN among the values of an array, by their bits; nothing is allocated."""

from __future__ import annotations

from memlab.formats import FLOATS, Format
from memlab.kernels.cpu.compile import compiled
from memlab.kernels.cpu.flat_arrays import bits, lines
from memlab.kernels.registry import Array

_BOUNDS = {
    format.type_name: format.top + format.infinities << format.padding
    for format in FLOATS.values()
    if format.nan
}
"""Bits, without the sign, of the largest value that is no NaN (infinity where there is one), by
type. A magnitude beyond it is NaN."""

_PRIME = 1099511628211
"""Prime of the 64-bit hash FNV-1a."""


def nan_places(array: Array, format: Format | None = None) -> int:
    """Hash of the positions of all NaN in an array; 0 if there is none. The format is that of the
    array's type, unless it is given.

    Different positions give different numbers, except with a chance of 1 in 2^64. Integers, packed
    bits and formats without NaN contain none.
    """
    bound = _BOUNDS.get(array.dtype.name if format is None else format.type_name)
    if bound is None:
        return 0
    values, magnitude = bits(array), (1 << (8 * array.itemsize - 1)) - 1
    if not any(_any_beyond(line, magnitude, bound) for (line,) in lines(values)):
        return 0
    start, places = 1, 0
    for (line,) in lines(values):
        places = _hash_places(line, magnitude, bound, start, places)
        start += line.size
    return places


@compiled
def _any_beyond(values: Array, magnitude: int, bound: int) -> bool:
    """Return whether any magnitude in a line is above ``bound``."""
    beyond = False
    for i in range(values.size):
        beyond |= (values[i] & magnitude) > bound
    return beyond


@compiled
def _hash_places(values: Array, magnitude: int, bound: int, start: int, places: int) -> int:
    """Continue the hash with the indices, counted from ``start``, of all magnitudes above
    ``bound``."""
    for i in range(values.size):
        if (values[i] & magnitude) > bound:
            places = (places ^ (start + i)) * _PRIME
    return places
