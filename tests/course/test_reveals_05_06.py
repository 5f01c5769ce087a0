"""Pictures under the answers of lessons 05 and 06: they show the truth of the card."""

from fractions import Fraction

import pytest

from memlab.lesson.content.lesson_06 import trainings
from tests.course.revealed import revealed
from tests.quick import apart

SHOWN = {
    "05.weights": lambda view, n, truth: truth.value == Fraction(view.rows.total, view.rows.alone),
    "05.maps": lambda view, n, truth: truth.value == Fraction(view.rows.total, view.rows.alone),
    "05.columns": lambda view, n, truth: view.rows.both[1].count == truth.value,
    "05.half": lambda view, n, truth: (
        str(view.rows.both[1].idle) == str(truth.seen["idle"]) and view.rows.batch == n["batch"]
    ),
    "06.update": lambda view, n, truth: (view.rows.held == 1) == (truth.value == "same"),
    "06.state": lambda view, n, truth: (
        (view.rows.first.per_parameter, view.rows.now.per_parameter)
        == (truth.seen["before"], truth.seen["after"])
    ),
}  # fmt: skip
"""Questions, and whether the picture of their answer shows their truth."""
MEASURED = {"05.columns", "06.state"}
"""Questions whose truth is a step that runs."""


@pytest.mark.parametrize("name", apart(SHOWN, MEASURED.__contains__))
def test_the_picture_shows_the_truth_on_any_numbers(name: str) -> None:
    for seed in (None, 1, 2, 3, 4):
        turn, view = revealed(name, seed=seed)
        assert SHOWN[name](view, turn.numbers, turn.truth), dict(turn.numbers)


@pytest.mark.measures
def test_the_trainings_of_a_card_are_made_once() -> None:
    turn, view = revealed("06.dark")
    made = trainings(turn.numbers["epochs"])
    assert [curve.history for curve in view.curves] == [*made.values()]
    assert all(curve.history is made[curve.name] for curve in view.curves)
