"""Arrays as lines of values, the one shape that the compiled loops take.

An operand is contiguous, or a slice of larger samples (a concat's gradient). In the second case
each sample is contiguous, and the samples lie further apart.
"""

from __future__ import annotations

from collections.abc import Iterator

from numpy.lib.stride_tricks import as_strided

from memlab.kernels.registry import Array

Span = tuple[Array, int]
"""All samples in one line, and the distance from one sample to the next, in values."""


def lines(*arrays: Array) -> Iterator[tuple[Array, ...]]:
    """Yield arrays of one batch as lines of values, side by side.

    There is one tuple of whole arrays, or one tuple per sample if any of the arrays is a slice of
    larger samples.
    """
    if all(array.flags.c_contiguous for array in arrays):
        yield tuple(array.reshape(-1) for array in arrays)
    else:
        for samples in zip(*arrays, strict=True):
            yield tuple(sample.reshape(-1) for sample in samples)


def span(array: Array) -> Span:
    """All samples of an array as one line, with the distance from one sample to the next, in
    values.

    Between the samples of a slice, the line holds values that belong to other arrays.
    """
    sample = array[0].size
    if array.flags.c_contiguous:
        return array.reshape(-1), sample
    pitch = array.strides[0] // array.itemsize
    length = (len(array) - 1) * pitch + sample
    return as_strided(array, (length,), (array.itemsize,)), pitch


def start(array: Array) -> int:
    """Address of the first value of an array."""
    return int(array.ctypes.data)


def bits(array: Array) -> Array:
    """View of an array as unsigned integers of the same size.

    NumPy copies integers directly, but the types of ``ml_dtypes`` through a temporary array of one
    value that no plan counts.
    """
    return array.view(f"u{array.itemsize}")


def matrix(array: Array) -> Array:
    """View of one sample, or of all weights, as a matrix: the first axis by all others."""
    return array.reshape(len(array), -1)
