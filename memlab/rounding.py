"""Arrays as a format stores them.

A float64 that NumPy or ml_dtypes casts to bf16 or fp8 is rounded twice, by way of float32, and a
value beside a tie then goes the wrong way. So values are rounded here, once, and the cast that
follows changes nothing.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, copysign, floor, inf, isfinite, isnan, ldexp, nan
from numbers import Rational, Real
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from memlab import errors
from memlab.errors import InputError, one_option, shorten, whole_number
from memlab.formats import NUMBERS, Format

Number = int | float | Fraction


class Bits(NamedTuple):
    """Bits of a stored number, the highest first. A two's complement integer has no exponent: all
    bits after the sign count as its mantissa."""

    sign: str
    exponent: str
    mantissa: str


class RoundingError(NamedTuple):
    """Error of a rounded value: ``absolute`` is value minus number, ``relative`` is that over the
    number's size, and ``ulps`` over the step of the format there, the unit in the last place."""

    absolute: Fraction
    relative: Fraction
    ulps: Fraction


def find(format: str | Format) -> Format:
    """Return the format of that name, if numbers can be rounded to it.

    Raises:
        InputError: no such format.
    """
    return one_option("format", format.name if isinstance(format, Format) else format, NUMBERS)


def nearest(value: Number, format: str | Format) -> float:
    """Return the value of the format that is nearest to a number. Ties go to the even one; numbers
    beyond the largest value are handled as in ``encode``.

    Raises:
        InputError: an unknown format, no real number, NaN for a format without one.
    """
    target, number = find(format), _number(value)
    if number != number:
        if not target.nan:
            raise no_nan(target)
        return nan
    held = _value(round(_place(number, target)), target)
    negative = number < 0 or (number == 0 and copysign(1, value) < 0)
    return -abs(held) if negative and target.kind == "float" else held


def neighbours(value: Number, format: str | Format) -> tuple[float | None, float | None]:
    """Return the next smaller and the next larger value of the format. Infinity counts as a value;
    where there is none, None is returned.

    Raises:
        InputError: an unknown format, or a value that is NaN or no real number.
    """
    target, number = find(format), _number(value)
    if number != number:
        raise InputError("NaN has no neighbours; try 1.")
    place = _place(number, target)
    first, last = _ends(target)
    counts = ceil(place) - 1, floor(place) + 1
    below, above = (_value(n, target) if first <= n <= last else None for n in counts)
    return below, above


def walk(value: Number, format: str | Format, steps: int) -> float:
    """Return the value of the format that lies ``steps`` values after the nearest one (before it,
    if negative). The walk stops at the ends of the format, and NaN stays NaN.

    Raises:
        InputError: as ``nearest``.
    """
    target, held = find(format), nearest(value, format)
    if isnan(held) or not steps:
        return held
    first, last = _ends(target)
    count = round(_place(_number(held), target)) + steps
    return _value(min(max(count, first), last), target)


def ulp(value: Number, format: str | Format) -> Fraction:
    """Return the distance between neighbouring values of the format around a finite number, as if
    there were no largest value.

    Raises:
        InputError: an unknown format, or no finite number.
    """
    target, number = find(format), _number(value)
    if not isinstance(number, Fraction):
        raise InputError(f"a step is between numbers, got {number}; try 1.")
    return Fraction(2) ** (_exponent(number, target) - target.mantissa)


def bits(value: Number, format: str | Format) -> Bits:
    """Return the bits of the nearest value as it is stored. tf32 is stored with 13 more bits, all
    0.

    Raises:
        InputError: as ``nearest``.
    """
    target, held = find(format), nearest(value, format)
    if target.kind == "int":
        written = f"{int(held) % 2**target.bits:0{target.bits}b}"
        return Bits(written[0], "", written[1:])
    written = f"{_word(held, target):0{target.exponent + target.mantissa}b}"
    sign = "1" if copysign(1, held) < 0 else "0"
    return Bits(sign, written[: target.exponent], written[target.exponent :])


def error(value: Number, format: str | Format) -> RoundingError | None:
    """Return the exact error of the nearest value, or None where the number or the value is not
    finite.

    Raises:
        InputError: as ``nearest``.
    """
    number, held = _number(value), nearest(value, format)
    if not isinstance(number, Fraction) or not isfinite(held):
        return None
    absolute = Fraction(held) - number
    relative = absolute / abs(number) if number else Fraction(0)
    return RoundingError(absolute, relative, absolute / ulp(number, format))


def no_nan(format: Format) -> InputError:
    """Error for NaN in a format that has none."""
    return InputError(f"{format} holds no NaN; try np.nan_to_num(values), or fp16.")


def _word(held: float, format: Format) -> int:
    """Return the exponent and mantissa bits of a floating-point value as one integer. NaN has the
    largest exponent and the highest mantissa bit, or all ones in formats without infinities."""
    if held == held:
        return abs(int(_place(_number(held), format)))
    ones = 1 << format.exponent + format.mantissa
    return ones - (1 << format.mantissa - 1) if format.infinities else ones - 1


def _number(value: object) -> Fraction | float:
    """Return a number exactly as a fraction if it is finite, else as a float."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InputError(f"give a real number, got {shorten(value)}; try 0.1.")
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    number = float(value)
    return Fraction(number) if isfinite(number) else number


def _exponent(number: Fraction, format: Format) -> int:
    """Exponent of the power of 2 at or below a number; subnormals have that of the
    smallest normal."""
    if format.kind == "int":
        return 0
    size, least = abs(number), 1 - format.bias
    if size < Fraction(2) ** least:
        return least
    guess = size.numerator.bit_length() - size.denominator.bit_length()
    return guess - (Fraction(2) ** guess > size)


def _count(number: Fraction, format: Format) -> Fraction:
    """Return the position of a number among the values of the format, as if there were no largest
    value."""
    exponent = _exponent(number, format)
    before = (exponent - 1 + format.bias << format.mantissa) if format.kind == "float" else 0
    steps = abs(number) / Fraction(2) ** (exponent - format.mantissa)
    return (before + steps) * (-1 if number < 0 else 1)


def _finite(format: Format) -> tuple[int, int]:
    """Return the positions of the lowest and the largest finite value."""
    lowest, largest = (_count(Fraction(v), format) for v in (format.lowest, format.largest))
    return int(lowest), int(largest)


def _ends(format: Format) -> tuple[int, int]:
    """Return the positions of the lowest and the largest value, infinities included."""
    first, last = _finite(format)
    return first - format.infinities, last + format.infinities


_BEYOND = Fraction(3, 4)
"""Of a step: a number far beyond the largest value is nearer to what comes after that."""


def _place(number: Fraction | float, format: Format) -> Fraction:
    first, last = _finite(format)
    if isinstance(number, Fraction):
        return min(max(_count(number, format), first - _BEYOND), last + _BEYOND)
    return Fraction(last + 1 if number > 0 else first - 1)


def _value(count: int, format: Format) -> float:
    """Return the value at a position."""
    if format.kind == "int":
        return min(max(float(count), format.lowest), format.largest)
    size = abs(count)
    if size > format.top and format.nan:
        return copysign(inf if format.infinities else nan, count)
    size = min(size, format.top)
    field = max(size >> format.mantissa, 1)
    steps = size - (field - 1 << format.mantissa)
    return copysign(ldexp(steps, field - format.bias - format.mantissa), count)


Array = npt.NDArray[Any]
Doubles = npt.NDArray[np.float64]
NEAREST, STOCHASTIC = ROUNDINGS = "nearest", "stochastic"


def encode(values: npt.ArrayLike, format: str | Format, rounding: str = NEAREST, seed: int = 0,
           scale: float = 1.0) -> Array:  # fmt: skip
    """Return ``values / scale`` rounded to the format, as an array of ``Format.dtype()`` and the
    same shape.

    Beyond its largest value a format has what ``Format.beyond`` says: infinity, NaN as fp8_e4m3fn,
    or the largest value as an integer. As IEEE 754 has it, "beyond" begins where the next step
    would round up. tf32 values are float32 with 13 mantissa bits of 0.

    Args:
        values: real numbers of any shape, taken as float64.
        format: a name of ``memlab.formats.NUMBERS``.
        rounding: ``"nearest"``, of two equally near the even one; or ``"stochastic"``, away from
            0 with a probability that is the part of the step already gone.
        seed: of the draws; the same seed makes the same array.
        scale: what a stored 1 is worth.

    Raises:
        InputError: an unknown format or rounding, values that are no real numbers, NaN for a
            format without one, a seed that is no whole number, a scale that is not above 0.
    """
    target = find(format)
    one_option("rounding", rounding, dict.fromkeys(ROUNDINGS))
    start = whole_number("seed", seed, least=0)
    with np.errstate(over="ignore", invalid="ignore"):  # beyond every range, and what is NaN
        real = _real(values) / errors.real_number("scale", scale, usual=0.05, above=0)
        power = _power(real, target)
        steps = np.ldexp(np.abs(real), -power)
        kept = np.rint(steps) if rounding == NEAREST else _drawn(steps, start)
        held = np.copysign(np.ldexp(kept, power), real)
    bounded = _bounded(held, target)
    stored = to_bits(bounded, target) if target.as_bits else bounded.astype(target.dtype())
    return np.asarray(stored)


def decode(stored: npt.ArrayLike, format: str | Format, scale: float = 1.0) -> Doubles:
    """Return the values of a stored array times ``scale``, as float64 of the same shape.

    Raises:
        InputError: an unknown format, an array of another type, a scale that is not above 0.
    """
    target, array = find(format), np.asarray(stored)
    if array.dtype != target.dtype():
        raise InputError(f"{target} is stored as {target.dtype()}, got {array.dtype}; "
                         f"try encode(values, {target.name!r}).")  # fmt: skip
    values = from_bits(array, target) if target.as_bits else array.astype(np.float64)
    return np.asarray(values * errors.real_number("scale", scale, usual=0.05, above=0))


def rounded(values: npt.ArrayLike, format: str | Format, rounding: str = NEAREST, seed: int = 0,
            scale: float = 1.0) -> Doubles:  # fmt: skip
    """Return the values as the format keeps them, as float64: ``decode(encode(values))``.

    Raises:
        InputError: as ``encode``.
    """
    return decode(encode(values, format, rounding, seed, scale), format, scale)


def to_bits(held: Doubles, format: Format) -> Array:
    """Return values of a format as its bits, unsigned integers of the same shape; NaN has the sign
    of the value and the bits of ``bits``."""
    if format.kind == "int":
        return (held.astype(np.int64) & (1 << format.bits) - 1).astype(format.bits_type)
    size, power = np.abs(held), _power(held, format)
    with np.errstate(invalid="ignore"):
        before = power + format.mantissa - 1 + format.bias << format.mantissa
        codes = np.where(size > 0, before + np.ldexp(size, -power), 0)
    codes = np.where(size > format.largest, format.top + 1, codes)
    codes = np.where(np.isnan(held), _word(nan, format), codes).astype(np.int64)
    sign = np.signbit(held).astype(np.int64) << format.exponent + format.mantissa
    return np.asarray((codes | sign).astype(format.bits_type))


def from_bits(codes: Array, format: Format) -> Doubles:
    """Return the values of bits of a format, as float64 of the same shape."""
    whole = codes.astype(np.int64)
    if format.kind == "int":
        high = format.signed << format.bits - 1
        return np.asarray(((whole ^ high) - high).astype(np.float64))
    length = format.exponent + format.mantissa
    size = whole & (1 << length) - 1
    field = np.maximum(size >> format.mantissa, 1)
    steps = (size - (field - 1 << format.mantissa)).astype(np.float64)
    values = np.ldexp(steps, field - format.bias - format.mantissa)
    values = np.where(size == format.top + 1, inf if format.infinities else nan, values)
    values = np.where(size > format.top + 1, nan, values)
    return np.asarray(np.copysign(values, np.where(whole >> length, -1.0, 1.0)))


def _power(real: Doubles, format: Format) -> npt.NDArray[np.int32]:
    """Return, for each value, the power of 2 that is the distance between neighbouring values
    around it."""
    if format.kind == "int":
        return np.zeros(real.shape, np.int32)
    exponent = np.frexp(real)[1] - 1
    return np.asarray(np.maximum(exponent, 1 - format.bias) - format.mantissa)


def _drawn(steps: Doubles, seed: int) -> Doubles:
    generator = np.random.default_rng(seed)
    part = steps - np.floor(steps)
    return np.asarray(np.floor(steps) + (generator.random(steps.shape) < part))


def _bounded(held: Doubles, format: Format) -> Doubles:
    if not format.nan:
        if np.isnan(held).any():
            raise no_nan(format)
        return np.clip(held, format.lowest, format.largest)
    beyond = np.copysign(inf if format.infinities else nan, held)
    return np.where(np.abs(held) > format.largest, beyond, held)


def _real(values: npt.ArrayLike) -> Doubles:
    try:
        array = np.asarray(values)
        if array.dtype.kind in "cmMSUO":
            raise TypeError
        return array.astype(np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"values must be real numbers, got {shorten(values)}; try [0.1, 2.5]."
        ) from None
