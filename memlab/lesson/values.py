"""What a function returned, as numbers: read, compared, put into words."""

from __future__ import annotations

from collections.abc import Iterator, KeysView, Set, ValuesView
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from numbers import Rational
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memlab.errors import shorten

Numbers = NDArray[Any]

LONGEST = 10**5
"""Values that are taken out of a generator, which may have no end."""


def listed(value: Any) -> Any:
    """What a generator, ``map`` or view of a dictionary gives, as a list; all else as it is."""
    in_turn = isinstance(value, Iterator | KeysView | ValuesView)
    return list(islice(value, LONGEST)) if in_turn else value


def ordered(value: Any) -> Any:
    """A set as a list, rising: for an answer whose order says nothing."""
    return sorted(value) if isinstance(value, Set) else value


def read(value: Any) -> Numbers | None:
    """A number, or numbers in lists or an array, as an array of their own; None for all else.

    Whole numbers of any length and any type stay exact, a fraction is a float. Truth values, text,
    sets, nan and infinity are no numbers.
    """
    try:
        numbers = np.array(value)
        if numbers.dtype.kind == "O" and all(map(_exact, numbers.flat)):
            return _fractions([Fraction(number) for number in numbers.flat], numbers.shape)
    except Exception:  # whatever an object of the learner's raises: it is no number
        return None
    known = numbers.dtype.kind in "iuf" and bool(np.isfinite(numbers).all())
    return numbers if known else None


def agree(given: Numbers, truth: Numbers, rel: float) -> bool:
    """Whether shapes and numbers are the same; floats within ``rel`` of the largest true one."""
    if given.shape != truth.shape:
        return False
    if truth.dtype.kind != "f":
        return bool(np.all(given == truth))
    try:
        apart = np.abs(given.astype(float) - truth.astype(float))
    except OverflowError:  # an integer that no float can hold
        return False
    return bool(np.all(apart <= rel * np.max(np.abs(truth), initial=0)))


def factor(given: Numbers, truth: Numbers) -> Fraction | None:
    """What to multiply the largest true number by to get the given one; None if not above 0."""
    if given.shape != truth.shape or not truth.size:
        return None
    where = np.unravel_index(np.argmax(np.abs(truth)), truth.shape)
    one, other = (Fraction(np.asarray(numbers[where]).item()) for numbers in (given, truth))
    if one * other <= 0:
        return None
    exact = one / other
    near = exact.limit_denominator(1000)
    return near if abs(near - exact) <= Fraction(1, 10**9) * exact else exact


def scaled(given: Numbers, truth: Numbers, by: Fraction, rel: float) -> bool:
    """Whether every number given is ``by`` times the true one."""
    if "f" in given.dtype.kind + truth.dtype.kind:
        try:
            return agree(given, truth.astype(float) * float(by), rel)
        except OverflowError:  # a factor that no float can hold
            return False
    left = np.asarray(given.astype(object) * by.denominator, object)
    return agree(left, np.asarray(truth.astype(object) * by.numerator, object), rel)


def _short(value: Any) -> Any:
    """A number without its NumPy type, a float with 4 digits."""
    value = value.item() if isinstance(value, np.generic) else value
    return float(f"{value:.4g}") if isinstance(value, float) else value


def in_words(value: Any) -> str:
    """What was returned, on one line and short enough for a sentence."""
    try:
        if isinstance(value, np.generic | np.ndarray):
            value = value.tolist()
        if isinstance(value, tuple | list):
            value = type(value)(map(_short, value))
        whole = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**40
        return f"{value:,}" if whole else " ".join(shorten(value).split())
    except Exception:  # a learner's own __repr__, or an integer of 5,000 digits
        return f"a value of type {type(value).__name__}"


def _exact(number: object) -> bool:
    """More than 64 bits, a fraction or a decimal."""
    return isinstance(number, Rational | Decimal) and not isinstance(number, bool)


def _fractions(numbers: list[Fraction], shape: tuple[int, ...]) -> Numbers:
    """Whole numbers as they are, of any length; others as floats."""
    if all(number.denominator == 1 for number in numbers):
        return np.array([number.numerator for number in numbers], object).reshape(shape)
    return np.array(numbers, float).reshape(shape)
