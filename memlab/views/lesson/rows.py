"""What the picture of a revealed card shows: options, bars, and what is said about them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from memlab import strings
from memlab.lesson import words
from memlab.lesson.card import Round
from memlab.lesson.guess import Guess
from memlab.lesson.question import Figure, Kind
from memlab.views import axis
from memlab.views.bars import GUESS


class Bar(NamedTuple):
    """A guess or a figure: where it comes from, its value, and both for people."""

    origin: str
    value: Fraction
    name: str
    text: str


class Option(NamedTuple):
    """An answer that could be chosen."""

    text: str
    chosen: bool
    right: bool

    @property
    def marks(self) -> str:
        """What it is besides an option: ``"your guess, right answer"``."""
        keys = {"card.guess": self.chosen, "card.right": self.right}
        return ", ".join(strings.get(key) for key, holds in keys.items() if holds)


@dataclass(frozen=True)
class Rows:
    """Everything that is drawn. ``diagnosis`` is empty without a guess."""

    question: str
    kind: Kind
    options: tuple[Option, ...]
    bars: tuple[Bar, ...]
    diagnosis: str
    seen: str

    @property
    def spoken(self) -> str:
        """The picture in one line."""
        marked = [option for option in self.options if option.marks]
        chosen = [f"{option.marks}: {option.text.removesuffix('.')}" for option in marked]
        return "; ".join([*chosen, *(f"{bar.name}: {bar.text}" for bar in self.bars)])

    @property
    def ticks(self) -> list[tuple[Fraction, str]]:
        """One linear axis from 0 for all bars: values and labels, of which the last is its end."""
        longest = max(bar.value for bar in self.bars)
        if self.kind is not Kind.TIMES:
            scale = axis.over(-(-longest.numerator // longest.denominator), axis.TIGHT)
            return [(Fraction(nbytes), name) for nbytes, name in scale.ticks]
        scale = axis.over(-(-1000 * longest.numerator // longest.denominator), axis.TIGHT)
        values = [Fraction(n, 1000) for n in range(0, scale.end + 1, scale.step)]
        names = [words.number(value) for value in values]
        return list(zip(values, [*names[:-1], words.times_of(names[-1])], strict=True))

    @property
    def end(self) -> Fraction:
        """Where that axis ends."""
        return self.ticks[-1][0]


def rows(turn: Round) -> Rows:
    """The rows of one asking whose truth is there."""
    assert turn.truth is not None
    kind, verdict = turn.topic.kind, turn.verdict
    options = tuple(
        Option(words.option(turn, name), name == turn.guess, name == turn.truth.value)
        for name in turn.topic.options
    )
    figures = tuple(_bar(figure, kind) for figure in turn.truth.figures)
    diagnosis = words.diagnosis(turn, verdict) if verdict else ""
    said = words.said(turn)[-1]
    return Rows(words.question(turn), kind, options, _guess(turn) + figures, diagnosis, said)


def _guess(turn: Round) -> tuple[Bar, ...]:
    if not isinstance(turn.guess, Guess):
        return ()
    return (Bar(GUESS, turn.guess.value, strings.get("card.guess"), words.given(turn)),)


def _bar(figure: Figure, kind: Kind) -> Bar:
    name, text = words.figure_name(figure), words.amount(figure.value, kind)
    return Bar(figure.origin, figure.value, name, text)
