"""From a wrong guess to the mistake that makes it: a named cause, put as a question.

A cause has the value that comes out for somebody who makes the mistake. Where a guess fits one
cause, that one is named; where it fits two, none is: a wrong diagnosis teaches worse than none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations

from memlab.lesson.typed_guess import Guess

APART = Fraction(103, 100)
"""Causes of one card must differ by more than this, and so must each from the truth."""
SLACK = Fraction(1, 100)
"""What a learner may lose by rounding on the way, of the value of a cause."""
CLOSE = Fraction(1, 20)
"""A wrong guess within this of the truth is called close."""


@dataclass(frozen=True, slots=True)
class Cause:
    """A mistake by name, and the value that it gives. ``values`` are those that its text names."""

    name: str
    value: Fraction
    values: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is to be said about a guess: right, in which unit, how far off, and why perhaps."""

    right: bool
    unit: str = ""
    """The unit that it is right in, where that is not the one that was given."""
    ratio: Fraction = Fraction(1)
    """The guess over the truth; 0 where one of them is 0."""
    close: bool = False
    cause: Cause | None = None


def judge(guess: Guess, truth: Fraction | int, causes: Iterable[Cause] = ()) -> Verdict:
    """Compare a guess with the truth, and look for the cause of a wrong one.

    A guess is right within half a unit of its last digit, in its own unit or in its twin.
    """
    truth = Fraction(truth)
    ratio = guess.value / truth if truth else Fraction(0)
    if guess.holds(truth):
        return Verdict(True, ratio=ratio)
    twin = guess.twin
    if twin is not None and twin.holds(truth):
        return Verdict(True, twin.unit, ratio)
    close = abs(guess.value - truth) <= CLOSE * truth
    return Verdict(False, "", ratio, close, cause_of(guess, causes))


def cause_of(guess: Guess, causes: Iterable[Cause]) -> Cause | None:
    """The one cause that explains a wrong guess; None where none or more than one does."""
    known = list(causes)
    for reading in (guess, guess.twin):  # the unit as it was typed comes first
        if reading is None:
            continue
        fits = [cause for cause in known if reading.holds(cause.value, SLACK * cause.value)]
        if fits:
            return fits[0] if len({cause.name for cause in fits}) == 1 else None
    return None


def apart(one: Fraction, other: Fraction) -> bool:
    """Whether two values differ by more than 3 %."""
    low, high = sorted((one, other))
    return high > APART * low


def alike(truth: Fraction | int, causes: Sequence[Cause]) -> list[tuple[str, str]]:
    """Pairs of names that a guess could not tell apart, ``"truth"`` among them."""
    named = [("truth", Fraction(truth)), *((cause.name, cause.value) for cause in causes)]
    return [
        (one, other)
        for (one, first), (other, second) in combinations(named, 2)
        if one != other and not apart(rounded(first), rounded(second))
    ]


def rounded(value: Fraction | int, digits: int = 3) -> Fraction:
    """A value to so many digits, as people write it."""
    return Fraction(f"{float(value):.{digits - 1}e}") if value else Fraction(0)


def distinct(truth: Fraction | int, causes: Sequence[Cause]) -> list[Cause]:
    """The causes that are alike to no other and not to the truth."""
    confused = {name for pair in alike(truth, causes) for name in pair}
    return [cause for cause in causes if cause.name not in confused]
