"""A chart: two scales, their axes, and marks. It is lowered to SVG, to text and to matplotlib's
Axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from memlab.pictures.draw import text as texts
from memlab.pictures.draw.label_board import LabelBoard
from memlab.pictures.draw.marks import Mark, Pen
from memlab.pictures.draw.scale import Scale, Tick
from memlab.pictures.draw.svg import PHONE, Box, Svg, text_box
from memlab.pictures.draw.table import PageBlock, Table
from memlab.pictures.draw.theme import line_style

TICK = 8
"""Pixels between a label of an axis and the frame."""
NUMBERS, TITLES = 22, 18
"""Heights in pixels of the labels of a lower axis, and of its title below them."""


@dataclass(frozen=True)
class Axis:
    """Look of a scale beside the chart.

    ``title`` is bold, with a ``note`` after it. ``side`` is the side of the labels: bottom or top,
    left or right. ``grid`` draws a line over the chart at every tick, otherwise a short one at the
    edge; ``rule`` draws a line along the axis. ``ticks`` replace those of the scale.
    """

    title: str = ""
    note: str = ""
    side: str = ""
    grid: bool = True
    rule: bool = True
    labels: bool = True
    ticks: Sequence[Tick] | None = None

    def marks(self, scale: Scale) -> Sequence[Tick]:
        """Return values and labels of the ticks: the axis's own ones, or those of the scale."""
        return scale.ticks if self.ticks is None else self.ticks


@dataclass(frozen=True)
class Chart(PageBlock):
    """Marks between two scales, in a frame ``height`` pixels high.

    ``left`` and ``right`` are the margins of the frame in pixels; marks may use ``above`` and
    ``below`` it as many pixels. ``previous`` are the marks of the previous state, drawn as dashed
    outlines. ``told`` is the text twin of the marks: a table, or lines. ``name`` names the chart
    where there are several. ``phone`` is drawn in its place on a phone.
    """

    x: Scale
    y: Scale
    marks: Sequence[Mark]
    height: float
    x_axis: Axis | None = None
    y_axis: Axis | None = None
    left: float = 48
    right: float = 12
    above: float = 0
    below: float = 0
    previous: Sequence[Mark] = ()
    told: Table | Sequence[str] = ()
    name: str = ""
    gap: float = 0
    phone: PageBlock | None = None

    # -- SVG ------------------------------------------------------------------------------------

    @property
    def head(self) -> float:
        """Pixels above the frame: titles, labels on top and ``above``."""
        titled = self.y_axis is not None and bool(self.y_axis.title or self.y_axis.note)
        on_top = self.x_axis is not None and self.x_axis.side == "top"
        return self.above + 26 * titled + 20 * on_top

    @property
    def foot(self) -> float:
        """Pixels below the frame: labels, titles and ``below``."""
        axis = self.x_axis
        if axis is None or axis.side == "top":
            return self.below + 4
        numbers = axis.labels and bool(axis.marks(self.x))
        return self.below + NUMBERS * numbers + TITLES * bool(axis.title or axis.note) + 4

    def frame(self, x: float, y: float, width: float) -> Box:
        """Return the frame in pixels of a chart whose place begins at ``x``, ``y`` and is ``width``
        wide."""
        top = y + self.head
        return Box(x + self.left, top, x + width - self.right, top + self.height)

    def draw(self, svg: Svg, x: float, y: float, width: float) -> float:
        if self.phone and svg.width < PHONE:
            return self.phone.draw(svg, x, y, width)
        box = self.frame(x, y, width)
        svg.charts.append((self, box))
        svg.charting = True
        pen = Pen(svg, box, self.x, self.y)
        if self.y_axis:
            _draw_y_axis(pen, self.y_axis, (x, x + width), self.above)
        if self.x_axis:
            _draw_x_axis(pen, self.x_axis, x + width)
        self._marks(pen)
        svg.charting = False
        return box.bottom + self.foot

    def _marks(self, pen: Pen) -> None:
        """Draw the marks and the outlines of the previous state, then the late marks, which are
        labels, clear of them."""
        solid = [mark for mark in self.marks if not mark.late]
        old = [mark.outline() for mark in self.previous]
        for mark in (*solid, *old):
            mark.lower(pen)
        for mark in (*solid, *old):
            pen.board.taken.extend(mark.takes(pen))
        for mark in self.marks:
            if mark.late:
                mark.lower(pen)

    # -- text -----------------------------------------------------------------------------------

    def text(self) -> list[str]:
        return self.told.text() if isinstance(self.told, Table) else list(self.told)

    # -- matplotlib -----------------------------------------------------------------------------

    def on(self, axes: Any) -> None:
        """Draw the chart on matplotlib's ``Axes``, in the values of its scales."""
        self.x.on(axes, "x")
        self.y.on(axes, "y")
        _set_ticks(axes, "x", self.x, self.x_axis)
        _set_ticks(axes, "y", self.y, self.y_axis)
        for side in ("top", "right", *([] if self.y_axis else ["left"])):
            axes.spines[side].set_visible(False)
        axes.spines["bottom"].set_visible(self.x_axis is not None)
        if self.name:
            axes.set_title(self.name, loc="left")
        for mark in self.marks:
            mark.on(axes)
        for mark in self.previous:
            mark.outline().on(axes)
        axes.set_xlim(self.x.first, self.x.last)
        axes.set_ylim(self.y.first, self.y.last)


# -- axes ---------------------------------------------------------------------------------------


def _draw_y_axis(pen: Pen, axis: Axis, ends: tuple[float, float], above: float) -> None:
    """Draw the vertical axis; its title stands above the frame, between the two x of ``ends``."""
    svg, box, right = pen.svg, pen.box, axis.side == "right"
    place, anchor = (box.right + TICK, "start") if right else (box.left - TICK, "end")
    for value, label in axis.marks(pen.up):
        y = pen.y(value)
        if axis.grid:
            svg.line(box.left, y, box.right, y, class_="grid")
        if axis.labels:
            pen.board.take(svg.text(place, y + 4, label, 11, anchor))
    left = box.left if right else ends[0]
    _write_title(svg, axis, (left, ends[1]), box.top - 14 - above)


def _draw_x_axis(pen: Pen, axis: Axis, end: float) -> None:
    """Draw the horizontal axis. Where labels would meet, the last one and then the first ones are
    kept. The title reaches at most to the x ``end``."""
    svg, box = pen.svg, pen.box
    on_top = axis.side == "top"
    edge, y = (box.top, box.top - 8) if on_top else (box.bottom, box.bottom + 16)
    ticks, board = list(axis.marks(pen.across)), LabelBoard()
    for value, label in (*ticks[-1:], *ticks[:-1]):
        x = pen.x(value)
        if axis.grid:
            svg.line(x, box.top, x, box.bottom, class_="grid")
        at = _middle_inside(x, label, svg.width)
        if axis.labels and board.first([text_box(at, y, label, 11, "middle")], 4):
            pen.board.take(svg.text(at, y, label, 11, "middle"))
            if not axis.grid:
                svg.line(x, edge, x, edge + (-4 if on_top else 4), class_="rule", opacity=0.5)
    if axis.rule:
        svg.line(box.left, edge, box.right, edge, class_="rule", opacity=0.5)
    low = box.bottom + 34 if axis.labels and ticks else box.bottom + 16
    _write_title(svg, axis, (box.left, end), box.top - 26 if on_top else low)


def _middle_inside(x: float, label: str, width: float) -> float:
    """Return the x of the middle of a label that reaches over no edge of the picture."""
    half = texts.width(label, 11) / 2
    return max(min(x, width - 1 - half), half)


def _write_title(svg: Svg, axis: Axis, ends: tuple[float, float], y: float) -> None:
    """Write the title of an axis in bold and its note, as much of them as fits between the two x of
    ``ends``."""
    x, end = ends
    if axis.title:
        title = texts.shortened(axis.title, end - x, 12, True)
        x = svg.text(x, y, title, 12, bold=True).right + 10
    if axis.note and end - x > 40:
        svg.text(x, y, texts.shortened(axis.note, end - x, 11), 11, dim=True)


def _set_ticks(axes: Any, which: str, scale: Scale, axis: Axis | None) -> None:
    """Give matplotlib's axis ``"x"`` or ``"y"`` the ticks, the title, the grid and the side of our
    axis."""
    from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

    ticks = list(axis.marks(scale)) if axis and axis.labels else []
    side = getattr(axes, f"{which}axis")
    side.set_major_locator(FixedLocator([value for value, _ in ticks]))
    side.set_major_formatter(FixedFormatter([label for _, label in ticks]))
    side.set_minor_locator(NullLocator())
    if axis is None:
        return
    getattr(axes, f"set_{which}label")(", ".join(filter(None, (axis.title, axis.note))))
    if axis.grid and axis.labels:
        style = line_style("grid")
        axes.grid(visible=True, axis=which, **style)
    if axis.side in ("top", "right"):
        side.set_ticks_position(axis.side)
        side.set_label_position(axis.side)
