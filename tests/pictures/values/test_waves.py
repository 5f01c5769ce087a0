"""Waves: every schedule's bytes and time are those of the step that `memlab.recompute` makes."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import memlab
from memlab.errors import InputError
from memlab.ledger.ledger import Entry, Ledger
from memlab.pictures import recompute as recompute_waves
from memlab.pictures.recompute import (
    PARTS,
    Schedules,
    Wave,
    Waves,
    schedules,
    subject,
)
from memlab.step.op import Phase
from memlab.step.step import Step
from memlab.step.tensor import Role
from memlab.techniques.recompute.order_memory import cost
from memlab.techniques.recompute.repeats import resequenced


@cache
def step(name: str) -> Step:
    return memlab.training_step(memlab.zoo.build(name))


def found(name: str, batch: int = 32) -> Schedules:
    return schedules(subject(name), batch)


def compared(wave: Wave, made: Step, batch: int) -> Ledger:
    """A wave against the plan of a step."""
    ledger = memlab.plan(made)
    assert wave.lives.timeline.tolist() == ledger.timeline(batch)
    assert (wave.peak, wave.cost) == (ledger.peak(batch), cost(made.ops, batch))
    assert wave.operation == ledger.peak_at(batch).row.name
    return ledger


@pytest.mark.parametrize(
    ("name", "batch", "ks"),
    [("resnet50", 32, (1, 5, 20)), ("googlenet", 8, (3,))],
)
def test_every_kth_is_the_step_of_recompute(name: str, batch: int, ks: tuple[int, ...]) -> None:
    for k in ks:
        compared(found(name, batch).every[k], memlab.recompute(step(name), "every", k=k), batch)
    compared(found(name, batch).plain, step(name), batch)


@pytest.mark.parametrize("k", [1, 5])
def test_the_parts_are_what_the_plan_has_at_its_peak(k: int) -> None:
    wave, made = found("resnet50").every[k], memlab.recompute(step("resnet50"), "every", k=k)
    ledger = memlab.plan(made)
    at, begin = ledger.peak_at(32).index, _backward(made)
    parts = dict.fromkeys(("floor", "kept", "again", "gradient_map"), 0)
    for entry in ledger.entries:
        if entry.birth <= at <= entry.death:
            parts[_part(entry, begin)] += entry.size.at(32)
    assert {name: wave.parts[name] for name in PARTS[3:]} | {"floor": wave.floor} == parts
    assert sum(parts.values()) == wave.peak
    assert np.sum([*wave.lines.values()], axis=0).tolist() == ledger.timeline(32)


def _backward(made: Step) -> int:
    return next(i for i, op in enumerate(made.ops) if op.phase is Phase.BACKWARD)


def _part(entry: Entry, begin: int) -> str:
    if not entry.size.per_sample:
        return "floor"
    if entry.role is Role.GRADIENT_MAP:
        return "gradient_map"
    return "kept" if entry.birth < begin <= entry.death else "again"


def test_resnet_50_is_least_at_1_and_resnet_200_has_a_u() -> None:
    shallow, deep = found("resnet50"), found("resnet200")
    assert (shallow.best.k, shallow.best.peak) == (1, 1_299_991_780)
    assert shallow.every[shallow.rule].peak == 1_579_240_676
    peaks = [f"{deep.every[k].peak / 1e9:.2f}" for k in range(1, 7)]
    assert peaks == ["3.41", "2.17", "2.05", "2.05", "2.05", "2.27"]
    assert (deep.stages, deep.rule, deep.best.k) == (71, 8, 5)


def test_segments_run_again_one_after_the_other_and_make_their_maps() -> None:
    wave = found("resnet50").every[5]
    assert [each.stages for each in wave.segments] == [(16, 19), (11, 15), (6, 10), (1, 5)]
    ran = [i for each in wave.segments for i in range(each.first, each.last + 1)]
    assert ran == [i for i, again in enumerate(wave.lives.again) if again]
    assert max(each.nbytes for each in wave.segments) <= wave.parts["again"]


# -- the frontier ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "batch"), [("resnet18", 8), ("resnet50", 32)])
def test_a_budget_is_kept_and_no_slower_than_recompute_finds(name: str, batch: int) -> None:
    all_ = found(name, batch)
    assert len(all_.frontier) > 2
    for wave in all_.frontier[:: max(1, len(all_.frontier) // 4)]:
        made = memlab.recompute(step(name), "chain", batch=batch, budget=wave.peak)
        assert all_.within(wave.peak) is wave
        assert memlab.plan(made).peak(batch) <= wave.peak
        assert 0 <= cost(made.ops, batch) - wave.cost < 0.005 * all_.plain.cost
    compared(wave, resequenced(step(name), wave.lives.order.tolist()), batch)


def test_the_frontier_of_resnet_50_is_complete_and_falls() -> None:
    all_ = found("resnet50")
    assert all_.points <= recompute_waves.TRIED
    peaks, costs = zip(*(wave.point for wave in all_.frontier), strict=True)
    assert list(peaks) == sorted(set(peaks))
    assert list(costs) == sorted(set(costs), reverse=True)
    assert all_.frontier[-1].point == all_.plain.point
    least, half = all_.frontier[0], all_.within((peaks[0] + all_.plain.peak) // 2)
    made = memlab.recompute(step("resnet50"), "chain", batch=32)
    compared(least, made, 32)
    slower = [100 * (wave.cost / all_.plain.cost - 1) for wave in (half, least)]
    assert [f"{more:.1f}" for more in slower] == ["6.7", "25.1"]


def test_less_than_the_least_is_refused_with_the_least() -> None:
    least = found("resnet18", 8).frontier[0].peak
    with pytest.raises(InputError, match=f"the least takes {least:,} B; try") as error:
        found("resnet18", 8).within(least - 1)
    assert "\n" not in str(error.value)
    assert found("resnet18", 8).within(least).peak == least


# -- in words --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "k", "state", "says"),
    [
        ("resnet50", 20, "few", "k too large: 2.94 GB"),
        ("resnet200", 1, "many", "what is kept takes 2.69 GB of 3.41 GB"),
        ("resnet200", 5, "best", "The best k: 2.05 GB"),
    ],
)
def test_the_title_is_the_finding(name: str, k: int, state: str, says: str) -> None:
    shown = Waves(found(name), found(name).every[k])
    assert shown.state == state
    assert says in shown.title


def test_a_study_has_every_byte_of_every_k() -> None:
    shown = Waves(found("resnet50"), found("resnet50").every[5])
    _, *rows = shown.rows()
    for (k, wave), row in zip(found("resnet50").every.items(), rows, strict=True):
        peak, *parts = (int(cell.replace(",", "")) for cell in row[1:6])
        assert (row[0], peak, sum(parts)) == (str(k), wave.peak, wave.peak)
    assert "Peak 1,579,240,676 B in 2.4.add again, plain 2,942,651,620 B" in shown.text()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (3, "give a network, its name or a step, got 3"),
        ("resnet5", "did you mean"),
        (memlab.in_place(memlab.offload(step("mnist_cnn"))), "offloads and is in place already"),
    ],
)
def test_bad_subjects_get_one_sentence(given: object, says: str) -> None:
    with pytest.raises(InputError, match=says):
        subject(given)


def test_a_step_that_keeps_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="without backward keeps nothing"):
        Schedules(memlab.inference_step(memlab.zoo.mnist_cnn()), 4)
