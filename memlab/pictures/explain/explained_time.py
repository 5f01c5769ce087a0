"""A plan over the time of a step: its blocks in columns, and the modules that run in turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from memlab.arrays import Column, bytes_by_part, column
from memlab.ledger.ledger import Entry
from memlab.pictures.explain.explained_changes import Planned
from memlab.pictures.mountain.layers import Curve, MountainLayer, columns, over_time, pile
from memlab.pictures.mountain.stack_parts import ROLES
from memlab.step.op import Phase
from memlab.step.storage import DEVICE
from memlab.step.tensor import Role
from memlab.techniques.application_order import PART


class ModuleRun(NamedTuple):
    """Operations one after another, from those of a module to those of another one; ``back`` is
    whether they are of backward. ``begin`` and ``end`` are operations, both counted."""

    first: str
    last: str
    back: bool
    begin: int
    end: int


class ModuleSlab(NamedTuple):
    """A part of the mountain that is one module's, by its name."""

    module: str


@dataclass(frozen=True, eq=False)
class PlanColumns:
    """A plan at a batch over ``count`` columns of time, which last ``longest`` seconds together."""

    planned: Planned
    batch: int
    longest: float
    count: int

    @cached_property
    def held(self) -> int:
        """The batch of its plan."""
        return self.planned.held(self.batch)

    @cached_property
    def timeline(self) -> Column:
        """Bytes inside every operation."""
        return np.array(self.planned.ledger.timeline(self.held), np.int64)

    @cached_property
    def order(self) -> Column:
        """The operations as they run: parts that the step does not write out run as its second
        one does."""
        ops, parts = self.planned.step.ops, self.planned.parts
        if parts == 1:
            return np.arange(len(ops))
        late = [op.phase is Phase.UPDATE for op in ops]
        second = [i for i, op in enumerate(ops) if op.attributes.get(PART, 1) > 1 and not late[i]]
        others = [i for i, op in enumerate(ops) if op.attributes.get(PART, 1) == 1 and not late[i]]
        updates = [i for i, each in enumerate(late) if each]
        return np.array([*others, *second * (parts - 1), *updates], np.int64)

    @cached_property
    def times(self) -> Column:
        """Seconds of what runs, one after the other."""
        return np.array(self.planned.times(self.batch), np.float64)[self.order]

    @cached_property
    def ends(self) -> Column:
        """Where each of it ends, in columns."""
        return np.cumsum(self.times) * (self.count / self.longest)

    @cached_property
    def operations(self) -> Column:
        """The operation that stands for each column: that of the most bytes; -1 after the last."""
        shown = columns(self.ends, self.timeline[self.order], self.count)
        return np.where(shown < 0, -1, self.order[np.maximum(shown, 0)])

    @cached_property
    def _places(self) -> tuple[dict[int, float], dict[int, float]]:
        """Where each operation begins first, and where it ends last."""
        begins, ends, begin = dict[int, float](), dict[int, float](), 0.0
        for index, end in zip(self.order.tolist(), self.ends.tolist(), strict=True):
            begins.setdefault(index, begin)
            ends[index] = begin = end
        return begins, ends

    def begin(self, index: int) -> float:
        """The column in which an operation begins."""
        return self._places[0][index]

    def end(self, index: int) -> float:
        """The column in which it ends."""
        return self._places[1][index]

    @property
    def total(self) -> Curve:
        """All its bytes in every column."""
        return over_time(self.timeline, self.operations).astype(np.float64)

    def layers(
        self, slabs: Mapping[str, Sequence[Entry]]
    ) -> list[MountainLayer[Role | ModuleSlab]]:
        """Its bytes in every column by role, and on top of them those of some slabs."""
        slab_of = {
            id(each): ModuleSlab(name) for name, entries in slabs.items() for each in entries
        }
        lines = bytes_by_part(
            [slab_of.get(id(each), each.role) for each in self.entries],
            column([each.size.at(self.held) for each in self.entries]),
            np.array([each.birth for each in self.entries], np.int64),
            np.array([each.death for each in self.entries], np.int64),
            len(self.timeline),
        )
        order = [part for part in (*ROLES, *map(ModuleSlab, slabs)) if part in lines]
        shown = {part: over_time(lines[part], self.operations) for part in order}
        return pile(shown, np.zeros(self.count))

    @cached_property
    def entries(self) -> list[Entry]:
        """Its blocks on the device."""
        return [each for each in self.planned.ledger.entries if each.memory == DEVICE]

    @cached_property
    def backward(self) -> int:
        """The first operation of backward, or the one after the last."""
        rows = self.planned.ledger.rows
        found = (i for i, row in enumerate(rows) if row.phase is Phase.BACKWARD)
        return next(found, len(rows))
