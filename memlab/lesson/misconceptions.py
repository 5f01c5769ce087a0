"""Which guess is right, and from a wrong one to the mistake that makes it: a named cause, put as a
question.

A guess within 10 % of the truth is right, and close. A factor is judged by its distance from 1: 1.9
for 2 is 0.9 instead of 1. A count is right alone as it is. A cause has the value that comes out for
somebody who makes the mistake. Where a guess fits one cause, and lies nearer to it than to the
truth, that one is named; where it fits two, none is: a wrong diagnosis teaches worse than none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from itertools import combinations

from memlab.lesson.typed_guess import Guess

APART = Fraction(103, 100)
"""Causes of one card must differ by more than this, and so must each from the truth."""
SLACK = Fraction(1, 100)
"""What a learner may lose by rounding on the way, of the value of a cause."""
NEAR = Fraction(1, 10)
"""A guess within this share of the truth, of a factor's distance from 1, is right: close."""
ONE_DECIMAL = Fraction(1, 20)
"""Reach of a factor that is typed to 1 decimal."""


class DistanceRule(StrEnum):
    """Rule for the distance of a guess from the truth."""

    AMOUNT = "amount"
    """10 % of the truth."""
    FACTOR = "factor"
    """10 % of its distance from 1."""
    COUNT = "count"
    """Not at all."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """A mistake by name, and the value that it gives. ``values`` are those that its text names."""

    name: str
    value: Fraction
    values: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GuessVerdict:
    """Verdict on a guess: whether it is right, in which unit, how far off, and the
    likely mistake."""

    right: bool
    unit: str = ""
    """The unit that it is right in, where that is not the one that was given."""
    ratio: Fraction = Fraction(1)
    """The guess over the truth, exactly so where its cause is; 0 where one of them is 0."""
    close: bool = False
    """Within 10 %, and not the truth to the digits that were typed; a count is wrong then."""
    cause: Mistake | None = None


def judge(
    guess: Guess,
    truth: Fraction | int,
    causes: Iterable[Mistake] = (),
    rule: DistanceRule = DistanceRule.AMOUNT,
) -> GuessVerdict:
    """Compare a guess with the truth, and look for the cause of a wrong one.

    A guess is right where it is the truth to the digits that were typed, in its own unit or in its
    twin, or close to the truth; but not where a cause explains it that is nearer than the truth.
    """
    truth = Fraction(truth)
    ratio = guess.value / truth if truth else Fraction(0)
    cause, twin = cause_of(guess, causes), guess.twin
    taken = not _nearer(cause, guess, truth)
    if taken and _exact(guess, truth, rule):
        return GuessVerdict(True, ratio=ratio)
    if twin is not None and _exact(twin, truth, rule):
        return GuessVerdict(True, twin.unit, ratio)
    if taken and _close(guess.value, truth, rule):
        return GuessVerdict(True, ratio=ratio, close=True)
    close = rule is DistanceRule.COUNT and abs(guess.value - truth) <= NEAR * truth
    return GuessVerdict(False, ratio=_told(guess, truth, cause), close=close, cause=cause)


def _told(guess: Guess, truth: Fraction, cause: Mistake | None) -> Fraction:
    """Ratio of a guess to the truth, as it was typed; exactly as its cause where that is a whole
    number of times and the digits that were typed reach it."""
    ratio = cause.value / truth if cause and truth else Fraction(0)
    whole = ratio and 1 in (ratio.denominator, ratio.numerator)
    if cause and whole and any(one and one.holds(cause.value) for one in (guess, guess.twin)):
        return ratio
    return guess.value / truth if truth else Fraction(0)


def _exact(guess: Guess, truth: Fraction, rule: DistanceRule) -> bool:
    """Whether it is the truth, rounded to the digits that were typed: 6.4 MB for 6,422,528 B.

    1 digit may be far from the truth: it counts up to 1 % of it, and a factor up to 1 decimal.
    """
    reach = max(SLACK * truth, ONE_DECIMAL if rule is DistanceRule.FACTOR else Fraction(0))
    return abs(guess.value - truth) <= (0 if rule is DistanceRule.COUNT else min(guess.half, reach))


def _close(guess: Fraction, truth: Fraction, rule: DistanceRule) -> bool:
    """Whether it is within 10 %. A factor below 1 is judged as its reverse: a tenth as 10 times."""
    if rule is DistanceRule.COUNT or guess <= 0 or truth <= 0:
        return guess == truth
    if rule is DistanceRule.FACTOR:
        guess, truth = (1 / guess - 1, 1 / truth - 1) if truth < 1 else (guess - 1, truth - 1)
    return abs(guess - truth) <= NEAR * truth


def _nearer(cause: Mistake | None, guess: Guess, truth: Fraction) -> bool:
    """Whether a guess is nearer to the cause than to the truth, in the unit as it was typed."""
    return cause is not None and abs(guess.value - cause.value) < abs(guess.value - truth)


def cause_of(guess: Guess, causes: Iterable[Mistake]) -> Mistake | None:
    """The one cause that explains a wrong guess; None where none or more than one does."""
    known = list(causes)
    for reading in (guess, guess.twin):  # the unit as it was typed comes first
        if reading is None:
            continue
        fits = [cause for cause in known if _fits(reading, cause.value)]
        if fits:
            return fits[0] if len({cause.name for cause in fits}) == 1 else None
    return None


def _fits(guess: Guess, value: Fraction) -> bool:
    """Whether it is the value to the digits that were typed, within 10 %, or within 1 %."""
    return abs(guess.value - value) <= max(min(guess.half, NEAR * value), SLACK * value)


def apart(one: Fraction, other: Fraction) -> bool:
    """Whether two values differ by more than 3 %."""
    low, high = sorted((one, other))
    return high > APART * low


def alike(truth: Fraction | int, causes: Sequence[Mistake]) -> list[tuple[str, str]]:
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


def distinct(truth: Fraction | int, causes: Sequence[Mistake]) -> list[Mistake]:
    """The causes that are alike to no other and not to the truth."""
    confused = {name for pair in alike(truth, causes) for name in pair}
    return [cause for cause in causes if cause.name not in confused]
