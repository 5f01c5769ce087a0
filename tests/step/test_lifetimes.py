"""Lifetimes are what a definition says that looks at every operation for every block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

import memlab
from memlab.errors import InputError
from memlab.networks.graph import Network
from memlab.step.lifetimes import BEFORE, Contents
from memlab.step.op import Op, Phase
from memlab.step.step import Step
from memlab.step.tensor import Role, Tensor
from tests.drawn import examples
from tests.joins_at_random import joined
from tests.networks_at_random import networks

REWRITES: dict[str, Callable[[Step], Step]] = {
    "as it is": lambda step: step,
    "kept": lambda step: step.keep("gradients"),
    "in place": memlab.in_place,
    "no reuse": memlab.no_reuse,
    "recomputed in place": lambda step: memlab.in_place(memlab.recompute(step, "every")),
    "in parts": lambda step: memlab.in_place(memlab.accumulate(step, 3)),
    "mixed": lambda step: memlab.precision(step, "mixed fp16"),
    "offloaded": lambda step: memlab.in_place(memlab.offload(step)),
    "late": lambda step: memlab.offload(step, prefetch="needed"),
}


def names(*operands: object) -> list[str]:
    """The storages of some operands."""
    return [each.storage.name for each in operands if isinstance(each, Tensor)]


def check(step: Step) -> None:
    """Every block by its definition."""
    there = dict.fromkeys(names(*step.live_in), BEFORE)
    written = [name for op in step.ops for name in names(*op.writes.values())]
    found = step.lifetimes
    assert [*found] == [*dict.fromkeys([*there, *written])]
    for name, life in found.items():
        reads = [n for op in step.ops for n in number_of(step, op, name, op.reads, op.updates)]
        writes = [n for op in step.ops for n in number_of(step, op, name, op.writes, op.updates)]
        assert (found.uses[name].reads, found.uses[name].writes) == (reads, writes)
        assert found.uses[name].all == sorted({*reads, *writes})
        assert life.birth == there.get(name, min(writes, default=0))
        ends = [0, *reads, *writes, *waits(step, name)]
        assert life.death == (len(step.ops) if name in names(*step.live_out) else max(ends))
        filled = [t.name for t in (*step.live_in, *written_by(step)) if t.storage.name == name]
        assert [life.tensor.name, *(n for n, _ in life.followers)] == [
            n for n, _ in groupby(filled)
        ]
    workspaces = [(n, t) for n, op in enumerate(step.ops) for t in op.workspace.values()]
    every = [(life.birth, life.death, life.tensor) for life in found.values()]
    every += [(number, number, tensor) for number, tensor in workspaces]
    blocks = [(life.birth, life.death, life.tensor) for life in found.blocks]
    assert blocks == sorted(every, key=lambda block: block[0])


def number_of(step: Step, op: Op, name: str, *operands: object) -> list[int]:
    """The number of an operation as often as a block is among these operands."""
    every = [t for each in operands if isinstance(each, dict) for t in each.values()]
    return [step.ops.index(op)] * names(*every).count(name)


def written_by(step: Step) -> list[Tensor]:
    """All that is written, in order."""
    return [tensor for op in step.ops for tensor in op.writes.values()]


def waits(step: Step, name: str) -> list[int]:
    """The last operations before somebody waits for a copy of a block."""
    copies = [op for op in step.ops if op.phase is Phase.COPY and name in names(*op.reads.values())]
    who = [[n for n, op in enumerate(step.ops) if copy.name in op.after] for copy in copies]
    return [numbers[0] - 1 for numbers in who if numbers]


def said(make: Callable[[], object]) -> str:
    """What is refused; empty where nothing is."""
    try:
        make()
    except InputError as error:
        return str(error)
    return ""


@pytest.mark.table
@pytest.mark.parametrize("how", REWRITES)
@given(st.integers(0, 10**6))
@examples(5)
def test_lifetimes_of_joins(how: str, seed: int) -> None:
    """Networks of sums and concats, rewritten."""
    check(REWRITES[how](memlab.training_step(joined(seed), "adam")))


@pytest.mark.table
@pytest.mark.parametrize("how", REWRITES)
@given(networks())
@examples(5)
def test_lifetimes_of_networks(how: str, net: Network) -> None:
    """Networks of all layers, rewritten; also without training."""
    check(REWRITES[how](memlab.training_step(net)))
    check(memlab.in_place(memlab.inference_step(net)))


@given(networks(), st.data())
@examples(60)
def test_a_step_is_refused_where_its_contents_are(net: Network, data: st.DataObject) -> None:
    """Some output lies where another one is: the pass refuses what is refused tensor by tensor."""
    step = memlab.in_place(memlab.training_step(net))
    maps = [t for t in written_by(step) if t.role in (Role.FEATURE_MAP, Role.GRADIENT_MAP)]
    moved, home = (data.draw(st.sampled_from(maps)).storage for _ in range(2))

    def lies(tensor: Tensor) -> Tensor:
        return replace(tensor, storage=home) if tensor.storage is moved else tensor

    def rewritten(op: Op) -> Op:
        new = ({k: lies(t) for k, t in each.items()} for each in (op.reads, op.writes, op.updates))
        reads, writes, updates = new
        return replace(op, reads=reads, writes=writes, updates=updates)

    def follow() -> None:
        contents = Contents()
        for op in ops:
            for tensor in (*op.reads.values(), *op.updates.values()):
                contents.read(tensor, op)
            for tensor in (*op.writes.values(), *op.updates.values()):
                contents.write(tensor, op)

    ops, stays = tuple(map(rewritten, step.ops)), tuple(map(lies, step.live_out))
    found, wanted = said(lambda: replace(step, ops=ops, live_out=stays)), said(follow)
    assert found == wanted or "before anything writes it" in found
