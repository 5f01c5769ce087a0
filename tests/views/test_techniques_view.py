"""Techniques side by side: the rows are what planning, placing and running give on their own."""

import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import memlab
from memlab import InputError, units, views
from memlab.devices import Room
from memlab.planner import chains, clock
from memlab.runtime.cpu import Cpu
from memlab.runtime.guard import DoesNotFitError
from memlab.techniques.cuts import cuts
from memlab.views.techniques import choices, measure, optimum, picture, words
from memlab.views.techniques.looks import LOOKS
from memlab.views.techniques.rows import BESIDE
from memlab.views.techniques.view import Techniques

SMALL = ("linear1", "mnist_cnn", "one layer", "deep")
CASES = [(name, 4) for name in SMALL] + [("resnet50", 8)]
SAME = ("no_reuse", "plain", "in_place", "placed")


@cache
def network(name):
    if name == "one layer":
        return memlab.network(name, image=(2, 6, 6)).conv(3, 3).flatten().cross_entropy()
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
    return views.techniques(step(name), batch)


@cache
def measured(name="deep", batch=3):
    return views.techniques(step(name), batch, measure=True, progress=False)


def drawn(found):
    """Draw it; no text overlaps another or the edge or is too small."""
    svg = picture.draw(found)
    assert svg.collisions() == []
    assert svg.outside() == []
    assert min(label.size for label in svg.labels) >= 11
    return [label.content for label in svg.labels]


def line(text, name):
    """The figures of the line of a table that begins with a name."""
    (found,) = re.findall(rf"^{re.escape(name)}  +(\d.*)$", text, re.MULTILINE)
    return [cell.replace(",", "") for cell in found.split()]


# -- figures ------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=str)
def test_each_row_is_what_its_call_gives(case):
    name, batch = case
    plain = step(name)
    for row in shown(*case).rows.rows:
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
    for row in shown(*case).rows.rows:
        again = [op for op in row.step.ops if " again" in op.name]
        assert row.again == len(again) == len(row.step.ops) - len(step(name).ops)
        assert row.flops == sum(op.flops.at(batch) for op in again)
        assert bool(row.again) == (row.cost > shown(*case).rows.plain.cost)
        assert not row.again or row.key not in SAME


def test_planned_seconds_are_those_of_the_clock():
    assert all(clock.knows(op) for op in step("mnist_cnn").ops)
    for row in shown("mnist_cnn", 4).rows.rows:
        assert row.cost == pytest.approx(1e9 * clock.total(row.step, 4), abs=len(row.step.ops))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_no_row_beats_a_bound(case):
    found = shown(*case).rows
    for row in found.rows:
        assert row.peak >= row.floor.nbytes >= found.floor.nbytes
        if row.placement is not None:
            assert row.placement.overlaps() == ()
            assert row.placement.arena >= row.placement.lower_bound


def test_the_lower_bound_is_what_stays_and_the_largest_operation():
    found, ledger = shown("linear1", 2).rows, memlab.plan(step("linear1"))
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
    found = shown("resnet50", 8).rows
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
    found, chain = shown("deep", 4).rows, cuts(step("deep"))
    budgets = [nbytes for nbytes, _ in chains.frontier(chain.chain(4))]
    steps = [
        memlab.recompute(step("deep"), "chain", batch=4, budget=nbytes + chain.throughout(4))
        for nbytes in budgets
    ]
    assert found.schedules == len(budgets) > 2
    assert found.trades == optimum.unbeaten(optimum.trade(each, 4) for each in steps)
    for row in found.rows:
        if row.key in BESIDE:
            fits = [trade for trade in found.trades if trade.nbytes <= row.peak]
            assert row.optimum == min(fits, key=lambda trade: trade.cost)


def test_a_budget_is_kept_and_named():
    least = shown("deep", 4).rows.row("chain").peak
    view = views.techniques(step("deep"), 4, budget=least + 500)
    assert view.rows.row("within").peak <= least + 500
    assert f"Budget of the chain: {least + 500:,} B, as given." in view.text()
    assert words.name(view.rows.row("within"), view.rows) in drawn(view.rows)


def test_the_exact_order_of_a_small_step_is_never_above_the_others():
    found = shown("linear1", 4).rows
    recomputed = [row for row in found.rows if row.placement is None and row.key != "in_place"]
    assert found.row("exact").peak == min(row.peak for row in recomputed)


# -- what is left out ---------------------------------------------------------------------------


def test_an_inference_has_nothing_to_recompute():
    view = views.techniques(memlab.inference_step(network("mnist_cnn")), 4)
    assert [row.key for row in view.rows.rows] == [*SAME]
    assert "Left out: recompute." in view.text()
    drawn(view.rows)


def test_a_long_chain_has_slots_instead(monkeypatch):
    monkeypatch.setattr(choices, "LONGEST", 5)
    view = views.techniques(step("deep"), 4)
    keys = [row.key for row in view.rows.rows]
    assert "slots" in keys
    assert not {"chain", "greedy", "within"} & {*keys}
    assert "Left out: greedy and chain." in view.text()
    assert view.rows.trades == ()
    drawn(view.rows)


def test_what_is_too_large_for_a_proof_is_left_out():
    assert "exact" not in [row.key for row in shown("resnet50", 8).rows.rows]
    assert "Left out: exact. 388 operations" in shown("resnet50", 8).text()


# -- picture and text ---------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=str)
def test_picture_and_text_show_the_same_figures(case):
    view = shown(*case)
    found, labels, text = view.rows, drawn(view.rows), view.text()
    for row in found.rows:
        name = words.name(row, found)
        figures = [words.ratio(found.ratio(row)), words.ratio(found.ratio(row, "no_reuse"))]
        cells = line(text, name)
        assert cells[:5] == [str(row.peak), *figures, str(row.again), str(row.flops)]
        assert float(cells[5]) == row.cost / 1e9
        assert {name, units.short(row.peak), *figures, words.distance(row, found)} <= {*labels}
        assert any(each.startswith(f"{name} {units.short(row.peak)}") for each in labels) or (
            f"{name}: {units.short(row.peak)} →" in labels
        )
        assert row.call in text
    assert words.headline(found) in text
    assert words.headline(found) in labels
    ET.fromstring(view.svg())


def test_no_reuse_is_at_the_edge_only_where_it_is_far_off():
    assert "no reuse: 2.270 GB →" in drawn(shown("resnet50", 8).rows)
    assert not any("→" in each for each in drawn(shown("mnist_cnn", 4).rows))


def test_marks_are_told_apart_without_colour():
    for name, batch in CASES:
        keys = [row.key for row in shown(name, batch).rows.rows if row.key != "within"]
        looks = {(shape, filled) for shape, _, filled in (LOOKS[key] for key in keys)}
        assert len(looks) == len(keys)
    assert LOOKS["within"] == LOOKS["chain"]  # one technique, told apart by name


def test_the_stacks_are_those_of_the_same_steps():
    view = shown("deep", 4)
    stacks = {row.name: row.peak.nbytes for row in view.stacks().rows.rows}
    unplaced = [row for row in view.rows.rows if row.placement is None]
    assert stacks == {words.name(row, view.rows): row.peak for row in unplaced}


# -- runs ---------------------------------------------------------------------------------------


def test_every_technique_runs_as_planned_with_the_same_results():
    view = measured()
    assert view.held
    for row in view.rows.rows:
        assert row.measured is not None
        assert (row.measured.nbytes, row.measured.residual) == (row.peak, 0)
        assert row.measured.other == ()
        cells = line(view.text(), words.name(row, view.rows))
        assert str(row.peak) in cells[7:]
        said = words.measured(row.measured, view.rows.slower(row))
        assert f"{row.peak:,} B, residual 0 B" in said
        assert said in drawn(view.rows)
    done = memlab.run(step("deep"), 3)
    assert view.rows.plain.measured is not None
    assert view.rows.plain.measured.nbytes == done.peak


def test_a_run_that_differs_is_named():
    found = measured().rows
    rows = list(found.rows)
    seen = rows[4].measured
    assert seen is not None
    wrong = replace(seen, nbytes=seen.nbytes + 8, residual=8, other=("gradients", "parameters"))
    rows[4] = replace(rows[4], measured=wrong)
    view = Techniques(replace(found, rows=tuple(rows)))
    assert not view.held
    assert "other results than plain: gradients, parameters" in view.text()
    assert any("residual 8 B" in each for each in drawn(view.rows))


def test_other_bits_are_seen():
    one = measure.Results(1.0, {"g": np.zeros(3)}, {"p": np.ones(2)}, None)
    assert measure._differences(one, one) == ()
    other = one._replace(gradients={"g": np.array([0.0, -0.0, 0.0])}, parameters={})
    assert measure._differences(other, one) == ("gradients", "parameters")


def test_what_does_not_fit_is_refused_before_anything_runs(monkeypatch):
    most = max(row.peak for row in shown("deep", 4).rows.rows)
    monkeypatch.setattr(Cpu, "room", lambda self: Room(most - 1))
    monkeypatch.setattr(measure, "run", lambda *_, **__: pytest.fail("it ran"))
    with pytest.raises(DoesNotFitError, match="refused before anything was allocated"):
        views.techniques(step("deep"), 4, measure=True)


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
    "of one batch": (
        memlab.lowering(step("mnist_cnn"), batch=32, limit="1 MB"), {"batch": 8},
        "this step holds for batch 32 to 32, got 8",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("given", "others", "says"), BAD.values(), ids=BAD)
def test_bad_input_is_one_sentence(given, others, says):
    with pytest.raises(InputError, match=re.escape(says)) as error:
        views.techniques(given, **others)
    assert "\n" not in str(error.value)
