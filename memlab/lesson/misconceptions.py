"""Judgement of a guess: right or wrong, and the one known mistake that explains a wrong one.

A guess within 10 % of the truth is right, and close. A factor is judged by its distance from 1: 1.9
for 2 is 0.9 instead of 1. A count is right only if it is exact. A mistake has the value that
somebody who makes it gets. Where a guess fits one mistake, and lies nearer to it than to the truth,
that one is named; where it fits two, none is: a wrong diagnosis teaches worse than none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from itertools import combinations

from memlab.lesson.typed_guess import Guess

APART = Fraction(103, 100)
"""Ratio by which the mistakes of one card must differ from each other and from the truth."""
SLACK = Fraction(1, 100)
"""Share of a value that a learner may lose by rounding on the way."""
NEAR = Fraction(1, 10)
"""A guess within this share of the truth, of a factor's distance from 1, is right: close."""
ONE_DECIMAL = Fraction(1, 20)
"""Distance within which a factor typed to 1 decimal is right."""


class DistanceRule(StrEnum):
    """Rule for the distance of a guess from the truth."""

    AMOUNT = "amount"
    """10 % of the truth."""
    FACTOR = "factor"
    """10 % of the distance of the truth from 1."""
    COUNT = "count"
    """No distance: a count must be exact."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """A mistake by name, and the value that it gives. ``values`` are those that its text names."""

    name: str
    value: Fraction
    values: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GuessVerdict:
    """Verdict on a guess: right or wrong, its unit, its ratio to the truth and its likely
    mistake."""

    right: bool
    unit: str = ""
    """Unit in which the guess is right, if it is not the one that was typed; empty otherwise."""
    ratio: Fraction = Fraction(1)
    """The guess over the truth, or its mistake over the truth where that is exact; 0 if one is
    0."""
    close: bool = False
    """Within 10 %, and not the truth to the digits that were typed; a count is wrong then."""
    cause: Mistake | None = None


def judge(
    guess: Guess,
    truth: Fraction | int,
    causes: Iterable[Mistake] = (),
    rule: DistanceRule = DistanceRule.AMOUNT,
) -> GuessVerdict:
    """Compare a guess with the truth, and look for the mistake behind a wrong one.

    A guess is right if it is the truth to the digits that were typed, in its own unit or in the
    twin unit (MiB for MB), or if it is close to the truth; but not if a mistake explains it that is
    nearer than the truth. The own unit comes first: 6 GB for 6.42 GB is close, and not 6 GiB.

    Args:
        guess: the guess, in bytes or a plain number.
        truth: the true value in the same unit.
        causes: mistakes that people make at this question.
        rule: the distance from the truth within which a guess is close.
    """
    truth = Fraction(truth)
    ratio = guess.value / truth if truth else Fraction(0)
    cause, twin = cause_of(guess, causes), guess.twin
    near_truth = not _nearer_to_cause(cause, guess, truth)
    if near_truth and _is_exact(guess, truth, rule):
        return GuessVerdict(True, ratio=ratio)
    near = near_truth and _is_close(guess.value, truth, rule)
    if twin is not None and _is_exact(twin, truth, rule) and not (near and guess.holds(truth)):
        return GuessVerdict(True, twin.unit, ratio)
    if near:
        return GuessVerdict(True, ratio=ratio, close=True)
    close = rule is DistanceRule.COUNT and abs(guess.value - truth) <= NEAR * truth
    return GuessVerdict(False, ratio=_shown_ratio(guess, truth, cause), close=close, cause=cause)


def _shown_ratio(guess: Guess, truth: Fraction, cause: Mistake | None) -> Fraction:
    """Ratio of a guess to the truth. It is exactly that of its mistake where that is a whole
    number, or 1 over one, and the typed digits reach the value of the mistake."""
    ratio = cause.value / truth if cause and truth else Fraction(0)
    whole = ratio and 1 in (ratio.denominator, ratio.numerator)
    if (
        cause
        and whole
        and any(reading and reading.holds(cause.value) for reading in (guess, guess.twin))
    ):
        return ratio
    return guess.value / truth if truth else Fraction(0)


def _is_exact(guess: Guess, truth: Fraction, rule: DistanceRule) -> bool:
    """True if a guess is the truth rounded to the digits that were typed: 6.4 MB for 6,422,528 B.

    A guess of 1 digit may be far from the truth: it counts up to 1 % of it, and a factor up to
    0.05.
    """
    reach = max(SLACK * truth, ONE_DECIMAL if rule is DistanceRule.FACTOR else Fraction(0))
    return abs(guess.value - truth) <= (0 if rule is DistanceRule.COUNT else min(guess.half, reach))


def _is_close(guess: Fraction, truth: Fraction, rule: DistanceRule) -> bool:
    """True if a guess is within 10 % of the truth. A factor below 1 is judged by its reciprocal: a
    tenth as 10 times."""
    if rule is DistanceRule.COUNT or guess <= 0 or truth <= 0:
        return guess == truth
    if rule is DistanceRule.FACTOR:
        guess, truth = (1 / guess - 1, 1 / truth - 1) if truth < 1 else (guess - 1, truth - 1)
    return abs(guess - truth) <= NEAR * truth


def _nearer_to_cause(cause: Mistake | None, guess: Guess, truth: Fraction) -> bool:
    """True if a guess, in the unit that was typed, is nearer to the value of a mistake than to the
    truth."""
    return cause is not None and abs(guess.value - cause.value) < abs(guess.value - truth)


def cause_of(guess: Guess, causes: Iterable[Mistake]) -> Mistake | None:
    """Return the one mistake that explains a wrong guess; None if none or more than one does."""
    known = list(causes)
    for reading in (guess, guess.twin):  # the unit as it was typed comes first
        if reading is None:
            continue
        fits = [cause for cause in known if _fits(reading, cause.value)]
        if fits:
            return fits[0] if len({cause.name for cause in fits}) == 1 else None
    return None


def _fits(guess: Guess, value: Fraction) -> bool:
    """True if a guess is a value to the digits that were typed, but at most 10 % off, or within 1
    %."""
    return abs(guess.value - value) <= max(min(guess.half, NEAR * value), SLACK * value)


def apart(first: Fraction, second: Fraction) -> bool:
    """True if two values differ by more than 3 %."""
    low, high = sorted((first, second))
    return high > APART * low


def confusable_pairs(truth: Fraction | int, causes: Sequence[Mistake]) -> list[tuple[str, str]]:
    """Return pairs of names, of mistakes or ``"truth"``, whose values a guess could not tell
    apart."""
    named = [("truth", Fraction(truth)), *((cause.name, cause.value) for cause in causes)]
    return [
        (one, other)
        for (one, first), (other, second) in combinations(named, 2)
        if one != other and not apart(rounded(first), rounded(second))
    ]


def rounded(value: Fraction | int, digits: int = 3) -> Fraction:
    """Return a value rounded to ``digits`` significant digits, as people write it."""
    return Fraction(f"{float(value):.{digits - 1}e}") if value else Fraction(0)


def distinct_causes(truth: Fraction | int, causes: Sequence[Mistake]) -> list[Mistake]:
    """Return the mistakes whose values differ clearly from the truth and from every other
    mistake."""
    confused = {name for pair in confusable_pairs(truth, causes) for name in pair}
    return [cause for cause in causes if cause.name not in confused]
