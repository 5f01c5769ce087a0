"""The address map as charts: every block at its address, and above it the bytes that are alive.

Operations go from left to right, addresses upwards, and every tensor is a rectangle as tall as its
true bytes. Below address 0 lies what is there before the step, on the same scale.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain

import numpy as np

from memlab import strings
from memlab.pictures.addresses.packing import Packing, Placed, shortly, text_of
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
"""From operation to operation, from address to address."""

KEPT = PAINTS[Role.FEATURE_MAP]
SHORT, SMALL = Paint(KEPT.colour, 0.10, "dots"), Paint("#8c8c8c", 1)
BAR = 4
"""The bar at the left edge of what is kept, in pixels."""
LEFT, RIGHT, TALL, STRIP = 72, 6, 221, 40
"""Pixels left and right of a map, how high it is, and the live bytes above it."""


def paint(kind: str) -> Paint:
    """Fill of a kind of block."""
    return {"kept": KEPT, "short": SHORT, "small": SMALL}.get(kind) or PAINTS[Role(kind)]


# -- what is looked at ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class MapMoment:
    """One map or two, and what is chosen ``now``."""

    now: State
    maps: tuple[Packing, ...]

    @property
    def packing(self) -> Packing:
        """The first map."""
        return self.maps[0]

    @property
    def count(self) -> int:
        """Number of its blocks that lie already."""
        return len(self.packing.blocks) if self.now.packed is None else int(self.now.packed)

    @property
    def at(self) -> int:
        """The operation at the cursor, counted from 0; the busiest one where none is chosen."""
        cursor = self.now.cursor
        return self.packing.placement.busiest if cursor is None else int(cursor) - 1

    @property
    def focus(self) -> Placed | None:
        """The block that is chosen."""
        return self.packing.by_name.get(self.now.chosen)


@lru_cache(maxsize=8)
def facts(found: Packing) -> dict[str, Fact]:
    """Facts of the blocks that stand for themselves, by name."""
    return {placed.name: _fact(found, placed) for placed in found.large}


def _fact(found: Packing, placed: Placed) -> Fact:
    """Its name, formula, bytes, maker and last reader; its kind, life and addresses."""
    entry, ledger, more = placed.entry, found.subject.ledger, "; ".join(found.about(placed))
    if entry is None or ledger is None:
        return Fact(placed.name, nbytes=placed.block.nbytes, more=more)
    made, read = ledger.made_by(entry), ledger.needed_by(entry)
    return Fact(placed.name, entry.formula(), placed.block.nbytes, made, read, more)


# -- marks of this map ----------------------------------------------------------------------------


def filled(
    places: Sequence[tuple[str, Place]], inset: float = 0, edge: float = 0.8
) -> Iterator[Mark]:
    """Rectangles by kind on the page's colour; what is kept gets a bar at its left edge."""
    yield Rects([place for kind, place in places if kind != "small"], "page", inset)
    for kind in dict.fromkeys(kind for kind, _ in places):
        here = [place for found, place in places if found == kind]
        yield Rects(here, paint(kind), inset, 0 if kind == "small" else edge)
        if kind == "kept":
            yield Rects(here, Paint(KEPT.colour, 1), inset, 0, BAR)


@dataclass(frozen=True, eq=False)
class MovingMarks(Group):
    """Marks that are seen to come from the address ``before`` to theirs, ``now``, after so many
    seconds; where less motion is wanted they stand there at once."""

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
    """One map, its frame ``wide`` pixels wide.

    ``before`` is the top of the arena in the state before, ``slid`` the placement that blocks are
    seen to come from. In a ``live`` picture blocks say their facts and take the pointer.
    """

    moment: MapMoment
    packing: Packing
    wide: float
    before: int | None = None
    slid: Placement | None = None
    live: bool = False

    @property
    def toy(self) -> bool:
        """Six made-up tensors: each has its letter and its bytes."""
        return self.packing.subject.toy

    @property
    def last(self) -> int:
        """Number of operations."""
        return self.packing.subject.operations

    @cached_property
    def scale(self) -> Scale:
        """Of the toy, room for all blocks on top of each other; else for this arena and for the one
        before, above what is there before the step."""
        found = self.packing
        if self.toy:
            return Scale(0, found.placement.total)
        high = max(found.placement.arena, self.before or 0)
        return Scale(-found.subject.before(found.batch), high)

    @property
    def first(self) -> bool:
        """Whether it is the one that is chosen and told, and not the one beside it."""
        return self.packing is self.moment.packing

    @property
    def done(self) -> bool:
        """Whether all blocks lie."""
        return self.moment.count >= len(self.packing.blocks)

    @cached_property
    def lie(self) -> list[Placed]:
        """The blocks that lie already."""
        return [each for each in self.packing.blocks if each.turn <= self.moment.count]

    @cached_property
    def shown(self) -> list[Placed]:
        """Blocks among them that stand for themselves."""
        return [each for each in self.packing.large if each.turn <= self.moment.count]

    @cached_property
    def faulty(self) -> set[str]:
        """The names of those that overlap another one."""
        return {each.name for fault in self.packing.overlaps for each in fault[:2]}

    @cached_property
    def top(self) -> int:
        """Their top."""
        return max((each.top for each in self.lie), default=0)

    def size(self, place: Place) -> tuple[float, float]:
        """Width and height of a place, in pixels."""
        x0, x1, y0, y1 = place
        tall = TALL * (self.scale.at(y1) - self.scale.at(y0))
        return self.wide * (x1 - x0) / self.last, tall

    # -- the bytes that are alive -------------------------------------------------------------

    def strip(self) -> Chart:
        """The bytes alive inside every operation; what the arena leaves free is shaded."""
        found, arena = self.packing, self.packing.placement.arena
        alive, named = np.array(found.true, np.float64), bool(found.subject.phases)
        scale = Scale(0, max(self.scale.last, arena))
        marks = [
            *(PhaseBracket(strings.get(f"phase.{phase}"), first, last + 1, -34)
              for phase, first, last in found.subject.phases),
            Area(np.zeros_like(alive), alive, KEPT, 0.6),
            Area(alive, np.maximum(alive, arena), FREE, 0),
            Rule(y=arena, look="limit"),
            Rule(y=0, look="rule", opacity=0.6),
            ChartText(0, 0, text_of("alive_in"), 11, "end", dx=-8, dy=-2, dim=True),
            *self._flag(scale.last),
            Press("at", self.last),
        ]  # fmt: skip
        before = [Rule(y=self.before)] if self.before else ()
        told = text_of("at_operation", index=f"{self.moment.at + 1:,}", said=self._flagged)
        return Chart(operations(self.last), scale, marks, STRIP, left=LEFT, right=RIGHT,
                     above=46 if named else 22, previous=before,
                     told=[told])  # fmt: skip

    def _flag(self, top: float) -> Iterator[Mark]:
        """At the cursor, or at the busiest operation: what is alive there."""
        x, left = self.moment.at + 0.5, 2 * self.moment.at < self.last
        anchor, away = ("start", 7) if left else ("end", -7)
        room = max(x, self.last - x) - 12 * self.last / self.wide
        yield Rule(x=x, look="pole", above=20)
        yield ChartText(x, top, self._flagged, 12, anchor, away, -10, bold=True, room=room)

    @property
    def _flagged(self) -> str:
        """Bytes alive there, and the name of the operation where there is one."""
        found, nbytes = self.packing, self.packing.true[self.moment.at]
        most = self.moment.at == found.placement.busiest
        said = text_of("busiest") if most else text_of("alive_here", amount=shortly(nbytes))
        return " · ".join(filter(None, [said, found.subject.operation(self.moment.at)]))

    # -- blocks at their addresses ------------------------------------------------------------

    def map(self) -> Chart:
        """Every block at its address, from the free space up to the names."""
        parts = (self._ground(), self._outside(), self._blocks(), self._over(), self._texts(),
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
            below=18,
            told=list(filter(None, [self._beside_it])),
            previous=[Rule(y=self.before)] if self.before else (),
        )

    @property
    def _bound(self) -> tuple[int, ...]:
        """The lower bound, where it has a line of its own."""
        bound = self.packing.placement.lower_bound
        return (bound,) if bound != self.top and bound <= self.scale.last else ()

    def _ground(self) -> Iterator[Mark]:
        """What the arena holds where no block is, the phases, the lower bound, and down to it the
        busiest operation."""
        yield Rect(0, self.last, 0, self.top, FREE, edge=0)
        yield Rule(y=0, look="rule", opacity=0.5)
        for _, first, _ in self.packing.subject.phases[1:]:
            yield Rule(x=first)
        for bound in self._bound:
            yield Rule(y=bound, look="rule", width=1.4, below=4, above=6)
        x, bound = self.packing.placement.busiest + 0.5, self.packing.placement.lower_bound
        yield Rule(x=x, span=(bound, self.scale.last), look="rule faint", above=20)

    def _outside(self) -> Iterator[Mark]:
        """Blocks from before the step, below address 0, each as long as it is needed."""
        found, level = self.packing, self.scale.first
        for role, stop, nbytes in outside(found) if level < 0 else ():
            place, name = (0, stop, level, level + nbytes), strings.get(f"role.{role.value}.one")
            said = Fact(name, nbytes=nbytes, more=text_of("outside_more"))
            yield Rect(*place, PAINTS[role], edge=0.4, fact=said)
            level += nbytes
        yield ChartText(self.last, self.scale.first, self._beside_it, 11, "end", dy=self._foot)

    @property
    def _beside_it(self) -> str:
        """Bytes of those in words; empty where there are none."""
        nbytes = self.packing.subject.before(self.packing.batch)
        return text_of("outside", amount=shortly(nbytes)) if nbytes else ""

    @property
    def _foot(self) -> int:
        """From the frame down to the words below it."""
        return 34 if self.moment.now.numbers else 16

    def _blocks(self) -> Iterator[Mark]:
        """The small ones as one grey shape, each where it is; the others by kind. Where blocks
        share bytes while both are alive, crossed lines."""
        inset = float(self.toy)
        if self.slid and self.toy:
            for each in self.shown:
                block = [*filled([(each.kind, _true(each))], inset), *self._letters(each)]
                before = self.slid.address(each.name)
                yield MovingMarks(block, before, each.address, after=(each.turn - 1) * 0.2)
        else:
            large = {each.name for each in self.shown}
            small = [("small", _true(each)) for each in self.lie if each.name not in large]
            places = [*small, *((each.kind, _true(each)) for each in self.shown)]
            yield from filled(places, inset, 0.8 if self.toy else 0.4 * self.top / self.scale.last)
        for fault in self.packing.overlaps:
            x0, x1, y0, y1 = place = fault.first, fault.last + 1, fault.low, fault.high
            yield Rect(*place, "chip", solid=True)
            corners = (x0, y0), (x1, y1), (x1, y0), (x0, y1), (x0, y0), (x1, y0), (x1, y1), (x0, y1)
            yield draw.Line(corners, "rule", width=2.2)

    def _over(self) -> Iterator[Mark]:
        """The cursor, and a frame around the block in focus."""
        focus = self.moment.focus
        if self.moment.now.cursor is not None:
            yield Rule(x=self.moment.at + 0.5, look="pole", above=20, below=4)
        if self.first and focus in self.shown:
            yield Rect(*focus.place, "limit")

    def _targets(self) -> Iterator[Mark]:
        """Targets of the pointer: an operation, or a block, which says its facts."""
        low = self.scale.first
        yield Press("at", self.last, (0, self.last, low, low), below=22)
        for each in self.shown:
            yield Rect(*each.place, look="target", inset=float(self.toy),
                       solid=self.toy and each.name not in self.faulty,
                       fact=facts(self.packing)[each.name], send=("choose", each.name))  # fmt: skip
            if self.moment.now.moving:
                yield Lift("put", each.name, each.place, each.address, ("choose", each.name))

    # -- what stands in the blocks ------------------------------------------------------------

    def _texts(self) -> Iterator[Mark]:
        """Names of the blocks that overlap no other one; holes that were too small for the block
        that had to go on top."""
        for each in self.shown:
            if each.name in self.faulty:
                yield self._beside(each)
            elif not self.toy:
                yield from self._names(each)
            elif not self.slid:
                yield from self._letters(each)
        told = self.packing.told(self.moment.count) if self.first and self.toy else None
        if told and self.packing.placement.how != BY_HAND:
            yield from chain.from_iterable(self._hole(told.placed, *hole) for hole in told.refused)

    def _letters(self, placed: Placed) -> Iterator[Mark]:
        """The toy's letter, with its bytes where there is room; of two maps, in the first one."""
        (wide, tall), nbytes = self.size(placed.place), in_binary(placed.size)
        letter: tuple[Runs, int] = [(placed.name, True)], 16 if tall >= 20 else 13
        line: Runs = [(placed.name, True), (f" {nbytes}", False)]
        lines = [letter]
        if self.first:
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
        """Lines of text in the middle of a place."""
        x, y = (place[0] + place[1]) / 2, (place[2] + place[3]) / 2
        at = -sum(size + 3 for _, size in lines) / 2
        for content, size in lines:
            yield ChartText(x, y, content, size, "middle", dy=at + 1.5 + 0.86 * size, chip=chip)
            at += size + 3

    def _names(self, placed: Placed) -> Iterator[Mark]:
        """A name where its tensor is, where there is room: in place, two lie in one rectangle, and
        a notch is where one ends and the next takes its place."""
        tenants = placed.entry.tenants if placed.entry else ()
        name = " → ".join(tenant.name for tenant in tenants) or placed.name
        (wide, tall), chip = self.size(placed.place), bool(paint(placed.kind).pattern)
        if tall >= 13 and texts.width(name, 11) <= wide - 2 * BAR - 4:
            yield from self._stacked(placed.place, [(name, 11)], chip)
        for tenant in tenants[1:]:
            size = min(6.0, tall / 2)
            notch = f"M-{size:.1f} 0L0 {size:.1f}L{size:.1f} 0"
            yield Glyph(tenant.first, placed.top, notch, "page", "v")

    def _hole(self, placed: Placed, low: int, high: int) -> Iterator[Mark]:
        """Free bytes that are too few, in two lines or in one."""
        place = (*placed.place[:2], low, high)
        yield Rect(*place, "page", 1)
        yield Rect(*place, "rule faint", 1)
        lines = text_of("hole", amount=in_binary(high - low), name=placed.name).split("|")
        wide, tall = self.size(place)
        lines = lines if tall >= 34 else [" ".join(lines)]
        if max(texts.width(line, 11) for line in lines) < wide - 6:
            yield from self._stacked(place, [(line, 11) for line in lines])

    def _beside(self, placed: Placed) -> Label:
        """The name of a block that overlaps another, where no other name is."""
        size, (x0, x1, y0, y1) = (16 if self.toy else 11), placed.place
        heights = ((y0 + y1) / 2, 0.36 * size), (y1, size + 1), (y0, -4)
        sides = (x0, "start", 8), (x1, "end", -8), (x1, "start", 6), (x0, "end", -6)
        places = [(x, y, anchor, dx, dy) for y, dy in heights for x, anchor, dx in sides]
        return Label(placed.name, places, size, bold=True, chip=True, apart=0)

    # -- lines with their names ---------------------------------------------------------------

    def _levels(self) -> Iterator[Mark]:
        """The top of the arena, the lower bound; what the two directions are."""
        top, last = self.top, self.scale.last
        key = "top_equal" if top == self.packing.placement.lower_bound else "top"
        yield Rule(y=top, look="limit", below=4, above=6)
        yield ChartText(0, top, shortly(top), 11, "end", -12, 4, bold=True)
        yield self._titled(text_of(key if self.done else "top_now"), top, bold=True)
        for bound in self._bound:
            apart = self.size((0, 0, min(bound, top), max(bound, top)))[1]
            yield self._titled(text_of("bound"), top if apart < 16 else bound, right=apart < 16)
            if apart > 12 and len(self.moment.maps) == 1:
                yield ChartText(0, bound, shortly(bound), 11, "end", -12, 4)
        yield ChartText(0, self.scale.first, text_of("axis_x"), 11, dy=self._foot, dim=True)
        sides = [(0, last * part, "end", -8, 4) for part in (0.6, 0.5, 0.4, 0.7)]
        yield Label(text_of("axis_y"), sides, 11, dim=True)

    def _titled(self, name: str, y: float, bold: bool = False, right: bool = False) -> Label:
        """A name at a line: above or below it, at the left, at the right, in between; none where it
        is wider than the map."""
        free = 1 - (texts.width(name, 12, bold) + 10) / self.wide
        lefts = [self.last * free * step / 7 for step in range(8)][:: -1 if right else 1]
        places = [(x, y, "start", 6, dy) for dy in (-8, 15) for x in lefts]
        return Label(name, places if free >= 0 else [], 12, bold, chip=True, kept=True, apart=1)


def outside(found: Packing) -> Iterator[tuple[Role, int, int]]:
    """Blocks from before the step: role, the operation behind the last one that needs it, and
    bytes. What is needed longest lies lowest."""
    sums: dict[tuple[Role, int], int] = {}
    for entry in found.subject.outside:
        key = entry.role, min(entry.death + 1, found.subject.operations)
        sums[key] = sums.get(key, 0) + entry.size.at(found.batch)
    yield from ((role, stop, nbytes) for (role, stop), nbytes in sums.items())


def _true(placed: Placed) -> Place:
    """The rectangle of its true bytes; the rest up to the alignment stays free."""
    return (*placed.place[:3], placed.address + placed.block.nbytes)
