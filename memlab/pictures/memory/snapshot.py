"""A step at one batch, cut through at one operation: what is alive there, and whose it is.

By part of the stack, by block and by stage; ``counting_rules`` has the rules of texts. Printed, it
is exact to the byte. ``just_changed`` and ``details`` say what changed from one cut to another.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import chain
from typing import NamedTuple

import numpy as np

from memlab import optimizers, strings, units
from memlab.arrays import Integers
from memlab.ledger.ledger import BEFORE, Entry, Peak
from memlab.pictures.memory.step_memory import Budget, BudgetVerdict, StageSlice, StepMemory, band
from memlab.pictures.mountain.layers import Curve, MountainLayer
from memlab.pictures.mountain.stack_parts import FLOOR, MOUNTAIN, StackPart
from memlab.pictures.values import number_text as figures
from memlab.pictures.values import step_recipe
from memlab.pictures.values.study import Study
from memlab.step.op import plain
from memlab.step.storage import HOST
from memlab.step.tensor import Role

LARGEST = 5
"""So many blocks are listed."""


def text_of(key: str, **values: object) -> str:
    """Return a text about the memory of a network."""
    return strings.get(f"memory.{key}", **values)


# -- lines of its tables ---------------------------------------------------------------------------


class StackLine(NamedTuple):
    """Line of the stack, or a sum of lines: its bytes inside the operation, and the bytes that each
    sample adds."""

    part: StackPart | None
    name: str
    nbytes: int
    per_sample: int


@dataclass(frozen=True, slots=True)
class BlockRow:
    """Live block. ``first`` and ``last`` count operations from 1; ``first`` is 0 for a block that
    exists before the step, ``last`` is 0 for one that stays after it."""

    name: str
    role: Role
    formula: str
    nbytes: int
    first: int
    last: int
    maker: str
    needed: str

    @property
    def story(self) -> str:
        """Sentence on who made the block and who waits for it."""
        key = ("made" if self.first else "before") + ("_needed" if self.last else "_stays")
        return text_of(f"largest.{key}", made=self.maker, needed=self.needed)

    @property
    def life(self) -> str:
        """Return the life of the block, with its name."""
        return f"{self.name}: {self.story}"


@dataclass(frozen=True, slots=True)
class SliceRow:
    """Bytes of one stage or layer on the mountain inside the operation, and the number of its
    blocks."""

    part: StageSlice
    nbytes: int
    blocks: int
    stage: bool

    @property
    def in_blocks(self) -> str:
        """Return the number of its blocks as text."""
        return text_of("twin.block" if self.blocks == 1 else "twin.blocks", count=self.blocks)


# -- the cut ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Snapshot(Study):
    """Blocks that are alive inside operation ``at``, counted from 0, of a step at a batch.

    ``stage`` is the one whose layers are told apart; without one the stages are.
    """

    memory: StepMemory
    batch: int
    peak: Peak
    at: int
    stage: str = ""

    # -- bytes ------------------------------------------------------------------------------

    @property
    def peak_floor(self) -> int:
        """Bytes of the peak that do not depend on the batch."""
        return int(self.memory.floor[self.peak.index])

    @property
    def peak_each(self) -> int:
        """Bytes that each sample adds to the peak."""
        return int(self.memory.mountain[self.peak.index])

    @property
    def peak_mountain(self) -> int:
        """Bytes of the peak that grow with the batch."""
        return self.batch * self.peak_each

    @cached_property
    def layers(self) -> list[MountainLayer[StackPart]]:
        """Parts that have bytes, from bottom to top."""
        return self.memory.layers(self.batch)

    @property
    def curve(self) -> Curve:
        """Whole stack over the operations."""
        return self.layers[-1].high if self.layers else self.memory.ground

    @cached_property
    def roles(self) -> tuple[StackLine, ...]:
        """Lines of every part of the stack, from bottom to top."""
        values = ((part, int(self.memory.lines[part][self.at])) for part in self.memory.parts)
        return tuple(
            StackLine(
                part, part.label, value * (self.batch if part.grows else 1), value * part.grows
            )
            for part, value in values
        )

    @property
    def floor(self) -> tuple[StackLine, ...]:
        """Lines of the fixed bytes, from bottom to top."""
        return tuple(row for row in self.roles if row.part in FLOOR)

    @property
    def mountain(self) -> tuple[StackLine, ...]:
        """Lines of the bytes that grow with the batch, from bottom to top."""
        return tuple(row for row in self.roles if row.part in MOUNTAIN)

    @property
    def here(self) -> int:
        """Bytes alive inside the operation."""
        return sum(row.nbytes for row in self.roles)

    @cached_property
    def blocks(self) -> tuple[BlockRow, ...]:
        """Largest live blocks."""
        blocks = self.memory.blocks.largest(self.at, self.batch, LARGEST)
        return tuple(self.block(entry) for entry in blocks)

    @cached_property
    def alive(self) -> int:
        """Number of blocks that are alive."""
        return self.memory.blocks.count(self.at)

    @property
    def others(self) -> int:
        """Bytes of the live blocks that are not listed."""
        return self.here - sum(row.nbytes for row in self.blocks)

    @cached_property
    def slices(self) -> tuple[SliceRow, ...]:
        """Growing bytes by stage, or one stage by layer."""
        return tuple(
            SliceRow(
                part,
                self.batch * part.blocks.per_sample(self.at),
                part.blocks.count(self.at),
                part.name in self.memory.stages,
            )
            for part in self.memory.slices(self.stage)
        )

    def judged(self, budget: Budget) -> BudgetVerdict:
        """Return whether the peak fits into a budget, and the largest batch that would."""
        fits, largest = self.peak.nbytes <= budget.nbytes, self.memory.largest_batch(budget.nbytes)
        return BudgetVerdict(budget, fits, largest)

    def block(self, entry: Entry) -> BlockRow:
        """Return a block with its formula in numbers, and the operations between
        which it is alive."""
        ledger = self.memory.ledger
        return BlockRow(
            entry.name,
            entry.role,
            entry.formula(self.batch),
            entry.size.at(self.batch),
            0 if entry.birth == BEFORE else entry.birth + 1,
            0 if entry.death >= self.memory.operations else entry.death + 1,
            ledger.made_by(entry),
            ledger.needed_by(entry),
        )

    @cached_property
    def largest(self) -> dict[StackPart, Entry]:
        """Return the largest block of each part of the stack that has bytes."""
        return self.memory.blocks.largest_of_each(self.at)

    # -- in words ---------------------------------------------------------------------------

    @property
    def settings(self) -> list[str]:
        """Return the network, its sizes, the batch, the format, the optimizer, the kind of step,
        and all other choices, as texts."""
        memory, ledger = self.memory, self.memory.ledger
        kind = strings.get("step.training" if ledger.training else "step.inference")
        batch = text_of("batch", batch=f"{self.batch:,}")
        sizes = step_recipe.unusual(memory.network) if memory.network else []
        optimizer = optimizers.title(ledger.optimizer)
        words = [memory.label, *sizes, batch, memory.format, optimizer, kind]
        notes = ledger.notes if memory.chosen is None else memory.chosen
        return [word for word in (*words, *notes) if word]

    @property
    def title(self) -> str:
        """Return the title: ``'ResNet-50 v1.5, batch 32, fp32, SGD with momentum, training'``."""
        return ", ".join(self.settings)

    def equation(self, few: bool = False) -> tuple[str, list[str]]:
        """Return the peak with its unit, and its fixed and growing bytes, rounded to three decimals
        so that they add up. With ``few``, return only the peak with three digits."""
        parts = [self.peak_floor, self.peak_mountain]
        return (figures.three_digits_of_sum if few else figures.sum_of)(self.peak.nbytes, parts)

    def headline(self, few: bool = False) -> list[tuple[str, bool]]:
        """Return the equation of the peak as texts, each with whether it is bold."""
        total, (floor, mountain) = self.equation(few)
        right = text_of("equation", floor=floor, mountain=mountain, unit=total.split()[-1])
        binary = "" if few else figures.binary(self.peak.nbytes)
        return [(text_of("headline", peak=total), True),
                                                      (f"({binary}) {right}" if binary else right,
                                                      False)]  # fmt: skip

    def verdict(self, budget_verdict: BudgetVerdict) -> str:
        """Return whether a budget holds the peak, and the batch that it would
        hold, in a sentence."""
        live, largest = budget_verdict.budget.live, budget_verdict.largest
        if self.memory.ledger.batches is not None:
            key = "holds" if budget_verdict.fits else "over"
        elif budget_verdict.fits:
            key = "always" if largest is None else "fits"
        else:
            key = "refused" if largest else "none"
        return text_of(
            f"budget.{'live_' if live else ''}{key}",
            name=budget_verdict.budget.name,
            free=figures.three_digits(budget_verdict.budget.nbytes),
            largest=figures.batches(largest or 0),
        )

    @property
    def sentences(self) -> list[str]:
        """Return two sentences: the peak to the byte, and the operations of each phase."""
        peak, sample = self.peak, self.memory.sample
        where = text_of(
            "exact.peak",
            bytes=units.exact(peak.nbytes),
            index=f"{peak.index + 1:,}",
            count=f"{self.memory.operations:,}",
            name=peak.row.name,
        )
        floor, mountain, sentences = map(
            units.exact, (self.peak_floor, self.peak_mountain, self.peak_each)
        )
        parts = text_of(
            "exact.floor", floor=floor, mountain=mountain, each=sentences, sample=sample
        )
        bands = ", ".join(band(*phase) for phase in self.memory.phases)
        host = [self.host] if self.host else []
        return [where, parts, *host, text_of("exact.bands", bands=bands)]

    @cached_property
    def host(self) -> str:
        """Sentence on the bytes that wait in host memory; empty where the step has none there."""
        both = f"{figures.three_digits(self._there)}, {units.exact(self._there)}"
        return text_of("host", bytes=both) if self._there else ""

    @property
    def waiting(self) -> str:
        """Return the sentence about what waits in host memory, with three digits."""
        return text_of("host", bytes=figures.three_digits(self._there)) if self._there else ""

    @cached_property
    def _there(self) -> int:
        """Return the most bytes in host memory."""
        ledger = self.memory.ledger
        counters = Role.OPTIMIZER_STATE  # of steps, which an optimizer on a card keeps there
        there = any(e.memory == HOST and e.role is not counters for e in ledger.entries)
        return ledger.peak(self.batch, HOST) if there else 0

    @property
    def lines(self) -> list[StackLine]:
        """Return the lines of the stack from top to bottom, with the sums of the growing and the
        fixed bytes, and of both."""
        mountain, floor, alive = (
            StackLine(None, text_of(f"table.{name}"), sum(r.nbytes for r in rows),
                sum(r.per_sample for r in rows))
            for name, rows in
            (("mountain", self.mountain), ("floor", self.floor), ("alive", self.roles))
        )  # fmt: skip
        return [*self.mountain[::-1], mountain, floor, *self.floor[::-1], alive]

    @property
    def blocks_title(self) -> str:
        """Title of the list of blocks: how many are listed, of how many, and the bytes of the
        others."""
        count = self.alive - len(self.blocks)
        if not count:
            return text_of("largest.all", alive=self.alive)
        others = text_of("largest.others", count=f"{count:,}", amount=units.exact(self.others))
        return text_of(
            "largest.title", count=len(self.blocks), alive=f"{self.alive:,}", others=others
        )

    @property
    def slices_title(self) -> str:
        """Title of the table below, which tells stages or layers apart."""
        if self.stage:
            return text_of("rows.title_layers", stage=self.stage)
        return text_of("rows.title" if self.memory.stages else "rows.title_no_stages")


def cut(
    memory: StepMemory,
    batch: int,
    at: int | None = None,
    stage: str = "",
) -> Snapshot:
    """Return the blocks that are alive in a step at a batch inside operation ``at``, counted from
    0; at its peak if not given, inside its last one if there are fewer.

    Raises:
        InputError: a batch that the plan does not hold for.
    """
    peak = memory.ledger.peak_at(batch)
    index = peak.index if at is None else min(at, memory.operations - 1)
    return Snapshot(memory, batch, peak, index, stage)


Spans = Integers
"""Of two operations each: the first of a span, and the one after its last."""


def before(old: Snapshot, new: Snapshot) -> Curve:
    """Return the curve that was shown last, over the operations of now.

    Operations of the same name stand for each other; what ran between two of them counts at the
    second, by its most bytes, and where there was nothing the level stays. Each part of a batch
    begins at the first operation again. Steps that share few names are laid over each other phase
    by phase.
    """
    if old.memory.ledger.rows is new.memory.ledger.rows:
        return old.curve
    spans = _spans(old.memory, new.memory)
    curve: Curve = np.maximum.reduceat(np.append(old.curve, 0), spans)[::2]
    return curve


@lru_cache(maxsize=16)
def _spans(old: StepMemory, new: StepMemory) -> Spans:
    """Return, for each operation of ``new``, the operations of ``old`` that correspond to it."""
    places = {row.name: index for index, row in enumerate(old.ledger.rows)}
    shared = sum(row.name in places for row in new.ledger.rows)
    named = 2 * shared >= min(old.operations, new.operations)
    pairs = _by_name(places, new) if named else _by_phase(old, new)
    return np.array(list(chain.from_iterable(pairs)), np.intp)  # reduceat asks for it


def _by_name(places: dict[str, int], new: StepMemory) -> Iterator[tuple[int, int]]:
    last = -1
    for row in new.ledger.rows:
        at = places.get(row.name, places.get(plain(row.name), -1))
        if at > last or at == 0:
            yield min(last + 1, at), at + 1
            last = at
        else:
            yield max(last, 0), max(last, 0) + 1


def _by_phase(old: StepMemory, new: StepMemory) -> Iterator[tuple[int, int]]:
    known = {phase: (first, last + 1 - first) for phase, first, last in old.phases}
    stop = 1
    for phase, first, last in new.phases:
        start, length = known.get(phase, (stop - 1, 0))
        count = last + 1 - first
        for index in range(count):
            begin = start + length * index // count
            stop = max(start - (-length * (index + 1) // count), begin + 1)
            yield begin, stop


def just_changed(old: Snapshot, new: Snapshot) -> str:
    """Sentence on the effect of a change of the settings on the peak."""
    change = new.peak.nbytes - old.peak.nbytes
    moves = text_of("change.moves") if _moves(old, new) else ""
    key = "grows" if change > 0 else "falls" if change else "same"
    effect = text_of(f"change.{key}", amount=figures.three_digits(abs(change)), moves=moves)
    return f"{_cause(old, new)} {effect}"


def details(old: Snapshot, new: Snapshot) -> str:
    """Return further details of a change: in percent, by both parts, and where the
    peak was and is."""
    floor, mountain = new.peak_floor - old.peak_floor, new.peak_mountain - old.peak_mountain
    said = text_of(
        "change.parts",
        percent=figures.change(old.peak.nbytes, new.peak.nbytes),
        floor=figures.signed(floor),
        mountain=figures.signed(mountain),
    )
    moved = text_of("change.moved", old=f"{old.peak.index + 1:,}", new=f"{new.peak.index + 1:,}")
    return f"{said} {moved}" if _moves(old, new) else said


def _moves(old: Snapshot, new: Snapshot) -> bool:
    return new.peak.row.name != old.peak.row.name


def differences(old: Snapshot, new: Snapshot) -> tuple[str, str]:
    """Return the settings that differ, first as they were and then as they are."""
    was, now = old.settings, new.settings
    gone = [name for name in was if name not in now]
    come = [name for name in now if name not in was]
    return ", ".join(gone), ", ".join(come)


def _cause(old: Snapshot, new: Snapshot) -> str:
    """Return which setting changed. A change of the batch alone is described for all operations."""
    if old.memory is not new.memory:
        was, now = differences(old, new)
        key = "other" if was and now else "on" if now else "off"
        return text_of(f"change.{key}", old=was, new=now)
    ratio = Fraction(new.batch, old.batch)
    key = {Fraction(2): "double", Fraction(1, 2): "half"}.get(ratio, "times")
    if ratio < 1 and key == "times":
        key = "part"
    value = str(ratio) if ratio.numerator == 1 else f"{float(ratio):,.4g}"
    return text_of(f"change.{key}", old=f"{old.batch:,}", new=f"{new.batch:,}", ratio=value)
