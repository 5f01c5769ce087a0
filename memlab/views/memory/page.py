"""The page of the memory view: the plot, the cut at the cursor, the stages, the blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from memlab import units
from memlab.step.tensor import Role
from memlab.studies import figures
from memlab.studies.cut import BlockRow, Cut, SliceRow, news, say
from memlab.studies.tally import CHAIN, RuleRow, Tally
from memlab.views.draw import scale, theme
from memlab.views.draw import text as texts
from memlab.views.draw.chart import Chart
from memlab.views.draw.labels import Label, Text
from memlab.views.draw.marks import Area, Fact, Mark, Pen, Rect, Rule, Stairs
from memlab.views.draw.page import Page
from memlab.views.draw.svg import Box, Svg
from memlab.views.draw.table import LINES, ROW, Below, Beside, Block, Table, Words, sample
from memlab.views.draw.theme import Paint
from memlab.views.memory.stack import HEIGHT, LEFT, Shown, block_fact, chart

WIDE, SIDE, BAR, APART = 820, 300, 26, 18
"""From this width on a bar and the table stand beside the plot; so wide are they, and so far from
each other."""
HEAD = 22
"""From the first line of the table down to its upper edge."""
TALL = 162
"""Height of all stages together: few are taller."""
GUTTER = 62
"""Room for names beside the stages; longer ones stand over them."""
KEPT = theme.PAINTS[Role.FEATURE_MAP]
FREED = Paint(KEPT.colour, 0.08, "dots")


def page(shown: Shown, width: float) -> Page:
    """The whole page at a width in pixels; below ``WIDE`` its parts stand one below the other."""
    now, wide = shown.now, width >= WIDE
    plot = chart(shown, right=2 if wide else 12)
    table, blocks = _table(shown, plot.above - HEAD if wide else 10), _largest(shown)
    lower = _rules(shown.tally, width) if shown.tally else _stages(shown, plot.right)
    roles = Words(now.told_roles, drawn=False, gap=1)
    parts: list[Block] = [plot, lower, roles, table, blocks]
    if wide:
        main = width - BAR - SIDE - 2 * APART
        cutting = Beside([(plot, main), (_bar(shown, plot), BAR), (table, SIDE)], APART)
        below = Beside([(lower, main), (blocks, BAR + SIDE + APART)], APART)
        rest = [lower, Words(now.told_blocks, drawn=False, gap=1)] if shown.tally else [below]
        parts = [cutting, roles, *rest]
    return Page(now.title, [Headline(now), *_head(shown), *parts, _before(shown)], width)


@dataclass(frozen=True)
class Drawn(Block):
    """A block of the picture alone: the text says the same to the byte."""

    block: Block

    def draw(self, svg: Svg, x: float, y: float, width: float) -> float:
        return self.block.draw(svg, x, y, width)

    def text(self) -> list[str]:
        return []


def _told(block: Block, lines: Callable[[], list[str]]) -> Below:
    """A block, and what the text says in its place."""
    return Below([Drawn(block), Words(lines, drawn=False, gap=1)])


# -- the head --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Headline(Block):
    """The equation of the peak: it adds up as written."""

    now: Cut

    def draw(self, svg: Svg, x: float, y: float, width: float) -> float:
        total, (floor, mountain) = self.now.equation
        right = say("equation", floor=floor, mountain=mountain, unit=total.split()[-1])
        binary, base = figures.binary(self.now.peak.nbytes), y + 21
        end = svg.text(x, base, say("headline", peak=total), 20, bold=True).right
        for text, dim in ((f"({binary})" if binary else "", True), (right, False)):
            if text and end + 9 + texts.width(text, 16) > x + width:
                end, base = x - 9, base + 22
            if text:
                end = svg.text(end + 9, base, text, 16, dim=dim).right
        return base + 6

    def text(self) -> list[str]:
        return []

    @property
    def alone(self) -> bool:
        return False


def _head(shown: Shown) -> Iterator[Block]:
    """The news, and the verdicts, of which what is refused is bold."""
    now, told = shown.now, shown.before is not None
    verdicts = [(now.verdict(each), not each.fits) for each in shown.verdicts]
    yield Words(now.told_peak, drawn=False)
    yield Words(news_of(shown), 13, told=told)
    yield Words([verdicts], 13, told=False)
    yield Words([*(text for text, _ in verdicts), *_guess(shown)], drawn=False)
    yield Words(now.told_phases, drawn=False)


def _guess(shown: Shown) -> list[str]:
    return [] if shown.guess is None else [say("twin.guess", guess=units.exact(shown.guess))]


def news_of(shown: Shown) -> str:
    """What the last change did to the peak; without one, what a sample adds."""
    if shown.before:
        return news(shown.before.now, shown.now)
    if shown.tally:
        return shown.tally.news
    each = units.short(shown.now.peak_each)
    return say("per_sample", sample=shown.now.memory.sample, mountain=each)


def _before(shown: Shown) -> Words:
    """What was shown before, for the text alone."""
    if shown.before is None:
        return Words(say("twin.start"), drawn=False, gap=1)
    old = shown.before.now
    index, name = f"{old.peak.index + 1:,}", old.peak.row.name
    peak = f"{old.equation[0]} = {units.exact(old.peak.nbytes)}"
    told = say("twin.before", title=old.title, peak=peak, index=index, name=name)
    return Words(told, drawn=False, gap=1)


# -- the cut ---------------------------------------------------------------------------------------


def _table(shown: Shown, gap: float) -> Table:
    """What is alive at the cursor, by slice of the stack."""
    now, lines = shown.now, shown.now.lines
    return Table(
        ["", say("table.bytes"), say("table.share"), say("table.each", sample=now.memory.sample)],
        [
            [
                line.name,
                units.short(line.nbytes) if line.nbytes else "0",
                now.share(line),
                units.short(line.each),
            ]
            for line in lines
        ],
        looks=[theme.paint(line.part) if line.part else None for line in lines],
        facts=[shown.facts[line.part] if line.part else None for line in lines],
        bold=[index for index, line in enumerate(lines) if not line.part],
        dim=[index for index, line in enumerate(lines) if not line.nbytes],
        title=say("table.alive_at", index=f"{now.at + 1:,}"),
        rules={len(now.mountain): "limit", len(lines) - 2: "rule faint"},
        wide=True,
        told=False,
        gap=gap,
    )


def _bar(shown: Shown, plot: Chart) -> Chart:
    """The stack at the cursor on the scale of the plot, with lines to the table at its right."""
    now, end, low = shown.now, plot.y.last, 0
    marks: list[Mark] = []
    first = LINES[13] + 2 * ROW - HEAD - 4
    bases = {line.part: first + ROW * index for index, line in enumerate(now.lines)}
    for part, row in zip(now.memory.parts, now.roles, strict=True):
        bottom, top = min(low, end), min(low + row.nbytes, end)
        low += row.nbytes
        if top > bottom:
            bar = Rect(0, 1, bottom, top, theme.paint(part), edge=0.5, fact=shown.facts[part])
            marks += [bar, Leader((bottom + top) / 2, bases[part])]
    floor = min(sum(row.nbytes for row in now.floor), end)
    marks += [Rect(0, 1, 0, min(low, end)), Rule(y=floor, look="limit", above=4, below=4),
              Text(0.5, 0, f"{now.at + 1:,}", 11, "middle", dy=16)]  # fmt: skip
    return Chart(scale.Scale(0, 1), plot.y, marks, HEIGHT, left=0, right=0, above=plot.above)


@dataclass(frozen=True)
class Leader(Mark):
    """A thin line from a slice of the bar to its line of the table, so far below the top."""

    amount: float
    down: float

    def draw(self, pen: Pen) -> None:
        x, y, end = pen.box.right, pen.y(self.amount), pen.box.top + self.down
        d = f"M{x + 1:.1f} {y:.1f}L{x + 10:.1f} {end:.1f}h4"
        pen.svg.path(d, class_="rule faint", stroke_width=0.8)

    def on(self, axes: Any) -> None:
        """Nothing: a figure has no table."""


# -- the lower part --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Choosable(Drawn):
    """A part that a press, or the keyboard, chooses as ``value``, and that says a fact."""

    value: str
    chosen: bool
    fact: Fact

    def draw(self, svg: Svg, x: float, y: float, width: float) -> float:
        with svg.told(str(self.fact), ("choose", self.value)):
            bottom = self.block.draw(svg, x, y, width)
            box = Box(max(x - 4, 1), y, min(x + width + 3, svg.width - 1), bottom)
            svg.rect(box, fill="transparent")
            if self.chosen:
                svg.rect(box, class_="rule", stroke_width=1.4, rx=3)
        return bottom


def _choosable(shown: Shown, value: str, block: Block, fact: Fact) -> Choosable:
    return Choosable(block, value, value == shown.chosen, fact)


def _stages(shown: Shown, right: float) -> Below:
    """The mountain cut apart by stage, or one stage by layer, on the operations of the plot."""
    now, end = shown.now, shown.axes.rows.end
    pitch = min(TALL / max(len(now.slices), 1), 48)
    names = [row.part.name for row in now.slices]
    aside = max((texts.width(name, 12) for name in names), default=0) <= GUTTER
    rows = []
    for index, row in enumerate(now.slices):
        value, fact = f"slice:{index}", Fact(row.part.name, nbytes=row.nbytes, more=row.in_blocks)
        chart = _stage(shown, row, pitch, aside, value == shown.chosen)
        if not index:  # its lines go on through the others
            chart = replace(chart, marks=[*_uprights(now, pitch * (len(names) - 1)), *chart.marks])
        rows.append(_choosable(shown, value, replace(chart, right=right), fact))
    title = Table((), (), title=now.slices_title, note=say("rows.scale", end=end), told=False)
    return _told(Below([title, *rows]), now.told_slices)


def _uprights(now: Cut, below: float) -> Iterator[Rule]:
    """The ends of the phases and the cursor, drawn on from the plot."""
    yield from (Rule(x=first, below=below) for _, first, _ in now.memory.phases[1:])
    yield Rule(x=now.at + 0.5, look="rule", width=1.2, opacity=0.8, above=4, below=below)


def _stage(shown: Shown, row: SliceRow, pitch: float, aside: bool, chosen: bool) -> Chart:
    """One row: values below, gradients above, and the outline of what was there before."""
    now, part, above = shown.now, row.part, 2 if aside else 10
    values, line = now.batch * part.values, now.batch * part.line
    cut_off = now.batch * part.highest > shown.axes.rows.last
    amount = units.short(row.nbytes) if row.nbytes else say("rows.none")
    name = Text(0, 0, part.name, 12, "end", -6, -1, bold=chosen)
    if not aside:
        name = Text(0, shown.axes.rows.last, part.name, 11, dx=2, dy=-2, bold=chosen)
    marks: list[Mark] = [
        Area(now.memory.nothing, values, KEPT),
        Area(values, line, theme.PAINTS[Role.GRADIENT_MAP]),
        Rule(y=0, look="rule faint"),
        name,
        Text(now.memory.operations, 0, f"↑ {amount}" if cut_off else amount, 12, "end", -2, -5,
             dim=not row.nbytes, chip=True),
    ]  # fmt: skip
    x = scale.operations(now.memory.operations)
    return Chart(x, shown.axes.rows, marks, pitch - above - 4, left=LEFT, right=2, above=above,
                 previous=_same_stage(shown, part.name), name=part.name)  # fmt: skip


def _same_stage(shown: Shown, name: str) -> list[Mark]:
    old = shown.old
    found = [row.part for row in old.slices if row.part.name == name] if old else []
    return [Stairs(old.batch * part.line, ridge=True) for part in found if old and part.highest]


def _largest(shown: Shown) -> Below:
    """The largest blocks alive, and the life of the one that the keyboard is on."""
    now = shown.now
    entries = [
        _choosable(shown, f"block:{index}", Entry(block), block_fact(block))
        for index, block in enumerate(now.blocks)
    ]
    kind, _, number = shown.chosen.partition(":")
    index = int(number) if kind == "block" else 0
    life = [each.life for each in now.blocks[index : index + 1]]
    return _told(
        Below([
            Words(now.blocks_title, 13, bold=True, told=False, gap=0),
            *entries,
            Words(now.other_blocks, 11, dim=True, told=False, left=20),
            Words(life, 11, told=False),
        ]),
        now.told_blocks,
    )  # fmt: skip


@dataclass(frozen=True)
class Entry(Block):
    """A block: its role as a swatch, its name, when it is alive, and its formula."""

    block: BlockRow

    def draw(self, svg: Svg, x: float, y: float, width: float) -> float:
        block, base = self.block, y + 13
        sample(svg, theme.PAINTS[block.role], x, base + 1)
        room = width - 32 - texts.width(block.span, 11)
        svg.text(x + 20, base, texts.fitted(block.name, room, 12), 12)
        svg.text(x + width - 4, base, block.span, 11, "end", dim=True)
        svg.text(x + 20, base + 14.5, block.formula, 11, dim=True)
        return base + 18.5

    def text(self) -> list[str]:
        return []


# -- counting rules --------------------------------------------------------------------------------


def _rules(tally: Tally, width: float) -> Below:
    """What forward makes, and what each rule holds of it: a bar, a table, the chosen rule."""
    wide = width >= 940
    names = ("counted.key", "counted.key_short")
    room = width - texts.width(say("counted.title"), 13, True) - 10
    note = next((each for each in map(say, names) if texts.width(each, 11) <= room), say(names[1]))
    title = Table((), (), title=say("counted.title"), note=note, told=False)
    table = Table(
        [say("counted.rule").strip(), *tally.heads],
        [[row.rule.title, millions(row.values),
          *map(units.short, (row.nbytes, row.alive, row.missed))] for row in tally.rules],
        looks=["dot" if row is tally.chosen else None for row in tally.rules],
        bold=[index for index, row in enumerate(tally.rules) if row is tally.chosen],
        sends=[("choose", f"rule:{row.rule.name}") for row in tally.rules],
        wide=True,
        told=False,
    )  # fmt: skip
    first, *others = tally.sentences
    said = Words([[(first, True)], *others], told=False, gap=ROW + 5 if wide else 8)
    parts: list[Block] = [Beside([(table, width - 276), (said, 256)])] if wide else [table, said]
    return _told(Below([title, _outputs(tally, width), *parts]), tally.told)


def _outputs(tally: Tally, width: float) -> Chart:
    """One bar of all outputs, and around it the rules as nested outlines."""
    inset, start = 13, 0
    marks: list[Mark] = []
    spans: list[tuple[frozenset[str], int, int]] = []
    for segment in tally.segments:
        end, alive = start + segment.nbytes, start + min(segment.alive, segment.nbytes)
        pieces = ((KEPT, start, alive), (FREED, alive, end))
        marks += [Rect(low, high, 0, 1, paint) for paint, low, high in pieces if high > low]
        pixels = segment.nbytes * (width - 2 * inset) / max(tally.nbytes, 1)
        if texts.width(segment.label, 12) + 14 < pixels:
            marks.append(Text((start + end) / 2, 0.5, segment.label, 12, "middle", dy=4, chip=True))
        spans.append((segment.rules, start, end))
        start = end
    for row in sorted(tally.rules, key=lambda row: row is not tally.chosen):
        if row.rule.name in CHAIN or row is tally.chosen:
            marks += _nested(tally, row, spans)
    x = scale.Scale(0, max(tally.nbytes, 1))
    return Chart(x, scale.Scale(0, 1), marks, 32, left=inset, right=inset, above=32, below=14,
                name=say("counted.title"))  # fmt: skip


def _nested(
    tally: Tally, row: RuleRow, spans: list[tuple[frozenset[str], int, int]]
) -> Iterator[Mark]:
    """The outlines of a rule, and at the end of the last its values per sample."""
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
    """``'16.11M'``; small counts in full."""
    return f"{count / 1e6:,.2f}M" if count >= 100_000 else f"{count:,}"
