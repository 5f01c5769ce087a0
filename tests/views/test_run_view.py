"""The view of a run: bars and timeline, the same figures in the picture and in the text."""

import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from functools import cache

import pytest
from IPython.core.formatters import DisplayFormatter

import memlab
from memlab import views, zoo
from memlab.errors import InputError
from memlab.views.run import picture
from memlab.views.run.rows import rows

STEPS = {
    "linear1": (lambda: memlab.training_step(zoo.linear1(), "sgd"), 4),
    "mnist_cnn": (lambda: memlab.training_step(zoo.mnist_cnn()), 5),
    "mnist_cnn, inference": (lambda: memlab.inference_step(zoo.mnist_cnn()), 3),
    "resnet18": (lambda: memlab.training_step(zoo.build("resnet18", image=64)), 2),
}
GUESSES = (None, 0, 100, "4 MB", 10**15)


@cache
def ran(name):
    make, batch = STEPS[name]
    return memlab.run(make(), batch)


def plant(run, at, nbytes=8):
    """The same run with a hidden temporary inside one operation, freed one operation late."""
    inside, after, before = list(run.inside), list(run.after), list(run.before)
    inside[at] += nbytes
    after[at] += nbytes
    before[at + 1] += nbytes
    return replace(run, inside=inside, after=after, before=before)


def drawn(view):
    """The texts of the picture, which parses and has no collision."""
    svg = picture.draw(view.rows)
    assert svg.collisions() == []
    assert svg.outside() == []
    assert min(label.size for label in svg.labels) >= 11
    ET.fromstring(view.svg())
    return [label.content for label in svg.labels]


def integers(text):
    return {int(n.replace(",", "")) for n in re.findall(r"(?<![\d.,])(\d[\d,]*) B\b", text)}


# -- figures ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", STEPS)
def test_the_rows_are_those_of_the_run(name):
    run = ran(name)
    found = rows(run, 10)
    assert [bar.nbytes for bar in found.bars] == [10, run.planned.peak(run.batch), run.peak]
    assert [bar.origin for bar in found.bars] == ["guess", "planned", "measured"]
    assert [op.planned.inside for op in found.operations] == run.planned.timeline(run.batch)
    assert [op.measured.inside for op in found.operations] == run.inside
    assert [op.residual for op in found.operations] == run.residuals
    assert found.residual == run.residual == 0


@pytest.mark.parametrize("guess", GUESSES)
@pytest.mark.parametrize("name", STEPS)
def test_the_picture_shows_the_figures_of_the_text(name, guess):
    run = ran(name)
    view = views.planned_and_measured(run, guess)
    labels, text = drawn(view), view.text()
    bars = [bar.nbytes for bar in view.rows.bars]
    in_text = {int(n.replace(",", "")) for n in re.findall(r"\d[\d,]*", text)}
    starts = {f"{nbytes:,} B" for nbytes in bars}
    shown = {label.split(" = ")[0] for label in labels}
    assert starts <= shown
    assert set(bars) <= in_text
    axis_ends = {label for label in labels if re.fullmatch(r"[\d,.]+ [kMGT]?B", label)} - starts
    assert integers(" | ".join(set(labels) - axis_ends)) <= in_text
    for origin in ("planned", "measured here"):
        assert origin in labels
        assert origin in text
    assert ("guess" in labels) is (guess is not None)
    assert f"Residual 0 B over {len(run.inside)} operations: before, inside, after." in labels
    assert f"Residual 0 B over {len(run.inside)} operations: before, inside, after." in text
    assert "has a residual" not in labels


@pytest.mark.parametrize("name", STEPS)
def test_a_planted_residual_is_seen_in_both(name):
    at = 3
    view = views.planned_and_measured(plant(ran(name), at))
    labels, text = drawn(view), view.text()
    assert [op.index for op in view.rows.differing] == [at, at + 1]
    operations = view.rows.operations
    for op in (operations[at], operations[at + 1]):
        line = next(label for label in labels if label.startswith(f"{op.index + 1} {op.row.name}"))
        assert line.endswith("residual +8 B")
        assert line in text
    assert any(label.startswith("Residual 8 B") for label in labels)
    assert "Residual 8 B" in text
    assert "has a residual" in labels
    assert view.svg() != views.planned_and_measured(ran(name)).svg()


def test_a_late_free_is_seen_although_nothing_changes_inside():
    run = ran("linear1")
    after = list(run.after)
    after[-1] += 4
    view = views.planned_and_measured(replace(run, after=after))
    line = "7 update of h, after: planned 12 B, measured here 16 B, residual +4 B"
    assert line in drawn(view)
    assert line in view.text()


def test_many_residuals_are_counted():
    run = ran("resnet18")
    view = views.planned_and_measured(replace(run, inside=[n - 8 for n in run.inside]))
    assert "and 146 others" in drawn(view)
    assert "and 146 others" in view.text()
    assert "residual −8 B" in view.text()


# -- words --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("guess", "says"),
    [
        (76, "The guess is right to the byte."),
        (152, "The guess is exactly 2 times the plan."),
        (38, "The plan is exactly 2 times the guess."),
        (19, "The plan is exactly 4 times the guess."),
        (77, "The guess is 1.013 times the plan."),
        (0, "The guess and the plan have no ratio: one of them is 0 B."),
    ],
)
def test_the_guess_is_compared_with_the_plan(guess, says):
    view = views.planned_and_measured(ran("linear1"), guess)
    assert says in drawn(view)
    assert says in view.text()


def test_recorded_figures_say_so():
    run = ran("linear1")
    view = views.planned_and_measured(
        replace(run, measured=replace(run.measured, origin="recorded"))
    )
    assert "recorded" in drawn(view)
    assert "measured here" not in view.text() + view.svg()


def test_seconds_are_written_only_where_they_are_asked_for():
    view = views.planned_and_measured(replace(ran("linear1"), seconds=98.765))
    assert "98.765" not in view.text() + view.svg()
    assert "It took 98.765 s." in view.text(seconds=True)


@pytest.mark.parametrize("guess", [-1, 1.5, "much"])
def test_a_bad_guess_is_refused(guess):
    with pytest.raises(InputError):
        views.planned_and_measured(ran("linear1"), guess)


def test_only_a_run_is_shown():
    with pytest.raises(InputError, match="a run is shown"):
        views.planned_and_measured(memlab.plan(ran("linear1").step))  # type: ignore[arg-type]


# -- in a notebook ------------------------------------------------------------------------------


def test_a_notebook_stores_picture_and_text(monkeypatch):
    run, formatter = ran("linear1"), DisplayFormatter()
    formatter.active_types = ["text/plain", "image/svg+xml"]
    shell = type("Shell", (), {"display_formatter": formatter})()
    monkeypatch.setattr("IPython.core.getipython.get_ipython", lambda: shell)
    memlab._show_in_notebooks()
    data, _ = formatter.format(run)
    view = views.planned_and_measured(run)
    assert data == {"image/svg+xml": view.svg(), "text/plain": view.text()}
    assert view._repr_mimebundle_() == data
    assert formatter.format(view)[0] == data


def test_the_same_run_is_stored_the_same():
    make, batch = STEPS["linear1"]
    again = memlab.run(make(), batch)
    assert (
        views.planned_and_measured(again).svg() == views.planned_and_measured(ran("linear1")).svg()
    )
