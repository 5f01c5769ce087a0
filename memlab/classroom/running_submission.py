"""One submission in its confined process: its cells run, then its functions are asked.

What loops, or ends the process, is left out, and the process starts again, a few times. Every
answer is data from a hostile process: it is read by its type, within limits, and a message that is
not as it should be ends the process.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from memlab.classroom.channel import BrokenChannelError, EndedError, LateError
from memlab.classroom.confinement import Confinement, WorkerProcess
from memlab.classroom.limits import Limits
from memlab.classroom.marks import CardCall
from memlab.classroom.plain_values import decoded, encoded, safe_text
from memlab.lesson import returned_values
from memlab.lesson.exercise_task import Arguments, ExerciseTask
from memlab.lesson.function_answers import Failure, Given
from memlab.lesson.returned_values import Foreign

Parameters = ParamSpec("Parameters")
Read = TypeVar("Read")

PATIENCE = 2.0
"""Seconds beyond the limit: the process itself stops most of what loops."""
LONGEST = 500
"""Most characters of a guess or a reason."""
CALLS = 200
"""Most answers to cards in the code of a notebook; a lesson has about ten cards."""
SHOWN = 80
"""Most characters of a returned value as text."""
CHOSEN = 1000
"""Most numbers of a choice, which is scored here."""
STARTING = 30.0
"""Seconds in which a process must have read the source, on a busy machine."""


class LostError(Exception):
    """Error for a question that a submission's process did not survive. ``state`` is that of the
    mark."""

    def __init__(self, state: str) -> None:
        self.state = state


@dataclass
class RunningSubmission:
    """A submission that runs: its cells, which of them are as they were handed out, and the names
    of the exercises.

    ``signs`` is what in its source could change a measurement, ``calls`` what its code answered to
    cards, ``functions`` the exercises that have a function, None if its cells never came to an end.
    ``looped``, ``ended`` and ``full`` hold the cells, from 0, that did not end in time, that ended
    the process, or that asked for too much memory; ``unread`` is True if the process ended before
    any ran. ``peak`` is the most bytes that a process held.
    """

    cells: Sequence[str]
    known: Sequence[bool]
    names: Sequence[str]
    confinement: Confinement
    limits: Limits
    signs: tuple[str, ...] = ()
    calls: tuple[CardCall, ...] = ()
    functions: tuple[str, ...] | None = None
    looped: set[int] = field(default_factory=set)
    ended: set[int] = field(default_factory=set)
    full: set[int] = field(default_factory=set)
    unread: bool = False
    peak: int | None = None
    _worker: WorkerProcess | None = None
    _stack: ExitStack = field(default_factory=ExitStack)
    _starts: int = 0
    _used: float = 0.0

    def __enter__(self) -> RunningSubmission:
        return self

    def __exit__(self, *error: object) -> None:
        self._stop()

    # -- the process ----------------------------------------------------------------------------

    def _running(self) -> WorkerProcess:
        """Return the process, in which all cells ran that can.

        Raises:
            LostError: there were too many starts, or the time is used up.
        """
        while self._worker is None:
            if self._starts > self.limits.restarts or self._used > self.limits.whole:
                raise LostError("error")
            self._starts += 1
            self._worker = self._stack.enter_context(self.confinement.worker(self.limits))
            self._run_cells(self._worker)
        return self._worker

    def _stop(self) -> None:
        if self._worker is not None:
            held = self._worker.peak
            self.peak = held if self.peak is None else max(self.peak, held or 0)
        self._stack.close()
        self._worker = None

    def _run_cells(self, worker: WorkerProcess) -> None:
        """Have all cells run but those that did not end; stop the process where another one does
        not."""
        at = -1
        skipped = self.looped | self.ended | self.full
        order = {
            "cells": list(self.cells), "known": list(self.known), "names": list(self.names),
            "skipped": sorted(skipped), "seconds": self.limits.seconds,
        }  # fmt: skip
        try:
            worker.channel.send(order, time.monotonic() + STARTING)
            self.signs = signs_in(worker.channel.receive(time.monotonic() + STARTING))
            while True:
                match self._receive(worker):
                    case {"cell": int(number)} if at < number < len(self.cells):
                        at = number
                    case {"looped": _}:
                        raise LateError  # what the cell started may run on
                    case message:
                        self.calls, functions = calls_in(message)
                        self.functions = tuple(name for name in self.names if name in functions)
                        return
        except (BrokenChannelError, EndedError, LateError) as error:
            self._lose(worker, at, isinstance(error, LateError))

    def _lose(self, worker: WorkerProcess, cell: int, late: bool) -> None:
        """Stop a process that did not survive a cell, and leave out that cell from now on."""
        cells = self.full if worker.out_of_memory else self.looped if late else self.ended
        if cell >= 0:
            cells.add(cell)
        else:  # nothing ran yet: another start would end as this one
            self.unread, self._starts = True, self.limits.restarts + 1
        self._stop()

    def _receive(self, worker: WorkerProcess) -> Any:
        """Return the next message of the process, which has the seconds of a cell for it, as long
        as the seconds of the whole notebook last."""
        begin, left = time.monotonic(), max(0, self.limits.whole - self._used)
        try:
            return worker.channel.receive(begin + min(self.limits.seconds, left) + PATIENCE)
        finally:
            self._used += time.monotonic() - begin

    # -- its functions --------------------------------------------------------------------------

    def start(self) -> None:
        """Run the cells, as far as they can."""
        try:
            self._running()
        except LostError:
            return

    def ask(self, name: str, how: str, cases: Sequence[Arguments], kernel: bool = False) -> Any:
        """Return the message that answers a question to the function of an exercise.

        Raises:
            LostError: there is none.
        """
        worker = self._running()
        question = {
            "ask": name, "how": how, "kernel": kernel,
            "cases": [encoded(case) for case in cases],
        }  # fmt: skip
        try:
            worker.channel.send(question, time.monotonic() + STARTING)
            message = self._receive(worker)
        except LateError:
            self._stop()
            raise LostError("looped") from None
        except (BrokenChannelError, EndedError):
            full = worker.out_of_memory
            self._stop()
            raise LostError("no memory" if full else "error") from None
        match message:
            case {"looped": True}:
                raise LostError("looped")
            case {"memory": True}:
                raise LostError("no memory")
        return message


@dataclass
class FunctionThere:
    """The function of an exercise in a submission's process, which ``exercise_check.judge`` asks.

    ``peak`` is the most bytes of arrays in a call, by the word of that process; ``full`` is True if
    it says that a call asked for too much memory.
    """

    task: ExerciseTask
    submission: RunningSubmission
    peak: int | None = None
    full: bool = False

    def misfit(self, case: Arguments) -> str:
        """Return the signature of a function that does not take these arguments."""
        match self._asked("misfit", [case]):
            case {"misfit": str(text)}:
                return safe_text(text)[:200]
        raise LostError("error")

    def answers(self, cases: Sequence[Arguments], measured: bool) -> list[Given]:
        """Return what the function gives for each case."""
        message = self._asked("measured" if measured else "answers", cases)
        match message:
            case {"answers": list(written)} if len(written) == len(cases):
                pairs = zip(written, cases, strict=True)
                given = [self._read(one, case) for one, case in pairs]
            case _:
                raise LostError("error")
        if measured:
            self.peak = max([self.peak or 0, *(one.peak for one in given)])
        failures = [one.failure for one in given if one.failure is not None]
        self.full = self.full or any(f.kind.endswith("MemoryError") for f in failures)
        return given

    def _asked(self, how: str, cases: Sequence[Arguments]) -> Any:
        return self.submission.ask(self.task.name, how, cases, self.task.run is not None)

    def _read(self, written: Any, case: Arguments) -> Given:
        """Return what a call gave, from the message of a process that nobody trusts."""
        try:
            given = given_in(written, case)
        except BrokenChannelError:
            raise LostError("error") from None
        numbers = returned_values.read(given.value) if self.task.score else None
        if numbers is not None and len(numbers.flat) > CHOSEN:
            return replace(given, value=Foreign("", given.shown))
        return given


# -- reading messages ---------------------------------------------------------------------------


def reading(read: Callable[Parameters, Read]) -> Callable[Parameters, Read]:
    """Return a function that raises a BrokenChannelError for whatever ``read`` cannot take: the
    writer of a message is hostile."""

    @wraps(read)
    def safely(*given: Parameters.args, **named: Parameters.kwargs) -> Read:
        try:
            return read(*given, **named)
        except Exception:
            raise BrokenChannelError from None

    return safely


@reading
def given_in(written: Any, case: Arguments) -> Given:
    """Return what a call gave, from what ``worker.session`` wrote."""
    changed = safe_text(written["changed"])
    return Given(
        value=decoded(written["value"]),
        shown=safe_text(written["shown"])[:SHOWN],
        failure=None if written["failure"] is None else _failure(written["failure"]),
        memlab=written["memlab"] is True,
        started=written["started"] is True,
        peak=_count(written["peak"]),
        kept=_count(written["kept"]),
        changed=changed if changed in case else "",
    )


def _failure(written: Any) -> Failure:
    flags = {name: written[name] is True for name in ("known", "unwritten", "told")}
    kind, message = (safe_text(written[name]) for name in ("kind", "message"))
    return Failure(kind[:100], message[:2000], **flags)


def _count(number: Any) -> int:
    if type(number) is not int or not 0 <= number < 2**53:
        raise ValueError("no number of bytes")
    return number


@reading
def signs_in(message: Any) -> tuple[str, ...]:
    """Return the signs of patching in the source."""
    return tuple(safe_text(sign)[:200] for sign in message["signs"][:10])


@reading
def calls_in(message: Any) -> tuple[tuple[CardCall, ...], list[Any]]:
    """Return the answers to cards, and the names of the exercises that have a function."""
    calls, names = message["calls"][:CALLS], CardCall.__dataclass_fields__
    if type(message["functions"]) is not list:
        raise ValueError
    texts = [{name: safe_text(call.get(name, ""))[:LONGEST] for name in names} for call in calls]
    return tuple(CardCall(**named) for named in texts), message["functions"]
