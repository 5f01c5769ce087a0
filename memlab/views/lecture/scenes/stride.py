"""Scene 6: at stride 2 each copy is a quarter, and put together they show what is paid."""

from __future__ import annotations

from fractions import Fraction

from memlab.views.copies import windows
from memlab.views.lecture import facts
from memlab.views.lecture.scene import Scene
from memlab.views.lecture.sheet import COPIES, INPUT, LEFT, Sheet, U, say, slot

STRIDE = 2


def make() -> Scene:
    """The copies shrink, then glide together."""
    sheet, lowered = Sheet(steps=2), windows.lower(3, STRIDE)
    count, whole = len(lowered.copies), windows.SIZE**2
    part, ratio = Fraction(lowered.places**2, whole), Fraction(lowered.cells, whole)
    known = {"stride": STRIDE, "copies": count, "part": facts.part(part)}
    with sheet.step(0, 0):
        sheet.title("stride.title", **known)
        sheet.input()
        sheet.hero(f"{count} × {facts.part(part)}", "copies.input")
        for index in range(count):
            x, y = slot(index)
            sheet.use("ghost", x, y)
            sheet.use(f"c{lowered.key}-{index}", x, y)
            sheet.square(x, y, lowered.places * 16, class_="edge")
    with sheet.step(1):
        sheet.title("stride.found", times=facts.times(ratio), **known)
        sheet.input(flat=True)
        sheet.hero(f"{facts.times(ratio)} ×", "copies.input")
        _together(sheet, lowered, int(1 / part))
        sheet.motto("motto.area")
    sheet.say(LEFT, 600, "stride.why", 36, k2=count, s2=STRIDE**2)
    zeros = lowered.zeros
    twins = [
        say("stride.twin", size=lowered.places, values=lowered.cells - zeros, zeros=zeros,
            cells=lowered.cells, **known),
        say("stride.twin_found", cells=lowered.cells, times=facts.times(ratio), values=whole),
    ]  # fmt: skip
    return Scene("stride", sheet, twins, say("stride.notes"))


def _together(sheet: Sheet, lowered: windows.Lowered, each: int) -> None:
    """``each`` parts make one square of the input's size."""
    side = lowered.places * 16
    for group in range(-(-len(lowered.copies) // each)):
        sheet.use("ghost", COPIES[0] + group * (U + 16), INPUT[1])
    for index in range(len(lowered.copies)):
        group, inside = divmod(index, each)
        row, column = divmod(inside, STRIDE)
        x = COPIES[0] + group * (U + 16) + column * side
        y = INPUT[1] + row * side
        from_ = slot(index)
        with sheet.group(data_fold=f"{from_[0] - x},{from_[1] - y}", data_wait=60 * index):
            sheet.square(x, y, side, class_="on part")
