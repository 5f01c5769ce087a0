"""The lifetimes of a small step: who writes each block, who reads it, and how long it must stay.

Each block is a bar as high as its bytes, and below each operation stands the pile of all that is
alive in it, to the same scale. Blocks stand in order of birth, so that the bars go down to the
right like stairs, and the thread from an operation to what it touches crosses no name.

A step that knows its readers says so; of a ledger alone only the maker and the last reader are
known. Operations are numbered from 0 here; sentences number them from 1, as people do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise
from typing import NamedTuple

from memlab import strings, units
from memlab.ledger.ledger import BEFORE, Entry, LedgerRow
from memlab.pictures.draw import text as texts
from memlab.pictures.draw import theme
from memlab.pictures.draw.chart import Chart
from memlab.pictures.draw.labels import ChartText, Label
from memlab.pictures.draw.labels import PhaseBracket as Bracket
from memlab.pictures.draw.marks import (
    Fact,
    Group,
    Mark,
    OpenEdge,
    Path,
    Pen,
    Points,
    Press,
    Rect,
    Rects,
    Rule,
)
from memlab.pictures.draw.page import Page
from memlab.pictures.draw.scale import Scale
from memlab.pictures.draw.table import Key, PageBlock, Paragraphs, SideBySide, Table
from memlab.pictures.draw.theme import Paint
from memlab.pictures.memory.step_memory import StepMemory, phases
from memlab.pictures.values.number_text import three_digits
from memlab.step.op import Op, Phase, plain
from memlab.step.tensor import Role

OPERATIONS, BLOCKS = 12, 18
"""A step of at most so many is shown block by block."""
HEADS = ("block", "tensor", "role", "bytes", "at_peak", "made", "read", "freed")
"""Columns of the table of blocks."""
LISTED = 4
"""So many names stand in a sentence; of more the first ones do, and the others are counted."""
GRADIENT, BACKWARD = "gradient of ", "backward "
"""Begin of the name of a gradient, and of that of a workspace in its layer's backward."""
START, END = 34, 38
"""Room before the step and after it, in pixels."""
ROOM, BELOW_FORMULAS = 316, 272
"""Pixels for all bars and the highest pile; a single layer has more controls above it."""
TALLEST, GAP, LINE, LEAST = 36, 3.5, 12.5, 1.6
"""The height of a bar at most, what is free below it, the least from bar to bar, and the least
that is drawn of a block."""
WORDED, SPELT = 700, 110
"""From this width on a label has the role, and with so much of it for each operation that of a
gradient too."""
LONGEST, SHORT = 110, 70
"""Pixels of a name, there and in narrower pages."""
NUMBERED, WRITTEN = 9, 10
"""A bar of this height has its bytes in the frame, and of this one a text."""
BEAD, STRIP, NOTCH = 8, 4, 5
FAINT = 0.26
"""Opacity of what is not in focus."""
Place = tuple[float, float, float, float]


def text_of(key: str, **values: object) -> str:
    """Return a text of the lifetimes picture by its key, with its numbers filled in."""
    return strings.get(f"lifetimes.{key}", **values)


# -- blocks and operations -------------------------------------------------------------------------


class Follower(NamedTuple):
    """Tensor that an operation writes into a block in place of the previous one."""

    operation: int
    name: str
    symbol: str


@dataclass(frozen=True, slots=True)
class BlockLifetime:
    """Life of a block that is alive in the operations ``birth`` to ``death``, both included. -1 is
    before the step, and the number of operations is after it. ``symbol`` is its name in
    formulas; ``reads`` and ``writes`` are operations; ``followers`` are tensors written into it
    in place; ``grows`` says whether it grows with the batch."""

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
        """True if the block is alive inside an operation."""
        return self.birth <= at <= self.death

    @property
    def touches(self) -> list[int]:
        """Return the operations that write or read the block, in order."""
        return sorted({*self.writes, *self.reads})

    def next(self, at: int) -> int | None:
        """Return the next operation that uses the block, if the given operation does not; else
        None."""
        later = [touch for touch in self.touches if touch > at]
        return later[0] if later and at not in self.touches and self.alive(at) else None


@dataclass(frozen=True, slots=True)
class OperationBox:
    """Operation in the picture. ``head`` names it in a word and ``said`` in a sentence. ``formula``
    is empty if an operation of the step makes several things; ``nbytes`` are all bytes alive
    inside it."""

    row: LedgerRow
    head: str
    said: str
    formula: str
    nbytes: int

    @property
    def name(self) -> str:
        """Return its name in the step."""
        return self.row.name


@dataclass(frozen=True)
class LifetimeTable:
    """Lifetimes of all blocks of a step at a batch, in order of birth, and its operations."""

    step: str
    batch: int
    blocks: tuple[BlockLifetime, ...]
    operations: tuple[OperationBox, ...]

    @cached_property
    def peak(self) -> int:
        """First operation in which the most bytes are alive."""
        sizes = [operation.nbytes for operation in self.operations]
        return sizes.index(max(sizes))

    @property
    def most(self) -> int:
        """Bytes of the peak."""
        return self.operations[self.peak].nbytes

    def alive(self, at: int) -> list[BlockLifetime]:
        """Return the blocks that are alive inside an operation."""
        return [block for block in self.blocks if block.alive(at)]

    def block(self, name: str) -> BlockLifetime | None:
        """Return the block of that name, or None."""
        return next((block for block in self.blocks if block.name == name), None)

    def alike(self, other: LifetimeTable) -> bool:
        """True if both tables have the same operations, so that they can be compared."""
        return [op.name for op in self.operations] == [op.name for op in other.operations]

    # -- in words -----------------------------------------------------------------------------

    @property
    def title(self) -> str:
        """Title of the picture: ``'Single linear layer, fp32, SGD, training, batch 4'``."""
        return f"{self.step}, {strings.get('memory.batch', batch=f'{self.batch:,}')}"

    def told_at(self, at: int, key: str) -> str:
        """Return an operation, its bytes and the number of its blocks, in a sentence."""
        op = self.operations[at]
        return text_of(key, bytes=units.exact(op.nbytes), index=at + 1, count=len(self.operations),
                   name=op.name, blocks=len(self.alive(at)))  # fmt: skip

    def row(self, block: BlockLifetime) -> list[str]:
        """Return a block as a row of the table: its names, role and bytes, the operation that makes
        it, and until when it stays."""
        stays = block.death >= len(self.operations)
        return [
            " → ".join([block.symbol, *(follower.symbol for follower in block.followers)]),
            block.name,
            strings.get(f"role.{block.role.value}.one"),
            f"{block.nbytes:,}",
            text_of("twin.yes") if block.alive(self.peak) else "-",
            text_of("twin.there") if block.birth == BEFORE else self.operations[block.birth].said,
            ", ".join(self._named(block.touches, block)) or "-",
            text_of("twin.stays") if stays else self.operations[block.death].said,
        ]

    def _named(self, touches: Iterable[int], block: BlockLifetime) -> Iterable[str]:
        """Return the operations that read a block, or that change it after it was made."""
        for at in touches:
            if at in block.writes and at != block.birth:
                yield text_of("twin.changed", name=self.operations[at].said)
            elif at in block.reads:
                yield self.operations[at].said

    # -- what a picture says first --------------------------------------------------------------

    def finding(
        self, before: LifetimeTable | None, at: int, focus: BlockLifetime | None
    ) -> tuple[str, str]:
        """Return what the picture shows now as a title and a sentence. The important part of the
        title stands between asterisks."""
        if focus:
            return self._must_stay(focus)
        if at != self.peak:
            op, blocks = self.operations[at], len(self.alive(at))
            said = {"name": _begun(op.said), "bytes": units.exact(op.nbytes), "blocks": blocks}
            return text_of("title.at", **said), text_of("read")
        if before is None or before == self:
            return self._alone(), text_of("read")
        return self._changed(before)

    def says(self, at: int, name: str) -> str:
        """Return the words of a screen reader for an operation, or for a block."""
        focus = self.block(name)
        if focus is None:
            return self.told_at(at, "twin.at")
        why, wait = self._must_stay(focus)
        return f"{why}. {wait} {units.exact(focus.nbytes)}.".replace("*", "")

    def _alone(self) -> str:
        """Return the title of the peak: the largest blocks that it needs, or the
        number of blocks."""
        blocks, op = self.alive(self.peak), self.operations[self.peak]
        largest = max(block.nbytes for block in blocks)
        needed = [b for b in blocks if b.nbytes == largest and self.peak in b.touches]
        values = {"name": _begun(op.said), "peak": units.exact(op.nbytes)}
        if len({block.nbytes for block in blocks}) > 1 < len(needed):
            size = units.exact(largest)
            return text_of("title.needs", count=len(needed), size=size, **values)
        return text_of("title.alive", count=len(blocks), **values)

    def _must_stay(self, block: BlockLifetime) -> tuple[str, str]:
        """Return two sentences: why a block stays alive until the last operation that uses it, and
        for how many operations it waits unused."""
        name = block.followers[-1].symbol if block.followers else block.symbol
        return text_of(f"why.{self._reason(block)}", name=name, last=self._end(block).said), (
            self._wait(block)
        )

    def _end(self, block: BlockLifetime) -> OperationBox:
        """Return the last operation that uses a block."""
        return self.operations[max(block.touches, default=len(self.operations) - 1)]

    def _reason(self, block: BlockLifetime) -> str:
        """Return the text that says why a block stays, or why it is freed."""
        last, phases = self._end(block), {op.row.phase for op in self.operations}
        if block.death >= len(self.operations):
            return "changed" if block.birth == BEFORE and Phase.UPDATE in phases else "result"
        if last.row.phase is Phase.FORWARD and Phase.BACKWARD in phases:
            return "freed"
        what = "gradient" if block.role is Role.GRADIENT_MAP else "value"
        own = f"{layer_kind(last.row.kind)}.{what}"
        return own if strings.has(f"lifetimes.why.{own}") else "read"

    def _wait(self, block: BlockLifetime) -> str:
        """Return a sentence on the longest wait of a block, or that it never waits."""
        touches = [*([BEFORE] if block.birth == BEFORE else []), *block.touches]
        first, last = max(pairwise(touches), key=lambda ends: ends[1] - ends[0], default=(0, 0))
        if last - first <= 1:
            return text_of("no_wait")
        names = {"first": self.operations[first].said, "last": self.operations[last].said}
        key = "wait_first" if first == BEFORE else "wait"
        return text_of(key, count=last - first - 1, **names)

    # -- held against the state before ----------------------------------------------------------

    def gone(self, before: LifetimeTable) -> list[BlockLifetime]:
        """Return the blocks of the previous state that no longer exist because another block now
        holds their tensor."""
        followers = {follower.name for block in self.blocks for follower in block.followers}
        return [b for b in before.blocks if self.block(b.name) is None and b.name in followers]

    def _changed(self, before: LifetimeTable) -> tuple[str, str]:
        values: dict[str, object] = {"was": units.exact(before.most),
                                     "now": units.exact(self.most)}  # fmt: skip
        if self.alike(before) and (gone := self.gone(before)):
            return self._in_place(before, gone, values)
        if self.alike(before) and (own := before.gone(self)):
            names = _listed([block.symbol for block in own])
            return text_of("title.apart", **values), text_of("apart", names=names)
        if before.most == self.most:
            return text_of("title.same", **values), self._against(before)
        if before.batch == self.batch or before.step != self.step:
            return text_of("title.other", **values), self._grown(before)
        batch, times = _times(before.batch, self.batch), _times(before.most, self.most)
        key = "batch" if self.batch > before.batch else "smaller"
        return text_of(f"title.{key}", batch=batch, times=times, **values), self._grown(before)

    def _against(self, before: LifetimeTable) -> str:
        """Return the sentence that the previous state is dashed, or that it cannot be drawn because
        the operations differ."""
        if self.alike(before):
            return text_of("dashed")
        return text_of("others", now=len(self.operations), was=len(before.operations))

    def _in_place(
        self, before: LifetimeTable, gone: Sequence[BlockLifetime], values: dict[str, object]
    ) -> tuple[str, str]:
        less, op = before.most - self.most, self.operations[self.peak].said
        size = {block.nbytes for block in gone}
        what = text_of("gone.alike" if len(size) == 1 else "gone.blocks", count=len(gone),
                   size=units.exact(max(size)))  # fmt: skip
        moved = "stays" if not less else "falls" if self.peak == before.peak else "moves"
        title = text_of(f"title.in_place_{moved}", **values)
        return title, text_of(f"in_place.{moved}", what=what, less=units.exact(less), name=op)

    def _grown(self, before: LifetimeTable) -> str:
        """Return which blocks at the peak have changed their bytes, and which have not."""
        here = [(b, before.block(b.name)) for b in self.alive(self.peak)]
        other = [b.symbol for b, was in here if was and was.nbytes != b.nbytes]
        same = [b.symbol for b, was in here if was and was.nbytes == b.nbytes]
        key = "grown" if self.most > before.most else "shrunk"
        if not other:
            return self._against(before)
        if not same:
            return text_of(f"all_{key}")
        return text_of(key, other=_listed(other), same=_listed(same))


def _begun(text: str) -> str:
    """Return a text with a capital at its beginning. A symbol stays as it is."""
    return text[0].upper() + text[1:] if " " in text else text


def _times(was: int, now: int) -> str:
    """Return the larger of two figures divided by the smaller, with three digits."""
    return f"{float(Fraction(max(was, now), min(was, now))):.3g}"


def _listed(names: Sequence[str]) -> str:
    """Return ``'x, t and y'``. Of many names, only the first ones and the number of the others are
    given."""
    if len(names) > LISTED + 1:
        return text_of("and_others", names=", ".join(names[:LISTED]), count=len(names) - LISTED)
    return strings.series(names)


# -- from a step ----------------------------------------------------------------------------------


def fits(memory: StepMemory, blocks: int = BLOCKS) -> bool:
    """True if a step of at most so many blocks is small enough to be drawn block by block."""
    return memory.operations <= OPERATIONS and len(memory.blocks.entries) <= blocks


def lifetimes(memory: StepMemory, batch: int) -> LifetimeTable:
    """Return the lifetimes of a step's blocks on the device, each from its first writer to its last
    reader.

    Raises:
        InputError: the batch is no whole number of at least 1, or the plan is not valid there.
    """
    entries, sizes = memory.blocks.entries, memory.ledger.timeline(batch)
    symbols = symbols_of(entries)
    reads, writes = _touched(memory)
    blocks = tuple(
        BlockLifetime(
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
                Follower(tenant.first, tenant.name, symbol_of(tenant.name, symbols))
                for tenant in entry.tenants[1:]
            ),
        )
        for entry in entries
    )
    operations = _operations(memory, sizes, symbols)
    return LifetimeTable(memory.ledger.describe(), batch, blocks, operations)


Touches = dict[str, list[int]]


def _touched(memory: StepMemory) -> tuple[Touches, Touches]:
    """Return the operations that read each block and those that write it, by its name."""
    reads, writes = Touches(), Touches()
    if memory.step is None:
        for entry in memory.blocks.entries:
            writes[entry.name] = [entry.birth] if entry.birth > BEFORE else []
            reads[entry.name] = [entry.death] if entry.death < memory.operations else []
        return reads, writes
    names = {storage: life.tensor.name for storage, life in memory.step.lifetimes.items()}
    for at, op in enumerate(memory.step.ops):
        for touched, operands in (
            (reads, (op.reads, op.updates)),
            (writes, (op.writes, op.updates, op.workspace)),
        ):
            for tensor in (tensor for operand in operands for tensor in operand.values()):
                touched.setdefault(names.get(tensor.storage.name, tensor.name), []).append(at)
    return reads, writes


def _operations(
    memory: StepMemory, sizes: Sequence[int], symbols: dict[str, str]
) -> tuple[OperationBox, ...]:
    """Return the operations. They are named by what they make if each makes one thing that has a
    formula, else by their layers."""
    rows = memory.ledger.rows
    heads = [made_by(op, symbols) for op in memory.step.ops] if memory.step else []
    whole = bool(heads) and all(head and formula for head, formula in heads)
    operations = []
    for at, (row, nbytes) in enumerate(zip(rows, sizes, strict=True)):
        head, formula = heads[at] if whole else (row.layer or row.name, "")
        said = head if whole else row.name
        if row.phase is Phase.UPDATE:
            said = text_of("update" if whole else "update_of", layer=row.layer or row.name)
        operations.append(OperationBox(row, head, said, formula, nbytes))
    return tuple(operations)


# -- names in formulas -----------------------------------------------------------------------------


def symbols_of(entries: Sequence[Entry]) -> dict[str, str]:
    """Return the name of each block in formulas: ``x``, ``w1``, ``dE/dy``. The parameters of a
    single layer are numbered; of several layers, the weights and biases are."""
    owners = [entry for entry in entries if entry.role is Role.PARAMETER]
    layers = list(dict.fromkeys(entry.layer for entry in owners))
    symbols: dict[str, str] = {}
    for number, entry in enumerate(owners, 1):
        letter = _say_or(f"symbol.{entry.name.rpartition('.')[2]}", "")
        place = layers.index(entry.layer) + 1
        symbols[entry.name] = (
            f"w{number}" if len(layers) == 1 else f"{letter}{place}" if letter else entry.name
        )
    for entry in entries:
        symbols.setdefault(entry.name, symbol_of(entry.name, symbols))
    return symbols


def symbol_of(name: str, known: dict[str, str]) -> str:
    """Return the name of a tensor in formulas. ``known`` are the names of the blocks."""
    if name in known:
        return known[name]
    if (whole := plain(name)) != name:
        return symbol_of(whole, known) + name.removeprefix(whole)
    if name.startswith(GRADIENT):
        return f"dE/d{symbol_of(name.removeprefix(GRADIENT), known)}"
    owner, _, rest = name.rpartition(".")
    rest = rest.removeprefix(BACKWARD)  # its bar begins there
    if owner in known:
        letter = _say_or(f"symbol.{rest}", "")
        return f"{letter}({known[owner]})" if letter else f"{known[owner]} {rest}"
    return _say_or(f"symbol.{name}", name)


def _say_or(key: str, other: str) -> str:
    """Return a text about lifetimes, or another text if there is none."""
    return text_of(key) if strings.has(f"lifetimes.{key}") else other


def layer_kind(kind: str) -> str:
    """Return the kind of layer that an operation belongs to."""
    return kind.partition(".")[0]


def made_by(op: Op, symbols: dict[str, str]) -> tuple[str, str]:
    """Return what an operation makes and its formula, which is empty if it makes several things."""
    products = list(op.writes.values())
    operands = {name: symbol_of(tensor.name, symbols) for name, tensor in op.reads.items()}
    if op.phase is Phase.UPDATE:
        head = text_of("symbol.parameters")
    elif len(products) > 1:
        alike = all(tensor.role is Role.PARAMETER_GRADIENT for tensor in products)
        head = text_of("symbol.gradients") if alike else ""
    else:
        head = symbol_of(products[0].name, symbols) if products else ""
    try:
        return head, text_of(f"formula.{op.phase}.{layer_kind(op.kind)}", **operands)
    except KeyError:  # no such formula, or not of these operands
        return head, ""


# -- the sheet -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BlockBar:
    """Bar of a block in pixels: ``top`` to ``bottom``, and its previous ``level`` if that was
    different. A block with a ``host`` was separate before, and its tensor now lies in the host."""

    life: BlockLifetime
    top: float
    bottom: float
    level: float | None = None
    host: BlockLifetime | None = None

    @property
    def middle(self) -> float:
        """Height at which its words are written."""
        return (self.top + self.bottom) / 2

    @property
    def tall(self) -> float:
        """Height of a block's bar in pixels."""
        return self.bottom - self.top


@dataclass(frozen=True)
class Sheet:
    """Everything that the picture of lifetimes depends on, and its layout. Operation i goes from i
    to i + 1 across; vertical positions are in pixels from the top. ``room`` holds the bytes for
    which there is space: in a pile, in all bars, and in one of them. ``less`` are pixels that the
    picture is lower than usual."""

    now: LifetimeTable
    room: tuple[int, ...]
    before: LifetimeTable | None
    at: int
    focus: BlockLifetime | None
    numbers: bool
    width: float
    less: int = 0

    @property
    def count(self) -> int:
        """Number of operations."""
        return len(self.now.operations)

    @cached_property
    def gutter(self) -> float:
        """Space for the names of what exists before the step and in the first operation."""
        first = [block for block in self.now.blocks if block.birth <= 0]
        room = (texts.measure(self.name(life)) - START * (life.birth + 1) for life in first)
        return max(room, default=0) + 12

    @cached_property
    def column(self) -> float:
        """Width of an operation in pixels."""
        return (self.width - self.gutter - START - END) / self.count

    @property
    def narrow(self) -> bool:
        """True if the operations are narrow."""
        return self.width / self.count < SPELT

    def name(self, block: BlockLifetime) -> list[tuple[str, bool]]:
        """Return the name of a block, after its role if there is space."""
        gradient = block.role in (Role.GRADIENT_MAP, Role.PARAMETER_GRADIENT)
        wide = self.width >= WORDED
        told = (gradient and self.narrow) or _word(block) in block.symbol.split()
        word = f"{_word(block)} " if wide and not told else ""
        return [(word, False), (texts.fitted(block.symbol, LONGEST if wide else SHORT), True)]

    @property
    def formulas(self) -> bool:
        """True if every operation has a formula, and each is narrow enough for its column."""
        formulas = [op.formula for op in self.now.operations]
        return all(0 < texts.width(formula, 11) <= self.column - 4 for formula in formulas)

    @property
    def head(self) -> float:
        """Height at which the bars begin."""
        return 40 if self.formulas else 25

    # -- heights --------------------------------------------------------------------------------

    @cached_property
    def held(self) -> LifetimeTable | None:
        """Previous state, if it fits on the same scale; else None, and its levels are not drawn."""
        was = self.before
        return was if was and self.now.alike(was) and was.most <= self.room[0] else None

    @cached_property
    def lives(self) -> list[tuple[BlockLifetime, BlockLifetime | None, BlockLifetime | None]]:
        """All blocks in order of birth, each with its previous self and with the block that holds
        it now."""
        was = {block.name: block for block in self.held.blocks} if self.held else {}
        hosts = {follower.name: b for b in self.now.blocks for follower in b.followers}
        lives = [(block, was.get(block.name), None) for block in self.now.blocks]
        gone = [(b, b, hosts[b.name]) for b in (self.now.gone(self.held) if self.held else ())]
        return sorted([*lives, *gone], key=lambda life: life[0].birth)

    @cached_property
    def scale(self) -> float:
        """Pixels per byte: as many as the space allows when it is filled, with as many bars as
        possible of the largest size."""
        pile, bars, largest = self.room
        most = (BELOW_FORMULAS if self.formulas else ROOM) - self.less
        room = most - LINE * len(self.lives)
        large = bars / largest
        tall = min(room / pile, (room + large * (LINE - GAP)) / (pile + bars))
        return min(TALLEST / largest, max(tall, LINE / pile))

    @staticmethod
    def _sizes(
        neighbours: tuple[BlockLifetime, BlockLifetime | None, BlockLifetime | None],
    ) -> tuple[int, int]:
        block, was, _ = neighbours
        return block.nbytes, was.nbytes if was else 0

    @cached_property
    def bars(self) -> list[BlockBar]:
        """Bars from top to bottom. Each stands on its lower edge."""
        pitches = [max(self._tall(max(self._sizes(life))) + GAP, LINE) for life in self.lives]
        tops = accumulate(pitches, initial=self.head)
        return [
            self._bar_of(*arguments) for arguments in zip(self.lives, tops, pitches, strict=False)
        ]

    def _bar_of(
        self,
        neighbours: tuple[BlockLifetime, BlockLifetime | None, BlockLifetime | None],
        top: float,
        pitch: float,
    ) -> BlockBar:
        block, was, host = neighbours
        tall, most = self._tall(block.nbytes), self._tall(max(self._sizes(neighbours)))
        bottom = top + (pitch - GAP + most) / 2
        moved = was is not None and was.nbytes != block.nbytes
        level = bottom - self._tall(was.nbytes) if was and moved else None
        return BlockBar(block, bottom - tall, bottom, level, host)

    def _tall(self, nbytes: int) -> float:
        return max(LEAST, self.scale * min(nbytes, self.room[2]))

    @property
    def peak(self) -> float:
        """Height of the line at the peak."""
        return self.level(self.now.most)

    def level(self, nbytes: int) -> float:
        """Return the height of a pile, up to the space that there is."""
        return self.ground - self.scale * min(nbytes, self.room[0])

    @cached_property
    def ground(self) -> float:
        """Height of the base of the piles."""
        return self.bars[-1].bottom + GAP + 12 + self.scale * self.room[0]

    # -- lives ----------------------------------------------------------------------------------

    def ends(self, block: BlockLifetime) -> tuple[float, float]:
        """Return both ends of the bar of a block. The bar of a block that stays goes to the edge of
        the picture."""
        first = -START / self.column if block.birth == BEFORE else block.birth
        stays = block.death >= self.count
        return first, self.count + END / self.column if stays else block.death + 1

    def forward(self, at: int) -> bool:
        """True if an operation belongs to forward."""
        return self.now.operations[at].row.phase is Phase.FORWARD

    def framed(self, left: float, right: float) -> bool:
        """True if a text between two positions would lie in the frame."""
        return left < self.at + 1 and right > self.at

    def faint(self, block: BlockLifetime) -> bool:
        """True if another block has the focus."""
        return self.focus is not None and block.name != self.focus.name


class Faint(Group):
    """Marks that are not in focus."""

    def draw(self, pen: Pen) -> None:
        with pen.svg.group(opacity=FAINT):
            for mark in self.marks:
                mark.lower(pen)


# -- the page -------------------------------------------------------------------------------------


def needs(now: LifetimeTable) -> tuple[int, int, int]:
    """Return the bytes that the highest pile, all bars together, and the largest bar have."""
    sizes = [block.nbytes for block in now.blocks]
    return now.most, sum(sizes), max(sizes)


def page(
    now: LifetimeTable, before: LifetimeTable | None = None, at: int | None = None, focus: str = "",
    numbers: bool = False, width: float = 820, room: tuple[int, ...] = (), less: int = 0,
) -> Page:  # fmt: skip
    """Return the lifetimes of a step as a page, with a frame around operation ``at``, counted from
    0, or around the peak. A block in ``focus`` says why it stays; ``before`` is the state whose
    levels are dashed; ``numbers`` shows every byte. ``room`` is the space for piles and bars, as
    ``needs`` counts it, and ``less`` the pixels by which the picture is lower than usual."""
    at = now.peak if at is None else at
    sheet = Sheet(
        now,
        room or tuple(map(max, needs(now), needs(before or now))),
        before,
        at,
        now.block(focus),
        numbers,
        width,
        less,
    )
    title, sentence = now.finding(before, at, sheet.focus)
    op = before.operations[before.peak] if before else None
    was = text_of("twin.before", title=before.title, bytes=units.exact(op.nbytes),
              index=before.peak + 1, name=op.name) if before and op else ""  # fmt: skip
    key: list[tuple[int | Paint | str, str]] = [
        ("dot", text_of("writes")),
        ("hollow", text_of("reads")),
    ]
    key += [("before", text_of("before"))] if sheet.held and sheet.held != now else []
    wide = sum(texts.width(name) + 38 for _, name in key)
    blocks: list[PageBlock] = [
        Paragraphs([texts.emphasized(title)], 20),
        SideBySide([(Paragraphs(sentence, 13), width - wide), (Key(key), wide)], gap=2),
        chart(sheet),
        Paragraphs([now.told_at(now.peak, "twin.peak"), was], drawn=False, gap=1),
        Table([text_of(f"twin.{name}") for name in HEADS], [*map(now.row, now.blocks)], "<<<><<<<",
              drawn=False, gap=1),
        Table([text_of("twin.operation"), text_of("twin.alive")],
              [[f"{at + 1} {op.name}", f"{op.nbytes:,}"] for at, op in enumerate(now.operations)],
              "<>", drawn=False, gap=1),
    ]  # fmt: skip
    return Page(now.title, blocks, width, says=now.says(at, focus))


def blocks(now: LifetimeTable) -> list[str]:
    """Return the names of the blocks from top to bottom."""
    return [block.name for block in now.blocks]


def chart(sheet: Sheet) -> Chart:
    """Return the chart: operations from left to right, their blocks, and the piles."""
    edge = sheet.ground
    marks: list[Mark] = [
        *_heads(sheet),
        *_threads(sheet),
        *(mark for bar in sheet.bars for mark in _block(sheet, bar)),
        *_piles(sheet),
        *_frame(sheet),
        *(mark for bar in sheet.bars for mark in _words(sheet, bar)),
        Press("operation", sheet.count, (0, sheet.count, 0, sheet.head), 0),
        Press("operation", sheet.count, (0, sheet.count, sheet.peak, edge), 20),
    ]
    across = Scale(-START / sheet.column, sheet.count + END / sheet.column)
    return Chart(across, Scale(edge, 0), marks, edge, left=sheet.gutter, right=0, above=24,
                 below=20, gap=4)  # fmt: skip


def _word(block: BlockLifetime) -> str:
    own = f"lifetimes.word.{block.name}"
    return strings.get(own if strings.has(own) else f"lifetimes.word.{block.role.value}")


def _paint(block: BlockLifetime) -> Paint:
    loss = block.role is Role.FEATURE_MAP and not block.grows
    return theme.STATISTICS if loss else theme.PAINTS[block.role]


# -- above the bars -------------------------------------------------------------------------------


def _heads(sheet: Sheet) -> Iterator[Mark]:
    """Yield marks for the phases, and each operation with its formula."""
    touched = set(sheet.focus.touches) if sheet.focus else set(range(sheet.count))
    for phase, first, last in phases([op.row for op in sheet.now.operations]):
        yield Bracket(strings.get(f"phase.{phase}"), first, last + 1)
    for at, op in enumerate(sheet.now.operations):
        dim = at not in touched
        head = texts.shortened(op.head, sheet.column - 2, 13, True)
        yield ChartText(at + 0.5, 14, head, 13, "middle", bold=True, dim=dim)
        if sheet.formulas:
            yield ChartText(at + 0.5, 30, op.formula, 11, "middle", dim=True)
    yield ChartText(0, 14, text_of("start"), 11, "end", dx=-6, dim=True)
    yield ChartText(sheet.count, 14, text_of("end"), 11, dx=6, dim=True)


def _threads(sheet: Sheet) -> Iterator[Mark]:
    """Yield marks for a line from each operation to the last of the blocks that it uses."""
    for at in range(sheet.count):
        if sheet.focus and at not in sheet.focus.touches:
            continue
        ends = [bar.middle for bar in sheet.bars if not bar.host and at in bar.life.touches]
        if ends:
            yield Rule(at + 0.5, span=(max(ends), sheet.head - 5), look="rule faint", crossed=True)


# -- a bar ----------------------------------------------------------------------------------------


def _block(sheet: Sheet, bar: BlockBar) -> Iterator[Mark]:
    """Yield marks for the bar of a block with the operations that write and read it, or the outline
    of a block that no longer exists."""
    block, (first, stop) = bar.life, sheet.ends(bar.life)
    if bar.host:
        yield Rect(first, stop, bar.top, bar.bottom, "before")
        return
    marks = [*_bar(sheet, bar, first, stop), *_beads(sheet, bar)]
    yield Rect(first, stop, bar.top, bar.bottom, "hollow", edge=0)
    yield from [Faint(marks)] if sheet.faint(block) else marks
    yield Rect(first, stop, bar.middle - LINE / 2, bar.middle + LINE / 2, "target",
               fact=_fact(sheet.now, block), send=("choose", f"block:{block.name}"))  # fmt: skip


def _bar(sheet: Sheet, bar: BlockBar, first: float, stop: float) -> Iterator[Mark]:
    paint = _paint(bar.life)
    yield Rect(first, stop, bar.top, bar.bottom, paint)
    if bar.life.nbytes > sheet.room[2]:
        yield OpenEdge(first, stop, at=bar.top)
    if bar.life.birth > BEFORE:
        strip = first + STRIP / sheet.column
        yield Rect(first, strip, bar.top, bar.bottom, Paint(paint.colour, 1))
    if bar.level is not None:
        yield Rule(y=bar.level, span=(first, stop), look="before", crossed=True)


def _beads(sheet: Sheet, bar: BlockBar) -> Iterator[Mark]:
    """Yield marks for a bead for each use of a block: filled for a write, hollow for a read, and in
    a notch where another tensor follows."""
    block = bar.life
    for follower in block.followers:
        yield from _notch(sheet, bar, follower.operation + 0.5)
    for at in block.touches:
        look = "dot" if at in block.writes else "hollow"
        yield Points([(at + 0.5, bar.middle)], look, BEAD)


def _notch(sheet: Sheet, bar: BlockBar, x: float) -> Iterator[Mark]:
    half, deep = NOTCH / sheet.column, max((bar.tall - BEAD) / 2, 2)
    for edge, tip in ((bar.top - 0.5, bar.top + deep), (bar.bottom + 0.5, bar.bottom - deep)):
        corners = [(x - half, edge), (x, tip), (x + half, edge)]
        yield Path(corners, "hollow")
        yield Path(corners, "rule", closed=False)


def _fact(now: LifetimeTable, block: BlockLifetime) -> Fact:
    stays = block.death >= len(now.operations)
    maker = "" if block.birth == BEFORE else now.operations[block.birth].name
    reader = "" if stays else now.operations[block.death].name
    name = block.symbol if block.symbol == block.name else f"{block.symbol} ({block.name})"
    return Fact(name, block.formula, block.nbytes, maker, reader)


# -- words at a bar -------------------------------------------------------------------------------


def _words(sheet: Sheet, bar: BlockBar) -> Iterator[Mark]:
    """Yield marks for the name of a block, what it waits for, and its bytes in the frame."""
    block, (first, stop) = bar.life, sheet.ends(bar.life)
    y, dim = bar.middle, sheet.faint(block)
    if bar.host:
        room = (stop - first) * sheet.column - 8
        tries = (text_of(key, name=bar.host.symbol) for key in ("inside", "inside_narrow"))
        for inside in [attempt for attempt in tries if texts.width(attempt, 11) <= room][:1]:
            yield ChartText((first + stop) / 2, y, inside, 11, "middle", dy=4, chip=True)
        return
    yield _name(sheet, bar)
    yield from _bytes(sheet, bar)
    if bar.tall >= WRITTEN and not dim:
        yield from _waits(sheet, bar)
    if block.followers and not dim:
        then = text_of("then", name=block.followers[-1].symbol)
        if not sheet.framed(stop, stop + (texts.width(then) + 8) / sheet.column):
            yield Label(then, [(stop, y, "start", 8, 4)], chip=True, apart=0)


def _name(sheet: Sheet, bar: BlockBar) -> ChartText:
    """Return the name of a block at its left end, or at its right end if the name would lie in the
    frame. The role is left out if there is no space."""
    block, (first, stop) = bar.life, sheet.ends(bar.life)
    y, dim, most = bar.middle, sheet.faint(block), sheet.count + END / sheet.column
    for name in (sheet.name(block), sheet.name(block)[1:]):
        wide = (texts.measure(name) + 8) / sheet.column
        left = ChartText(first, y, name, anchor="end", dx=-8, dy=4, dim=dim)
        if not sheet.framed(first - wide, first):
            break
        if stop + wide <= most:
            return ChartText(stop, y, name, dx=8, dy=4, chip=True, dim=dim)
    return left


def _bytes(sheet: Sheet, bar: BlockBar) -> Iterator[Mark]:
    """Yield marks for the bytes of a block inside the framed operation or, with all numbers, after
    its first bead."""
    block = bar.life
    size = f"{block.nbytes:,}" if sheet.narrow else units.exact(block.nbytes)
    framed = block.alive(sheet.at)
    at = sheet.at if framed else (block.touches or [max(block.birth, 0)])[0]
    shown = sheet.numbers or (framed and bar.tall >= NUMBERED)
    if shown and texts.width(size, 12, True) + 12 <= sheet.column / 2:
        yield ChartText(at + 0.5, bar.middle, size, 12, dx=10, dy=4, bold=framed, chip=True,
                   dim=sheet.faint(block))  # fmt: skip


def _waits(sheet: Sheet, bar: BlockBar) -> Iterator[Mark]:
    """Yield marks for the operation that the block waits for in the frame, or the note that a map
    is freed in forward."""
    block, at = bar.life, sheet.at
    waits = block.next(at)
    if waits is not None:
        text = text_of("waits", name=sheet.now.operations[waits].said)
        since = max([touch for touch in block.touches if touch < at], default=-1)
        wide = texts.width(text, 11) / sheet.column
        lefts = [index + 0.1 for index in range(since + 1, waits)]
        places = [
            (x, bar.middle, "start", 0.0, 4.0) for x in lefts if not sheet.framed(x, x + wide)
        ]
        yield Label(text, places, 11, chip=True, apart=0)
    elif block.role is Role.FEATURE_MAP and block.death < at and sheet.forward(block.death):
        places = [(block.death + 1, bar.middle, "start", 8.0, 4.0)]
        yield Label(text_of("freed"), places, 11, dim=True, chip=True)


# -- the piles ------------------------------------------------------------------------------------


def _piles(sheet: Sheet) -> Iterator[Mark]:
    """Yield marks for the piles of all bytes alive in each operation, the oldest at the top, and
    their previous height."""
    looks: dict[tuple[Paint, bool], list[Place]] = {}
    for at in range(sheet.count):
        high = sheet.now.operations[at].nbytes
        for block in sheet.now.alive(at):
            brick = (at + 0.06, at + 0.94, sheet.level(high), sheet.level(high - block.nbytes))
            looks.setdefault((_paint(block), sheet.faint(block)), []).append(brick)
            high -= block.nbytes
    for (paint, faint), places in looks.items():
        bricks = Rects(places, paint)
        yield Faint([bricks]) if faint else bricks
    for at, op in enumerate(sheet.now.operations):
        if op.nbytes > sheet.room[0]:
            yield OpenEdge(at + 0.06, at + 0.94, at=sheet.peak)
    yield Rule(y=sheet.ground, look="rule", span=(0, sheet.count))
    yield Rule(y=sheet.peak, look="rule", span=(-16 / sheet.column, sheet.count))
    yield ChartText(0, sheet.peak, text_of("peak"), 12, "end", dx=-22, dy=4, bold=True)
    for at, op in enumerate(sheet.held.operations if sheet.held else ()):
        if op.nbytes != sheet.now.operations[at].nbytes:
            level = sheet.level(op.nbytes)
            yield Rule(y=level, span=(at + 0.03, at + 0.97), look="before", crossed=True)
    room = sheet.gutter + START - 24
    lines = texts.wrap(text_of("pile"), room, 11) if room > 80 else []
    beside, tall = max((sheet.peak + sheet.ground) / 2, sheet.peak + 20), 14 * (len(lines) - 1)
    if beside + tall > sheet.ground + 18:  # a low pile: above its peak
        beside = sheet.peak - 20 - tall
    for index, line in enumerate(lines):
        yield ChartText(0, beside, line, 11, "end", dx=-22, dy=14 * index)


def _frame(sheet: Sheet) -> Iterator[Mark]:
    """Yield marks for the frame around the operation with its sum or, with all numbers, the sums of
    all operations."""
    at, ground = sheet.at, sheet.ground
    largest = units.exact(max(op.nbytes for op in sheet.now.operations))
    spelled = sheet.column > max(50, texts.width(largest, 14, bold=True))
    yield Rect(at, at + 1, 0, ground + 20, "limit", radius=4)
    for index, op in enumerate(sheet.now.operations):
        if index == at or sheet.numbers:
            size = _sum(op.nbytes, spelled, sheet.numbers)
            yield ChartText(index + 0.5, ground, size, 14 if index == at else 12, "middle", dy=15,
                       bold=index == at)  # fmt: skip


def _sum(nbytes: int, spelled: bool, numbers: bool) -> str:
    """Return the bytes of a pile: to the byte where the unit has space too, else with three digits,
    and with all numbers without the unit."""
    if spelled:
        return units.exact(nbytes)
    return f"{nbytes:,}" if numbers else three_digits(nbytes)
