"""Scene 1: the question, the vote, and its histogram."""

from __future__ import annotations

from memlab import units
from memlab.views.lecture import facts
from memlab.views.lecture.scene import Scene
from memlab.views.lecture.sheet import LEFT, RIGHT, Sheet, say
from memlab.views.svg import Box

SIDE = 32
"""Of one input: 81 of them must fit."""
FLOOR = 536
PLACES = (64, 332, 612, 928)
ANSWERS = ("A", "B", "C", "D")


def nbytes() -> tuple[int, ...]:
    """The answers: as large as the input, k, k² and k⁴ times as large."""
    return (
        facts.mistake("not_lowered"),
        facts.mistake("one_k"),
        facts.lowered(facts.layer()),
        facts.mistake("lowered_twice"),
    )


def make() -> Scene:
    """The question as four areas."""
    sheet, k = Sheet(), facts.kernel()
    network, amounts = facts.network().title, [facts.amount(size) for size in nbytes()]
    sheet.title("question.title")
    sheet.say(LEFT, 120, "question.layer", 30, network=network, layer=facts.LAYER, k=k,
              batch=facts.BATCH)  # fmt: skip
    sheet.say(LEFT, 160, "question.lowering", 30)
    sheet.square(LEFT, 222, SIDE, class_="on")
    sheet.say(LEFT + 50, 250, "question.input", 34, bold=True, input=amounts[0])
    sheet.say(LEFT + 50, 290, "question.area", 30, dim=True)
    with sheet.group(class_="tips"):
        sheet.say(RIGHT, 64, "question.keys", 28, dim=True, anchor="end")
    sheet.add("text", "", x=RIGHT, y=64, class_="s28 b", text_anchor="end", data_says="voting")
    for answer, x, size, amount in zip(ANSWERS, PLACES, nbytes(), amounts, strict=True):
        _answer(sheet, answer, x, size, amount)
    exact = [units.exact(size) for size in nbytes()]
    twin = say("question.twin", network=network, layer=facts.LAYER, k=k, batch=facts.BATCH,
               a=exact[0], b=exact[1], c=exact[2], d=exact[3])  # fmt: skip
    return Scene("question", sheet, [twin], say("question.notes"))


def _answer(sheet: Sheet, answer: str, x: int, size: int, amount: str) -> None:
    squares = size // nbytes()[0]
    columns = {1: 1, facts.kernel(): facts.kernel()}.get(squares) or round(squares**0.5)
    rows, right = squares // columns, x + columns * SIDE
    top = FLOOR - rows * SIDE
    lines = "".join(f"M{x} {top + i * SIDE}H{right}" for i in range(1, rows))
    lines += "".join(f"M{x + i * SIDE} {top}V{FLOOR}" for i in range(1, columns))
    if lines:
        sheet.path(lines, class_="thin")
    sheet.rect(Box(x, top, right, FLOOR), class_="hollow")
    box = sheet.text(x, 584, answer, 36, bold=True)
    sheet.text(box.right + 16, 584, amount, 36)
    sheet.say(x, 622, f"question.{answer.lower()}", 30, dim=True)
    sheet.add("rect", x=x, y=640, width=0, height=16, class_="votes", data_bar=answer)
    sheet.add("text", "", x=x, y=692, class_="s32 b", data_votes=answer)
