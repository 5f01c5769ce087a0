"""A step at one batch, cut through at one operation: what is alive there, and whose it is.

By part of the stack, by block and by stage; ``memlab.studies.tally`` has the counting rules.
Printed, it is exact to the byte; two cuts say what changed from one to the other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

from memlab import strings, units
from memlab.planner.ledger import BEFORE, Entry, Peak
from memlab.step.rules import UPDATES
from memlab.step.tensor import Role
from memlab.studies import figures
from memlab.studies.figures import FLOOR, MOUNTAIN, Part, columns
from memlab.studies.memory import Budget, Curve, Slice, StepMemory, Verdict

LARGEST = 5
"""So many blocks are listed."""


def say(key: str, **values: object) -> str:
    """A text about the memory of a network."""
    return strings.get(f"memory.{key}", **values)


# -- lines of its tables ---------------------------------------------------------------------------


class Line(NamedTuple):
    """A part of the stack, or a sum of several: its bytes inside the operation, and what each
    sample adds to them."""

    part: Part | None
    name: str
    nbytes: int
    each: int


@dataclass(frozen=True, slots=True)
class BlockRow:
    """One block alive there. ``first`` and ``last`` count operations from 1; ``first`` is 0 for
    what was there before the step, ``last`` is 0 for what stays after it."""

    name: str
    role: Role
    formula: str
    nbytes: int
    first: int
    last: int
    made: str
    needed: str

    @property
    def span(self) -> str:
        """When it is alive, in few words."""
        if not self.first and not self.last:
            return say("largest.always")
        if not self.first:
            return say("largest.from_before", last=f"{self.last:,}")
        if not self.last:
            return say("largest.until_after", first=f"{self.first:,}")
        return say("largest.span", first=f"{self.first:,}", last=f"{self.last:,}")

    @property
    def life(self) -> str:
        """Who made it and who waits for it."""
        key = ("made" if self.first else "before") + ("_needed" if self.last else "_stays")
        key = key.removesuffix("_needed") if self.first else key
        return say(f"largest.{key}", name=self.name, made=self.made, needed=self.needed)


@dataclass(frozen=True, slots=True)
class SliceRow:
    """What one stage or layer has on the mountain inside the operation, in how many blocks."""

    part: Slice
    nbytes: int
    blocks: int
    stage: bool

    @property
    def in_blocks(self) -> str:
        """In how many blocks it is."""
        return say("twin.block" if self.blocks == 1 else "twin.blocks", count=self.blocks)


# -- the cut ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Cut:
    """What is alive inside operation ``at``, counted from 0, of a step at a batch.

    ``stage`` is the one whose layers are told apart; without one the stages are.
    """

    memory: StepMemory
    batch: int
    peak: Peak
    at: int
    budgets: tuple[Budget, ...] = ()
    stage: str = ""

    # -- bytes ------------------------------------------------------------------------------

    @property
    def peak_floor(self) -> int:
        """The part of the peak that does not depend on the batch."""
        return int(self.memory.floor[self.peak.index])

    @property
    def peak_each(self) -> int:
        """What each sample adds to the peak."""
        return int(self.memory.mountain[self.peak.index])

    @property
    def peak_mountain(self) -> int:
        """The part of the peak that grows with the batch."""
        return self.batch * self.peak_each

    @cached_property
    def stack(self) -> list[tuple[Part, Curve]]:
        """The parts that have bytes, from the bottom up, each with its upper edge."""
        return self.memory.stack(self.batch)

    @property
    def curve(self) -> Curve:
        """The whole stack over the operations."""
        return self.stack[-1][1] if self.stack else self.memory.ground

    @cached_property
    def roles(self) -> tuple[Line, ...]:
        """One line for every part of the stack that has one, from the bottom up."""
        values = ((part, int(self.memory.lines[part][self.at])) for part in self.memory.parts)
        return tuple(
            Line(part, part.label, value * (self.batch if part.grows else 1), value * part.grows)
            for part, value in values
        )

    @property
    def floor(self) -> tuple[Line, ...]:
        """The lines of what stays, from the bottom up."""
        return tuple(row for row in self.roles if row.part in FLOOR)

    @property
    def mountain(self) -> tuple[Line, ...]:
        """The lines of what grows, from the bottom up."""
        return tuple(row for row in self.roles if row.part in MOUNTAIN)

    @property
    def here(self) -> int:
        """Bytes alive inside the operation."""
        return sum(row.nbytes for row in self.roles)

    @cached_property
    def blocks(self) -> tuple[BlockRow, ...]:
        """The largest blocks alive."""
        found = self.memory.blocks.largest(self.at, self.batch, LARGEST)
        return tuple(self.block(entry) for entry in found)

    @cached_property
    def alive(self) -> int:
        """How many blocks are alive."""
        return self.memory.blocks.count(self.at)

    @property
    def others(self) -> int:
        """Bytes alive in the blocks that are not listed."""
        return self.here - sum(row.nbytes for row in self.blocks)

    @cached_property
    def slices(self) -> tuple[SliceRow, ...]:
        """The mountain by stage, or one stage by layer."""
        return tuple(
            SliceRow(
                part,
                self.batch * part.blocks.per_sample(self.at),
                part.blocks.count(self.at),
                part.name in self.memory.stages,
            )
            for part in self.memory.slices(self.stage)
        )

    @property
    def verdicts(self) -> list[Verdict]:
        """Whether the peak fits into each budget, and the largest batch that would."""
        return [self.judged(each) for each in self.budgets]

    def judged(self, budget: Budget) -> Verdict:
        """Whether the peak fits into a budget, and the largest batch that would."""
        fits, largest = self.peak.nbytes <= budget.nbytes, self.memory.largest_batch(budget.nbytes)
        return Verdict(budget, fits, largest)

    def block(self, entry: Entry) -> BlockRow:
        """A block with its formula in numbers and the operations it is alive between."""
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
    def largest(self) -> dict[Part, Entry]:
        """The block that has the most of each part of the stack that has bytes."""
        return self.memory.blocks.largest_of_each(self.at)

    # -- in words ---------------------------------------------------------------------------

    @property
    def settings(self) -> tuple[str, str, str, str, str]:
        """The network, the batch, the optimizer, the kind of step and the format."""
        ledger = self.memory.ledger
        kind = strings.get("step.training" if ledger.training else "step.inference")
        batch = say("batch", batch=f"{self.batch:,}")
        return self.memory.label, batch, optimizer_name(ledger.optimizer), kind, self.memory.format

    @property
    def title(self) -> str:
        """``'ResNet-50 v1, batch 32, fp32, SGD with momentum, training'``; of a ledger alone also
        what techniques have noted."""
        label, batch, optimizer, kind, number_format = self.settings
        notes = () if self.memory.network else self.memory.ledger.notes
        return ", ".join(filter(None, [label, batch, number_format, optimizer, kind, *notes]))

    @cached_property
    def equation(self) -> tuple[str, list[str]]:
        """The peak with its unit, and its floor and mountain, which add up as they are written."""
        return figures.sum_of(self.peak.nbytes, [self.peak_floor, self.peak_mountain])

    def verdict(self, found: Verdict) -> str:
        """Whether a budget holds the peak and what it would hold."""
        live, largest = found.budget.live, found.largest
        if found.fits:
            key = "always" if largest is None else "fits"
        else:
            key = "refused" if largest else "none"
        return say(
            f"budget.{'live_' if live else ''}{key}",
            name=found.budget.name,
            free=hundredths(found.budget.nbytes),
            peak=self.equation[0],
            largest="" if largest is None else f"{largest:,}",
        )

    def told_peak(self) -> list[str]:
        """The peak in two sentences."""
        peak, sample = self.peak, self.memory.sample
        where = say(
            "twin.peak",
            peak=self.equation[0],
            binary=figures.binary(peak.nbytes),
            bytes=units.exact(peak.nbytes),
            index=f"{peak.index + 1:,}",
            count=f"{self.memory.operations:,}",
            name=peak.row.name,
        ).replace(" ()", "")
        floor, mountain, each = map(
            units.exact, (self.peak_floor, self.peak_mountain, self.peak_each)
        )
        parts = say("twin.floor", floor=floor, mountain=mountain, each=each, sample=sample)
        return [where, parts]

    def told_phases(self) -> list[str]:
        """From where to where each phase goes."""
        bands = [
            say(
                "twin.band" if last > first else "twin.one",
                phase=strings.get(f"phase.{phase}"),
                first=f"{first + 1:,}",
                last=f"{last + 1:,}",
            )
            for phase, first, last in self.memory.phases
        ]
        return [say("twin.bands", bands=", ".join(bands))]

    @property
    def lines(self) -> list[Line]:
        """The stack from its top down, with the sums of its mountain, of its floor and of both."""
        mountain, floor, alive = (
            Line(None, say(f"table.{name}"), sum(r.nbytes for r in rows), sum(r.each for r in rows))
            for name, rows in
            (("mountain", self.mountain), ("floor", self.floor), ("alive", self.roles))
        )  # fmt: skip
        return [*self.mountain[::-1], mountain, floor, *self.floor[::-1], alive]

    def share(self, line: Line) -> str:
        """Its part of what is alive, in percent."""
        return figures.percent(line.nbytes, self.here)

    def told_roles(self) -> list[str]:
        """The table by role."""
        index, name = f"{self.at + 1:,}", self.memory.ledger.rows[self.at].name
        at_peak = self.at == self.peak.index
        place = say("twin.at_peak") if at_peak else say("twin.at", index=index, name=name)
        each = say("twin.each", sample=self.memory.sample)
        cells = [
            [f"{'  ' if line.part else ''}{line.name}", f"{line.nbytes:,}",
             f"{self.share(line)} %", f"{line.each:,}"]
            for line in self.lines
        ]  # fmt: skip
        return columns([[place, say("table.bytes"), say("twin.share"), each], *cells])

    @property
    def blocks_title(self) -> str:
        """How many blocks are listed, of how many."""
        if self.alive == len(self.blocks):
            return say("largest.all", alive=self.alive)
        return say("largest.title", count=len(self.blocks), alive=f"{self.alive:,}")

    @property
    def other_blocks(self) -> list[str]:
        """The ones that are not listed, in one sentence where there are such."""
        count = self.alive - len(self.blocks)
        amount = units.exact(self.others)
        return [say("largest.others", count=f"{count:,}", amount=amount)] if count else []

    def told_blocks(self) -> list[str]:
        """The largest blocks, each with its formula and its life."""
        roles = [strings.get(f"role.{block.role.value}.one") for block in self.blocks]
        cells = [
            [f"  {block.name}", role, block.formula]
            for block, role in zip(self.blocks, roles, strict=True)
        ]
        lives = [f"    {block.life}" for block in self.blocks]
        lines = [line for pair in zip(columns(cells, left=3), lives, strict=True) for line in pair]
        return [self.blocks_title, *lines, *(f"  {line}" for line in self.other_blocks)]

    @property
    def slices_title(self) -> str:
        """What is told apart below."""
        if self.stage:
            return say("rows.title_layers", stage=self.stage)
        return say("rows.title" if self.memory.stages else "rows.title_no_stages")

    def told_slices(self) -> list[str]:
        """The mountain by stage, or a stage by layer."""
        cells = [
            [f"  {row.part.name}", units.exact(row.nbytes), row.in_blocks] for row in self.slices
        ]
        return [self.slices_title, *columns(cells)]

    def text(self) -> str:
        """The cut in words: exact bytes by role, by block and by stage."""
        head = [
            f"{self.title}.",
            *self.told_peak(),
            *map(self.verdict, self.verdicts),
            *self.told_phases(),
        ]
        parts = (head, self.told_roles(), self.told_blocks(), self.told_slices())
        return "\n\n".join("\n".join(part) for part in parts)

    __str__ = text

    def as_dict(self) -> dict[str, Any]:
        """The same for JSON; operations are counted from 1."""
        return {
            "title": self.title,
            "batch": self.batch,
            "operation": self.at + 1,
            "bytes": self.here,
            "peak": {"operation": self.peak.index + 1, "bytes": self.peak.nbytes},
            "roles": [
                {"role": part.role.value, "grows": part.grows, "bytes": row.nbytes}
                for part, row in zip(self.memory.parts, self.roles, strict=True)
            ],
            "blocks": [asdict(row) | {"role": row.role.value} for row in self.blocks],
            "slices": [{"name": row.part.name, "bytes": row.nbytes} for row in self.slices],
            "budgets": [
                {**asdict(each.budget), "fits": each.fits, "largest": each.largest}
                for each in self.verdicts
            ],
        }


def cut(
    memory: StepMemory,
    batch: int,
    at: int | None = None,
    budgets: Iterable[Budget] = (),
    stage: str = "",
) -> Cut:
    """What is alive of a step at a batch inside operation ``at``, counted from 0; at its peak if
    not given, inside its last one if there are fewer.

    Raises:
        InputError: a batch that the plan does not hold for.
    """
    peak = memory.ledger.peak_at(batch)
    index = peak.index if at is None else min(at, memory.operations - 1)
    return Cut(memory, batch, peak, index, tuple(budgets), stage)


# -- from one cut to another -----------------------------------------------------------------------


def comparable(old: Cut, new: Cut) -> bool:
    """Whether the two have the same operations, so that one outlines the other."""
    one, other = old.memory, new.memory
    return (
        one.ledger.network == other.ledger.network
        and one.ledger.training is other.ledger.training
        and one.operations == other.operations
    )


def news(old: Cut, new: Cut) -> str:
    """What a change of the settings did to the peak."""
    parts = "" if old.memory is new.memory else f" {_parts(old, new)}"
    return f"{_cause(old, new)} {_effect(old, new)}{parts}"


def differences(old: Cut, new: Cut) -> tuple[str, str]:
    """The settings that differ, each as it was and as it is."""
    pairs = [pair for pair in zip(old.settings, new.settings, strict=True) if pair[0] != pair[1]]
    before, after = ([pair[side] for pair in pairs if pair[side]] for side in (0, 1))
    return ", ".join(before), ", ".join(after)


def _cause(old: Cut, new: Cut) -> str:
    """Which setting changed; a change of the batch alone is a statement about every operation."""
    if old.memory is not new.memory:
        before, after = differences(old, new)
        return say("change.other", old=before, new=after)
    ratio = Fraction(new.batch, old.batch)
    key = {Fraction(2): "double", Fraction(1, 2): "half"}.get(ratio, "times")
    if ratio < 1 and key == "times":
        key = "part"
    value = str(ratio) if ratio.numerator == 1 else f"{float(ratio):,.4g}"
    return say(f"change.{key}", old=f"{old.batch:,}", new=f"{new.batch:,}", ratio=value)


def _effect(old: Cut, new: Cut) -> str:
    """What became of the peak."""
    change = new.peak.nbytes - old.peak.nbytes
    moves = ""
    if comparable(old, new) and new.peak.index != old.peak.index:
        numbers = {"old": f"{old.peak.index + 1:,}", "new": f"{new.peak.index + 1:,}"}
        moves = say("change.moves", **numbers)
    return say(
        f"change.{'grows' if change > 0 else 'falls' if change else 'same'}",
        amount=units.short(abs(change)),
        percent=figures.change(old.peak.nbytes, new.peak.nbytes),
        moves=moves,
    )


def _parts(old: Cut, new: Cut) -> str:
    """What became of the two parts of the peak."""
    floor, mountain = new.peak_floor - old.peak_floor, new.peak_mountain - old.peak_mountain
    return say("change.parts", floor=figures.signed(floor), mountain=figures.signed(mountain))


# -- names and amounts -----------------------------------------------------------------------------


def optimizer_name(name: str, short: bool = False) -> str:
    """An optimizer as people write it."""
    return strings.get(f"optimizer.{'short.' if short else ''}{name}") if name in UPDATES else name


def hundredths(nbytes: int) -> str:
    """With two decimals: what is free on a machine changes too fast for three."""
    return units.in_unit(nbytes, figures.unit_of(nbytes), 2)
