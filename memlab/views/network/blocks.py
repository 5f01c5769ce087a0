"""Blocks of memory as columns of numbers, so that thousands of them are looked through at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from memlab.planner.ledger import Column, Entry, column, evaluate
from memlab.step.tensor import Role


@dataclass(frozen=True, eq=False)
class Blocks:
    """Some blocks of a ledger, in order of birth."""

    entries: Sequence[Entry]
    operations: int

    @cached_property
    def _columns(self) -> tuple[Column, Column, Column, Column]:
        birth, death = ([e.birth for e in self.entries], [e.death for e in self.entries])
        fixed = column([e.size.fixed for e in self.entries])
        each = column([e.size.per_sample for e in self.entries])
        return np.array(birth, np.int64), np.array(death, np.int64), fixed, each

    def count(self, at: int) -> int:
        """How many are alive inside an operation."""
        return int(self._alive(at).sum())

    def per_sample(self, at: int) -> int:
        """Bytes that each sample adds inside an operation."""
        return int(self._columns[3][self._alive(at)].sum())

    def largest(self, at: int, batch: int, most: int) -> list[Entry]:
        """The largest alive inside an operation; of equal ones those that were born first."""
        birth, _, fixed, each = self._columns
        alive = np.flatnonzero(self._alive(at))
        alive = alive[np.argsort(birth[alive], kind="stable")]
        sizes = evaluate((fixed[alive], each[alive]), batch)
        order = np.argsort(-sizes, kind="stable")[:most]
        return [self.entries[index] for index in alive[order].tolist()]

    @cached_property
    def line(self) -> Column:
        """Bytes that each sample adds, inside every operation."""
        birth, death, _, each = self._columns
        change = np.zeros(self.operations + 1, each.dtype)
        np.add.at(change, np.maximum(birth, 0), each)
        np.subtract.at(change, np.minimum(death + 1, self.operations), each)
        return np.cumsum(change)[:-1]

    def _alive(self, at: int) -> Column:
        birth, death, _, _ = self._columns
        return (birth <= at) & (at <= death)


@dataclass(frozen=True, eq=False)
class Slice:
    """One row of the lower picture: what one stage, or one layer, puts on the mountain."""

    name: str
    blocks: Blocks

    @cached_property
    def values(self) -> Column:
        """Bytes per sample of what is no gradient, inside every operation."""
        return self.blocks.line - self.gradients

    @cached_property
    def gradients(self) -> Column:
        """Bytes per sample of gradients, inside every operation."""
        found = [entry for entry in self.blocks.entries if entry.role is Role.GRADIENT_MAP]
        return Blocks(found, self.blocks.operations).line

    @cached_property
    def highest(self) -> int:
        """The most bytes per sample inside one operation."""
        return int(self.blocks.line.max(initial=0))
