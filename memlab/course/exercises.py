"""Widgets of exercises: the task, with hints and a solution on demand."""

from __future__ import annotations

from functools import cache
from typing import Any

from memlab import strings
from memlab.errors import InputError, shorten
from memlab.lesson.exercise import Exercise
from memlab.pictures.live.widget import Control, Paragraph, Picture, Widget
from memlab.strings import gettext as _


class ExerciseCard(Widget):
    """Widget of an exercise: its task, with hints, each more direct than the last, and a solution
    on demand. Hints and solution stay below the task."""

    name = "exercise"
    classes = "memlab-card memlab-exercise"
    twin = False

    def __init__(self, exercise: Exercise) -> None:
        self.exercise = exercise
        super().__init__()
        exercise.watch(self.refresh)

    @property
    def parts(self) -> tuple[str, ...]:
        return self.exercise.task.parts

    def heading(self) -> tuple[str, str]:
        lead = strings.get("exercise.heading", name=self.exercise.task.function)
        return lead, self.exercise.marked_text().removeprefix(lead).strip()

    def controls(self) -> list[Control]:
        """Return the buttons: a hint while there is a further one, and the solution."""
        task, degree = self.exercise.task, self.exercise.degree + 1
        labels = {} if task.texts else {"solution": strings.get("card.control.solution")}
        if degree <= task.hints:
            hint = strings.get("card.control.hint", degree=degree, degrees=task.hints)
            labels = {"hint": hint} | labels
        return [
            Control("button", name, label, place="below", busy=label)
            for name, label in labels.items()
        ]

    def next(self) -> str:
        return "solution"

    def draw(self, stored: bool) -> Picture:
        """Return the notes that were shown so far, without a picture; code keeps its lines."""
        notes = [note.text() for note in self.exercise.given]
        lines = tuple(Paragraph(text, code="\n" in text) for text in notes)
        return Picture(svg="", text=self.exercise.text(), lines=lines,
                       after=(Paragraph(self.exercise.how()),))  # fmt: skip

    def on_event(self, name: str, value: Any, dragging: bool) -> None:
        if name in ("hint", "solution"):
            getattr(self.exercise, name)()

    def __repr__(self) -> str:
        return self.exercise.text()


def exercise_card(exercise: Exercise) -> ExerciseCard:
    """Return the widget of an exercise, the same one at each call.

    Args:
        exercise: the exercise, from ``lesson.exercise``.

    Raises:
        InputError: ``exercise`` is no exercise.

    >>> from memlab import lesson, views
    >>> views.exercise_card(lesson.exercise("02.largest_batch")).name
    'exercise'
    """
    if not isinstance(exercise, Exercise):
        raise InputError(
            _(
                "an exercise is shown, got {given}; try lesson.exercise('02.largest_batch').",
                given=shorten(exercise),
            )
        )
    return _exercise(exercise)


_exercise = cache(ExerciseCard)
