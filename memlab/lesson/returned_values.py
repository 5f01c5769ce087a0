"""Numbers that a learner's function returned: reading, comparing and describing them.

A number is read by its exact type, and a list by the methods of its plain type: a class of the
learner's own decides neither what a value is nor what it equals.
"""

from __future__ import annotations

import sys
from array import array
from collections import deque
from collections.abc import Iterator, KeysView, ValuesView
from copy import copy
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import chain, islice
from math import isfinite
from typing import Any

from memlab.errors import shorten

Number = int | float
LONGEST = 10**5
"""Most values taken from a generator, which may have no end."""
LISTED = 100
"""Number of values of a list whose types are checked for a sentence."""
SINGLE = {int, float, str, bool, type(None), Decimal, Fraction, range}
SHALLOW = {set, frozenset, deque, array, dict}
"""Types of Python's own with one value, and with values that are copied as they are."""
LIBRARIES = {"builtins", "numpy", "fractions", "decimal", "collections", "array", "datetime"}
"""Modules of the types that everybody knows."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """Numbers in one flat tuple, and the lengths of the nested lists that held them (``shape``):
    ``()`` for a single number."""

    shape: tuple[int, ...]
    flat: tuple[Number, ...]

    @property
    def whole(self) -> bool:
        """True if none of the numbers is a float."""
        return not any(isinstance(number, float) for number in self.flat)

    @property
    def first(self) -> Number:
        """First number, or the only one."""
        return self.flat[0]

    def times(self, by: Number) -> Numbers:
        """Return each number multiplied by a factor."""
        return Numbers(self.shape, tuple(number * by for number in self.flat))

    def floats(self) -> Numbers:
        """Return the numbers as floats.

        Raises:
            OverflowError: an integer is larger than any float.
        """
        return Numbers(self.shape, tuple(map(float, self.flat)))


@dataclass(frozen=True, slots=True, repr=False)
class Foreign:
    """Stand-in for a value that stays where it was made, and prints as it does: it is no number.
    ``kind`` is the name of its type, empty for one of Python's or NumPy's."""

    kind: str = ""
    shown: str = ""

    def __repr__(self) -> str:
        return self.shown


def plain(value: Any) -> Any:
    """Return a copy of a returned value that the learner's function cannot change later, and that
    no code of the learner's is needed to read."""
    try:
        return _plain(value)
    except Exception:  # a list in itself, or whatever an object of the learner's raises
        return Foreign(shown=value_text(value))


def _plain(value: Any) -> Any:
    kind, numpy = type(value), sys.modules.get("numpy")
    if kind in (list, tuple):
        return kind(map(_plain, value))
    if numpy is not None and issubclass(kind, numpy.ndarray):
        return numpy.array(value)
    if kind in SHALLOW:
        return copy(value)
    if kind in SINGLE or (numpy is not None and kind in numpy.sctypeDict.values()):
        return value
    return numbers_or_foreign(value)


def numbers_or_foreign(value: Any) -> Any:
    """Return the numbers of a value; for one that holds none a stand-in, or the set that it is."""
    numbers = read(value)
    if numbers is None and type(value) not in (set, frozenset):
        return Foreign(own_type(value), value_text(value))
    return value if numbers is None else numbers


def listed(value: Any) -> Any:
    """Return the values of an iterator or of a view of a dictionary as a list, at most ``LONGEST``
    of them; any other value unchanged."""
    in_turn = isinstance(value, Iterator | KeysView | ValuesView)
    return list(islice(value, LONGEST)) if in_turn else value


def ordered(value: Any) -> Any:
    """Return a set as a sorted list, for an answer whose order does not matter; any other value
    unchanged, and a set that cannot be sorted."""
    try:
        return sorted(value) if type(value) in (set, frozenset) else value
    except Exception:  # values of several types, or what the learner's own comparison raises
        return value


def read(value: Any) -> Numbers | None:
    """Return the numbers in a returned value, a single one or lists or an array of them; None for
    anything else.

    Whole numbers of any size and type stay exact; a fraction that is not whole becomes a float.
    Booleans, text, sets, nan and infinity are no numbers, and neither is a class of the learner's
    own.
    """
    try:
        return _read(value)
    except Exception:  # whatever an object of the learner's raises: it is no number
        return None


def _read(value: Any) -> Numbers:
    """Return the numbers in a value.

    Raises:
        TypeError, ValueError, OverflowError: it holds something else, or lists of several lengths.
    """
    value = _plain_list(value)
    if type(value) is Numbers:
        return value
    if type(value) is not list:
        return Numbers((), (_number(value),))
    if {*map(type, value)} == {int}:  # many, in an instant
        return Numbers((len(value),), tuple(value))
    parts = list(map(_read, value))
    inner = {part.shape for part in parts} or {()}
    (shape,) = inner
    return Numbers((len(parts), *shape), tuple(chain.from_iterable(part.flat for part in parts)))


def _plain_list(value: Any) -> Any:
    """Return an ordered container of numbers as a list, by the methods of Python's or NumPy's own
    type; any other value unchanged."""
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
    """Return a new fraction of two ints; anything else in its two parts raises TypeError."""
    if (type(above), type(below)) != (int, int):
        raise TypeError
    return Fraction(above, below)


def _numpy_number(value: Any) -> Number:
    """Return a NumPy integer or float as Python's; TypeError for anything else, booleans too."""
    numpy = sys.modules.get("numpy")
    if numpy is None or type(value) not in numpy.sctypeDict.values():
        raise TypeError
    if isinstance(value, numpy.integer) and not isinstance(value, numpy.timedelta64):
        return int(value)
    if isinstance(value, numpy.floating):
        return float(value)
    raise TypeError


def own_type(value: Any) -> str:
    """Name of the first type in a value that is neither Python's nor NumPy's; empty if there is
    none."""
    kind = type(value)
    if kind is Foreign:
        return str(value.kind)
    if kind.__module__.partition(".")[0] not in LIBRARIES:
        return kind.__name__
    inner = list(kind.__iter__(value)) if kind in (list, tuple) else []
    return next(filter(None, map(own_type, inner[:LISTED])), "")


def agree(given: Numbers, truth: Numbers, rel: float) -> bool:
    """True if two values have the same shape and numbers. Whole truths are compared exactly, floats
    within ``rel`` times the largest true number."""
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
    """Return the ratio of the given number to the true one, where the true one is largest; None if
    it is not above 0, or the shapes differ."""
    if given.shape != truth.shape or not truth.flat:
        return None
    pairs = zip(given.flat, truth.flat, strict=True)
    numerator, denominator = (
        Fraction(number) for number in max(pairs, key=lambda pair: abs(pair[1]))
    )
    if numerator * denominator <= 0:
        return None
    exact = numerator / denominator
    near = exact.limit_denominator(1000)
    return near if abs(near - exact) <= Fraction(1, 10**9) * exact else exact


def scaled(given: Numbers, truth: Numbers, by: Fraction, rel: float) -> bool:
    """True if every given number is ``by`` times the true one."""
    if given.whole and truth.whole:
        return agree(given.times(by.denominator), truth.times(by.numerator), rel)
    try:
        return agree(given, truth.floats().times(float(by)), rel)
    except OverflowError:  # a factor that no float can hold
        return False


def single(value: Any) -> Any:
    """Return a NumPy scalar as a Python number; any other value unchanged."""
    return value.item() if getattr(value, "shape", None) == () else value


def _short_number(value: Any) -> Any:
    """Return a number without its NumPy type, a float with 4 digits."""
    value = single(value)
    return float(f"{value:.4g}") if isinstance(value, float) else value


def value_text(value: Any) -> str:
    """Return the returned value as text on one line, short enough for a sentence."""
    try:
        value = value.tolist() if hasattr(value, "tolist") else value
        if isinstance(value, tuple | list):
            value = type(value)(map(_short_number, value))
        whole = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**40
        return f"{value:,}" if whole else " ".join(shorten(value).split())
    except Exception:  # a learner's own __repr__, or an integer of 5,000 digits
        return f"a value of type {type(value).__name__}"
