"""The lower picture with a counting rule: what forward makes, and what each rule holds of it."""

from __future__ import annotations

from itertools import groupby

import numpy as np

from memlab import units
from memlab.step.tensor import Role
from memlab.views import extents
from memlab.views.network import words
from memlab.views.network.plot import Plot
from memlab.views.network.rows import Rows
from memlab.views.network.tally import CHAIN, RuleRow, Segment, Tally, tally
from memlab.views.place import Board
from memlab.views.roles import PAINTS, Paint
from memlab.views.svg import Box, box_path, text_box

KEPT = PAINTS[Role.FEATURE_MAP]
FREED = Paint(KEPT.colour, 0.08, "dots")
TALL = 32
PITCH = 18
INSET = 13


def draw(plot: Plot) -> None:
    """The bar, the table of the rules, what the chosen one says."""
    found = tally(plot.rows)
    top = plot.layout.lower
    head = plot.svg.text(0, top, words.get("counted.title"), 13, bold=True)
    keys = [words.get(f"counted.{name}") for name in ("key", "key_short")]
    room = plot.layout.edge - head.right - 10
    key = next((text for text in keys if extents.width(text, 11) <= room), keys[-1])
    plot.svg.text(head.right + 10, top, key, 11, dim=True)
    _bar(plot, found, top + 30)
    _rules(plot, found, top + 30 + TALL + 38)


def summary(rows: Rows, found: Tally) -> list[str]:
    """What the chosen rule counts, and what it misses at the cursor."""
    row = found.chosen
    values = {
        "counted": units.short(row.nbytes),
        "alive": units.short(row.alive),
        "freed": units.short(row.nbytes - row.alive),
        "missed": units.short(row.missed),
    }
    return [words.get(f"counted.{key}", **values) for key in ("counts", "alive", "missed")]


def cells(row: RuleRow) -> list[str]:
    """The numbers of a rule: values per sample, bytes, of it alive, alive and not counted."""
    return [millions(row.values), *map(units.short, (row.nbytes, row.alive, row.missed))]


def millions(count: int) -> str:
    """``'16.11M'``; small counts in full."""
    return f"{count / 1e6:,.2f}M" if count >= 100_000 else f"{count:,}"


def outline(plot: Plot) -> None:
    """What the rule counts of the bytes that are alive, as a dashed line on the mountain."""
    rows, svg, found = plot.rows, plot.svg, tally(plot.rows)
    floor = rows.source.floor.astype(np.float64)
    line = floor + found.counted
    svg.path(plot.frame.outline(line), class_="rule", stroke_width=1.9, stroke_dasharray="6 3")
    plot.lines.append(line)
    row = found.chosen
    for key, nbytes, low, high, bold in (
        ("inside", row.alive, floor, line, True),
        ("outside", row.missed, line, rows.curve, False),
    ):
        name = words.get(f"counted.{key}", amount=units.short(nbytes))
        wide = extents.width(name, 12, bold)
        if box := plot.board.widest(plot.frame, low, high, wide, 16):
            svg.text(box.left, box.top + 12, name, 12, bold=bold)


def _bar(plot: Plot, found: Tally, top: float) -> None:
    """One bar of all outputs, and around it the rules as nested outlines."""
    svg, left, wide = plot.svg, INSET, plot.svg.width - 2 * INSET
    scale, x = wide / max(found.nbytes, 1), float(left)
    spans: list[tuple[Segment, float, float]] = []
    for segment in found.segments:
        end = x + segment.nbytes * scale
        alive = min(segment.alive * scale, end - x)
        for paint, a, b in ((KEPT, x, x + alive), (FREED, x + alive, end)):
            if b - a > 0.2:
                svg.fill(box_path(Box(a, top, b, top + TALL)), paint)
        if extents.width(segment.label, 12) + 14 < end - x:
            svg.text((x + end) / 2, top + TALL / 2 + 4, segment.label, 12, "middle", chip=True)
        spans.append((segment, x, end))
        x = end
    _nested(plot, found, spans, top)


def _nested(
    plot: Plot, found: Tally, spans: list[tuple[Segment, float, float]], top: float
) -> None:
    """The outlines, each with its values per sample at its end; the chosen one is dashed."""
    svg, taken = plot.svg, Board()
    rules = sorted(found.rules, key=lambda row: not row.chosen)
    for row in rules:
        name = row.rule.name
        if name not in CHAIN and not row.chosen:
            continue
        pad = 3.0 * (1 + CHAIN.index(name)) if name in CHAIN else 3.0
        runs = _runs(spans, name)
        for left, right in runs:
            box = Box(left - pad, top - pad, right + pad, top + TALL + pad)
            svg.rect(box, class_="rule chosen" if row.chosen else "rule faint")
        if runs:
            x, text = runs[-1][1] + pad, millions(row.values)
            if taken.first([text_box(x, top - 15, text, 11, "end")], 4):
                svg.text(x, top - 15, text, 11, "end", bold=row.chosen)


def _runs(spans: list[tuple[Segment, float, float]], rule: str) -> list[tuple[float, float]]:
    """From where to where a rule counts; what lies side by side is one run."""
    runs = []
    for inside, group in groupby(spans, lambda span: rule in span[0].rules):
        run = list(group)
        if inside:
            runs.append((run[0][1], run[-1][2]))
    return runs


def _rules(plot: Plot, found: Tally, top: float) -> None:
    """One line per rule; beside it in words what the chosen one says."""
    svg, rows, wide = plot.svg, plot.rows, plot.svg.width
    beside = plot.layout.bar is not None
    end = wide - 276 if beside else wide
    columns = [end - 94 * k for k in (3, 2, 1, 0)]
    heads = words.get("counted.heads", sample=words.sample(rows.state), batch=f"{rows.batch:,}")
    for x, head in zip(columns, heads.split("|"), strict=True):
        svg.text(x, top, head, 11, "end", dim=True)
    for index, row in enumerate(found.rules):
        y = top + PITCH * (index + 1)
        if row.chosen:
            svg.path(f"M3 {y - 8.5}l6 4.5l-6 4.5Z")
        name = extents.shortened(row.rule.title, columns[0] - 14 - 56, 12)
        svg.text(14, y, name, 12, bold=row.chosen)
        for x, cell in zip(columns, cells(row), strict=True):
            svg.text(x, y, cell, 12, "end", bold=row.chosen)
        target = Box(0, y - 13, end, y + 4)
        svg.rect(target, fill="transparent", data_send="choose", data_value=f"rule:{row.rule.name}")
    if beside:
        _say(plot, found, end + 28, top + PITCH)


def _say(plot: Plot, found: Tally, left: float, top: float) -> None:
    y = top
    for index, text in enumerate(summary(plot.rows, found)):
        for line in extents.wrap(text, plot.layout.edge - left, 12):
            plot.svg.text(left, y, line, 12, bold=not index)
            y += PITCH


def table(rows: Rows) -> list[list[str]]:
    """The rules for the text: exact bytes; the chosen one is marked."""
    found = tally(rows)
    heads = words.get("counted.heads", sample=words.sample(rows.state), batch=f"{rows.batch:,}")
    lines = [[words.get("counted.rule"), *heads.split("|")]]
    for row in found.rules:
        mark = "> " if row.chosen else "  "
        numbers = (row.values, row.nbytes, row.alive, row.missed)
        lines.append([f"{mark}{row.rule.title}", *(f"{number:,}" for number in numbers)])
    return lines
