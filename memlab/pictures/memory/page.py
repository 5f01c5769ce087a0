"""The page of the memory view: the stack of bytes over the operations of one step, and its numbers.

The floor, the mountain, the state before as an outline, a flag at the peak, budgets, a guess, and
names where there is room for them; all numbers stand below it on request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import Any

import numpy as np

from memlab import strings, units
from memlab.pictures.draw import scale, theme
from memlab.pictures.draw import text as texts
from memlab.pictures.draw.chart import Axis, Chart
from memlab.pictures.draw.labels import (
    ChartText,
    Label,
    Name,
    PhaseBracket,
    flank,
    middle,
    shore,
    thickest,
)
from memlab.pictures.draw.marks import (
    Area,
    Fact,
    Glyph,
    Mark,
    Pen,
    Press,
    Rect,
    Rule,
    Stairs,
)
from memlab.pictures.draw.page import Page
from memlab.pictures.draw.scale import LinearScale
from memlab.pictures.draw.svg import Box
from memlab.pictures.draw.table import Below, PageBlock, Paragraphs, SideBySide, Table, Unnamed
from memlab.pictures.draw.text import Runs
from memlab.pictures.draw.theme import Paint, ink
from memlab.pictures.memory.counting_rules import CHAIN, OutputTotals, RuleRow
from memlab.pictures.memory.snapshot import (
    BlockRow,
    Snapshot,
    before,
    details,
    differences,
    just_changed,
    text_of,
)
from memlab.pictures.memory.step_memory import Budget, BudgetVerdict
from memlab.pictures.mountain.layers import Curve
from memlab.pictures.mountain.picture import DrawnLayer, Limit, Mountain, torn, waiting
from memlab.pictures.mountain.stack_parts import StackPart
from memlab.pictures.values import number_text as figures
from memlab.step.storage import HOST
from memlab.step.tensor import Role

HEIGHT, FIRST, RULED, LEFT = 256, 280, 188, 72
"""Of the frame, beside a table, alone on the first level, and above the bar of counting rules, and
what is free to its left."""
BOTH = 385
"""Height of the frame and of host memory together at most, in pixels."""
BANDS, FLAG = -52, -27
"""Where the phases and the flag stand above the frame."""
FREE_LINE = "\u00a0"
"""Line without words, which keeps the place of a sentence."""
SHORT = 24
"""Characters of a name of the outline, at most."""


# -- what is shown ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class MemoryPageInputs:
    """Everything that the memory picture depends on.

    ``room`` is what the axes hold: bytes of the plot, and of the rows below it. ``old`` is what was
    shown last. ``chosen`` is the line that the keyboard is on, such as ``"slice:2"``. The first
    level has ``few`` numbers, and a frame of ``tall`` pixels.
    """

    now: Snapshot
    room: tuple[int, ...]
    old: Snapshot | None = None
    budgets: Sequence[Budget] = ()
    rule: str = ""
    guess: int | None = None
    chosen: str = ""
    few: bool = True
    tall: int = FIRST

    @cached_property
    def outline(self) -> Curve | None:
        """Previous state as a curve over the current operations, or None."""
        return before(self.old, self.now) if self.old else None

    @property
    def block(self) -> BlockRow | None:
        """Block that the keyboard has reached."""
        kind, _, name = self.chosen.partition(":")
        blocks = self.now.blocks if kind == "block" else ()
        return next((block for block in blocks if block.name == name), None)

    @property
    def height(self) -> int:
        """Height of the frame in pixels."""
        return (RULED if self.rule else self.tall) if self.few else HEIGHT

    @cached_property
    def verdicts(self) -> list[BudgetVerdict]:
        """Verdicts of whether the peak fits into each budget."""
        return [self.now.judged(budget) for budget in self.budgets]

    @cached_property
    def tally(self) -> OutputTotals | None:
        """Counting rules with their outputs, if one is outlined."""
        network = self.now.memory.network
        return OutputTotals(self.now, network, self.rule) if self.rule and network else None

    @cached_property
    def y(self) -> LinearScale:
        """Scale of bytes, which stays while the batch changes."""
        return scale.steady(scale.bytes_over(self.room[0]))

    @cached_property
    def row(self) -> LinearScale:
        """Scale of each row below the plot."""
        return scale.bytes_over(self.room[1], scale.TIGHT)

    @cached_property
    def mountain(self) -> Mountain:
        """Current stack, with the curves that are dashed in it."""
        now = self.now
        counted = now.memory.ground + self.tally.curve if self.tally else None
        slices = [
            DrawnLayer(
                low, high, theme.paint(part), part.label, self.facts[part],
                14 if part.grows else 12, bool(theme.paint(part).pattern),
            )
            for part, low, high in now.layers
        ]  # fmt: skip
        return Mountain(slices, self.y.last, now.memory.ground, self.outline, counted)

    @cached_property
    def facts(self) -> dict[StackPart, Fact]:
        """Facts of each slice of the stack: its bytes inside the operation of the cursor, and its
        largest block."""
        rows = zip(self.now.memory.parts, self.now.roles, strict=True)
        return {part: slice_fact(self.now, part, row.nbytes) for part, row in rows}


def needs(now: Snapshot, guess: int | None = None) -> tuple[int, int]:
    """Return the bytes that both axes need."""
    most = now.peak.nbytes
    near = guess is not None and guess <= 2 * most
    stages = [now.batch * part.highest for part in now.memory.slices(now.stage)]
    return max(most, guess or 0) if near else most, max(stages, default=0)


# -- the chart -------------------------------------------------------------------------------------


def chart(shown: MemoryPageInputs, right: float) -> Chart:
    """Return the plot with its axes, and ``right`` pixels free to its right."""
    now, plot, few = shown.now, shown.y, shown.few
    below = under(shown)
    marks = [*_ground(shown), *shown.mountain.stack(), *_poles(shown),
             *shown.mountain.limits(_budgets(shown)), *_guess(shown), *_life(shown)]  # fmt: skip
    if below:
        at = now.at + 0.5
        dy = 18 if few else 32
        marks.append(ChartText(at, 0, below, anchor="middle", dy=dy, bold=True, held=True))
    return Chart(
        scale.operations(now.memory.operations),
        plot,
        [*marks, *_names(shown)],
        shown.height,
        Axis(note="" if below else text_of("axis"), grid=False, ticks=() if few else None),
        Axis(ticks=[plot.ticks[0], plot.ticks[-1]] if few else None),
        left=LEFT,
        right=right,
        above=16 - BANDS,
        below=18 if below else 0,
        previous=shown.mountain.previous,
        name=text_of("axis"),
    )


def under(shown: MemoryPageInputs) -> str:
    """Line below the plot: the block that the keyboard is on, else the operation of the cursor."""
    now, block = shown.now, shown.block
    if block:
        return block.life
    return "" if now.at == now.peak.index else cursor_words(now)


def _ground(shown: MemoryPageInputs) -> Iterator[Mark]:
    """Yield marks for the phases, and the areas where a click moves the cursor."""
    for phase, first, last in shown.now.memory.phases:
        yield PhaseBracket(strings.get(f"phase.{phase}"), first, last + 1, BANDS)
    yield Press("operation", shown.now.memory.operations, below=20)


def slice_fact(now: Snapshot, part: StackPart, nbytes: int) -> Fact:
    """Fact of a slice of the stack."""
    name = text_of("fact.slice", name=part.label, index=f"{now.at + 1:,}")
    block = now.largest.get(part)
    formula = block.formula(now.batch) if block else ""
    more = text_of("fact.largest", name=block.name, formula=formula) if block else ""
    return Fact(name, nbytes=nbytes, more=more)


def _poles(shown: MemoryPageInputs) -> Iterator[Mark]:
    """Yield marks for the flag at the peak, the line at the cursor, and the names of these
    operations."""
    now, end = shown.now, shown.y.last
    peak, cursor = now.peak.index + 0.5, now.at + 0.5
    height = min(now.peak.nbytes, end)
    yield Flag(peak, height, cursor != peak, [(text_of("flag", name=now.peak.row.name), True)])
    yield from shown.mountain.peak(now.peak.nbytes)
    if cursor != peak:
        yield Rule(x=cursor, look="pole", above=6, below=4)


def cursor_words(now: Snapshot) -> str:
    """Return the operation at the cursor, and the bytes alive in it, as a sentence."""
    row, index = now.memory.ledger.rows[now.at], f"{now.at + 1:,}"
    phase, amount = strings.get(f"phase.{row.phase}"), figures.three_digits(now.here)
    key = "cursor_named" if row.name.startswith(phase) else "cursor"
    return text_of(key, index=index, phase=phase, name=row.name, amount=amount)


def _budgets(shown: MemoryPageInputs) -> list[Limit]:
    """Return the budgets, each with its name at its line."""
    return [(text_of("budget.here") if budget.live else budget.name, budget.nbytes)
            for budget in shown.budgets]  # fmt: skip


def _guess(shown: MemoryPageInputs) -> Iterator[Mark]:
    """Yield the marks of the learner's guess: a hollow triangle at the axis of bytes, which is not
    removed when the answer is shown."""
    if shown.guess is None:
        return
    y = min(shown.guess, shown.y.last)
    yield Glyph(0, y, "M-8-5V5L0 0Z", "hollow rule", marker=">", width=1.5)
    places = [(0, y, "end", -11, down) for down in (4, 16, -8, 21, -13, 26)]
    yield Label(text_of("guess"), places, size=11, bold=True, apart=1)


def _life(shown: MemoryPageInputs) -> Iterator[Mark]:
    """Beam over the plot that shows how long the focused block is alive."""
    if block := shown.block:
        end = shown.y.last
        first, last = max(block.first - 1, 0), block.last or shown.now.memory.operations
        solid = Paint(theme.PAINTS[block.role].colour, 1)
        yield Rect(first, last, end, end, solid, thick=4, edge=0)
        for x in (first, last):
            yield Rule(x=x, span=(end, end), look="pole", above=6, below=6)


# -- marks of its own ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Flag(Mark):
    """Flag on a pole with its words beside it, or above it if neither side has space. The pole ends
    at ``y``, or reaches the bottom of the plot."""

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


def _names(shown: MemoryPageInputs) -> Iterator[Mark]:
    """Yield marks for the names, the most important first."""
    yield from shown.mountain.was(_outline_name(shown))
    if shown.tally:
        yield from _counted(shown.tally, shown.mountain)
    yield _floor(shown)
    yield _rising(shown)
    yield from shown.mountain.names()


def _outline_name(shown: MemoryPageInputs) -> str:
    """Return the name of the outline: the settings that are others now, where they are short."""
    was = differences(shown.old, shown.now)[0] if shown.old else ""
    return was if 0 < len(was) <= SHORT else text_of("before")


def _counted(tally: OutputTotals, mountain: Mountain) -> Iterator[Mark]:
    """Marks of the part of the living bytes that the rule counts, and of the part
    that it does not."""
    ground, line = tally.cut.memory.ground, mountain.dashed[-1]
    for key, low, high in (("inside", ground, line), ("outside", line, mountain.top)):
        yield Name(text_of(f"counted.{key}"), [middle(low, high)], bold=key == "inside",
                   finders=[thickest(low, high)])  # fmt: skip


def _floor(shown: MemoryPageInputs) -> Name:
    """Name of the thick line of the floor: over it where the mountain has ended, else under it; or
    one word."""
    ground, last = shown.now.memory.ground, shown.now.memory.operations
    below = np.maximum(ground - shown.y.last * 28 / shown.height, 0)
    spot = [(0.8 * last, float(ground.max()), "middle", 0.0, -6.0)]
    high = shore(shown.mountain.sky, ground)
    word = Name(text_of("table.floor"), spot, bold=True, finders=[high], right=True)
    line = Name(text_of("floor_line"), spot, bold=True, chip=True, finders=[thickest(below,
                ground)],
                instead=word)  # fmt: skip
    narrow = Name(
        text_of("floor_narrow"), spot, bold=True, finders=[high], right=True, instead=line
    )
    return replace(narrow, content=text_of("floor_label"), instead=narrow)


def _rising(shown: MemoryPageInputs) -> Name:
    """Name of the bytes that grow with the batch: in the sky over the mountain's left flank, else
    inside it."""
    now, ground = shown.now, shown.now.memory.ground
    finders = [
        flank(shown.mountain.sky, ground, now.peak.index + 0.5),
        thickest(ground, now.curve, shown.mountain.dashed),
    ]
    spot = (0.5 * now.peak.index, 0.9 * now.peak.nbytes, "end", 0.0, 0.0)
    return Name(text_of("mountain_label"), [spot], bold=True, finders=finders)


WIDE, SIDE, APART = 820, 340, 20
"""From this width on the table stands beside the plot; so wide is it, and so far from it."""
PITCH, FILLED = 30, 0.8
"""Height of a stage, and how much of it may be filled."""
KEPT = theme.PAINTS[Role.FEATURE_MAP]
FREED = Paint(KEPT.colour, 0.08, "dots")
OUTLINED = 3
"""So many counting rules are outlines at most."""


def page(shown: MemoryPageInputs, width: float) -> Page:
    """Return the whole page at a width in pixels. Below ``WIDE``, its parts are stacked. At the
    first level, tables appear only in the text."""
    few, wide = shown.few, width >= WIDE and not shown.few
    plot = chart(shown, right=2 if wide else 12)
    tables = [_table, *([_rules] if shown.tally else []), _stages, _largest]
    bar: list[PageBlock] = [_outputs(shown.tally, width)] if shown.tally else []
    host = [_host(shown, plot, SIDE + APART if wide else 0)] if shown.now.host else []
    if few:
        key = Unnamed(list(shown.mountain.key(shown.height)), gap=4)
        parts = [plot, key, *host, *bar, *(_told(table, shown) for table in tables)]
    else:
        first, *others = (table(shown) for table in tables)
        cut = SideBySide([(plot, width - SIDE - APART), (first, SIDE)], APART)
        parts = [*([cut, *host] if wide else [plot, *host, first]), *bar, *others]
    return Page(shown.now.title, [*_head(shown), *parts, _before(shown)], width)


def _host(shown: MemoryPageInputs, plot: Chart, beside: float) -> Chart:
    """Return the chart of host memory, which lies below the device's with the same scale and cursor
    and is drawn downwards: as deep as a screen has space for. ``beside`` is what stands to the
    right of the plot."""
    now = shown.now
    line = np.array(now.memory.ledger.timeline(now.batch, HOST), np.float64)
    middle, most = int(line.argmax()), int(line.max())
    end = min(most, (BOTH / shown.height - 1) * shown.y.last)
    marks: list[Mark] = [
        waiting(line),
        Rule(y=0, look="rule"),
        Rule(x=now.at + 0.5, look="rule", crossed=True),
        ChartText(middle, -end / 2, text_of("host_most", bytes=figures.three_digits(most)), 13,
             "middle",
             dy=4,
             chip=True),
        *torn(line, end, 1, "bottom"),
    ]  # fmt: skip
    tall = max(shown.height * end / shown.y.last, 20)
    return Chart(plot.x, scale.Scale(-end, 0), marks, tall, left=plot.left,
                 right=plot.right + beside, name=text_of("host_name"), gap=4)  # fmt: skip


def _told(table: Callable[[MemoryPageInputs], PageBlock], shown: MemoryPageInputs) -> Paragraphs:
    """Return a table that only the text shows, made when the text is asked for."""
    return Paragraphs(lambda: table(shown).text(), drawn=False, gap=1)


# -- the head --------------------------------------------------------------------------------------


def _head(shown: MemoryPageInputs) -> Iterator[Paragraphs]:
    """Yield the equation of the peak and the effect of the last change. At the first level, a
    budget that does not fit replaces the latter; and a low picture, of which a lesson asks what a
    change does, keeps the line free until there is one."""
    now, few, tally, old = shown.now, shown.few, shown.tally, shown.old
    refused = [verdict for verdict in shown.verdicts if few and not tally and not verdict.fits]
    tightest = min(refused, key=lambda band: band.budget.nbytes, default=None)
    verdicts = [(now.verdict(verdict), not verdict.fits) for verdict in shown.verdicts]
    yield Paragraphs([tally.headline(few) if tally else now.headline(few)], 20)
    yield Paragraphs(now.verdict(tightest) if tightest else "", 13, bold=True, told=False)
    silent = few and not tally and not old and not tightest and shown.tall < FIRST
    yield Paragraphs(news_of(shown), 13, drawn=not tightest and not silent)
    yield Paragraphs(FREE_LINE if silent else "", 13, told=False)
    yield Paragraphs(now.waiting, 13, drawn=few, told=False)
    yield Paragraphs(details(old, now) if old else "", drawn=not few)
    yield Paragraphs([verdicts], 13, drawn=not few)
    yield Paragraphs([*now.sentences, *_guess_words(shown)], drawn=not few)
    yield Paragraphs(under(shown), drawn=False)


def news_of(shown: MemoryPageInputs) -> str:
    """Sentence on the effect of the last change on the peak; without one, on the bytes that a
    sample adds."""
    if shown.old:
        return just_changed(shown.old, shown.now)
    if shown.tally:
        return text_of("counted.news")
    amount = figures.three_digits(shown.now.peak_each)
    return text_of("per_sample", sample=shown.now.memory.sample, mountain=amount)


def _guess_words(shown: MemoryPageInputs) -> list[str]:
    return [] if shown.guess is None else [text_of("twin.guess", guess=units.exact(shown.guess))]


def _before(shown: MemoryPageInputs) -> Paragraphs:
    """Paragraph about the state that was shown before, for the text alone."""
    if shown.old is None:
        return Paragraphs(text_of("twin.start"), drawn=False, gap=1)
    old = shown.old
    index, name = f"{old.peak.index + 1:,}", old.peak.row.name
    peak = f"{old.equation()[0]} = {units.exact(old.peak.nbytes)}"
    told = text_of("twin.before", title=old.title, peak=peak, index=index, name=name)
    return Paragraphs(told, drawn=not shown.few, gap=1)


# -- tables ----------------------------------------------------------------------------------------


def _table(shown: MemoryPageInputs) -> Table:
    """Table of the bytes alive at the cursor, by slice of the stack."""
    now, lines, here = shown.now, shown.now.lines, shown.now.here
    name = now.memory.ledger.rows[now.at].name
    return Table(
        ["", text_of("table.bytes"), text_of("table.share"), text_of("table.each",
        sample=now.memory.sample)],
        [
            [line.name, f"{line.nbytes:,}", figures.percent(line.nbytes, here),
                f"{line.per_sample:,}"]
            for line in lines
        ],
        looks=[theme.paint(line.part) if line.part else None for line in lines],
        facts=[shown.facts[line.part] if line.part else None for line in lines],
        bold=[index for index, line in enumerate(lines) if not line.part],
        dim=[index for index, line in enumerate(lines) if not line.nbytes],
        title=text_of("table.alive_at", index=f"{now.at + 1:,}", name=name),
        rules={len(now.mountain): "limit", len(lines) - 2: "rule faint"},
        wide=True,
        gap=10,
    )  # fmt: skip


def _largest(shown: MemoryPageInputs) -> Table:
    """Return the table of the largest live blocks: formula, maker and last reader."""
    now = shown.now
    return Table(
        [],
        [[block.name, block.formula, block.story] for block in now.blocks],
        "<<<",
        title=now.blocks_title,
        looks=[theme.PAINTS[block.role] for block in now.blocks],
        facts=[block_fact(block) for block in now.blocks],
        sends=[("choose", f"block:{block.name}") for block in now.blocks],
        bold=[i for i, block in enumerate(now.blocks) if block is shown.block],
        gap=10,
    )


def block_fact(block: BlockRow) -> Fact:
    """Return the row of the page's table for a block: its name, formula, bytes, maker and last
    reader."""
    formula = block.formula.partition(" = ")[0]
    return Fact(block.name, formula, block.nbytes, block.maker, block.needed)


# -- the mountain, cut apart -----------------------------------------------------------------------


def _stages(shown: MemoryPageInputs) -> PageBlock:
    """Return the activations by stage, or one stage by layer, on the operations of the plot."""
    now = shown.now
    told = Table(
        [],
        [[row.part.name, units.exact(row.nbytes), row.in_blocks] for row in now.slices],
        title=now.slices_title,
    )
    count, end = len(now.slices), shown.row.last
    if not count:
        return told
    bases = [float(end * (count - 1 - index)) for index in range(count)]
    names = [texts.fitted(row.part.name, LEFT - 12, 11) for row in now.slices]
    x, height = scale.operations(now.memory.operations), PITCH * count
    return Chart(
        x,
        scale.Scale(0, end * count),
        [mark for index, base in enumerate(bases) for mark in _stage(shown, index, base)],
        height,
        Axis(labels=False, grid=False),
        Axis(now.slices_title, text_of("rows.scale", end=shown.row.end),
             grid=False, ticks=[(base + 0.2 * end, name) for base, name in zip(bases, names,
                                                                              strict=True)]),
        left=LEFT,
        right=2,
        previous=[mark for index, base in enumerate(bases) for mark in _was(shown, index, base)],
        told=told,
        name=now.slices_title,
        gap=10,
    )  # fmt: skip


def _stage(shown: MemoryPageInputs, index: int, base: float) -> Iterator[Mark]:
    """Yield one row of stages: values below, gradients above, the bytes at the cursor, and what a
    click selects."""
    now, end, row = shown.now, shown.row.last, shown.now.slices[index]
    last, value = now.memory.operations, f"slice:{row.part.name}"
    ground = now.memory.nothing + base
    values, line = (
        base + FILLED * np.minimum(now.batch * curve, end)
        for curve in (row.part.values, row.part.line)
    )
    yield Area(ground, values, KEPT)
    yield Area(values, line, theme.PAINTS[Role.GRADIENT_MAP])
    yield Rule(y=base, look="rule faint")
    amount = units.exact(row.nbytes)
    yield ChartText(last, base, amount, 12, "end", -2, -5, dim=not row.nbytes, chip=True)
    fact = Fact(row.part.name, nbytes=row.nbytes, more=row.in_blocks)
    look = "rule" if value == shown.chosen else "target"
    yield Rect(0, last, base, base + end, look, fact=fact, send=("choose", value))


def _was(shown: MemoryPageInputs, index: int, base: float) -> Iterator[Mark]:
    """Yield marks for the outline of the same stage in the previous state."""
    row, old, end = shown.now.slices[index], shown.old, shown.row.last
    if old and old.memory.operations == shown.now.memory.operations:
        for stage in old.slices:
            if stage.part.name == row.part.name and stage.part.highest:
                yield Stairs(
                    base + FILLED * np.minimum(old.batch * stage.part.line, end), ridge=base
                )


# -- counting rules --------------------------------------------------------------------------------


def _rules(shown: MemoryPageInputs) -> Below:
    """Table of the counting rules, and notes on the chosen one."""
    tally = shown.tally
    assert tally is not None
    rows = [
        [row.rule.title, *(f"{n:,}" for n in (row.values, row.nbytes, row.alive, row.missed))]
        for row in tally.rules
    ]
    table = Table(
        [text_of("counted.rule"), *tally.heads],
        rows,
        looks=["dot" if row is tally.chosen else None for row in tally.rules],
        bold=[index for index, row in enumerate(tally.rules) if row is tally.chosen],
        sends=[("choose", f"rule:{row.rule.name}") for row in tally.rules],
    )
    return Below([table, Paragraphs(tally.sentences)], gap=10)


def _outputs(tally: OutputTotals, width: float) -> Chart:
    """Return a chart with one bar of all outputs, and some rules as nested outlines around it."""
    inset, start = 13, 0
    marks: list[Mark] = []
    spans: list[tuple[frozenset[str], int, int]] = []
    for segment in tally.segments:
        end, alive = start + segment.nbytes, start + min(segment.alive, segment.nbytes)
        pieces = ((KEPT, start, alive), (FREED, alive, end))
        marks += [Rect(low, high, 0, 1, paint) for paint, low, high in pieces if high > low]
        pixels = segment.nbytes * (width - 2 * inset) / max(tally.nbytes, 1)
        if texts.width(segment.label, 12) + 14 < pixels:
            marks.append(
                ChartText((start + end) / 2, 0.5, segment.label, 12, "middle", dy=4, chip=True)
            )
        spans.append((segment.rules, start, end))
        start = end
    chain = [row for row in tally.rules if row.rule.name in CHAIN[:OUTLINED]]
    shown = [tally.chosen, *(row for row in chain if row is not tally.chosen)][:OUTLINED]
    for row in shown:
        marks += _nested(tally, row, spans)
    x = scale.Scale(0, max(tally.nbytes, 1))
    told = [text_of("counted.outline", rule=row.rule.title, values=millions(row.values))
            for row in shown]  # fmt: skip
    head = Axis(text_of("counted.title"), text_of("counted.key"), labels=False, grid=False)
    return Chart(x, scale.Scale(0, 1), marks, 32, None, head, left=inset, right=inset, above=20,
                 below=10, told=told, name=text_of("counted.title"), gap=8)  # fmt: skip


def _nested(
    tally: OutputTotals, row: RuleRow, spans: list[tuple[frozenset[str], int, int]]
) -> Iterator[Mark]:
    """Yield marks for the outlines of a rule, and its values per sample after the last of them."""
    name, chosen = row.rule.name, row is tally.chosen
    pad = 3.0 * (1 + CHAIN.index(name)) if name in CHAIN else 3.0
    end = None
    for inside, group in groupby(spans, lambda span: name in span[0]):
        run = list(group)
        if inside:
            start, end = run[0][1], run[-1][2]
            yield Rect(start, end, 0, 1, "rule chosen" if chosen else "rule faint", inset=-pad)
    if end is not None:
        place = (end, 1, "end", pad, -15)
        yield Label(millions(row.values), [place], 11, bold=chosen, apart=4)


def millions(count: int) -> str:
    """Return a count in millions: ``'16.1M'``. Small counts are written in full."""
    return f"{figures.ratio(count / 1e6)}M" if count >= 100_000 else f"{count:,}"
