"""A training step as a chain of stages: it is cut where one feature map alone is handed on.

What a stage takes and costs is read off the operations, so that a schedule's bytes are those of
the step that follows from it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from memlab.clocks.roofline import Machine
from memlab.errors import InputError
from memlab.step.op import Op, Phase
from memlab.step.step import Step
from memlab.step.storage import DEVICE
from memlab.techniques.recompute.chain import Chain, Schedule, Stage, StageRun, Ways
from memlab.techniques.recompute.order_memory import Liveness
from memlab.techniques.recompute.repeated_operations import without_idle


@dataclass(frozen=True, slots=True)
class ChainPart:
    """Stage of a step: its forward and backward operations by number, and the storage of its
    output."""

    forward: tuple[int, ...]
    backward: tuple[int, ...]
    output: str


@dataclass(frozen=True)
class Cuts:
    """Training step in parts, and the operations that come after its last backward."""

    step: Step
    parts: tuple[ChainPart, ...]
    rest: tuple[int, ...]
    machine: Machine | None = None

    def order(self, schedule: Schedule) -> list[int]:
        """Return the operations of a schedule: ``+i`` is the forward of part i, ``-i`` its
        backward."""
        chosen = [
            self.parts[run - 1].forward if run > 0 else self.parts[-run - 1].backward
            for run in schedule
        ]
        return [index for operations in chosen for index in operations] + [*self.rest]

    def chain(self, batch: int, in_place: bool = False) -> Chain:
        """Return the chain of the step: bytes of every stage at a batch, where ``in_place`` follows
        those after it, and nanoseconds on the machine. Blocks that live throughout
        (``throughout``) are not in it.

        With it they are those of the step that follows from a schedule, to the byte. Where several
        parts read what goes before the end of the step (an input), and the backward of the first of
        them does not, it counts up to that backward: then they are a bound.
        """
        return _Sizes(self, batch, in_place).chain(self.throughout(batch))

    def throughout(self, batch: int) -> int:
        """Return the bytes that live beside the chain: parameters, states of the optimizer and
        buffers."""
        end = len(self.step.ops) - len(self.rest)
        return sum(
            life.tensor.storage.size.at(batch)
            for life in self.step.lifetimes.values()
            if life.birth < 0 and life.death >= end and life.tensor.storage.memory == DEVICE
        )

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the operations that make the output of each part."""
        return tuple(self.step.ops[part.forward[-1]].name for part in self.parts)


def cuts(step: Step, machine: Machine | None = None) -> Cuts:
    """Cut a training step wherever one feature map alone is handed on, and backward keeps it.
    Seconds are those of ``machine``, as in ``clocks.roofline``.

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
    stage = [n for n, part in enumerate(forwards) for _ in part[0]]
    owners = _owners(step.ops[:first], step.ops[first:end])
    backwards: list[list[int]] = [[] for _ in forwards]
    lowest = 0
    for i in reversed(range(first, end)):
        lowest = max(lowest, stage[owners[i - first]] if i - first in owners else 0)
        backwards[lowest].append(i)
    parts = (
        ChainPart(tuple(forward), tuple(backward[::-1]), output)
        for (forward, output), backward in zip(forwards, backwards, strict=True)
    )
    return Cuts(step, tuple(parts), tuple(range(end, len(step.ops))), machine)


def _forwards(ops: Sequence[Op], first: int) -> list[tuple[list[int], str]]:
    """Return the forward operations of each part, and the storage that it hands on."""
    kept = {tensor.storage.name for op in ops[first:] for tensor in op.touched()}
    last = {tensor.storage.name: i for i in range(first) for tensor in ops[i].reads.values()}
    forward_ops: dict[str, int] = {}
    parts: list[tuple[list[int], str]] = []
    begin = 0
    for i in range(first):
        forward_ops |= {tensor.storage.name: i for tensor in ops[i].writes.values()}
        handed = [name for name in forward_ops if last.get(name, -1) > i]
        forward_ops = {name: at for name, at in forward_ops.items() if name in handed}
        if i == first - 1 or (len(handed) == 1 and handed[0] in kept):
            parts.append((list(range(begin, i + 1)), handed[0] if handed else ""))
            begin = i + 1
    return parts


# -- which forward operation each of backward belongs to, read off what they touch ----------------


def _owners(forward: Sequence[Op], backward: Sequence[Op]) -> dict[int, int]:
    """Return the forward operation to which each one of backward belongs, both by number: that with
    which it shares the most operands; of several the first to which no other belongs. One that
    shares none belongs to the last that is free between the owners around it, or to nobody."""
    nearest = _nearest(forward, backward)
    owner_names = {number: near[0] for number, near in enumerate(nearest) if len(near) == 1}
    taken = set(owner_names.values())
    for number in reversed(range(len(backward))):
        if len(nearest[number]) > 1:
            free = [owner for owner in nearest[number] if owner not in taken]
            owner_names[number] = (free or nearest[number])[0]
            taken.add(owner_names[number])
    return owner_names | _between(owner_names, len(forward), len(backward))


def _nearest(forward: Sequence[Op], backward: Sequence[Op]) -> list[list[int]]:
    """Return for each operation of backward the forward operations with which it shares the most
    operands."""
    users: dict[tuple[str, int], list[int]] = {}
    for number, op in enumerate(forward):
        for place in _places(op):
            users.setdefault(place, []).append(number)
    distances = []
    for op in backward:
        shared = Counter(user for place in _places(op) for user in users.get(place, ()))
        most = max(shared.values(), default=0)
        distances.append(sorted(user for user, count in shared.items() if count == most))
    return distances


def _between(owners: dict[int, int], above: int, count: int) -> dict[int, int]:
    """Add owners for the operations that have none, below the one before and above
    the one after."""
    taken, more = set(owners.values()), dict[int, int]()
    below = [owners.get(number, -1) for number in range(count)]
    for number in reversed(range(count - 1)):
        below[number] = owners.get(number, below[number + 1])
    for number in range(count):
        if number not in owners:
            free = (n for n in reversed(range(below[number] + 1, above)) if n not in taken)
            owner = next(free, None)
            if owner is not None:
                more[number] = owner
                taken.add(owner)
        above = owners.get(number, more.get(number, above))
    return more


def _places(op: Op) -> set[tuple[str, int]]:
    """Storages and offsets at which the tensors of an operation begin."""
    return {(tensor.storage.name, tensor.offset) for tensor in op.touched()}


# -- bytes --------------------------------------------------------------------------------------


class _Sizes:
    """Storages that the operations of every part use, as sets of numbers. A forward makes ``new``
    ones whenever it runs, and leaves some ``once``."""

    def __init__(self, stages: Cuts, batch: int, in_place: bool) -> None:
        self.parts, self.rest = stages.parts, stages.rest
        self.of = of = Liveness(stages.step, batch, stages.machine, in_place)
        self.stay = of.left | self.all("touched", self.rest)
        given, self.labels = self._inputs()
        self.new, self.once = [], list[set[int]]()
        for part in self.parts:
            written = self.all("writes", part.forward) - of.there
            self.new.append(written & self.all("made", part.forward))
            self.once.append(written - self.new[-1] | written & self.stay)
        handed = ({of.numbers[part.output]} if part.output else set() for part in self.parts)
        self.outputs = [stored & new for stored, new in zip(handed, self.new, strict=True)]
        self.inputs = [given, *self.outputs]
        outputs = [self.all("writes", part.backward) - of.there for part in self.parts]
        self.made = [set[int]().union(*outputs[n:]) for n in range(len(outputs) + 1)]
        """What the backward of a part and of all after it makes."""

    def all(self, what: str, operations: Iterable[int]) -> set[int]:
        """Storages that these operations touch, write or make."""
        return set().union(*(getattr(self.of.runs[index], what) for index in operations))

    def total(self, numbers: Iterable[int]) -> int:
        """Return the bytes of these storages on the device."""
        return sum(int(self.of.nbytes[n]) for n in numbers if self.of.here[n])

    def chain(self, throughout: int) -> Chain:
        """Return the bytes and costs of all parts, without the blocks that live throughout."""
        plain = self.of.of(range(len(self.of.runs))).timeline.tolist()
        rest = max([throughout, *plain[len(plain) - len(self.rest) :]]) - throughout
        stages = tuple(self.stage(number) for number in range(len(self.parts)))
        return Chain(stages, self.total(self.inputs[0]), rest)

    def stage(self, number: int) -> Stage:
        """Return the bytes and costs of a part."""
        part, output = self.parts[number], self.outputs[number]
        kept = self.new[number] & self.all("touched", part.backward)
        ways = self.ways(number, kept)
        return Stage(
            forward=ways.first.cost,
            backward=ways.backward.cost,
            output=self.total(output),
            kept=self.total(kept | output),
            gradient=self.total(self.handed(number)),
            passing=ways.first.going,
            staying=ways.first.staying,
            keeping=ways.keeps.staying,
            reversing=ways.backward.staying,
            left=self.total(self.left(number)),
            ways=ways,
        )

    def ways(self, number: int, kept: set[int]) -> Ways:
        """Ways to run a part, where it keeps these storages."""
        part, above, output = self.parts[number], self.inputs[number], self.outputs[number]
        once, both = self.once[number], kept | output
        return Ways(
            first=self.forward(part.forward, above, output | once),
            keeps=self.forward(part.forward, above, both | once),
            again=self.forward(self.needed(part, output), above, output, True),
            both=self.forward(self.needed(part, both), above, both, True),
            ends=self.forward(self.needed(part, kept), above, kept, True),
            backward=self.reverse(number, kept),
            own=output <= kept,
            source=not above.isdisjoint(self.all("touched", part.backward)),
            once=self.total(once),
            before=self.total(self.labels[number]),
        )

    def forward(
        self, order: Sequence[int], above: set[int], after: set[int], again: bool = False
    ) -> StageRun:
        """Return the run of forward operations of a part, some of whose outputs are needed after
        them."""
        runs = [self.of.runs[index] for index in order]
        new = self.all("made", order) if again else self.all("writes", order) - self.of.there
        inside = (
            self.of.inside(order, again, before, after, new) for before in (set[int](), above)
        )
        return StageRun(sum((run.repeated if again else run).time for run in runs), *inside)

    def reverse(self, number: int, kept: set[int]) -> StageRun:
        """Return the run of the backward of a part, which needs the storages that
        its forward kept."""
        order, later = self.parts[number].backward, self.made[number + 1] & self.stay
        before = kept | self.once[number] | self.labels[number] | self.handed(number)
        after = self.left(number) | (self.handed(number - 1) if number else set())
        new = self.all("writes", order) - self.of.there - later
        inside = (
            self.of.inside(order, False, handed_on, after, new)
            for handed_on in (before, before | self.inputs[number])
        )
        return StageRun(sum(self.of.runs[index].time for index in order), *inside)

    def needed(self, part: ChainPart, wanted: set[int]) -> list[int]:
        """Return the forward operations that run again where these storages are wanted."""
        written, read = ([getattr(run, what) for run in self.of.runs] for what in ("made", "read"))
        twice = (*part.forward, *part.forward)
        return without_idle(twice, written, read, wanted)[len(part.forward) :]

    def handed(self, number: int) -> set[int]:
        """Return the gradients of maps that the backward of later parts hands to that of a part and
        of those before it."""
        before = (index for part in self.parts[: number + 1] for index in part.backward)
        return (self.made[number + 1] & self.all("touched", before)) - self.stay

    def left(self, number: int) -> set[int]:
        """Storages that a part leaves to the end: gradients of parameters, which the updates read,
        and outputs of its forward that stay."""
        new = self.made[number] - self.made[number + 1]
        return (new | self.once[number]) & self.stay

    def _inputs(self) -> tuple[set[int], list[set[int]]]:
        """Storages that are there before the step and not after it: those that go with the input of
        the first part, and for each part those that it needs last and holds up to its backward."""
        turns: dict[int, list[int]] = {}
        for number, part in enumerate(self.parts):
            for tensor in self.all("touched", (*part.forward, *part.backward)) - self.stay:
                turns.setdefault(tensor, []).append(number)
        read = self.all("touched", self.parts[0].backward)
        first = {n for n in self.of.there & turns.keys() if turns[n] == [0] or n in read}
        rest = (self.of.there & turns.keys()) - first
        return first, [{n for n in rest if turns[n][0] == k} for k in range(len(self.parts))]
