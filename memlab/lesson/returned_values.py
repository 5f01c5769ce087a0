"""Numbers that a function returned: read, compared, put into words.

A number is read by its exact type, and a list by the methods of its plain type: a class of the
learner's own decides neither what a value is nor what it equals.
"""

from __future__ import annotations

import sys
from array import array
from collections import deque
from collections.abc import Iterator, KeysView, ValuesView
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import chain, islice
from math import isfinite
from typing import Any

from memlab.errors import shorten

Number = int | float
LONGEST = 10**5
"""Values that are taken out of a generator, which may have no end."""
LISTED = 100
"""Values of a list whose types are looked at for a sentence."""
LIBRARIES = {"builtins", "numpy", "fractions", "decimal", "collections", "array", "datetime"}
"""Modules of the types that everybody knows."""


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
    """Values of a generator, ``map`` or view of a dictionary as a list; any other
    value as it is."""
    in_turn = isinstance(value, Iterator | KeysView | ValuesView)
    return list(islice(value, LONGEST)) if in_turn else value


def ordered(value: Any) -> Any:
    """A set as a list, rising: for an answer whose order says nothing."""
    return sorted(value) if type(value) in (set, frozenset) else value


def read(value: Any) -> Numbers | None:
    """A number, or numbers in lists or an array; None for all else.

    Whole numbers of any length and any type stay exact, a fraction is a float. Truth values, text,
    sets, nan and infinity are no numbers, and neither is a class of the learner's own.
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
    value = _plain(value)
    if type(value) is not list:
        return Numbers((), (_number(value),))
    if {*map(type, value)} == {int}:  # many, in an instant
        return Numbers((len(value),), tuple(value))
    parts = list(map(_read, value))
    inner = {part.shape for part in parts} or {()}
    (shape,) = inner
    return Numbers((len(parts), *shape), tuple(chain.from_iterable(part.flat for part in parts)))


def _plain(value: Any) -> Any:
    """A container of numbers in order as a list, by the methods of Python's or NumPy's own type."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and issubclass(type(value), numpy.ndarray):
        return numpy.ndarray.tolist(value)
    for kind in (list, tuple):
        if issubclass(type(value), kind):
            return list(kind.__iter__(value))
    return list(value) if type(value) in (range, deque, array) else value


def _number(value: Any) -> Number:
    kind = type(value)
    if kind in (int, float):
        exact = value
    elif kind is Decimal:
        exact = Fraction(value)
    elif kind is Fraction:
        exact = _ratio(value.numerator, value.denominator)
    else:
        exact = _numpy_number(value)
    if type(exact) is Fraction:
        return exact.numerator if exact.denominator == 1 else float(exact)
    if type(exact) is float and not isfinite(exact):
        raise ValueError
    return exact  # type: ignore[no-any-return]  # an int or a float


def _ratio(above: Any, below: Any) -> Fraction:
    """A fraction anew: anything can be put into the two parts of one."""
    if (type(above), type(below)) != (int, int):
        raise TypeError
    return Fraction(above, below)


def _numpy_number(value: Any) -> Number:
    """A number of exactly one of NumPy's types; its truth values are none."""
    numpy = sys.modules.get("numpy")
    if numpy is None or type(value) not in numpy.sctypeDict.values():
        raise TypeError
    if isinstance(value, numpy.integer) and not isinstance(value, numpy.timedelta64):
        return int(value)
    if isinstance(value, numpy.floating):
        return float(value)
    raise TypeError


def own_type(value: Any) -> str:
    """The name of the first type in a value that is neither Python's nor NumPy's; empty without."""
    kind = type(value)
    if kind.__module__.partition(".")[0] not in LIBRARIES:
        return kind.__name__
    inner = list(kind.__iter__(value)) if kind in (list, tuple) else []
    return next(filter(None, map(own_type, inner[:LISTED])), "")


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
    """Factor between the largest true number and the given one; None if it is not above 0."""
    if given.shape != truth.shape or not truth.flat:
        return None
    pairs = zip(given.flat, truth.flat, strict=True)
    one, other = (Fraction(number) for number in max(pairs, key=lambda pair: abs(pair[1])))
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
    """Returned value on one line, short enough for a sentence."""
    try:
        value = value.tolist() if hasattr(value, "tolist") else value
        if isinstance(value, tuple | list):
            value = type(value)(map(_short, value))
        whole = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**40
        return f"{value:,}" if whole else " ".join(shorten(value).split())
    except Exception:  # a learner's own __repr__, or an integer of 5,000 digits
        return f"a value of type {type(value).__name__}"
