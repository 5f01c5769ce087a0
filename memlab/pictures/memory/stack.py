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
    aside,
    beside,
    beyond,
    flank,
    middle,
    near,
    shore,
    thickest,
)
from memlab.pictures.draw.marks import (
    Area,
    Fact,
    Glyph,
    Mark,
    OpenEdge,
    Pen,
    Points,
    Press,
    Rect,
    Rule,
    Stairs,
)
from memlab.pictures.draw.scale import Linear
from memlab.pictures.draw.staircases import runs
from memlab.pictures.draw.svg import Box
from memlab.pictures.draw.text import Runs
from memlab.pictures.draw.theme import Paint, ink
from memlab.pictures.memory.counting_rules import Tally
from memlab.pictures.memory.snapshot import BlockRow, Cut, say
from memlab.pictures.memory.snapshot_diff import before
from memlab.pictures.memory.step_memory import Budget, Curve, Verdict
from memlab.pictures.mountain.stack_parts import Part
from memlab.pictures.values import number_text as figures

HEIGHT, FIRST, RULED, LEFT = 256, 280, 188, 72
"""Of the frame, beside a table, alone on the first level, and above the bar of counting rules, and
what is free to its left."""
BANDS, FLAG, NOTES = -52, -27, -9
"""Where the phases, the flag and notes on the axis stand above the frame."""


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
    def dashed(self) -> list[Curve]:
        """The dashed curves, which no name should cross."""
        counted = [self.now.memory.ground + self.tally.curve] if self.tally else []
        return [*([] if self.outline is None else [self.outline]), *counted]

    @cached_property
    def sky(self) -> Curve:
        """The highest curve: over it there is nothing."""
        now = self.now.curve
        return now if self.outline is None else np.maximum(now, self.outline)

    @cached_property
    def facts(self) -> dict[Part, Fact]:
        """What each slice of the stack says: its bytes inside the operation of the cursor, and its
        largest block."""
        rows = zip(self.now.memory.parts, self.now.roles, strict=True)
        return {part: slice_fact(self.now, part, row.nbytes) for part, row in rows}

    @property
    def torn(self) -> list[tuple[int, int]]:
        """The runs of operations in which the mountain goes on above the frame."""
        return runs(self.now.curve > self.axes.plot.last)


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
    marks = [*_stack(shown), *_poles(shown), *_levels(shown), *_guess(shown), *_life(shown)]
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
        previous=[] if shown.outline is None else [Stairs(shown.outline)],
        name=say("axis"),
    )


def under(shown: Shown) -> str:
    """What stands below the plot: the block that the keyboard is on, else the operation of the
    cursor."""
    now, block = shown.now, shown.block
    if block:
        return block.life
    return "" if now.at == now.peak.index else cursor_words(now)


def _stack(shown: Shown) -> Iterator[Mark]:
    """The phases, the slices of the stack, a thin line around them, the thick one over those that
    stay."""
    now = shown.now
    for phase, first, last in now.memory.phases:
        yield Phase(strings.get(f"phase.{phase}"), first, last + 1, BANDS)
    yield Press("operation", now.memory.operations, below=20)
    for part, low, high in stack(now):
        yield Area(low, high, theme.paint(part), fact=shown.facts[part])
    yield Stairs(now.curve, opacity=0.75, width=0.9)
    yield Stairs(now.memory.ground, "limit")
    yield from (OpenEdge(first, last) for first, last in shown.torn)
    if shown.tally:
        yield Stairs(shown.dashed[-1], "rule chosen")


def stack(now: Cut) -> Iterator[tuple[Part, Curve, Curve]]:
    """The parts of the stack between their two edges."""
    low = now.memory.nothing
    for part, high in now.stack:
        yield part, low, high
        low = high


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
    if shown.torn:
        yield beyond(peak, end, now.peak.nbytes)
    else:
        yield Points([(peak, height)], size=7.2)
    if cursor != peak:
        yield Rule(x=cursor, look="pole", above=6, below=4)


def cursor_words(now: Cut) -> str:
    """The operation of the cursor, and what is alive there."""
    row, index = now.memory.ledger.rows[now.at], f"{now.at + 1:,}"
    phase, amount = strings.get(f"phase.{row.phase}"), figures.three(now.here)
    key = "cursor_named" if row.name.startswith(phase) else "cursor"
    return say(key, index=index, phase=phase, name=row.name, amount=amount)


def budget_words(found: Budget) -> str:
    """The name of a budget at its line."""
    return say("budget.here") if found.live else found.name


def _levels(shown: Shown) -> Iterator[Mark]:
    """Dotted lines for the budgets on this axis, the names of those above it, and a note on it."""
    end, last = shown.axes.plot.last, shown.now.memory.operations
    for budget in (each for each in shown.budgets if each.nbytes <= end):
        yield Rule(y=budget.nbytes, look="rule", width=1.8, dashes="2 3")
        spot = (last, budget.nbytes, "end", -4, -5)
        level = beside(budget.nbytes, [shown.now.curve, *shown.dashed])
        yield Name(budget_words(budget), [spot], 11, chip=True, finders=[level])
    names = ", ".join(budget_words(each) for each in shown.budgets if each.nbytes > end)
    if names:
        yield Name(say("budget.above", names=names), [(last, end, "end", 0, NOTES)], 11, dim=True,
                   finders=[aside(shown.now.peak.index + 0.5, NOTES)])  # fmt: skip


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
    now, line = shown.now, shown.outline
    if line is not None:
        at = int(line.argmax())
        spot = at + 0.5, float(line[at])
        around = near(*spot, [now.curve, *shown.dashed])
        yield Name(say("before"), [(*spot, "end", -4, -4)], 11, chip=True, finders=[around])
    if shown.tally:
        yield from _counted(shown.tally, shown.dashed[-1])
    yield _floor(shown)
    yield _mountain(shown)
    yield from _slices(shown)


def _counted(tally: Tally, line: Curve) -> Iterator[Mark]:
    """How much of what is alive the rule counts, and how much it does not."""
    ground = tally.cut.memory.ground
    for key, low, high in (("inside", ground, line), ("outside", line, tally.cut.curve)):
        yield Name(say(f"counted.{key}"), [middle(low, high)], bold=key == "inside",
                   finders=[thickest(low, high)])  # fmt: skip


def _floor(shown: Shown) -> Name:
    """What the thick line is: over it where the mountain has ended, else under it; or one word."""
    ground, last = shown.now.memory.ground, shown.now.memory.operations
    below = np.maximum(ground - shown.axes.plot.last * 28 / shown.height, 0)
    spot = [(0.8 * last, float(ground.max()), "middle", 0.0, -6.0)]
    high = shore(shown.sky, ground)
    word = Name(say("table.floor"), spot, bold=True, finders=[high], right=True)
    line = Name(say("floor_line"), spot, bold=True, chip=True, finders=[thickest(below, ground)],
                instead=word)  # fmt: skip
    narrow = Name(say("floor_narrow"), spot, bold=True, finders=[high], right=True, instead=line)
    return replace(narrow, content=say("floor_label"), instead=narrow)


def _mountain(shown: Shown) -> Name:
    """What grows: in the sky over its left flank, else inside it."""
    now, ground = shown.now, shown.now.memory.ground
    finders = [
        flank(shown.sky, ground, now.peak.index + 0.5),
        thickest(ground, now.curve, shown.dashed),
    ]
    spot = (0.5 * now.peak.index, 0.9 * now.peak.nbytes, "end", 0.0, 0.0)
    return Name(say("mountain_label"), [spot], bold=True, finders=finders)


def _slices(shown: Shown) -> Iterator[Name]:
    """The name of each slice of the stack where it is thickest."""
    for part, low, high in stack(shown.now):
        chip = bool(theme.paint(part).pattern)
        yield Name(part.label, [middle(low, high)], 14 if part.grows else 12, chip=chip,
                   finders=[thickest(low, high, shown.dashed)])  # fmt: skip
