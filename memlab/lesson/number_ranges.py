"""Ranges of numbers that a class guessed: the rows of a histogram.

Few different factors or counts have a row each; anything else falls into ranges from 1, 2 or 5 to
the next of these, finer or coarser as the guesses need it. The ranges follow from the guesses
alone, so that they do not give the truth away.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import floor, log10

from memlab import strings
from memlab.lesson import sentences
from memlab.lesson.card_question import AnswerKind
from memlab.pictures.values.number_text import round_bytes

ROWS = 12
"""Most rows of numbers, without those of what is smaller or larger than all of them."""
FINE = tuple(map(Fraction, ("1", "1.2", "1.5", "2", "2.5", "3", "4", "5", "6", "8")))
LADDERS = FINE, tuple(map(Fraction, (1, 2, 5))), (Fraction(1),)
"""Where ranges may begin, times a power of 10, from the finest."""
OUTSIDE = 20
"""One guess in so many, at each end, may lie outside of all ranges: a joke would widen them."""


@dataclass(frozen=True)
class NumberRange:
    """Numbers from ``low`` up to, but not including, ``high``; None is an open end. Two equal ends
    are one number, as it is written with three digits."""

    low: Fraction | None
    high: Fraction | None

    def holds(self, value: Fraction) -> bool:
        """True if the number belongs to the range."""
        if self.low is not None and self.low == self.high:
            return sentences.number(value) == sentences.number(self.low)
        above = self.low is None or value >= self.low
        return above and (self.high is None or value < self.high)

    def label(self, kind: AnswerKind) -> str:
        """Return the range in words: ``"5 to under 10 times"``."""
        low, high = (None if end is None else _short(end, kind) for end in (self.low, self.high))
        if low is None:
            text = strings.get("class_guesses.below", high=high)
        elif high is None:
            text = strings.get("class_guesses.from", low=low)
        else:
            text = low if low == high else strings.get("class_guesses.range", low=low, high=high)
        return sentences.number_text(text, kind)


def _short(value: Fraction, kind: AnswerKind) -> str:
    return round_bytes(round(value)) if kind is AnswerKind.AMOUNT else sentences.number(value)


def ranges_of(values: Sequence[Fraction], kind: AnswerKind) -> list[NumberRange]:
    """Return the rows of numbers, from the smallest to the largest: one for each different factor
    or count where these are few, else ranges."""
    different = {sentences.number(value): value for value in values}
    if kind is not AnswerKind.AMOUNT and len(different) <= ROWS:
        return [NumberRange(value, value) for value in sorted(different.values())]
    zero = [NumberRange(Fraction(0), Fraction(0))] if 0 in values else []
    positive = sorted(value for value in values if value > 0)
    if not positive:
        return zero
    edges = _edges(positive, kind)
    low = [NumberRange(None, edges[0])] if positive[0] < edges[0] else []
    high = [NumberRange(edges[-1], None)] if positive[-1] >= edges[-1] else []
    return [*zero, *low, *(NumberRange(*ends) for ends in pairwise(edges)), *high]


def _edges(positive: Sequence[Fraction], kind: AnswerKind) -> list[Fraction]:
    """Return the ends of the ranges of some numbers that grow: at most ``ROWS`` ranges, on the
    finest ladder on which these hold nearly all, or those around the middle one."""
    cut = len(positive) // OUTSIDE
    inner = positive[cut : len(positive) - cut]
    for ladder in LADDERS:
        edges = _rungs(inner[0], inner[-1], ladder, kind)
        if len(edges) <= ROWS + 1:
            return edges
    middle = sum(edge <= inner[len(inner) // 2] for edge in edges)
    start = min(max(middle - ROWS // 2, 0), len(edges) - ROWS - 1)
    return edges[start : start + ROWS + 1]


def _rungs(
    low: Fraction, high: Fraction, ladder: Sequence[Fraction], kind: AnswerKind
) -> list[Fraction]:
    """Return the rungs of a ladder from the last one that is not above ``low`` to the first one
    above ``high``; between bytes there is none."""
    powers = range(floor(log10(low)) - 1, floor(log10(high)) + 3)
    rungs = [rung * Fraction(10) ** power for power in powers for rung in ladder]
    if kind is AnswerKind.AMOUNT:
        rungs = [rung for rung in rungs if rung < 1 or rung.denominator == 1]
    first = sum(rung <= low for rung in rungs) - 1
    return rungs[first : sum(rung <= high for rung in rungs) + 1]


def with_truth(
    ranges: Sequence[NumberRange], value: Fraction, kind: AnswerKind
) -> list[NumberRange]:
    """Return the ranges, none of which holds the truth, with one more in its place that does."""
    below = [one for one in ranges if one.low is None or one.low < value]
    above = ranges[len(below) :]
    if kind is not AnswerKind.AMOUNT or not value:
        return [*below, NumberRange(value, value), *above]
    low, high = _rungs(value, value, LADDERS[1], kind)
    if below and below[-1].high is not None:
        low = max(low, below[-1].high)
    if above and above[0].low is not None:
        high = min(high, above[0].low)
    return [*below, NumberRange(low, high), *above]
