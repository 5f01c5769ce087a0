"""What a function returned, as numbers: read, compared, put into words."""

from __future__ import annotations

from collections.abc import Iterator, KeysView, Sequence, Set, ValuesView
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import chain, islice
from math import isfinite
from numbers import Rational, Real
from typing import Any

from memlab.errors import shorten

Number = int | float
LONGEST = 10**5
"""Values that are taken out of a generator, which may have no end."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """Numbers in order, and the lengths of the lists that held them: ``()`` for a single one."""

    shape: tuple[int, ...]
    flat: tuple[Number, ...]

    @property
    def whole(self) -> bool:
        """Whether no float is among them."""
        return not any(isinstance(number, float) for number in self.flat)

    @property
    def first(self) -> Number:
        """The first one, or the only one."""
        return self.flat[0]

    def times(self, by: Number) -> Numbers:
        """Each of them so many times."""
        return Numbers(self.shape, tuple(number * by for number in self.flat))

    def floats(self) -> Numbers:
        """The same as floats.

        Raises:
            OverflowError: an integer that no float can hold.
        """
        return Numbers(self.shape, tuple(map(float, self.flat)))


def listed(value: Any) -> Any:
    """What a generator, ``map`` or view of a dictionary gives, as a list; all else as it is."""
    in_turn = isinstance(value, Iterator | KeysView | ValuesView)
    return list(islice(value, LONGEST)) if in_turn else value


def ordered(value: Any) -> Any:
    """A set as a list, rising: for an answer whose order says nothing."""
    return sorted(value) if isinstance(value, Set) else value


def read(value: Any) -> Numbers | None:
    """A number, or numbers in lists or an array; None for all else.

    Whole numbers of any length and any type stay exact, a fraction is a float. Truth values, text,
    sets, nan and infinity are no numbers.
    """
    try:
        return _read(value)
    except Exception:  # whatever an object of the learner's raises: it is no number
        return None


def _read(value: Any) -> Numbers:
    """The numbers.

    Raises:
        TypeError, ValueError, OverflowError: there are none, or lists of several lengths.
    """
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, str | bytes | bytearray) or not isinstance(value, Sequence):
        return Numbers((), (_number(value),))
    if {*map(type, value)} == {int}:  # many, in an instant
        return Numbers((len(value),), tuple(value))
    parts = list(map(_read, value))
    inner = {part.shape for part in parts} or {()}
    (shape,) = inner
    return Numbers((len(parts), *shape), tuple(chain.from_iterable(part.flat for part in parts)))


def _number(value: object) -> Number:
    if isinstance(value, bool) or not isinstance(value, Real | Decimal):
        raise TypeError
    if isinstance(value, Rational | Decimal):
        exact = Fraction(value)
        return exact.numerator if exact.denominator == 1 else float(exact)
    if not isfinite(value):
        raise ValueError
    return float(value)


def agree(given: Numbers, truth: Numbers, rel: float) -> bool:
    """Whether shapes and numbers are the same; floats within ``rel`` of the largest true one."""
    if given.shape != truth.shape:
        return False
    if truth.whole:
        return given.flat == truth.flat
    try:
        pairs = list(zip(given.floats().flat, truth.floats().flat, strict=True))
    except OverflowError:  # an integer that no float can hold
        return False
    most = rel * max((abs(right) for _, right in pairs), default=0)
    return all(abs(left - right) <= most for left, right in pairs)


def factor(given: Numbers, truth: Numbers) -> Fraction | None:
    """What to multiply the largest true number by to get the given one; None if not above 0."""
    if given.shape != truth.shape or not truth.flat:
        return None
    pairs = zip(given.flat, truth.flat, strict=True)
    one, other = (Fraction(each) for each in max(pairs, key=lambda pair: abs(pair[1])))
    if one * other <= 0:
        return None
    exact = one / other
    near = exact.limit_denominator(1000)
    return near if abs(near - exact) <= Fraction(1, 10**9) * exact else exact


def scaled(given: Numbers, truth: Numbers, by: Fraction, rel: float) -> bool:
    """Whether every number given is ``by`` times the true one."""
    if given.whole and truth.whole:
        return agree(given.times(by.denominator), truth.times(by.numerator), rel)
    try:
        return agree(given, truth.floats().times(float(by)), rel)
    except OverflowError:  # a factor that no float can hold
        return False


def single(value: Any) -> Any:
    """A number of NumPy's as Python's; all else as it is."""
    return value.item() if getattr(value, "shape", None) == () else value


def _short(value: Any) -> Any:
    """A number without its NumPy type, a float with 4 digits."""
    value = single(value)
    return float(f"{value:.4g}") if isinstance(value, float) else value


def in_words(value: Any) -> str:
    """What was returned, on one line and short enough for a sentence."""
    try:
        value = value.tolist() if hasattr(value, "tolist") else value
        if isinstance(value, tuple | list):
            value = type(value)(map(_short, value))
        whole = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**40
        return f"{value:,}" if whole else " ".join(shorten(value).split())
    except Exception:  # a learner's own __repr__, or an integer of 5,000 digits
        return f"a value of type {type(value).__name__}"
