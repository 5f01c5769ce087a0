"""The real run: one image lowered by memlab's kernel, planned beside measured."""

from __future__ import annotations

from memlab import units
from memlab.views.lecture import facts
from memlab.views.lecture.record import TIMES, Recorded
from memlab.views.lecture.sheet import LEFT, RIGHT, Sheet, say
from memlab.views.svg import Box

TALL = 96


def draw(run: Recorded | None) -> Sheet:
    """Two bars of one scale. Without a run the second one stays empty, and says why."""
    sheet, planned = Sheet(key="run"), facts.lowered(facts.layer(), 1)
    sheet.title("run.title" if run else "run.title_none")
    sheet.say(LEFT, 150, "run.planned", 36, size=units.exact(planned))
    sheet.rect(Box(LEFT, 170, RIGHT, 170 + TALL), class_="hollow")
    bar = Box(LEFT, 350, RIGHT, 350 + TALL)
    if run is None:
        sheet.say(LEFT, 330, "run.missing", 36)
        sheet.rect(bar, class_="ghost")
        sheet.say(LEFT, 540, "run.here", 44, bold=True)
        sheet.say(LEFT, 600, "run.whole", 34, batch=facts.BATCH)
        return sheet
    sheet.say(LEFT, 330, "run.measured", 36, size=units.exact(run.measured))
    end = LEFT + (RIGHT - LEFT) * run.measured / run.planned
    sheet.rect(bar._replace(right=end), class_="on")
    sheet.say(LEFT, 540, "run.residual", 56, bold=True, residual=run.residual)
    box = sheet.say(LEFT + 560, 540, "run.time", 56, bold=True, ms=run.ms)
    sheet.say(box.left, 586, "run.took", 34, times=TIMES)
    sheet.say(LEFT, 586, "run.whole", 34, batch=facts.BATCH)
    sheet.say(LEFT, 640, "run.slower", 34)
    sheet.say(LEFT, 700, "recorded", 28, dim=True, where=run.where)
    return sheet


def twin(run: Recorded | None) -> str:
    """The same in words."""
    if run:
        return run.text()
    return say("run.text_none", planned=units.exact(facts.lowered(facts.layer(), 1)))
