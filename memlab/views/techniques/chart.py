"""Bytes to the right, time upwards: a point for each technique, the best trades as a line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor

from memlab import units
from memlab.views import extents
from memlab.views.amounts import unit_of
from memlab.views.place import Board
from memlab.views.svg import Box, Svg, text_box
from memlab.views.techniques import looks, words
from memlab.views.techniques.names import Names
from memlab.views.techniques.rows import Row, Rows

FAR = 1.5
"""What takes so many times the bytes of all others is written at the edge."""
ROUND = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
"""Distances of the lines of the axis of time, in percent."""
TOUCH, REACH = 14, 60
"""Marks touch that are nearer than so many pixels; the line is named where that is near."""


@dataclass(frozen=True, slots=True)
class Span:
    """From ``first`` to ``last`` bytes, a tick at every ``step`` bytes."""

    first: int
    last: int
    step: int

    @property
    def ticks(self) -> list[tuple[int, str]]:
        """Bytes and labels in one unit, which the last one names."""
        unit = unit_of(self.last)
        values = range(self.first, self.last + 1, self.step)
        labels = [f"{float(Fraction(nbytes, units.UNITS[unit])):,g}" for nbytes in values]
        labels[-1] += f" {unit}"
        return list(zip(values, labels, strict=True))


def span(low: int, high: int) -> Span:
    """The round ends around two amounts, with at most seven ticks or so."""
    steps = (factor * 10**power for power in range(30) for factor in (1, 2, 5))
    step = next(each for each in steps if high - low <= 6 * each)
    return Span(low // step * step, (high // step + 1) * step, step)


@dataclass(frozen=True)
class Field:
    """A rectangle of pixels: bytes to the right, percent upwards."""

    box: Box
    bytes: Span
    low: float
    high: float
    step: float

    def x(self, nbytes: int) -> float:
        """Where an amount stands."""
        part = (nbytes - self.bytes.first) / (self.bytes.last - self.bytes.first)
        return self.box.left + (self.box.right - self.box.left) * part

    def y(self, extra: float) -> float:
        """How high a time stands."""
        part = (extra - self.low) / (self.high - self.low)
        return self.box.bottom - (self.box.bottom - self.box.top) * part

    @property
    def ticks(self) -> list[float]:
        """Round percents from the bottom to the top."""
        first, last = ceil(self.low / self.step), floor(self.high / self.step)
        return [self.step * index for index in range(first, last + 1)]


def near(found: Rows) -> list[Row]:
    """The rows that are drawn as points; of the others there is one, no reuse, or none."""
    others = [row for row in found.rows if row.key != "no_reuse"]
    far = found.row("no_reuse").peak > FAR * max(row.peak for row in others)
    return others if far else list(found.rows)


def field(found: Rows, box: Box) -> Field:
    """Axes that hold every point."""
    points = near(found)
    sizes = [found.floor.nbytes, *(row.peak for row in points)]
    sizes += [row.measured.nbytes for row in points if row.measured]
    times = [0.0, *(found.extra(row) for row in points)]
    times += [slower for row in points if (slower := found.slower(row)) is not None]
    wide = max(max(times) - min(times), 1.0)
    step = next((each for each in ROUND if wide / each <= 6), ROUND[-1])
    low, high = step * floor(min(times) / step), step * ceil(max(times) / step)
    return Field(box, span(min(sizes), max(sizes)), low - step / 2, high + step / 4, step)


def draw(svg: Svg, found: Rows, box: Box) -> None:
    """The axes, the line of the best trades, the points and their names."""
    frame, points, taken, marks = field(found, box), near(found), Board(), Board()
    _grid(svg, frame)
    corners = _line(svg, found, frame, taken)
    _bounds(svg, found, frame, taken)
    for row in points:
        _measured(svg, found, row, frame, taken)
    for row in reversed(points):
        x, y = _place(found, row, frame)
        looks.draw(svg, row.key, x, y)
        marks.take(taken.take(Box(x - 6, y - 6, x + 6, y + 6)))
    names = Names(svg, frame.box, taken, marks)
    for group in _groups(found, points, frame):
        x, y = _place(found, group[0], frame)
        names.write(x, y, [words.point(row, found) for row in group])
    if corners:
        names.write(*corners[len(corners) // 2], [[(words.say("line"), False)]], REACH)


def _place(found: Rows, row: Row, frame: Field) -> tuple[float, float]:
    return frame.x(row.peak), frame.y(found.extra(row))


def _grid(svg: Svg, frame: Field) -> None:
    left, top, right, bottom = frame.box
    svg.text(0, top - 14, words.say("time"), 12, bold=True)
    for extra in frame.ticks:
        y = frame.y(extra)
        svg.line(left, y, right, y, class_="grid" if abs(extra) > 1e-9 else "rule faint")
        svg.text(left - 8, y + 4, _tick(extra), 11, "end")
    for nbytes, label in frame.bytes.ticks:
        x = frame.x(nbytes)
        svg.line(x, top, x, bottom, class_="grid")
        svg.text(x, bottom + 16, label, 11, "middle")
    svg.line(left, bottom, right, bottom, class_="rule", opacity=0.5)
    end = svg.text(left, bottom + 34, words.say("bytes"), 12, bold=True).right
    if frame.bytes.first:
        svg.text(end + 10, bottom + 34, words.say("cut"), 11, dim=True)


def _tick(extra: float) -> str:
    sign = "−" if extra < -1e-9 else "+" if extra > 1e-9 else ""
    return f"{sign}{abs(extra):,.4g} %"


def _line(svg: Svg, found: Rows, frame: Field, taken: Board) -> list[tuple[float, float]]:
    """The staircase of the best trades: within so many bytes, no less time."""
    if len(found.trades) < 2:
        return []
    corners = [(frame.x(t.nbytes), frame.y(found.percent(t.cost))) for t in found.trades]
    path = [f"M{corners[0][0]:.1f} {corners[0][1]:.1f}"]
    for (x, y), (after, below) in pairwise(corners):
        path.append(f"H{after:.1f}V{below:.1f}")
        taken.take(Box(x - 2, y - 2, after + 2, y + 2))
        taken.take(Box(after - 2, y, after + 2, below))
    svg.path("".join(path), class_="rule", stroke_width=1.8)
    return corners


def _bounds(svg: Svg, found: Rows, frame: Field, taken: Board) -> None:
    """No reuse where it lies beyond the edge, and the lower bound as a line."""
    _, top, right, bottom = frame.box
    row = found.row("no_reuse")
    if row not in near(found):
        text = words.say("beyond", name=words.name(row, found), bytes=units.short(row.peak))
        taken.take(svg.text(right - 4, top + 14, text, 12, "end", bold=True, chip=True))
    x = frame.x(found.floor.nbytes)
    svg.line(x, top, x, bottom, class_="before")
    taken.take(Box(x - 1, top, x + 1, bottom))
    text = words.say("floor", bytes=units.short(found.floor.nbytes))
    room = extents.width(text, 11) + 6
    at, end = (x + 6, "start") if x + room < right else (x - 6, "end")
    places = (text_box(at, top + down, text, 11, end) for down in range(12, 90, 18))
    box = next(each for each in places if taken.free(each))
    taken.take(svg.text(at, box.bottom - 0.22 * 11, text, 11, end, chip=True))


def _measured(svg: Svg, found: Rows, row: Row, frame: Field, taken: Board) -> None:
    slower = found.slower(row)
    if row.measured is None or slower is None:
        return
    x, y = frame.x(row.measured.nbytes), frame.y(slower)
    svg.line(*_place(found, row, frame), x, y, class_="before thin")
    looks.measured(svg, x, y)
    taken.take(Box(x - 5, y - 5, x + 5, y + 5))


def _groups(found: Rows, points: Sequence[Row], frame: Field) -> list[list[Row]]:
    """Rows whose marks touch share a label."""
    groups: list[list[Row]] = []
    for row in sorted(points, key=lambda row: row.point):
        x, y = _place(found, row, frame)
        for group in groups:
            others = (_place(found, each, frame) for each in group)
            if any(abs(x - a) < TOUCH and abs(y - b) < TOUCH for a, b in others):
                group.append(row)
                break
        else:
            groups.append([row])
    return groups
