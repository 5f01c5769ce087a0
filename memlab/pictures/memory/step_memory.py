"""Bytes of a step before a batch is chosen: by part of the stack, by stage and by block.

Every figure is a line: bytes inside each operation that stay, or that each sample adds.
``memlab.pictures.memory.snapshot`` has what is alive inside one operation at one batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import accumulate, groupby
from time import monotonic

import numpy as np

from memlab import free_memory, hardware, strings, units
from memlab.arrays import Column, alive
from memlab.ledger.ledger import Entry, Ledger, LedgerRow, Line, column, evaluate
from memlab.networks.graph import Network
from memlab.pictures.mountain.layers import Curve, MountainLayer, pile
from memlab.pictures.mountain.stack_parts import FLOOR, MOUNTAIN, STACK, StackPart
from memlab.step.op import Phase
from memlab.step.step import Step
from memlab.step.storage import DEVICE
from memlab.step.tensor import Role

ROLES = list(Role)
ROWS = 6
"""The mountain is cut into so many slices at most; the small ones share the last."""


# -- blocks ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class BlockColumns:
    """Blocks of a ledger as columns of numbers, since thousands of them are searched at once.

    ``entries`` are in order of birth.
    """

    entries: Sequence[Entry]
    operations: int

    @cached_property
    def _columns(self) -> tuple[Column, Column, Column, Column]:
        birth, death = ([e.birth for e in self.entries], [e.death for e in self.entries])
        fixed = column([e.size.fixed for e in self.entries])
        columns = column([e.size.per_sample for e in self.entries])
        return np.array(birth, np.int64), np.array(death, np.int64), fixed, columns

    def count(self, at: int) -> int:
        """Number of blocks that are alive inside an operation."""
        return int(self._alive(at).sum())

    def per_sample(self, at: int) -> int:
        """Return the bytes that each sample adds inside an operation."""
        return int(self._columns[3][self._alive(at)].sum())

    def largest(self, at: int, batch: int, most: int) -> list[Entry]:
        """Return the largest blocks alive inside an operation. Of equal ones, those that were born
        first are returned."""
        birth, _, fixed, per_sample = self._columns
        alive = np.flatnonzero(self._alive(at))
        alive = alive[np.argsort(birth[alive], kind="stable")]
        sizes = evaluate((fixed[alive], per_sample[alive]), batch)
        order = np.argsort(-sizes, kind="stable")[:most]
        return [self.entries[index] for index in alive[order].tolist()]

    def largest_of_each(self, at: int) -> dict[StackPart, Entry]:
        """Return the largest block of each part of the stack inside an operation."""
        _, _, fixed, per_sample = self._columns
        alive, entries = np.flatnonzero(self._alive(at)), dict[StackPart, Entry]()
        for grows, sizes in ((False, fixed[alive]), (True, per_sample[alive])):
            order = alive[np.argsort(-sizes, kind="stable")[: np.count_nonzero(sizes)]]
            codes, first = np.unique(self._roles[order], return_index=True)
            for code, index in zip(codes.tolist(), order[first].tolist(), strict=True):
                entries[StackPart(ROLES[code], grows)] = self.entries[index]
        return entries

    @cached_property
    def _roles(self) -> Column:
        return np.array([ROLES.index(entry.role) for entry in self.entries], np.int64)

    @cached_property
    def line(self) -> Column:
        """Return the bytes that each sample adds, inside every operation."""
        birth, death, _, per_sample = self._columns
        return alive(per_sample, birth, death, self.operations)

    def _alive(self, at: int) -> Column:
        birth, death, _, _ = self._columns
        return (birth <= at) & (at <= death)


@dataclass(frozen=True, eq=False)
class StageSlice:
    """Bytes that one stage, or one layer, adds to the mountain."""

    name: str
    blocks: BlockColumns

    @cached_property
    def line(self) -> Curve:
        """Bytes per sample inside every operation."""
        return self.blocks.line.astype(np.float64)

    @cached_property
    def values(self) -> Curve:
        """Bytes per sample that are not gradients, inside every operation."""
        values = [entry for entry in self.blocks.entries if entry.role is not Role.GRADIENT_MAP]
        return BlockColumns(values, self.blocks.operations).line.astype(np.float64)

    @cached_property
    def highest(self) -> int:
        """Most bytes per sample inside one operation."""
        return int(self.blocks.line.max(initial=0))


# -- a step ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class StepMemory:
    """Ledger of one step, with the network that it was built from if there is one.

    ``mixed`` is the name of its mixed precision, of which the ledger knows the small format alone;
    ``step`` knows who reads each block, of which the ledger knows the last reader alone; ``chosen``
    is what was chosen beside network, format and optimizer, in words: the notes of the step where
    nobody says.
    """

    ledger: Ledger
    network: Network | None = None
    mixed: str = ""
    step: Step | None = None
    chosen: tuple[str, ...] | None = None
    _fits: dict[int, int | None] = field(default_factory=dict)
    _slices: dict[str, tuple[StageSlice, ...]] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """Name for people."""
        return self.ledger.label or self.ledger.network

    @property
    def format(self) -> str:
        """Format of its arrays, or the name of its mixed precision."""
        return self.mixed or self.ledger.format

    @property
    def operations(self) -> int:
        """Number of operations of the step."""
        return len(self.ledger.rows)

    @cached_property
    def sample(self) -> str:
        """Name of one sample of a batch, in one word."""
        inputs = [entry for entry in self.ledger.entries if entry.role is Role.INPUT]
        images = any(name == "H" for entry in inputs for name, _ in entry.axes)
        return strings.get("memory.image" if images else "memory.sample")

    @cached_property
    def stages(self) -> tuple[str, ...]:
        """Names of the stages in the order of forward, or nothing if the network has no stages."""
        return tuple(dict.fromkeys(row.stage for row in self.ledger.rows if row.stage))

    @cached_property
    def phases(self) -> tuple[tuple[Phase, int, int], ...]:
        """Phases with their first and last operation."""
        return phases(self.ledger.rows)

    @cached_property
    def lines(self) -> dict[StackPart, Column]:
        """Bytes, or bytes per sample, of every part of the stack inside every operation."""
        nothing: Line = (np.zeros(self.operations, np.int64),) * 2
        lines = {role: self.ledger.role_lines.get((DEVICE, role), nothing) for role in Role}
        return {part: lines[part.role][int(part.grows)] for part in STACK}

    @cached_property
    def parts(self) -> tuple[StackPart, ...]:
        """Parts that have a line in the table, from bottom to top."""
        return tuple(part for part in STACK if part.usual or self.lines[part].any())

    @cached_property
    def floor(self) -> Column:
        """Bytes inside every operation that do not depend on the batch."""
        return self._sum(FLOOR)

    @cached_property
    def mountain(self) -> Column:
        """Bytes inside every operation that each sample adds."""
        return self._sum(MOUNTAIN)

    def _sum(self, parts: tuple[StackPart, ...]) -> Column:
        return sum((self.lines[part] for part in parts), np.zeros(self.operations, np.int64))

    @cached_property
    def floor_layers(self) -> list[MountainLayer[StackPart]]:
        """Parts of the fixed bytes, stacked."""
        return pile({part: self.lines[part] for part in FLOOR}, self.nothing)

    def layers(self, batch: int) -> list[MountainLayer[StackPart]]:
        """Return the parts that have bytes at a batch, stacked."""
        grown = {part: batch * line for part, line in self._growing.items()}
        return [*self.floor_layers, *pile(grown, self.ground)]

    @cached_property
    def _growing(self) -> dict[StackPart, Curve]:
        return {part: self.lines[part].astype(np.float64) for part in MOUNTAIN
                if self.lines[part].any()}  # fmt: skip

    @cached_property
    def nothing(self) -> Curve:
        """Empty curve: 0 bytes in every operation, on which the layers of the plot are stacked."""
        return np.zeros(self.operations)

    @property
    def ground(self) -> Curve:
        """Upper edge of the fixed bytes."""
        return self.floor_layers[-1].high if self.floor_layers else self.nothing

    @cached_property
    def blocks(self) -> BlockColumns:
        """All blocks on the device."""
        blocks = [entry for entry in self.ledger.entries if entry.memory == DEVICE]
        return BlockColumns(blocks, self.operations)

    def largest_batch(self, nbytes: int) -> int | None:
        """Return the largest batch that fits into ``nbytes`` bytes (``Ledger.fit``)."""
        if nbytes not in self._fits:
            self._fits[nbytes] = self.ledger.fit(nbytes).batch
        return self._fits[nbytes]

    def slices(self, stage: str = "") -> tuple[StageSlice, ...]:
        """Return the growing bytes by stage, or one stage by the layer whose operation made each
        block.

        Where the network names no stages it is cut by layer at once.
        """
        if stage not in self._slices:
            self._slices[stage] = self._few(self._cut(stage))
        return self._slices[stage]

    def _cut(self, stage: str) -> list[StageSlice]:
        first = self.stages[0] if self.stages else ""
        groups: dict[str, list[Entry]] = {}
        for entry in self.blocks.entries:
            place = entry.stage or first
            if entry.size.per_sample and stage in ("", place):
                name = entry.layer or entry.name if stage or not first else place
                groups.setdefault(name, []).append(entry)
        return [
            StageSlice(name, BlockColumns(group, self.operations)) for name, group in groups.items()
        ]

    def _few(self, slices: list[StageSlice]) -> tuple[StageSlice, ...]:
        if len(slices) <= ROWS:
            return tuple(slices)
        large = sorted(slices, key=lambda block: -block.highest)[: ROWS - 1]
        small = [stage for stage in slices if stage not in large]
        entries = [entry for part in small for entry in part.blocks.entries]
        name = strings.get("memory.others", count=len(small))
        rest = StageSlice(name, BlockColumns(entries, self.operations))
        return (*(stage for stage in slices if stage in large), rest)


def phases(rows: Sequence[LedgerRow]) -> tuple[tuple[Phase, int, int], ...]:
    """Return the phases of operations, each with its first and last operation, counted from 0. A
    copy belongs to the phase around it."""
    parts = accumulate((row.phase for row in rows), _around)
    runs = [(phase, [index for index, _ in run]) for phase, run in groupby(enumerate(parts), _one)]
    return tuple((phase, run[0], run[-1]) for phase, run in runs)


def band(phase: Phase, first: int, last: int) -> str:
    """Return a phase in words: ``'forward 1 to 12'``."""
    return strings.get(
        "memory.twin.band" if last > first else "memory.twin.one",
        phase=strings.get(f"phase.{phase}"),
        first=f"{first + 1:,}",
        last=f"{last + 1:,}",
    )


def _around(before: Phase, here: Phase) -> Phase:
    return before if here is Phase.COPY else here


def _one(numbered: tuple[int, Phase]) -> Phase:
    return numbered[1]


# -- what it is held against -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Budget:
    """Budget: a number of bytes that the peak must fit into. A live budget was measured on this
    machine a moment ago."""

    name: str
    nbytes: int
    live: bool = False


@dataclass(frozen=True, slots=True)
class BudgetVerdict:
    """Verdict of whether the peak fits into a budget. ``largest`` is the largest batch that fits: 0
    if not even one sample does, None if every batch does."""

    budget: Budget
    fits: bool
    largest: int | None


STEP = 10**7
"""What is free here is read in steps of 10 MB: the last digits never stand still."""


def budget(name: str | int) -> Budget:
    """Return a budget from the name of a device, or from an amount such as ``'8 GB'``.

    Raises:
        InputError: neither a device nor an amount.
    """
    if isinstance(name, str) and name in hardware.DEVICES:
        return Budget(name, hardware.DEVICES[name].memory.value)
    nbytes = units.parse(name)
    return Budget(units.short(nbytes), nbytes)


def free_here() -> list[Budget]:
    """Budgets of the memory that is free on this machine now, where it can be asked; it is read at
    most four times a second."""
    if not free_memory.measurable():
        return []
    nbytes = _free(free_memory.free_memory, int(4 * monotonic())) // STEP * STEP
    return [Budget("free", nbytes, live=True)]


@lru_cache(maxsize=1)
def _free(read: Callable[[], int], moment: int) -> int:
    return read()
