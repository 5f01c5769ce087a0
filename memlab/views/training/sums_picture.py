"""The picture of running sums: the sum so far, over how many values were added."""

from __future__ import annotations

from math import ceil
from zlib import crc32

import numpy as np

from memlab.views import axis, extents
from memlab.views.speed import marks
from memlab.views.svg import Box, Svg
from memlab.views.training import head, lines, words
from memlab.views.training.head import WIDTH
from memlab.views.training.lines import Points
from memlab.views.training.sums import Sums, Way, figure

TALL, POINTS = 260, 256
LEFT, RIGHT, NAMES = 62, 520, 556
PITCH = 46
"""Between the names of lines that end close to each other."""


def draw(found: Sums) -> Svg:
    """The picture."""
    headline = head.wrapped(found.headline)
    top = 64 + head.LINE * len(headline)
    box = Box(LEFT, top, RIGHT, top + TALL)
    svg = Svg(WIDTH, box.bottom + 42, f"a{crc32(found.text().encode()):08x}")
    head.draw(svg, found.title, headline)
    scale = axis.over(ceil(_most(found)), axis.TIGHT)
    ticks = [(n / scale.end, f"{n:,}") for n in range(0, scale.end + 1, scale.step)]
    counts = [(n / found.count, f"{n:,}") for n in axis.counts(found.count)]
    lines.frame(svg, box, counts, ticks)
    svg.text(0, top - 14, words.say("sums.head.sum"), 12, bold=True)
    svg.text(RIGHT, box.bottom + 34, words.say("sums.axis"), 11, "end", dim=True)
    ends = [_line(svg, found, index, scale.end, box) for index in range(len(found.ways))]
    _names(svg, found, ends, box)
    return svg


def _most(found: Sums) -> float:
    """The largest sum that is a number, and the exact one."""
    sums = np.concatenate([way.sums for way in found.ways])
    return max(float(np.max(sums, initial=0, where=np.isfinite(sums))), found.exact)


def _line(svg: Svg, found: Sums, index: int, end: int, box: Box) -> tuple[float, float]:
    """The line of a way; where it ends."""

    def at(count: int, total: float) -> tuple[float, float]:
        x = box.left + (box.right - box.left) * count / found.count
        return x, box.bottom - (box.bottom - box.top) * total / end

    points: Points = [at(count, total) for count, total in _points(found.ways[index])]
    lines.draw(svg, index, points)
    if not np.isfinite(found.ways[index].end):
        lines.cross(svg, *points[-1])
    return points[-1]


def _points(way: Way) -> list[tuple[int, float]]:
    """Some of the sums, with the first and the last; those that are numbers."""
    counts = np.unique(np.linspace(1, len(way.sums), POINTS).astype(int)).tolist()
    found = [(count, float(way.sums[count - 1])) for count in counts]
    return [(0, 0.0), *((count, total) for count, total in found if np.isfinite(total))]


def _names(svg: Svg, found: Sums, ends: list[tuple[float, float]], box: Box) -> None:
    """Name and end of every line, from the top down, with a line that leads to it."""
    order = sorted(range(len(ends)), key=lambda index: ends[index][1])
    free = box.top + 8
    for place, index in enumerate(order):
        left = (len(order) - place - 1) * PITCH
        y = min(max(ends[index][1], free), box.bottom - 12 - left)
        free = y + PITCH
        way = found.ways[index]
        svg.line(*ends[index], NAMES - 6, y, class_="rule faint", stroke_width=0.9)
        marks.draw(svg, index, *ends[index])
        lines.sample(svg, index, NAMES - 6, y)
        svg.text(NAMES + 32, y + 4, extents.shortened(way.name, WIDTH - NAMES - 32, 12), 12)
        svg.text(NAMES + 32, y + 20, figure(way.end), 13, bold=True)
