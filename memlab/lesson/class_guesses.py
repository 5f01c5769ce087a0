"""Guesses of a class at one card, counted by answer, with the truth only where it is asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from memlab import strings
from memlab.lesson import sentences
from memlab.lesson.card_question import Answer, AnswerKind, Attempt, Question, Truth
from memlab.lesson.number_ranges import NumberRange, ranges_of, with_truth
from memlab.lesson.typed_guess import Guess


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

    def told(self, truth: Truth | None = None) -> list[str]:
        """Return how many answered and, with the truth, what it is, how many were right, and the
        most common mistake."""
        lines = [self._counted()] if truth is None or self.skipped else []
        if truth is not None:
            lines = [self._result(truth), *lines]
            if mistake := self.common_mistake(truth):
                words, count, diagnosis = mistake
                lines.append(_text("mistake", answer=words, count=count, diagnosis=diagnosis))
        if self.unread:
            lines.append(_text("unread.some", count=len(self.unread)))
        return lines

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
            ranges = with_truth(ranges, value, self.topic.kind)
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


def share(part: int, whole: int) -> str:
    """Return a share in percent, without decimals: ``"33 %"``."""
    return f"{round(100 * part / whole) if whole else 0} %"


def _text(key: str, **values: object) -> str:
    return strings.get(f"class_guesses.{key}", **values)
