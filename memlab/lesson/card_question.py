"""Questions of cards: the numbers they are asked on, and the function that computes the true
answer.

One question can be asked on many numbers. Its truth is a function of the numbers that plans or runs
a step; no answer is stored anywhere.
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
"""Numbers that a question is asked on: a batch, a network, a kernel size."""
Draw = Callable[[random.Random], Numbers]


class AnswerKind(StrEnum):
    """Form of the answer that a question takes."""

    AMOUNT = "amount"
    """A number of bytes with its unit."""
    TIMES = "times"
    """A ratio, typed or chosen on a slider with given stops."""
    COUNT = "count"
    """A whole number of things, typed or chosen on a slider with given stops. Only the exact number
    is right."""
    CHOICE = "choice"
    """One of several options, each wrong one with its own diagnosis."""


class Purpose(StrEnum):
    """Purpose of a question. Its value is the name of the function of ``memlab.lesson`` that asks
    it."""

    PREDICT = "predict"
    """An outcome, guessed before it is shown, with a reason."""
    RECALL = "recall"
    """A fact of an earlier lesson."""
    CHANGE = "change"
    """The result of a change that the learner makes."""


class RevealBar(NamedTuple):
    """A bar that is drawn beside the guess once the answer is shown.

    ``origin`` says how the value was obtained (``"planned"``, ``"measured"``) and is empty for a
    figure that the question itself gives; ``value`` is in bytes, or a ratio; ``label`` names the
    bar where there are several.
    """

    origin: str
    value: Fraction
    label: str = ""


@dataclass(frozen=True)
class Truth:
    """True answer to a question on some numbers.

    ``value`` is in bytes, a ratio, a count, or the name of an option. ``figures`` are the bars
    shown beside the guess; ``causes`` are the mistakes that explain wrong guesses; ``seen`` are the
    values that the sentence of the reveal names. ``recorded`` says, in one sentence, that the bytes
    were recorded elsewhere and why; it is empty where all was found here.
    """

    value: Fraction | str
    figures: tuple[RevealBar, ...] = ()
    causes: tuple[Mistake, ...] = ()
    seen: Mapping[str, object] = field(default_factory=dict)
    recorded: str = ""


@dataclass(frozen=True)
class Question:
    """One question of a lesson.

    It is asked on the numbers ``first``, then on those that ``draw`` draws, if it has one.
    ``truth`` computes the true answer from the numbers. ``options`` are the choices; ``stops`` are
    the values that the slider of a ratio or a count stops at, and ``decimals`` is the number of
    decimals asked for. ``words`` turns numbers into the values that texts name. ``near`` is False
    where a guess cannot be close to the truth, nor some factor too large: an address. ``counted``
    marks a ratio that is whole, where only the exact number is right. ``gives`` are phrases and
    formulas that would give the answer away above the card, and ``shows`` settings of a live view
    that would. ``seconds`` is about the time that the answer and what follows it take on two cores;
    0 stands for less than 2.

    A question of an instructor's own carries its ``texts``, by the keys that those of memlab have
    in ``memlab/strings`` below ``ask.<name>``; ``variable`` is what its texts call the card.
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
    texts: Mapping[str, str] = field(default_factory=dict)
    variable: str = ""

    @property
    def handle(self) -> str:
        """Expression by which a cell refers to the card: ``lesson.recall("07.maps")``, or the
        variable that holds one of an instructor's own."""
        if self.variable:
            return self.variable
        return f'lesson.{self.part}("{self.name}")'

    @property
    def rule(self) -> DistanceRule:
        """Rule for the distance of a guess from its truth."""
        if self.kind is AnswerKind.COUNT or self.counted or not self.near:
            return DistanceRule.COUNT
        return DistanceRule.FACTOR if self.kind is AnswerKind.TIMES else DistanceRule.AMOUNT

    def read(self, given: object) -> Guess | str:
        """Return the guess that was typed or chosen.

        Args:
            given: an amount of memory, a ratio, a whole number or the name of an option, by the
                ``kind`` of the question.

        Raises:
            InputError: ``given`` is no answer of this kind.
        """
        if self.kind is AnswerKind.AMOUNT:
            return guesses.amount(given)
        if self.kind is AnswerKind.TIMES:
            return guesses.times(given, self.decimals)
        if self.kind is AnswerKind.COUNT:
            return guesses.count(given)
        if not isinstance(given, str):
            raise InputError(_("a guess is one of {options}, got {given}.",
                               options=", ".join(self.options), given=shorten(given)))  # fmt: skip
        if given not in self.options:
            raise unknown("option", given, self.options)
        return given

    def again(self, seed: str, used: list[Numbers]) -> Numbers:
        """Draw new numbers for the same question.

        Args:
            seed: text that fixes the drawing.
            used: numbers that were asked before; in up to 100 draws, others are looked for.

        Raises:
            InputError: the question is asked on its first numbers only.
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
    """Register the decorated function as the truth of a question ``"02.output"``.

    Args:
        name: the lesson, a point, and the name of the question.
        kind: the form of the answer.
        first: the numbers that it is asked on first.
        draw: draws further numbers; None for a question with one set of numbers.
        more: further fields of ``Question``.

    Raises:
        ValueError: another module has a question of that name.
    """

    def register(truth: Callable[[Numbers], Truth]) -> Callable[[Numbers], Truth]:
        if name in _TOPICS and _TOPICS[name].truth.__module__ != truth.__module__:
            raise ValueError(f"two questions are called {name!r}")
        _TOPICS[name] = Question(name, kind, first, draw, truth, **more)
        return truth

    return register


def topics() -> dict[str, Question]:
    """Return every question of every lesson, by its name."""
    from memlab.lesson import content

    content.load()
    return dict(_TOPICS)


Answer = Guess | str
"""Answer of a learner: a number, or the name of an option."""


@dataclass(frozen=True)
class Attempt:
    """One attempt at a question: its numbers, the guess with its reason, and perhaps a revision.

    ``truth`` is set once the guess is judged; ``revealed`` is True once the learner sees it.
    ``again`` marks an attempt on new numbers, ``pressed`` one that a button began or answered.
    ``cells`` are the names of the cells that answered it, and ``begun`` is the cell that asked.
    ``kept`` marks an attempt that was read from the progress file: its truth is found again when
    its card is shown, and with ``told`` the learner sees it, as before.
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
        """True if the attempt was read from the progress file and its truth is yet to be found
        again."""
        return self.kept and self.truth is None

    @cached_property
    def words(self) -> Mapping[str, object]:
        """Values that the texts of this attempt name, by name; computing them may build a
        network."""
        return self.topic.words(self.numbers)

    @property
    def state(self) -> str:
        """State of the attempt: ``open``, ``skipped``, ``locked`` (guessed, but the truth could not
        be found), ``diagnosed`` (wrong, and one revision is allowed) or ``revealed``."""
        if self.revealed:
            return "revealed"
        if self.guess is None:
            return "skipped" if self.skipped else "open"
        return "locked" if self.truth is None else "diagnosed"

    @property
    def open(self) -> bool:
        """True if nothing has been guessed yet and the question is not skipped."""
        return self.state == "open"

    @property
    def typed(self) -> str:
        """The guess as it was typed or chosen; empty without one."""
        return _answer_text(self.guess)

    @property
    def retyped(self) -> str:
        """The revision as it was typed or chosen; empty without one."""
        return _answer_text(self.revision)

    @property
    def verdict(self) -> GuessVerdict | None:
        """Verdict on the guess; None until there are both a guess and the truth."""
        return self._judged(self.guess)

    @property
    def second(self) -> GuessVerdict | None:
        """Verdict on the revision; None until there are both a revision and the truth."""
        return self._judged(self.revision)

    def _judged(self, answer: Answer | None) -> GuessVerdict | None:
        if answer is None or self.truth is None:
            return None
        if isinstance(answer, str):
            return GuessVerdict(answer == self.truth.value)
        assert isinstance(self.truth.value, Fraction)
        return judge(answer, self.truth.value, self.truth.causes, self.topic.rule)


def _answer_text(answer: Answer | None) -> str:
    return answer.text if isinstance(answer, Guess) else answer or ""
