"""Scene 3: the matrix read by rows. Row 1 folds into a picture: the input, shifted."""

from __future__ import annotations

from memlab.views.copies import windows
from memlab.views.copies.pixels import CELL, cells
from memlab.views.lecture.scene import Scene
from memlab.views.lecture.sheet import MATRIX, TEXT, Sheet, U, say, slot

APART = 60
"""Milliseconds between two pieces of the row."""


def make() -> Scene:
    """The turn of the lecture."""
    sheet, lowered = Sheet(steps=2), windows.lower(3)
    with sheet.step(0, 0):
        sheet.title("fold.title")
        sheet.say(TEXT, 300, "fold.row", 56, bold=True)
        sheet.say(TEXT, 346, "fold.first", 34)
    sheet.input()
    sheet.label(64, 626, "label.matrix")
    with sheet.group(class_="dimmed"):
        sheet.use("matrix", *MATRIX)
    sheet.use(f"r{lowered.key}-0", *MATRIX)
    mark_row(sheet, 0)
    with sheet.step(1):
        sheet.title("fold.found")
        _pieces(sheet, lowered)
    after = 600 + APART * lowered.places
    with sheet.step(1, late=after):
        x, y = slot(0)
        sheet.square(x - 4, y - 4, U + 8, class_="look")
        sheet.say(TEXT, 300, "fold.copy", 56, bold=True)
        sheet.say(TEXT, 346, "fold.values", 34, values=lowered.places**2)
    zeros = lowered.copies[0].count(None)
    values = lowered.places**2
    twins = [
        say("fold.twin", values=values),
        say("fold.twin_found", size=lowered.places, values=values - zeros, zeros=zeros),
    ]
    return Scene("fold", sheet, twins, say("fold.notes"))


def _pieces(sheet: Sheet, lowered: windows.Lowered) -> None:
    """The row breaks into pieces, which go to their places one after the other."""
    (x, y), wide = slot(0), lowered.places
    kinds = windows.kinds(lowered.copies[0])
    for row in range(wide):
        top = y + row * CELL
        start = f"{MATRIX[0] + row * U - x},{MATRIX[1] - top}"
        piece = cells(kinds[row * wide : (row + 1) * wide], wide)
        with sheet.group(data_fold=start, data_wait=row * APART):
            sheet.add("g", piece, transform=f"translate({x} {top})")
    lines = "".join(f"M{x} {y + row * CELL}h{U}" for row in range(1, wide))
    sheet.path(lines, class_="grid")
    sheet.square(x, y, U, class_="edge")


def mark_row(sheet: Sheet, row: int) -> None:
    """A frame around a row of the matrix, and a pointer before it."""
    x, y = MATRIX
    y += row * CELL
    sheet.add("rect", x=x - 2, y=y - 2, width=8 * U + 4, height=CELL + 4, class_="look")
    sheet.path(f"M{x - 8} {y + 8}l-16 -10v20z", class_="pointer")
