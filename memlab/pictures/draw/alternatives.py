"""Several ways to do a thing: each a bar, or a line with its name beside the chart.

A name stands as near to the end of its line as the others let it; a thin line leads to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from memlab.pictures.draw import text as texts
from memlab.pictures.draw import theme
from memlab.pictures.draw.chart import Axis, Chart
from memlab.pictures.draw.label_board import spread
from memlab.pictures.draw.labels import ChartText
from memlab.pictures.draw.marks import Fact, Line, Mark, Pen, Point, Points, Rect, Rule, symbol
from memlab.pictures.draw.scale import Scale
from memlab.pictures.draw.table import Table
from memlab.pictures.draw.text import Runs

SAMPLE, GAP = 30, 8
"""The length of a piece of a line, and what is free between it and the name."""
TALL = 16


# -- lines ---------------------------------------------------------------------------------------


class NamedLine(NamedTuple):
    """A line: its name in some lines, its points, and what each says on hover. With one fact
    it is the line that says it, and only its end has a mark."""

    name: Sequence[Runs]
    points: Sequence[Point]
    facts: Sequence[Fact]
    end: Point
    """Point beside which the name stands."""


def drawn(ways: Sequence[NamedLine]) -> list[Mark]:
    """The lines and their marks; the number of a way is that of its look."""
    marks: list[Mark] = []
    for index, way in enumerate(ways):
        single = len(way.facts) == 1
        if way.points:
            marks.append(Line(way.points, index, single, fact=way.facts[0] if single else None))
        if single:
            marks.append(Points([way.end], index))
        else:
            pairs = zip(way.points, way.facts, strict=True)
            marks += [Points([point], index, fact=fact) for point, fact in pairs]
    return marks


@dataclass(frozen=True, eq=False)
class Names(Mark):
    """The names of ways in a column ``away`` pixels right of the frame, or left of it where that
    is below 0, ``pitch`` pixels apart, each with the mark of its way, on a piece of its line where
    that is dashed. ``inset`` pixels are kept free at the top and the bottom of the frame."""

    ways: Sequence[NamedLine]
    away: float
    pitch: float
    inset: float = 0

    @property
    def order(self) -> list[int]:
        """The numbers of the ways, from the top to the bottom."""
        return sorted(range(len(self.ways)), key=lambda index: -self.ways[index].end[1])

    def heights(self, wanted: Sequence[float], top: float, bottom: float) -> list[float]:
        """Heights of the names, in pixels."""
        return spread(wanted, self.pitch, top + self.inset, bottom - self.inset)

    def draw(self, pen: Pen) -> None:
        left = self.away < 0
        edge = (pen.box.left if left else pen.box.right) + self.away
        ends = [self.ways[index].end for index in self.order]
        rows = self.heights([pen.y(y) for _, y in ends], pen.box.top, pen.box.bottom)
        for index, (x, y), row in zip(self.order, ends, rows, strict=True):
            beside = pen.x(x) + (-GAP if left else GAP)
            pen.svg.line(beside, pen.y(y), edge, row, class_="rule thin faint")
            self._name(pen, index, edge, row)

    def _name(self, pen: Pen, index: int, edge: float, y: float) -> None:
        way, side = self.ways[index], -1 if self.away < 0 else 1
        dashed = len(way.facts) == 1
        long = SAMPLE if dashed else 2 * GAP
        if dashed:
            colour, dashes = theme.symbol(index)[1], theme.DASHES[index % len(theme.DASHES)]
            pen.svg.line(edge, y, edge + side * long, y, stroke=colour, stroke_width=1.8,
                         stroke_dasharray=dashes or None)  # fmt: skip
        symbol(pen.svg, index, edge + side * long / 2, y)
        x, anchor = edge + side * (long + 4), "end" if side < 0 else "start"
        for number, line in enumerate(way.name):
            room = x if side < 0 else pen.svg.width - x
            shown = texts.shortened(line, room, 12) if isinstance(line, str) else line
            pen.svg.text(x, y + 4 + 14 * number, shown, 11 if number else 12, anchor)

    def on(self, axes: Any) -> None:
        wide, tall = axes.bbox.width, axes.bbox.height
        x, inside = self.away / wide + (self.away > 0), axes.transData + axes.transAxes.inverted()
        ends = [self.ways[index].end for index in self.order]
        wanted = [tall * (1 - inside.transform(end)[1]) for end in ends]
        rows = self.heights(wanted, 0, tall)
        for index, end, y in zip(self.order, ends, rows, strict=True):
            axes.annotate(
                "\n".join(map(texts.plain, self.ways[index].name)), end, (x, 1 - y / tall),
                textcoords="axes fraction", fontsize=11, va="center", annotation_clip=False,
                ha="right" if self.away < 0 else "left",
                arrowprops={"arrowstyle": "-", "color": theme.symbol(index)[1]},
            )  # fmt: skip


# -- bars ----------------------------------------------------------------------------------------


class LabelledBar(NamedTuple):
    """A figure, where it comes from, and its label; a name, and smaller below it what it does."""

    value: float
    origin: str
    label: Runs
    fact: Fact
    name: Runs = ""
    below: str = ""


def bars(
    found: Sequence[LabelledBar], scale: Scale, pitch: float, title: str = "", *,
    axis: Axis | None = None,
    told: Table | Sequence[str] = (), gap: float = 0,
) -> Chart:  # fmt: skip
    """A chart of bars, ``pitch`` pixels from one to the next; margins are as wide as the texts."""
    first, drawn = scale.first, list[Mark]([Rule(scale.first, look="rule", opacity=0.5)])
    for index, bar in enumerate(found):
        y = index + 0.5
        if bar.value > first:
            look = theme.origin(bar.origin)
            drawn.append(Rect(first, bar.value, y, y, look, thick=TALL, fact=bar.fact))
        lift = -2 if bar.below else 4
        labels = (
            ChartText(first, y, bar.name, 12, "end", -12, lift, bold=True),
            ChartText(first, y, bar.below, 11, "end", -12, 13, dim=True),
            ChartText(max(bar.value, first), y, bar.label, 12, "start", 8, 4, chip=True),
        )
        drawn += [label for label in labels if label.content]
    left = max(max(_wide(bar.name), texts.width(bar.below, 11)) for bar in found)
    head = Axis(title, side="right", grid=False, labels=False) if title else None
    return Chart(
        scale, Scale(len(found), 0), drawn, pitch * len(found), axis or Axis(rule=False), head,
        left=left + 13 if left else 0, right=max(_wide(bar.label) for bar in found) + 9,
        told=told, gap=gap,
    )  # fmt: skip


def _wide(content: Runs) -> float:
    return texts.measure([(content, True)] if isinstance(content, str) else content)
