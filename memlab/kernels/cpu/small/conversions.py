"""Between fp32 and the smaller floating-point formats, array by array."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from memlab.errors import InputError, whole
from memlab.formats import STORED, Format
from memlab.kernels.cpu.compile import compiled
from memlab.kernels.cpu.small.codes import layout, rounded, widened
from memlab.kernels.registry import Array

WORDS = {1: np.uint8, 2: np.uint16, 4: np.uint32}
"""What the codes of a format are seen as, by their bytes."""


def widen(source: Array, target: Array, format: Format) -> None:
    """``source``, stored in a format, as fp32; exact.

    The arrays are contiguous and of one size, in any shape. NaN stays NaN, whatever its bits.

    Raises:
        InputError: other arrays, or no floating-point format of at most 32 bits.
    """
    stored, values = pair(source, target, format)
    if stored.dtype == values.dtype:
        np.copyto(values, stored)
    else:
        _widen(format)(words(stored), words(values))


def narrow(
    source: Array, target: Array, format: Format, key: int | None = None, start: int = 0
) -> None:
    """``source``, in fp32, as the nearest values of a format, the even one of two.

    With a ``key`` rounding is stochastic: to one of the two neighbours, so that the mean is the
    value, to 2^-63 of their distance. What value i draws depends on the key and ``start + i``,
    on nothing else. What a format holds exactly stays.

    Beyond the largest value comes what ``format.beyond`` says, as the neighbour that the next value
    would be; where that is nothing, it stays the largest value. tf32 is an fp32 with 10 mantissa
    bits.

    Raises:
        InputError: other arrays, or no floating-point format of at most 32 bits.
    """
    stored, values = pair(target, source, format)
    if format.name == "fp32":
        np.copyto(stored, values)
    else:
        _narrow(format)(words(values), words(stored), *seed(key, start))


def seed(key: int | None, start: int) -> tuple[int | None, int]:
    """What rounding draws from, where there is a key: as numbers of one type in compiled code.

    Raises:
        InputError: the start is no whole number from 0 on.
    """
    return None if key is None else int(key) % 2**63, whole("start", start, 0) % 2**63


def pair(stored: Array, values: Array, format: Format) -> tuple[Array, Array]:
    """Values in a format and in fp32, as lines, once they fit each other.

    Raises:
        InputError: they do not.
    """
    if format.name not in STORED:
        raise InputError(f"{format} is not converted here; try {', '.join(STORED)}.")
    for array, dtype in ((stored, format.dtype()), (values, np.dtype(np.float32))):
        if array.dtype != dtype or array.size != stored.size or not array.flags.c_contiguous:
            raise InputError(
                f"between {format} and fp32, give contiguous arrays of one size, {format.dtype()} "
                f"and float32; got {stored.dtype} {stored.shape} and {values.dtype} {values.shape}."
            )
    return stored.reshape(-1), values.reshape(-1)


def words(line: Array) -> Array:
    """The same bits as unsigned integers."""
    return line.view(WORDS[line.itemsize])


@cache
def _widen(format: Format) -> Callable[..., None]:
    """The loop for a format, whose layout is constant in the code."""
    own = layout(format)

    @compiled
    def loop(stored: Array, values: Array) -> None:
        for i in range(values.size):
            values[i] = widened(stored[i], own)

    return loop


@cache
def _narrow(format: Format) -> Callable[..., None]:
    own = layout(format)

    @compiled
    def loop(values: Array, stored: Array, key: int | None, start: int) -> None:
        for i in range(values.size):
            stored[i] = rounded(values[i], own, key, start + i)

    return loop
