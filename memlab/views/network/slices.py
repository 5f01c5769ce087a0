"""The lower picture: the mountain cut apart by stage, or one stage by layer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from memlab import units
from memlab.step.tensor import Role
from memlab.views import extents
from memlab.views.network import words
from memlab.views.network.blocks import Slice
from memlab.views.network.layout import LEFT
from memlab.views.network.plot import Plot
from memlab.views.network.rows import Rows, SliceRow
from memlab.views.paths import Frame
from memlab.views.roles import PAINTS
from memlab.views.svg import Box, Svg

TALL = 162
"""Height of all rows together: few rows are taller."""
GUTTER = 66
"""Room for names beside the rows; longer ones stand over them."""


@dataclass(frozen=True)
class Grid:
    """Where the rows stand: the baseline of the first, and the distance to the next."""

    first: float
    pitch: float
    beside: bool

    @property
    def tall(self) -> float:
        """The height of what is drawn in a row."""
        return self.pitch - (6 if self.beside else 14)

    def y(self, index: int) -> float:
        """The baseline of a row."""
        return self.first + self.pitch * index


def draw(plot: Plot) -> None:
    """The heading and one row per slice, on the operations of the plot above."""
    rows, top = plot.rows, plot.layout.lower
    heading = plot.svg.text(0, top, title(rows), 13, bold=True)
    scale = words.get("rows.scale", end=rows.scales.rows.title)
    plot.svg.text(heading.right + 10, top, scale, 11, dim=True)
    names = [row.part.name for row in rows.slices]
    pitch = min(TALL / max(len(names), 1), 48)
    beside = max((extents.width(name, 12) for name in names), default=0) <= GUTTER
    grid = Grid(top + 5 + pitch, pitch, beside)
    for index in range(len(names)):
        _row(plot, grid, index)
    _lines(plot, grid, len(names) - 1)


def title(rows: Rows) -> str:
    """What is cut apart."""
    if rows.state.unfolded:
        return words.get("rows.title_layers", stage=rows.state.unfolded)
    return words.get("rows.title" if rows.source.names else "rows.title_no_stages")


def amount(row: SliceRow, rows: Rows) -> str:
    """Its bytes at the cursor; an arrow where its mountain goes on above the row."""
    text = units.short(row.nbytes) if row.nbytes else words.get("rows.none")
    return f"↑ {text}" if row.batch_highest(rows.batch) > rows.scales.rows.end else text


def _lines(plot: Plot, grid: Grid, last: int) -> None:
    """The ends of the phases and the cursor, drawn on from the plot."""
    top, bottom = grid.y(0) - grid.tall, grid.y(last)
    for _, first, _ in plot.rows.source.bands[1:]:
        x = plot.frame.x(first)
        plot.svg.line(x, top, x, bottom, class_="grid")
    x = plot.middle(plot.rows.at)
    plot.svg.line(x, top - 2, x, bottom, class_="rule", stroke_width=1.2, opacity=0.8)


def _row(plot: Plot, grid: Grid, index: int) -> None:
    svg, rows, row, y = plot.svg, plot.rows, plot.rows.slices[index], grid.y(index)
    box = Box(LEFT, y - grid.tall, plot.right, y)
    _mountain(svg, Frame(box, rows.source.operations, rows.scales.rows.end), rows, row.part)
    svg.line(LEFT, y, plot.right, y, class_="rule faint")
    text = amount(row, rows)
    svg.text(plot.right - 2, y - 5, text, 12, "end", dim=not row.nbytes, chip=True)
    chosen = rows.state.chosen == f"slice:{index}"
    if grid.beside:
        svg.text(LEFT - 6, y - 1, row.part.name, 12, "end", bold=chosen)
    else:
        svg.text(LEFT + 2, y - grid.tall - 2, row.part.name, 11, bold=chosen)
    target = Box(1, y - grid.pitch + 4, plot.right + 4, y + 3.5)
    if chosen:
        svg.rect(target, class_="rule", stroke_width=1.4, rx=3)
    svg.rect(target, fill="transparent", data_send="choose", data_value=f"slice:{index}")


def _mountain(svg: Svg, frame: Frame, rows: Rows, part: Slice) -> None:
    """Values below, gradients above, and the outline of what was there before."""
    values, all_of_it = (rows.batch * n.astype(np.float64) for n in (part.values, part.blocks.line))
    layers = ((Role.FEATURE_MAP, 0 * values, values), (Role.GRADIENT_MAP, values, all_of_it))
    for role, low, high in layers:
        if d := frame.area(low, high):
            svg.fill(d, PAINTS[role])
    old = rows.outline
    parts = old.source.slices(rows.state.unfolded) if old else ()
    same = next((found for found in parts if found.name == part.name), None)
    if old and same and same.highest:
        svg.path(frame.ridge(old.batch * same.blocks.line.astype(np.float64)), class_="before thin")
