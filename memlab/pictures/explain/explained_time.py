"""A plan over the time of a step: bytes in columns of time, and the modules that run in turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from memlab.arrays import Column, bytes_by_part, column
from memlab.ledger.ledger import Entry
from memlab.pictures.explain.explained_changes import PlannedStep
from memlab.pictures.mountain.layers import Curve, MountainLayer, columns, over_time, pile
from memlab.pictures.mountain.stack_parts import ROLES
from memlab.step.op import Phase
from memlab.step.storage import DEVICE
from memlab.step.tensor import Role
from memlab.techniques.application_order import PART


class ModuleRun(NamedTuple):
    """Successive operations, from the module ``first`` to the module ``last``. ``back`` is True for
    backward. ``begin`` and ``end`` are the indices of the first and the last operation."""

    first: str
    last: str
    back: bool
    begin: int
    end: int


class ModuleSlab(NamedTuple):
    """A part of the mountain: the feature maps of one module, by its name."""

    module: str


@dataclass(frozen=True, eq=False)
class PlanColumns:
    """A plan at a batch over ``count`` columns of time, which last ``longest`` seconds together."""

    planned: PlannedStep
    batch: int
    longest: float
    count: int

    @cached_property
    def micro_batch(self) -> int:
        """Samples for which the plan is evaluated."""
        return self.planned.micro_batch(self.batch)

    @cached_property
    def timeline(self) -> Column:
        """Bytes alive in every operation."""
        return np.array(self.planned.ledger.timeline(self.micro_batch), np.int64)

    @cached_property
    def order(self) -> Column:
        """Indices of the operations in the order in which they run; micro-batches that the step
        does not write out run like its second one."""
        ops, parts = self.planned.step.ops, self.planned.parts
        if parts == 1:
            return np.arange(len(ops))
        late = [op.phase is Phase.UPDATE for op in ops]
        second = [i for i, op in enumerate(ops) if op.attributes.get(PART, 1) > 1 and not late[i]]
        others = [i for i, op in enumerate(ops) if op.attributes.get(PART, 1) == 1 and not late[i]]
        updates = [i for i, is_update in enumerate(late) if is_update]
        return np.array([*others, *second * (parts - 1), *updates], np.int64)

    @cached_property
    def times(self) -> Column:
        """Seconds of the operations, in the order in which they run."""
        return np.array(self.planned.times(self.batch), np.float64)[self.order]

    @cached_property
    def ends(self) -> Column:
        """Column in which each operation ends, in the order in which they run."""
        return np.cumsum(self.times) * (self.count / self.longest)

    @cached_property
    def operations(self) -> Column:
        """Index of the operation with the most bytes in each column; -1 after the last one."""
        positions = columns(self.ends, self.timeline[self.order], self.count)
        return np.where(positions < 0, -1, self.order[np.maximum(positions, 0)])

    @cached_property
    def _spans(self) -> tuple[dict[int, float], dict[int, float]]:
        """Columns in which operations begin first, and columns in which they end last, by index."""
        begins, ends, begin = dict[int, float](), dict[int, float](), 0.0
        for index, end in zip(self.order.tolist(), self.ends.tolist(), strict=True):
            begins.setdefault(index, begin)
            ends[index] = begin = end
        return begins, ends

    def begin(self, index: int) -> float:
        """Return the column in which an operation begins first."""
        return self._spans[0][index]

    def end(self, index: int) -> float:
        """Return the column in which an operation ends last."""
        return self._spans[1][index]

    @property
    def total(self) -> Curve:
        """Bytes alive in every column."""
        return over_time(self.timeline, self.operations).astype(np.float64)

    def layers(
        self, slabs: Mapping[str, Sequence[Entry]]
    ) -> list[MountainLayer[Role | ModuleSlab]]:
        """Return the bytes of every column as layers: by role, and on top of them by slab.

        Args:
            slabs: blocks of each slab, by the name of the module.
        """
        slab_of = {
            id(entry): ModuleSlab(name) for name, entries in slabs.items() for entry in entries
        }
        lines = bytes_by_part(
            [slab_of.get(id(entry), entry.role) for entry in self.entries],
            column([entry.size.at(self.micro_batch) for entry in self.entries]),
            np.array([entry.birth for entry in self.entries], np.int64),
            np.array([entry.death for entry in self.entries], np.int64),
            len(self.timeline),
        )
        order = [part for part in (*ROLES, *map(ModuleSlab, slabs)) if part in lines]
        curves = {part: over_time(lines[part], self.operations) for part in order}
        return pile(curves, np.zeros(self.count))

    @cached_property
    def entries(self) -> list[Entry]:
        """Blocks of the plan on the device."""
        entries = self.planned.ledger.at(self.micro_batch).entries
        return [entry for entry in entries if entry.memory == DEVICE]

    @cached_property
    def backward(self) -> int:
        """Index of the first operation of backward, or the number of operations."""
        rows = self.planned.ledger.rows
        indices = (i for i, row in enumerate(rows) if row.phase is Phase.BACKWARD)
        return next(indices, len(rows))
