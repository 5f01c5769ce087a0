"""A prediction card: one locked guess, then the run, then guess and truth side by side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from memlab.errors import InputError
from memlab.lesson import progress, words
from memlab.lesson.guess import Guess
from memlab.lesson.misconceptions import Verdict, judge
from memlab.lesson.question import Kind, Numbers, Topic, Truth


@dataclass(frozen=True)
class Round:
    """One asking of a question: its numbers, the guess, and the truth once it is revealed."""

    topic: Topic
    numbers: Numbers
    guess: Guess | str | None = None
    skipped: bool = False
    truth: Truth | None = None

    @property
    def open(self) -> bool:
        """Nothing has been guessed yet, and the question is not skipped."""
        return self.guess is None and not self.skipped

    @property
    def typed(self) -> str:
        """The guess as it was typed or chosen; empty without one."""
        return self.guess.text if isinstance(self.guess, Guess) else self.guess or ""

    @property
    def verdict(self) -> Verdict | None:
        """What is to be said about the guess, once both it and the truth are there."""
        if self.guess is None or self.truth is None:
            return None
        if isinstance(self.guess, str):
            return Verdict(self.guess == self.truth.value)
        assert isinstance(self.truth.value, Fraction)
        return judge(self.guess, self.truth.value, self.truth.causes)


class Card:
    """A question, and what has been guessed. It prints as text and is shown as a widget.

    ``guess`` locks, ``reveal`` computes the truth, ``retry`` asks again on new numbers, ``skip``
    goes on without a guess. ``rounds`` are the askings so far, the last one of now.
    """

    def __init__(self, topic: Topic) -> None:
        self.topic = topic
        self.rounds = [Round(topic, topic.first)]
        self._watching: list[Callable[[], None]] = []

    @property
    def name(self) -> str:
        """Its name in the lesson, which is the variable that holds it: ``"output"``."""
        return self.topic.name.partition(".")[2]

    @property
    def now(self) -> Round:
        """The asking of now."""
        return self.rounds[-1]

    @property
    def bytes(self) -> int | None:
        """The first guess in bytes, for a chart; None where there is none."""
        first = self.rounds[0].guess
        known = self.topic.kind is Kind.AMOUNT and isinstance(first, Guess)
        return round(first.value) if known and isinstance(first, Guess) else None

    @property
    def option(self) -> str | None:
        """The first guess as the name of an option, for a chart; None where there is none."""
        first = self.rounds[0].guess
        return first if isinstance(first, str) else None

    # -- what a learner does ------------------------------------------------------------------

    def guess(self, given: object) -> Card:
        """Lock a guess: an amount ``"6.4 MB"``, a ratio ``9`` or the name of an option.

        Raises:
            InputError: it is no guess at this question, or there is a locked one already.
        """
        read = self.topic.read(given)
        if read == self.now.guess:
            return self  # a cell that runs again
        if not self.now.open:
            raise InputError(words.locked(self.name))
        self._become(replace(self.now, guess=read))
        return self

    def skip(self) -> Card:
        """Go on without a guess; ``reveal`` then shows the truth alone."""
        if self.now.open:
            self._become(replace(self.now, skipped=True))
        return self

    def reveal(self) -> Card:
        """Find the truth out by planning and running, and show it beside the guess.

        Raises:
            InputError: nothing has been guessed yet.
            DoesNotFitError: the run needs more memory than is free; the guess stays locked.
        """
        if self.now.open:
            raise InputError(words.first(self.name))
        if self.now.truth is None:
            turn = replace(self.now, truth=self.topic.truth(self.now.numbers))
            right = None if turn.verdict is None else turn.verdict.right
            progress.answered(self.topic.name, turn.typed, right)
            self._become(turn)
        return self

    def retry(self) -> Card:
        """Ask the same on new numbers, which differ from learner to learner.

        Raises:
            InputError: the truth of the last numbers has not been revealed yet.
        """
        if self.now.truth is None:
            raise InputError(words.first(self.name) if self.now.open else words.locked(self.name))
        seed = f"{progress.seed()} {self.topic.name} {len(self.rounds)}"
        used = [turn.numbers for turn in self.rounds]
        self.rounds.append(Round(self.topic, self.topic.again(seed, used)))
        self._tell()
        return self

    def answered(self) -> bool:
        """Whether the first question has its guess, or was skipped; if not, say what to do."""
        if self.rounds[0].open:
            print(words.first(self.name))
        return not self.rounds[0].open

    # -- for views ----------------------------------------------------------------------------

    def watch(self, told: Callable[[], None]) -> None:
        """Call ``told`` after every change."""
        self._watching.append(told)

    def text(self) -> str:
        """The question, and what is known about it by now."""
        return words.card(self)

    __str__ = __repr__ = text

    def _become(self, turn: Round) -> None:
        self.rounds[-1] = turn
        self._tell()

    def _tell(self) -> None:
        for told in self._watching:
            told()
