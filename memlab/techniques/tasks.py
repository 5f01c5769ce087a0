"""A training step as a graph of tasks, for the exact order of a small one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from memlab.planner.clock import Machine
from memlab.planner.graphs import Task
from memlab.step.op import Op, Phase
from memlab.step.step import Step
from memlab.step.tensor import Role, Tensor
from memlab.techniques.again import made, names_of
from memlab.techniques.liveness import cost


def tasks_of(
    step: Step, batch: int, machine: Machine | None = None
) -> tuple[list[Task], list[Task], int]:
    """The inputs as tasks, which go free after their last reader, then every operation up to the
    last backward, and the bytes that live throughout."""
    there = {each.storage.name: each.storage for each in step.live_in}
    last = {each.storage.name for each in step.live_out} - there.keys()
    inputs = [each.storage for each in step.live_in if each.role is Role.INPUT]
    maker = {storage.name: number for number, storage in enumerate(inputs)}
    there = {name: storage for name, storage in there.items() if name not in maker}
    tasks = []
    end = max((i for i, op in enumerate(step.ops) if op.phase is Phase.BACKWARD), default=-1) + 1
    for number, op in enumerate(step.ops[:end], len(inputs)):
        there |= {op.writes[n].storage.name: op.writes[n].storage for n in _statistics(op)}
        tasks.append(_task(op, batch, maker, there, last, cost([op], batch, machine)))
        maker |= {name: number for name in names_of(op.writes.values()) if name not in there}
    given = [Task(each.name, 0, each.size.at(batch), (), again=False) for each in inputs]
    return given, tasks, sum(storage.size.at(batch) for storage in there.values())


def _task(
    op: Op,
    batch: int,
    maker: Mapping[str, int],
    there: Collection[str],
    last: Collection[str],
    nanoseconds: int,
) -> Task:
    """What stays to the end of the step counts from here on: gradients of parameters, and what
    ``last`` names."""
    new = [each for each in op.writes.values() if each.storage.name not in there]
    left = [t for t in new if t.role is Role.PARAMETER_GRADIENT or t.storage.name in last]
    read = names_of((*op.reads.values(), *op.updates.values()))
    return Task(
        op.name,
        nanoseconds,
        _total(new, batch) - _total(left, batch),
        tuple(sorted({maker[name] for name in read if name in maker})),
        again=op.phase is Phase.FORWARD and bool(op.pure or op.again),
        inside=_total(op.workspace.values(), batch),
        left=_total(left, batch),
    )


def _total(tensors: Iterable[Tensor], batch: int) -> int:
    return sum(each.storage.size.at(batch) for each in tensors)


def _statistics(op: Op) -> tuple[str, ...]:
    return tuple(slot for slot, each in op.writes.items() if each.storage.name not in made(op))
