"""The view of a run: bars and timeline, the same figures in the picture and in the text."""

import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from IPython.core.formatters import DisplayFormatter

import memlab
from memlab import notebook, views
from tests.pictures.shown import drawn
from tests.pictures.values.test_runs import STEPS, ran

pytestmark = pytest.mark.measures


def plant(run, at, nbytes=8):
    """The same run with a hidden temporary inside one operation, freed one operation late."""
    inside, after, before = list(run.inside), list(run.after), list(run.before)
    inside[at] += nbytes
    after[at] += nbytes
    before[at + 1] += nbytes
    return replace(run, inside=inside, after=after, before=before)


def integers(text):
    return {int(n.replace(",", "")) for n in re.findall(r"(?<![\d.,])(\d[\d,]*) B\b", text)}


@pytest.mark.parametrize("name", STEPS)
def test_the_picture_shows_the_figures_of_the_text(name):
    run = ran(name)
    view = views.planned_and_measured(run)
    labels, text = drawn(view), view.text()
    bars = [bar.nbytes for bar in view.rows.bars]
    in_text = {int(n.replace(",", "")) for n in re.findall(r"\d[\d,]*", text)}
    starts = {f"{nbytes:,} B" for nbytes in bars}
    shown = {re.split(" = | · ", label)[0] for label in labels}
    assert starts <= shown
    assert set(bars) <= in_text
    axis_ends = {label for label in labels if re.fullmatch(r"[\d,.]+ [kMGT]?B", label)} - starts
    assert integers(" | ".join(set(labels) - axis_ends)) <= in_text
    for origin in ("planned", "measured here"):
        assert origin in labels
        assert origin in text
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


def test_what_is_said_is_drawn():
    run = ran("resnet18")
    view = views.planned_and_measured(replace(run, inside=[n - 8 for n in run.inside]))
    assert {*view.rows.differences()} <= {*drawn(view)}


def test_the_text_has_the_sentences_the_peaks_and_the_tables():
    view = views.planned_and_measured(plant(ran("linear1"), 3))
    assert view.text().split("\n\n") == [
        "\n".join([f"{view.rows.title}.", *view.rows.sentences]),
        "planned         76 B   operation 4, backward of loss\n"
        "measured here   84 B   operation 4, backward of loss",
        "Operations with a residual\n"
        "  4 backward of loss, inside: planned 76 B, measured here 84 B, residual +8 B\n"
        "  5 backward of y, before: planned 60 B, measured here 68 B, residual +8 B",
        "inside operation     planned   measured here   residual\n"
        "1 h                       56              56          0\n"
        "2 y                       72              72          0\n"
        "3 loss                    60              60          0\n"
        "4 backward of loss        76              84         +8\n"
        "5 backward of y           76              76         +8\n"
        "6 backward of h           52              52          0\n"
        "7 update of h             20              20          0",
    ]


def test_seconds_are_written_only_where_they_are_asked_for():
    view = views.planned_and_measured(replace(ran("linear1"), seconds=98.765))
    assert "98.765" not in view.text() + view.svg()
    assert "It took 98.765 s." in view.text(seconds=True)


@pytest.mark.parametrize("name", STEPS)
def test_every_bar_and_every_operation_says_its_bytes_on_hover(name):
    view = views.planned_and_measured(ran(name))
    facts = {each.text or "" for each in ET.fromstring(view.svg()).iterfind(".//{*}g/{*}title")}
    for bar in view.rows.bars:
        assert any(fact.endswith(f"{bar.nbytes:,} B; {bar.where}") for fact in facts)
    for op in view.rows.operations:
        planned, measured = f"{op.planned.inside:,} B", f"{op.measured.inside:,} B"
        said = f"operation {op.index + 1}, {op.row.name}; "
        assert f"{said}planned {planned}, measured here {measured}" in facts


def test_recorded_figures_say_so():
    run = ran("linear1")
    view = views.planned_and_measured(
        replace(run, measured=replace(run.measured, origin="recorded"))
    )
    assert "recorded" in drawn(view)
    assert "measured here" not in view.text() + view.svg()


# -- in a notebook ------------------------------------------------------------------------------


def test_a_notebook_stores_picture_and_text(monkeypatch):
    run, formatter = ran("linear1"), DisplayFormatter()
    formatter.active_types = ["text/plain", "image/svg+xml"]
    shell = type("Shell", (), {"display_formatter": formatter})()
    monkeypatch.setattr("IPython.core.getipython.get_ipython", lambda: shell)
    notebook.show_values()
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
