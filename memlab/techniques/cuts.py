"""A training step as a chain of stages: it is cut where one feature map alone is handed on.

What a stage takes and costs is read off the operations, so that a schedule's bytes are those of
the step that follows from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from memlab.errors import InputError
from memlab.planner import clock
from memlab.planner.clock import Machine
from memlab.planner.stages import Chain, Schedule, Stage
from memlab.step.op import Op, Phase
from memlab.step.step import Step
from memlab.step.storage import DEVICE, Storage
from memlab.step.tensor import Role
from memlab.techniques.again import STATISTICS


@dataclass(frozen=True, slots=True)
class Part:
    """A stage: its forward and backward operations by number, and the storage of its output."""

    forward: tuple[int, ...]
    backward: tuple[int, ...]
    output: str


@dataclass(frozen=True)
class Cuts:
    """A training step in parts, and the operations that come after its last backward."""

    step: Step
    parts: tuple[Part, ...]
    rest: tuple[int, ...]
    machine: Machine | None = None

    def order(self, schedule: Schedule) -> list[int]:
        """The operations of a schedule: ``+i`` is the forward of part i, ``-i`` its backward."""
        chosen = [
            self.parts[run - 1].forward if run > 0 else self.parts[-run - 1].backward
            for run in schedule
        ]
        return [index for operations in chosen for index in operations] + [*self.rest]

    def chain(self, batch: int) -> Chain:
        """Bytes of every stage at a batch, and nanoseconds on the machine. What lives throughout
        (``throughout``) is not in it."""
        sizes = _Sizes(self.step, batch, self.machine)
        return Chain(tuple(sizes.stage(self.parts, i) for i in range(len(self.parts))))

    def throughout(self, batch: int) -> int:
        """Bytes that live beside the chain: what is there before the step, the loss, and the
        statistics of batch norms, which are kept."""
        kept = _Sizes(self.step, batch).throughout
        return sum(storage.size.at(batch) for storage in kept.values())

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The operation that makes the output of each part."""
        return tuple(self.step.ops[part.forward[-1]].name for part in self.parts)


def cuts(step: Step, machine: Machine | None = None) -> Cuts:
    """Cut a training step wherever it can be: one feature map is handed on, and backward keeps it.
    Seconds are those of ``machine``, as in ``planner.clock``.

    Raises:
        InputError: the step has no backward.
    """
    first = next((i for i, op in enumerate(step.ops) if op.phase is Phase.BACKWARD), None)
    if first is None:
        raise InputError(
            "a step without backward keeps nothing that could be computed again; try "
            "memlab.training_step(network)."
        )
    end = max(i for i, op in enumerate(step.ops) if op.phase is Phase.BACKWARD) + 1
    forwards = _forwards(step.ops, first)
    stage = {step.ops[i].layer: n for n, part in enumerate(forwards) for i in part[0]}
    backwards: list[list[int]] = [[] for _ in forwards]
    lowest = 0
    for i in reversed(range(first, end)):
        lowest = max(lowest, stage.get(step.ops[i].layer, 0))
        backwards[lowest].insert(0, i)
    parts = (
        Part(tuple(forward), tuple(backward), output)
        for (forward, output), backward in zip(forwards, backwards, strict=True)
    )
    return Cuts(step, tuple(parts), tuple(range(end, len(step.ops))), machine)


def _forwards(ops: Sequence[Op], first: int) -> list[tuple[list[int], str]]:
    """The forward operations of each part, and the storage that it hands on."""
    kept = {each.storage.name for op in ops[first:] for each in op.touched()}
    last = {each.storage.name: i for i in range(first) for each in ops[i].reads.values()}
    made: dict[str, int] = {}
    parts: list[tuple[list[int], str]] = []
    begin = 0
    for i in range(first):
        made |= {each.storage.name: i for each in ops[i].writes.values()}
        handed = [name for name in made if last.get(name, -1) > i]
        made = {name: at for name, at in made.items() if name in handed}
        if i == first - 1 or (len(handed) == 1 and handed[0] in kept):
            parts.append((list(range(begin, i + 1)), handed[0] if handed else ""))
            begin = i + 1
    return parts


class _Sizes:
    """What operations take, part by part."""

    def __init__(self, step: Step, batch: int, machine: Machine | None = None) -> None:
        self.step, self.batch, self.machine = step, batch, machine
        there = {each.storage.name: each.storage for each in (*step.live_in, *step.live_out)}
        statistics = {
            op.writes[name].storage.name: op.writes[name].storage
            for op in step.ops
            if op.kind == "batch_norm" and op.updates
            for name in STATISTICS
        }
        self.throughout = {
            name: storage
            for name, storage in (there | statistics).items()
            if storage.memory == DEVICE
        }
        self.readers: dict[str, list[int]] = {}
        self.storages: dict[str, Storage] = {}
        for i, op in enumerate(step.ops):
            for each in op.touched():
                self.storages[each.storage.name] = each.storage
                self.readers.setdefault(each.storage.name, []).append(i)

    def stage(self, parts: Sequence[Part], number: int) -> Stage:
        """The bytes and costs of a part."""
        part = parts[number]
        source = parts[number - 1].output if number else ""
        forward, backward = (
            [self.step.ops[i] for i in run] for run in (part.forward, part.backward)
        )
        kept = self.needed(forward, part.backward) | ({part.output} - {""})
        given = self.handed(parts[number + 1 :], part.backward)
        passed = self.handed(parts[number:], [i for p in parts[:number] for i in p.backward])
        left = self.lasting(backward)
        return Stage(
            forward=cost(forward, self.batch, self.machine),
            backward=cost(backward, self.batch, self.machine),
            output=self.total({part.output}),
            kept=self.total(kept),
            gradient=self.total(given),
            passing=self.peak(forward, {source}, {part.output}),
            staying=self.peak(forward, set(), {part.output}),
            keeping=self.peak(forward, set(), kept),
            reversing=self.peak(backward, self.read(backward, kept) | given, passed | left),
            left=self.total(left),
        )

    def needed(self, forward: Iterable[Op], backward: Sequence[int]) -> set[str]:
        """What these operations write for that backward."""
        made = {each.storage.name for op in forward for each in op.writes.values()}
        return {name for name in made if not set(self.readers[name]).isdisjoint(backward)}

    def handed(self, after: Iterable[Part], before: Sequence[int]) -> set[str]:
        """The gradients of maps that the backward of some parts hands to that of others."""
        made = {
            each.storage.name
            for part in after
            for i in part.backward
            for each in self.step.ops[i].writes.values()
            if each.role is not Role.PARAMETER_GRADIENT
        }
        return {name for name in made if not set(self.readers[name]).isdisjoint(before)}

    def lasting(self, backward: Iterable[Op]) -> set[str]:
        """The gradients of parameters, which the updates read at the end."""
        return {
            each.storage.name
            for op in backward
            for each in op.writes.values()
            if each.role is Role.PARAMETER_GRADIENT
        }

    def read(self, ops: Iterable[Op], names: set[str]) -> set[str]:
        """Those of these storages that the operations touch."""
        return names & {each.storage.name for op in ops for each in op.touched()}

    def total(self, names: Iterable[str]) -> int:
        """Their bytes, without what lives throughout."""
        counted = set(names) - set(self.throughout) - {""}
        return sum(self.storages[name].size.at(self.batch) for name in counted)

    def peak(self, ops: Sequence[Op], alive: set[str], stays: set[str]) -> int:
        """The most bytes inside these operations, where ``alive`` is there before them and
        ``stays`` after them."""
        last = {each.storage.name: i for i, op in enumerate(ops) for each in op.touched()}
        alive, most = set(alive), 0
        for i, op in enumerate(ops):
            alive |= {each.storage.name for each in op.writes.values()}
            workspace = sum(each.storage.size.at(self.batch) for each in op.workspace.values())
            most = max(most, self.total(alive) + workspace)
            alive = {name for name in alive if name in stays or last.get(name, len(ops)) > i}
        return most


def cost(ops: Iterable[Op], batch: int, machine: Machine | None = None) -> int:
    """Nanoseconds of operations by the clock, on a machine; an algorithm of which no share was
    measured counts as fast as a large matrix product."""
    on = machine or clock.rates()
    known = (op if clock.knows(op, on) else replace(op, algorithm="") for op in ops)
    return sum(round(1e9 * clock.seconds(op, batch, on)) for op in known)
