"""Techniques side by side: the rows are what planning, placing and running give on their own."""

import json
import re
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import memlab
from memlab import InputError
from memlab.clocks import roofline
from memlab.free_memory import Room
from memlab.pictures.techniques import compare
from memlab.pictures.techniques.compare import BESIDE, Trade, compare_techniques
from memlab.runtime.cpu import Cpu
from memlab.runtime.memory_guard import DoesNotFitError
from memlab.techniques.recompute import chain_optimum
from memlab.techniques.recompute.order_memory import cost
from memlab.techniques.recompute.step_as_chain import cuts

CASES = [("mnist_cnn", 4), ("deep", 4)]
SAME_RESULTS = "the same results as plain, bit for bit"
SAME = ("no_reuse", "plain", "in_place", "placed")


@cache
def network(name):
    if name == "deep":
        body = memlab.network(name, image=(4, 8, 8))
        for _ in range(6):
            body = body.conv(4, 3, pad=1).relu()
        return body.flatten().linear(3).cross_entropy()
    return memlab.zoo.build(name)


@cache
def step(name):
    return memlab.training_step(network(name))


@cache
def shown(name, batch):
    return compare_techniques(step(name), batch)


@cache
def measured(name="deep", batch=3):
    return compare_techniques(step(name), batch, measure=True, progress=False)


def line(text, name):
    """The figures of the line of a table that begins with a name."""
    (found,) = re.findall(rf"^{re.escape(name)}  +(\d.*)$", text, re.MULTILINE)
    return [cell.replace(",", "") for cell in found.split()]


# -- figures ------------------------------------------------------------------------------------


@pytest.mark.measures
@pytest.mark.parametrize("case", CASES, ids=str)
def test_each_row_is_what_its_call_gives(case):
    name, batch = case
    plain = step(name)
    for row in shown(*case).rows:
        made = eval(row.call, {"memlab": memlab, "step": plain})
        if row.placement is None:
            assert row.peak == memlab.plan(made).peak(batch)
            assert made.ops == row.step.ops
        else:
            assert row.placement.blocks == made.blocks
            assert row.placement.arena <= made.arena
            there = [each for each in memlab.plan(row.step).entries if each.birth < 0]
            first = sum(each.size.at(batch) for each in there)
            assert row.peak == first + row.placement.arena


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_runs_again_is_what_the_plain_step_has_once(case):
    name, batch = case
    for row in shown(*case).rows:
        again = [op for op in row.step.ops if " again" in op.name]
        assert row.again == len(again) == len(row.step.ops) - len(step(name).ops)
        assert row.flops == sum(op.flops.at(batch) for op in again)
        assert bool(row.again) == (row.cost > shown(*case).plain.cost)
        assert not row.again or row.key not in SAME


def test_planned_seconds_are_those_of_the_clock():
    assert all(roofline.knows(op) for op in step("mnist_cnn").ops)
    for row in shown("mnist_cnn", 4).rows:
        assert row.cost == pytest.approx(1e9 * roofline.total(row.step, 4), abs=len(row.step.ops))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_no_row_beats_a_bound(case):
    found = shown(*case)
    for row in found.rows:
        assert row.peak >= row.floor.nbytes >= found.floor.nbytes
        if row.placement is not None:
            assert row.placement.overlaps() == ()
            assert row.placement.arena >= row.placement.lower_bound


def test_the_lower_bound_is_what_stays_and_the_largest_operation():
    found, ledger = shown("linear1", 2), memlab.plan(step("linear1"))
    stays = [each for each in ledger.entries if each.birth < 0 and each.death == len(ledger.rows)]
    largest = max(
        sum(each.size.at(2) for each in {t.storage for t in op.touched()} - resident("linear1"))
        for op in step("linear1").ops
    )
    assert found.floor.nbytes == sum(each.size.at(2) for each in stays) + largest


def resident(name):
    after = {tensor.storage for tensor in step(name).live_out}
    return {tensor.storage for tensor in step(name).live_in} & after


def test_the_chain_is_the_best_of_its_stages_and_below_its_budget():
    found = shown("resnet50", 8)
    assert found.row("within").peak <= found.budget
    assert found.budget == (found.row("chain").peak + found.plain.peak) // 2
    for key in ("every", "greedy"):
        best = found.row(key).optimum
        assert best is not None
        assert best.nbytes <= found.row(key).peak
        assert best.cost <= found.row(key).cost
    assert found.row("chain").peak == min(trade.nbytes for trade in found.trades)
    pairs = list(zip(found.trades, found.trades[1:], strict=False))
    assert pairs
    assert all(a.nbytes < b.nbytes and a.cost > b.cost for a, b in pairs)


def test_every_trade_is_a_step_that_can_be_had():
    found, chain = shown("deep", 4), cuts(step("deep"))
    budgets = [nbytes for nbytes, _ in chain_optimum.frontier(chain.chain(4))]
    steps = [
        memlab.recompute(step("deep"), "chain", batch=4, budget=nbytes + chain.throughout(4))
        for nbytes in budgets
    ]
    assert found.schedules == len(budgets) > 2
    assert found.trades == compare.unbeaten(
        Trade(memlab.plan(each).peak(4), cost(each.ops, 4)) for each in steps
    )
    for row in found.rows:
        if row.key in BESIDE:
            fits = [trade for trade in found.trades if trade.nbytes <= row.peak]
            assert row.optimum == min(fits, key=lambda trade: trade.cost)


def test_a_budget_is_kept_and_named():
    least = shown("deep", 4).row("chain").peak
    found = compare_techniques(step("deep"), 4, budget=least + 500)
    assert found.row("within").peak <= least + 500
    assert f"Budget of the chain: {least + 500:,} B, as given." in found.text()


def test_the_exact_order_of_a_small_step_is_never_above_the_others():
    found = shown("linear1", 4)
    recomputed = [row for row in found.rows if row.placement is None and row.key != "in_place"]
    assert found.row("exact").peak == min(row.peak for row in recomputed)


# -- what is left out ---------------------------------------------------------------------------


def test_an_inference_has_nothing_to_recompute():
    found = compare_techniques(memlab.inference_step(network("mnist_cnn")), 4)
    assert [row.key for row in found.rows] == [*SAME]
    assert "Left out: recompute." in found.text()


def test_a_long_chain_has_slots_instead(monkeypatch):
    monkeypatch.setattr(compare, "LONGEST", 5)
    found = compare_techniques(step("deep"), 4)
    keys = [row.key for row in found.rows]
    assert "slots" in keys
    assert not {"chain", "greedy", "within"} & {*keys}
    assert "Left out: greedy and chain." in found.text()
    assert found.trades == ()


def test_what_is_too_large_for_a_proof_is_left_out():
    assert "exact" not in [row.key for row in shown("resnet50", 8).rows]
    assert "Left out: exact. 388 operations" in shown("resnet50", 8).text()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_text_and_dict_have_the_same_figures(case):
    found = shown(*case)
    text, facts = found.text(), json.loads(json.dumps(found.as_dict()))
    for row, given in zip(found.rows, facts["techniques"], strict=True):
        ratios = [f"{row.peak / found.row(key).peak:.3f}" for key in ("plain", "no_reuse")]
        cells = line(text, found.name(row))
        assert cells[:5] == [str(row.peak), *ratios, str(row.again), str(row.flops)]
        assert float(cells[5]) == given["planned_seconds"] == row.cost / 1e9
        assert (given["peak_bytes"], given["name"]) == (row.peak, found.name(row))
        assert f"{found.name(row)}: {found.distance(row)}" in text
        assert row.call in text
    assert found.headline in text


# -- runs ---------------------------------------------------------------------------------------


@pytest.mark.measures
def test_every_technique_runs_as_planned_with_the_same_results():
    found = measured()
    assert found.held
    for row in found.rows:
        assert row.measured is not None
        assert (row.measured.nbytes, row.measured.residual) == (row.peak, 0)
        assert row.measured.other == ()
        told = found.row_texts(row)
        assert told["results"] == SAME_RESULTS
        assert (told["measured"], told["residual"]) == (f"{row.peak:,}", "0")
        assert line(found.text(), found.name(row))[8:10] == [str(row.peak), "0"]
    assert found.text().count(SAME_RESULTS) == len(found.rows)
    assert found.plain.measured is not None
    assert found.plain.measured.nbytes == memlab.run(step("deep"), 3).peak


@pytest.mark.measures
def test_a_run_that_differs_is_named():
    found = measured()
    rows = list(found.rows)
    seen = rows[4].measured
    assert seen is not None
    wrong = replace(seen, nbytes=seen.nbytes + 8, residual=8, other=("gradients", "parameters"))
    rows[4] = replace(rows[4], measured=wrong)
    found = replace(found, rows=tuple(rows))
    assert not found.held
    assert "results that differ from plain: gradients, parameters" in found.text()
    assert line(found.text(), found.name(rows[4]))[9] == "8"


def test_other_bits_are_seen():
    one = compare.Results(1.0, {"g": np.zeros(3)}, {"p": np.ones(2)}, None)
    assert one.unlike(one) == ()
    other = one._replace(gradients={"g": np.array([0.0, -0.0, 0.0])}, parameters={})
    assert other.unlike(one) == ("gradients", "parameters")


def test_what_does_not_fit_is_refused_before_anything_runs(monkeypatch):
    most = max(row.peak for row in shown("deep", 4).rows)
    monkeypatch.setattr(Cpu, "room", lambda self: Room(most - 1))
    monkeypatch.setattr(compare, "_timed_runs", lambda *_, **__: pytest.fail("it ran"))
    with pytest.raises(DoesNotFitError, match="refused before anything was allocated"):
        compare_techniques(step("deep"), 4, measure=True)


# -- bad input ----------------------------------------------------------------------------------

PLAIN = memlab.training_step(memlab.zoo.build("linear1"))
BAD: dict[str, tuple[Any, dict[str, Any], str]] = {
    "no network": (3, {}, "compared on a network or a step, got 3"),
    "an unknown network": ("resnet5", {}, "did you mean 'resnet50'"),
    "no batch": (PLAIN, {"batch": 0}, "batch must be at least 1, got 0"),
    "half a batch": (PLAIN, {"batch": 1.5}, "batch must be a whole number, got 1.5"),
    "no budget": (PLAIN, {"budget": "2 apples"}, "'2 apples' is no amount of memory"),
    "too small a budget": (PLAIN, {"budget": 10}, "the least that"),
    "in place": (memlab.in_place(step("mnist_cnn")), {}, "on a step without any"),
    "recomputed": (memlab.recompute(step("deep")), {}, "on a step without any"),
    "offloaded": (memlab.offload(step("mnist_cnn")), {}, "any, and this one offloads; try"),
    "of one batch": (
        memlab.lowering(step("mnist_cnn"), batch=32, limit="1 MB"), {"batch": 8},
        "this step holds for batch 32 to 32, got 8",
    ),
}  # fmt: skip


def test_bad_input_is_one_sentence():
    for given, others, says in BAD.values():
        with pytest.raises(InputError, match=re.escape(says)) as error:
            compare_techniques(given, **others)
        assert "\n" not in str(error.value)
