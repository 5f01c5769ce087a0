"""Names on the plot: of the slices, the two parts and the outline before, where there is room."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from memlab import strings, units
from memlab.views import extents
from memlab.views.network import words
from memlab.views.network.layout import LEFT
from memlab.views.network.plot import Plot
from memlab.views.network.rows import Rows
from memlab.views.paths import Floats
from memlab.views.roles import STACK
from memlab.views.svg import Box

LINE = 14


def draw(plot: Plot) -> None:
    """All of them, the most important first; what has no room is in the table."""
    if plot.rows.outline is not None:
        _growth(plot, plot.rows.outline)
        _before(plot, plot.rows.outline)
    _floor(plot)
    _mountain(plot)
    _slices(plot)


def _growth(plot: Plot, old: Rows) -> None:
    """An arrow from the outline to the peak, and by how much it has grown."""
    rows, frame = plot.rows, plot.frame
    was = old.source.at(rows.peak.index, old.batch)
    low, high = frame.y(was), frame.y(rows.peak.nbytes)
    if low - high < 30 or plot.torn:
        return
    x = plot.middle(rows.peak.index) + 12
    if x > plot.right - 6:
        return
    arrow = f"M{x:.1f} {low:.1f}V{high + 3:.1f}m-4 6l4 -6l4 6"
    plot.svg.path(arrow, class_="rule", stroke_width=1.4)
    plot.board.take(Box(x - 4, high, x + 4, low))
    name = strings.get("network.growth", size=units.short(rows.peak.nbytes - was))
    wide = extents.width(name, 12, True)
    middles = (low + high) / 2 + np.array([0, -16, 16, -32, 32])
    places = [Box(x + 8, y - 7, x + 8 + wide, y + 5) for y in middles.tolist()]
    if box := plot.board.first([p for p in places if high < p.top and p.bottom < low], 2):
        plot.svg.text(box.left, box.top + 11, name, 12, bold=True, chip=True)


def _before(plot: Plot, old: Rows) -> None:
    """What the dashed outline is: near its peak, and across no line where that can be."""
    name = words.before(plot.rows)
    free = [box for box in _near(plot, old, extents.width(name, 11)) if plot.board.free(box, 2)]
    box = next((box for box in free if not plot.crossed(box)), next(iter(free), None))
    if box is not None:
        plot.board.take(box)
        plot.svg.text(box.left, box.top + 9, name, 11, chip=True)


def _near(plot: Plot, old: Rows, wide: float) -> list[Box]:
    """Places around the peak of the outline, the nearest first."""
    x, y = plot.middle(old.peak.index), plot.frame.y(old.peak.nbytes)
    found = []
    for down in range(-44, 60, 8):
        for left in range(LEFT + 4, int(plot.right - wide - 3), 12):
            box = Box(left, y + down - 9, left + wide, y + down + 3)
            if plot.top + 9 < box.top and box.bottom < plot.bottom:
                aside = max(left - x, x - left - wide, 0)
                found.append((aside + 1.5 * abs(down + 6), box))
    return [box for _, box in sorted(found)]


def _floor(plot: Plot) -> None:
    """What the thick line is: over it where the mountain has ended, else under it; or one word."""
    if _over(plot, "floor_label") or _over(plot, "floor_narrow"):
        return
    floor, name = plot.rows.source.floor.astype(np.float64), words.get("floor_line")
    wide = extents.width(name, 12, True)
    below = np.maximum(floor - plot.frame.end * 28 / (plot.bottom - plot.top), 0)
    box = plot.board.widest(plot.frame, below, floor, wide, 16)
    if box is not None:
        plot.svg.text(box.left, box.top + 12, name, 12, bold=True, chip=True)
    else:
        _over(plot, "table.floor")


def _over(plot: Plot, key: str) -> bool:
    """Put a text over the floor line, near the right edge; False where it has no room."""
    lines, ground = words.get(key).split("\n"), _ground(plot)
    line = plot.frame.columns(plot.rows.source.floor.astype(np.float64))
    wide = max(extents.width(part, 12, True) for part in lines)
    for left in range(int(plot.right - 5 - wide), int(max(plot.right - 60 - wide, LEFT)), -6):
        columns = slice(max(left - LEFT - 5, 0), left - LEFT + int(wide) + 1)
        bottom = ground[columns].min() - 7
        box = Box(left, bottom - LINE * len(lines), left + wide, bottom)
        near = (line[columns] - ground[columns]).max() < 16
        if near and box.top > plot.top + 4 and plot.board.first([box]):
            _lines(plot, box, lines, "end")
            return True
    return False


def _mountain(plot: Plot) -> None:
    """What grows: in the sky over its left flank, else inside it."""
    lines, ground = words.get("mountain_label").split("\n"), _ground(plot)
    wide = max(extents.width(line, 12, True) for line in lines)
    tall = LINE * len(lines)
    floor = plot.rows.source.floor.astype(np.float64)
    thick = plot.frame.columns(floor) - plot.ground
    places = []
    for left in range(LEFT + 8, int(plot.right - wide), 10):
        columns = slice(left - LEFT, left - LEFT + int(wide) + 1)
        bottom = ground[columns].min() - 7
        if bottom - tall > plot.top + 6 and thick[columns].min() > 12:
            places.append(Box(left, bottom - tall, left + wide, bottom))
    pole = plot.middle(plot.rows.peak.index)
    if box := plot.board.first(sorted(places, key=lambda place: place.left > pole)):
        _lines(plot, box, lines, "start")
        return
    for low, high in _layers(plot, floor, plot.rows.curve):
        if box := plot.board.widest(plot.frame, low, high, wide, tall):
            _lines(plot, box, lines, "start")
            return


def _ground(plot: Plot) -> Floats:
    """The y of the highest curve in every column: the sky is above it."""
    curve, outline = plot.rows.curve, plot.rows.outline
    return plot.frame.columns(curve if outline is None else np.maximum(curve, outline.curve))


def _lines(plot: Plot, box: Box, lines: list[str], anchor: str) -> None:
    x = box.left if anchor == "start" else box.right
    for index, line in enumerate(lines):
        plot.svg.text(x, box.top + 11 + LINE * index, line, 12, anchor, bold=True)


def _slices(plot: Plot) -> None:
    """The name of each slice of the stack where it is thickest."""
    for look, (low, high) in zip(STACK, plot.stack, strict=True):
        size = 14 if look.grows else 12
        wide = extents.width(look.label, size)
        for lower, upper in _layers(plot, low, high):
            if box := plot.board.widest(plot.frame, lower, upper, wide, size + 4):
                chip = bool(look.paint.pattern)
                plot.svg.text(box.left, box.top + size, look.label, size, chip=chip)
                break


def _layers(plot: Plot, low: Floats, high: Floats) -> Iterator[tuple[Floats, Floats]]:
    """A slice as it is, or the parts that dashed curves cut it into, from the top."""
    edges = [low, *(np.clip(line, low, high) for line in plot.lines), high]
    yield from reversed(list(pairwise(edges)))
