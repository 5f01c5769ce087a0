"""Scene 10: the formula, and its k² as areas on one scale."""

from __future__ import annotations

from memlab import units
from memlab.views.copies import windows
from memlab.views.lecture import facts
from memlab.views.lecture.scene import Scene
from memlab.views.lecture.sheet import LEFT, RIGHT, Sheet, U, say

SIDE = U // 2
FLOOR = 568


def make() -> Scene:
    """Four kernels side by side."""
    sheet, kernels = Sheet(), windows.KERNELS
    sheet.title("formula.title")
    _formula(sheet)
    sheet.say(LEFT, 206, "formula.layer", 30, dim=True, batch=facts.BATCH)
    gap = (RIGHT - LEFT - SIDE * sum(kernels)) / (len(kernels) - 1)
    x: float = LEFT
    for k in kernels:
        size = facts.lowered(facts.layer(k))
        if size:
            sheet.boxes(x, FLOOR - k * SIDE, SIDE, k, k)
        else:
            sheet.square(x, FLOOR - SIDE, SIDE, class_="ghost")
        sheet.say(x, 612, "kernel", 32, k=k)
        sheet.text(x, 658, facts.amount(size), 40, bold=True)
        x += k * SIDE + gap
    sheet.motto()
    parts = ", ".join(
        say("formula.twin_part", k=k, size=units.exact(facts.lowered(facts.layer(k))))
        for k in kernels
    )
    twin = say("formula.twin", batch=facts.BATCH, parts=parts)
    card = facts.fits(facts.layer(kernels[-1]))
    return Scene("formula", sheet, [twin], say("formula.notes", k=kernels[-1], fits=card))


def _formula(sheet: Sheet) -> None:
    """B · C · k² · Ho · Wo · 4 bytes, its k² large."""
    dot = " · "
    x = sheet.text(LEFT, 154, f"B{dot}C{dot}", 52).right
    x = sheet.text(x + 12, 154, "k²", 76, bold=True).right + 12
    for letter in "HW":
        x = sheet.text(x, 154, f"{dot}{letter}".lstrip(), 52).right + 2
        x = sheet.text(x, 166, "o", 34).right
        x += 12
    sheet.say(x, 154, "formula.bytes", 52)
