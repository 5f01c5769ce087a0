"""Conversions between fp32 and smaller floating-point formats: array by array, and value by value.

Numba has no small floats, so a small value is handled as its code, and an fp32 value as its 32
bits. A code is an unsigned integer: a sign, and a magnitude that numbers the values from 0 upwards.
These functions have no branch, and no number wider than 32 bits except random numbers, so loops
over them fill vectors. A layout is a constant of the loop: a shift by a variable would take 64
bits.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from memlab.errors import InputError, whole_number
from memlab.formats import STORED, Format
from memlab.kernels.cpu.compile import compiled
from memlab.kernels.formulas.random_numbers import mix, number
from memlab.kernels.registry import Array

WORDS = {1: np.uint8, 2: np.uint16, 4: np.uint32}
"""Unsigned type of a code, by its bytes."""

_F, _U, _U64 = np.float32, np.uint32, np.uint64
_1, _31 = _U(1), _U(31)
_SIZE, _INFINITY = _U(0x7FFFFFFF), _U(0x7F800000)
_2_23, _2_63 = _F(2.0**23), _F(2.0**63)


def widen(source: Array, target: Array, format: Format) -> None:
    """Write values that are stored in a format as fp32, exactly; NaN stays NaN, whatever its bits.

    Args:
        source: values in ``format``, contiguous, of any shape.
        target: fp32, contiguous, of the same number of values; it is written.
        format: a floating-point format of at most 32 bits.

    Raises:
        InputError: arrays that do not fit, or another format.
    """
    stored, values = matching_lines(source, target, format)
    if stored.dtype == values.dtype:
        np.copyto(values, stored)
    else:
        _widen(format)(as_words(stored), as_words(values))


def narrow(
    source: Array, target: Array, format: Format, key: int | None = None, start: int = 0
) -> None:
    """Write fp32 values as the nearest values of a format, the even one of two.

    With a ``key`` rounding is stochastic: to one of the two neighbours, so that the mean is the
    value, to 2^-63 of their distance. The random number of value i depends on the key and ``start +
    i`` only. A value that the format holds exactly stays.

    A value beyond the format's largest becomes what ``format.beyond`` says (infinity or NaN), which
    counts as the next neighbour; in a format with neither, it becomes the largest value. tf32 is an
    fp32 with 10 mantissa bits.

    Args:
        source: fp32, contiguous, of any shape.
        target: values in ``format``, contiguous, of the same number of values; it is written.
        format: a floating-point format of at most 32 bits.
        key: seed of stochastic rounding; without it, values are rounded to the nearest.
        start: index of the first value, for the random numbers.

    Raises:
        InputError: arrays that do not fit, or another format.
    """
    stored, values = matching_lines(target, source, format)
    if format.name == "fp32":
        np.copyto(stored, values)
    else:
        _narrow(format)(as_words(values), as_words(stored), *seed(key, start))


def seed(key: int | None, start: int) -> tuple[int | None, int]:
    """Key and start of stochastic rounding, reduced to 63 bits, so that each has one type in
    compiled code.

    Raises:
        InputError: the start is no whole number from 0 on.
    """
    return None if key is None else int(key) % 2**63, whole_number("start", start, 0) % 2**63


def matching_lines(stored: Array, values: Array, format: Format) -> tuple[Array, Array]:
    """Values in a format and values in fp32, as lines, once they are known to fit each other.

    Raises:
        InputError: the format is not converted, or types, sizes or layouts do not fit.
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


def as_words(line: Array) -> Array:
    """View of a line as unsigned integers of the same size."""
    return line.view(WORDS[line.itemsize])


@cache
def _widen(format: Format) -> Callable[..., None]:
    """Compiled loop from a format to fp32; the format's layout is a constant in it."""
    own = layout(format)

    @compiled
    def loop(stored: Array, values: Array) -> None:
        for i in range(values.size):
            values[i] = widened(stored[i], own)

    return loop


@cache
def _narrow(format: Format) -> Callable[..., None]:
    """Compiled loop from fp32 to a format; the format's layout is a constant in it."""
    own = layout(format)

    @compiled
    def loop(values: Array, stored: Array, key: int | None, start: int) -> None:
        for i in range(values.size):
            stored[i] = rounded(values[i], own, key, start + i)

    return loop


class FormatLayout(NamedTuple):
    """Differences between a format and fp32."""

    dropped: int
    """Mantissa bits that fp32 has beyond those of the format."""
    rebias: int
    """Difference of a normal value's magnitude from the upper bits of its fp32."""
    normal: int
    """Smallest normal value, as fp32 bits; 0 where subnormals are those of fp32, cut off."""
    unit: float
    """Smallest subnormal value; 0 where subnormals are those of fp32, cut off."""
    beyond: int
    """Magnitude after the largest finite one: infinity, or NaN where there is none."""
    most: int
    """Largest magnitude that a value is rounded to: ``beyond``, or the largest finite one in a
    format that has neither infinity nor NaN."""
    length: int
    """Bits of a magnitude, below the sign. All of them set is NaN in every format that has one."""
    place: int
    """Bits by which a stored code is shifted up: tf32 is the top of an fp32."""


@cache
def layout(format: Format) -> FormatLayout:
    """Layout of a floating-point format of at most 32 bits, other than fp32."""
    dropped, length = 23 - format.mantissa, format.exponent + format.mantissa
    rebias = 127 - format.bias << format.mantissa
    shifted = rebias != 0
    return FormatLayout(
        dropped=dropped,
        rebias=rebias,
        normal=_bits(format.smallest_normal) * shifted,
        unit=format.smallest * shifted,
        beyond=format.top + 1,
        most=format.top + format.nan,
        length=length,
        place=format.padding,
    )


def _bits(value: float) -> int:
    """Bits of a number as fp32."""
    return int(_F(value).view(_U))


@compiled
def widened(code: np.uint32, layout: FormatLayout) -> np.uint32:
    """Bits of a code's value as fp32, exactly."""
    dropped, length = _U(layout.dropped), _U(layout.length)
    magnitude = _U(code & ((_1 << length) - _1))
    top = _U(magnitude << dropped)
    small = _F(_F(np.int32(magnitude)) * _F(layout.unit)).view(_U)
    bits = _U(top + _U(_U(layout.rebias) << dropped))
    bits = small if bits < _U(layout.normal) else bits
    bits = _U(top | _INFINITY) if magnitude >= _U(layout.beyond) else bits
    return _U(bits | _U(_U(_U(code) >> length) << _31))


@compiled
def rounded(bits: np.uint32, layout: FormatLayout, key: int | None, index: int) -> np.uint32:
    """Code for fp32 bits: of the nearest value without a key, else of a drawn neighbour."""
    if key is None:
        return nearest(bits, layout)
    return drawn(bits, layout, key, index)


@compiled
def nearest(bits: np.uint32, layout: FormatLayout) -> np.uint32:
    """Code of the value that is nearest to fp32 bits, the even one of two.

    A subnormal is added to so large a value that the sum is rounded to whole units.
    """
    size, dropped = _U(bits & _SIZE), _U(layout.dropped)
    half = _U((_1 << (dropped - _1)) - _1 + ((size >> dropped) & _1))
    magnitude = _U(_U(_U(size + half) >> dropped) - _U(layout.rebias))
    large = _F(_F(layout.unit) * _2_23)
    small = _U(_F(size.view(_F) + large).view(_U) - large.view(_U))
    return _coded(bits, small if size < _U(layout.normal) else magnitude, layout)


@compiled
def drawn(bits: np.uint32, layout: FormatLayout, key: int, index: int) -> np.uint32:
    """Code of one of the two neighbours of fp32 bits, drawn so that the mean is the value.

    The part that rounding down cuts off, as a fraction of 2^63, is the probability of rounding up.
    """
    size, dropped = _U(bits & _SIZE), _U(layout.dropped)
    magnitude = _U(_U(size >> dropped) - _U(layout.rebias))
    cut = _U64(size & ((_1 << dropped) - _1)) << _U64(63 - layout.dropped)
    if layout.normal:
        is_small = size < _U(layout.normal)
        units = _F(_U(min(size, _U(layout.normal))).view(_F) * _F(1 / layout.unit))
        truncated = np.int32(units)
        magnitude = _U(truncated) if is_small else magnitude
        cut = _U64(_F(units - _F(truncated)) * _2_63) if is_small else cut
    up = number(mix(_U64(key)), index) >> _U64(1) < cut
    return _coded(bits, _U(magnitude + _U(up)), layout)


@compiled
def _coded(bits: np.uint32, magnitude: np.uint32, layout: FormatLayout) -> np.uint32:
    """Code of a magnitude with the sign of fp32 bits.

    NaN stays NaN, and nothing goes beyond infinity. In a format with neither, both become the
    largest value.
    """
    length = _U(layout.length)
    magnitude = min(_U(magnitude), _U(layout.most))
    magnitude = _U((_1 << length) - _1) if _U(bits & _SIZE) > _INFINITY else magnitude
    return _U(_U(magnitude | _U(_U(bits >> _31) << length)) << _U(layout.place))
