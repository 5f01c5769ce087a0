"""Scene 9: must it be made? The whole batch, one image, one tile, or nothing but a table."""

from __future__ import annotations

from memlab import units
from memlab.views.lecture import facts
from memlab.views.lecture.record import Recorded
from memlab.views.lecture.scene import Scene
from memlab.views.lecture.sheet import LEFT, RIGHT, Sheet, U, say

FLOOR = 488
PLACES = (64, 496, 752, 1008)
NAMES = ("batch", "image", "tile", "table")


def make(run: Recorded | None) -> Scene:
    """Areas again, on one scale: the last two are drawn and too small to see."""
    sheet, k = Sheet(steps=len(NAMES)), facts.kernel()
    ways = [facts.way(name) for name in facts.WAYS]
    sizes = [way.nbytes for way in ways]
    with sheet.step(0, 0):
        sheet.title("need.title")
    with sheet.step(1):
        sheet.title("need.found")
    sheet.path(f"M{LEFT} {FLOOR}H{RIGHT}", class_="rule")
    for step, (name, x, (size, formula)) in enumerate(zip(NAMES, PLACES, ways, strict=True)):
        with sheet.step(step):
            side = k * U * (size / sizes[0]) ** 0.5
            if step == 0:
                sheet.boxes(x, FLOOR - k * U, U, k, k)
            else:
                sheet.add("rect", x=x, y=FLOOR - side, width=side, height=side, class_="on")
            if side < 2:
                sheet.path(f"M{x} 418v36", class_="rule")
                sheet.path(f"M{x} 474l-11 -20h22z", class_="ink")
            sheet.say(x, 536, f"need.{name}", 32)
            sheet.text(x, 584, facts.amount(size), 42, bold=True)
            sheet.text(x, 624, formula, 28, dim=True)
    with sheet.step(2):
        sheet.say(PLACES[2] - 16, 396, "need.small", 30)
    with sheet.step(1):
        if run:
            sheet.say(PLACES[1], 664, "need.measured", 28, residual=run.residual, ms=run.ms)
            sheet.say(LEFT, 700, "need.recorded", 28, dim=True, where=run.where)
    if run:
        with sheet.step(0, 0):
            sheet.motto()
    else:
        sheet.motto()
    twins = [say(f"need.twin_{name}", size=units.exact(size), formula=formula)
             for name, (size, formula) in zip(NAMES, ways, strict=True)]  # fmt: skip
    if run:
        twins[1] += " " + run.text()
    return Scene("need", sheet, twins, say("need.notes"))
