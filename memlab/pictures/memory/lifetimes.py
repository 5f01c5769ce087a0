"""The lifetimes of a small step: a bar for each block, as high as its bytes, and below each
operation the pile of all that is alive in it, to the same scale.

Blocks stand in order of birth, so that the bars go down to the right like stairs, and the thread
from an operation to what it touches crosses no name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any

from memlab import strings, units
from memlab.ledger.ledger import BEFORE
from memlab.pictures.draw import text as texts
from memlab.pictures.draw import theme
from memlab.pictures.draw.chart import Chart
from memlab.pictures.draw.labels import Label, Phase, Text
from memlab.pictures.draw.marks import (
    Fact,
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
from memlab.pictures.draw.table import Beside, Block, Key, Table, Words
from memlab.pictures.draw.theme import Paint
from memlab.pictures.memory.formula_symbols import say
from memlab.pictures.memory.lifetimes_values import Life, Lifetimes
from memlab.pictures.memory.step_memory import phases
from memlab.step.op import Phase as StepPhase
from memlab.step.tensor import Role

START, END = 34, 38
"""What is there before the step and after it, in pixels."""
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
"""What is not in focus."""
Place = tuple[float, float, float, float]


@dataclass(frozen=True)
class Row:
    """Where the bar of a block stands, in pixels: ``top`` to ``bottom``, and its ``level`` before
    where that was another one. What is now in a ``host`` was a block of its own before."""

    life: Life
    top: float
    bottom: float
    level: float | None = None
    host: Life | None = None

    @property
    def middle(self) -> float:
        """Where its words stand."""
        return (self.top + self.bottom) / 2

    @property
    def tall(self) -> float:
        """The height of the bar."""
        return self.bottom - self.top


@dataclass(frozen=True)
class Sheet:
    """All that the picture depends on, and what follows from it: operation i goes from i to i + 1
    across, and up and down everything is in pixels from the top. There is ``room`` for so many
    bytes in a pile, in all bars, and in one of them."""

    now: Lifetimes
    room: tuple[int, ...]
    before: Lifetimes | None
    at: int
    focus: Life | None
    numbers: bool
    width: float

    @property
    def count(self) -> int:
        """The number of operations."""
        return len(self.now.operations)

    @cached_property
    def gutter(self) -> float:
        """Room for the names of what is there before the step, and in the first operation."""
        first = [block for block in self.now.blocks if block.birth <= 0]
        room = (texts.measure(self.name(each)) - START * (each.birth + 1) for each in first)
        return max(room, default=0) + 12

    @cached_property
    def column(self) -> float:
        """The width of an operation in pixels."""
        return (self.width - self.gutter - START - END) / self.count

    @property
    def narrow(self) -> bool:
        """Whether an operation has little room."""
        return self.width / self.count < SPELT

    def name(self, block: Life) -> list[tuple[str, bool]]:
        """The name of a block, its role before it where there is room."""
        gradient = block.role in (Role.GRADIENT_MAP, Role.PARAMETER_GRADIENT)
        wide = self.width >= WORDED
        told = (gradient and self.narrow) or _word(block) in block.symbol.split()
        word = f"{_word(block)} " if wide and not told else ""
        return [(word, False), (texts.fitted(block.symbol, LONGEST if wide else SHORT), True)]

    @property
    def formulas(self) -> bool:
        """Whether there is a formula for each operation, and room for all of them."""
        found = [op.formula for op in self.now.operations]
        return all(0 < texts.width(each, 11) <= self.column - 4 for each in found)

    @property
    def head(self) -> float:
        """Where the bars begin."""
        return 40 if self.formulas else 25

    # -- heights --------------------------------------------------------------------------------

    @cached_property
    def held(self) -> Lifetimes | None:
        """The state before where it fits on the same scale; else its levels are not drawn."""
        was = self.before
        return was if was and self.now.alike(was) and was.most <= self.room[0] else None

    @cached_property
    def lives(self) -> list[tuple[Life, Life | None, Life | None]]:
        """All blocks in order of birth, each with itself before and with its host."""
        was = {block.name: block for block in self.held.blocks} if self.held else {}
        hosts = {each.name: b for b in self.now.blocks for each in b.followers}
        found = [(block, was.get(block.name), None) for block in self.now.blocks]
        gone = [(b, b, hosts[b.name]) for b in (self.now.gone(self.held) if self.held else ())]
        return sorted([*found, *gone], key=lambda each: each[0].birth)

    @cached_property
    def scale(self) -> float:
        """Pixels for a byte: as many as there are where all the room is taken, by bars of which as
        many as can be are as large as the largest."""
        pile, bars, largest = self.room
        room = (BELOW_FORMULAS if self.formulas else ROOM) - LINE * len(self.lives)
        large = bars / largest
        tall = min(room / pile, (room + large * (LINE - GAP)) / (pile + bars))
        return min(TALLEST / largest, max(tall, LINE / pile))

    @staticmethod
    def _sizes(found: tuple[Life, Life | None, Life | None]) -> tuple[int, int]:
        block, was, _ = found
        return block.nbytes, was.nbytes if was else 0

    def _pitches(self) -> list[float]:
        """How far it is from each bar to the next."""
        return [max(self._tall(max(self._sizes(each))) + GAP, LINE) for each in self.lives]

    @cached_property
    def rows(self) -> list[Row]:
        """The bars from the top down; each stands on its lower edge."""
        pitches = self._pitches()
        tops = accumulate(pitches, initial=self.head)
        return [self._row(*each) for each in zip(self.lives, tops, pitches, strict=False)]

    def _row(self, found: tuple[Life, Life | None, Life | None], top: float, pitch: float) -> Row:
        block, was, host = found
        tall, most = self._tall(block.nbytes), self._tall(max(self._sizes(found)))
        bottom = top + (pitch - GAP + most) / 2
        moved = was is not None and was.nbytes != block.nbytes
        level = bottom - self._tall(was.nbytes) if was and moved else None
        return Row(block, bottom - tall, bottom, level, host)

    def _tall(self, nbytes: int) -> float:
        return max(LEAST, self.scale * min(nbytes, self.room[2]))

    @property
    def peak(self) -> float:
        """The height of the line at the peak."""
        return self.level(self.now.most)

    def level(self, nbytes: int) -> float:
        """The height of a pile, as far as there is room."""
        return self.ground - self.scale * min(nbytes, self.room[0])

    @cached_property
    def ground(self) -> float:
        """What the piles stand on."""
        return self.rows[-1].bottom + GAP + 12 + self.scale * self.room[0]

    # -- lives ----------------------------------------------------------------------------------

    def ends(self, block: Life) -> tuple[float, float]:
        """From where to where its bar goes: what stays goes to the edge of the picture."""
        first = -START / self.column if block.birth == BEFORE else block.birth
        stays = block.death >= self.count
        return first, self.count + END / self.column if stays else block.death + 1

    def forward(self, at: int) -> bool:
        """Whether an operation is one of forward."""
        return self.now.operations[at].row.phase is StepPhase.FORWARD

    def framed(self, left: float, right: float) -> bool:
        """Whether something would stand in the frame."""
        return left < self.at + 1 and right > self.at

    def faint(self, block: Life) -> bool:
        """Whether another block is in focus."""
        return self.focus is not None and block.name != self.focus.name


@dataclass(frozen=True)
class Faint(Mark):
    """Marks that are not in focus."""

    marks: Sequence[Mark]

    def draw(self, pen: Pen) -> None:
        with pen.svg.group(opacity=FAINT):
            for mark in self.marks:
                mark.lower(pen)

    def takes(self, pen: Pen) -> Iterator[Any]:
        for mark in self.marks:
            yield from mark.takes(pen)

    def on(self, axes: Any) -> None:
        for mark in self.marks:
            mark.on(axes)


# -- the page -------------------------------------------------------------------------------------


def needs(now: Lifetimes) -> tuple[int, int, int]:
    """The bytes that the highest pile has, all bars, and the largest bar."""
    sizes = [block.nbytes for block in now.blocks]
    return now.most, sum(sizes), max(sizes)


def page(
    now: Lifetimes, before: Lifetimes | None = None, at: int | None = None, focus: str = "",
    numbers: bool = False, width: float = 820, room: tuple[int, ...] = (),
) -> Page:  # fmt: skip
    """The lifetimes of a step, with a frame around operation ``at``, counted from 0, or around the
    peak. A block in ``focus`` says why it stays; ``before`` is the state whose levels are dashed;
    ``numbers`` shows every byte. Piles and bars have ``room`` as ``needs`` counts, or as this step
    needs."""
    at = now.peak if at is None else at
    sheet = Sheet(
        now,
        room or tuple(map(max, needs(now), needs(before or now))),
        before,
        at,
        now.block(focus),
        numbers,
        width,
    )
    title, sentence = now.finding(before, at, sheet.focus)
    key: list[tuple[int | Paint | str, str]] = [("dot", say("writes")), ("hollow", say("reads"))]
    key += [("before", say("before"))] if sheet.held and sheet.held != now else []
    wide = sum(texts.width(name) + 38 for _, name in key)
    blocks: list[Block] = [
        Words([texts.emphasized(title)], 20),
        Beside([(Words(sentence, 13), width - wide), (Key(key), wide)], gap=2),
        chart(sheet),
        Words([*now.sentences, *_told_before(before)], drawn=False, gap=1),
        *(
            Table(cells[0], cells[1:], align, drawn=False, gap=1)
            for cells, align in (now.told, now.sums)
        ),
    ]
    return Page(now.title, blocks, width, says=now.says(at, focus))


def blocks(now: Lifetimes) -> list[str]:
    """The names of the blocks from the top down."""
    return [block.name for block in now.blocks]


def _told_before(before: Lifetimes | None) -> list[str]:
    if before is None:
        return []
    op = before.operations[before.peak]
    return [say("twin.before", title=before.title, bytes=units.exact(op.nbytes),
                index=before.peak + 1, name=op.name)]  # fmt: skip


def chart(sheet: Sheet) -> Chart:
    """Operations from left to right, their blocks, and the piles."""
    edge = sheet.ground
    marks: list[Mark] = [
        *_heads(sheet),
        *_threads(sheet),
        *(mark for row in sheet.rows for mark in _block(sheet, row)),
        *_piles(sheet),
        *_frame(sheet),
        *(mark for row in sheet.rows for mark in _words(sheet, row)),
        Press("operation", sheet.count, (0, sheet.count, 0, sheet.head), 0),
        Press("operation", sheet.count, (0, sheet.count, sheet.peak, edge), 20),
    ]
    across = Scale(-START / sheet.column, sheet.count + END / sheet.column)
    return Chart(across, Scale(edge, 0), marks, edge, left=sheet.gutter, right=0, above=24,
                 below=20, gap=4)  # fmt: skip


def _word(block: Life) -> str:
    own = f"lifetimes.word.{block.name}"
    return strings.get(own if strings.has(own) else f"lifetimes.word.{block.role.value}")


def _paint(block: Life) -> Paint:
    loss = block.role is Role.FEATURE_MAP and not block.grows
    return theme.STATISTICS if loss else theme.PAINTS[block.role]


# -- above the bars -------------------------------------------------------------------------------


def _heads(sheet: Sheet) -> Iterator[Mark]:
    """Phases, and each operation with its formula."""
    touched = set(sheet.focus.touches) if sheet.focus else set(range(sheet.count))
    for phase, first, last in phases([op.row for op in sheet.now.operations]):
        yield Phase(strings.get(f"phase.{phase}"), first, last + 1)
    for at, op in enumerate(sheet.now.operations):
        dim = at not in touched
        head = texts.shortened(op.head, sheet.column - 2, 13, True)
        yield Text(at + 0.5, 14, head, 13, "middle", bold=True, dim=dim)
        if sheet.formulas:
            yield Text(at + 0.5, 30, op.formula, 11, "middle", dim=True)
    yield Text(0, 14, say("start"), 11, "end", dx=-6, dim=True)
    yield Text(sheet.count, 14, say("end"), 11, dx=6, dim=True)


def _threads(sheet: Sheet) -> Iterator[Mark]:
    """From each operation to the last of the blocks that it touches."""
    for at in range(sheet.count):
        if sheet.focus and at not in sheet.focus.touches:
            continue
        ends = [row.middle for row in sheet.rows if not row.host and at in row.life.touches]
        if ends:
            yield Rule(at + 0.5, span=(max(ends), sheet.head - 5), look="rule faint", crossed=True)


# -- a bar ----------------------------------------------------------------------------------------


def _block(sheet: Sheet, row: Row) -> Iterator[Mark]:
    """The bar of a block with what writes and reads it, or the outline of one that is gone."""
    block, (first, stop) = row.life, sheet.ends(row.life)
    if row.host:
        yield Rect(first, stop, row.top, row.bottom, "before")
        return
    bar = [*_bar(sheet, row, first, stop), *_beads(sheet, row)]
    yield Rect(first, stop, row.top, row.bottom, "hollow", edge=0)
    yield from [Faint(bar)] if sheet.faint(block) else bar
    yield Rect(first, stop, row.middle - LINE / 2, row.middle + LINE / 2, "target",
               fact=_fact(sheet.now, block), send=("choose", f"block:{block.name}"))  # fmt: skip


def _bar(sheet: Sheet, row: Row, first: float, stop: float) -> Iterator[Mark]:
    paint = _paint(row.life)
    yield Rect(first, stop, row.top, row.bottom, paint)
    if row.life.nbytes > sheet.room[2]:
        yield OpenEdge(first, stop, at=row.top)
    if row.life.birth > BEFORE:
        strip = first + STRIP / sheet.column
        yield Rect(first, strip, row.top, row.bottom, Paint(paint.colour, 1))
    if row.level is not None:
        yield Rule(y=row.level, span=(first, stop), look="before", crossed=True)


def _beads(sheet: Sheet, row: Row) -> Iterator[Mark]:
    """Filled where it is written, hollow where it is read, in a notch where another one follows."""
    block = row.life
    for follower in block.followers:
        yield from _notch(sheet, row, follower.operation + 0.5)
    for at in block.touches:
        look = "dot" if at in block.writes else "hollow"
        yield Points([(at + 0.5, row.middle)], look, BEAD)


def _notch(sheet: Sheet, row: Row, x: float) -> Iterator[Mark]:
    half, deep = NOTCH / sheet.column, max((row.tall - BEAD) / 2, 2)
    for edge, tip in ((row.top - 0.5, row.top + deep), (row.bottom + 0.5, row.bottom - deep)):
        corners = [(x - half, edge), (x, tip), (x + half, edge)]
        yield Path(corners, "hollow")
        yield Path(corners, "rule", closed=False)


def _fact(now: Lifetimes, block: Life) -> Fact:
    stays = block.death >= len(now.operations)
    maker = "" if block.birth == BEFORE else now.operations[block.birth].name
    reader = "" if stays else now.operations[block.death].name
    name = block.symbol if block.symbol == block.name else f"{block.symbol} ({block.name})"
    return Fact(name, block.formula, block.nbytes, maker, reader)


# -- words at a bar -------------------------------------------------------------------------------


def _words(sheet: Sheet, row: Row) -> Iterator[Mark]:
    """Its name, what it waits for, and its bytes in the frame."""
    block, (first, stop) = row.life, sheet.ends(row.life)
    y, dim = row.middle, sheet.faint(block)
    if row.host:
        room = (stop - first) * sheet.column - 8
        tries = (say(key, name=row.host.symbol) for key in ("inside", "inside_narrow"))
        for inside in [each for each in tries if texts.width(each, 11) <= room][:1]:
            yield Text((first + stop) / 2, y, inside, 11, "middle", dy=4, chip=True)
        return
    yield _name(sheet, row)
    yield from _bytes(sheet, row)
    if row.tall >= WRITTEN and not dim:
        yield from _waits(sheet, row)
    if block.followers and not dim:
        then = say("then", name=block.followers[-1].symbol)
        if not sheet.framed(stop, stop + (texts.width(then) + 8) / sheet.column):
            yield Label(then, [(stop, y, "start", 8, 4)], chip=True, apart=0)


def _name(sheet: Sheet, row: Row) -> Text:
    """Its name at the left end, or at the right one where it would stand in the frame; without its
    role where there is room for no more."""
    block, (first, stop) = row.life, sheet.ends(row.life)
    y, dim, most = row.middle, sheet.faint(block), sheet.count + END / sheet.column
    for name in (sheet.name(block), sheet.name(block)[1:]):
        wide = (texts.measure(name) + 8) / sheet.column
        left = Text(first, y, name, anchor="end", dx=-8, dy=4, dim=dim)
        if not sheet.framed(first - wide, first):
            break
        if stop + wide <= most:
            return Text(stop, y, name, dx=8, dy=4, chip=True, dim=dim)
    return left


def _bytes(sheet: Sheet, row: Row) -> Iterator[Mark]:
    """Its bytes inside the operation of the frame, or with all numbers behind its first bead."""
    block = row.life
    size = f"{block.nbytes:,}" if sheet.narrow else units.exact(block.nbytes)
    framed = block.alive(sheet.at)
    at = sheet.at if framed else (block.touches or [max(block.birth, 0)])[0]
    shown = sheet.numbers or (framed and row.tall >= NUMBERED)
    if shown and texts.width(size, 12, True) + 12 <= sheet.column / 2:
        yield Text(at + 0.5, row.middle, size, 12, dx=10, dy=4, bold=framed, chip=True,
                   dim=sheet.faint(block))  # fmt: skip


def _waits(sheet: Sheet, row: Row) -> Iterator[Mark]:
    """What it waits for in the operation of the frame; or that a map is freed in forward."""
    block, at = row.life, sheet.at
    found = block.next(at)
    if found is not None:
        text = say("waits", name=sheet.now.operations[found].said)
        since = max([each for each in block.touches if each < at], default=-1)
        wide = texts.width(text, 11) / sheet.column
        lefts = [each + 0.1 for each in range(since + 1, found)]
        places = [
            (x, row.middle, "start", 0.0, 4.0) for x in lefts if not sheet.framed(x, x + wide)
        ]
        yield Label(text, places, 11, chip=True, apart=0)
    elif block.role is Role.FEATURE_MAP and block.death < at and sheet.forward(block.death):
        places = [(block.death + 1, row.middle, "start", 8.0, 4.0)]
        yield Label(say("freed"), places, 11, dim=True, chip=True)


# -- the piles ------------------------------------------------------------------------------------


def _piles(sheet: Sheet) -> Iterator[Mark]:
    """All that is alive in each operation, the oldest on top, and how high it was before."""
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
    yield Text(0, sheet.peak, say("peak"), 12, "end", dx=-22, dy=4, bold=True)
    for at, op in enumerate(sheet.held.operations if sheet.held else ()):
        if op.nbytes != sheet.now.operations[at].nbytes:
            level = sheet.level(op.nbytes)
            yield Rule(y=level, span=(at + 0.03, at + 0.97), look="before", crossed=True)
    room = sheet.gutter + START - 24
    lines = texts.wrap(say("pile"), room, 11) if room > 80 else []
    beside, tall = max((sheet.peak + sheet.ground) / 2, sheet.peak + 20), 14 * (len(lines) - 1)
    if beside + tall > sheet.ground + 18:  # a low pile: above its peak
        beside = sheet.peak - 20 - tall
    for index, line in enumerate(lines):
        yield Text(0, beside, line, 11, "end", dx=-22, dy=14 * index)


def _frame(sheet: Sheet) -> Iterator[Mark]:
    """Around the operation, with its sum; with all numbers the sum of each. Units where there is
    room for them."""
    at, ground = sheet.at, sheet.ground
    largest = units.exact(max(op.nbytes for op in sheet.now.operations))
    spelled = sheet.column > max(50, texts.width(largest, 14, bold=True))
    yield Rect(at, at + 1, 0, ground + 20, "limit", radius=4)
    for index, op in enumerate(sheet.now.operations):
        if index == at or sheet.numbers:
            size = units.exact(op.nbytes) if spelled else f"{op.nbytes:,}"
            yield Text(index + 0.5, ground, size, 14 if index == at else 12, "middle", dy=15,
                       bold=index == at)  # fmt: skip
