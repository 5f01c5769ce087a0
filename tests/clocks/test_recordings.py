"""Figures of a machine that was measured: kept, read again, and never half."""

from __future__ import annotations

import json
import warnings

import pytest

import memlab
from memlab import InputError, free_memory
from memlab.clocks import measured_rates, roofline
from memlab.pictures.explain.explained import Explained
from memlab.pictures.explain.explained_changes import ExplainedStep
from memlab.pictures.recompute import schedules, subject
from memlab.pictures.techniques.compare import compare_techniques

DATA = {
    "schema": measured_rates.SCHEMA,
    "machine": {"processor": free_memory.processor(), "date": "2026-01-02"},
    "command": measured_rates.COMMAND,
    "flops": 1e9,
    "bandwidth": 1e8,
    "layers": [
        {"layer": [3, 1, 4, 6, 64], "shares": {"im2col-image": {"forward": 0.5, "backward": 0.4}}}
    ],
    "kinds": {"relu": [[1000, 0, 0.5], [100_000, 0, 0.25]]},
}


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv(measured_rates.PLACE, str(tmp_path / "kept" / "machine.json"))
    return measured_rates.place()


def relu(batch: int, machine=None) -> float:
    x = memlab.network("one layer", image=(4, 8, 8)).relu()
    step = memlab.training_step(x.flatten().linear(3).cross_entropy())
    return roofline.seconds(next(op for op in step.ops if op.kind == "relu"), batch, machine)


def test_what_is_kept_counts_and_says_so(place) -> None:
    step = memlab.training_step(memlab.zoo.mnist_cnn())
    assert memlab.clock(step, 2).machine == roofline.machine("recorded").title
    assert "recorded on" in memlab.clock(step, 2).machine
    assert measured_rates.save(DATA) == place
    assert (
        memlab.clock(step, 2).machine == f"{free_memory.processor()}, measured here on 2026-01-02"
    )
    assert memlab.clock(step, 2, "here").seconds == memlab.clock(step, 2).seconds
    assert "recorded on" in memlab.clock(step, 2, "recorded").machine
    assert roofline.total(step, 2, roofline.machine("recorded")) != roofline.total(step, 2)


def test_pictures_say_whose_seconds_they_show(place) -> None:
    step = memlab.training_step(memlab.zoo.mnist_cnn())

    def said() -> list[str]:
        notes = [schedules(subject("mnist_cnn"), 2).planned]
        notes += (
            compare_techniques(step, 2).notes() + Explained(ExplainedStep(step), 2, 10**9).notes
        )
        return [note for note in notes if note.startswith("Time is planned")]

    assert all("rates recorded on" in note for note in said())
    measured_rates.save(DATA)
    here = f"one thread of {free_memory.processor()}, rates measured here on 2026-01-02"
    assert [here in note for note in said()] == [True, True, True]


def test_a_kind_takes_the_part_that_operations_of_about_its_size_reached(place) -> None:
    measured_rates.save(DATA)
    moved = 2 * 4 * 4 * 8 * 8  # read and written, fp32
    assert relu(1) == moved / 1e8 / 0.5
    assert relu(40) == 40 * moved / 1e8 / 0.25


def test_this_machine_is_refused_where_it_was_not_measured(place) -> None:
    with pytest.raises(InputError, match="was not measured; do it with `memlab bench machine`"):
        memlab.clock(memlab.training_step(memlab.zoo.mnist_cnn()), 1, "here")
    other = {**DATA, "machine": {"processor": "another", "date": "2026-01-02"}}
    measured_rates.save(other)
    assert measured_rates.kept() is None


@pytest.mark.table
@pytest.mark.parametrize(
    "wrong",
    ["", "{", "[]", '"x"', "{}", json.dumps(DATA)[:-9]]
    + [json.dumps({**DATA, key: value}) for key, value in (
        ("schema", "memlab.machine/0"), ("flops", 0), ("bandwidth", float("nan")),
        ("machine", {}), ("layers", 3), ("kinds", {"relu": [[1]]}),
    )],
)  # fmt: skip
def test_a_damaged_file_is_named_and_ignored(place, wrong) -> None:
    place.parent.mkdir()
    place.write_text(wrong)
    with pytest.warns(UserWarning, match="machine.json is ignored, .* measure again with"):
        found = measured_rates.find()
    assert found is measured_rates.recorded()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert measured_rates.find() is found  # said once


def test_damaged_figures_are_not_kept(place) -> None:
    measured_rates.save(DATA)
    with pytest.raises(InputError, match="damaged"):
        measured_rates.save({**DATA, "flops": -1})
    assert measured_rates.find().flops == 1e9
