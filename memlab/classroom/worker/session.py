"""One submission in the confined process: its cells run in order, then its functions are asked.

Every message that leaves here is the submission's own word: its code runs in the same process. Only
the first, the signs in its source, is written before any of it has run.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from inspect import signature
from types import FrameType, ModuleType
from typing import Any

from memlab.classroom.channel import Channel
from memlab.classroom.plain_values import decoded, encoded
from memlab.classroom.worker import lesson_tools
from memlab.classroom.worker.cells import plain_cell
from memlab.classroom.worker.inert import InertModules, ignored
from memlab.classroom.worker.source_check import signs
from memlab.lesson import kernel_threads, own
from memlab.lesson.function_answers import Asking, Given

PLAIN = Asking()
KERNEL = Asking(
    kernel_threads.launch, (kernel_threads.Threads.grid, kernel_threads.Threads.gridsize)
)


class OverTimeError(BaseException):
    """Error for code that did not end in time; no ``except Exception`` catches it."""


def serve(channel: Channel) -> None:
    """Run the cells that the first message holds, then answer one question after the other."""
    order = channel.receive()
    cells = [plain_cell(source) for source in order["cells"]]
    channel.send({"signs": _signs(cells, order["known"])})
    session = Session(channel, order["seconds"])
    for number, cell in enumerate(cells):
        if number not in order["skipped"]:
            session.run(number, cell)
    channel.send({"ran": True, "calls": _calls(), "functions": session.functions(order["names"])})
    while True:
        question = channel.receive()
        channel.send(session.answer(question))


def _signs(cells: list[str], known: list[bool]) -> list[str]:
    """Return what in the cells that are the learner's own could change a measurement."""
    return [
        f"code cell {number}: {sign}"
        for number, (cell, same) in enumerate(zip(cells, known, strict=True), 1)
        if not same
        for sign in signs(cell)
    ][:10]


def _calls() -> list[dict[str, str]]:
    return [{"name": name, **texts} for name, texts in lesson_tools.CALLS.items()]


class Session:
    """The notebook's variables, and the seconds that a cell or the calls of a function may take."""

    def __init__(self, channel: Channel, seconds: float) -> None:
        self._channel, self._seconds = channel, seconds
        module = ModuleType("__main__")
        sys.modules["__main__"] = module
        sys.meta_path.append(InertModules)
        lesson_tools.install()
        self.space = vars(module)
        self.space |= {"display": ignored, "get_ipython": ignored, "exit": ignored, "quit": ignored}

    def run(self, number: int, code: str) -> None:
        """Run a cell. Whatever it raises, the next one runs."""
        self._channel.send({"cell": number})
        try:
            with self._in_time():
                exec(compile(code, f"<cell {number + 1}>", "exec", dont_inherit=True), self.space)
        except OverTimeError:
            self._channel.send({"looped": number})
        except BaseException:  # a cell that is wrong, or that ends the process
            return

    @contextmanager
    def _in_time(self) -> Iterator[None]:
        """Raise an OverTimeError in what runs longer than it may."""
        signal.signal(signal.SIGALRM, _late)
        signal.setitimer(signal.ITIMER_REAL, self._seconds)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

    def functions(self, names: list[str]) -> list[str]:
        """Return the exercises, of those named, for which there is a function."""
        return [name for name in names if self.function(name) is not None]

    def function(self, name: str) -> Callable[..., Any] | None:
        """Return the last function of an exercise's name, or else the one that was checked."""
        function = self.space.get(name.partition(".")[2])
        other = lesson_tools.CHECKED.get(name)
        return function if callable(function) else other if callable(other) else None

    def answer(self, question: dict[str, Any]) -> dict[str, Any]:
        """Return the answers of a function to the cases of a question."""
        function = self.function(question["ask"])
        ask = partial(self._misfit if question["how"] == "misfit" else self._answers, question)
        try:
            with self._in_time():
                return ask(function)
        except OverTimeError:
            return {"looped": True}
        except MemoryError:
            return {"memory": True}

    def _misfit(self, question: dict[str, Any], function: Any) -> dict[str, Any]:
        (case,) = map(decoded, question["cases"])
        return {"misfit": "" if own.accepts(function, **case) else str(signature(function))}

    def _answers(self, question: dict[str, Any], function: Any) -> dict[str, Any]:
        asking = KERNEL if question["kernel"] else PLAIN
        ask = asking.measured if question["how"] == "measured" else asking.each
        cases = [decoded(case) for case in question["cases"]]
        return {"answers": [_written(given) for given in ask(function, cases)]}


def _written(given: Given) -> dict[str, Any]:
    """Return what a call gave as JSON can hold it."""
    fields = {name: getattr(given, name) for name in Given.__dataclass_fields__}
    failure = None if given.failure is None else asdict(given.failure)
    return {**fields, "value": encoded(given.value), "failure": failure}


def _late(number: int, frame: FrameType | None) -> None:
    raise OverTimeError
