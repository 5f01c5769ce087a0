"""This machine, measured on a network small enough for a test."""

from __future__ import annotations

import json
from contextlib import nullcontext

import pytest

import memlab
from benchmarks import planned_seconds
from memlab.bench import measured_machine
from memlab.clocks import measured_rates, roofline
from memlab.layers.algorithms import DEFAULT, on

STEPS: tuple[measured_machine.Subject, ...] = (("mnist_cnn", None, 2),)
SIZES = (16, 8)
MEASURE = measured_machine.measure


@pytest.fixture(autouse=True)
def tiny(monkeypatch, tmp_path):
    monkeypatch.setenv(measured_rates.PLACE, str(tmp_path / "machine.json"))
    for name in ("product", "copy"):
        monkeypatch.setattr(measured_machine, name, lambda rounds: 1e9)
    for module in (measured_machine, planned_seconds):
        monkeypatch.setattr(module, "freed_memory_kept", nullcontext)


def test_a_measured_machine_knows_its_own_step() -> None:
    """Each operation has a row of its own there, so that the clock gives its seconds back."""
    step = memlab.training_step(memlab.zoo.mnist_cnn())
    data = json.loads(json.dumps(MEASURE(STEPS, SIZES, 1)))
    measured_rates.save(data)
    assert {op.kind for op in step.ops if not op.algorithm} == set(data["kinds"])
    assert {way for row in data["layers"] for way in row["shares"]} == set(on("cpu"))
    assert all(DEFAULT in row["shares"] for row in data["layers"])
    found = measured_rates.find()
    assert found.here
    assert found.spread == data["spread"] >= 0
    for op in step.ops:
        share = roofline.share(op) if op.algorithm else found.reached(
            op.kind, op.bytes_moved.at(2), op.flops.at(2)
        )  # fmt: skip
        assert 0 < share != 1


def test_planned_seconds_stand_against_measured_ones(monkeypatch) -> None:
    measured_rates.save(MEASURE(STEPS, SIZES, 1))
    monkeypatch.setattr(planned_seconds, "CHOSEN", (("mnist_cnn", None, 2),))
    monkeypatch.setattr(planned_seconds, "PAIRS", (("mnist_cnn", None, 3),))
    monkeypatch.setattr(planned_seconds, "OFFLOADED", (("vgg11", 32, 2),))
    monkeypatch.setattr(planned_seconds, "ROUNDS", 1)
    pair, mean, moving, _, chosen = planned_seconds.run().lines
    assert moving.value > 0
    assert mean.value == pytest.approx(max(pair.value, 1 / pair.value))
    assert "measured here on" in mean.name
    assert mean.aim == planned_seconds.AIM
    assert chosen.value > 0


def test_nothing_is_the_fastest_where_this_machine_was_not_measured() -> None:
    (line,) = planned_seconds._chosen((("mnist_cnn", None, 2),), 1)
    assert line.name.endswith("`memlab bench machine` has not measured this machine")


def test_what_was_measured_is_kept(monkeypatch) -> None:
    monkeypatch.setattr(measured_machine, "STEPS", STEPS)
    monkeypatch.setattr(measured_machine, "measure", lambda: MEASURE(STEPS, SIZES, 1))
    assert str(measured_rates.place()) in str(measured_machine.run())
    assert measured_rates.find().here
