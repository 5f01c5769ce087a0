"""The plot of the memory view: the stack of bytes over the operations of one step.

The floor, the mountain, the state before as an outline, a flag at the peak, budgets, a guess, and
names where there is room for them; what has no room is in the table beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from memlab import strings
from memlab.pictures.draw import scale, theme
from memlab.pictures.draw import text as texts
from memlab.pictures.draw.chart import Axis, Chart
from memlab.pictures.draw.labels import (
    Label,
    Name,
    Phase,
    Text,
    flank,
    middle,
    shore,
    thickest,
)
from memlab.pictures.draw.marks import (
    Fact,
    Glyph,
    Mark,
    Pen,
    Press,
    Rect,
    Rule,
)
from memlab.pictures.draw.scale import Linear
from memlab.pictures.draw.svg import Box
from memlab.pictures.draw.text import Runs
from memlab.pictures.draw.theme import Paint, ink
from memlab.pictures.memory.counting_rules import Tally
from memlab.pictures.memory.snapshot import BlockRow, Cut, say
from memlab.pictures.memory.snapshot_diff import before
from memlab.pictures.memory.step_memory import Budget, Verdict
from memlab.pictures.mountain.layers import Curve
from memlab.pictures.mountain.picture import Limit, Mountain, Slice
from memlab.pictures.mountain.stack_parts import Part
from memlab.pictures.values import number_text as figures

HEIGHT, FIRST, RULED, LEFT = 256, 280, 188, 72
"""Of the frame, beside a table, alone on the first level, and above the bar of counting rules, and
what is free to its left."""
BANDS, FLAG = -52, -27
"""Where the phases and the flag stand above the frame."""


# -- what is shown ---------------------------------------------------------------------------------


class Axes(NamedTuple):
    """The scales of bytes: of the plot, and of the rows below it."""

    plot: Linear
    rows: Linear


@dataclass(frozen=True, eq=False)
class Shown:
    """All that a picture depends on.

    ``room`` is what the axes hold: bytes of the plot, and of the rows below it. ``old`` is what was
    shown last. ``chosen`` is the line that the keyboard is on, such as ``"slice:2"``. The first
    level has ``few`` numbers.
    """

    now: Cut
    room: tuple[int, ...]
    old: Cut | None = None
    budgets: Sequence[Budget] = ()
    rule: str = ""
    guess: int | None = None
    chosen: str = ""
    few: bool = True

    @cached_property
    def outline(self) -> Curve | None:
        """The same as a curve over the operations of now."""
        return before(self.old, self.now) if self.old else None

    @property
    def block(self) -> BlockRow | None:
        """The block that the keyboard is on."""
        kind, _, name = self.chosen.partition(":")
        blocks = self.now.blocks if kind == "block" else ()
        return next((each for each in blocks if each.name == name), None)

    @property
    def height(self) -> int:
        """Of the frame."""
        return (RULED if self.rule else FIRST) if self.few else HEIGHT

    @cached_property
    def verdicts(self) -> list[Verdict]:
        """Whether the peak fits into each budget."""
        return [self.now.judged(each) for each in self.budgets]

    @cached_property
    def tally(self) -> Tally | None:
        """The counting rules, where one is outlined."""
        network = self.now.memory.network
        return Tally(self.now, network, self.rule) if self.rule and network else None

    @cached_property
    def axes(self) -> Axes:
        """They stay while the batch changes."""
        plot, rows = self.room
        return Axes(scale.steady(scale.bytes_over(plot)), scale.bytes_over(rows, scale.TIGHT))

    @cached_property
    def mountain(self) -> Mountain:
        """The stack of now, with the curves that are dashed in it."""
        now = self.now
        counted = now.memory.ground + self.tally.curve if self.tally else None
        slices = [
            Slice(
                low, high, theme.paint(part), part.label, self.facts[part],
                14 if part.grows else 12, bool(theme.paint(part).pattern),
            )
            for part, low, high in now.layers
        ]  # fmt: skip
        return Mountain(slices, self.axes.plot.last, now.memory.ground, self.outline, counted)

    @cached_property
    def facts(self) -> dict[Part, Fact]:
        """What each slice of the stack says: its bytes inside the operation of the cursor, and its
        largest block."""
        rows = zip(self.now.memory.parts, self.now.roles, strict=True)
        return {part: slice_fact(self.now, part, row.nbytes) for part, row in rows}


def needs(now: Cut, guess: int | None = None) -> tuple[int, int]:
    """The bytes that both axes have to hold."""
    most = now.peak.nbytes
    near = guess is not None and guess <= 2 * most
    stages = [now.batch * part.highest for part in now.memory.slices(now.stage)]
    return max(most, guess or 0) if near else most, max(stages, default=0)


# -- the chart -------------------------------------------------------------------------------------


def chart(shown: Shown, right: float) -> Chart:
    """The plot with its axes, ``right`` pixels free to its right."""
    now, plot, few = shown.now, shown.axes.plot, shown.few
    below = under(shown)
    marks = [*_ground(shown), *shown.mountain.stack(), *_poles(shown),
             *shown.mountain.limits(_budgets(shown)), *_guess(shown), *_life(shown)]  # fmt: skip
    if below:
        at = now.at + 0.5
        dy = 18 if few else 32
        marks.append(Text(at, 0, below, anchor="middle", dy=dy, bold=True, held=True))
    return Chart(
        scale.operations(now.memory.operations),
        plot,
        [*marks, *_names(shown)],
        shown.height,
        Axis(note="" if below else say("axis"), grid=False, ticks=() if few else None),
        Axis(ticks=[plot.ticks[0], plot.ticks[-1]] if few else None),
        left=LEFT,
        right=right,
        above=16 - BANDS,
        below=18 if below else 0,
        previous=shown.mountain.previous,
        name=say("axis"),
    )


def under(shown: Shown) -> str:
    """What stands below the plot: the block that the keyboard is on, else the operation of the
    cursor."""
    now, block = shown.now, shown.block
    if block:
        return block.life
    return "" if now.at == now.peak.index else cursor_words(now)


def _ground(shown: Shown) -> Iterator[Mark]:
    """The phases, and where a press moves the cursor."""
    for phase, first, last in shown.now.memory.phases:
        yield Phase(strings.get(f"phase.{phase}"), first, last + 1, BANDS)
    yield Press("operation", shown.now.memory.operations, below=20)


def slice_fact(now: Cut, part: Part, nbytes: int) -> Fact:
    """What a slice of the stack says."""
    name = say("fact.slice", name=part.label, index=f"{now.at + 1:,}")
    block = now.largest.get(part)
    formula = block.formula(now.batch) if block else ""
    more = say("fact.largest", name=block.name, formula=formula) if block else ""
    return Fact(name, nbytes=nbytes, more=more)


def _poles(shown: Shown) -> Iterator[Mark]:
    """The flag at the peak, the line at the cursor, and what the operations are."""
    now, end = shown.now, shown.axes.plot.last
    peak, cursor = now.peak.index + 0.5, now.at + 0.5
    height = min(now.peak.nbytes, end)
    yield Flag(peak, height, cursor != peak, [(say("flag", name=now.peak.row.name), True)])
    yield from shown.mountain.peak(now.peak.nbytes)
    if cursor != peak:
        yield Rule(x=cursor, look="pole", above=6, below=4)


def cursor_words(now: Cut) -> str:
    """The operation of the cursor, and what is alive there."""
    row, index = now.memory.ledger.rows[now.at], f"{now.at + 1:,}"
    phase, amount = strings.get(f"phase.{row.phase}"), figures.three(now.here)
    key = "cursor_named" if row.name.startswith(phase) else "cursor"
    return say(key, index=index, phase=phase, name=row.name, amount=amount)


def _budgets(shown: Shown) -> list[Limit]:
    """The budgets, each with its name at its line."""
    return [(say("budget.here") if each.live else each.name, each.nbytes)
            for each in shown.budgets]  # fmt: skip


def _guess(shown: Shown) -> Iterator[Mark]:
    """The guess of the learner: a hollow triangle at the axis, which stays."""
    if shown.guess is None:
        return
    y = min(shown.guess, shown.axes.plot.last)
    yield Glyph(0, y, "M-8-5V5L0 0Z", "hollow rule", marker=">", width=1.5)
    places = [(0, y, "end", -11, down) for down in (4, 16, -8, 21, -13, 26)]
    yield Label(say("guess"), places, size=11, bold=True, apart=1)


def _life(shown: Shown) -> Iterator[Mark]:
    """How long that is alive: a beam over the plot."""
    if block := shown.block:
        end = shown.axes.plot.last
        first, last = max(block.first - 1, 0), block.last or shown.now.memory.operations
        solid = Paint(theme.PAINTS[block.role].colour, 1)
        yield Rect(first, last, end, end, solid, thick=4, edge=0)
        for x in (first, last):
            yield Rule(x=x, span=(end, end), look="pole", above=6, below=6)


# -- marks of its own ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Flag(Mark):
    """A flag on a pole, its words beside it, or above it where neither side has room. The pole
    ends at ``y``, or goes down to the ground."""

    x: float
    y: float
    ends: bool
    words: Runs

    def draw(self, pen: Pen) -> None:
        svg, x, y = pen.svg, pen.x(self.x), pen.box.top + FLAG
        wide, edge = texts.measure(self.words, 12), pen.box.right + 2
        right = x + 16 + wide <= edge
        beside, side = right or x - 16 - wide >= 0, 1 if right else -1
        if beside:
            place = svg.text(x + 15 * side, y, self.words, 12, "start" if right else "end")
        else:
            place = svg.text(min(max(x - wide / 2, 0), edge - wide), y, self.words, 12)
        top = y - 9 if beside else y + 4
        svg.path(f"M{x:.1f} {top:g}h{11 * side}l{-3 * side} 4.5l{3 * side} 4.5h{-11 * side}Z")
        foot = pen.y(self.y) if self.ends else pen.box.bottom + 4
        svg.line(x, top, x, foot, class_="pole")
        pen.board.taken += [place, Box(min(x, x + 11 * side), top, max(x, x + 11 * side), top + 9)]
        pen.board.take(Box(x - 1, y + 4, x + 1, pen.box.bottom))

    def on(self, axes: Any) -> None:
        axes.plot([self.x, self.x], [self.y if self.ends else 0, axes.get_ylim()[1]], color=ink())
        right = self.x > axes.get_xlim()[1] / 2
        axes.annotate(
            texts.plain(self.words), (self.x, axes.get_ylim()[1]), (0, -FLAG),
            textcoords="offset points", ha="right" if right else "left", annotation_clip=False,
        )  # fmt: skip


# -- names, where there is room --------------------------------------------------------------------


def _names(shown: Shown) -> Iterator[Mark]:
    """The most important first."""
    yield from shown.mountain.was(say("before"))
    if shown.tally:
        yield from _counted(shown.tally, shown.mountain)
    yield _floor(shown)
    yield _rising(shown)
    yield from shown.mountain.names()


def _counted(tally: Tally, mountain: Mountain) -> Iterator[Mark]:
    """How much of what is alive the rule counts, and how much it does not."""
    ground, line = tally.cut.memory.ground, mountain.dashed[-1]
    for key, low, high in (("inside", ground, line), ("outside", line, mountain.top)):
        yield Name(say(f"counted.{key}"), [middle(low, high)], bold=key == "inside",
                   finders=[thickest(low, high)])  # fmt: skip


def _floor(shown: Shown) -> Name:
    """What the thick line is: over it where the mountain has ended, else under it; or one word."""
    ground, last = shown.now.memory.ground, shown.now.memory.operations
    below = np.maximum(ground - shown.axes.plot.last * 28 / shown.height, 0)
    spot = [(0.8 * last, float(ground.max()), "middle", 0.0, -6.0)]
    high = shore(shown.mountain.sky, ground)
    word = Name(say("table.floor"), spot, bold=True, finders=[high], right=True)
    line = Name(say("floor_line"), spot, bold=True, chip=True, finders=[thickest(below, ground)],
                instead=word)  # fmt: skip
    narrow = Name(say("floor_narrow"), spot, bold=True, finders=[high], right=True, instead=line)
    return replace(narrow, content=say("floor_label"), instead=narrow)


def _rising(shown: Shown) -> Name:
    """What grows: in the sky over its left flank, else inside it."""
    now, ground = shown.now, shown.now.memory.ground
    finders = [
        flank(shown.mountain.sky, ground, now.peak.index + 0.5),
        thickest(ground, now.curve, shown.mountain.dashed),
    ]
    spot = (0.5 * now.peak.index, 0.9 * now.peak.nbytes, "end", 0.0, 0.0)
    return Name(say("mountain_label"), [spot], bold=True, finders=finders)
