"""The picture of some trainings: losses over the steps, and errors at the end beside them."""

from __future__ import annotations

from zlib import crc32

from memlab.views import axis, bars, extents
from memlab.views.axis import Axis
from memlab.views.speed import marks
from memlab.views.svg import Box, Svg
from memlab.views.training import head, lines, words
from memlab.views.training.head import WIDTH
from memlab.views.training.lines import Powers
from memlab.views.training.losses import Curves, Way

LINE = 16
LEFT, RIGHT = 52, 396
"""Ends of the axis of the steps."""
NAMES, ERRORS = 428, (610, 752)
"""Where the names stand, and the ends of the axis of the errors."""
PITCH, LEAST = 44, 230
"""Room for a training on the right, and for the curves."""


def draw(found: Curves) -> Svg:
    """The picture; its height follows the trainings."""
    headline = head.wrapped([found.headline])
    top = 64 + head.LINE * len(headline)
    box = Box(LEFT, top, RIGHT, top + max(LEAST, PITCH * len(found.ways)))
    svg = Svg(
        WIDTH, box.bottom + 44 + LINE * len(found.notes), f"t{crc32(found.text().encode()):08x}"
    )
    head.draw(svg, found.title, headline)
    ratios = lines.powers(loss for way in found.ways for _, loss in way.points)
    steps = [(_part(found, n), f"{n:,}") for n in axis.counts(found.steps)]
    lines.frame(svg, box, steps, ratios.ticks)
    svg.text(0, box.top - 14, words.say("curves.head.loss"), 12, bold=True)
    svg.text(RIGHT, box.bottom + 34, words.say("curves.head.steps"), 11, "end", dim=True)
    ends = {way.index: _curve(svg, found, way, ratios, box) for way in found.ways}
    _errors(svg, found, ends, box)
    for index, line in enumerate(found.notes):
        svg.text(0, box.bottom + 54 + LINE * index, line, 11, dim=True)
    return svg


def _part(found: Curves, step: float) -> float:
    """Where a step lies, from 0 to 1."""
    return (step - 1) / max(1, found.steps - 1)


def _curve(svg: Svg, found: Curves, way: Way, ratios: Powers, box: Box) -> tuple[float, float]:
    """A curve; where it ends. A cross stands where the loss was no number for the first time."""

    def at(step: float, loss: float) -> tuple[float, float]:
        x = box.left + (box.right - box.left) * _part(found, step)
        return x, box.bottom - (box.bottom - box.top) * ratios.place(loss)

    points = [at(*point) for point in way.points]
    if points:
        lines.draw(svg, way.index, points)
    broken = way.history.broken
    if not broken:
        return points[-1]
    before = [loss for step, loss in way.points if step < broken[0]]
    cross = at(broken[0], before[-1] if before else ratios.last)
    lines.cross(svg, *cross)
    return points[-1] if points and points[-1][0] > cross[0] else cross


def _errors(svg: Svg, found: Curves, ends: dict[int, tuple[float, float]], box: Box) -> None:
    """A line for every training, in the order in which the curves end, from the top down."""
    scale = axis.over(round(1000 * max(way.history.error for way in found.ways)), axis.TIGHT)
    svg.text(NAMES, box.top - 14, words.say("curves.head.error"), 12, bold=True)
    for value in range(0, scale.end + 1, scale.step):
        unit = " %" if value == scale.end else ""
        svg.text(_at(value, scale), box.bottom + 17, f"{value / 10:g}{unit}", 11, "middle")
    pitch = (box.bottom - box.top) / len(found.ways)
    rows = sorted(found.ways, key=lambda way: ends[way.index][1])
    for row, way in enumerate(rows):
        _error(svg, way, ends[way.index], box.top + pitch * (row + 0.5), scale)


def _error(svg: Svg, way: Way, end: tuple[float, float], middle: float, scale: Axis) -> None:
    """Name, error and state of a training; a line leads from its curve to it."""
    svg.line(*end, NAMES - 6, middle, class_="rule faint", stroke_width=0.9)
    marks.draw(svg, way.index, *end)
    lines.sample(svg, way.index, NAMES - 6, middle)
    svg.text(NAMES + 32, middle + 4, extents.shortened(way.name, 130, 12), 12, bold=True)
    for value in range(0, scale.end + 1, scale.step):
        x = _at(value, scale)
        svg.line(x, middle - 12, x, middle + 9, class_="grid" if value else "rule faint")
    stop = _at(1000 * way.history.error, scale)
    bars.draw(svg, Box(ERRORS[0], middle - 8, stop, middle + 8), "measured")
    svg.text(stop + 8, middle + 4, words.percent(way.history.error), 12, bold=True)
    svg.text(NAMES + 32, middle + 19, way.state, 11)


def _at(value: float, scale: Axis) -> float:
    return ERRORS[0] + (ERRORS[1] - ERRORS[0]) * value / scale.end
