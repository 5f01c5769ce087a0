"""Scene 2: one window becomes one column, three times; then all of them."""

from __future__ import annotations

from memlab.views.copies import windows
from memlab.views.copies.pixels import CELL, cells
from memlab.views.lecture.scene import Scene
from memlab.views.lecture.sheet import INPUT, MATRIX, TEXT, Sheet, say
from memlab.views.svg import Box

SHOWN = (26, 27, 28)
"""Places in the middle, side by side: their windows share most values."""
ZOOM = 3
LENS = (312, 236)


def make() -> Scene:
    """The picture of the textbooks."""
    sheet, lowered = Sheet(steps=len(SHOWN) + 1), windows.lower(3)
    columns, rows = lowered.places**2, len(lowered.copies)
    with sheet.step(0, len(SHOWN) - 1):
        sheet.title("window.title")
    with sheet.step(len(SHOWN)):
        sheet.title("window.found", windows=columns)
    sheet.input()
    sheet.label(64, 626, "label.matrix")
    with sheet.step(0, len(SHOWN) - 1):
        sheet.use("unwritten", *MATRIX)
    for step, place in enumerate(SHOWN):
        with sheet.step(step, len(SHOWN) - 1, late=300):
            _column(sheet, lowered, place)
        with sheet.step(step, step):
            _lens(sheet, lowered, step)
    with sheet.step(len(SHOWN)):
        sheet.use("matrix", *MATRIX)
        sheet.say(TEXT, 300, "window.all", 56, bold=True, rows=rows, columns=columns)
        sheet.say(TEXT, 346, "window.textbook", 34)
        sheet.say(TEXT, 390, "window.hidden", 34, rows=rows)
    return Scene("window", sheet, _twins(lowered), say("window.notes", shared=_shared(lowered)))


def _column(sheet: Sheet, lowered: windows.Lowered, place: int) -> None:
    x, y = MATRIX
    with sheet.group(transform=f"translate({x + place * CELL} {y})"):
        sheet.parts.append(cells(_values(lowered, place), 1))


def _lens(sheet: Sheet, lowered: windows.Lowered, step: int) -> None:
    """The window, three times as large, between the input and the matrix."""
    place, k, (x, y) = SHOWN[step], lowered.k, LENS
    row, column = divmod(place, lowered.places)
    wide, big = k * CELL, k * CELL * ZOOM
    left, top = INPUT[0] + (column - k // 2) * CELL, INPUT[1] + (row - k // 2) * CELL
    sheet.path(
        f"M{left + wide} {top}L{x} {y}M{left + wide} {top + wide}L{x} {y + big}", class_="lead"
    )
    sheet.square(left, top, wide, class_="look")
    with sheet.group(transform=f"translate({x} {y})"):
        sheet.parts.append(cells(_values(lowered, place), k, CELL * ZOOM))
    sheet.square(x, y, big, class_="look")
    _ends(sheet, (x + 24, y + 34), (x + big - 24, y + big - 14), len(lowered.copies), True)
    key = "window.first" if step == 0 else "window.next" if step == 1 else "window.again"
    sheet.say(512, 300, "window.values", 56, bold=True, values=len(lowered.copies))
    sheet.say(512, 346, key, 34, shared=_shared(lowered))
    foot, side = MATRIX[0] + place * CELL, len(lowered.copies) * CELL
    with sheet.step(step, step, late=300):
        sheet.path(f"M{x + big // 2} {y + big}L{foot + CELL // 2} {MATRIX[1] - 5}", class_="lead")
        sheet.rect(
            Box(foot - 2.5, MATRIX[1] - 2.5, foot + 18.5, MATRIX[1] + side + 2.5), class_="look"
        )
        near = foot + CELL + 14
        _ends(sheet, (near + 8, 570), (near + 8, 686), len(lowered.copies), False)


def _ends(
    sheet: Sheet, first: tuple[float, float], last: tuple[float, float], count: int, chip: bool
) -> None:
    """The first and the last value by their numbers."""
    sheet.text(*first, "1", 28, "middle", bold=True, chip=chip)
    sheet.text(*last, str(count), 28, "middle", bold=True, chip=chip)


def _values(lowered: windows.Lowered, place: int) -> str:
    return windows.kinds([copy[place] for copy in lowered.copies])


def _shared(lowered: windows.Lowered) -> int:
    """How many values the windows of two neighbours have in common."""
    here, there = ({copy[place] for copy in lowered.copies} for place in SHOWN[:2])
    return len(here & there)


def _twins(lowered: windows.Lowered) -> list[str]:
    rows, columns = len(lowered.copies), lowered.places**2
    texts = []
    for place in SHOWN:
        y, x = divmod(place, lowered.places)
        texts.append(say("window.twin", row=y + 1, column=x + 1, values=rows, number=place + 1,
                         columns=columns))  # fmt: skip
    return [*texts, say("window.twin_all", rows=rows, columns=columns, cells=lowered.cells)]
