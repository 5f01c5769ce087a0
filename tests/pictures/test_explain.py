"""The view of a model and its card: what its settings, keys and buttons do."""

from __future__ import annotations

from typing import Any

import pytest

import memlab
from memlab import views
from tests.strange import said


def test_the_last_line_of_a_cell_is_a_picture_and_a_text() -> None:
    view = views.explain()
    bundle = view.stored()
    assert bundle["image/svg+xml"].startswith("<svg")
    assert bundle["text/plain"] == str(view) == view.text()


def test_a_change_is_put_on_and_off() -> None:
    view = views.explain()
    plain = view.rows.peak.nbytes
    view.act("key", "KeyC", False)
    assert view.changed_by == "recompute"
    assert view.rows.peak.nbytes < plain
    assert "before: 19.3 GB" in view.text()
    view.act("key", "KeyC", False)
    assert view.changed_by == ""
    view.act("changed_by", "parts", False)
    assert view.rows.chosen is not None


def test_a_change_that_is_no_longer_needed_goes() -> None:
    view = views.explain(changed_by="recompute")
    view.batch = 2
    assert view.changed_by == ""
    assert view.rows.fits


def test_a_larger_card_needs_no_change() -> None:
    view = views.explain()
    view.memory = "24 GB"
    assert view.text().count("Nothing has to change.") == 1


def test_the_line_of_python_makes_it_again() -> None:
    view = views.explain("vgg16", 4, "7.5 GiB")
    again = eval(view.code(), {"memlab": memlab})
    assert again.text() == view.text()


def test_the_axes_stay_while_a_slider_is_dragged() -> None:
    view = views.explain(batch=2)

    def axis() -> Any:
        chart = next(block for block in view.page(700).blocks if hasattr(block, "y"))
        return chart.y.last

    before = axis()
    view.act("batch", 0, True)
    assert axis() == before


@pytest.mark.parametrize("given", ["no network", memlab.inference_step(memlab.zoo.mnist_cnn())])
def test_what_is_no_training_step_gets_one_sentence(given: object) -> None:
    assert said(lambda: views.explain(given))


@pytest.mark.parametrize("memory", ["0 B", "a lot"])
def test_what_is_no_memory_gets_one_sentence(memory: str | int) -> None:
    assert said(lambda: views.explain(memory=memory))
