"""The ledger: every block of memory of a step from birth to death, and what follows from it.

A ledger needs no step: read back from JSON or recorded from a run, it answers the same questions.
Operations are numbered from 0 here; texts and pictures number them from 1, as people do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate

import numpy as np

from memlab import units
from memlab.arrays import Column, alive, bytes_by_part, column
from memlab.errors import InputError, known, true_or_false, whole_number
from memlab.ledger.entries import BEFORE, Entry, Event, LazyTuple, LedgerRow, Peak
from memlab.ledger.questions import Fit, HeldBlock, HeldBlocks, Why
from memlab.step.lifetimes import Lifetime
from memlab.step.op import LOAD
from memlab.step.step import describe
from memlab.step.storage import DEVICE, MEMORIES
from memlab.step.tensor import Role

Line = tuple[Column, Column]
"""Bytes inside every operation as ``fixed + batch * per_sample``, both of shape (operations,)."""


@dataclass(frozen=True)
class Ledger:
    """Blocks and operations of one step. All bytes are linear in the batch.

    ``origin`` says how the figures came about: planned, measured, recorded or simulated. Where the
    workspace of a recorded step is no block yet, ``measure`` makes the ledger that has it; ``at``
    returns that, and every answer with workspace is its answer.
    """

    rows: Sequence[LedgerRow]
    entries: Sequence[Entry]
    network: str = ""
    label: str = ""
    format: str = "fp32"
    optimizer: str = ""
    training: bool = True
    notes: tuple[str, ...] = ()
    origin: str = "planned"
    batches: range | None = None
    measure: Callable[[int | None], Ledger] | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not self.rows:
            raise InputError("a ledger has no operation; a step has at least one.")
        if self.batches is not None and (self.batches.step != 1 or not self.batches):
            raise InputError(f"a plan holds for batches in a row, got {self.batches}.")

    # -- workspace ----------------------------------------------------------------------------

    def at(self, batch: int | None = None) -> Ledger:
        """Return the ledger with all workspace, which is this one unless a step of PyTorch was
        recorded. Then it is that of one batch, at which every operation is measured; or without a
        batch that of any, in which workspace is an upper bound. Its notes say how it was measured.

        Raises:
            InputError: the batch is no whole number of at least 1, or the plan is not valid there.
        """
        if self.measure is None:
            return self
        if batch is None and self.batches is not None and len(self.batches) == 1:
            batch = self.batches.start
        return self.measure(None if batch is None else self._checked(batch))

    def _measured(self, batch: int | None, memory: str, workspace: bool = True) -> Ledger:
        """Return the ledger that answers for a memory, with workspace or without."""
        self._known(memory)
        asked = true_or_false("workspace", workspace) and memory == DEVICE
        return self.at(batch) if asked else self

    # -- bytes over time ----------------------------------------------------------------------

    def timeline(self, batch: int, memory: str = DEVICE, workspace: bool = True) -> list[int]:
        """Return the most bytes that are alive inside each operation, as one int per operation.

        Raises:
            InputError: the batch is no whole number of at least 1, or the plan is not valid there.
        """
        number = self._checked(batch)
        ledger = self._measured(number, memory, workspace)
        return _listed(evaluate(ledger.line(memory, workspace), number))

    def peak(self, batch: int, memory: str = DEVICE, workspace: bool = True) -> int:
        """Return the maximum of the timeline, in bytes."""
        return self.peak_at(batch, memory, workspace).nbytes

    def peak_at(self, batch: int, memory: str = DEVICE, workspace: bool = True) -> Peak:
        """Return the first operation that reaches the peak, with the bytes there."""
        timeline = self.timeline(batch, memory, workspace)
        nbytes = max(timeline)
        index = timeline.index(nbytes)
        return Peak(index, self.rows[index], nbytes)

    def before(self, batch: int, memory: str = DEVICE) -> list[int]:
        """Return the bytes that are alive when each operation begins."""
        return self._measured(batch, memory)._without("birth", batch, memory)

    def after(self, batch: int, memory: str = DEVICE) -> list[int]:
        """Return the bytes that are alive after each operation, once it has freed what it may."""
        return self._measured(batch, memory)._without("death", batch, memory)

    def _without(self, end: str, batch: int, memory: str) -> list[int]:
        """Return the timeline without the blocks that are born in each operation, or without those
        that die in it."""
        inside, steps = self.line(memory), range(len(self.rows))
        passing = [
            number
            for number, entry in enumerate(self._blocks)
            if getattr(entry, end) in steps and entry.memory == memory
        ]
        less = self._sum(end, end, passing)
        left = inside[0] - less[0], inside[1] - less[1]
        return _listed(evaluate(left, self._checked(batch)))

    def line(self, memory: str = DEVICE, workspace: bool = True) -> Line:
        """Return the timeline for an unknown batch: the fixed bytes, and the bytes of each sample.
        Workspace that is measured is an upper bound there."""
        lines = self._measured(None, memory, workspace).role_lines
        roles = [role for role in Role if workspace or role is not Role.WORKSPACE]
        self._known(memory)
        parts = [lines[memory, role] for role in roles if (memory, role) in lines]
        empty = np.zeros(len(self.rows), np.int64)
        return sum((fixed for fixed, _ in parts), empty), sum((part for _, part in parts), empty)

    @property
    def _blocks(self) -> Sequence[Entry | Lifetime]:
        """Blocks of the ledger with births, deaths, sizes, memories and roles."""
        return self.entries.given if isinstance(self.entries, LazyTuple) else self.entries

    @cached_property
    def role_lines(self) -> dict[tuple[str, Role], Line]:
        """Return the timeline of every memory and role, without workspace that is not measured yet:
        ``at`` returns the ledger that has it."""
        parts = [(block.memory, block.role) for block in self._blocks]
        columns, operations = self._columns, len(self.rows)
        fixed, per_sample = (
            bytes_by_part(parts, columns[size], columns["birth"], columns["death"], operations)
            for size in ("fixed", "each")
        )
        return {part: (fixed[part], per_sample[part]) for part in fixed}

    @cached_property
    def _columns(self) -> dict[str, Column]:
        """Return the blocks as columns of arrays, for fast sums."""
        blocks = self._blocks
        sizes = [block.size for block in blocks]
        return {
            "birth": np.array([e.birth for e in blocks], np.int64),
            "death": np.array([e.death for e in blocks], np.int64),
            "fixed": column([size.fixed for size in sizes]),
            "each": column([size.per_sample for size in sizes]),
        }

    def _sum(self, birth: str, death: str, chosen: list[int]) -> Line:
        """Return the sum of the chosen blocks over the operations, each from its birth column to
        its death column."""
        columns, operations = self._columns, len(self.rows)
        which = np.array(chosen, np.int64)
        first, last = columns[birth][which], columns[death][which]
        lines = [alive(columns[size][which], first, last, operations) for size in ("fixed", "each")]
        return lines[0], lines[1]

    def roles(
        self, batch: int, at: int | None = None, memory: str = DEVICE, workspace: bool = True
    ) -> dict[Role, int]:
        """Return the bytes of every role inside operation ``at``, or at the peak."""
        batch = self._checked(batch)
        self._known(memory)
        ledger = self._measured(batch, memory, workspace)
        if at is None:
            index = ledger.peak_at(batch, memory, workspace).index
        else:
            index = self._operation(at)
        result = dict.fromkeys(Role, 0)
        for (where, role), (fixed, per_sample) in ledger.role_lines.items():
            if where == memory and (workspace or role is not Role.WORKSPACE):
                result[role] = int(fixed[index]) + batch * int(per_sample[index])
        return result

    # -- blocks -------------------------------------------------------------------------------

    def alive(self, at: int, memory: str = DEVICE) -> list[Entry]:
        """Return the blocks that are alive inside operation ``at``, in order of birth. Workspace
        that is measured is an upper bound here: ``at(batch).alive`` has that of a batch."""
        index = self._operation(at)
        self._known(memory)
        ledger = self._measured(None, memory)
        return [
            ledger.entries[number]
            for number, block in enumerate(ledger._blocks)
            if block.birth <= index <= block.death and block.memory == memory
        ]

    def made_by(self, entry: Entry) -> str:
        """Return the operation that a block was born in, or a text that it existed
        before the step."""
        return "before the step" if entry.birth == BEFORE else self.rows[entry.birth].name

    def needed_by(self, entry: Entry) -> str:
        """Return the last operation that needs a block, or a text that it stays after the step."""
        stays = entry.death >= len(self.rows)
        return "after the step" if stays else self.rows[entry.death].name

    def events(self, batch: int, memory: str = DEVICE) -> Iterator[Event]:
        """Yield every allocation and every release in order, beginning with the blocks that exist
        before the step."""
        batch = self._checked(batch)
        self._known(memory)
        births: dict[int, list[Entry]] = {}
        deaths: dict[int, list[Entry]] = {}
        for entry in self._measured(batch, memory).entries:
            if entry.memory == memory:
                births.setdefault(entry.birth, []).append(entry)
                deaths.setdefault(entry.death, []).append(entry)
        live = reserved = 0
        for op in range(BEFORE, len(self.rows)):
            for action, sign, group in (("allocate", 1, births), ("free", -1, deaths)):
                for entry in group.get(op, ()):
                    nbytes = entry.size.at(batch)
                    live += sign * nbytes
                    reserved = max(reserved, live)
                    yield Event(op, action, entry, nbytes, live, reserved)

    def reserved(self, batch: int, memory: str = DEVICE) -> list[int]:
        """Return the most bytes that were alive up to each operation, which is what a pool that
        frees nothing holds."""
        return list(accumulate(self.timeline(batch, memory), max))

    def why(self, batch: int, memory: str = DEVICE) -> Why:
        """Return the blocks that are alive at the peak, who made each, and who needs it last."""
        ledger = self._measured(batch, memory)
        peak = ledger.peak_at(batch, memory)
        blocks = self._answer(ledger.alive(peak.index, memory), batch)
        heading = (
            f"{ledger.describe()}, batch {batch}: {units.both(peak.nbytes)} at operation "
            f"{peak.index + 1} of {len(self.rows)}, {peak.row.name}."
        )
        return Why(heading, batch, tuple(sorted(blocks, key=lambda block: -block.nbytes)), peak)

    def of(self, layer: str, batch: int) -> HeldBlocks:
        """Return every block that a layer makes or owns, with formula and lifetime. The name of a
        block works too.

        Raises:
            InputError: no such layer or block, or a bad batch.
        """
        ledger = self.at(batch)
        names = [*(row.layer for row in self.rows), *(entry.name for entry in ledger.entries)]
        known("layer or block", layer, dict.fromkeys(names))
        entries = [entry for entry in ledger.entries if layer in (entry.layer, entry.name)]
        blocks = self._answer(entries, self._checked(batch))
        return HeldBlocks(f"{layer} in {ledger.describe()}, batch {batch}:", batch, tuple(blocks))

    def _answer(self, entries: list[Entry], batch: int) -> list[HeldBlock]:
        return [
            HeldBlock(entry, entry.size.at(batch), self.made_by(entry), self.needed_by(entry))
            for entry in entries
        ]

    def fit(self, nbytes: int | str, memory: str = DEVICE) -> Fit:
        """Return the largest batch whose peak is at most ``nbytes`` (or ``'12GB'``), and the block
        that limits it. The result is exact: the minimum over the operations of ``floor((M - a) /
        b)``. Workspace that is measured is measured at the batch that fits, and at the next one.

        Raises:
            InputError: no amount of memory.
        """
        budget, valid = units.exact_or_parsed(nbytes), self.batches
        ledger = self._measured(None, memory)
        fixed, per_sample = (line.tolist() for line in ledger.line(memory))
        bounds = [
            (budget - a) // b if b else -1
            for a, b in zip(fixed, per_sample, strict=True)
            if b or a > budget
        ]
        batch = max(min(bounds), 0) if bounds else None
        if ledger is not self and batch is not None:
            batch = self._measured_fit(budget, batch)
        if valid and (batch is None or batch >= valid.stop - 1):
            return Fit(valid.stop - 1, budget, self.peak(valid.stop - 1, memory), None, valid=valid)
        if batch is None:
            return Fit(None, budget, self.peak(1, memory), None)
        least = valid.start if valid else 1
        batch = batch if batch >= least else 0
        needs = self.peak(batch, memory) if batch else 0
        at_next = self._measured(max(batch + 1, least), memory)
        peak = at_next.peak_at(max(batch + 1, least), memory)
        growing = [entry for entry in at_next.alive(peak.index, memory) if entry.size.per_sample]
        binds = max(growing, key=lambda entry: entry.size.per_sample, default=None)
        parts = 1 + sum(row.kind == LOAD for row in self.rows)
        fixed, per_sample = (line.tolist() for line in at_next.line(memory))
        at = peak.index
        floor = max(fixed)
        return Fit(
            batch, budget, needs, peak, fixed[at], per_sample[at], binds, valid, parts, floor
        )

    def _measured_fit(self, budget: int, guess: int) -> int:
        """Return the largest batch that fits where each batch is measured alone, from a batch that
        an upper bound lets in, or 0. Lines through the peaks of a batch that fits and of one that
        does not, and every second time the middle, lead to two neighbours."""
        peaks: dict[int, int] = {}
        least, over = (self.batches.start, self.batches.stop) if self.batches else (1, 0)
        fits, batch, step = least - 1, max(guess, least), 0
        while over != fits + 1:
            batch = min(batch, over - 1) if over else batch
            peak = peaks[batch] = self.peak(batch)
            fits, over = (batch, over) if peak <= budget else (fits, batch)
            if not over:
                step = max(2 * step, (budget - peak) * batch // peak, 1)
                batch += step
            elif len(peaks) % 2 and fits in peaks and over in peaks:
                more = (budget - peaks[fits]) * (over - fits) // (peaks[over] - peaks[fits])
                batch = min(max(fits + more, fits + 1), over - 1)
            else:
                batch = (fits + over) // 2
        return fits if fits >= least else 0

    # -- checks -------------------------------------------------------------------------------

    def _checked(self, batch: int) -> int:
        number = whole_number("batch", batch)
        if self.batches is not None and number not in self.batches:
            raise InputError(
                f"this plan holds for batch {self.batches.start} to {self.batches.stop - 1}, "
                f"got {number}; plan again at that batch."
            )
        return number

    def _known(self, memory: str) -> None:
        known("memory", memory, self._memories)

    @cached_property
    def _memories(self) -> dict[str, None]:
        return dict.fromkeys([*MEMORIES, *(memory for memory, _ in self.role_lines)])

    def _operation(self, at: int) -> int:
        index = whole_number("operation", at, least=0)
        if index >= len(self.rows):
            raise InputError(f"operation must be below {len(self.rows)}, got {index}.")
        return index

    def describe(self) -> str:
        """Return the step in a few words: ``'ResNet-50 v1.5, fp32, SGD with
        momentum, training'``."""
        return describe(self.label, self.format, self.optimizer, self.training, self.notes)

    def __repr__(self) -> str:
        return (
            f"<ledger: {self.describe()}, {self.origin}: {len(self.rows)} operations, "
            f"{len(self.entries)} blocks>"
        )


def _listed(numbers: Column) -> list[int]:
    values: list[int] = numbers.tolist()
    return values


def evaluate(line: Line, batch: int) -> Column:
    """Return ``fixed + batch * per_sample``, exact at any batch."""
    fixed, per_sample = line
    if batch + int(fixed.max(initial=0)) + batch * int(per_sample.max(initial=0)) >= 2**63:
        fixed, per_sample = fixed.astype(object), per_sample.astype(object)
    values: Column = fixed + batch * per_sample
    return values


__all__ = [
    "BEFORE",
    "Column",
    "Entry",
    "Event",
    "Ledger",
    "LedgerRow",
    "Line",
    "Peak",
    "column",
    "evaluate",
]  # fmt: skip
