"""A run beside its plan: its figures are those of the run, and what differs is named and drawn."""

import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from IPython.core.formatters import DisplayFormatter

import memlab
from memlab import notebook_hooks, views, zoo
from memlab.errors import InputError
from tests.pictures.shown import drawn
from tests.pictures.trainings import as_if_run

LINEAR = as_if_run(memlab.training_step(zoo.linear1(), "sgd"), 4)
NETWORK = as_if_run(memlab.training_step(zoo.build("resnet18", image=64)), 2)


def plant(run, at, nbytes=8):
    """The same run with a hidden temporary inside one operation, freed one operation late."""
    inside, after, before = list(run.inside), list(run.after), list(run.before)
    inside[at] += nbytes
    after[at] += nbytes
    before[at + 1] += nbytes
    return replace(run, inside=inside, after=after, before=before)


@pytest.mark.measures
def test_the_figures_are_those_of_a_run():
    run = memlab.run(memlab.training_step(zoo.mnist_cnn()), 5)
    found = views.planned_and_measured(run)
    assert [peak.nbytes for peak in found.peaks] == [run.planned.peak(5), run.peak]
    assert [peak.origin for peak in found.peaks] == ["planned", "measured"]
    assert [op.planned.inside for op in found.operations] == run.planned.timeline(5)
    assert [op.measured.inside for op in found.operations] == run.inside
    assert [op.residual for op in found.operations] == run.residuals
    assert found.residual == run.residual == 0


def test_the_table_has_the_most_of_every_phase():
    _, _, table = views.planned_and_measured(NETWORK).text().split("\n\n")
    lines = [re.split(r"  +", line) for line in table.splitlines()[1:]]
    ends = [int(re.findall(r"\d+", name)[-1]) for name, *_ in lines]
    pairs = zip([0, *ends], ends, strict=False)
    most = [f"{max(NETWORK.inside[a:b]):,}" for a, b in pairs]
    assert [line[1:] for line in lines] == [[nbytes, nbytes, "0"] for nbytes in most]


def test_a_planted_residual_is_named_and_drawn():
    view = views.planned_and_measured(plant(LINEAR, 3))
    labels = drawn(view)
    assert [op.index for op in view.differing] == [3, 4]
    assert view.differences() == [
        "4 backward of loss, inside: planned 76 B, measured here 84 B, residual +8 B",
        "5 backward of y, before: planned 60 B, measured here 68 B, residual +8 B",
    ]
    assert {*view.differences(), "has a residual"} <= {*labels}
    assert "has a residual" not in drawn(views.planned_and_measured(LINEAR))


def test_a_late_free_is_named_although_nothing_changes_inside():
    after = [*LINEAR.after[:-1], LINEAR.after[-1] + 4]
    line = "7 update of h, after: planned 12 B, measured here 16 B, residual +4 B"
    assert views.planned_and_measured(replace(LINEAR, after=after)).differences() == [line]


def test_many_residuals_are_counted():
    run = replace(NETWORK, inside=[nbytes - 8 for nbytes in NETWORK.inside])
    lines = views.planned_and_measured(run).differences()
    assert len(lines) == 6
    assert lines[0].endswith("residual −8 B")
    assert lines[-1] == "and 146 others"


def test_seconds_are_written_only_where_they_are_asked_for():
    view = views.planned_and_measured(replace(LINEAR, seconds=98.765))
    assert "98.765" not in view.text() + view.svg()
    assert "It took 98.765 s." in view.text(seconds=True)


def test_every_bar_and_every_operation_says_its_bytes_on_hover():
    view = views.planned_and_measured(LINEAR)
    facts = {each.text or "" for each in ET.fromstring(view.svg()).iterfind(".//{*}g/{*}title")}
    for peak in view.peaks:
        assert any(fact.endswith(f"{peak.nbytes:,} B; {peak.where}") for fact in facts)
    for op in view.operations:
        planned, measured = f"{op.planned.inside:,} B", f"{op.measured.inside:,} B"
        assert f"{op.where}; planned {planned}, measured here {measured}" in facts


def test_recorded_figures_say_so():
    recorded = replace(LINEAR, measured=replace(LINEAR.measured, origin="recorded"))
    view = views.planned_and_measured(recorded)
    assert "recorded" in drawn(view)
    assert "measured here" not in view.text() + view.svg()


def test_only_a_run_is_shown():
    with pytest.raises(InputError, match="a run is shown"):
        views.planned_and_measured(LINEAR.planned)  # type: ignore[arg-type]  # wrong on purpose


def test_a_notebook_stores_picture_and_text(monkeypatch):
    formatter = DisplayFormatter()
    formatter.active_types = ["text/plain", "image/svg+xml"]
    shell = type("Shell", (), {"display_formatter": formatter})()
    monkeypatch.setattr("IPython.core.getipython.get_ipython", lambda: shell)
    notebook_hooks.show_values()
    data, _ = formatter.format(LINEAR)
    view = views.planned_and_measured(LINEAR)
    assert data == {"image/svg+xml": view.svg(), "text/plain": view.text()}
    assert view._repr_mimebundle_() == data
