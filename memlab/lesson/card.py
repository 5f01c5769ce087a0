"""A card: a locked guess, what may have gone wrong, one revision, then the truth beside both."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from memlab import strings
from memlab.errors import InputError, shorten
from memlab.lesson import notebook_cells, progress, sentences
from memlab.lesson.card_question import Answer, AnswerKind, Attempt, Purpose, Question
from memlab.lesson.typed_guess import Guess
from memlab.strings import gettext as _

Function = TypeVar("Function", bound=Callable[[], Any])
LONGEST_REASON = 400
"""Characters of a reason: a few sentences."""


class Card:
    """A question, and what has been guessed. It prints as text and is shown as a widget.

    ``guess`` locks and judges: what is right is revealed at once, what is wrong is diagnosed, and
    may be changed once with ``revise``. ``reveal`` shows the answer, ``retry`` asks again on new
    numbers, ``skip`` goes on without a guess. ``rounds`` are the askings so far, the last one of
    now. ``pressing`` is true while a button calls, and not a cell. With ``kept``, an answer as
    ``progress`` has it, the card is as it was before the kernel began, once it is shown.
    """

    def __init__(self, topic: Question, kept: Mapping[str, Any] | None = None) -> None:
        self.topic = topic
        self.rounds = [_kept_round(topic, kept) if kept else Attempt(topic, topic.first)]
        self.follows: dict[str, Callable[[], Any]] = {}
        self.pressing = False
        self._watching: list[Callable[[], None]] = []

    @property
    def name(self) -> str:
        """Its name in the lesson, which is the variable that holds it: ``"halve"``."""
        return self.topic.name.partition(".")[2]

    @property
    def now(self) -> Attempt:
        """The asking of now."""
        return self.rounds[-1]

    @property
    def revealed(self) -> bool:
        """Whether the first question has been answered and its finding shown."""
        return self.rounds[0].revealed

    @property
    def bytes(self) -> int | None:
        """The first guess in bytes, for a chart; None where there is none."""
        first = self.rounds[0].guess
        known = self.topic.kind is AnswerKind.AMOUNT and isinstance(first, Guess)
        return round(first.value) if known and isinstance(first, Guess) else None

    @property
    def option(self) -> str | None:
        """The first guess as the name of an option, for a chart; None where there is none."""
        first = self.rounds[0].guess
        return first if isinstance(first, str) else None

    # -- what a learner does ------------------------------------------------------------------

    def guess(self, given: object, because: str = "") -> Card:
        """Lock a guess: an amount ``"6.4 MB"``, a ratio ``9`` or the name of an option; a
        prediction may have a reason. Then find the truth out by planning and running, and judge.
        A cell that runs again changes nothing, also after new numbers were asked, or after the
        kernel was restarted.

        Raises:
            InputError: it is no guess at this question, or there is a locked one already.
            DoesNotFitError: the run needs more memory than is free; the guess stays locked.
        """
        read, reason = self._read(given), self._reason(because)
        if self.now.kept:
            return self.recall()
        if not _same(read, self.now.guess):
            if self._ran("guess", read, self.now.open):
                return self
            if not self.now.open:
                raise InputError(sentences.not_now(self.now))
            turn = replace(self.now, guess=read, because=reason, pressed=self.pressing)
            self._become(turn, tell=False)
        self._judge()
        return self

    def revise(self, given: object) -> Card:
        """Change a wrong guess, once; then the answer is shown.

        Raises:
            InputError: it is no guess at this question, nothing has been diagnosed, or there is a
                revision already.
        """
        read = self._read(given)
        free = self.recall().now.state == "diagnosed"
        if _same(read, self.now.revision) or self._ran("revision", read, free):
            return self
        if not free and self.now.kept:
            return self
        if not free:
            raise InputError(sentences.not_now(self.now, "revised"))
        if _same(read, self.now.guess):
            again = strings.get(
                "card.same", guess=sentences.given(self.now), name=self.topic.handle
            )
            raise InputError(again)
        self._become(replace(self.now, revision=read), tell=False)
        self._reveal()
        return self

    def skip(self) -> Card:
        """Go on without a guess; ``reveal`` then shows the truth alone."""
        if self.now.open and not self._ran("skipped", True):
            self._become(replace(self.now, skipped=True))
        return self

    def reveal(self) -> Card:
        """Show the answer beside the guess.

        Raises:
            InputError: nothing has been guessed yet.
            DoesNotFitError: the run needs more memory than is free; the guess stays locked.
        """
        self.recall()
        if self.now.open and not self._ran("revealed", True):
            raise InputError(sentences.not_now(self.now))
        if not (self.now.open or self.now.revealed):
            self._reveal()
        return self

    def retry(self) -> Card:
        """Ask the same on new numbers, which differ from learner to learner.

        Raises:
            InputError: the answer on the last numbers is not shown yet, or there are no others.
        """
        if not self.recall().now.revealed:
            raise InputError(sentences.not_now(self.now))
        seed = f"{progress.seed()} {self.topic.name} {len(self.rounds)}"
        used = [turn.numbers for turn in self.rounds]
        numbers = self.topic.again(seed, used)
        begun = None if self.pressing else notebook_cells.running()
        turn = Attempt(self.topic, numbers, again=True, pressed=self.pressing, begun=begun)
        self.rounds.append(turn)
        self._tell()
        return self

    def recall(self) -> Card:
        """Find the truth again of what progress has as answered, and show what was shown before.

        Raises:
            DoesNotFitError: the run needs more memory than is free; ``reveal`` tries again.
        """
        if self.now.pending:
            turn = replace(self.now, truth=self.topic.truth(self.now.numbers))
            right = turn.verdict is not None and turn.verdict.right
            self._become(replace(turn, revealed=turn.told or right))
        return self

    def then(self, function: Function) -> Function:
        """Decorate what is to run, and be shown, below the card once it is revealed. A function of
        the same name takes the place of the one before: a cell may run again.

        Raises:
            InputError: it cannot be called without an argument.
        """
        if not callable(function):
            raise InputError(_("then takes a function, got {given}; write @card.then above a def.",
                               given=shorten(function)))  # fmt: skip
        self.follows[getattr(function, "__name__", "then")] = function
        return function

    # -- for views ----------------------------------------------------------------------------

    def watch(self, told: Callable[[], None]) -> None:
        """Call ``told`` after every change."""
        self._watching.append(told)

    def text(self) -> str:
        """The question, and what is known about it by now."""
        return sentences.card(self.rounds)

    def __str__(self) -> str:
        return self.recall().text()

    __repr__ = __str__

    def _read(self, given: object) -> Answer:
        """A guess; an option may also be named by its text."""
        named = {_plain(sentences.option(self.now, name)): name for name in self.topic.options}
        named |= {_plain(name): name for name in self.topic.options}
        meant = named.get(_plain(given)) if isinstance(given, str) else None
        return meant or self.topic.read(given)

    def _reason(self, because: object) -> str:
        if not isinstance(because, str) or len(because) > LONGEST_REASON:
            raise InputError(strings.get("card.reason", given=shorten(because)))
        reason = " ".join(because.split())
        if reason and self.topic.part is not Purpose.PREDICT:
            raise InputError(strings.get("card.no_reason", part=self.topic.part))
        return reason

    def _ran(self, what: str, value: object, free: bool = True) -> bool:
        """Whether a cell runs again that did this in an asking before: it is the same cell, or a
        button has asked since, or it is not free to be done."""
        before = [turn for turn in self.rounds[:-1] if _same(getattr(turn, what), value)]
        cell = notebook_cells.running()
        known = cell is not None and any(cell.name in turn.cells for turn in before)
        again = self.now.pressed or not free or (known and cell != self.now.begun)
        return bool(before) and again and not self.pressing

    def _judge(self) -> None:
        """Find the truth; a right guess needs no second step."""
        if self.now.truth is not None:
            return
        try:
            self._find()
        finally:
            if self.now.truth is None:
                self._tell()
        if self.now.verdict is not None and self.now.verdict.right:
            self._reveal()
        else:
            self._tell()

    def _reveal(self) -> None:
        self._find()
        turn = self.now
        if turn.second is not None:
            progress.revised(self.topic.name, turn.retyped, turn.second.right)
        elif turn.verdict is not None and not turn.verdict.right:
            progress.shown(self.topic.name)
        self._become(replace(turn, revealed=True))

    def _find(self) -> None:
        """The truth of now, once; what was guessed is kept as soon as it can be judged."""
        if self.now.truth is not None:
            return
        turn = replace(self.now, truth=self.topic.truth(self.now.numbers))
        right = None if turn.verdict is None else turn.verdict.right
        progress.answered(self.topic.name, turn.typed, right, turn.because)
        self._become(turn, tell=False)

    def _become(self, turn: Attempt, tell: bool = True) -> None:
        cell = None if self.pressing else notebook_cells.running()
        self.rounds[-1] = replace(turn, cells=turn.cells | {cell.name}) if cell else turn
        if tell:
            self._tell()

    def _tell(self) -> None:
        for told in self._watching:
            told()


def _kept_round(topic: Question, kept: Mapping[str, Any]) -> Attempt:
    """An answer as progress has it; an open question where it is no answer to this one any more."""
    try:
        guess, revision = (
            topic.read(typed) if typed else None
            for typed in (kept["guess"], kept.get("revision", ""))
        )
    except InputError:
        return Attempt(topic, topic.first)
    because, told = kept.get("because", ""), progress.was_shown(kept)
    return Attempt(topic, topic.first, guess, because, revision, skipped=guess is None,
                 kept=True, told=told)  # fmt: skip


def _same(one: object, other: object) -> bool:
    """Whether two answers are the same, however they are written: 2.5 and 2.50."""
    if isinstance(one, Guess) and isinstance(other, Guess):
        return one.value == other.value
    return one == other


def _plain(text: str) -> str:
    """An option as it is compared: without capitals, spaces at the ends, and its full stop."""
    return " ".join(text.split()).casefold().strip(f"\"' {sentences.STOPS}")
