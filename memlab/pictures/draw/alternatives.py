"""Several alternatives in one chart: each is a bar, or a line with its name beside the chart.

A name stands as near to the end of its line as the other names let it; a thin line leads to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from memlab.pictures.draw import text as texts
from memlab.pictures.draw import theme
from memlab.pictures.draw.chart import Axis, Chart
from memlab.pictures.draw.label_board import spread_heights
from memlab.pictures.draw.labels import ChartText
from memlab.pictures.draw.marks import Fact, Line, Mark, Pen, Point, Points, Rect, Rule, symbol
from memlab.pictures.draw.scale import Scale
from memlab.pictures.draw.table import Below, Paragraphs, Table
from memlab.pictures.draw.text import Runs

SAMPLE, GAP = 30, 8
"""Pixels of a sample of a line, and between a point and its line to the name."""
TALL = 16
"""Height of a bar in pixels."""
ABOVE, LINE_OF_PHONE, EDGE = 16, 330, 16
"""Pixels on a phone: from line to line above a bar, the longest of these lines, and the margin of a
chart whose names stand below it."""


# -- lines ---------------------------------------------------------------------------------------


class NamedLine(NamedTuple):
    """A line: its name in some lines of text, its points, and the fact that each point says on
    hover. With a single fact the line says it, and only the end of the line has a mark."""

    name: Sequence[Runs]
    points: Sequence[Point]
    facts: Sequence[Fact]
    end: Point
    """Point that the name belongs to."""


def drawn(lines: Sequence[NamedLine], first: int = 0) -> list[Mark]:
    """Return the marks of lines and their points; line i has the look of alternative ``first`` +
    i."""
    marks: list[Mark] = []
    for index, line in enumerate(lines, first):
        single = len(line.facts) == 1
        if line.points:
            marks.append(Line(line.points, index, single, fact=line.facts[0] if single else None))
        if single:
            marks.append(Points([line.end], index))
        else:
            pairs = zip(line.points, line.facts, strict=True)
            marks += [Points([point], index, fact=fact) for point, fact in pairs]
    return marks


@dataclass(frozen=True, eq=False)
class Names(Mark):
    """Names of lines in a column beside the chart, each with the symbol of its line.

    The column is ``away`` pixels right of the frame, or left of it where ``away`` is below 0. Names
    are at least ``pitch`` pixels apart, ``inset`` pixels are kept free at the top and the bottom of
    the frame. The symbol of a dashed line stands on a piece of that line.
    """

    lines: Sequence[NamedLine]
    away: float
    pitch: float
    inset: float = 0

    @property
    def order(self) -> list[int]:
        """Indices of the lines by the heights of their ends, from the top to the bottom."""
        return sorted(range(len(self.lines)), key=lambda index: -self.lines[index].end[1])

    def heights(self, wanted: Sequence[float], top: float, bottom: float) -> list[float]:
        """Return the y of each name in pixels, near the wanted one and clear of the other names."""
        return spread_heights(wanted, self.pitch, top + self.inset, bottom - self.inset)

    def draw(self, pen: Pen) -> None:
        left = self.away < 0
        edge = (pen.box.left if left else pen.box.right) + self.away
        ends = [self.lines[index].end for index in self.order]
        rows = self.heights([pen.y(y) for _, y in ends], pen.box.top, pen.box.bottom)
        for index, (x, y), row in zip(self.order, ends, rows, strict=True):
            start = pen.x(x) + (-GAP if left else GAP)
            pen.svg.line(start, pen.y(y), edge, row, class_="rule thin faint")
            self._name(pen, index, edge, row)

    def _name(self, pen: Pen, index: int, edge: float, y: float) -> None:
        """Write the name of one line with its symbol, its middle at the y of the row."""
        named, side = self.lines[index], -1 if self.away < 0 else 1
        dashed = len(named.facts) == 1
        long = SAMPLE if dashed else 2 * GAP
        if dashed:
            colour = theme.alternative_symbol(index)[1]
            dashes = theme.DASHES[index % len(theme.DASHES)]
            pen.svg.line(edge, y, edge + side * long, y, stroke=colour, stroke_width=1.8,
                         stroke_dasharray=dashes or None)  # fmt: skip
        symbol(pen.svg, index, edge + side * long / 2, y)
        x, anchor = edge + side * (long + 4), "end" if side < 0 else "start"
        for number, line in enumerate(named.name):
            room = x if side < 0 else pen.svg.width - x
            content = texts.shortened(line, room, 12) if isinstance(line, str) else line
            pen.svg.text(x, y + 4 + 14 * number, content, 11 if number else 12, anchor)

    def on(self, axes: Any) -> None:
        wide, tall = axes.bbox.width, axes.bbox.height
        x, inside = self.away / wide + (self.away > 0), axes.transData + axes.transAxes.inverted()
        ends = [self.lines[index].end for index in self.order]
        wanted = [tall * (1 - inside.transform(end)[1]) for end in ends]
        rows = self.heights(wanted, 0, tall)
        for index, end, y in zip(self.order, ends, rows, strict=True):
            axes.annotate(
                "\n".join(map(texts.plain, self.lines[index].name)), end, (x, 1 - y / tall),
                textcoords="axes fraction", fontsize=11, va="center", annotation_clip=False,
                ha="right" if self.away < 0 else "left",
                arrowprops={"arrowstyle": "-", "color": theme.alternative_symbol(index)[1]},
            )  # fmt: skip


def with_names_below(chart: Chart) -> Chart:
    """Return a chart with ``Names`` as it is; on a phone the names stand below it, so that the
    lines have its width."""
    names = next(mark for mark in chart.marks if isinstance(mark, Names))
    left, right = (EDGE, chart.right) if names.away < 0 else (chart.left, EDGE)
    marks = [mark for mark in chart.marks if mark is not names]
    words = [
        Paragraphs(", ".join(map(texts.plain, names.lines[index].name)), 12, mark=index, told=False)
        for index in names.order
    ]
    narrow = replace(chart, marks=marks, left=left, right=right, told=(), gap=0)
    return replace(chart, phone=Below([narrow, *words]))


# -- bars ----------------------------------------------------------------------------------------


class LabelledBar(NamedTuple):
    """A bar: its value, the origin of the value, its label and its fact. ``name`` stands before the
    bar, ``below`` in smaller type under the name. ``named_beside`` is the name of a bar that has it
    from the chart beside; on a phone, where no chart stands beside, the bar has it itself."""

    value: float
    origin: str
    label: Runs
    fact: Fact
    name: Runs = ""
    below: str = ""
    named_beside: str = ""


def bars(
    labelled: Sequence[LabelledBar], scale: Scale, pitch: float, title: str = "", *,
    axis: Axis | None = None,
    told: Table | Sequence[str] = (), gap: float = 0,
) -> Chart:  # fmt: skip
    """Return a chart of horizontal bars whose margins are as wide as the texts; on a phone the
    texts stand above the bars.

    Args:
        labelled: bars from the top to the bottom.
        scale: scale of their values.
        pitch: pixels from one bar to the next.
        title: title above the bars.
        axis: axis of the values; without one there is no line along it.
        told: text twin of the chart, a table or lines.
        gap: pixels that are free above the chart.
    """
    first, marks = scale.first, list[Mark]([Rule(scale.first, look="rule", opacity=0.5)])
    for index, bar in enumerate(labelled):
        y = index + 0.5
        if bar.value > first:
            look = theme.origin(bar.origin)
            marks.append(Rect(first, bar.value, y, y, look, thick=TALL, fact=bar.fact))
        lift = -2 if bar.below else 4
        labels = (
            ChartText(first, y, bar.name, 12, "end", -12, lift, bold=True),
            ChartText(first, y, bar.below, 11, "end", -12, 13, dim=True),
            ChartText(max(bar.value, first), y, bar.label, 12, "start", 8, 4, chip=True),
        )
        marks += [label for label in labels if label.content]
    left = max(max(_bold_width(bar.name), texts.width(bar.below, 11)) for bar in labelled)
    head = Axis(title, side="right", grid=False, labels=False) if title else None
    return Chart(
        scale, Scale(len(labelled), 0), marks, pitch * len(labelled), axis or Axis(rule=False),
        head, left=left + 13 if left else 0,
        right=max(_bold_width(bar.label) for bar in labelled) + 9, told=told, gap=gap,
        phone=_below_their_words(labelled, scale, axis, head),
    )  # fmt: skip


def _below_their_words(
    labelled: Sequence[LabelledBar], scale: Scale, axis: Axis | None, head: Axis | None
) -> Chart:
    """Return a chart of horizontal bars for a phone: each below its name and its label."""
    words = [_words_above(bar) for bar in labelled]
    pitch = ABOVE * max(map(len, words)) + TALL + 14
    first, marks = scale.first, list[Mark]([Rule(scale.first, look="rule", opacity=0.5)])
    for index, (bar, lines) in enumerate(zip(labelled, words, strict=True)):
        y = index + 1 - (TALL / 2 + 4) / pitch
        if bar.value > first:
            look = theme.origin(bar.origin)
            marks.append(Rect(first, bar.value, y, y, look, thick=TALL, fact=bar.fact))
        high = pitch - TALL - 10 - ABOVE * (len(lines) - 1)
        marks += [
            ChartText(first, index, line, 12, dx=5, dy=high + ABOVE * number)
            for number, line in enumerate(lines)
        ]
    return Chart(
        scale, Scale(len(labelled), 0), marks, pitch * len(labelled), axis or Axis(rule=False),
        head, left=2, right=12,
    )  # fmt: skip


def _words_above(bar: LabelledBar) -> list[Runs]:
    """Return the lines of words of a bar: its name, what stands below that, and its label."""
    own = bar.name or bar.named_beside
    name = [(own, True)] if isinstance(own, str) else [*own]
    label = [(bar.label, False)] if isinstance(bar.label, str) else [*bar.label]
    fits = texts.measure(label, 12) <= LINE_OF_PHONE
    return [*_flow([*name, (bar.below, False)]), *([label] if fits else _flow(label))]


def _flow(pieces: Sequence[tuple[str, bool]]) -> list[texts.Line]:
    """Return pieces of text in the lines that they need on a phone."""
    spoken = [(text.strip(), heavy) for text, heavy in pieces if text]
    return texts.flow_lines(spoken, LINE_OF_PHONE, 12)


def _bold_width(content: Runs) -> float:
    """Return the width of a line of text, bold unless its pieces say otherwise."""
    return texts.measure([(content, True)] if isinstance(content, str) else content)
