"""An exercise as a widget: its task, and two buttons for hints and one solution."""

from __future__ import annotations

from functools import cache
from typing import Any

from memlab import strings
from memlab.errors import InputError, shorten
from memlab.lesson.exercise import HINTS, Exercise
from memlab.views.widget import Control, Line, Picture, View


class ExerciseCard(View):
    """A task with hints, each more direct than the last, and a solution, when they are asked for.

    What was asked for stays below the task.
    """

    name = "exercise"
    classes = "memlab-card"
    twin = False

    def __init__(self, exercise: Exercise) -> None:
        self.exercise = exercise
        super().__init__()
        exercise.watch(self.refresh)

    def heading(self) -> tuple[str, str]:
        lead = strings.get("exercise.heading", name=self.exercise.task.function)
        return lead, self.exercise.text().removeprefix(lead).strip()

    def controls(self) -> list[Control]:
        return [
            Control("button", name, label, place="below", busy=label)
            for name, label in self._labels().items()
        ]

    def next(self) -> str:
        return "solution"

    def draw(self, stored: bool) -> Picture:
        return Picture(svg="", text=self.exercise.text(), lines=tuple(self._given()))

    def act(self, name: str, value: Any, dragging: bool) -> None:
        if name not in ("hint", "solution"):
            return
        getattr(self.exercise, name)()

    def _given(self) -> list[Line]:
        """What was asked for, here or in a cell; code keeps its lines."""
        texts = [note.text() for note in self.exercise.given]
        return [Line(text, code="\n" in text) for text in texts]

    def _labels(self) -> dict[str, str]:
        """The buttons: a hint as long as there is another one."""
        labels = {"solution": strings.get("card.control.solution")}
        degree = self.exercise.degree + 1
        if degree > HINTS:
            return labels
        hint = strings.get("card.control.hint", degree=degree, degrees=HINTS)
        return {"hint": hint} | labels

    def __repr__(self) -> str:
        return self.exercise.text()


def exercise_card(exercise: Exercise) -> ExerciseCard:
    """The widget of an exercise: the same one wherever it is shown.

    Raises:
        InputError: no exercise.
    """
    if not isinstance(exercise, Exercise):
        raise InputError(
            f"an exercise is shown, got {shorten(exercise)}; "
            "try lesson.exercise('02.largest_batch')."
        )
    return _widget(exercise)


_widget = cache(ExerciseCard)
