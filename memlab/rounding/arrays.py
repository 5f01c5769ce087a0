"""Arrays as a format stores them.

A float64 that NumPy or ml_dtypes casts to bf16 or fp8 is rounded twice, by way of float32, and a
value beside a tie then goes the wrong way. So values are rounded here, once, and the cast that
follows changes nothing.
"""

from __future__ import annotations

from math import inf, nan
from typing import Any

import numpy as np
import numpy.typing as npt

from memlab import errors
from memlab.errors import InputError, pick, shorten, whole
from memlab.formats import Format
from memlab.rounding.exact import find, no_nan

Array = npt.NDArray[Any]
Doubles = npt.NDArray[np.float64]
NEAREST, STOCHASTIC = ROUNDINGS = "nearest", "stochastic"


def encode(values: npt.ArrayLike, format: str | Format, rounding: str = NEAREST, seed: int = 0,
           scale: float = 1.0) -> Array:  # fmt: skip
    """``values / scale`` in the format, as an array of ``Format.dtype()`` and the same shape.

    Beyond its largest value a format has what ``Format.beyond`` says: infinity, NaN as fp8_e4m3fn,
    or the largest value as an integer. As IEEE 754 has it, "beyond" begins where the next step
    would round up.
    tf32 values are float32 with 13 mantissa bits of 0.

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
    found = find(format)
    pick("rounding", rounding, dict.fromkeys(ROUNDINGS))
    start = whole("seed", seed, least=0)
    with np.errstate(over="ignore", invalid="ignore"):  # beyond every range, and what is NaN
        real = _real(values) / errors.real("scale", scale, usual=0.05, above=0)
        power = _power(real, found)
        steps = np.ldexp(np.abs(real), -power)
        kept = np.rint(steps) if rounding == NEAREST else _drawn(steps, start)
        held = np.copysign(np.ldexp(kept, power), real)
    return np.asarray(_bounded(held, found).astype(found.dtype()))


def decode(stored: npt.ArrayLike, format: str | Format, scale: float = 1.0) -> Doubles:
    """The values of a stored array times ``scale``, as float64 of the same shape.

    Raises:
        InputError: an unknown format, an array of another type, a scale that is not above 0.
    """
    found, array = find(format), np.asarray(stored)
    if array.dtype != found.dtype():
        raise InputError(f"{found} is stored as {found.dtype()}, got {array.dtype}; "
                         f"try encode(values, {found.name!r}).")  # fmt: skip
    return np.asarray(array.astype(np.float64) * errors.real("scale", scale, usual=0.05, above=0))


def rounded(values: npt.ArrayLike, format: str | Format, rounding: str = NEAREST, seed: int = 0,
            scale: float = 1.0) -> Doubles:  # fmt: skip
    """What the format keeps of the values, as float64: ``decode(encode(values))``.

    Raises:
        InputError: as ``encode``.
    """
    return decode(encode(values, format, rounding, seed, scale), format, scale)


def _power(real: Doubles, format: Format) -> npt.NDArray[np.int32]:
    """The step around each value is 2 to this power."""
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
