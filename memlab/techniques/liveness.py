"""Which block is alive when, for an order of operations: bytes and time without building its step.

``resequenced`` makes the step of an order, with every name and check. Searches try many orders and
pictures show many at once: here each takes a few milliseconds, by the same rules, to the byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from memlab.lines import Column, np
from memlab.planner.clock import Machine
from memlab.planner.ledger import column
from memlab.step.op import Op
from memlab.step.step import Step
from memlab.step.storage import DEVICE
from memlab.step.tensor import Tensor
from memlab.techniques.again import made, read, repeatable, without_idle
from memlab.techniques.cuts import cost


@dataclass(frozen=True, eq=False)
class Lives:
    """The blocks of an order on the device: operations by position in it, from 0.

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
        """Bytes inside every operation, of all blocks or of those that are chosen."""
        here = slice(None) if chosen is None else chosen
        change = np.zeros(len(self.order) + 1, self.nbytes.dtype)
        np.add.at(change, np.maximum(self.birth[here], 0), self.nbytes[here])
        np.subtract.at(change, np.minimum(self.death[here] + 1, len(self.order)), self.nbytes[here])
        return np.cumsum(change[:-1])

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
    """A step at a batch, read once, for the lives of its blocks in any order with repeats, and its
    time on a machine."""

    def __init__(self, step: Step, batch: int, machine: Machine | None = None) -> None:
        self.step, self.batch, self.machine = step, batch, machine
        self.tensors: list[Tensor] = []
        self._numbers: dict[str, int] = {}
        self._runs = [_Run(self, op) for op in step.ops]
        self._there = [self.number(each) for each in step.live_in]
        self._left = [self.number(each) for each in step.live_out]

    def number(self, tensor: Tensor) -> int:
        """The number of a storage, which is that of the first tensor in it."""
        name = tensor.storage.name
        if name not in self._numbers:
            self._numbers[name] = len(self.tensors)
            self.tensors.append(tensor)
        return self._numbers[name]

    @cached_property
    def nbytes(self) -> Column:
        """Of every storage, at the batch."""
        return column([each.storage.size.at(self.batch) for each in self.tensors])

    @cached_property
    def here(self) -> Column:
        """Which storages are on the device."""
        return np.array([each.storage.memory == DEVICE for each in self.tensors])

    def of(self, order: Sequence[int]) -> Lives:
        """The blocks of an order; what nobody reads does not run again, as in ``resequenced``.

        Raises:
            InputError: an operation that changes something in place stands there twice.
        """
        walk = _Walk(self)
        made, read = ([getattr(run, what) for run in self._runs] for what in ("made", "read"))
        ran: set[int] = set()
        for index in without_idle(order, made, read):
            walk.run(index, index in ran)
            ran.add(index)
        return walk.lives()


class _Run:
    """An operation as numbers of storages: what it touches, what it reads, and what it makes anew
    each time."""

    def __init__(self, all_: Liveness, op: Op) -> None:
        self.all, self.op = all_, op
        numbers = {each.storage.name: all_.number(each) for each in op.touched()}
        self.touched = [*numbers.values()]
        self.made = {numbers[name] for name in made(op)}
        self.read = {numbers[name] for name in read(op)}
        self.workspace = [all_.number(each) for each in op.workspace.values()]
        self.time = cost([op], all_.batch, all_.machine)

    @cached_property
    def repeated(self) -> tuple[list[int], int]:
        """What it reads where it runs again, and how long that takes."""
        op = repeatable(self.op)
        time = cost([op], self.all.batch, self.all.machine)
        return [self.all.number(each) for each in op.reads.values()], time


class _Walk:
    """Goes through an order; the newest block of every storage is the one that is read."""

    def __init__(self, all_: Liveness) -> None:
        self.all = all_
        self.done: list[tuple[int, bool, int]] = []
        self.number = [*dict.fromkeys(all_._there)]
        self.birth, self.death = ([-1] * len(self.number) for _ in range(2))
        self.newest = {number: at for at, number in enumerate(self.number)}
        self.first = dict(self.newest)

    def run(self, index: int, again: bool) -> None:
        """One operation, for the first time or once more."""
        run, now = self.all._runs[index], len(self.done)
        touched, time = run.repeated if again else (run.touched, run.time)
        for number in touched:
            if number in self.newest:
                self.death[self.newest[number]] = now
            else:
                self.first[number] = self.newest[number] = self.born(number, now)
        for number in run.made if again else ():
            self.newest[number] = self.born(number, now)
        for number in run.workspace:
            self.born(number, now)
        self.done.append((index, again, time))

    def born(self, number: int, now: int) -> int:
        """A new block."""
        self.number.append(number)
        self.birth.append(now)
        self.death.append(now)
        return len(self.number) - 1

    def lives(self) -> Lives:
        """What has been noted, of the device alone."""
        for number in self.all._left:
            self.death[self.first[number]] = len(self.done)
        columns = (self.number, self.birth, self.death)
        which, birth, death = (np.array(each, np.int64) for each in columns)
        here = self.all.here[which]
        order, again, times = (np.array(each) for each in zip(*self.done, strict=True))
        nbytes = self.all.nbytes[which]
        return Lives(order, again, times, birth[here], death[here], nbytes[here], which[here])
