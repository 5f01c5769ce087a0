"""Arrays as lines of values: the one shape that the loops take.

An operand is contiguous, or a slice of larger samples (a concat's gradient): then its samples are
contiguous and lie further apart.
"""

from __future__ import annotations

from collections.abc import Iterator

from numpy.lib.stride_tricks import as_strided

from memlab.kernels.registry import Array

Span = tuple[Array, int]
"""All samples in one line, and the distance from one sample to the next, in values."""


def lines(*arrays: Array) -> Iterator[tuple[Array, ...]]:
    """Arrays of one batch as lines side by side: whole ones, or sample by sample where one of
    them is a slice."""
    if all(array.flags.c_contiguous for array in arrays):
        yield tuple(array.reshape(-1) for array in arrays)
    else:
        for samples in zip(*arrays, strict=True):
            yield tuple(sample.reshape(-1) for sample in samples)


def span(array: Array) -> Span:
    """An array for loops that walk over its samples.

    Between the samples of a slice, the line holds values that are not its own.
    """
    sample = array[0].size
    if array.flags.c_contiguous:
        return array.reshape(-1), sample
    pitch = array.strides[0] // array.itemsize
    length = (len(array) - 1) * pitch + sample
    return as_strided(array, (length,), (array.itemsize,)), pitch


def start(array: Array) -> int:
    """The address of its first value."""
    return int(array.ctypes.data)


def bits(array: Array) -> Array:
    """The same values as unsigned integers. NumPy copies those directly, and the types of
    ``ml_dtypes`` through an array of one value that no plan knows of."""
    return array.view(f"u{array.itemsize}")


def matrix(array: Array) -> Array:
    """One sample, or all weights, as a matrix: the first axis by the rest."""
    return array.reshape(len(array), -1)
