"""Names beside a chart, each near the end of its line: a mark as any other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from memlab.views.draw import text as texts
from memlab.views.draw import theme
from memlab.views.draw.label import spread
from memlab.views.draw.marks import Mark, Pen, symbol
from memlab.views.draw.text import Runs

SAMPLE, GAP = 30, 8
"""The length of a piece of a line, and what is free between it and the name."""


class End(NamedTuple):
    """The end of the line of a way, the number of its look, and a name of one line or two."""

    x: float
    y: float
    look: int
    name: Sequence[Runs]


@dataclass(frozen=True, eq=False)
class Ends(Mark):
    """Names in a column ``away`` pixels right of the frame, or left of it where that is below 0.

    Each stands as near to its end as the others let it, ``pitch`` pixels apart, with the mark of
    its way, where ``dashed`` on a piece of its line; a thin line leads to it. ``inset`` pixels are
    kept free at the top and the bottom of the frame; ``size`` is that of the first line of a name.
    """

    ends: Sequence[End]
    away: float
    pitch: float
    inset: float = 0
    dashed: bool = False
    size: float = 12

    def ordered(self) -> list[End]:
        """From the top to the bottom."""
        return sorted(self.ends, key=lambda end: -end.y)

    def heights(self, wanted: Sequence[float], top: float, bottom: float) -> list[float]:
        """Where they stand, in pixels."""
        return spread(wanted, self.pitch, top + self.inset, bottom - self.inset)

    def draw(self, pen: Pen) -> None:
        left = self.away < 0
        edge = (pen.box.left if left else pen.box.right) + self.away
        ends = self.ordered()
        rows = self.heights([pen.y(end.y) for end in ends], pen.box.top, pen.box.bottom)
        for end, y in zip(ends, rows, strict=True):
            x, start = pen.x(end.x), pen.y(end.y)
            beside = x - GAP if left else x + GAP
            pen.svg.line(beside, start, edge, y, class_="rule thin faint")
            self._name(pen, end, edge, y)

    def _name(self, pen: Pen, end: End, edge: float, y: float) -> None:
        way = -1 if self.away < 0 else 1
        long = SAMPLE if self.dashed else 2 * GAP
        if self.dashed:
            colour, dashes = theme.symbol(end.look)[1], theme.DASHES[end.look % len(theme.DASHES)]
            pen.svg.line(edge, y, edge + way * long, y, stroke=colour, stroke_width=1.8,
                         stroke_dasharray=dashes or None)  # fmt: skip
        symbol(pen.svg, end.look, edge + way * long / 2, y)
        x, anchor = edge + way * (long + 4), "end" if way < 0 else "start"
        for index, line in enumerate(end.name):
            base = y + 4 + 14 * index
            room = x if way < 0 else pen.svg.width - x
            shown = texts.shortened(line, room, self.size) if isinstance(line, str) else line
            pen.svg.text(x, base, shown, 11 if index else self.size, anchor)

    def on(self, axes: Any) -> None:
        wide, tall = axes.bbox.width, axes.bbox.height
        ends, x = self.ordered(), self.away / wide + (self.away > 0)
        inside = axes.transData + axes.transAxes.inverted()
        wanted = [tall * (1 - inside.transform((end.x, end.y))[1]) for end in ends]
        for end, y in zip(ends, self.heights(wanted, 0, tall), strict=True):
            axes.annotate(
                "\n".join(map(texts.plain, end.name)), (end.x, end.y), (x, 1 - y / tall),
                textcoords="axes fraction", fontsize=11, va="center", annotation_clip=False,
                ha="right" if self.away < 0 else "left",
                arrowprops={"arrowstyle": "-", "color": theme.symbol(end.look)[1]},
            )  # fmt: skip
