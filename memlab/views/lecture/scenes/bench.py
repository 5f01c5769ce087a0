"""The sheet on which k, stride, padding and batch change: all on one scale, so that 7 x 7 is as
large beside 3 x 3 as its bytes are."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from memlab import units
from memlab.lesson.quantities import FP32
from memlab.views.copies import windows
from memlab.views.copies.pixels import SMALL as CELL
from memlab.views.copies.pixels import grid
from memlab.views.lecture import facts
from memlab.views.lecture.sheet import LEFT, RIGHT, Sheet, say

SIDE = windows.SIZE * CELL
TOP = 120
COPIES, PITCH = 196, SIDE + 6
MATRIX = 704
PINS = {
    "cell": CELL,
    "input": (LEFT, TOP),
    "copies": (COPIES, TOP, PITCH),
    "matrix": (MATRIX, TOP),
}


def draw() -> Sheet:
    """Every variant, of which the page shows one; the browser fills in the texts."""
    sheet = Sheet(key="bench")
    says(sheet, "title", LEFT, 64, "s42 b")
    says(sheet, "bench-keys", RIGHT, 64, "s28 dim", "end")
    sheet.label(LEFT, 106, "label.input")
    says(sheet, "copies", COPIES, 106, "s28")
    says(sheet, "matrix", MATRIX, 106, "s28")
    sheet.use("picture", 0, 0, transform=f"translate({LEFT} {TOP})scale(.5)")
    sheet.square(LEFT, TOP, SIDE, class_="edge")
    for lowered in windows.every():
        _variant(sheet, lowered)
    says(sheet, "pinned", MATRIX, 546, "s30 b")
    says(sheet, "pinned2", MATRIX, 584, "s30")
    says(sheet, "bytes", LEFT, 652, "s56 b")
    says(sheet, "factor", 352, 632, "s30")
    says(sheet, "over", 352, 668, "s30 b")
    says(sheet, "formula", LEFT, 704, "s28 dim")
    says(sheet, "written", RIGHT, 652, "s28", "end")
    return sheet


def says(sheet: Sheet, name: str, x: float, y: float, kind: str, anchor: str | None = None) -> None:
    """An empty text that the browser fills in."""
    sheet.add("text", "", x=x, y=y, class_=kind, text_anchor=anchor, data_says=name)


def _variant(sheet: Sheet, lowered: windows.Lowered) -> None:
    with sheet.group(data_variant=lowered.key, class_="off"):
        if lowered.made:
            _copies(sheet, lowered)
            return
        sheet.square(COPIES, TOP, SIDE, class_="ghost")
        sheet.add("rect", x=MATRIX, y=TOP, width=SIDE * 8, height=CELL, class_="ghost")


def _copies(sheet: Sheet, lowered: windows.Lowered) -> None:
    """Places of the copies, the copies themselves with their rows, and the lines above all."""
    wide, count = lowered.places * CELL, len(lowered.copies)
    corners = [(COPIES + i % lowered.k * PITCH, TOP + i // lowered.k * PITCH) for i in range(count)]
    sheet.path("".join(f"M{x} {y}h{wide}v{wide}h-{wide}z" for x, y in corners), class_="slot")
    sheet.add(
        "rect", x=MATRIX, y=TOP, width=wide * lowered.places, height=count * CELL, class_="slot"
    )
    with sheet.group(class_="fades"):
        for index, (x, y) in enumerate(corners):
            with sheet.group(data_copy=index):
                sheet.use(f"b{lowered.key}-{index}", x, y)
                sheet.use(f"l{lowered.key}-{index}", MATRIX, TOP + index * CELL)
                sheet.square(x, y, wide, class_="edge")
        with sheet.group(transform=f"translate({MATRIX} {TOP})"):
            sheet.parts.append(grid(lowered.places**2, count, CELL))


def maps() -> dict[str, Any]:
    """Which pixel each cell holds, as characters from ``0`` on, and ``~`` for an added zero."""
    return {
        lowered.key: {
            "k": lowered.k,
            "places": lowered.places,
            "copies": [
                "".join("~" if n is None else chr(48 + n) for n in c) for c in lowered.copies
            ],
        }
        for lowered in windows.every()
    }


def texts() -> dict[str, Any]:
    """What the sheet says for each variant, and for each batch of it."""
    return {
        lowered.key: _fixed(lowered) | {"batches": [_at_batch(lowered, b) for b in facts.BATCHES]}
        for lowered in windows.every()
    }


def _pad(lowered: windows.Lowered) -> str:
    return say("bench.same" if lowered.pad == "same" else "bench.none")


def _drawn(lowered: windows.Lowered) -> str:
    return facts.times(Fraction(lowered.cells, windows.SIZE**2))


def _fixed(lowered: windows.Lowered) -> dict[str, str]:
    count, whole = len(lowered.copies), windows.SIZE**2
    key = "bench.copies_one" if count == 1 else "bench.copies_many"
    copies = say(key, count=count, cells=f"{lowered.cells:,}", times=_drawn(lowered), values=whole)
    twin = say(
        "bench.twin", k=lowered.k, stride=lowered.stride, pad=_pad(lowered), size=windows.SIZE,
        count=count, places=lowered.places, values=lowered.cells - lowered.zeros,
        zeros=lowered.zeros, drawn=_drawn(lowered),
    )  # fmt: skip
    return {
        "title": say("bench.title", k=lowered.k, stride=lowered.stride, pad=_pad(lowered)),
        "copies": copies if lowered.made else say("bench.unmade"),
        "matrix": say("bench.matrix", rows=count, columns=lowered.places**2),
        "twin": twin if lowered.made else say("bench.twin_unmade"),
    }


def _at_batch(lowered: windows.Lowered, batch: int) -> dict[str, str]:
    node = facts.layer(lowered.k, lowered.stride, lowered.pad)
    size, times = facts.lowered(node, batch), facts.times(facts.factor(node))
    if not size:
        return {"bytes": facts.amount(0)}
    channels, (_, rows, columns) = node.input_shapes[0][0], node.shape
    formula = say("bench.formula", batch=batch, channels=channels, k=lowered.k, rows=rows,
                  columns=columns, each=FP32, size=units.exact(size))  # fmt: skip
    fits = say("bench.over", card=facts.CARD.name, fits=facts.fits(node))
    over = fits if size > facts.CARD.memory else ""
    twin = say("bench.twin_batch", network=facts.network().title, layer=facts.LAYER, batch=batch,
               formula=formula, times=times, over=over and f"{over}.")  # fmt: skip
    return {
        "bytes": facts.amount(size),
        "factor": say("bench.times", times=times, layer=facts.LAYER, batch=batch),
        "over": over,
        "formula": formula,
        "twin": twin,
    }
