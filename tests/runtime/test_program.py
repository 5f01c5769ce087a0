"""Program: a run's lists are computed once, and its bytes are those of the plan."""

from __future__ import annotations

from collections import Counter
from itertools import accumulate

import pytest

import memlab
from memlab import InputError
from memlab.free_memory import Room
from memlab.runtime import memory_guard, program
from memlab.runtime.program import Program
from memlab.runtime.session import Session
from memlab.step.lifetimes import Lifetimes
from memlab.step.step import Step
from memlab.step.storage import DEVICE, HOST
from tests.staged_networks import step

WAYS = {
    "plain": lambda: (step("branches"), None),
    "placed": lambda: (step("branches"), "birth"),
    "in place, offloaded": lambda: (memlab.in_place(memlab.offload(step("sums"), "all")), "best"),
    "in parts": lambda: (memlab.accumulate(step("joins"), 2), None),
}


@pytest.mark.measures
@pytest.mark.parametrize("way", WAYS)
def test_kernels_lifetimes_and_operands_are_found_once(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    of, how = WAYS[way]()
    placement = memlab.place(of, 2, how) if how else None
    calls: Counter[str] = Counter()

    def counted(owner: object, name: str) -> None:
        real = getattr(owner, name)

        def call(*args: object) -> object:
            calls[name] += 1
            return real(*args)

        monkeypatch.setattr(owner, name, call)

    for name in ("kernels_of", "part_of", "input_specs"):
        counted(program, name)
    counted(Lifetimes, "__init__")
    assert memlab.run(of, 2, placement=placement).residual == 0
    operands = sum(len(turn.operands) for turn in Program(of, 2).load())
    assert calls["__init__"] == 0  # they are known since the step was built
    assert calls["kernels_of"] == calls["input_specs"] == 2  # of the run, and of the line above
    assert calls["part_of"] == 2 * operands
    with Session(Program(of, 2, placement=placement)) as session:
        before = calls.copy()
        for _ in range(3):
            session.step()
        assert calls == before


@pytest.mark.parametrize("way", WAYS)
def test_its_births_and_deaths_add_up_to_the_plan(way: str) -> None:
    of, _ = WAYS[way]()
    program = Program(of, 3)
    born = [_bytes(program, [t.storage.name for t in births]) for births in program.births]
    died = [_bytes(program, names) for names in program.deaths]
    first = program.planned.before(3)[0]
    changes = accumulate((b - d for b, d in zip(born, died, strict=True)), initial=first)
    assert list(changes)[1:] == program.planned.after(3)


def _bytes(program: Program, names: list[str]) -> int:
    """Bytes of these storages that lie on the device."""
    sizes = {
        life.tensor.storage.name: life.tensor.storage for life in program.step.lifetimes.blocks
    }
    return sum(sizes[n].size.at(program.batch) for n in names if sizes[n].memory == DEVICE)


@pytest.mark.parametrize("way", WAYS)
def test_it_is_let_in_to_the_byte(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    of, how = WAYS[way]()
    program = Program(of, 3, placement=how)
    both = zip(program.planned.timeline(3), program.planned.timeline(3, HOST), strict=True)
    needs = max(map(sum, both))
    monkeypatch.setattr("memlab.free_memory.room", lambda: Room(needs + 8))
    memory_guard.admit(program, other_bytes=8)
    with pytest.raises(memory_guard.DoesNotFitError, match="refused before anything was allocated"):
        memory_guard.admit(program, other_bytes=9)


def test_copies_to_the_host_begin_with_the_operation_before_them() -> None:
    turns = Program(memlab.offload(step("sums"), "all"), 2).load()
    moved = {number: turn.op for number, turn in enumerate(turns) if turn.op.phase == "copy"}
    begun = [(index, number) for index, turn in enumerate(turns) for number in turn.side_copies]
    assert begun
    for index, number in begun:
        assert all(between in moved for between in range(index + 1, number + 1))
        assert turns[index].op.name not in moved[number].after
        (target,) = moved[number].writes.values()
        assert target.storage.memory == HOST


def test_a_step_without_operations_is_none() -> None:
    with pytest.raises(InputError, match="this step has no operation; build one with"):
        Program(Step((), (), ()), 1)
