"""Scene 5: where one pixel stands; why the factor is exact; any other pixel by a click."""

from __future__ import annotations

from memlab.views.copies import windows
from memlab.views.copies.pixels import CELL, hatch
from memlab.views.lecture.scene import Scene
from memlab.views.lecture.sheet import INPUT, LEFT, MATRIX, TEXT, TITLE, Sheet, U, say, slot

SHOWN = (4 * 8 + 5, 7 * 8 + 2, 7 * 8 + 7)
"""Pixels inside, at an edge, in a corner."""


def make() -> Scene:
    """Counted by three pixels, then all of them sorted."""
    sheet, lowered = Sheet(steps=len(SHOWN) + 1), windows.lower(3)
    last = len(SHOWN) - 1
    sheet.input()
    with sheet.step(0, last):
        with sheet.group(class_="dimmed"):
            _copies(sheet, lowered)
            sheet.use("matrix", *MATRIX)
        sheet.add("rect", x=MATRIX[0], y=MATRIX[1], width=8 * U, height=9 * CELL, class_="edge")
        sheet.label(LEFT, 626, "label.matrix")
        sheet.say(LEFT, 440, "pixel.click", 28, dim=True)
        with sheet.group(class_="pinned-only"):
            _fill(sheet)
    for step, pixel in enumerate(SHOWN):
        with sheet.step(step, step), sheet.group(class_="unpinned-only"):
            count = lowered.written(pixel)
            sheet.title("pixel.title", count=count)
            sheet.hero(f"{count} ×", "pixel.written")
            _marks(sheet, lowered, pixel)
    with sheet.step(len(SHOWN)):
        _sorted(sheet, lowered)
    pins = {
        "map": lowered.key,
        "steps": len(SHOWN),
        "cell": CELL,
        "input": INPUT,
        "copies": (*slot(0), slot(1)[0] - slot(0)[0]),
        "matrix": MATRIX,
    }
    return Scene("pixel", sheet, _twins(lowered), say("pixel.notes"), pins=pins)


def _fill(sheet: Sheet) -> None:
    """What the browser writes where another pixel is pinned."""
    sheet.add("text", say("pixel.chosen"), x=LEFT, y=TITLE, class_="s42 b")
    sheet.add("text", "", x=TEXT, y=306, class_="s96 b", data_says="count")
    sheet.add("text", "", x=TEXT, y=356, class_="s32", data_says="pinned")
    sheet.add("text", "", x=TEXT, y=396, class_="s32", data_says="pinned2")


def _copies(sheet: Sheet, lowered: windows.Lowered) -> None:
    for index in range(len(lowered.copies)):
        sheet.use(f"c{lowered.key}-{index}", *slot(index))
        sheet.square(*slot(index), U, class_="edge")


def _marks(sheet: Sheet, lowered: windows.Lowered, pixel: int) -> None:
    row, column = divmod(pixel, windows.SIZE)
    _mark(sheet, INPUT[0] + column * CELL, INPUT[1] + row * CELL)
    for index, copy in enumerate(lowered.copies):
        for place, held in enumerate(copy):
            if held == pixel:
                x, y = slot(index)
                oy, ox = divmod(place, lowered.places)
                _mark(sheet, x + ox * CELL, y + oy * CELL)
                left, top = MATRIX[0] + place * CELL, MATRIX[1] + index * CELL
                sheet.square(left, top, CELL, class_="mark")


def _mark(sheet: Sheet, x: int, y: int) -> None:
    sheet.square(x, y, CELL, class_="mark")
    sheet.square(x - 7, y - 7, CELL + 14, class_="ring")


def _sorted(sheet: Sheet, lowered: windows.Lowered) -> None:
    """The matrix with its values first and its zeros last."""
    count, zeros = len(lowered.copies), lowered.zeros
    sheet.title("pixel.found", count=count)
    _copies(sheet, lowered)
    sheet.label(LEFT, INPUT[1] + U + 40, "pixel.all", values=windows.SIZE**2)
    sheet.label(LEFT, 626, "label.sorted")
    for y, kind, key, value in (
        (250, "on", "pixel.values", lowered.cells - zeros),
        (306, "zero", "pixel.zeros", zeros),
    ):
        sheet.square(TEXT, y, 32, class_=f"{kind} edge")
        if kind == "zero":
            sheet.path(hatch(TEXT, y, 32, 32), class_="lines")
        sheet.say(TEXT + 50, y + 33, key, 44, bold=True, value=value)
    sheet.path(f"M{TEXT} 360h334", class_="rule")
    sheet.say(TEXT + 50, 413, "pixel.sum", 44, bold=True, cells=lowered.cells, count=count,
              values=windows.SIZE**2)  # fmt: skip
    sheet.use("sorted", *MATRIX)


def _twins(lowered: windows.Lowered) -> list[str]:
    texts = []
    for pixel in SHOWN:
        row, column = divmod(pixel, windows.SIZE)
        texts.append(
            say("pixel.twin", row=row + 1, column=column + 1, count=lowered.written(pixel))
        )
    return [*texts, say("pixel.twin_sum", values=lowered.cells - lowered.zeros, zeros=lowered.zeros,
                        cells=lowered.cells, count=len(lowered.copies),
                        all=windows.SIZE**2)]  # fmt: skip
