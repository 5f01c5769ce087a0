"""Scene 8: the real layer, batch by batch, until its copy leaves the box of a 12 GB card."""

from __future__ import annotations

from memlab import units
from memlab.views.copies.pixels import hatch
from memlab.views.lecture import facts
from memlab.views.lecture.scene import Scene
from memlab.views.lecture.scenes.question import ANSWERS, nbytes
from memlab.views.lecture.sheet import LEFT, RIGHT, Sheet, U, say
from memlab.views.svg import Box

TOP, FOOT = 336, 464
STOPS = (1, 16, 64, 128)


def make() -> Scene:
    """Length is bytes on one scale, whatever the batch: the page is the copy at the last one."""
    sheet = Sheet(steps=len(facts.BATCHES))
    for step, batch in enumerate(facts.BATCHES):
        with sheet.step(step, step):
            _stop(sheet, batch, facts.BATCHES[step - 1] if step else batch)
    end = _x(facts.CARD.memory)
    year = facts.CARD.model.rpartition(", ")[2]
    sheet.say(LEFT, 316, "size.card", 32, card=facts.CARD.name, year=year)
    sheet.rect(Box(LEFT - 3, TOP - 3, end + 3, FOOT + 3), class_="card")
    with sheet.step(len(facts.BATCHES) - 1), sheet.group(class_="votes-only"):
        _votes(sheet)
    sheet.motto()
    stops = tuple(facts.BATCHES.index(batch) for batch in STOPS)
    notes = say("size.notes", answer=ANSWERS[-1], screens=_screens(), fits=_fits(), k2=_k2())
    return Scene("size", sheet, [_twin(batch) for batch in facts.BATCHES], notes, stops=stops)


def _x(nbytes: float) -> float:
    return LEFT + nbytes / facts.lowered(facts.layer()) * (RIGHT - LEFT)


def _k2() -> int:
    return facts.kernel() ** 2


def _fits() -> int:
    return facts.fits(facts.layer())


def _screens() -> int:
    """How many widths of the page the last answer takes."""
    return nbytes()[-1] // facts.lowered(facts.layer())


def _stop(sheet: Sheet, batch: int, before: int) -> None:
    copy, room = facts.lowered(facts.layer(), batch), facts.CARD.memory
    over = copy > room
    sheet.title("size.over" if over else "size.title", batch=batch)
    side = U * (batch / facts.BATCH) ** 0.5
    sheet.square(LEFT, 246 - side, side, class_="on")
    sheet.say(LEFT + max(side + 24, 40), 194 if side > 60 else 246, "size.input", 36,
              input=facts.amount(facts.source(batch)))  # fmt: skip
    with sheet.group(data_grow=f"{before / batch:g}"):
        _bar(sheet, copy, room)
    if over:
        sheet.say(RIGHT, 316, "size.refused", 32, bold=True, anchor="end")
        sheet.say(360, 316, "size.fits", 32, fits=_fits())
    box = sheet.text(LEFT, 640, facts.amount(copy), 96, bold=True)
    sheet.say(box.right + 80, 596, "size.copy", 36)
    sheet.say(box.right + 80, 640, "copies.times", 36, times=_k2())


def _bar(sheet: Sheet, copy: int, room: int) -> None:
    """The copies side by side; what does not fit is hollow and hatched."""
    inside, end = _x(min(copy, room)), _x(copy)
    sheet.rect(Box(LEFT, TOP, inside, FOOT), class_="on")
    seams = [LEFT + i * (end - LEFT) / _k2() for i in range(1, _k2())]
    lines = "".join(f"M{x:.1f} {TOP}V{FOOT}" for x in seams if x < inside)
    if end - LEFT > 100:
        sheet.path(lines, class_="seam")
    if copy > room:
        sheet.path(hatch(inside, TOP, end - inside, FOOT - TOP, 17, 3), class_="cross")
        lines = "".join(f"M{x:.1f} {TOP}V{FOOT}" for x in seams if x > inside)
        sheet.path(lines, class_="hotseam")
        sheet.rect(Box(inside, TOP, end, FOOT), class_="over")


def _votes(sheet: Sheet) -> None:
    """The class at its bytes; the last answer lies off the page."""
    for answer, size in zip(ANSWERS[:-1], nbytes(), strict=False):
        x = _x(size)
        sheet.path(f"M{x:.1f} 474l-14 24h28z", class_="guess")
        anchor = "end" if x + 60 > RIGHT else "middle"
        sheet.add("text", "", x=x, y=534, class_="s30 b", text_anchor=anchor, data_mark=answer)
    sheet.add("text", "", x=RIGHT, y=640, class_="s30 b", text_anchor="end",
              data_mark=ANSWERS[-1], data_screens=_screens())  # fmt: skip


def _twin(batch: int) -> str:
    copy = facts.lowered(facts.layer(), batch)
    key = "size.twin_over" if copy > facts.CARD.memory else "size.twin"
    return say(key, batch=batch, input=units.exact(facts.source(batch)), copy=units.exact(copy),
               card=facts.CARD.name, fits=_fits())  # fmt: skip
