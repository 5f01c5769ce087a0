"""Steps side by side: the figures are the plans', runs agree with them, text and dict with both."""

import json
import re
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

import memlab
from memlab import InputError, units
from memlab.devices import Room
from memlab.runtime.cpu import Cpu
from memlab.runtime.guard import DoesNotFitError
from memlab.studies import steps as study
from memlab.studies.figures import STACK
from memlab.studies.steps import compare_steps
from memlab.techniques.precision import MODES


@cache
def steps(name="vgg16", optimizer="adam"):
    """A step in fp32 and in every mode."""
    first = memlab.training_step(memlab.zoo.build(name), optimizer)
    return {"fp32": first} | {f"as {mode}": memlab.precision(first, mode) for mode in MODES}


@cache
def compared(name="vgg16", optimizer="adam", batch=32):
    return compare_steps(steps(name, optimizer), batch)


def lines(table, begins):
    """The cells of every line of a table that begins so."""
    return [line[1:] for line in table if line[0] == begins]


CASES = [("vgg16", "adam", 32), ("resnet50", "momentum", 32), ("mnist_cnn", "sgd", 1)]


# -- figures ------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_rows_are_the_plans(case):
    *which, batch = case
    for name, row in zip(steps(*which), compared(*case).rows, strict=True):
        step = steps(*which)[name]
        ledger = memlab.plan(step)
        assert (row.name, row.operations) == (name, len(step.ops))
        assert row.peak == ledger.peak_at(batch)
        assert sum(row.at_peak.values()) == row.peak.nbytes
        for role, nbytes in ledger.roles(batch).items():
            assert sum(row.at_peak[look] for look in STACK if look.role is role) == nbytes
        assert row.parameters == memlab.zoo.build(which[0]).parameters


def test_the_largest_of_every_role_is_found_over_all_operations():
    row = compared("mnist_cnn", "adam", 8).rows[3]
    ledger = memlab.plan(steps("mnist_cnn", "adam")["as mixed fp16"])
    for look in STACK:
        assert row.largest[look] == max(
            sum(
                8 * entry.size.per_sample if look.grows else entry.size.fixed
                for entry in ledger.alive(at)
                if entry.role is look.role
            )
            for at in range(len(ledger.rows))
        )


@pytest.mark.parametrize(
    ("optimizer", "expected"),
    [("adam", (16, 8, 8, 16, 16)), ("momentum", (12, 6, 6, 12, 12)), ("sgd", (8, 4, 4, 8, 8))],
)
def test_mixed_precision_saves_nothing_on_model_state(optimizer, expected):
    found = compared("vgg16", optimizer)
    scaling = {"as mixed fp16": 13}  # the loss scale and its two counts, 4 bytes each; a flag
    for row, each in zip(found.rows, expected, strict=True):
        assert row.state == each * row.parameters + scaling.get(row.name, 0)
        assert row.per_parameter == f"{each}.00"
    halves = [(r.name, sum(n for k, n in r.at_peak.items() if k.grows)) for r in found.rows]
    assert all(2 * n < dict(halves)["fp32"] * 1.01 for name, n in halves if name != "fp32")


def test_extra_operations_are_those_that_the_first_step_has_not():
    found = compared()
    by_name = {row.name: row for row in found.rows}
    more = ("check of the gradients", "update of the loss scale")
    assert by_name["as mixed fp16"].more == more
    assert by_name["as mixed bf16"].more == ()
    turned = compare_steps({"a": steps()["as mixed fp16"], "b": steps()["fp32"]}, 32)
    assert turned.rows[1].fewer == more
    said = "2 fewer: check of the gradients, update of the loss scale"
    assert turned.rows[1].facts.endswith(f" · {said}")


def test_many_extra_operations_are_counted():
    network = memlab.zoo.build("mnist_cnn")
    both = {"inference": memlab.inference_step(network), "training": steps("mnist_cnn")["fp32"]}
    first, other = compare_steps(both, 4).rows
    (more, *_) = other.changes
    assert more.startswith(f"{len(other.more)} more: {', '.join(other.more[: study.NAMED])} and ")
    assert more.endswith(f" and {len(other.more) - study.NAMED} others")
    assert first.operations + len(other.more) - len(other.fewer) == other.operations


def test_what_is_learned_in_an_inference_step_is_all_of_its_model_state():
    network = memlab.zoo.build("resnet18")
    found = compare_steps({"inference": memlab.inference_step(network)}, 4)
    assert found.first.state == 4 * found.first.parameters
    assert found.headline == f"Peak {units.short(found.first.peak.nbytes)}."


def test_the_headline_names_the_lowest_peak():
    found = compared("mnist_cnn", "adam", 8)
    least = min(found.rows, key=lambda row: row.peak.nbytes)
    assert found.headline.startswith(f"The lowest peak: {least.name}, ")
    turned = replace(found, rows=(least, *(row for row in found.rows if row is not least)))
    assert turned.headline.startswith(f"The lowest peak is the first: {least.name}, ")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_table_and_dict_have_the_figures_of_the_rows(case):
    found = compared(*case)
    rows, table = found.rows, found.table()
    facts = json.loads(json.dumps(found.as_dict()))["rows"]
    peaks = [row.peak.nbytes for row in rows]
    assert lines(table, "peak") == [[f"{nbytes:,}" for nbytes in peaks]]
    assert [each["peak"] for each in facts] == peaks
    assert lines(table, "peak, ratio to fp32") == [[f"{n / peaks[0]:.3f}" for n in peaks]]
    assert lines(table, "model state, bytes") == [[f"{row.state:,}" for row in rows]]
    for part in STACK:
        if any(row.largest[part] for row in rows):
            *at_peak, largest = lines(table, f"  {part.label}")
            assert largest == [f"{row.largest[part]:,}" for row in rows]
            assert [each["largest"][part.label] for each in facts] == [
                row.largest[part] for row in rows
            ]
            for line in at_peak:
                assert line == [f"{row.at_peak[part]:,}" for row in rows]
    for row in rows:
        peak = f"peak in operation {row.peak.index + 1}, {row.peak.row.name}"
        assert row.facts.startswith(f"planned · {peak} · model state {row.per_parameter} B per ")
        assert row.facts in found.text()


# -- measured -----------------------------------------------------------------------------------


@pytest.mark.measures
def test_a_measured_comparison_runs_every_step_and_says_what_it_used():
    found = compare_steps(steps("linear1"), 4, measure=True, progress=False)
    table = found.table()
    for row, facts in zip(found.rows, found.as_dict()["rows"], strict=True):
        assert row.measured is not None
        assert (row.measured.residual, row.measured.nbytes) == (0, row.peak.nbytes)
        assert f"measured here: {row.peak.nbytes:,} B, residual 0 B" in row.facts
        assert facts["measured"]["nbytes"] == row.peak.nbytes
    peaks = [f"{row.peak.nbytes:,}" for row in found.rows]
    assert lines(table, "measured here, peak, bytes") == [peaks]
    assert lines(table, "residual, bytes") == [["0"] * len(peaks)]


def test_a_residual_is_said():
    found = compared("linear1", "adam", 4)
    peak = found.first.peak.nbytes
    more = study.Measured(3 * peak, 2 * peak, 0.5)
    wrong = replace(found, rows=tuple(replace(row, measured=more) for row in found.rows))
    assert f"residual {2 * peak:,} B, 0.500 s" in wrong.first.facts
    assert lines(wrong.table(), "measured here, peak, bytes")[0][0] == f"{3 * peak:,}"


@pytest.mark.measures
def test_what_does_not_fit_is_refused_before_anything_runs(monkeypatch):
    peaks = [row.peak.nbytes for row in compared("mnist_cnn", "adam", 8).rows]
    monkeypatch.setattr(Cpu, "room", lambda self: Room(max(peaks) - 1))
    monkeypatch.setattr(study, "run", lambda *_, **__: pytest.fail("it ran"))
    with pytest.raises(DoesNotFitError, match="refused before anything was allocated"):
        compare_steps(steps("mnist_cnn"), 8, measure=True)


@pytest.mark.measures
def test_a_step_without_kernels_is_refused_before_anything_runs(monkeypatch):
    network = memlab.zoo.build("linear1")
    monkeypatch.setattr(study, "run", lambda *_, **__: pytest.fail("it ran"))
    both = {name: memlab.training_step(network, format=name) for name in ("fp32", "fp16")}
    with pytest.raises(InputError, match="fp16"):
        compare_steps(both, 4, measure=True)


# -- bad input ----------------------------------------------------------------------------------

STEP = memlab.training_step(memlab.zoo.build("linear1"))
BAD: dict[str, tuple[Any, Any, str]] = {
    "nothing": ({}, 32, "compared by their names"),
    "a step alone": (STEP, 32, "compared by their names"),
    "a list": ([STEP], 32, "compared by their names"),
    "no name": ({1: STEP}, 32, "must be text, got 1"),
    "an empty name": ({" ": STEP}, 32, "must be text, got ' '"),
    "no step": ({"a": STEP, "b": memlab.plan(STEP)}, 32, "b must be a step"),
    "no batch": ({"a": STEP}, 0, "batch must be at least 1, got 0"),
    "half a batch": ({"a": STEP}, 1.5, "batch must be a whole number, got 1.5"),
    "two networks": (
        {"a": STEP, "b": memlab.training_step(memlab.zoo.build("vgg11"))}, 32,
        "steps of one network, got Single linear layer and VGG-11",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("given", "batch", "says"), BAD.values(), ids=BAD)
def test_bad_input_is_one_sentence(given, batch, says):
    with pytest.raises(InputError, match=re.escape(says)) as error:
        compare_steps(given, batch)
    assert "\n" not in str(error.value)


def test_a_batch_that_a_step_does_not_hold_for_is_refused_by_name():
    step = memlab.training_step(memlab.zoo.build("mnist_cnn"))
    fitted = memlab.lowering(step, batch=32, limit="1 MB")
    with pytest.raises(InputError, match="within 1 MB holds for batch 32 to 32, got 8"):
        compare_steps({"any": step, "within 1 MB": fitted}, 8)
    assert len(compare_steps({"any": step, "within 1 MB": fitted}, 32).rows) == 2
