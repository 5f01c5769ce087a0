"""The blocks of a small step: who writes each, who reads it, and until when it has to stay.

A step that knows its readers says so; of a ledger alone only the maker and the last reader are
known. Operations are numbered from 0 here; sentences number them from 1, as people do.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from memlab import strings, units
from memlab.ledger.ledger import BEFORE, Entry, Row
from memlab.pictures.memory.formula_symbols import layer_kind, made_by, say, symbol_of, symbols_of
from memlab.pictures.memory.step_memory import StepMemory
from memlab.pictures.values.number_text import columns
from memlab.pictures.values.study import Study
from memlab.step.op import Phase
from memlab.step.tensor import Role

OPERATIONS, BLOCKS = 12, 18
"""A step of at most so many is shown block by block."""
LISTED = 4
"""So many names stand in a sentence; of more the first ones do, and the others are counted."""


class Follower(NamedTuple):
    """What is written over the content of a block: the operation, and the new content."""

    operation: int
    name: str
    symbol: str


@dataclass(frozen=True, slots=True)
class Life:
    """A block of memory, alive inside the operations ``birth`` to ``death``, both counted; -1 is
    before the step, the number of operations is after it. ``symbol`` is its name in formulas;
    ``reads`` and ``writes`` are operations, ``followers`` are written into it in place, and it
    ``grows`` with the batch or not."""

    name: str
    symbol: str
    role: Role
    formula: str
    nbytes: int
    grows: bool
    birth: int
    death: int
    writes: tuple[int, ...]
    reads: tuple[int, ...]
    followers: tuple[Follower, ...] = ()

    def alive(self, at: int) -> bool:
        """Whether it is there inside an operation."""
        return self.birth <= at <= self.death

    @property
    def touches(self) -> list[int]:
        """The operations that write or read it, in their order."""
        return sorted({*self.writes, *self.reads})

    def next(self, at: int) -> int | None:
        """The operation that it waits for inside one that does not touch it."""
        later = [each for each in self.touches if each > at]
        return later[0] if later and at not in self.touches and self.alive(at) else None


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation: ``head`` says it in a word, ``said`` in a sentence. ``formula`` is empty where
    the step has an operation that makes several things; ``nbytes`` is all that is alive inside."""

    row: Row
    head: str
    said: str
    formula: str
    nbytes: int

    @property
    def name(self) -> str:
        """Its name in the step."""
        return self.row.name


@dataclass(frozen=True)
class Lifetimes(Study):
    """All blocks of a step at a batch, in order of birth, and its operations."""

    step: str
    batch: int
    blocks: tuple[Life, ...]
    operations: tuple[Operation, ...]

    @cached_property
    def peak(self) -> int:
        """The first operation in which the most is alive."""
        sizes = [each.nbytes for each in self.operations]
        return sizes.index(max(sizes))

    @property
    def most(self) -> int:
        """The bytes of the peak."""
        return self.operations[self.peak].nbytes

    def alive(self, at: int) -> list[Life]:
        """The blocks that are there inside an operation."""
        return [block for block in self.blocks if block.alive(at)]

    def block(self, name: str) -> Life | None:
        """The block of that name."""
        return next((block for block in self.blocks if block.name == name), None)

    def alike(self, other: Lifetimes) -> bool:
        """Whether the operations are the same, so that one can be held against the other."""
        return [op.name for op in self.operations] == [op.name for op in other.operations]

    # -- in words -----------------------------------------------------------------------------

    @property
    def title(self) -> str:
        return f"{self.step}, {strings.get('memory.batch', batch=f'{self.batch:,}')}"

    @property
    def sentences(self) -> list[str]:
        return [self._where(self.peak, "twin.peak")]

    def _where(self, at: int, key: str) -> str:
        op = self.operations[at]
        return say(key, bytes=units.exact(op.nbytes), index=at + 1, count=len(self.operations),
                   name=op.name, blocks=len(self.alive(at)))  # fmt: skip

    def text(self) -> str:
        """What is alive at the peak, a line for each block, and the bytes inside operations."""
        tables = (columns(table, align=align) for table, align in (self.told, self.sums))
        return "\n".join(
            [f"{self.title}.", *self.sentences, *("\n".join(["", *each]) for each in tables)]
        )

    @property
    def told(self) -> tuple[list[list[str]], str]:
        """A table of all blocks with its heads, and how its columns are aligned."""
        names = ("block", "tensor", "role", "bytes", "at_peak", "made", "read", "freed")
        rows = [self._row(block) for block in self.blocks]
        return [[say(f"twin.{name}") for name in names], *rows], "<<<><<<<"

    def _row(self, block: Life) -> list[str]:
        stays = block.death >= len(self.operations)
        return [
            " → ".join([block.symbol, *(each.symbol for each in block.followers)]),
            block.name,
            strings.get(f"role.{block.role.value}.one"),
            f"{block.nbytes:,}",
            say("twin.yes") if block.alive(self.peak) else "-",
            say("twin.there") if block.birth == BEFORE else self.operations[block.birth].said,
            ", ".join(self._named(block.touches, block)) or "-",
            say("twin.stays") if stays else self.operations[block.death].said,
        ]

    def _named(self, touches: Iterable[int], block: Life) -> Iterable[str]:
        """Who reads it, and who changes it after it was made."""
        for at in touches:
            if at in block.writes and at != block.birth:
                yield say("twin.changed", name=self.operations[at].said)
            elif at in block.reads:
                yield self.operations[at].said

    @property
    def sums(self) -> tuple[list[list[str]], str]:
        """The bytes inside each operation as a table with its heads."""
        rows = [[f"{at + 1} {op.name}", f"{op.nbytes:,}"] for at, op in enumerate(self.operations)]
        return [[say("twin.operation"), say("twin.alive")], *rows], "<>"

    # -- what a picture says first --------------------------------------------------------------

    def finding(self, before: Lifetimes | None, at: int, focus: Life | None) -> tuple[str, str]:
        """A title, in which what counts stands between asterisks, and a sentence below it."""
        if focus:
            return self._must_stay(focus)
        if at != self.peak:
            return self._where_short(at), say("read")
        if before is None or before == self:
            return self._alone(), say("read")
        return self._changed(before)

    def says(self, at: int, name: str) -> str:
        """What a screen reader hears of an operation, or of a block."""
        focus = self.block(name)
        if focus is None:
            return self._where(at, "twin.at")
        why, wait = self._must_stay(focus)
        return f"{why}. {wait} {units.exact(focus.nbytes)}.".replace("*", "")

    def _where_short(self, at: int) -> str:
        op = self.operations[at]
        return say("title.at", name=_begun(op.said), bytes=units.exact(op.nbytes),
                   blocks=len(self.alive(at)))  # fmt: skip

    def _alone(self) -> str:
        """What makes the peak: the largest blocks that it needs, or how many are there."""
        blocks, op = self.alive(self.peak), self.operations[self.peak]
        largest = max(block.nbytes for block in blocks)
        needed = [b for b in blocks if b.nbytes == largest and self.peak in b.touches]
        values = {"name": _begun(op.said), "peak": units.exact(op.nbytes)}
        if len({block.nbytes for block in blocks}) > 1 < len(needed):
            size = units.exact(largest)
            return say("title.needs", count=len(needed), size=size, **values)
        return say("title.alive", count=len(blocks), **values)

    def _must_stay(self, block: Life) -> tuple[str, str]:
        """Why a block has to stay until its end, and how long it waits."""
        name = block.followers[-1].symbol if block.followers else block.symbol
        return say(f"why.{self._reason(block)}", name=name, last=self._end(block).said), (
            self._wait(block)
        )

    def _end(self, block: Life) -> Operation:
        """The last operation that touches it."""
        return self.operations[max(block.touches, default=len(self.operations) - 1)]

    def _reason(self, block: Life) -> str:
        """The text that says why it stays, or why it may go."""
        last, phases = self._end(block), {op.row.phase for op in self.operations}
        if block.death >= len(self.operations):
            return "changed" if block.birth == BEFORE and Phase.UPDATE in phases else "result"
        if last.row.phase is Phase.FORWARD and Phase.BACKWARD in phases:
            return "freed"
        what = "gradient" if block.role is Role.GRADIENT_MAP else "value"
        own = f"{layer_kind(last.row.kind)}.{what}"
        return own if strings.has(f"lifetimes.why.{own}") else "read"

    def _wait(self, block: Life) -> str:
        """Its longest wait, where it has one."""
        found = [*([BEFORE] if block.birth == BEFORE else []), *block.touches]
        first, last = max(pairwise(found), key=lambda ends: ends[1] - ends[0], default=(0, 0))
        if last - first <= 1:
            return say("no_wait")
        names = {"first": self.operations[first].said, "last": self.operations[last].said}
        key = "wait_first" if first == BEFORE else "wait"
        return say(key, count=last - first - 1, **names)

    # -- held against the state before ----------------------------------------------------------

    def gone(self, before: Lifetimes) -> list[Life]:
        """The blocks of before that are none now: another one has taken their tensor over."""
        followers = {each.name for block in self.blocks for each in block.followers}
        return [b for b in before.blocks if self.block(b.name) is None and b.name in followers]

    def _changed(self, before: Lifetimes) -> tuple[str, str]:
        values: dict[str, object] = {"was": units.exact(before.most),
                                     "now": units.exact(self.most)}  # fmt: skip
        if self.alike(before) and (gone := self.gone(before)):
            return self._in_place(before, gone, values)
        if self.alike(before) and (own := before.gone(self)):
            names = _listed([block.symbol for block in own])
            return say("title.apart", **values), say("apart", names=names)
        if before.most == self.most:
            return say("title.same", **values), self._against(before)
        if before.batch == self.batch or before.step != self.step:
            return say("title.other", **values), self._grown(before)
        batch, times = _times(before.batch, self.batch), _times(before.most, self.most)
        key = "batch" if self.batch > before.batch else "smaller"
        return say(f"title.{key}", batch=batch, times=times, **values), self._grown(before)

    def _against(self, before: Lifetimes) -> str:
        """What was before is dashed, or cannot be: other operations run."""
        if self.alike(before):
            return say("dashed")
        return say("others", now=len(self.operations), was=len(before.operations))

    def _in_place(
        self, before: Lifetimes, gone: Sequence[Life], values: dict[str, object]
    ) -> tuple[str, str]:
        less, op = before.most - self.most, self.operations[self.peak].said
        size = {block.nbytes for block in gone}
        what = say("gone.alike" if len(size) == 1 else "gone.blocks", count=len(gone),
                   size=units.exact(max(size)))  # fmt: skip
        moved = "stays" if not less else "falls" if self.peak == before.peak else "moves"
        title = say(f"title.in_place_{moved}", **values)
        return title, say(f"in_place.{moved}", what=what, less=units.exact(less), name=op)

    def _grown(self, before: Lifetimes) -> str:
        """Which of the blocks at the peak have other bytes, and which do not."""
        here = [(b, before.block(b.name)) for b in self.alive(self.peak)]
        other = [b.symbol for b, was in here if was and was.nbytes != b.nbytes]
        same = [b.symbol for b, was in here if was and was.nbytes == b.nbytes]
        key = "grown" if self.most > before.most else "shrunk"
        if not other:
            return self._against(before)
        if not same:
            return say(f"all_{key}")
        return say(key, other=_listed(other), same=_listed(same))


def _begun(text: str) -> str:
    """The beginning of a sentence; a symbol stays as it is."""
    return text[0].upper() + text[1:] if " " in text else text


def _times(was: int, now: int) -> str:
    """How many times the larger of two is the smaller: three digits."""
    return f"{float(Fraction(max(was, now), min(was, now))):.3g}"


def _listed(names: Sequence[str]) -> str:
    """``'x, t and y'``; of many the first ones, and how many others."""
    if len(names) == 1:
        return names[0]
    if len(names) > LISTED + 1:
        return say("and_others", names=", ".join(names[:LISTED]), count=len(names) - LISTED)
    return say("and", names=", ".join(names[:-1]), last=names[-1])


# -- from a step ----------------------------------------------------------------------------------


def fits(memory: StepMemory) -> bool:
    """Whether a step is small enough to be shown block by block."""
    return memory.operations <= OPERATIONS and len(memory.blocks.entries) <= BLOCKS


def lifetimes(memory: StepMemory, batch: int) -> Lifetimes:
    """The blocks of a step on the device, each from its first writer to its last reader.

    Raises:
        InputError: the batch is no whole number of at least 1, or the plan is not valid there.
    """
    entries, sizes = memory.blocks.entries, memory.ledger.timeline(batch)
    symbols = symbols_of(entries)
    reads, writes = _touched(memory)
    blocks = (_life(entry, batch, symbols, reads, writes) for entry in entries)
    return Lifetimes(memory.ledger.describe(), batch, tuple(blocks),
                     _operations(memory, sizes, symbols))  # fmt: skip


Touches = dict[str, list[int]]


def _life(
    entry: Entry, batch: int, symbols: dict[str, str], reads: Touches, writes: Touches
) -> Life:
    return Life(
        entry.name,
        symbols[entry.name],
        entry.role,
        entry.formula(batch).rpartition(" = ")[0],
        entry.size.at(batch),
        entry.size.per_sample > 0,
        entry.birth,
        entry.death,
        tuple(dict.fromkeys(writes.get(entry.name, ()))),
        tuple(dict.fromkeys(reads.get(entry.name, ()))),
        tuple(
            Follower(each.first, each.name, symbol_of(each.name, symbols))
            for each in entry.tenants[1:]
        ),
    )


def _touched(memory: StepMemory) -> tuple[Touches, Touches]:
    """The operations that read each block and those that write it, by its name."""
    reads, writes = Touches(), Touches()
    if memory.step is None:
        for entry in memory.blocks.entries:
            writes[entry.name] = [entry.birth] if entry.birth > BEFORE else []
            reads[entry.name] = [entry.death] if entry.death < memory.operations else []
        return reads, writes
    names = {storage: life.tensor.name for storage, life in memory.step.lifetimes.items()}
    for at, op in enumerate(memory.step.ops):
        for found, operands in (
            (reads, (op.reads, op.updates)),
            (writes, (op.writes, op.updates, op.workspace)),
        ):
            for tensor in (tensor for each in operands for tensor in each.values()):
                found.setdefault(names.get(tensor.storage.name, tensor.name), []).append(at)
    return reads, writes


def _operations(
    memory: StepMemory, sizes: Sequence[int], symbols: dict[str, str]
) -> tuple[Operation, ...]:
    """Operations by what they make, where each makes one thing that has a formula; else by their
    layers."""
    rows = memory.ledger.rows
    made = [made_by(op, symbols) for op in memory.step.ops] if memory.step else []
    whole = bool(made) and all(head and formula for head, formula in made)
    found = []
    for at, (row, nbytes) in enumerate(zip(rows, sizes, strict=True)):
        head, formula = made[at] if whole else (row.layer or row.name, "")
        said = head if whole else row.name
        if row.phase is Phase.UPDATE:
            said = say("update" if whole else "update_of", layer=row.layer or row.name)
        found.append(Operation(row, head, said, formula, nbytes))
    return tuple(found)
