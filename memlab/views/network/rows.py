"""The rows that the picture and the text of the network-memory view are both made from."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import cached_property

from memlab.planner.ledger import BEFORE, Entry, Peak
from memlab.step.tensor import Role
from memlab.views import axis
from memlab.views.network.blocks import Slice
from memlab.views.network.source import Curve, Source
from memlab.views.network.state import Budget, Scales, State, comparable
from memlab.views.roles import PAINTS, Look, Paint

LARGEST = 5


@dataclass(frozen=True, slots=True)
class RoleRow:
    """Bytes of one slice of the stack inside an operation, and what each sample adds to it."""

    look: Look
    nbytes: int
    each: int


@dataclass(frozen=True, slots=True)
class BlockRow:
    """One block alive inside an operation. ``first`` and ``last`` count operations from 1;
    ``first`` is 0 for what was there before the step, ``last`` is 0 for what stays after it."""

    name: str
    role: Role
    formula: str
    nbytes: int
    first: int
    last: int
    made: str
    needed: str

    @property
    def paint(self) -> Paint:
        """How it is drawn."""
        return PAINTS[self.role]


@dataclass(frozen=True, slots=True)
class SliceRow:
    """What one stage or layer has on the mountain inside an operation."""

    part: Slice
    nbytes: int
    blocks: int
    stage: bool

    def batch_highest(self, batch: int) -> int:
        """The most it has at any operation."""
        return batch * self.part.highest


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the peak fits into a budget. ``largest`` is the largest batch that does: 0 where
    not one sample fits, None where every batch does."""

    budget: Budget
    fits: bool
    largest: int | None


@dataclass(frozen=True)
class Rows:
    """Everything that is shown, in exact bytes."""

    state: State
    source: Source
    peak: Peak
    at: int
    roles: tuple[RoleRow, ...]
    blocks: tuple[BlockRow, ...]
    alive: int
    slices: tuple[SliceRow, ...]
    verdicts: tuple[Verdict, ...]

    @property
    def batch(self) -> int:
        """The batch shown."""
        return self.state.batch

    @property
    def peak_floor(self) -> int:
        """The part of the peak that does not depend on the batch."""
        return int(self.source.floor[self.peak.index])

    @property
    def peak_each(self) -> int:
        """What each sample adds to the peak."""
        return int(self.source.mountain[self.peak.index])

    @property
    def peak_mountain(self) -> int:
        """The part of the peak that grows with the batch."""
        return self.batch * self.peak_each

    @property
    def floor(self) -> tuple[RoleRow, ...]:
        """The rows under the line, from the bottom up."""
        return tuple(row for row in self.roles if not row.look.grows)

    @property
    def mountain(self) -> tuple[RoleRow, ...]:
        """The rows above the line, from the bottom up."""
        return tuple(row for row in self.roles if row.look.grows)

    @property
    def here(self) -> int:
        """Bytes alive inside the operation of the cursor."""
        return sum(row.nbytes for row in self.roles)

    @property
    def others(self) -> int:
        """Bytes alive there in the blocks that are not listed."""
        return self.here - sum(row.nbytes for row in self.blocks)

    @property
    def chosen_block(self) -> BlockRow | None:
        """The block that the keyboard is on."""
        kind, _, number = self.state.chosen.partition(":")
        found = kind == "block" and int(number) < len(self.blocks)
        return self.blocks[int(number)] if found else None

    @property
    def curve(self) -> Curve:
        """The whole stack over the operations."""
        return self.source.curve(self.batch)

    @cached_property
    def before(self) -> Rows | None:
        """What was shown last, where there is such a thing."""
        return rows(self.state.before) if self.state.before else None

    @property
    def outline(self) -> Rows | None:
        """What was shown last, where it has the same operations."""
        return self.before if comparable(self.state.before, self.state) else None

    @cached_property
    def settled(self) -> Scales:
        """The axes that this state has when nothing holds them."""
        amounts, highest = [self.peak.nbytes], [self._highest()]
        if self.outline is not None:
            amounts.append(self.outline.peak.nbytes)
            highest.append(self.outline._highest())
        if self.state.guess is not None and self.state.guess <= 2 * max(amounts):
            amounts.append(self.state.guess)
        return Scales(axis.over(max(amounts)), axis.over(max(highest), axis.TIGHT))

    @property
    def scales(self) -> Scales:
        """The axes to draw."""
        return self.state.held or self.settled

    def _highest(self) -> int:
        return self.batch * max((row.part.highest for row in self.slices), default=0)


def rows(state: State) -> Rows:
    """The rows of a state; those of the last few states are kept."""
    for known, found in _RECENT:
        if known is state:
            return found
    _RECENT.append((state, _rows(state)))
    return _RECENT[-1][1]


_RECENT: deque[tuple[State, Rows]] = deque(maxlen=8)


def _rows(state: State) -> Rows:
    source, batch = state.source, state.batch
    peak = source.ledger.peak_at(batch)
    at = peak.index if state.cursor is None else min(state.cursor, source.operations - 1)
    return Rows(
        state,
        source,
        peak,
        at,
        tuple(role_rows(state, source, at)),
        tuple(block_row(source, e, batch) for e in source.blocks.largest(at, batch, LARGEST)),
        source.blocks.count(at),
        tuple(slice_row(part, state, at) for part in source.slices(state.unfolded)),
        tuple(verdict(source, peak, budget) for budget in state.budgets),
    )


def role_rows(state: State, source: Source, at: int) -> list[RoleRow]:
    """One row for every slice of the stack that has a line, from the bottom up."""
    found = []
    for look in source.looks:
        value = int(source.lines[look][at])
        found.append(RoleRow(look, value * (state.batch if look.grows else 1), value * look.grows))
    return found


def block_row(source: Source, entry: Entry, batch: int) -> BlockRow:
    """A block with its formula in numbers and the operations it is alive between."""
    ledger = source.ledger
    stays = entry.death >= source.operations
    return BlockRow(
        entry.name,
        entry.role,
        entry.formula(batch),
        entry.size.at(batch),
        0 if entry.birth == BEFORE else entry.birth + 1,
        0 if stays else entry.death + 1,
        ledger.made_by(entry),
        ledger.needed_by(entry),
    )


def slice_row(part: Slice, state: State, at: int) -> SliceRow:
    """A stage or a layer at the cursor."""
    nbytes = state.batch * part.blocks.per_sample(at)
    return SliceRow(part, nbytes, part.blocks.count(at), part.name in state.source.names)


def verdict(source: Source, peak: Peak, budget: Budget) -> Verdict:
    """Whether the peak fits, and the largest batch that would."""
    fits = peak.nbytes <= budget.nbytes
    return Verdict(budget, fits, source.largest_batch(budget.nbytes))
