"""An exercise in a notebook: its task, a check of the learner's function, hints, one solution.

>>> exercise = lesson.exercise("02.largest_batch")
>>> exercise.check(largest_batch)
Agrees on 60 fresh cases.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memlab import lesson_folders, strings
from memlab.errors import one_option
from memlab.lesson import exercise_check, progress
from memlab.lesson.exercise_check import Report
from memlab.lesson.exercise_task import ExerciseTask, tasks
from memlab.lesson.marked_text import plain

SOLUTIONS = lesson_folders.LESSONS / "solutions"
HINTS = 3
"""Degrees of a hint: which of the four questions, the idea, the formula with blanks."""


@dataclass(frozen=True, repr=False)
class Note:
    """A text that a cell shows as it is."""

    said: str

    def text(self) -> str:
        """The text."""
        return self.said

    __str__ = __repr__ = text


class Exercise:
    """A task, and how many hints have been given. Its texts call it ``exercise``, as lessons do."""

    def __init__(self, task: ExerciseTask) -> None:
        self.task = task
        self.degree = 0
        self.given: list[Note] = []
        """What was asked for so far: hints, a solution."""
        self._watching: list[Callable[[], None]] = []

    def watch(self, told: Callable[[], None]) -> None:
        """Call ``told`` after every hint."""
        self._watching.append(told)

    def _give(self, note: Note) -> Note:
        if note not in self.given:
            self.given.append(note)
        for told in self._watching:
            told()
        return note

    def show(self) -> Exercise:
        """Show the task of the exercise, and how to check it; a notebook adds buttons for help."""
        return self

    def text(self) -> str:
        """The same as a text."""
        return plain(self.marked_text())

    def marked_text(self) -> str:
        """The same with the marks of code, for a widget."""
        name = self.task.function
        lines = [
            f"{strings.get('exercise.heading', name=name)} {self._own('task')}",
            strings.get("exercise.wanted", call=exercise_check.call(self.task)),
            strings.get("exercise.how", name=name),
        ]
        return "\n".join(lines)

    __str__ = __repr__ = text

    def check(self, function: Callable[..., Any], seed: int | None = None) -> Report:
        """Run the learner's function on fresh cases; the same ones for the same ``seed``.

        The function of another exercise of the lesson is checked as that one: a notebook has
        several, and cells run in any order. It does not see changes to Python, NumPy or memlab.

        Raises:
            InputError: no function.
        """
        named = f"{self.task.lesson}.{getattr(function, '__name__', '')}"
        task = tasks().get(named, self.task)
        report = exercise_check.check(task, function, seed)
        if report.attempted:
            progress.checked(task.name, report.passed)
        return report

    def hint(self) -> Note:
        """A hint, at each call a more direct one: three degrees."""
        last = self.degree == HINTS
        self.degree = min(self.degree + 1, HINTS)
        progress.hinted(self.task.name, self.degree)
        text = plain(self._own(f"hint.{self.degree}"))
        said = strings.get("exercise.hint", degree=self.degree, text=text)
        return self._give(Note(f"{said}\n{strings.get('exercise.last_hint')}" if last else said))

    def solution(self) -> Note:
        """One way to write the function; that it was shown is recorded."""
        code = solution_of(self.task)
        if code is None:
            file = f"{self.task.lesson}_*.ipynb"
            return self._give(Note(strings.get("exercise.elsewhere", file=file)))
        progress.solved(self.task.name)
        return self._give(Note(code))

    def _own(self, key: str) -> str:
        return strings.get(f"task.{self.task.name}.{key}")


def exercise(name: str) -> Exercise:
    """The exercise of that name, ``"02.largest_batch"``: lesson, then the learner's function.

    It is the same one each time: a cell that runs again keeps the hints.

    Raises:
        InputError: there is none.
    """
    return _EXERCISES.setdefault(name, Exercise(one_option("exercise", name, tasks())))


_EXERCISES: dict[str, Exercise] = {}


def solution_of(task: ExerciseTask) -> str | None:
    """The code that solves a task, from the solved notebook of its lesson; None without one."""
    wanted = re.compile(rf"^def {re.escape(task.function)}\(", re.MULTILINE)
    return next((code for code in _solved(task.lesson) if wanted.search(code)), None)


def _solved(lesson: str) -> Iterator[str]:
    """The cells with code that stand in the solutions of a lesson only."""
    for path in sorted(SOLUTIONS.glob(f"{lesson}_*.ipynb")):
        for cell in _cells(path):
            if cell["cell_type"] == "code" and "solution" in cell["metadata"].get("tags", []):
                yield "".join(cell["source"])


def _cells(path: Path) -> list[dict[str, Any]]:
    try:
        cells: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["cells"]
    except (OSError, ValueError, KeyError):  # a checkout in the middle of a merge
        return []
    return cells
