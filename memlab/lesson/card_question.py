"""Questions of cards: a question on some numbers, and the function that computes its truth.

A topic is one question that can be asked on many numbers. Its truth is a function of the numbers
that plans or runs a step; no answer is stored anywhere.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

from memlab.errors import InputError, shorten, unknown
from memlab.lesson import typed_guess as guesses
from memlab.lesson.misconceptions import DistanceRule, GuessVerdict, Mistake, judge
from memlab.lesson.notebook_cells import Cell
from memlab.lesson.typed_guess import Guess
from memlab.strings import gettext as _

Numbers = Mapping[str, Any]
"""What a question is asked on: a batch, a network, a kernel size."""
Draw = Callable[[random.Random], Numbers]


class AnswerKind(StrEnum):
    """Kind of the answer to a question: an amount, a factor, a choice and so on."""

    AMOUNT = "amount"
    """With a number of bytes and its unit."""
    TIMES = "times"
    """With a ratio, on a slider whose scale is logarithmic."""
    CHOICE = "choice"
    """With one of several options, of which every wrong one says something about its chooser."""


class Purpose(StrEnum):
    """Purpose of a question. Its value is the name of the function that asks it."""

    PREDICT = "predict"
    """An outcome, guessed before it is shown, with a reason."""
    RECALL = "recall"
    """Something of an earlier lesson."""
    CHANGE = "change"
    """What comes out after a change that the learner makes."""


class RevealBar(NamedTuple):
    """A bar of the reveal: where it comes from, its value in bytes or times, what it is.

    A figure that the question gives has no origin.
    """

    origin: str
    value: Fraction
    label: str = ""


@dataclass(frozen=True)
class Truth:
    """Answer to a question. ``value`` is in bytes, a ratio, or the name of an option.

    ``figures`` are shown beside the guess; ``causes`` explain wrong guesses; ``seen`` are the
    values that the sentence of the reveal names.
    """

    value: Fraction | str
    figures: tuple[RevealBar, ...] = ()
    causes: tuple[Mistake, ...] = ()
    seen: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Question:
    """One question, asked first on ``first`` and again on what ``draw`` gives, if anything.

    ``stops`` are what the slider of a ratio stops at, and ``decimals`` how many it is asked to;
    ``options`` are what may be chosen. ``words`` turns numbers into the values that texts name.
    ``near`` says that a guess can be close to the truth, or so many times too large: an address
    cannot. ``counted`` marks a number of things, which is right alone as it is. ``gives`` are
    phrases and formulas that would give the answer away above the card, and ``shows`` settings of
    a live view that would. ``seconds`` is about how long the answer and what follows it take on two
    cores; 0 is less than 2.
    """

    name: str
    kind: AnswerKind
    first: Numbers
    draw: Draw | None
    truth: Callable[[Numbers], Truth]
    options: tuple[str, ...] = ()
    stops: tuple[str, ...] = ()
    decimals: int = 0
    words: Callable[[Numbers], Mapping[str, object]] = dict
    near: bool = True
    counted: bool = False
    part: Purpose = Purpose.PREDICT
    gives: tuple[str, ...] = ()
    shows: tuple[Mapping[str, Any], ...] = ()
    seconds: int = 0

    @property
    def handle(self) -> str:
        """Code by which a cell calls its card: ``halve``, or ``lesson.recall("07.maps")`` without a
        variable."""
        if self.part is Purpose.PREDICT:
            return self.name.partition(".")[2]
        return f'lesson.{self.part}("{self.name}")'

    @property
    def rule(self) -> DistanceRule:
        """Rule for the distance of a guess from its truth."""
        if self.counted or not self.near:
            return DistanceRule.COUNT
        return DistanceRule.FACTOR if self.kind is AnswerKind.TIMES else DistanceRule.AMOUNT

    def read(self, given: object) -> Guess | str:
        """A guess from what was typed or chosen.

        Raises:
            InputError: it is no guess of this kind.
        """
        if self.kind is AnswerKind.AMOUNT:
            return guesses.amount(given)
        if self.kind is AnswerKind.TIMES:
            return guesses.times(given, self.decimals)
        if not isinstance(given, str):
            raise InputError(_("a guess is one of {options}, got {given}.",
                               options=", ".join(self.options), given=shorten(given)))  # fmt: skip
        if given not in self.options:
            raise unknown("option", given, self.options)
        return given

    def again(self, seed: str, used: list[Numbers]) -> Numbers:
        """New numbers for the same question, not used before where there are others.

        Raises:
            InputError: it is asked on its first numbers only.
        """
        if self.draw is None:
            raise InputError(_("{name} has one set of numbers; go on to the next cell.",
                               name=repr(self.name)))  # fmt: skip
        chance = random.Random(seed)
        numbers = self.draw(chance)
        for _attempt in range(100):
            if numbers not in used:
                break
            numbers = self.draw(chance)
        return numbers


_TOPICS: dict[str, Question] = {}


def topic(
    name: str, kind: AnswerKind, first: Numbers, draw: Draw | None, **more: Any
) -> Callable[[Callable[[Numbers], Truth]], Callable[[Numbers], Truth]]:
    """Register the function below as the truth of a question ``"02.output"``."""

    def register(truth: Callable[[Numbers], Truth]) -> Callable[[Numbers], Truth]:
        if name in _TOPICS and _TOPICS[name].truth.__module__ != truth.__module__:
            raise ValueError(f"two questions are called {name!r}")
        _TOPICS[name] = Question(name, kind, first, draw, truth, **more)
        return truth

    return register


def topics() -> dict[str, Question]:
    """Every question of every lesson, by its name."""
    from memlab.lesson import content

    content.load()
    return dict(_TOPICS)


Answer = Guess | str
"""What was answered: a number, or the name of an option."""


@dataclass(frozen=True)
class Attempt:
    """One asking of a question: its numbers, the guess with its reason, perhaps a revision.

    ``truth`` is there once a guess is judged; ``revealed`` says that the learner sees it. ``again``
    marks an asking on new numbers, and ``pressed`` one that a button has begun, or
    answered. ``cells`` are the names of those that answered, and ``begun`` is the one that asked.
    ``kept`` is an asking that progress has as answered: the truth is found again when its card is
    shown, and with ``told`` the learner sees it, as before.
    """

    topic: Question
    numbers: Numbers
    guess: Answer | None = None
    because: str = ""
    revision: Answer | None = None
    skipped: bool = False
    truth: Truth | None = None
    revealed: bool = False
    again: bool = False
    pressed: bool = False
    cells: frozenset[str] = frozenset()
    begun: Cell | None = None
    kept: bool = False
    told: bool = False

    @property
    def pending(self) -> bool:
        """Whether it was answered before, and its truth is yet to be found again."""
        return self.kept and self.truth is None

    @cached_property
    def words(self) -> Mapping[str, object]:
        """The values that its texts name; for some, a network is built."""
        return self.topic.words(self.numbers)

    @property
    def state(self) -> str:
        """``open``, ``skipped``, ``locked`` (the truth could not be found), ``diagnosed`` (wrong,
        and one revision is free) or ``revealed``."""
        if self.revealed:
            return "revealed"
        if self.guess is None:
            return "skipped" if self.skipped else "open"
        return "locked" if self.truth is None else "diagnosed"

    @property
    def open(self) -> bool:
        """Nothing has been guessed yet, and the question is not skipped."""
        return self.state == "open"

    @property
    def typed(self) -> str:
        """The guess as it was typed or chosen; empty without one."""
        return _typed(self.guess)

    @property
    def retyped(self) -> str:
        """The revision as it was typed or chosen; empty without one."""
        return _typed(self.revision)

    @property
    def verdict(self) -> GuessVerdict | None:
        """Verdict on the guess; None until both it and the truth are there."""
        return self._judged(self.guess)

    @property
    def second(self) -> GuessVerdict | None:
        """Verdict on the revision; None until both it and the truth are there."""
        return self._judged(self.revision)

    def _judged(self, answer: Answer | None) -> GuessVerdict | None:
        if answer is None or self.truth is None:
            return None
        if isinstance(answer, str):
            return GuessVerdict(answer == self.truth.value)
        assert isinstance(self.truth.value, Fraction)
        return judge(answer, self.truth.value, self.truth.causes, self.topic.rule)


def _typed(answer: Answer | None) -> str:
    return answer.text if isinstance(answer, Guess) else answer or ""
