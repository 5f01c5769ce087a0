"""Which block is alive when, for an order of operations: bytes and time without building its step.

``resequenced`` makes the step of an order, with every name and check. Searches try many orders and
pictures show many at once: here each takes a few milliseconds, by the same rules, to the byte.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from memlab.arrays import Column, alive, column
from memlab.clocks import roofline
from memlab.clocks.roofline import Machine
from memlab.step.op import Op
from memlab.step.step import Step
from memlab.step.storage import DEVICE
from memlab.step.tensor import Tensor
from memlab.techniques.application_order import shared
from memlab.techniques.in_place import alike
from memlab.techniques.recompute.repeated_operations import made, read, repeatable, without_idle


@dataclass(frozen=True, eq=False)
class Lives:
    """Lives of the blocks of an order on the device: operations by position in it, from 0.

    ``order`` are the operations by number, ``again`` says which of them run again and ``times`` how
    long each takes, in nanoseconds; all of shape (operations,). Of every block: ``birth`` (-1 where
    it is there before the step), ``death``, ``nbytes``, ``tensor``, the number of its first tensor
    in ``Liveness.tensors``; all of shape (blocks,).
    """

    order: Column
    again: Column
    times: Column
    birth: Column
    death: Column
    nbytes: Column
    tensor: Column

    def line(self, chosen: Column | None = None) -> Column:
        """Return the bytes inside every operation, of all blocks or of those that are chosen."""
        here = slice(None) if chosen is None else chosen
        return alive(self.nbytes[here], self.birth[here], self.death[here], len(self.order))

    @cached_property
    def timeline(self) -> Column:
        """Bytes inside every operation."""
        return self.line()

    @property
    def peak(self) -> int:
        """The most bytes inside one operation."""
        return int(self.timeline.max())

    @property
    def cost(self) -> int:
        """Nanoseconds by the clock."""
        return int(self.times.sum())


class Liveness:
    """Reader of a step at a batch, for the lives of its blocks in any order with repeats, and its
    time on a machine; where ``in_place`` follows, those after it."""

    def __init__(
        self, step: Step, batch: int, machine: Machine | None = None, in_place: bool = False
    ) -> None:
        self.step, self.batch, self.machine, self.in_place = step, batch, machine, in_place
        self.shared = shared(step) if in_place else set()
        self.tensors: list[Tensor] = []
        self.numbers: dict[str, int] = {}
        self.there = {self.number(tensor) for tensor in step.live_in}
        self.runs = [OperationRun(self, op) for op in step.ops]
        self.left = {self.number(tensor) for tensor in step.live_out}
        both = (op_run for run in self.runs for op_run in (run, run.repeated))
        self.scratch = {number for run in both for number in run.workspace}

    def number(self, tensor: Tensor) -> int:
        """The number of a storage, which is that of the first tensor in it."""
        name = tensor.storage.name
        if name not in self.numbers:
            self.numbers[name] = len(self.tensors)
            self.tensors.append(tensor)
        return self.numbers[name]

    @cached_property
    def nbytes(self) -> Column:
        """Bytes of every storage, at the batch."""
        return column([tensor.storage.size.at(self.batch) for tensor in self.tensors])

    @cached_property
    def here(self) -> Column:
        """Mask of the storages that are on the device."""
        return np.array([tensor.storage.memory == DEVICE for tensor in self.tensors])

    def of(self, order: Sequence[int]) -> Lives:
        """Return the blocks of an order; operations whose outputs nobody reads do not run again, as
        in ``resequenced``."""
        written, read = ([getattr(run, what) for run in self.runs] for what in ("made", "read"))
        walk, ran = _OrderWalk(self, self.there, 0), set[int]()
        for index in without_idle(order, written, read):
            walk.run(index, index in ran)
            ran.add(index)
        return walk.lives(walk.first[number] for number in self.left)

    def inside(
        self, order: Iterable[int], again: bool, before: Set[int], after: Set[int], new: Set[int]
    ) -> int:
        """Return the most bytes inside some operations, for the first time or ``again``, of the
        storages that are there ``before`` or ``new``: storages that are needed ``after`` them
        stay."""
        counted = before | new | self.scratch
        walk = _OrderWalk(self, before, -1)
        for index in order:
            walk.run(index, again)
        if not walk.done:
            return 0
        lives = walk.lives((walk.newest[number] for number in after), counted)
        return int(
            lives.line(np.array([number in counted for number in lives.tensor.tolist()])).max()
        )


class OperationRun:
    """An operation as numbers of storages: what it touches, reads and writes, what it makes anew
    each time, and its workspace; how long it takes; and the same where it runs again."""

    def __init__(self, all_: Liveness, op: Op) -> None:
        numbers = {tensor.storage.name: all_.number(tensor) for tensor in op.touched()}
        self.touched = [*numbers.values()]
        self.writes = {numbers[tensor.storage.name] for tensor in op.writes.values()}
        self.made = {numbers[name] for name in made(op)}
        self.read = {numbers[name] for name in read(op)}
        self.workspace = [all_.number(tensor) for tensor in op.workspace.values()]
        self.time = cost([op], all_.batch, all_.machine)
        self.over = [*_over(all_, op)] if all_.in_place else []
        self.repeated = OperationRun(all_, repeatable(op)) if op.updates and op.again else self


def _over(all_: Liveness, op: Op) -> Iterator[list[int]]:
    """Yield for every output the inputs in whose place it may lie once they are
    dead, as storages."""
    reads = [all_.number(tensor) for tensor in op.reads.values()]
    for slot, sources in op.traits.over.items() if "addend" not in op.reads else ():
        output = op.writes.get(slot)
        if output and output.storage.name not in all_.shared:
            fits = (op.reads[source] for source in sources if alike(output, op.reads[source]))
            chart = map(all_.number, fits)
            yield [n for n in chart if n not in all_.there and reads.count(n) == 1]


class _OrderWalk:
    """Walk through an order; the newest block of every storage is the one that is read. A storage
    that is ``there`` before and that nobody reads is there ``until`` an operation."""

    def __init__(self, all_: Liveness, there: Iterable[int], until: int) -> None:
        self.all = all_
        self.done: list[tuple[int, bool, int]] = []
        self.number = [*there]
        self.birth, self.death = ([value] * len(self.number) for value in (-1, until))
        self.newest = {number: at for at, number in enumerate(self.number)}
        self.first = dict(self.newest)
        self.over: list[tuple[int, list[int]]] = []

    def run(self, index: int, again: bool) -> None:
        """Run one operation of the walk, for the first time or once more."""
        run, now = self.all.runs[index], len(self.done)
        run = run.repeated if again else run
        for number in run.read if again else run.touched:
            if number in self.newest:
                self.death[self.newest[number]] = now
            else:
                self.first[number] = self.newest[number] = self.born(number, now)
        self.over += [(now, [self.newest[n] for n in sources]) for sources in run.over]
        for number in run.made if again else ():
            self.newest[number] = self.born(number, now)
        for number in run.workspace:
            self.born(number, now)
        self.done.append((index, again, run.time))

    def born(self, number: int, now: int) -> int:
        """Note the birth of a new block; return its number."""
        self.number.append(number)
        self.birth.append(now)
        self.death.append(now)
        return len(self.number) - 1

    def lives(self, left: Iterable[int], own: Set[int] | None = None) -> Lives:
        """Return the births and deaths of all blocks on the device, as arrays. The blocks of
        ``left`` live until the end of the step.

        An operation in place writes its output over a block that it reads last. That block then
        dies one operation earlier, if its number is in ``own`` or ``own`` is None.
        """
        for block in left:
            self.death[block] = len(self.done)
        for now, blocks in self.over:
            dying = (block for block in blocks if self.death[block] == now)
            for block in dying:
                if own is None or self.number[block] in own:
                    self.death[block] -= 1
                    break
        columns = (self.number, self.birth, self.death)
        which, birth, death = (np.array(numbers, np.int64) for numbers in columns)
        here = self.all.here[which]
        order, again, times = zip(*self.done, strict=True)
        nbytes = self.all.nbytes[which]
        runs = np.array(order, np.int64), np.array(again, np.bool_), column(times)
        return Lives(*runs, birth[here], death[here], nbytes[here], which[here])


def cost(ops: Iterable[Op], batch: int, machine: Machine | None = None) -> int:
    """Return the nanoseconds of operations by the clock, on a machine; an algorithm of which no
    share was measured counts as fast as a large matrix product."""
    on = machine or roofline.rates()
    known = (op if roofline.knows(op, on) else replace(op, algorithm="") for op in ops)
    return sum(round(1e9 * roofline.seconds(op, batch, on)) for op in known)
