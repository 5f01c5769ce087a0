"""A prediction card: a locked guess, its diagnosis, one revision, then the true answer beside
both."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from inspect import signature
from typing import Any, TypeVar

from memlab import strings
from memlab.errors import InputError, shorten
from memlab.lesson import notebook_cells, own, progress, sentences
from memlab.lesson.card_question import Answer, AnswerKind, Attempt, Purpose, Question
from memlab.lesson.typed_guess import Guess
from memlab.strings import gettext as _

Function = TypeVar("Function", bound=Callable[..., Any])
LONGEST_REASON = 400
"""Most characters of a reason: a few sentences."""


class Card:
    """A question of a lesson and the learner's answers to it. It prints as text; a notebook shows a
    widget.

    ``guess`` locks a guess and judges it: a right one is revealed at once, a wrong one is diagnosed
    and may be changed once with ``revise``. ``reveal`` shows the answer, ``retry`` asks again on
    new numbers, ``skip`` goes on without a guess.

    ``topic`` is the question, and ``rounds`` are its attempts so far, the current one last.
    ``follows`` holds the functions that run under the answer once it is revealed, by name.
    ``pressing`` is True while a button of the widget, not a cell, calls a method. With ``kept``, an
    answer that ``progress`` read from the learner's file, the card returns to its earlier state
    once it is shown.
    """

    def __init__(self, topic: Question, kept: Mapping[str, Any] | None = None) -> None:
        self.topic = topic
        self.rounds = [_attempt_from_progress(topic, kept) if kept else Attempt(topic, topic.first)]
        self.follows: dict[str, Callable[..., Any]] = {}
        self.pressing = False
        self._watching: list[Callable[[], None]] = []

    @property
    def name(self) -> str:
        """Name of the question within its lesson, which is the variable that holds the card:
        ``"halve"``."""
        return self.topic.name.partition(".")[2]

    @property
    def parts(self) -> tuple[str, ...]:
        """Parts of the texts (``strings.part_of``) that the card is told in, in one language."""
        return f"ask.{self.topic.name}", "card"

    @property
    def now(self) -> Attempt:
        """The current attempt: the last one of ``rounds``."""
        return self.rounds[-1]

    @property
    def revealed(self) -> bool:
        """True once the answer to the first attempt is shown."""
        return self.rounds[0].revealed

    @property
    def bytes(self) -> int | None:
        """First guess in bytes, for a chart; None without a guess, or where the question asks for
        no amount."""
        first = self.rounds[0].guess
        known = self.topic.kind is AnswerKind.AMOUNT and isinstance(first, Guess)
        return round(first.value) if known and isinstance(first, Guess) else None

    @property
    def option(self) -> str | None:
        """First guess as the name of an option, for a chart; None without one."""
        first = self.rounds[0].guess
        return first if isinstance(first, str) else None

    # -- what a learner does ------------------------------------------------------------------

    def guess(self, given: object, because: str = "") -> Card:
        """Lock a guess, find the true answer by planning and running a step, and judge the guess.

        A cell that runs again changes nothing, also after ``retry`` and after the kernel was
        restarted.

        Args:
            given: an amount of memory (``"6.4 MB"``), a ratio (``9``) or the name of an option, as
                the question asks.
            because: the reason for the guess, at most 400 characters; only a prediction takes one.

        Returns:
            The card itself, so that calls can be chained.

        Raises:
            InputError: ``given`` is no answer of the kind that is asked for, or another guess is
                locked already.
            DoesNotFitError: the run needs more memory than is free; the guess stays locked.
        """
        read, reason = self.read(given), self._reason(because)
        if self.now.kept:
            return self.recall()
        if not _same_answer(read, self.now.guess):
            if self._ran("guess", read, self.now.open):
                return self
            if not self.now.open:
                raise InputError(sentences.refusal_text(self.now))
            turn = replace(self.now, guess=read, because=reason, pressed=self.pressing)
            self._become(turn, tell=False)
        self._judge()
        return self

    def revise(self, given: object) -> Card:
        """Change a wrong guess, once, then show the answer.

        Args:
            given: the new guess, in any form that ``guess`` takes.

        Returns:
            The card itself.

        Raises:
            InputError: ``given`` is no answer of the kind that is asked for, or equals the guess;
                nothing was diagnosed yet; or there is a revision already.
        """
        read = self.read(given)
        free = self.recall().now.state == "diagnosed"
        if _same_answer(read, self.now.revision) or self._ran("revision", read, free):
            return self
        if not free and self.now.kept:
            return self
        if not free:
            raise InputError(sentences.refusal_text(self.now, "revised"))
        if _same_answer(read, self.now.guess):
            again = strings.get(
                "card.same", guess=sentences.given(self.now), name=self.topic.handle
            )
            raise InputError(again)
        self._become(replace(self.now, revision=read), tell=False)
        self._reveal()
        return self

    def skip(self) -> Card:
        """Go on without a guess and return the card; ``reveal`` then shows the answer alone."""
        if self.now.open and not self._ran("skipped", True):
            self._become(replace(self.now, skipped=True))
        return self

    def reveal(self) -> Card:
        """Show the answer beside the guess, and return the card.

        Raises:
            InputError: nothing has been guessed, and the question is not skipped.
            DoesNotFitError: the run needs more memory than is free; the guess stays locked.
        """
        self.recall()
        if self.now.open and not self._ran("revealed", True):
            raise InputError(sentences.refusal_text(self.now))
        if not (self.now.open or self.now.revealed):
            self._reveal()
        return self

    def retry(self) -> Card:
        """Ask the same question on new numbers, which differ from learner to learner; return the
        card.

        Raises:
            InputError: the answer on the current numbers is not shown yet, or the question has no
                other numbers.
        """
        if not self.recall().now.revealed:
            raise InputError(sentences.refusal_text(self.now))
        seed = f"{progress.seed()} {self.topic.name} {len(self.rounds)}"
        used = [turn.numbers for turn in self.rounds]
        numbers = self.topic.again(seed, used)
        begun = None if self.pressing else notebook_cells.running()
        turn = Attempt(self.topic, numbers, again=True, pressed=self.pressing, begun=begun)
        self.rounds.append(turn)
        self._tell()
        return self

    def recall(self) -> Card:
        """Restore an attempt that was answered before the kernel began: find its true answer again,
        and reveal it if it was revealed then. Return the card.

        Raises:
            DoesNotFitError: the run needs more memory than is free; ``reveal`` tries again.
        """
        if self.now.pending:
            turn = replace(self.now, truth=self.topic.truth(self.now.numbers))
            right = turn.verdict is not None and turn.verdict.right
            self._become(replace(turn, revealed=turn.told or right))
        return self

    def then(self, function: Function) -> Function:
        """Register a function that runs, and whose result is shown, under the answer once it is
        revealed; a decorator.

        A function replaces an earlier one of the same name, so that a cell may run again.

        Args:
            function: a function without arguments, or of numbers of the card by name:
                ``def picture(batch): ...`` runs again on the new numbers of Retry.

        Returns:
            The function itself.

        Raises:
            InputError: ``function`` cannot be called, or takes something else.
        """
        if not callable(function):
            raise InputError(_("then takes a function, got {given}; write @card.then above a def.",
                               given=shorten(function)))  # fmt: skip
        own.taking("a function for then", function, self.taken(function), self.now.numbers)
        self.follows[getattr(function, "__name__", "then")] = function
        return function

    def taken(self, function: Callable[..., Any]) -> dict[str, Any]:
        """Return the numbers of the current attempt that a function has parameters for."""
        try:
            parameters = signature(function).parameters
        except ValueError:  # some functions written in C do not tell
            return {}
        return {name: value for name, value in self.now.numbers.items() if name in parameters}

    # -- for views ----------------------------------------------------------------------------

    def watch(self, listener: Callable[[], None]) -> None:
        """Call a function, without arguments, after every change of the card."""
        self._watching.append(listener)

    def text(self) -> str:
        """Return the card as text: the question, and the part of the answer that is shown so
        far."""
        with strings.speaking(*self.parts):
            return sentences.card_text(self.rounds)

    def __str__(self) -> str:
        return self.recall().text()

    __repr__ = __str__

    def read(self, given: object) -> Answer:
        """Return the answer that was typed or chosen; an option may be given by its name or by its
        text."""
        named = {
            _comparable_text(sentences.option(self.now, name)): name for name in self.topic.options
        }
        named |= {_comparable_text(name): name for name in self.topic.options}
        meant = named.get(_comparable_text(given)) if isinstance(given, str) else None
        return meant or self.topic.read(given)

    def _reason(self, because: object) -> str:
        if not isinstance(because, str) or len(because) > LONGEST_REASON:
            raise InputError(strings.get("card.reason", given=shorten(because)))
        reason = " ".join(because.split())
        if reason and self.topic.part is not Purpose.PREDICT:
            raise InputError(strings.get("card.no_reason", part=self.topic.part))
        return reason

    def _ran(self, what: str, value: object, free: bool = True) -> bool:
        """True if a cell that runs again did this in an earlier attempt, so that it must change
        nothing.

        An earlier attempt has the same ``value`` in its field ``what``; and the cell is known from
        that attempt, or a button began the current one, or the action is not ``free`` (allowed)
        now.
        """
        before = [turn for turn in self.rounds[:-1] if _same_answer(getattr(turn, what), value)]
        cell = notebook_cells.running()
        known = cell is not None and any(cell.name in turn.cells for turn in before)
        again = self.now.pressed or not free or (known and cell != self.now.begun)
        return bool(before) and again and not self.pressing

    def _judge(self) -> None:
        """Find the true answer; reveal it if the guess is right, otherwise show the diagnosis."""
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
        """Find the true answer of the current attempt, once, and write the guess to the progress
        file."""
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
        for listener in self._watching:
            listener()


def _attempt_from_progress(topic: Question, entry: Mapping[str, Any]) -> Attempt:
    """Return the attempt that the progress file holds; an open attempt if its texts are no answers
    to this question any more."""
    try:
        guess, revision = (
            topic.read(typed) if typed else None
            for typed in (entry["guess"], entry.get("revision", ""))
        )
    except InputError:
        return Attempt(topic, topic.first)
    because, told = entry.get("because", ""), progress.was_shown(entry)
    return Attempt(topic, topic.first, guess, because, revision, skipped=guess is None,
                 kept=True, told=told)  # fmt: skip


def _same_answer(answer: object, other: object) -> bool:
    """True if two answers have the same value, however they are written: 2.5 and 2.50."""
    if isinstance(answer, Guess) and isinstance(other, Guess):
        return answer.value == other.value
    return answer == other


def _comparable_text(text: str) -> str:
    """Return the text of an option for comparison: lower case, single spaces, no quotes or full
    stop at its ends."""
    return " ".join(text.split()).casefold().strip(f"\"' {sentences.STOPS}")
