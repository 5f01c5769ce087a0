"""What the page defines once and uses often: the picture, every copy, every row of a matrix."""

from __future__ import annotations

from memlab.views.copies import windows
from memlab.views.copies.pixels import CELL, SMALL, cells, strokes
from memlab.views.lecture.sheet import U


def definitions() -> str:
    """The parts by name: ``picture``, ``ghost``, ``matrix``, ``c3-1-same-0`` for a copy and
    ``r3-1-same-0`` for the same as a row; ``b`` and ``l`` are those of the bench."""
    found = {
        "picture": cells("".join(windows.LETTER), windows.SIZE),
        "ghost": f'<rect x="1" y="1" width="{U - 2}" height="{U - 2}" class="ghost"/>',
        "unwritten": _unwritten(),
        "matrix": _matrix(windows.lower(3)),
        "sorted": _sorted(windows.lower(3)),
    }
    for stride in windows.STRIDES:
        found |= _copies(windows.lower(3, stride))
    for lowered in windows.every():
        found |= _small(lowered)
    return "".join(f'<g id="{name}">{body}</g>' for name, body in found.items())


def _copies(lowered: windows.Lowered) -> dict[str, str]:
    found = {}
    for index, copy in enumerate(lowered.copies):
        kinds = windows.kinds(copy)
        found[f"c{lowered.key}-{index}"] = cells(kinds, lowered.places)
        found[f"r{lowered.key}-{index}"] = cells(kinds, len(kinds))
    return found


def _small(lowered: windows.Lowered) -> dict[str, str]:
    """Copies and rows of the bench, whose hatch is a pattern: it is not printed."""
    found = {}
    for index, copy in enumerate(lowered.copies):
        kinds = windows.kinds(copy)
        found[f"b{lowered.key}-{index}"] = strokes(kinds, lowered.places, SMALL)
        found[f"l{lowered.key}-{index}"] = strokes(kinds, len(kinds), SMALL)
    return found


def _size(lowered: windows.Lowered) -> tuple[int, int]:
    return lowered.places**2 * CELL, len(lowered.copies) * CELL


def _matrix(lowered: windows.Lowered) -> str:
    wide, high = _size(lowered)
    rows = "".join(
        f'<use href="#r{lowered.key}-{index}" y="{index * CELL}"/>'
        for index in range(len(lowered.copies))
    )
    lines = "".join(f"M0 {y}H{wide}" for y in range(CELL, high, CELL))
    return f'{rows}<path class="grid" d="{lines}"/>{_frame(wide, high, "edge")}'


def _unwritten() -> str:
    wide, high = _size(windows.lower(3))
    lines = "".join(f"M0 {y}H{wide}" for y in range(CELL, high, CELL))
    return f'<path class="faint" d="{lines}"/>{_frame(wide, high, "ghost")}'


def _sorted(lowered: windows.Lowered) -> str:
    """Column by column, the values first."""
    wide, high = _size(lowered)
    rows, columns = len(lowered.copies), lowered.places**2
    values = lowered.cells - lowered.zeros
    kinds = "".join(
        "#" if x * rows + y < values else "0" for y in range(rows) for x in range(columns)
    )
    return cells(kinds, columns) + _frame(wide, high, "edge")


def _frame(wide: int, high: int, name: str) -> str:
    return f'<rect width="{wide}" height="{high}" class="{name}"/>'
