"""Curves of trainings: picture and text say the same, and are right."""

from __future__ import annotations

from typing import Any

import pytest

from memlab import InputError, views
from memlab.pictures.draw.marks import CROSS, Glyph
from memlab.pictures.draw.scale import LogScale, ratios_around
from memlab.pictures.values.number_text import figure, share
from tests.pictures.shown import charts, drawn
from tests.pictures.trainings import HISTORIES, NAN, history


@pytest.mark.parametrize("name", ["several", "nothing but NaN", "most"])
def test_curves_and_text_show_every_training_with_its_error(name: str) -> None:
    view = views.training_curves(HISTORIES[name])
    labels, text = drawn(view), view.text()
    for curve in view.curves:
        error = share(curve.history.error)
        assert any(curve.name.startswith(label.rstrip("…")) for label in labels)
        assert error in labels
        (line,) = (line for line in text.split("\n") if line.startswith(f"{curve.name}  "))
        assert error in line
        assert curve.state in " ".join(labels)
        assert f"{curve.name}: {curve.state}." in text or figure(curve.level) in line


def test_a_name_stands_beside_its_error() -> None:
    view = views.training_curves(HISTORIES["several"])
    at = {label.content: label.box for label in view.page().svg().labels}
    for name, error in (("fp16", "100.0 %"), ("mixed bf16", "5.0 %")):
        assert at[name].top == pytest.approx(at[error].top)
        assert at[name].right < at[error].left
    states = [
        box.right for content, box in at.items() if content.startswith(("loss NaN", "steps,"))
    ]
    assert max(states) < at["test error at the end"].left


def test_a_loss_that_is_no_number_is_told_and_marked() -> None:
    view = views.training_curves(HISTORIES["several"])
    labels = " ".join(drawn(view))
    assert "loss NaN or infinite from step 38 on" in labels
    assert "loss NaN or infinite in 1 of 528 steps, first in step 101" in labels
    assert "fp16: loss NaN or infinite from step 38 on." in view.text()
    crosses = [mark for mark in charts(view)[0].marks if isinstance(mark, Glyph)]
    assert [(mark.x, mark.d) for mark in crosses] == [(38, CROSS), (101, CROSS)]
    assert "65,536 → 32,768" in view.text()


def test_a_point_is_the_mean_of_steps_and_none_where_one_is_no_number() -> None:
    fine, broken = (
        views.training_curves({"a": history(*losses)}).curves[0]
        for losses in (range(1, 241), (*range(1, 7), NAN, *range(8, 241)))
    )
    assert fine.window == 4
    assert fine.points[:2] == [(2.5, 2.5), (6.5, 6.5)]
    assert [point for point in fine.points if point not in broken.points] == [(6.5, 6.5)]


def test_an_error_at_the_end_is_the_mean_of_the_last_third() -> None:
    training = history(1.0, errors=(0.9, 0.8, 0.7, 0.6, 0.2, 0.1))
    assert training.error == pytest.approx(0.15)
    view = views.training_curves({"a": training})
    assert "15.0 %" in drawn(view)
    assert "Test error at the end: mean of the last 2 of 6 epochs." in drawn(view)


@pytest.mark.parametrize(
    "given", [{}, 3, [history(1.0)], {"a": 3}, {str(i): history(1.0) for i in range(11)}]
)
def test_only_trainings_are_drawn(given: Any) -> None:
    with pytest.raises(InputError, match=r"got .*; try .*memlab\.train\(network, data\)"):
        views.training_curves(given)


@pytest.mark.parametrize("ends", [(0.013, 2.9), (1.0, 1.0), (1e-30, 1e30)])
def test_an_axis_of_ratios_has_a_few_lines_around_its_values(ends: tuple[float, float]) -> None:
    ratios = ratios_around(ends, figure)
    assert isinstance(ratios, LogScale)
    assert 0 < ratios.at(ends[0]) <= ratios.at(ends[1]) < 1
    assert 2 <= len(ratios.ticks) <= 9
    assert ratios.at(0.0) == 0


def test_a_notebook_gets_picture_and_text() -> None:
    view = views.training_curves(HISTORIES["several"])
    assert "nan" not in view.svg()
    assert view._repr_mimebundle_() == {"image/svg+xml": view.svg(), "text/plain": view.text()}
    assert str(view) == view.text() == repr(view)
