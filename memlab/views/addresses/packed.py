"""A placement with everything that is drawn or said of it, worked out once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from memlab.planner.entries import Tenant
from memlab.planner.ledger import Entry
from memlab.planner.placement import Block, Placement
from memlab.step.tensor import Role
from memlab.views.addresses.source import Source

SHARE = 200
"""A block is drawn for itself from this part of the arena on: 0.5 %."""
SHARE_OF_STAGE = 2_000
"""The same where one stage is shown."""
MOST = 400
"""Rectangles in one picture."""


@dataclass(frozen=True, slots=True)
class Row:
    """One block at its address. ``size`` is rounded to the alignment, ``turn`` counts from 1.

    ``kind`` is ``"kept"`` or ``"short"`` for a feature map, else the name of a role.
    """

    block: Block
    address: int
    size: int
    turn: int
    kind: str
    entry: Entry | None = None

    @property
    def name(self) -> str:
        """The name of the block."""
        return self.block.name

    @property
    def top(self) -> int:
        """The first address behind it."""
        return self.address + self.size

    @property
    def tenants(self) -> tuple[Tenant, ...]:
        """The tensors that fill it one after another, where they are several."""
        return self.entry.tenants if self.entry else ()

    def lives_with(self, other: Row) -> bool:
        """Whether there is an operation in which both are alive."""
        a, b = self.block, other.block
        return a.birth <= b.death and b.birth <= a.death

    def meets(self, other: Row) -> bool:
        """Whether they share addresses, at whatever time."""
        return self.address < other.top and other.address < self.top


@dataclass(frozen=True, slots=True)
class Overlap:
    """Two blocks that live together and share bytes: a fault."""

    first: Row
    second: Row

    @property
    def operation(self) -> int:
        """The first operation in which both are alive, from 0."""
        return max(self.first.block.birth, self.second.block.birth)

    @property
    def addresses(self) -> tuple[int, int]:
        """From where to where they share bytes."""
        a, b = self.first, self.second
        return max(a.address, b.address), min(a.top, b.top)

    @property
    def until(self) -> int:
        """The last operation in which both are alive."""
        return min(self.first.block.death, self.second.block.death)


@dataclass(frozen=True, eq=False)
class Packed:
    """The rows of one placement, in order of birth, and its figures.

    With a ``stage`` only the blocks that are born in it are drawn for themselves.
    """

    source: Source
    batch: int
    placement: Placement
    stage: str = ""

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """Every block, in order of birth."""
        turns = {index: turn for turn, index in enumerate(self.placement.order, 1)}
        pairs = enumerate(zip(self.placement.blocks, self.placement.addresses, strict=True))
        found = [self._row(block, at, turns[index]) for index, (block, at) in pairs]
        return tuple(sorted(found, key=lambda row: row.block.birth))

    def _row(self, block: Block, address: int, turn: int) -> Row:
        step = self.placement.alignment
        size = -(-block.nbytes // step) * step
        entry = self.source.entries.get(block.name)
        return Row(block, address, size, turn, self._kind(block, entry), entry)

    def _kind(self, block: Block, entry: Entry | None) -> str:
        if entry is None:
            return "kept" if block.death > block.birth else "short"
        if entry.role is not Role.FEATURE_MAP:
            return entry.role.value
        return "kept" if self.source.keeps(block.birth, block.death) else "short"

    def born(self, row: Row) -> bool:
        """Whether a block is born in the stage that is shown; every block where all are."""
        return not self.stage or (row.entry is not None and row.entry.stage == self.stage)

    @cached_property
    def by_name(self) -> dict[str, Row]:
        """The rows by the name of their block."""
        return {row.name: row for row in self.rows}

    @cached_property
    def turns(self) -> tuple[Row, ...]:
        """The rows in the order in which they were placed."""
        return tuple(sorted(self.rows, key=lambda row: row.turn))

    @cached_property
    def arena(self) -> int:
        """Bytes of the arena."""
        return self.placement.arena

    @cached_property
    def bound(self) -> int:
        """The lower bound: the most bytes that are alive at once."""
        return self.placement.lower_bound

    @cached_property
    def busiest(self) -> int:
        """The first operation where so many are alive."""
        return self.placement.busiest

    @property
    def waste(self) -> int:
        """Bytes of the arena above the lower bound."""
        return self.arena - self.bound

    @cached_property
    def total(self) -> int:
        """All blocks together."""
        return self.placement.total

    @cached_property
    def alive(self) -> list[int]:
        """Bytes alive inside every operation."""
        change = [0] * (self.source.operations + 1)
        for row in self.rows:
            change[row.block.birth] += row.size
            change[min(row.block.death + 1, self.source.operations)] -= row.size
        return list(accumulate(change[:-1]))

    @cached_property
    def overlaps(self) -> tuple[Overlap, ...]:
        """The faults of this map."""
        rows = self.by_name
        return tuple(Overlap(rows[a.name], rows[b.name]) for a, b in self.placement.overlaps())

    @cached_property
    def drawn(self) -> tuple[Row, ...]:
        """The blocks that are drawn for themselves; what overlaps is among them."""
        faults = {row.name for fault in self.overlaps for row in (fault.first, fault.second)}
        born = [row for row in self.rows if self.born(row)]
        share = SHARE_OF_STAGE if self.stage else SHARE
        large = [row for row in born if row.size * share >= self.arena] or born
        large += [row for row in self.rows if row.name in faults]
        if len(large) > MOST:
            large = sorted(large, key=lambda row: -row.size)[:MOST]
        chosen = {row.name for row in large}
        return tuple(row for row in self.rows if row.name in chosen)

    @cached_property
    def cheap(self) -> tuple[Row, ...]:
        """The blocks that are cheap to make again."""
        return tuple(row for row in self.rows if row.name in self.source.cheap and self.born(row))

    @cached_property
    def small(self) -> tuple[Row, ...]:
        """The others: small ones, or those of other stages."""
        chosen = {row.name for row in self.drawn}
        return tuple(row for row in self.rows if row.name not in chosen)

    def at(self, operation: int) -> list[Row]:
        """All blocks alive inside an operation, from address 0 up."""
        alive = (r for r in self.rows if r.block.birth <= operation <= r.block.death)
        return sorted(alive, key=lambda row: row.address)

    def sharing(self, row: Row) -> list[Row]:
        """The blocks that use some of its addresses at another time, in order of birth."""
        return [other for other in self.rows if other.meets(row) and not other.lives_with(row)]
