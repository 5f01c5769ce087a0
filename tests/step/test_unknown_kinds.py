"""Steps of unknown kinds: reads, writes and updates are enough for everything but a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import memlab
from memlab.errors import InputError
from memlab.step.op import Phase, UpdateSlot
from memlab.step.rewrite_traits import Traits
from memlab.step.step import Step
from memlab.step.tensor import Role
from tests.rows import every_row
from tests.staged_networks import step as made_by_layers
from tests.unknown_kinds import WIDTH, by_hand, meaning, renamed

BATCH = 100
MAP, SQUARE = 4 * WIDTH * BATCH, 4 * WIDTH * WIDTH
STEP = by_hand()
KNOBS = 7
FLOOR = 2 * KNOBS * SQUARE
"""Parameters and the states of their optimizer."""
Rewrite = Callable[[Step], Step]
WAYS: dict[str, dict[str, Any]] = {
    "every": {}, "keep": {"layers": ["turn 2"]}, "drop": {"layers": ["turn 1", "turn 3"]},
    "slots": {"k": 2}, "greedy": {"batch": BATCH}, "chain": {"batch": BATCH},
    "exact": {"batch": BATCH},
}  # fmt: skip


def peak(step: Step, memory: str = "device:0") -> int:
    return memlab.plan(step).peak(BATCH, memory)


def test_it_is_planned_to_the_byte() -> None:
    """Where backward begins, both ways of the fork have ended, and ``right`` is gone."""
    ledger, peak = memlab.plan(STEP), memlab.plan(STEP).peak_at(BATCH)
    maps = {"pixels", "truth", *(f"turn{i}" for i in range(6)), "left", "met", "blame"}
    assert peak.row.name == "blame"
    assert peak.nbytes == FLOOR + 4 + len(maps) * MAP
    alive = {each.name for each in ledger.alive(peak.index)}
    assert {name for name in alive if not name.startswith("knob")} == {*maps, "badness"}
    assert "turn0: B·F·4 B" in str(ledger.why(BATCH))
    most = ledger.fit("1 MB").batch
    assert most is not None
    assert ledger.peak(most) <= 10**6 < ledger.peak(most + 1)


def test_plans_are_compared_and_kept_in_files(tmp_path: Path) -> None:
    before, after = memlab.plan(STEP), memlab.plan(memlab.no_reuse(STEP))
    assert memlab.diff(before, after, BATCH).change == after.peak(BATCH) - before.peak(BATCH) > 0
    memlab.save(before, tmp_path / "plan.json")
    assert memlab.load(tmp_path / "plan.json").timeline(BATCH) == before.timeline(BATCH)


def test_it_has_addresses() -> None:
    placement = memlab.place(STEP, BATCH)
    assert not placement.overlaps()
    assert placement.arena == placement.lower_bound


@every_row("how", WAYS)
def test_maps_are_made_again(how: str) -> None:
    """What is computed stays, whichever way is taken, and the peak falls."""
    step = by_hand(4)
    again = memlab.recompute(step, how, **WAYS[how])
    assert len(again.ops) > len(step.ops)
    assert meaning(again) == meaning(step)
    assert peak(again) < peak(step)


def test_what_changes_something_in_place_runs_once() -> None:
    step = by_hand(counts=True)
    for how in ("every", "chain"):
        again = memlab.recompute(step, how, **WAYS[how])
        assert [op.name for op in again.ops if "turn 1" in op.name] == ["turn 1"]
        assert meaning(again) == meaning(step)
        assert peak(again) < peak(step)
    with pytest.raises(InputError, match="turn 1 changes seen in place, so it cannot run twice"):
        memlab.recompute(step, "drop", layers=["turn 1"])


def test_what_is_known_of_a_kind_is_said_by_its_traits() -> None:
    assert memlab.in_place(STEP) == memlab.recompute(STEP, "cheap") == STEP
    bends = by_hand(
        known={"bend back": Traits(over={"out0": ("in0",)}), "turn": Traits(cheap=True)}
    )
    again = memlab.recompute(bends, "cheap")
    assert meaning(again) == meaning(bends)
    assert peak(again) < peak(bends)
    meets = by_hand(known={"meet": Traits(over={"out0": ("in0", "in1")})})
    shared = memlab.in_place(meets)
    assert meaning(shared) == meaning(meets)
    homes = {op.name: [each.storage.name for each in op.writes.values()] for op in shared.ops}
    assert homes["meet"] == ["right"]


@pytest.mark.parametrize("given", [{"policy": "all"}, {"maps": ["turn1", "turn3"]}])
def test_maps_wait_on_the_host(given: dict[str, Any]) -> None:
    moved = memlab.offload(STEP, **given)
    count = sum(op.phase is Phase.COPY for op in moved.ops) // 2
    assert count >= 2
    assert peak(moved, "host") == count * MAP
    assert meaning(moved) == meaning(STEP)
    assert peak(moved) < peak(STEP)


def test_a_batch_is_learned_from_in_parts() -> None:
    parts = memlab.accumulate(STEP, 2)
    assert memlab.plan(parts).peak(BATCH // 2) < peak(STEP)
    loads = [op.name for op in parts.ops if op.kind == "load"]
    assert loads == ["load of part 2"]
    learns = [op for op in parts.ops if op.phase is Phase.UPDATE]
    assert len(learns) == KNOBS


def test_an_optimizer_is_known_by_its_slots() -> None:
    """What belongs to a parameter is said by its update, or no technique guesses it."""
    for rewrite in (partial(memlab.precision, mode="mixed fp16"), memlab.eight_bit_states):
        with pytest.raises(InputError, match="knob0"):
            rewrite(STEP)
    known = by_hand(slots=(UpdateSlot("at0", "in0", {"speed": "at1"}),))
    mixed = memlab.precision(known, "mixed fp16")
    states = [each for each in mixed.live_in if each.role is Role.OPTIMIZER_STATE and each.axes]
    assert [each.format.name for each in states] == 2 * KNOBS * ["fp32"]
    assert peak(memlab.eight_bit_states(known, 64)) == peak(STEP) - KNOBS * (3 * SQUARE // 4 - 4)
    assert peak(memlab.precision(STEP, "fp16")) < peak(STEP)


def test_seconds_follow_from_what_it_computes_and_moves() -> None:
    schedule = memlab.clock(STEP, BATCH, "titan x")
    assert [slot.op for slot in schedule.slots] == list(STEP.ops)
    assert schedule.seconds == pytest.approx(sum(slot.seconds for slot in schedule.slots))
    assert all(slot.seconds > 0 for slot in schedule.slots)


def test_techniques_are_compared() -> None:
    view = memlab.views.techniques(STEP, BATCH)
    assert f"{peak(STEP):,} B" in str(view)
    assert "<svg" in view.svg()


@pytest.mark.parametrize("step", [STEP, by_hand(2)], ids=["floor and mountain", "lifetimes"])
def test_it_is_seen(step: Step) -> None:
    """In the memory view and on the map of addresses, and at every operation of it."""
    view = memlab.views.memory(step, batch=BATCH)
    assert f"{peak(step):,} B" in str(view)
    for number in range(1, len(step.ops) + 1):
        view.cursor = number
        assert step.ops[number - 1].name in view.svg()
    assert f"{memlab.place(step, BATCH).arena:,} B" in str(memlab.views.addresses(step, BATCH))


@pytest.mark.measures
def test_nobody_runs_it() -> None:
    """Kernels are looked for, and loaded."""
    with pytest.raises(
        InputError, match=r"^no kernel computes turn in fp32 on cpu; plan it instead"
    ):
        memlab.run(STEP, 2)


# -- a step of layers that does not tell its kinds ------------------------------------------------


def on_the_host(step: Step) -> Step:
    """Some maps wait there, and come back for who reads them."""
    read = {
        each.name for op in step.ops if op.phase is Phase.BACKWARD for each in op.reads.values()
    }
    forward = (op for op in step.ops if op.phase is Phase.FORWARD)
    maps = [each.name for op in forward for each in op.writes.values() if each.axes[1:]]
    return memlab.offload(step, maps=[name for name in maps if name in read][:2], prefetch="needed")


REWRITES: dict[str, Rewrite] = {
    **{f"recompute {how}": partial(memlab.recompute, how=how, **given)
       for how, given in WAYS.items() if how not in ("keep", "drop", "exact")},
    "cheap": partial(memlab.recompute, how="cheap"),
    "in place": memlab.in_place,
    "no reuse": memlab.no_reuse,
    **{mode: partial(memlab.precision, mode=mode) for mode in ("fp16", "mixed fp16", "mixed bf16")},
    "states in 8 bits": memlab.eight_bit_states,
    "on the host": on_the_host,
    "parts": partial(memlab.accumulate, parts=2),
}  # fmt: skip


@pytest.mark.table
@pytest.mark.parametrize("rewrite", REWRITES)
@pytest.mark.parametrize("network", ["branches", "sums", "cells", "patches"])
def test_a_technique_looks_at_no_kind_and_no_layer(network: str, rewrite: str) -> None:
    step = made_by_layers(network, "adam")
    known, unknown = (plan_of(REWRITES[rewrite](each)) for each in (step, renamed(step)))
    assert unknown == known


def plan_of(step: Step) -> tuple[list[str], list[int]]:
    """The operations by name, and the bytes over them."""
    return [op.name for op in step.ops], memlab.plan(step).timeline(BATCH)


def test_meaning_tells_steps_apart() -> None:
    """What was read, what it was made by, and how often."""
    first, second, *rest = STEP.ops
    other = replace(second, kind="twist")
    assert meaning(replace(STEP, ops=(first, other, *rest))) != meaning(STEP)
    counts = by_hand(counts=True)
    twice = (*counts.ops[:2], replace(counts.ops[1], name="once more"), *counts.ops[2:])
    assert meaning(replace(counts, ops=twice)) != meaning(counts)
