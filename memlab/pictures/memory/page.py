"""The page of the memory view: the plot and what it says; all numbers below it on request."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby

import numpy as np

from memlab import units
from memlab.pictures.draw import scale, theme
from memlab.pictures.draw import text as texts
from memlab.pictures.draw.chart import Axis, Chart
from memlab.pictures.draw.labels import Label, Text
from memlab.pictures.draw.marks import Area, Fact, Mark, Path, Rect, Rule, Stairs
from memlab.pictures.draw.page import Page
from memlab.pictures.draw.table import Below, Beside, Block, Table, Unnamed, Words
from memlab.pictures.draw.theme import Paint
from memlab.pictures.memory.counting_rules import CHAIN, RuleRow, Tally
from memlab.pictures.memory.snapshot import BlockRow, say
from memlab.pictures.memory.snapshot_diff import details, news
from memlab.pictures.memory.stack import LEFT, Shown, chart, under
from memlab.pictures.values import number_text as figures
from memlab.step.storage import HOST
from memlab.step.tensor import Role

WIDE, SIDE, APART = 820, 340, 20
"""From this width on the table stands beside the plot; so wide is it, and so far from it."""
PITCH, FILLED = 30, 0.8
"""Height of a stage, and how much of it may be filled."""
KEPT = theme.PAINTS[Role.FEATURE_MAP]
FREED = Paint(KEPT.colour, 0.08, "dots")
OUTLINED = 3
"""So many counting rules are outlines at most."""


def page(shown: Shown, width: float) -> Page:
    """The whole page at a width in pixels; below ``WIDE`` its parts stand one below the other. At
    the first level tables are in the text alone."""
    few, wide = shown.few, width >= WIDE and not shown.few
    plot = chart(shown, right=2 if wide else 12)
    tables = [_table, *([_rules] if shown.tally else []), _stages, _largest]
    bar: list[Block] = [_outputs(shown.tally, width)] if shown.tally else []
    host = [_host(shown, plot, SIDE + APART if wide else 0)] if shown.now.host else []
    if few:
        key = Unnamed(list(shown.mountain.key(shown.height)), gap=4)
        parts = [plot, key, *host, *bar, *(_told(table, shown) for table in tables)]
    else:
        first, *others = (table(shown) for table in tables)
        cut = Beside([(plot, width - SIDE - APART), (first, SIDE)], APART)
        parts = [*([cut, *host] if wide else [plot, *host, first]), *bar, *others]
    return Page(shown.now.title, [*_head(shown), *parts, _before(shown)], width)


def _host(shown: Shown, plot: Chart, beside: float) -> Chart:
    """The host's memory below the device's, downwards on the same scale, and cut at the same
    operation; ``beside`` is what stands right of the plot."""
    now = shown.now
    line = now.memory.ledger.timeline(now.batch, HOST)
    most = max(line)
    steps = [(x, -nbytes) for at, nbytes in enumerate(line) for x in (at, at + 1)]
    middle = max(range(len(line)), key=line.__getitem__)
    marks: list[Mark] = [
        Path([(0, 0), *steps, (len(line), 0)], theme.IDLE),
        Rule(y=0, look="rule"),
        Rule(x=now.at + 0.5, look="rule", crossed=True),
        Text(middle, -most / 2, say("host_most", bytes=figures.three(most)), 13, "middle", dy=4,
             chip=True),
    ]  # fmt: skip
    tall = max(shown.height * most / shown.axes.plot.last, 20)
    return Chart(plot.x, scale.Scale(-most, 0), marks, tall, left=plot.left,
                 right=plot.right + beside, name=say("host_name"), gap=4)  # fmt: skip


def _told(table: Callable[[Shown], Block], shown: Shown) -> Words:
    """A table for the text alone, made when that is asked for."""
    return Words(lambda: table(shown).text(), drawn=False, gap=1)


# -- the head --------------------------------------------------------------------------------------


def _head(shown: Shown) -> Iterator[Words]:
    """The equation of the peak, and what the last change did; at the first level what does not fit
    comes in its place."""
    now, few, tally, old = shown.now, shown.few, shown.tally, shown.old
    refused = [each for each in shown.verdicts if few and not tally and not each.fits]
    tightest = min(refused, key=lambda each: each.budget.nbytes, default=None)
    verdicts = [(now.verdict(each), not each.fits) for each in shown.verdicts]
    yield Words([tally.headline(few) if tally else now.headline(few)], 20)
    yield Words(now.verdict(tightest) if tightest else "", 13, bold=True, told=False)
    yield Words(news_of(shown), 13, drawn=not tightest)
    yield Words(now.waiting, 13, drawn=few, told=False)
    yield Words(details(old, now) if old else "", drawn=not few)
    yield Words([verdicts], 13, drawn=not few)
    yield Words([*now.sentences, *_guess(shown)], drawn=not few)
    yield Words(under(shown), drawn=False)


def news_of(shown: Shown) -> str:
    """What the last change did to the peak; without one, what a sample adds."""
    if shown.old:
        return news(shown.old, shown.now)
    if shown.tally:
        return say("counted.news")
    amount = figures.three(shown.now.peak_each)
    return say("per_sample", sample=shown.now.memory.sample, mountain=amount)


def _guess(shown: Shown) -> list[str]:
    return [] if shown.guess is None else [say("twin.guess", guess=units.exact(shown.guess))]


def _before(shown: Shown) -> Words:
    """What was shown before, for the text alone."""
    if shown.old is None:
        return Words(say("twin.start"), drawn=False, gap=1)
    old = shown.old
    index, name = f"{old.peak.index + 1:,}", old.peak.row.name
    peak = f"{old.equation()[0]} = {units.exact(old.peak.nbytes)}"
    told = say("twin.before", title=old.title, peak=peak, index=index, name=name)
    return Words(told, drawn=not shown.few, gap=1)


# -- tables ----------------------------------------------------------------------------------------


def _table(shown: Shown) -> Table:
    """What is alive at the cursor, by slice of the stack."""
    now, lines, here = shown.now, shown.now.lines, shown.now.here
    name = now.memory.ledger.rows[now.at].name
    return Table(
        ["", say("table.bytes"), say("table.share"), say("table.each", sample=now.memory.sample)],
        [
            [line.name, f"{line.nbytes:,}", figures.percent(line.nbytes, here), f"{line.each:,}"]
            for line in lines
        ],
        looks=[theme.paint(line.part) if line.part else None for line in lines],
        facts=[shown.facts[line.part] if line.part else None for line in lines],
        bold=[index for index, line in enumerate(lines) if not line.part],
        dim=[index for index, line in enumerate(lines) if not line.nbytes],
        title=say("table.alive_at", index=f"{now.at + 1:,}", name=name),
        rules={len(now.mountain): "limit", len(lines) - 2: "rule faint"},
        wide=True,
        gap=10,
    )  # fmt: skip


def _largest(shown: Shown) -> Table:
    """The largest blocks alive: formula, maker and last reader."""
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
    """What a block says."""
    formula = block.formula.partition(" = ")[0]
    return Fact(block.name, formula, block.nbytes, block.made, block.needed)


# -- the mountain, cut apart -----------------------------------------------------------------------


def _stages(shown: Shown) -> Block:
    """The mountain by stage, or one stage by layer, on the operations of the plot."""
    now = shown.now
    told = Table(
        [],
        [[row.part.name, units.exact(row.nbytes), row.in_blocks] for row in now.slices],
        title=now.slices_title,
    )
    count, end = len(now.slices), shown.axes.rows.last
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
        Axis(now.slices_title, say("rows.scale", end=shown.axes.rows.end),
             grid=False, ticks=[(base + 0.2 * end, name) for base, name in zip(bases, names,
                                                                              strict=True)]),
        left=LEFT,
        right=2,
        previous=[mark for index, base in enumerate(bases) for mark in _was(shown, index, base)],
        told=told,
        name=now.slices_title,
        gap=10,
    )  # fmt: skip


def _stage(shown: Shown, index: int, base: float) -> Iterator[Mark]:
    """One row: values below, gradients above, its bytes at the cursor, and what a press chooses."""
    now, end, row = shown.now, shown.axes.rows.last, shown.now.slices[index]
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
    yield Text(last, base, amount, 12, "end", -2, -5, dim=not row.nbytes, chip=True)
    fact = Fact(row.part.name, nbytes=row.nbytes, more=row.in_blocks)
    look = "rule" if value == shown.chosen else "target"
    yield Rect(0, last, base, base + end, look, fact=fact, send=("choose", value))


def _was(shown: Shown, index: int, base: float) -> Iterator[Mark]:
    """The outline of the same stage before."""
    row, old, end = shown.now.slices[index], shown.old, shown.axes.rows.last
    if old and old.memory.operations == shown.now.memory.operations:
        for each in old.slices:
            if each.part.name == row.part.name and each.part.highest:
                yield Stairs(
                    base + FILLED * np.minimum(old.batch * each.part.line, end), ridge=base
                )


# -- counting rules --------------------------------------------------------------------------------


def _rules(shown: Shown) -> Below:
    """What each rule counts, and what the chosen one does."""
    tally = shown.tally
    assert tally is not None
    rows = [
        [row.rule.title, *(f"{n:,}" for n in (row.values, row.nbytes, row.alive, row.missed))]
        for row in tally.rules
    ]
    table = Table(
        [say("counted.rule"), *tally.heads],
        rows,
        looks=["dot" if row is tally.chosen else None for row in tally.rules],
        bold=[index for index, row in enumerate(tally.rules) if row is tally.chosen],
        sends=[("choose", f"rule:{row.rule.name}") for row in tally.rules],
    )
    return Below([table, Words(tally.sentences)], gap=10)


def _outputs(tally: Tally, width: float) -> Chart:
    """One bar of all outputs, and around it some rules as nested outlines."""
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
    chain = [row for row in tally.rules if row.rule.name in CHAIN[:OUTLINED]]
    shown = [tally.chosen, *(row for row in chain if row is not tally.chosen)][:OUTLINED]
    for row in shown:
        marks += _nested(tally, row, spans)
    x = scale.Scale(0, max(tally.nbytes, 1))
    told = [say("counted.outline", rule=row.rule.title, values=millions(row.values))
            for row in shown]  # fmt: skip
    head = Axis(say("counted.title"), say("counted.key"), labels=False, grid=False)
    return Chart(x, scale.Scale(0, 1), marks, 32, None, head, left=inset, right=inset, above=20,
                 below=10, told=told, name=say("counted.title"), gap=8)  # fmt: skip


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
    """``'16.1M'``; small counts in full."""
    return f"{figures.ratio(count / 1e6)}M" if count >= 100_000 else f"{count:,}"
