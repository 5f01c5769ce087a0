"""The examples of docs/in-your-course.md do as the page says, cell by cell as they stand there."""

from typing import Any

import pytest

import memlab
from memlab.lesson.card import Card
from tests.course_examples import PAGE, Cell, cells, fits

pytestmark = pytest.mark.measures

LINKED, CARD, EXERCISE, CHECK = cells()


@pytest.fixture(autouse=True)
def away(progress_file, monkeypatch):
    """A folder of a learner's own, with their progress."""
    monkeypatch.chdir(progress_file.parent)


def run(*sources: Cell) -> tuple[Any, dict[str, Any]]:
    """What the last line of the last cell shows, and all names of the notebook."""
    names: dict[str, Any] = {}
    for cell in sources:
        exec(cell.source.removesuffix(f"{cell.last}\n"), names)
        value = eval(cell.last, names)
    return value, names


def test_the_slider_moves_the_view_and_the_label_tells_its_peak():
    shown, names = run(LINKED)
    view, told, kernels = names["view"], names["told"], names["kernels"]
    few = view.peak
    assert told.value == f"16 kernels, 8 images: {few / 1e6:.2f} MB."
    assert shown.children == (kernels, told, view)
    kernels.value = 64
    step = memlab.training_step(names["network"](64), "adam")
    assert view.peak == memlab.plan(step).peak(8) > few
    assert told.value == f"64 kernels, 8 images: {view.peak / 1e6:.2f} MB."
    view.batch = 4
    assert told.value == f"64 kernels, 4 images: {view.peak / 1e6:.2f} MB."


def test_the_card_diagnoses_reveals_and_asks_again():
    card, names = run(CARD)
    assert isinstance(card, Card)
    card.guess(2)
    assert "Too large. Does everything in memory grow with the batch?" in card.text()
    card.revise("1.1")
    assert "Only 1.09 times smaller." in card.text()
    view = names["picture"](**card.taken(names["picture"]))
    assert (view.batch, view.peak) == (4, names["peak"](4))
    card.retry()
    assert card.now.numbers["batch"] in (16, 32, 64)
    assert "Which arrays belong to the images?" in card.guess(1).text()


def test_the_exercise_knows_its_slips_and_a_right_function():
    exercise, names = run(EXERCISE)
    assert exercise.check(names["without_adam"]).text().endswith("besides its gradient?")
    assert exercise.check(names["without_biases"]).text().endswith("one for each output.")

    def state_bytes(inputs, outputs):
        return 16 * (inputs * outputs + outputs)

    assert exercise.check(state_bytes).passed
    assert "How many arrays" in str(exercise.hint())


def test_the_learners_function_gets_the_diagnosis_that_the_page_shows():
    report, _ = run(EXERCISE, CHECK)
    assert CHECK.shows
    assert fits(str(report), CHECK.shows), report


def test_what_the_page_shows_is_compared():
    assert not fits("Agrees on 60 fresh cases.", CHECK.shows)
    assert fits("a 3 b\nc", "a ... b c")


def test_every_code_of_the_page_is_a_cell_that_runs():
    text = PAGE.read_text(encoding="utf-8")
    assert text.count("```python\n") == len(cells()) == 4
    assert text.count("```") == 2 * (len(cells()) + sum(bool(cell.shows) for cell in cells()))
