"""The address map as charts: every block at its address, and above it the bytes that are alive.

Operations go from left to right, addresses upwards, and every block is a rectangle as tall as its
true bytes. Below address 0 stands, on the same scale, what was allocated before the step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain

import numpy as np

from memlab import strings
from memlab.pictures.addresses.packing import Packing, Placed, short_bytes, text_of
from memlab.pictures.draw import marks as draw
from memlab.pictures.draw import text as texts
from memlab.pictures.draw.chart import Axis, Chart
from memlab.pictures.draw.labels import ChartText, Label, PhaseBracket
from memlab.pictures.draw.marks import (
    Area,
    Fact,
    Glyph,
    Group,
    Lift,
    Mark,
    Pen,
    Press,
    Rect,
    Rects,
    Rule,
)
from memlab.pictures.draw.scale import Scale, operations
from memlab.pictures.draw.text import Runs
from memlab.pictures.draw.theme import FREE, PAINTS, Paint
from memlab.pictures.live.setting import State
from memlab.pictures.values.number_text import in_binary
from memlab.placement.placement import BY_HAND, Placement
from memlab.step.tensor import Role

Place = tuple[float, float, float, float]
"""Rectangle: first operation, the one after the last, first address, the one after the last."""

KEPT = PAINTS[Role.FEATURE_MAP]
SHORT, SMALL = Paint(KEPT.colour, 0.10, "dots"), Paint("#8c8c8c", 1)
BAR = 4
"""Pixels of the bar at the left edge of a kept feature map."""
LEFT, RIGHT, TALL, STRIP = 72, 6, 221, 40
"""Pixels left and right of a map, its height, and the height of the live bytes above it."""


def block_paint(kind: str) -> Paint:
    """Return the fill of a kind of block: ``"kept"``, ``"short"``, ``"small"`` or the name of a
    role."""
    return {"kept": KEPT, "short": SHORT, "small": SMALL}.get(kind) or PAINTS[Role(kind)]


# -- the state on display -------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class MapMoment:
    """One map or two, and the settings of the view in ``now``."""

    now: State
    maps: tuple[Packing, ...]

    @property
    def packing(self) -> Packing:
        """The first map."""
        return self.maps[0]

    @property
    def count(self) -> int:
        """Number of its blocks that are placed already."""
        return len(self.packing.blocks) if self.now.packed is None else int(self.now.packed)

    @property
    def at(self) -> int:
        """Index of the operation at the cursor, from 0; without a cursor, of the busiest one."""
        cursor = self.now.cursor
        return self.packing.placement.busiest if cursor is None else int(cursor) - 1

    @property
    def focus(self) -> Placed | None:
        """The chosen block, or None."""
        return self.packing.by_name.get(self.now.chosen)


@lru_cache(maxsize=8)
def block_facts(packing: Packing) -> dict[str, Fact]:
    """Return the facts of the blocks that are drawn one by one, by name."""
    return {placed.name: _fact(packing, placed) for placed in packing.large}


def _fact(packing: Packing, placed: Placed) -> Fact:
    """Return the fact of a block: name, formula, bytes, maker and last reader; kind, life and
    addresses."""
    entry, ledger, more = placed.entry, packing.subject.ledger, "; ".join(packing.about(placed))
    if entry is None or ledger is None:
        return Fact(placed.name, nbytes=placed.block.nbytes, more=more)
    maker, reader = ledger.made_by(entry), ledger.needed_by(entry)
    return Fact(placed.name, entry.formula(), placed.block.nbytes, maker, reader, more)


# -- marks of this map ----------------------------------------------------------------------------


def block_marks(
    places: Sequence[tuple[str, Place]], inset: float = 0, edge: float = 0.8
) -> Iterator[Mark]:
    """Yield the rectangles of blocks, one mark for each kind, on the page's colour. Kept feature
    maps get a bar at their left edge.

    Args:
        places: kind and rectangle of each block, in operations and bytes.
        inset: pixels that are kept free on each side.
        edge: width of the edge in pixels.
    """
    yield Rects([place for kind, place in places if kind != "small"], "page", inset)
    for kind in dict.fromkeys(kind for kind, _ in places):
        here = [place for other, place in places if other == kind]
        yield Rects(here, block_paint(kind), inset, 0 if kind == "small" else edge)
        if kind == "kept":
            yield Rects(here, Paint(KEPT.colour, 1), inset, 0, BAR)


@dataclass(frozen=True, eq=False)
class MovingMarks(Group):
    """Marks that slide from the address ``before`` to the address ``now``, ``after`` so many
    seconds. Where the reader wants less motion they stand there at once."""

    before: float
    now: float
    after: float

    def draw(self, pen: Pen) -> None:
        away = pen.y(self.before) - pen.y(self.now)
        style = f"--from:{away:.1f}px;animation-delay:{self.after:.1f}s"
        with pen.svg.group(class_="slides" if away else None, style=style if away else None):
            for mark in self.marks:
                mark.draw(pen)


# -- one map --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class AddressChart:
    """The charts of one map, with a frame ``wide`` pixels wide.

    ``before`` is the top of the arena in the previous state, ``slid`` the placement from which
    blocks slide to their addresses. In a ``live`` picture blocks say their facts and take the
    pointer.
    """

    moment: MapMoment
    packing: Packing
    wide: float
    before: int | None = None
    slid: Placement | None = None
    live: bool = False

    @property
    def toy(self) -> bool:
        """True for the six made-up tensors, which show their letters and bytes."""
        return self.packing.subject.toy

    @property
    def last(self) -> int:
        """Number of operations."""
        return self.packing.subject.operations

    @cached_property
    def scale(self) -> Scale:
        """Scale of the addresses.

        For the toy it has room for all blocks on top of each other. Else it reaches from below
        address 0, where the bytes from before the step stand, to the top of this arena and of the
        previous one.
        """
        packing = self.packing
        if self.toy:
            return Scale(0, packing.placement.total)
        high = max(packing.placement.arena, self.before or 0)
        return Scale(-packing.subject.before(packing.batch), high)

    @property
    def chosen(self) -> bool:
        """True for the first map, which the cursor and the texts are about; False for a second one
        beside it."""
        return self.packing is self.moment.packing

    @property
    def done(self) -> bool:
        """True if all blocks are placed."""
        return self.moment.count >= len(self.packing.blocks)

    @cached_property
    def placed(self) -> list[Placed]:
        """The blocks that are placed already."""
        return [placed for placed in self.packing.blocks if placed.turn <= self.moment.count]

    @cached_property
    def large_placed(self) -> list[Placed]:
        """The blocks that are placed already and are large enough to be drawn one by one."""
        return [placed for placed in self.packing.large if placed.turn <= self.moment.count]

    @cached_property
    def faulty(self) -> set[str]:
        """Names of the blocks that overlap another one."""
        return {placed.name for fault in self.packing.overlaps for placed in fault[:2]}

    @cached_property
    def top(self) -> int:
        """First address above all blocks that are placed already."""
        return max((placed.top for placed in self.placed), default=0)

    def size(self, place: Place) -> tuple[float, float]:
        """Return width and height in pixels of a rectangle of operations and addresses."""
        x0, x1, y0, y1 = place
        tall = TALL * (self.scale.at(y1) - self.scale.at(y0))
        return self.wide * (x1 - x0) / self.last, tall

    # -- the bytes that are alive -------------------------------------------------------------

    def strip(self) -> Chart:
        """Return the chart of the bytes alive in every operation; the free bytes of the arena are
        shaded."""
        packing, arena = self.packing, self.packing.placement.arena
        alive, named = np.array(packing.live_bytes, np.float64), bool(packing.subject.phases)
        scale = Scale(0, max(self.scale.last, arena))
        marks = [
            *(PhaseBracket(strings.get(f"phase.{phase}"), first, last + 1, -34)
              for phase, first, last in packing.subject.phases),
            Area(np.zeros_like(alive), alive, KEPT, 0.6),
            Area(alive, np.maximum(alive, arena), FREE, 0),
            Rule(y=arena, look="limit"),
            Rule(y=0, look="rule", opacity=0.6),
            ChartText(0, 0, text_of("alive_in"), 11, "end", dx=-8, dy=-2, dim=True),
            *self._flag(scale.last),
            Press("at", self.last),
        ]  # fmt: skip
        before = [Rule(y=self.before)] if self.before else ()
        sentence = text_of("at_operation", index=f"{self.moment.at + 1:,}", said=self._flag_text)
        return Chart(operations(self.last), scale, marks, STRIP, left=LEFT, right=RIGHT,
                     above=46 if named else 22, previous=before,
                     told=[sentence])  # fmt: skip

    def _flag(self, top: float) -> Iterator[Mark]:
        """Yield the marks at the cursor, or at the busiest operation: a line and the bytes alive
        there."""
        x, left = self.moment.at + 0.5, 2 * self.moment.at < self.last
        anchor, away = ("start", 7) if left else ("end", -7)
        room = max(x, self.last - x) - 12 * self.last / self.wide
        yield Rule(x=x, look="pole", above=20)
        yield ChartText(x, top, self._flag_text, 12, anchor, away, -10, bold=True, room=room)

    @property
    def _flag_text(self) -> str:
        """Text at the cursor: the bytes alive there, and the operation if it has a name."""
        packing, nbytes = self.packing, self.packing.live_bytes[self.moment.at]
        most = self.moment.at == packing.placement.busiest
        amount = text_of("busiest") if most else text_of("alive_here", amount=short_bytes(nbytes))
        return " · ".join(filter(None, [amount, packing.subject.operation(self.moment.at)]))

    # -- blocks at their addresses ------------------------------------------------------------

    def map(self) -> Chart:
        """Return the chart of every block at its address."""
        parts = (self._ground(), self._outside(), self._blocks(), self._overlay(), self._texts(),
                 self._levels(), self._targets() if self.live else ())  # fmt: skip
        return Chart(
            operations(self.last),
            self.scale,
            list(chain.from_iterable(parts)),
            TALL,
            Axis(grid=False) if self.moment.now.numbers else None,
            left=LEFT,
            right=RIGHT,
            above=20,
            below=18 + self._lower,
            told=list(filter(None, [self._outside_text])),
            previous=[Rule(y=self.before)] if self.before else (),
        )

    @property
    def _separate_bound(self) -> tuple[int, ...]:
        """The lower bound of the arena, alone in a tuple; empty where it is the top or lies outside
        the scale."""
        bound = self.packing.placement.lower_bound
        return (bound,) if bound != self.top and bound <= self.scale.last else ()

    def _ground(self) -> Iterator[Mark]:
        """Yield the marks behind the blocks: the free bytes of the arena, the phases, the lower
        bound, and a line down to it at the busiest operation."""
        yield Rect(0, self.last, 0, self.top, FREE, edge=0)
        yield Rule(y=0, look="rule", opacity=0.5)
        for _, first, _ in self.packing.subject.phases[1:]:
            yield Rule(x=first)
        for bound in self._separate_bound:
            yield Rule(y=bound, look="rule", width=1.4, below=4, above=6)
        x, bound = self.packing.placement.busiest + 0.5, self.packing.placement.lower_bound
        yield Rule(x=x, span=(bound, self.scale.last), look="rule faint", above=20)

    def _outside(self) -> Iterator[Mark]:
        """Yield marks for the blocks from before the step, stacked below address 0, each as long as
        it is needed, and their sum in words."""
        packing, level = self.packing, self.scale.first
        for role, stop, nbytes in blocks_before_step(packing) if level < 0 else ():
            place, name = (0, stop, level, level + nbytes), strings.get(f"role.{role.value}.one")
            fact = Fact(name, nbytes=nbytes, more=text_of("outside_more"))
            yield Rect(*place, PAINTS[role], edge=0.4, fact=fact)
            level += nbytes
        yield ChartText(self.last, self.scale.first, self._outside_text, 11, "end", dy=self._foot)

    @property
    def _outside_text(self) -> str:
        """Bytes from before the step in words; empty where there are none."""
        nbytes = self.packing.subject.before(self.packing.batch)
        return text_of("outside", amount=short_bytes(nbytes)) if nbytes else ""

    @property
    def _foot(self) -> int:
        """Pixels from the frame down to the words below it."""
        return 34 if self.moment.now.numbers else 16

    @property
    def _lower(self) -> int:
        """Pixels by which the name of the operations is lower, where it has no room beside the
        words on the bytes from before the step."""
        words = texts.width(self._outside_text, 11) + texts.width(text_of("axis_x"), 11)
        return 15 if self._outside_text and words > self.wide - LEFT - RIGHT else 0

    def _blocks(self) -> Iterator[Mark]:
        """Yield marks for the blocks: small ones as one grey shape, others by kind. A cross marks
        the bytes that two blocks share while both are alive."""
        inset = float(self.toy)
        if self.slid and self.toy:
            for placed in self.large_placed:
                rectangle = block_marks([(placed.kind, _true_place(placed))], inset)
                block = [*rectangle, *self._toy_letter(placed)]
                before = self.slid.address(placed.name)
                yield MovingMarks(block, before, placed.address, after=(placed.turn - 1) * 0.2)
        else:
            large = {placed.name for placed in self.large_placed}
            small = [placed for placed in self.placed if placed.name not in large]
            places = [("small", _true_place(placed)) for placed in small]
            places += [(placed.kind, _true_place(placed)) for placed in self.large_placed]
            yield from block_marks(
                places, inset, 0.8 if self.toy else 0.4 * self.top / self.scale.last
            )
        for fault in self.packing.overlaps:
            x0, x1, y0, y1 = place = fault.first, fault.last + 1, fault.low, fault.high
            yield Rect(*place, "chip", solid=True)
            corners = (x0, y0), (x1, y1), (x1, y0), (x0, y1), (x0, y0), (x1, y0), (x1, y1), (x0, y1)
            yield draw.Line(corners, "rule", width=2.2)

    def _overlay(self) -> Iterator[Mark]:
        """Yield marks for the line of the cursor and the frame around the chosen block."""
        focus = self.moment.focus
        if self.moment.now.cursor is not None:
            yield Rule(x=self.moment.at + 0.5, look="pole", above=20, below=4)
        if self.chosen and focus in self.large_placed:
            yield Rect(*focus.place, "limit")

    def _targets(self) -> Iterator[Mark]:
        """Yield marks for the targets of the pointer: operations, and blocks, which say their
        facts."""
        low = self.scale.first
        yield Press("at", self.last, (0, self.last, low, low), below=22)
        for placed in self.large_placed:
            yield Rect(*placed.place, look="target", inset=float(self.toy),
                       solid=self.toy and placed.name not in self.faulty,
                       fact=block_facts(self.packing)[placed.name],
                       send=("choose", placed.name))  # fmt: skip
            if self.moment.now.moving:
                send = ("choose", placed.name)
                yield Lift("put", placed.name, placed.place, placed.address, send)

    # -- texts in the blocks ------------------------------------------------------------------

    def _texts(self) -> Iterator[Mark]:
        """Yield marks for the names of the blocks, and the holes that were too small for a block of
        the toy that had to go on top."""
        for placed in self.large_placed:
            if placed.name in self.faulty:
                yield self._fault_name(placed)
            elif not self.toy:
                yield from self._block_name(placed)
            elif not self.slid:
                yield from self._toy_letter(placed)
        turn = self.packing.decisive_turn(self.moment.count) if self.chosen and self.toy else None
        if turn and self.packing.placement.how != BY_HAND:
            yield from chain.from_iterable(self._hole(turn.placed, *hole) for hole in turn.refused)

    def _toy_letter(self, placed: Placed) -> Iterator[Mark]:
        """Yield marks for the letter of a block of the toy, with its bytes where there is room; a
        second map has only letters."""
        (wide, tall), nbytes = self.size(placed.place), in_binary(placed.size)
        letter: tuple[Runs, int] = [(placed.name, True)], 16 if tall >= 20 else 13
        line: Runs = [(placed.name, True), (f" {nbytes}", False)]
        lines = [letter]
        if self.chosen:
            if tall >= 36 and wide >= texts.width(nbytes, 11) + 4:
                lines = [letter, (nbytes, 11)]
            elif wide >= texts.measure(line, 13) + 2 * BAR:
                lines = [(line, 13)]
        cursor, birth, stop = self.moment.now.cursor, *placed.place[:2]
        cut = cursor is not None and birth < cursor <= stop
        yield from self._stacked(placed.place, lines, placed.kind == "short" or cut)

    def _stacked(
        self, place: Place, lines: Sequence[tuple[Runs, int]], chip: bool = False
    ) -> Iterator[Mark]:
        """Yield lines of text, each with its size in pixels, in the middle of a rectangle."""
        x, y = (place[0] + place[1]) / 2, (place[2] + place[3]) / 2
        at = -sum(size + 3 for _, size in lines) / 2
        for content, size in lines:
            yield ChartText(x, y, content, size, "middle", dy=at + 1.5 + 0.86 * size, chip=chip)
            at += size + 3

    def _block_name(self, placed: Placed) -> Iterator[Mark]:
        """Yield marks for the name of a block where there is room, and a notch where, in place, one
        tensor ends and the next one takes its bytes."""
        tenants = placed.entry.tenants if placed.entry else ()
        name = " → ".join(tenant.name for tenant in tenants) or placed.name
        (wide, tall), chip = self.size(placed.place), bool(block_paint(placed.kind).pattern)
        if tall >= 13 and texts.width(name, 11) <= wide - 2 * BAR - 4:
            yield from self._stacked(placed.place, [(name, 11)], chip)
        for tenant in tenants[1:]:
            size = min(6.0, tall / 2)
            notch = f"M-{size:.1f} 0L0 {size:.1f}L{size:.1f} 0"
            yield Glyph(tenant.first, placed.top, notch, "page", "v")

    def _hole(self, placed: Placed, low: int, high: int) -> Iterator[Mark]:
        """Yield marks for a hole that is too small for a block, and the words in it: the addresses
        ``low`` to ``high``."""
        place = (*placed.place[:2], low, high)
        yield Rect(*place, "page", 1)
        yield Rect(*place, "rule faint", 1)
        lines = text_of("hole", amount=in_binary(high - low), name=placed.name).split("|")
        wide, tall = self.size(place)
        lines = lines if tall >= 34 else [" ".join(lines)]
        if max(texts.width(line, 11) for line in lines) < wide - 6:
            yield from self._stacked(place, [(line, 11) for line in lines])

    def _fault_name(self, placed: Placed) -> Label:
        """Return the name of a block that overlaps another one, at a place that is free of other
        names."""
        size, (x0, x1, y0, y1) = (16 if self.toy else 11), placed.place
        heights = ((y0 + y1) / 2, 0.36 * size), (y1, size + 1), (y0, -4)
        sides = (x0, "start", 8), (x1, "end", -8), (x1, "start", 6), (x0, "end", -6)
        places = [(x, y, anchor, dx, dy) for y, dy in heights for x, anchor, dx in sides]
        return Label(placed.name, places, size, bold=True, chip=True, apart=0)

    # -- lines with their names ---------------------------------------------------------------

    def _levels(self) -> Iterator[Mark]:
        """Yield marks for the lines and names of the arena's top and its lower bound, and the names
        of the two axes."""
        top, last = self.top, self.scale.last
        key = "top_equal" if top == self.packing.placement.lower_bound else "top"
        yield Rule(y=top, look="limit", below=4, above=6)
        yield ChartText(0, top, short_bytes(top), 11, "end", -12, 4, bold=True)
        yield self._level_name(text_of(key if self.done else "top_now"), top, bold=True)
        for bound in self._separate_bound:
            apart = self.size((0, 0, min(bound, top), max(bound, top)))[1]
            yield self._level_name(text_of("bound"), top if apart < 16 else bound, right=apart < 16)
            if apart > 12 and len(self.moment.maps) == 1:
                yield ChartText(0, bound, short_bytes(bound), 11, "end", -12, 4)
        yield ChartText(0, self.scale.first, text_of("axis_x"), 11, dy=self._foot + self._lower,
                        dim=True)  # fmt: skip
        sides = [(0, last * part, "end", -8, 4) for part in (0.6, 0.5, 0.4, 0.7)]
        yield Label(text_of("axis_y"), sides, 11, dim=True)

    def _level_name(self, name: str, y: float, bold: bool = False, right: bool = False) -> Label:
        """Return a name above or below the line at an address, first at the left end, or with
        ``right`` at the right end; nothing where it is wider than the map."""
        free = 1 - (texts.width(name, 12, bold) + 10) / self.wide
        lefts = [self.last * free * step / 7 for step in range(8)][:: -1 if right else 1]
        places = [(x, y, "start", 6, dy) for dy in (-8, 15) for x in lefts]
        return Label(name, places if free >= 0 else [], 12, bold, chip=True, kept=True, apart=1)


def blocks_before_step(packing: Packing) -> Iterator[tuple[Role, int, int]]:
    """Yield the blocks from before the step: role, index after the last operation that needs them,
    and bytes. The blocks that are needed longest come first."""
    sums: dict[tuple[Role, int], int] = {}
    for entry in packing.subject.outside:
        key = entry.role, min(entry.death + 1, packing.subject.operations)
        sums[key] = sums.get(key, 0) + entry.size.at(packing.batch)
    yield from ((role, stop, nbytes) for (role, stop), nbytes in sums.items())


def _true_place(placed: Placed) -> Place:
    """Return the rectangle of a block's true bytes, without the rounding up to the alignment."""
    return (*placed.place[:3], placed.address + placed.block.nbytes)
