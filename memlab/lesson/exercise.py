"""An exercise in a notebook: its task, a check of the learner's function, hints and one solution.

Example::

    exercise = lesson.exercise("02.largest_batch")
    exercise.check(largest_batch)
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


@dataclass(frozen=True, repr=False)
class Note:
    """A text that a notebook cell shows as it is: a hint or a solution."""

    said: str

    def text(self) -> str:
        """Return the text."""
        return self.said

    __str__ = __repr__ = text


class Exercise:
    """A programming task of a lesson, with the number of hints given so far (``degree``) and the
    notes shown so far (``given``). Its texts call the variable that holds it ``exercise``, as
    lessons do."""

    def __init__(self, task: ExerciseTask) -> None:
        self.task = task
        self.degree = 0
        self.given: list[Note] = []
        """Notes that were shown so far: hints, a solution."""
        self._watching: list[Callable[[], None]] = []

    def watch(self, listener: Callable[[], None]) -> None:
        """Call a function, without arguments, after every hint and after the solution."""
        self._watching.append(listener)

    def _give(self, note: Note) -> Note:
        if note not in self.given:
            self.given.append(note)
        for listener in self._watching:
            listener()
        return note

    def show(self) -> Exercise:
        """Return the exercise itself, which a notebook shows as its task with buttons for help."""
        return self

    def text(self) -> str:
        """Return the task as plain text: what the function must do, its call, and how to check
        it."""
        return f"{plain(self.marked_text())}\n{self.how()}"

    def marked_text(self) -> str:
        """Return the task as text with the marks of code and bold words, for a widget: what the
        function must do and its call, without how to check it."""
        name = self.task.function
        with strings.speaking(*self.task.parts):
            lines = [
                f"{strings.get('exercise.heading', name=name)} {self.task.wording('task')}",
                strings.get("exercise.wanted", call=exercise_check.call(self.task)),
            ]
        return "\n".join(lines)

    def how(self) -> str:
        """Return the calls that check the function and give help, as far as there is any."""
        with strings.speaking(*self.task.parts):
            if not self.task.texts:
                return strings.get("exercise.how", name=self.task.function)
            hint = [strings.get("exercise.how_hint")] if self.task.hints else []
            return " ".join([strings.get("exercise.how_check", name=self.task.function), *hint])

    __str__ = __repr__ = text

    def check(self, function: Callable[..., Any], seed: int | None = None) -> Report:
        """Run the learner's function on fresh cases and report whether it agrees with the truth.

        The function of another exercise of the lesson is checked as that one: a notebook has
        several, and cells run in any order. The function does not see changes to Python, NumPy or
        memlab.

        Args:
            function: the learner's function.
            seed: fixes the cases; without it they differ at each call.

        Returns:
            A report that prints as text; its ``passed`` is True if the function is right.

        Raises:
            InputError: ``function`` cannot be called, or the seed is no whole number from 0 on.
        """
        named = f"{self.task.lesson}.{getattr(function, '__name__', '')}"
        task = _EXERCISES[named].task if named in _EXERCISES else tasks().get(named, self.task)
        with strings.speaking(*task.parts):
            report = exercise_check.check(task, function, seed)
        if report.attempted:
            progress.checked(task.name, report.passed)
        return report

    def hint(self) -> Note:
        """Return the next hint, each more direct than the one before; the last one repeats."""
        if not self.task.hints:
            return self._give(Note(strings.get("exercise.no_hint")))
        last = self.degree == self.task.hints
        self.degree = min(self.degree + 1, self.task.hints)
        progress.hinted(self.task.name, self.degree)
        degrees = {"degree": self.degree, "degrees": self.task.hints}
        with strings.speaking(*self.task.parts):
            text = plain(self.task.wording(f"hint.{self.degree}"))
            sentence = strings.get("exercise.hint", text=text, **degrees)
            note = strings.get("exercise.last_hint") if last and not self.task.texts else ""
        return self._give(Note(f"{sentence}\n{note}".rstrip()))

    def solution(self) -> Note:
        """Return one solution as code; the progress file records that it was shown. An exercise of
        an instructor's own has none."""
        if self.task.texts:
            return self._give(Note(strings.get("exercise.no_solution")))
        code = solution_of(self.task)
        if code is None:
            file = f"{self.task.lesson}_*.ipynb"
            return self._give(Note(strings.get("exercise.elsewhere", file=file)))
        progress.solved(self.task.name)
        return self._give(Note(code))


def exercise(name: str) -> Exercise:
    """Return the exercise of that name, the same object at each call, so that a cell that runs
    again keeps the hints.

    Args:
        name: the lesson, a point, and the name of the learner's function: ``"02.largest_batch"``.

    Returns:
        The exercise; ``check``, ``hint`` and ``solution`` are its methods.

    Raises:
        InputError: there is no exercise of that name.

    >>> from memlab import lesson
    >>> lesson.exercise("02.largest_batch").task.parameters
    ('memory', 'fixed', 'each')
    """
    return _EXERCISES.setdefault(name, Exercise(one_option("exercise", name, tasks())))


_EXERCISES: dict[str, Exercise] = {}


def keep(task: ExerciseTask) -> Exercise:
    """Return a new exercise for a task of an instructor's own. Where its cell runs again, the hints
    that were shown stay."""
    made, before = Exercise(task), _EXERCISES.get(task.name)
    if before is not None:
        made.degree, made.given = min(before.degree, task.hints), before.given
    _EXERCISES[task.name] = made
    return made


def solution_of(task: ExerciseTask) -> str | None:
    """Return the code that solves a task, from the solved notebook of its lesson; None if no cell
    of it defines the function."""
    wanted = re.compile(rf"^def {re.escape(task.function)}\(", re.MULTILINE)
    return next((code for code in _solution_cells(task.lesson) if wanted.search(code)), None)


def _solution_cells(lesson: str) -> Iterator[str]:
    """Yield the code of the cells that are tagged as solutions in the solved notebooks of a
    lesson."""
    for path in sorted(SOLUTIONS.glob(f"{lesson}_*.ipynb")):
        for cell in _notebook_cells(path):
            if cell["cell_type"] == "code" and "solution" in cell["metadata"].get("tags", []):
                yield "".join(cell["source"])


def _notebook_cells(path: Path) -> list[dict[str, Any]]:
    try:
        cells: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["cells"]
    except (OSError, ValueError, KeyError):  # a checkout in the middle of a merge
        return []
    return cells
