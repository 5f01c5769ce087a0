"""The address map as a chart: every block at its address, what it means, and the lines around it.

Operations go from left to right, addresses upwards, and every tensor is a rectangle. Six made-up
tensors and a network are drawn alike, but for their names and for holes that were too small.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from typing import Any

import numpy as np

from memlab import units
from memlab.planner.placement import BY_HAND, Placement
from memlab.step.tensor import Role
from memlab.studies.figures import binary_unit, in_binary, number
from memlab.studies.packed_step import ordinal, say
from memlab.studies.packing import Packing, Part, Placed
from memlab.views.draw import marks as draw
from memlab.views.draw import text as texts
from memlab.views.draw.chart import Axis, Chart
from memlab.views.draw.labels import Label, Text
from memlab.views.draw.marks import Fact, Glyph, Mark, Pen, Rect, Rects, Rule
from memlab.views.draw.scale import SKY, Linear, operations, over
from memlab.views.draw.text import Runs
from memlab.views.draw.theme import FREE, PAINTS, Paint

Place = tuple[float, float, float, float]
"""From operation to operation, from address to address."""

KEPT = PAINTS[Role.FEATURE_MAP]
SHORT, SMALL = Paint(KEPT.colour, 0.10, "dots"), Paint("#888888", 0.75)
BAR = 4
"""The bar at the left edge of what is kept, in pixels."""
TALL, TOY_TALL = 300, 260
"""Heights in pixels: of a map, of the toy's with 20 for 1 MiB."""
LEFT, RIGHT = 72, 6
"""Widths in pixels, left and right of a map."""


def paint(kind: str) -> Paint:
    """How a kind of block is filled."""
    return {"kept": KEPT, "short": SHORT, "small": SMALL}.get(kind) or PAINTS[Role(kind)]


def arrow(radius: float) -> str:
    """What is cheap to make again: three quarters of a circle that end in a point."""
    r, point = radius, radius * 0.4
    ring = f"M0{-r:.1f}A{r:.1f} {r:.1f} 0 1 0 {r:.1f} 0"
    return f"{ring}M-.3{-r - point:.1f}v{2 * point:.1f}l{1.6 * point:.1f}{-point:.1f}Z"


# -- the scale, and what is looked at -------------------------------------------------------------


@dataclass(frozen=True)
class Addresses(Linear):
    """Addresses; what lies beyond an end stands at it."""

    def at(self, value: Any) -> Any:
        found = (value - self.first) / (self.last - self.first)
        return found.clip(0, 1) if isinstance(value, np.ndarray) else min(max(found, 0.0), 1.0)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        values = range(int(self.first), int(self.last) + 1, int(self.step))
        return [(value, number(value, self.unit)) for value in values]

    def holds(self, nbytes: float | None) -> bool:
        """Whether an address stands between the ends."""
        return nbytes is not None and self.first <= nbytes <= self.last


def addresses_between(low: int, high: int) -> Addresses:
    """The round scale around some addresses, in one binary unit."""
    unit = binary_unit(high - low)
    size = units.UNITS[unit]
    end, step = (each * size for each in over(-(-(high - low) // size), SKY))
    if not low:
        return Addresses(0, end, step, unit)
    return Addresses(low // step * step, -(-high // step) * step, step, unit)


@dataclass(frozen=True, eq=False)
class Moment:
    """One map or two at one moment: ``count`` blocks lie already, the operation ``at`` is cut, one
    block is in focus; ``cursor`` and ``chosen`` say that these two were chosen. The axis of a
    network reaches ``reach`` bytes at least. Blocks may be ``moving``, and the result asked for.
    """

    maps: tuple[Packing, ...]
    count: int
    at: int
    focus: Placed | None
    cursor: bool = False
    chosen: bool = False
    guess: int | None = None
    reach: int = 0
    moving: bool = False
    scored: bool = False

    @property
    def packing(self) -> Packing:
        """The first map."""
        return self.maps[0]

    @cached_property
    def scale(self) -> Addresses:
        """The axis of the addresses; the toy's is always the same: all of its blocks on top of
        each other."""
        found = self.packing
        if found.subject.toy:
            return Addresses(0, found.total, 2 * units.UNITS["MiB"], "MiB")
        if found.stage:
            low = min(placed.address for placed in found.large)
            return addresses_between(low, max(placed.top for placed in found.large))
        return addresses_between(0, max(found.arena, self.reach, self.guess or 0))

    @cached_property
    def cut(self) -> tuple[Part, ...]:
        """What lies in memory at the cursor."""
        return self.packing.cut(self.at, self.count)


def fact(packing: Packing, placed: Placed) -> Fact:
    """Its name, formula, bytes, maker, last reader, life and address."""
    entry, ledger, where = placed.entry, packing.subject.ledger, packing.where(placed)
    if entry is None or ledger is None:
        return Fact(placed.name, nbytes=placed.size, more=f"{packing.life(placed)}; {where}")
    made, read = ledger.made_by(entry), ledger.needed_by(entry)
    return Fact(placed.name, entry.formula(), placed.block.nbytes, made, read, where)


# -- marks of this map ----------------------------------------------------------------------------


def filled(
    places: Sequence[tuple[str, Place]], inset: float = 0, edge: float = 0.8
) -> Iterator[Mark]:
    """Rectangles by kind on the page's colour; what is kept gets a bar at its left edge."""
    yield Rects([place for _, place in places], "page", inset)
    for kind in dict.fromkeys(kind for kind, _ in places):
        here = [place for found, place in places if found == kind]
        yield Rects(here, paint(kind), inset, 0 if kind == "small" else edge)
        if kind == "kept":
            yield Rects(here, Paint(KEPT.colour, 1), inset, 0, BAR)


@dataclass(frozen=True, eq=False)
class Slide(Mark):
    """Marks that are seen to come from the address ``before`` to theirs, ``now``, after so many
    seconds; where less motion is wanted they stand there at once."""

    marks: Sequence[Mark]
    before: float
    now: float
    look: str = "slides"
    after: float = 0

    def draw(self, pen: Pen) -> None:
        away = pen.y(self.before) - pen.y(self.now)
        style = f"--from:{away:.1f}px;animation-delay:{self.after:.1f}s"
        with pen.svg.group(class_=self.look if away else None, style=style if away else None):
            for mark in self.marks:
                mark.draw(pen)

    def on(self, axes: Any) -> None:
        for mark in self.marks:
            mark.on(axes)


# -- one map --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class AddressChart:
    """One map, its frame ``wide`` pixels wide.

    ``rooms`` are bytes that budgets leave, with their names. ``slid`` is the placement that blocks
    are seen to come from, ``before`` the top of the arena in the state before.
    """

    moment: Moment
    packing: Packing
    wide: float
    rooms: Sequence[tuple[int, str]] = ()
    before: int | None = None
    slid: Placement | None = None

    @property
    def toy(self) -> bool:
        """Six made-up tensors: each has its letter, its bytes and its turn."""
        return self.packing.subject.toy

    @property
    def last(self) -> int:
        """How many operations there are."""
        return self.packing.subject.operations

    @property
    def scale(self) -> Addresses:
        """The axis of both maps."""
        return self.moment.scale

    @property
    def height(self) -> int:
        """Of the map, in pixels."""
        return TOY_TALL if self.toy else TALL

    @property
    def first(self) -> bool:
        """Whether it is the one that is chosen and told, and not the one beside it."""
        return self.packing is self.moment.packing

    @property
    def done(self) -> bool:
        """Whether all blocks lie."""
        return self.moment.count >= len(self.packing.blocks)

    @cached_property
    def shown(self) -> list[Placed]:
        """The blocks for themselves that lie already."""
        return [each for each in self.packing.large if each.turn <= self.moment.count]

    @cached_property
    def top(self) -> int:
        """The top of the blocks that lie already."""
        lie = (each.top for each in self.packing.blocks if each.turn <= self.moment.count)
        return max(lie, default=0)

    def size(self, place: Place) -> tuple[float, float]:
        """How wide and how tall a place is, in pixels."""
        x0, x1, y0, y1 = place
        tall = self.height * (self.scale.at(y1) - self.scale.at(y0))
        return self.wide * (x1 - x0) / self.last, tall

    # -- blocks at their addresses ------------------------------------------------------------

    def map(self) -> Chart:
        """Every block at its address, from the free space up to the names."""
        ticks = [(value, name) for value, name in self.scale.ticks if self._clear(value)]
        parts = (self._ground(), self._blocks(), self._over(), self._texts(), self._levels(),
                 self._targets())  # fmt: skip
        return Chart(
            operations(self.last),
            self.scale,
            list(chain.from_iterable(parts)),
            self.height,
            Axis(note=say("axis_x"), grid=False),
            Axis(note=say("axis_y", unit=self.scale.unit), ticks=ticks),
            left=LEFT,
            right=RIGHT,
            previous=[Rule(y=self.before)] if self.before else (),
        )

    def _clear(self, tick: float) -> bool:
        """Whether the number of a tick is far enough from those of the top and of the guess."""
        marked = [each for each in (self.top, self.moment.guess) if each is not None]
        away = [self.size((0, 0, min(tick, each), max(tick, each)))[1] for each in marked]
        return tick == self.top or min(away) > 11

    def _ground(self) -> Iterator[Mark]:
        """What the arena holds where no block is, the phases, the busiest operation down to the
        lower bound."""
        x, span = self.packing.busiest + 0.5, (self.packing.bound, self.scale.last)
        yield Rect(
            0,
            self.last,
            self.scale.first,
            max(self.top, self.scale.first),
            FREE,
            edge=0,
        )
        yield Rule(x=x, span=span, look="rule thin", above=26)
        for _, first, _ in self.packing.subject.phases[1:]:
            yield Rule(x=first)
        if self.packing.bound != self.top and self.scale.holds(self.packing.bound):
            yield Rule(y=self.packing.bound, look="rule", width=1.8, dashes="7 4", below=4, above=6)

    def _blocks(self) -> Iterator[Mark]:
        """The small ones as one grey shape, each where it is; the others by kind. Where blocks
        share bytes while both are alive, crossed lines."""
        inset, edge = float(self.toy), 0.8 if self.top * 2 > self.scale.last else 0.25
        if self.slid and self.toy:
            for each in self.shown:
                block = [*filled([(each.kind, each.place)], inset), *self._letters(each)]
                before = self.slid.address(each.name)
                yield Slide(block, before, each.address, after=(each.turn - 1) * 0.2)
        else:
            small = [each for each in self.packing.small if each.turn <= self.moment.count]
            places: list[tuple[str, Place]] = [("small", each.place) for each in small]
            yield from filled([*places, *((p.kind, p.place) for p in self.shown)], inset, edge)
        for fault in self.packing.overlaps:
            x0, x1, y0, y1 = place = fault.first, fault.last + 1, fault.low, fault.high
            yield Rect(*place, "chip", solid=True)
            corners = (x0, y0), (x1, y1), (x1, y0), (x0, y1), (x0, y0), (x1, y0), (x1, y1), (x0, y1)
            yield draw.Line(corners, "rule", width=2.2)

    def _over(self) -> Iterator[Mark]:
        """The cursor, and a frame around the block in focus."""
        at, focus = self.moment.at + 0.5, self.moment.focus
        if self.moment.cursor:
            yield Rule(x=at, look="pole", above=8, below=4)
            yield Glyph(at, self.scale.last, "M-5-14h10l-5 7Z")
        if self.first and focus and focus in self.shown and (self.moment.chosen or not self.toy):
            x0, x1, y0, y1 = focus.place
            corners = (x0, y0), (x1, y0), (x1, y1), (x0, y1), (x0, y0), (x1, y0)
            yield draw.Line(corners, "rule", width=2.6)

    def _targets(self) -> Iterator[Mark]:
        """Where a pointer chooses an operation, or a block, which says its facts."""
        low = self.scale.first
        yield draw.Press("at", self.last, (0, self.last, low, low), below=22)
        for each in self.shown:
            yield Rect(*each.place, look="target", inset=float(self.toy), solid=self.toy,
                       fact=fact(self.packing, each), send=("choose", each.name))  # fmt: skip

    # -- what stands in the blocks ------------------------------------------------------------

    def _texts(self) -> Iterator[Mark]:
        """Names of the blocks that overlap no other one; holes that were too small for the block
        that had to go on top."""
        faulty = {each.name for fault in self.packing.overlaps for each in (fault.one, fault.other)}
        for each in self.shown:
            if each.name in faulty:
                yield self._beside(each)
            elif not self.toy:
                yield from self._names(each)
            elif not self.slid:
                yield from self._letters(each)
        told = self.packing.told(self.moment.count) if self.first and self.toy else None
        if told and self.packing.placement.how != BY_HAND:
            yield from chain.from_iterable(self._hole(told.placed, *hole) for hole in told.refused)

    def _letters(self, placed: Placed) -> Iterator[Mark]:
        """The toy's letter with its bytes and its turn, as far as there is room."""
        (wide, tall), turn = self.size(placed.place), ordinal(placed.turn)
        nbytes, corner = in_binary(placed.size), texts.width(turn, 11)
        letter: tuple[Runs, int] = [(placed.name, True)], 16
        line: Runs = [(placed.name, True), (f" {nbytes}", False)]
        cornered = wide >= 60 and (tall >= 36 or wide > texts.measure(line, 13) + 2 * corner + 20)
        lines = [letter]
        if tall >= 36 and wide >= texts.width(nbytes, 11) + 4:
            above = not cornered and tall >= 50 and wide > corner + 4
            lines = [*([(turn, 11)] if above else []), letter, (nbytes, 11)]
        elif wide >= texts.measure(line, 13) + 2 * BAR:
            lines = [(line, 13)]
        cut = self.moment.cursor and placed.block.birth <= self.moment.at <= placed.block.death
        chip = placed.kind == "short" or cut
        yield from self._stacked(placed.place, lines, chip)
        if cornered:
            yield Text(placed.place[1], placed.top, turn, 11, "end", -6, 14, dim=True, chip=chip)

    def _stacked(
        self, place: Place, lines: Sequence[tuple[Runs, int]], chip: bool = False
    ) -> Iterator[Mark]:
        """Lines of text in the middle of a place."""
        x, y = (place[0] + place[1]) / 2, (place[2] + place[3]) / 2
        at = -sum(size + 3 for _, size in lines) / 2
        for content, size in lines:
            yield Text(x, y, content, size, "middle", dy=at + 1.5 + 0.86 * size, chip=chip)
            at += size + 3

    def _names(self, placed: Placed) -> Iterator[Mark]:
        """Every name where its tensor is, or in a row: in place, two lie in one rectangle; a notch
        is where one ends and the next takes its place."""
        x0, x1, y0, y1 = whole = placed.place
        wide, tall = self.size(whole)
        names = [tenant.name for tenant in placed.tenants] or [placed.name]
        edges = [x0, *(tenant.first for tenant in placed.tenants[1:]), x1]
        parts: list[Place] = [(low, high, y0, y1) for low, high in pairwise(edges)]
        cheap = placed.name in self.packing.subject.cheap and tall >= 2.2 and wide >= 21
        margin = 2 * (BAR + 17) if cheap else 0
        apart = all(self._fits(*pair) for pair in zip(names, parts, strict=True))
        if not apart and self._fits(" → ".join(names), whole, margin):
            names, parts = [" → ".join(names)], [whole]
        for name, part in zip(names, parts, strict=True):
            if self._fits(name, part, margin):
                yield from self._stacked(part, [(name, 11)], bool(paint(placed.kind).pattern))
        if cheap:
            radius = min(4.5, tall / 2 - 1.2)
            look = (
                (arrow(radius), BAR + 4 + radius, 1.3)
                if radius >= 2
                else ("M0 0h2m2 0h2m2 0h2", BAR + 3, 1.6)
            )
            yield Glyph(x0, (y0 + y1) / 2, look[0], "rule", "o", look[1], width=look[2])
        for tenant in placed.tenants[1:]:
            size = min(6.0, tall / 2)
            notch = f"M{-size:.1f} 0L0 {size:.1f}L{size:.1f} 0"
            yield Glyph(tenant.first, y1, notch, "page", "v")
            if tall > 12:
                yield Rule(x=tenant.first, span=(y0, y1), look="rule thin")

    def _fits(self, name: str, place: Place, margin: float = 0) -> bool:
        """Whether a place is large enough for a name."""
        wide, tall = self.size(place)
        return tall >= 13 and texts.width(name, 11) <= wide - 2 * BAR - 4 - margin

    def _hole(self, placed: Placed, low: int, high: int) -> Iterator[Mark]:
        """How much is free there, and how much was needed: in two lines, or in one."""
        place = (*placed.place[:2], low, high)
        yield Rect(*place, "page", 1)
        yield Rect(*place, "rule thin", 1)
        free = say("hole", amount=in_binary(high - low))
        needs = say("hole_needs", name=placed.name, amount=in_binary(placed.size))
        wide, tall = self.size(place)
        lines = [free, needs] if tall >= 34 else [f"{free}, {needs}"]
        if max(texts.width(line, 11) for line in lines) < wide - 6:
            yield from self._stacked(place, [(line, 11) for line in lines])

    def _beside(self, placed: Placed) -> Label:
        """The name of a block that overlaps another, where no other name is."""
        size, (x0, x1, y0, y1) = (16 if self.toy else 11), placed.place
        heights = ((y0 + y1) / 2, 0.36 * size), (y1, size + 1), (y0, -4)
        sides = (x0, "start", 8), (x1, "end", -8), (x1, "start", 6), (x0, "end", -6)
        places = [(x, y, anchor, dx, dy) for y, dy in heights for x, anchor, dx in sides]
        return Label(placed.name, places, size, bold=True, chip=True)

    # -- lines with their names ---------------------------------------------------------------

    def _levels(self) -> Iterator[Mark]:
        """The top of the arena, the lower bound, budgets, the guess; the busiest operation."""
        scale, bound, top, guess = (
            self.scale,
            self.packing.bound,
            self.top,
            self.moment.guess,
        )
        said = self.packing.equation
        if not self.done or self.packing.waste < 0:
            said = {"arena": number(top, scale.unit), "bound": number(bound, scale.unit)}
        if scale.holds(top):
            key = "top_equal" if top == bound and self.done else "top" if self.done else "top_now"
            yield self._closed()
            yield self._at(say(key, amount=f"{said['arena']} {scale.unit}"), top, bold=True)
        if bound != top and scale.holds(bound):
            near = self.size((0, 0, min(bound, top), max(bound, top)))[1] < 16
            name = say("bound", amount=f"{said['bound']} {scale.unit}")
            yield self._at(name, top if near else bound, right=near)
        for nbytes, name in self.rooms:
            if scale.holds(nbytes):
                yield Rule(y=nbytes, look="rule", width=1.8, dashes="2 3")
                yield self._at(name, nbytes, right=True)
        if above := ", ".join(name for nbytes, name in self.rooms if nbytes > scale.last):
            places = [(self.last, scale.last, "end", 0, -14)]
            yield Label(say("above", names=above), places, 11, dim=True)
        if guess is not None and guess >= scale.first:
            places = [(0, guess, "end", -13, down) for down in (4, 16, -8, 22, -14)]
            yield Rule(y=guess, look="rule", width=1.4, dashes="1.5 4")
            yield Glyph(0, guess, "M-10-5.5V5.5L0 0Z", "hollow rule", ">", width=1.5)
            yield Label(say("guess"), places, 11, bold=True, apart=0.5)
        if self.toy:
            name, at = say("busiest", index=self.packing.busiest + 1), self.packing.busiest + 0.5
            sides = [(at, scale.last, "start", 6, -10), (at, scale.last, "end", -6, -10)]
            yield Label(name, sides, 11, apart=0.5)

    def _closed(self) -> Mark:
        """The thick line that closes the arena, with its number where no tick has it."""
        top, marks = self.top, list[Mark]([Rule(y=self.top, look="limit", below=4, above=6)])
        if top % int(self.scale.step):
            name = number(top, self.scale.unit)
            marks.append(Text(0, top, name, 11, "end", -12, 4, bold=True))
        return Slide(marks, self.slid.arena if self.slid and not self.toy else top, top, "glides")

    def _at(self, name: str, y: float, bold: bool = False, right: bool = False) -> Label:
        """A name at a line: above or below it, at the left, at the right, in between; none where it
        is wider than the map."""
        free = 1 - (texts.width(name, 12, bold) + 10) / self.wide
        lefts = [self.last * free * step / 7 for step in range(8)][:: -1 if right else 1]
        places = [(x, y, "start", 6, dy) for dy in (-8, 15) for x in lefts]
        return Label(name, places if free >= 0 else [], 12, bold, chip=True, kept=True, apart=1)
