"""Pictures under the answers of lessons 05 and 06: they show the truth of the card."""

from fractions import Fraction

import pytest

from memlab import rounding
from memlab.lesson import sentences
from memlab.lesson.content.lesson_06 import slow_trainings, trainings
from memlab.lesson.digits import DIM
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
    epochs = turn.numbers["epochs"]
    made = [*trainings(epochs).values(), *slow_trainings(epochs).values()]
    assert [id(curve.history) for curve in view.curves] == [id(history) for history in made]


@pytest.mark.measures
def test_a_tenth_of_the_rate_needs_updates_in_fp32() -> None:
    turn, view = revealed("06.dark")
    fp32, bf16, mixed = (curve.history.error for curve in view.curves[4:])
    assert bf16 > 1.5 * mixed
    assert mixed == pytest.approx(fp32, abs=0.01)
    assert f"{100 * bf16:.1f} % in bf16, {100 * mixed:.1f} % in mixed bf16" in sentences.seen(turn)


@pytest.mark.measures
def test_the_loss_in_fp16_ends_where_every_output_is_0() -> None:
    history = trainings(6)["fp16"]
    assert history.losses[-1] == history.losses[len(history.losses) // 3] == DIM**2
    assert max(history.losses) > 5 * history.losses[0]
    assert "2⁻²⁶ = 1.49·10⁻⁸" in " ".join(sentences.finding(revealed("06.dark")[0]))


def test_the_number_to_try_rounds_up_in_the_format_of_the_question() -> None:
    for seed in (None, 1, 2, 3, 4):
        turn, _ = revealed("06.update", seed=seed)
        above, name = float(turn.truth.seen["above"]), turn.numbers["format"]
        assert 1 < above < rounding.nearest(above, name)
        assert turn.truth.seen["other"] != name
