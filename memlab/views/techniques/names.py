"""Names of points, each at the nearest free place, with a line to one that is not beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from math import inf

import numpy as np

from memlab.views import extents
from memlab.views.place import Board
from memlab.views.svg import Box, Svg

LINE, SIZE = 15, 12
BESIDE = 16
"""A name that is farther from its point, in pixels, has a line to it."""

Piece = Sequence[tuple[str, bool]]


@dataclass(frozen=True)
class Names:
    """Where names may stand: in a frame, clear of what is ``taken``. The lines to them may cross
    others, but neither ``marks`` nor names."""

    svg: Svg
    frame: Box
    taken: Board
    marks: Board

    def write(self, x: float, y: float, lines: Sequence[Piece], reach: float = inf) -> None:
        """The name of a point in one or more lines; left out where there is no place within
        ``reach``."""
        wide = max(sum(extents.width(text, SIZE, bold) for text, bold in line) for line in lines)
        places = [each for each in _boxes(x, y, wide, LINE * len(lines)) if self._holds(each)]
        clear = (each for each in places if self._free(x, y, each))
        unwritten = (each for each in places if self.marks.free(each, 4))
        box = next(chain(clear, unwritten, places))
        if _apart(x, y, box) > reach:
            return
        if lead := _lead(x, y, box):
            self.svg.line(x, y, lead[-1].left, lead[-1].top, class_="rule faint")
        for part in (*lead, box):
            self.taken.take(part)
        self.marks.take(box)
        for index, line in enumerate(lines):
            self.svg.text(box.left, box.top + 11 + LINE * index, line, SIZE, chip=True)

    def _holds(self, box: Box) -> bool:
        left, top, right, bottom = self.frame
        across = left + 3 <= box.left and box.right <= right - 3
        return across and top + 3 <= box.top and box.bottom <= bottom - 3

    def _free(self, x: float, y: float, box: Box) -> bool:
        """Neither the name nor its line meets anything; the line begins in a mark."""
        far = [part for part in _lead(x, y, box) if _apart(x, y, part) > BESIDE]
        return self.taken.free(box, 4) and all(self.marks.free(part, 0) for part in far)


def _boxes(x: float, y: float, wide: float, tall: float) -> Iterator[Box]:
    """Places around a point, the nearest first."""
    right = (10, *range(40, 401, 60))
    across = (*right, *(-dx - wide for dx in right), -wide / 2)
    corners = ((x + dx, y + dy) for dx in across for dy in (-tall / 2, *range(-320, 321, 8)))
    boxes = (Box(left, top, left + wide, top + tall) for left, top in corners)
    return iter(sorted(boxes, key=lambda box: _apart(x, y, box)))


def _apart(x: float, y: float, box: Box) -> float:
    """The distance from a point to a box."""
    dx = max(box.left - x, 0, x - box.right)
    dy = max(box.top - y, 0, y - box.bottom)
    return float((dx * dx + dy * dy) ** 0.5)


def _lead(x: float, y: float, box: Box) -> list[Box]:
    """The line from a point to a name, as points; none where they are side by side."""
    if _apart(x, y, box) <= BESIDE:
        return []
    end = (min(max(x, box.left), box.right), min(max(y, box.top), box.bottom))
    points = np.linspace((x, y), end, 33)[1:].tolist()
    return [Box(a, b, a, b) for a, b in points]
