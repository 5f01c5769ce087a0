"""Scene 4: row by row, nine copies of the whole input. Then area is bytes."""

from __future__ import annotations

from fractions import Fraction

from memlab import units
from memlab.views.copies import windows
from memlab.views.copies.pixels import CELL, hatch
from memlab.views.lecture import facts
from memlab.views.lecture.scene import Scene
from memlab.views.lecture.scenes.fold import mark_row
from memlab.views.lecture.sheet import INPUT, LEFT, MATRIX, TEXT, Sheet, U, say, slot

LANDED = 400
"""Milliseconds until a print of the input has come to its place."""
ALONE = 3
"""From this step on the copies follow by themselves."""


def make() -> Scene:
    """The picture to remember."""
    lowered = windows.lower(facts.kernel())
    count = len(lowered.copies)
    sheet, done = Sheet(steps=count + 1), count - 1
    with sheet.step(0, done - 1):
        sheet.title("copies.title")
        sheet.use("unwritten", *MATRIX)
    with sheet.step(done):
        sheet.title("copies.found", k=lowered.k, copies=count)
    with sheet.step(0, done):
        sheet.input()
        sheet.label(LEFT, 626, "label.matrix")
        sheet.square(TEXT, 430, 32, class_="zero edge")
        sheet.path(hatch(TEXT, 430, 32, 32), class_="lines")
        sheet.say(TEXT + 48, 457, "copies.zeros", 32)
    for index in range(count):
        _copy(sheet, lowered, index, done)
    with sheet.step(count, fade=500):
        _area(sheet, lowered.k)
    return Scene("copies", sheet, _twins(lowered), say("copies.notes"), (ALONE, done))


def _copy(sheet: Sheet, lowered: windows.Lowered, index: int, done: int) -> None:
    (x, y), (oy, ox) = slot(index), divmod(index, lowered.k)
    row = MATRIX[1] + index * CELL
    if index:
        with sheet.step(0, index - 1, linger=LANDED):
            sheet.use("ghost", x, y)
    fly = f"{INPUT[0] - x},{INPUT[1] - y},{(1 - ox) * CELL},{(1 - oy) * CELL}" if index else None
    with sheet.step(index, done, fly=fly):
        sheet.use(f"c{lowered.key}-{index}", x, y)
        sheet.square(x, y, U, class_="edge")
    with sheet.step(index, done, late=LANDED if index else None):
        sheet.use(f"r{lowered.key}-{index}", MATRIX[0], row)
        if index:
            sheet.path(f"M{MATRIX[0]} {row}h{8 * U}", class_="grid")
    last = index if index < done else done
    with sheet.step(index, last, late=LANDED if index else None, linger=LANDED):
        sheet.square(x - 4, y - 4, U + 8, class_="look")
        mark_row(sheet, index)
        sheet.hero(f"{index + 1} ×", "copies.input")


def _area(sheet: Sheet, k: int) -> None:
    """The pixels are gone, and the bytes stay."""
    sheet.input(flat=True)
    input_, copy = facts.source(), facts.lowered(facts.layer())
    sheet.text(LEFT, INPUT[1] + U + 42, facts.amount(input_), 36)
    sheet.hero(facts.amount(copy), "copies.times", 322, times=facts.times(Fraction(copy, input_)))
    for index in range(k * k):
        sheet.square(*slot(index), U, class_="on")
    sheet.say(LEFT, 640, "copies.area", 72, bold=True)
    sheet.motto("motto.layer", layer=facts.LAYER, batch=facts.BATCH)


def _twins(lowered: windows.Lowered) -> list[str]:
    input_, copy = facts.source(), facts.lowered(facts.layer())
    texts = []
    for index, pixels in enumerate(lowered.copies):
        ky, kx = divmod(index, lowered.k)
        unshifted = say("copies.unshifted") if pixels == tuple(range(len(pixels))) else ""
        texts.append(say(
            "copies.twin", number=index + 1, count=len(lowered.copies), ky=ky, kx=kx,
            unshifted=unshifted, values=len(pixels) - pixels.count(None),
            zeros=pixels.count(None), written=units.exact((index + 1) * input_),
            whole=units.exact(copy), input=units.exact(input_), now=index + 1,
            end=facts.times(Fraction(copy, input_)), k=lowered.k,
        ))  # fmt: skip
    last = say("copies.twin_area", input=units.exact(input_), copy=units.exact(copy),
               times=facts.times(Fraction(copy, input_)))  # fmt: skip
    return [*texts, last]
