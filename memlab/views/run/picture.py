"""The picture of a run: three bars on one axis, then plan and measurement over the operations."""

from __future__ import annotations

from zlib import crc32

import numpy as np

from memlab import strings
from memlab.views import axis, bars, extents
from memlab.views.axis import Axis
from memlab.views.bars import PITCH, PLANNED, TALL
from memlab.views.paths import Frame
from memlab.views.place import Board
from memlab.views.run import words
from memlab.views.run.rows import Bar, Operation, Rows
from memlab.views.svg import Box, Svg, text_box

WIDTH, LEFT, LINE = 820, 100, 17
BARS = 430
"""The right end of the bars' axis: each bar's bytes stand behind it."""
PLOT = 190
NAMED = 8
"""So few operations stand with their names under the axis."""
TICK = 8


def draw(rows: Rows) -> Svg:
    """The picture; its height follows the bars and the operations that differ."""
    verdict, lines = words.verdict(rows), words.differences(rows)
    top = 40 + (LINE if verdict else 0)
    plot = top + PITCH * len(rows.bars) + 104
    named = _named(rows)
    listed = plot + PLOT + 48 + (LINE if named else 0)
    height = listed + (LINE * len(lines) + 6 if lines else -18)
    key = f"r{crc32(repr(rows.bars + rows.operations).encode()):08x}"
    svg = Svg(WIDTH, height, key)
    svg.text(0, 12, extents.shortened(words.title(rows), WIDTH, 12), 12, dim=True)
    svg.text(0, 34, words.residual(rows), 16, bold=True)
    if verdict:
        svg.text(0, 34 + LINE, verdict, 13)
    _bars(svg, rows, top + 8)
    _timeline(svg, rows, Box(LEFT, plot, WIDTH - 12, plot + PLOT))
    if lines:
        svg.text(0, listed, strings.get("run.differing"), 12, bold=True)
    for index, line in enumerate(lines, start=1):
        svg.text(0, listed + LINE * index, extents.shortened(line, WIDTH - 4, 12), 12)
    return svg


# -- bars ---------------------------------------------------------------------------------------


def _bars(svg: Svg, rows: Rows, top: float) -> None:
    """Guess, plan and measurement from one line on the left."""
    scale = axis.over(max(bar.nbytes for bar in rows.bars), axis.TIGHT)
    bottom = top + PITCH * len(rows.bars)
    for nbytes, name in scale.ticks:
        x = LEFT + (BARS - LEFT) * nbytes / scale.end
        svg.line(x, top, x, bottom, class_="grid")
        svg.text(x, bottom + 14, name, 11, "middle")
    for index, bar in enumerate(rows.bars):
        _bar(svg, rows, bar, top + PITCH * index + (PITCH - TALL) / 2, scale)
    svg.line(LEFT, top, LEFT, bottom, class_="rule", opacity=0.5)


def _bar(svg: Svg, rows: Rows, bar: Bar, top: float, scale: Axis) -> None:
    """One bar, where it comes from, its bytes and its operation."""
    end = LEFT + (BARS - LEFT) * bar.nbytes / scale.end
    bars.draw(svg, Box(LEFT, top, end, top + TALL), bar.origin)
    base = top + TALL - 4
    svg.text(LEFT - TICK, base, words.origin(bar.origin), 12, "end", bold=True)
    right = svg.text(BARS + 14, base, words.amount(bar.nbytes), 12, bold=True).right
    place = words.where(bar)
    svg.text(right + 10, base, extents.shortened(place, WIDTH - 4 - right - 10, 11), 11, dim=True)


# -- over the operations ------------------------------------------------------------------------


def _timeline(svg: Svg, rows: Rows, box: Box) -> None:
    """Planned as a filled staircase, measured as dots on top of it, differences marked."""
    planned = np.array([float(op.planned.inside) for op in rows.operations])
    measured = np.array([float(op.measured.inside) for op in rows.operations])
    scale = axis.over(max(bar.nbytes for bar in rows.bars[-2:]))
    frame = Frame(box, len(rows.operations), scale.end)
    _key(svg, rows, box.top - 44)
    _bands(svg, rows, frame, box.top - 14)
    for nbytes, name in scale.ticks:
        svg.line(box.left, frame.y(nbytes), box.right, frame.y(nbytes), class_="grid")
        svg.text(box.left - TICK, frame.y(nbytes) + 4, name, 11, "end")
    svg.fill(frame.area(np.zeros_like(planned), planned), PLANNED, edge=0)
    svg.path(frame.outline(planned), class_="rule", stroke_width=1.2)
    wide = (box.right - box.left) / len(rows.operations)
    places = zip(range(len(measured)), frame.heights(measured).tolist(), strict=True)
    dots = "".join(f"M{frame.x(index + 0.5):.1f} {y:.1f}h0" for index, y in places)
    size = min(max(0.7 * wide, 2.4), 6.0)
    svg.path(dots, class_="rule", stroke_width=size, stroke_linecap="round")
    _numbers(svg, frame)
    if _named(rows):
        _names(svg, rows, frame)
    for operation in rows.differing:
        _mark(svg, frame, operation)


def _key(svg: Svg, rows: Rows, y: float) -> None:
    """What fill and dots are."""
    x = svg.text(0, y, strings.get("run.timeline"), 12, bold=True).right + 18
    svg.swatch(x, y, PLANNED)
    x = svg.text(x + 20, y, words.origin(rows.planned.origin), 12).right + 18
    svg.path(f"M{x + 4:.1f} {y - 4:.1f}h0", class_="rule", stroke_width=6, stroke_linecap="round")
    x = svg.text(x + 12, y, words.origin(rows.origin), 12).right + 18
    if rows.differing:
        svg.path(_triangle(x + 5, y - 1), fill="currentColor")
        svg.text(x + 15, y, strings.get("run.marked"), 12)


def _bands(svg: Svg, rows: Rows, frame: Frame, y: float) -> None:
    """The phases as brackets with their names, where there is room for one."""
    taken = Board()
    for band in rows.bands:
        left, right = frame.x(band.first) + 0.7, frame.x(band.last + 1) - 0.7
        bracket = f"M{left:.1f} {y + 9}V{y + 5}H{right:.1f}V{y + 9}"
        svg.path(bracket, class_="rule", opacity=0.7)
        name, middle = strings.get(f"phase.{band.phase}"), (left + right) / 2
        box = text_box(middle, y, name, 12, "middle")
        if box.right <= WIDTH and taken.first([box], 2):
            svg.text(middle, y, name, 12, "middle")
        if band.first:
            svg.line(left, frame.box.top, left, frame.box.bottom, class_="grid")


def _numbers(svg: Svg, frame: Frame) -> None:
    """The numbers of operations; the last one has precedence."""
    numbers, taken, bottom = axis.counts(frame.operations), Board(), frame.box.bottom
    svg.line(frame.box.left, bottom, frame.box.right, bottom, class_="rule", opacity=0.5)
    for number in (numbers[-1], *numbers[:-1]):
        x, name = frame.x(number - 0.5), f"{number:,}"
        if taken.first([text_box(x, bottom + 16, name, 11, "middle")], 4):
            svg.text(x, bottom + 16, name, 11, "middle")
            svg.line(x, bottom, x, bottom + 4, class_="rule", opacity=0.5)


def _named(rows: Rows) -> bool:
    return len(rows.operations) <= NAMED


def _names(svg: Svg, rows: Rows, frame: Frame) -> None:
    """The names of a few operations, each under its own."""
    wide = (frame.box.right - frame.box.left) / len(rows.operations) - 6
    for operation in rows.operations:
        name = extents.shortened(operation.row.name, wide, 11)
        svg.text(frame.x(operation.index + 0.5), frame.box.bottom + 33, name, 11, "middle")


def _mark(svg: Svg, frame: Frame, operation: Operation) -> None:
    """A triangle at the top and a line down to the axis: no residual is too small to be seen."""
    x = frame.x(operation.index + 0.5)
    svg.line(x, frame.box.top, x, frame.box.bottom, class_="rule faint", stroke_dasharray="3 3")
    svg.path(_triangle(x, frame.box.top + 8), fill="currentColor")


def _triangle(x: float, y: float) -> str:
    return f"M{x - 5:.1f} {y - 8:.1f}h10l-5 8Z"
