"""Guesses of a class at one card, counted by answer, with the truth only where it is asked for.

Options are counted by name. Few different factors or counts have a row each; anything else falls
into ranges from 1, 2 or 5 to the next of these, finer or coarser as the guesses need it. The ranges
follow from the guesses alone, so that they do not give the truth away.

Example::

    guesses = class_guesses.of_text(topics()["03.stride"], "2.25\\n9\\n9\\n4.5")
    [(row.label, row.counts[0].guesses) for row in guesses.rows()]
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import floor, log10
from typing import NamedTuple

from memlab import strings
from memlab.errors import InputError
from memlab.lesson import sentences
from memlab.lesson.card_question import Answer, AnswerKind, Attempt, Question, Truth
from memlab.lesson.typed_guess import Guess
from memlab.pictures.values.number_text import round_bytes
from memlab.strings import gettext as _

ROWS = 12
"""Most rows of numbers, without those of what is smaller or larger than all of them."""
FINE = tuple(map(Fraction, ("1", "1.2", "1.5", "2", "2.5", "3", "4", "5", "6", "8")))
LADDERS = FINE, tuple(map(Fraction, (1, 2, 5))), (Fraction(1),)
"""Where ranges may begin, times a power of 10, from the finest."""
OUTSIDE = 20
"""One guess in so many, at each end, may lie outside of all ranges: a joke would widen them."""
MOST = 20_000
"""Most characters of a pasted text: a class of hundreds."""
SEPARATORS = r"[;\uff1b\uff0c\u3001\t]|,\s"
"""Signs between two answers on a line, those of Chinese and Japanese among them."""
_NUMBERS = re.compile(r"[\d.\s,;]+")
_GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_COUNTED = re.compile(r"(.*?\S)\s*[:=\s]\s*(\d{1,4})")
"""An option and the number of its votes, as a poll tells them: ``"A: 12"``."""


class Tally(NamedTuple):
    """Number of guesses in a row, and of the right ones among them, 0 while the truth is
    hidden."""

    guesses: int
    right: int = 0


class GuessRow(NamedTuple):
    """A row of a histogram: an answer or a range of answers, with a tally for each series.
    ``truth`` is True where it holds the truth, and that is shown."""

    label: str
    counts: tuple[Tally, ...]
    truth: bool = False


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
            text = _text("below", high=high)
        elif high is None:
            text = _text("from", low=low)
        else:
            text = low if low == high else _text("range", low=low, high=high)
        return sentences.number_text(text, kind)


@dataclass(frozen=True, eq=False)
class ClassGuesses:
    """Guesses of a class at one card. ``series`` are the first guesses and, if anybody answered
    again, the answers after that; ``skipped`` counts those who gave none, and ``unread`` are texts
    that are no answer."""

    topic: Question
    series: tuple[tuple[Answer, ...], ...]
    skipped: int = 0
    unread: tuple[str, ...] = ()

    @property
    def question(self) -> str:
        """The question with its first numbers, on which every learner is asked first."""
        return sentences.question(self._attempt())

    def rows(self, truth: Truth | None = None) -> list[GuessRow]:
        """Return the histogram: options in their order, numbers from the smallest to the largest.

        Args:
            truth: the truth, to count the right guesses; None hides it.
        """
        return self._options(truth) if self.topic.options else self._numbers(truth)

    def right(self, truth: Truth) -> list[int]:
        """Return the number of right answers of each series."""
        return [sum(self._is_right(answer, truth) for answer in answers) for answers in self.series]

    def common_mistake(self, truth: Truth) -> tuple[str, int, str] | None:
        """Return the most common wrong first guess in words, how often it was given, and its
        diagnosis; None where no two agree."""
        wrong = [answer for answer in self.series[0] if not self._is_right(answer, truth)]
        counts = Counter(map(self._words, wrong))
        words, count = max(counts.items(), key=lambda item: item[1], default=("", 0))
        if count < 2:
            return None
        turn = self._attempt(next(a for a in wrong if self._words(a) == words), truth)
        assert turn.verdict is not None
        return words, count, sentences.diagnosis(turn, turn.verdict)

    def sentences(self, truth: Truth | None = None) -> list[str]:
        """Return how many answered and, with the truth, what it is, how many were right, and the
        most common mistake."""
        told = [self._counted()]
        if truth is not None:
            told = [self._result(truth), *told]
            if mistake := self.common_mistake(truth):
                words, count, diagnosis = mistake
                told.append(_text("mistake", answer=words, count=count, diagnosis=diagnosis))
        if self.unread:
            told.append(_text("unread.some", count=len(self.unread)))
        return told

    def _counted(self) -> str:
        first, *after = map(len, self.series)
        told = _text("counted.one" if first == 1 else "counted.many", count=first)
        told += _text("counted.after", count=after[0]) if after else ""
        return told + (_text("counted.skipped", count=self.skipped) if self.skipped else "") + "."

    def _result(self, truth: Truth) -> str:
        """Return the truth and the number of right answers, before and after."""
        first, *after = [
            _text("right", count=right, total=len(answers), share=share(right, len(answers)))
            for right, answers in zip(self.right(truth), self.series, strict=True)
        ]
        told = _text("result", truth=self.truth_in_words(truth), first=first)
        return told + (_text("result_after", after=after[0]) if after else "") + "."

    def truth_in_words(self, truth: Truth) -> str:
        """Return the truth as a sentence of a card says it."""
        return sentences.short_truth(self._attempt(None, truth))

    def _attempt(self, answer: Answer | None = None, truth: Truth | None = None) -> Attempt:
        return Attempt(self.topic, self.topic.first, answer, truth=truth)

    def _words(self, answer: Answer) -> str:
        """Return an answer in words: a factor without the zeros that a card adds."""
        if isinstance(answer, Guess) and self.topic.kind is not AnswerKind.AMOUNT:
            return sentences.number_text(sentences.number(answer.value), self.topic.kind)
        return sentences.given(self._attempt(answer))

    def _is_right(self, answer: Answer, truth: Truth | None) -> bool:
        verdict = self._attempt(answer, truth).verdict
        return verdict is not None and verdict.right

    def _tally(self, answers: Iterable[Answer], truth: Truth | None) -> Tally:
        there = list(answers)
        return Tally(len(there), sum(self._is_right(answer, truth) for answer in there))

    def _options(self, truth: Truth | None) -> list[GuessRow]:
        turn = self._attempt()
        return [
            GuessRow(
                sentences.option(turn, name),
                tuple(self._tally([a for a in s if a == name], truth) for s in self.series),
                truth is not None and truth.value == name,
            )
            for name in self.topic.options
        ]

    def _numbers(self, truth: Truth | None) -> list[GuessRow]:
        value = truth.value if truth is not None and isinstance(truth.value, Fraction) else None
        numbers = [[a for a in answers if isinstance(a, Guess)] for answers in self.series]
        ranges = ranges_of([g.value for guesses in numbers for g in guesses], self.topic.kind)
        if value is not None and not any(one.holds(value) for one in ranges):
            ranges = _with_truth(ranges, value, self.topic.kind)
        rows: list[GuessRow] = []
        for at, one in enumerate(ranges):
            taken = ranges[:at]
            inside = [[g for g in guesses if _first(one, taken, g.value)] for guesses in numbers]
            tallies = tuple(self._tally(guesses, truth) for guesses in inside)
            holds = value is not None and _first(one, taken, value)
            rows.append(GuessRow(one.label(self.topic.kind), tallies, holds))
        return rows


def _first(one: NumberRange, taken: Sequence[NumberRange], value: Fraction) -> bool:
    """True if a number is in a range and in none of those before it."""
    return one.holds(value) and not any(other.holds(value) for other in taken)


def _short(value: Fraction, kind: AnswerKind) -> str:
    return round_bytes(round(value)) if kind is AnswerKind.AMOUNT else sentences.number(value)


# -- ranges of numbers ----------------------------------------------------------------------------


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


def _with_truth(
    ranges: Sequence[NumberRange], value: Fraction, kind: AnswerKind
) -> list[NumberRange]:
    """Return the ranges, none of which holds the truth, with one more in its place that does."""
    below = [one for one in ranges if one.low is None or one.low < value]
    above = ranges[len(below) :]
    low = high = value
    if kind is AnswerKind.AMOUNT and value:
        low, high = _rungs(value, value, LADDERS[1], kind)
        ends = below[-1].high if below else None, above[0].low if above else None
        low, high = max(low, ends[0] or low), min(high, ends[1] or high)
    return [*below, NumberRange(low, high), *above]


# -- answers from texts ---------------------------------------------------------------------------


def of_text(topic: Question, first: str, after: str = "") -> ClassGuesses:
    """Return the guesses that stand in a text, one on a line; plain numbers may also stand in a
    row, ``"9, 3, 27"``, and options be given by letter, or with their votes, ``"A: 12"``.

    Args:
        topic: the question.
        first: the guesses before anything is shown.
        after: those after a discussion; empty if nobody answered again.

    Raises:
        InputError: a text is longer than ``MOST``.
    """
    unread: list[str] = []
    series = [tuple(_answers(topic, text, unread)) for text in (first, after) if text.strip()]
    return ClassGuesses(topic, tuple(series) or ((),), unread=tuple(unread))


def _answers(topic: Question, text: str, unread: list[str]) -> Iterator[Answer]:
    """Yield the answers in a text; parts that are none go to ``unread``."""
    if len(text) > MOST:
        raise InputError(_("the guesses have {given} characters; give at most {most}, an answer on "
                           "a line.", given=f"{len(text):,}", most=f"{MOST:,}"))  # fmt: skip
    for line in filter(None, map(str.strip, text.splitlines())):
        for part in _parts(topic, line):
            try:
                yield from voted(topic, part)
            except InputError:
                unread.append(part)


def _parts(topic: Question, line: str) -> list[str]:
    """Return the parts of a line that are an answer each. A row of plain numbers is several, even
    where it could be read as one: 9 100."""
    if not topic.options and _NUMBERS.fullmatch(line):
        return [part for piece in _split(r"[\s;]+|,\s+", line) for part in _apart(piece)]
    ways = [line], _split(SEPARATORS, line), _split(r"[\s,;]+", line)
    return next((way for way in ways if _readable(topic, way)), ways[1])


def _split(shape: str, line: str) -> list[str]:
    return [part for part in map(str.strip, re.split(shape, line)) if part]


def _apart(piece: str) -> list[str]:
    """Return the numbers of a piece without spaces: 9,3,27 is three, 1,024 and 2,5 are one."""
    several = piece.count(",") > 1 and not _GROUPED.fullmatch(piece)
    return _split(",", piece) if several else [piece]


def _readable(topic: Question, parts: Iterable[str]) -> bool:
    try:
        return all(voted(topic, part) for part in parts)
    except InputError:
        return False


def voted(topic: Question, part: str) -> list[Answer]:
    """Return the answers that a part of a text stands for: one, or as many votes for an option as
    it says.

    Raises:
        InputError: it is no answer.
    """
    if topic.options and (match := _COUNTED.fullmatch(part)):
        try:
            return [_answer(topic, match[1])] * int(match[2])
        except InputError:
            pass  # an option may end in a number
    return [_answer(topic, part)]


def _answer(topic: Question, part: str) -> Answer:
    """Return the answer that a text is: an option by its name, its text or its letter."""
    if not topic.options:
        return topic.read(part)
    turn = Attempt(topic, topic.first)
    plain = part.strip().rstrip(sentences.STOPS).casefold()
    for name in topic.options:
        told = sentences.option(turn, name).rstrip(sentences.STOPS).casefold()
        if plain in (name.casefold(), told):
            return name
    letters = {chr(ord("a") + at): name for at, name in enumerate(topic.options)}
    return letters[plain] if plain in letters else topic.read(part)


def share(part: int, whole: int) -> str:
    """Return a share in percent, without decimals: ``"33 %"``."""
    return f"{round(100 * part / whole) if whole else 0} %"


def _text(key: str, **values: object) -> str:
    return strings.get(f"class_guesses.{key}", **values)
