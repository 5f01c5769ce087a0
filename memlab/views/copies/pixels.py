"""Cells of a picture or of a matrix as few paths: what is equal and side by side is one rectangle.

Where scenes are printed, hatches are lines: a printer turns patterns into bitmaps.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

CELL = 16
"""Pixels of a cell on a page of the lecture, 1280 x 720."""
SMALL = 8
"""The same on its bench."""
CLASSES = {"#": "on", ".": "pale", "0": "zero"}


def cells(kinds: str, columns: int, cell: int = CELL) -> str:
    """Rows of cells, from the top left corner on, with the lines between them."""
    marks: dict[str, list[str]] = {}
    for kind, x, y, wide in _runs(kinds, columns, cell):
        marks.setdefault(CLASSES[kind], []).append(f"M{x} {y}h{wide}v{cell}h-{wide}z")
        if kind == "0":
            marks.setdefault("lines", []).append(hatch(x, y, wide, cell))
    return _paths(marks) + grid(columns, len(kinds) // columns, cell)


def strokes(kinds: str, columns: int, cell: int) -> str:
    """The same in less text, without the lines between: each run is a stroke, as wide as a cell
    where its surroundings say so."""
    marks: dict[str, list[str]] = {}
    for kind, x, y, wide in _runs(kinds, columns, cell):
        marks.setdefault(f"{CLASSES[kind]}-run", []).append(f"M{x} {y + cell // 2}h{wide}")
    return _paths(marks)


def _runs(kinds: str, columns: int, cell: int) -> Iterator[tuple[str, int, int, int]]:
    """Kind, left, top and width of what is equal and side by side."""
    for row in range(len(kinds) // columns):
        x = 0
        for kind, run in groupby(kinds[row * columns : (row + 1) * columns]):
            wide = len(list(run)) * cell
            yield kind, x, row * cell, wide
            x += wide


def grid(columns: int, rows: int, cell: int = CELL) -> str:
    """The lines between cells."""
    across = "".join(f"M0 {y * cell}H{columns * cell}" for y in range(1, rows))
    down = "".join(f"M{x * cell} 0V{rows * cell}" for x in range(1, columns))
    return _paths({"grid": [across, down]}) if across or down else ""


def hatch(x: float, y: float, wide: float, high: float, apart: float = 11, edge: float = 1) -> str:
    """Slanted lines inside a rectangle, ``edge`` short of its border. They depend on the place
    alone, so neighbours join."""
    left, top, right, bottom = x + edge, y + edge, x + wide - edge, y + high - edge
    drawn = []
    foot = int((left + top) // apart + 1) * apart
    while foot < right + bottom:
        start, end = max(left, foot - bottom), min(right, foot - top)
        if end - start > 1:
            drawn.append(f"M{_short(start)} {_short(foot - start)}l{_short(end - start)} ")
            drawn.append(_short(start - end))
        foot += apart
    return "".join(drawn)


def _paths(marks: dict[str, list[str]]) -> str:
    return "".join(f'<path class="{name}" d="{"".join(path)}"/>' for name, path in marks.items())


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
