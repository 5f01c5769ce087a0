"""Bars of rows on one scale: a bar in cells, the end of an earlier one, and the keys that move from
bar to bar."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memlab.pictures.draw.marks import Mark, Pen, Rect
from memlab.pictures.draw.svg import Box

TALL = 34
"""Height of a bar in pixels."""
PALE = 0.26
"""Opacity of what is not in focus."""
AMOUNT = 66
"""Pixels for an amount beside a bar."""


@dataclass(frozen=True)
class CellBar(Rect):
    """Bar that may be divided into cells of equal size. A pale bar is not in focus."""

    cells: int = 1
    pale: bool = False

    def draw(self, pen: Pen) -> None:
        box = self.box(pen)
        wide = (box.right - box.left) / self.cells
        with pen.svg.group(opacity=PALE if self.pale else None):
            super().draw(pen)
            for x in (box.left + index * wide for index in range(1, self.cells)):
                pen.svg.rect(Box(x - 0.9, box.top, x + 0.9, box.bottom), class_="page")


def gone(row: int, end: float, old: float) -> Iterator[Mark]:
    """Yield marks for what another choice has beyond the end of the bar in a row, dashed."""
    if abs(old - end) > 0.004 * abs(old) and abs(old) > abs(end):
        yield Rect(min(end, old), max(end, old), row, row + 1, "before", 1.5, TALL)


def margins(room: float, state: int, maps: int, least: float) -> tuple[float, float]:
    """Return the margins in pixels to the left and right of bars that lie on both sides of a line.

    Args:
        room: pixels for the bars and their amounts.
        state: bytes at the end of the scale to the left.
        maps: bytes at the end of the scale to the right.
        least: pixels that the right side has at least, with its margin.
    """
    part = state / max(state + maps, 1)
    right = 8.0
    if (room - AMOUNT - right) * (1 - part) + right < least:
        right = (least - (room - AMOUNT) * (1 - part)) / part
    left = max(float(AMOUNT), 100 - (room - AMOUNT - right) * part)
    return left, right


def next_place(places: Sequence[str], here: str, key: str) -> str:
    """Return the place that an arrow key moves to. A place is a row and a part of it, as in
    ``'0:parameter'``; ``places`` go from left to right and from top to bottom."""
    if here not in places:
        return places[0]
    row, _, part = here.partition(":")
    by = -1 if key in ("ArrowUp", "ArrowLeft") else 1
    if key in ("ArrowUp", "ArrowDown"):
        there = f"{int(row) + by}:{part}"
        return there if there in places else here
    return _moved(places, here, by)


def next_row(rows: Sequence[str], here: str, key: str) -> str:
    """Return the row that an arrow key leads to, from the top down; ``''`` for Escape."""
    if key == "Escape":
        return ""
    if here not in rows:
        return rows[0]
    return _moved(rows, here, 1 if key == "ArrowDown" else -1)


def _moved(names: Sequence[str], here: str, by: int) -> str:
    """Return the name that stands ``by`` places after another, and no further than the ends."""
    at = names.index(here) + by
    return names[min(max(at, 0), len(names) - 1)]
