"""Pictures under the answers of lessons 05 and 06: each shows the truth of its card."""

import random
from fractions import Fraction

import pytest

from memlab.course.reveals import picture_of
from memlab.lesson.card_question import Attempt, topics

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


@pytest.mark.parametrize("name", SHOWN)
def test_the_picture_shows_the_truth_on_any_numbers(name: str) -> None:
    topic, picture = topics()[name], picture_of(name)
    assert picture is not None
    assert topic.draw is not None
    chance = random.Random(name)
    for numbers in (topic.first, *(topic.draw(chance) for _ in range(4))):
        truth = topic.truth(numbers)
        view = picture(Attempt(topic, numbers, truth=truth, revealed=True))
        assert SHOWN[name](view, numbers, truth), dict(numbers)


def test_the_trainings_of_a_card_are_made_once() -> None:
    from memlab.lesson.content.lesson_06 import trainings

    topic, picture = topics()["06.dark"], picture_of("06.dark")
    assert picture is not None
    truth = topic.truth(topic.first)
    view = picture(Attempt(topic, topic.first, truth=truth, revealed=True))
    made = trainings(topic.first["epochs"])
    assert [curve.history for curve in view.curves] == [*made.values()]
    assert all(curve.history is made[curve.name] for curve in view.curves)
