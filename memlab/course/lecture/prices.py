"""Scenes 8 to 11 of the lecture: the real layer, the product that the copy is for, other ways, the
formula. Length and area are bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memlab import units
from memlab.course.lecture import slides
from memlab.course.lecture.slides import (
    ANSWERS,
    CELL,
    LEFT,
    RIGHT,
    Recorded,
    Scene,
    Slide,
    U,
    lowering,
    say,
)
from memlab.measure.convolution import RIVAL
from memlab.measure.recorded_figures import Recorded as Figures
from memlab.pictures.draw.chart import Chart
from memlab.pictures.draw.scale import Scale
from memlab.pictures.draw.svg import Box
from memlab.pictures.shifted_copies.lowering import amount
from memlab.pictures.shifted_copies.page import CopyBar
from memlab.pictures.shifted_copies.small_picture import (
    KERNELS,
    Matrix,
    SmallPicture,
    grid,
    kinds,
    lower,
    spots,
    square,
)
from memlab.pictures.values.number_text import duration
from memlab.pictures.values.timings import rival

# -- 8: the real layer, batch by batch ------------------------------------------------------------

STOPS = (1, 16, 64, 128)
HEAD, FOOT = 336, 464


def size() -> Scene:
    """The real layer, batch by batch, until its copy leaves the box of a 12 GB card: length is
    bytes on one scale, and the page is the copy at the last batch."""
    fits, k2 = slides.fits(slides.layer()), slides.kernel() ** 2
    whole, drawn, twins = slides.lowered(slides.layer()), [], []
    for step, batch in enumerate(slides.BATCHES):
        drawn.append(_stop(batch, slides.BATCHES[max(step - 1, 0)], fits))
        found = lowering(batch=batch)
        key = "size.twin_over" if found.total > slides.CARD.memory.value else "size.twin"
        twins.append(say(key, batch=batch, input=units.exact(found.source), fits=fits,
                         copy=units.exact(found.total), card=slides.CARD.name))  # fmt: skip
    screens = slides.answers()[-1] // whole
    with drawn[-1].group(class_="votes-only"):
        _marks(drawn[-1], screens)
    stops = tuple(slides.BATCHES.index(batch) for batch in STOPS)
    notes = say("size.notes", answer=ANSWERS[-1], screens=screens, fits=fits, k2=k2)
    return Scene("size", drawn, twins, notes, stops=stops)


def _x(nbytes: float) -> float:
    return LEFT + nbytes / slides.lowered(slides.layer()) * (RIGHT - LEFT)


def _stop(batch: int, before: int, fits: int) -> Slide:
    slide, found, room = Slide(), lowering(batch=batch), slides.CARD.memory.value
    over, side = found.total > room, U * (batch / slides.BATCH) ** 0.5
    slide.title("size.over" if over else "size.title", batch=batch)
    slide.square(LEFT, 246 - side, side, class_="on")
    slide.say(LEFT + max(side + 24, 40), 194 if side > 60 else 246, "size.input", 36,
              input=amount(found.source))  # fmt: skip
    copies, whole = CopyBar(found, 0, 1, room, over="overflow"), slides.lowered(slides.layer())
    bar = Chart(Scale(0, whole), Scale(1, 0), [copies], FOOT - HEAD, left=0, right=0)
    with slide.group(class_="grows", style=f"--from:{before / batch:g}"):
        bar.draw(slide, LEFT, HEAD, RIGHT - LEFT)
    slide.rect(Box(LEFT - 3, HEAD - 3, _x(room) + 3, FOOT + 3), class_="card")
    year = slides.CARD.title.rpartition(", ")[2]
    slide.say(LEFT, 316, "size.card", 32, card=slides.CARD.name, year=year)
    if over:
        slide.say(RIGHT, 316, "size.refused", 32, bold=True, anchor="end")
        slide.say(360, 316, "size.fits", 32, fits=fits)
    right = slide.text(LEFT, 640, amount(found.total), 96, bold=True).right + 80
    slide.say(right, 596, "size.copy", 36)
    slide.say(right, 640, "copies.times", 36, times=found.count)
    slide.motto()
    return slide


def _marks(slide: Slide, screens: int) -> None:
    """The class at its bytes; the last answer lies off the page."""
    for answer, size in zip(ANSWERS[:-1], slides.answers(), strict=False):
        x = _x(size)
        slide.path(f"M{x:.1f} 474l-14 24h28z", class_="guess")
        anchor = "end" if x + 60 > RIGHT else "middle"
        slide.add("text", "", x=x, y=534, class_="s30 b", text_anchor=anchor, data_mark=answer)
    slide.add("text", "", x=RIGHT, y=640, class_="s30 b", text_anchor="end",
              data_mark=ANSWERS[-1], data_screens=screens)  # fmt: skip


# -- 9: the product that the copy is for ----------------------------------------------------------

SIDE, GAP, FRAMED = 15, 30, 27
"""A cell of the product, what is free between its matrices, and a window in the middle."""
WEIGHTS = (
    (1,) * 9,
    (-1, 0, 1) * 3,
    (-1, -1, -1, 0, 0, 0, 1, 1, 1),
    (0, -1, 0, -1, 4, -1, 0, -1, 0),
)
"""What is drawn of 4 kernels: inside, left and upper edges, corners of the letter are dark."""


def product() -> Scene:
    """A row of weights times a column of the matrix is one value; a row of the result is a picture.
    Then what the product buys."""
    small, found = lower(3), slides.rivals()
    rows, columns = len(small.copies), small.places**2
    cells = {"rows": rows, "columns": columns}
    drawn = [_multiplied(small, done) for done in (False, True)]
    drawn[0].say(LEFT, 500, "product.one", 44, bold=True, rows=rows)
    drawn[0].say(LEFT, 550, "product.many", 34, columns=columns)
    drawn[1].say(LEFT, 500, "product.row", 44, bold=True)
    node = slides.layer()
    channels, (kernels, high, wide) = node.input_shapes[0][0], node.shape
    sizes = {"kernels": kernels, "rows": channels * slides.kernel() ** 2, "columns": high * wide}
    real: dict[str, Any] = {name: f"{size:,}" for name, size in sizes.items()}
    drawn[1].say(LEFT, 550, "product.real", 34, layer=slides.LAYER, **real)
    twins = [say("product.twin", **cells), say("product.twin_real", layer=slides.LAYER, **real)]
    if found:
        ratio = slides.seconds(found, "direct") / slides.seconds(found, "im2col-image")
        names = {"direct": say("rivals.direct"), "im2col-image": say("rivals.product")}
        slide, twin = _race(found, names)
        slide.title("rivals.loops", ratio=f"{ratio:.0f}")
        slide.say(LEFT, 480, "rivals.buys", 44, bold=True)
        drawn, twins = [*drawn, slide], [*twins, twin]
    return Scene("product", drawn, twins, say("product.notes"))


def _multiplied(small: SmallPicture, done: bool) -> Slide:
    """Weights, the lowered matrix above and the result beside it, the place of 1 value framed; or
    the whole result, of which a row is folded to a picture."""
    slide, rows, columns = Slide(), len(small.copies), small.places**2
    left, top = LEFT + rows * SIDE + GAP, 150
    low, at, count = top + rows * SIDE + GAP, FRAMED, len(WEIGHTS)
    slide.title("product.found" if done else "product.title")
    slide.label(left, top - 14, "product.matrix")
    slide.label(LEFT, low + count * SIDE + 38, "product.weights")
    slide.label(left, low + count * SIDE + 38, "product.result")
    with slide.cells((left, top), SIDE):
        Matrix(lowering(), (0, 0), None, False).write(slide)
        if not done:
            slide.path(square(at, 0, 1, rows, 0.15), class_="look")
    slide.rect(Box(LEFT, low, LEFT + rows * SIDE, low + count * SIDE), class_="weights")
    with slide.cells((LEFT, low), SIDE):
        slide.parts.append(grid(rows, count))
        slide.path(square(0, 0, rows, 1, 0.15), class_="look")
    if done:
        _result(slide, (left, low), SIDE, columns, [_output(small, each) for each in WEIGHTS])
        shown = _output(small, WEIGHTS[0])
        folded = [shown[at : at + small.places] for at in range(0, columns, small.places)]
        _result(slide, (RIGHT - U, 470), CELL, small.places, folded, len(folded))
    else:
        slide.rect(Box(left, low, left + columns * SIDE, low + count * SIDE), class_="ghost")
        with slide.cells((left, low), SIDE):
            slide.path(square(at, 0, 1, 1, 0.15), class_="look")
    return slide


def _result(
    slide: Slide,
    corner: tuple[float, float],
    side: int,
    wide: int,
    rows: list[str],
    framed: int = 1,
) -> None:
    """Rows of the product, of which the first ones are framed."""
    x, y = corner
    slide.rect(Box(x, y, x + wide * side, y + len(rows) * side), class_="made")
    dark = [
        (at, row) for row, text in enumerate(rows) for at, kind in enumerate(text) if kind == "#"
    ]
    with slide.cells(corner, side):
        slide.path(spots(dark), class_="dark-run")
        slide.parts.append(grid(wide, len(rows)))
        slide.path(square(0, 0, wide, framed, 0.15), class_="look")


def _output(small: SmallPicture, weights: Sequence[int]) -> str:
    """A row of the product with the matrix, whose values are 1 where the letter is; what is more
    than half of the most is ``#``."""
    copies = [kinds(copy) for copy in small.copies]
    sums = [
        sum(w for w, copy in zip(weights, copies, strict=True) if copy[place] == "#")
        for place in range(small.places**2)
    ]
    most = sum(w for w in weights if w > 0)
    return "".join("#" if 2 * each > most else "." for each in sums)


# -- 10 and 11 ------------------------------------------------------------------------------------


def need(run: Recorded | None) -> Scene:
    """Must it be made? The whole batch, one image, one tile, or nothing but a table: areas on one
    scale, the last two drawn and too small to see."""
    places, floor = (64, 496, 752, 1008), 488
    needs = {name: slides.way(way) for way, name in slides.WAYS.items()}
    sizes = [need.size.at(slides.BATCH) for need in needs.values()]
    drawn = []
    for step in range(len(needs)):
        slide = Slide()
        slide.title("need.found" if step else "need.title")
        slide.path(f"M{LEFT} {floor}H{RIGHT}", class_="rule")
        shown = list(zip(needs.items(), places, sizes, strict=True))[: step + 1]
        for (name, need), x, size in shown:
            _standing(slide, x, floor, size, sizes[0])
            slide.say(x, 536, f"need.{name}", 32)
            slide.text(x, 584, amount(size), 42, bold=True)
            slide.text(x, 624, need.formula(), 28, dim=True)
        if step > 1:
            slide.say(places[2] - 16, 396, "need.small", 30)
        if run and step:
            slide.say(places[1], 664, "need.measured", 28, residual=run.residual, ms=run.ms)
            slide.say(LEFT, 700, "need.recorded", 28, dim=True, where=run.where)
        else:
            slide.motto()
        drawn.append(slide)
    twins = [say(f"need.twin_{name}", size=units.exact(size), formula=need.formula())
             for (name, need), size in zip(needs.items(), sizes, strict=True)]  # fmt: skip
    if run:
        twins[1] += f" {run.text()}"
    if found := slides.rivals():
        _, *raced = slides.WAYS
        titles = {way: say(f"need.{slides.WAYS[way]}") for way in raced}
        titles[RIVAL] = rival(found.result.machine)
        whole, *parts = (slides.seconds(found, way) for way in raced)
        slide, twin = _race(found, titles)
        slide.title("rivals.faster" if min(parts) < whole else "rivals.less")
        drawn, twins = [*drawn, slide], [*twins, twin]
    return Scene("need", drawn, twins, say("need.notes"))


def _standing(slide: Slide, x: float, floor: float, size: int, whole: int) -> None:
    """Bytes as an area on the floor, the whole copy in squares of the input; what is too small to
    see is pointed at."""
    k = slides.kernel()
    side, count = k * U * (size / whole) ** 0.5, k if size == whole else 1
    slide.boxes(x, floor - side, side / count, count, count, "on")
    if side < 2:
        slide.path(f"M{x} 418v36", class_="rule")
        slide.path(f"M{x} 474l-11 -20h22z")


def _race(found: Figures, names: dict[str, str]) -> tuple[Slide, str]:
    """Time and bytes of some ways as bars, and in words."""
    slide = Slide()
    slide.bars(200, found, names)
    parts = [
        say("rivals.twin_part", name=text, size=units.exact(slides.taken(found, name)),
            time=duration(slides.seconds(found, name)))
        for name, text in names.items()
    ]  # fmt: skip
    return slide, say("rivals.twin", parts=" ".join(parts), where=slides.where(found))


def formula() -> Scene:
    """The formula, and its k² as areas on one scale."""
    slide, side, floor = Slide(), U // 2, 568
    sizes = {k: slides.lowered(slides.layer(k)) for k in KERNELS}
    slide.title("formula.title")
    x = slide.text(LEFT, 154, "B · C · ", 52).right
    x = slide.text(x + 12, 154, "k²", 76, bold=True).right + 12
    for letter in ("· H", "· W"):
        x = slide.text(x, 154, letter, 52).right + 2
        x = slide.text(x, 166, "o", 34).right + 12
    slide.say(x, 154, "formula.bytes", 52)
    slide.say(LEFT, 206, "formula.layer", 30, dim=True, batch=slides.BATCH)
    gap = (RIGHT - LEFT - side * sum(KERNELS)) / (len(KERNELS) - 1)
    left: float = LEFT
    for k, size in sizes.items():
        slide.boxes(left, floor - k * side, side, k, k, "on" if size else "ghost")
        slide.say(left, 612, "kernel", 32, k=k)
        slide.text(left, 658, amount(size), 40, bold=True)
        left += k * side + gap
    slide.motto()
    parts = (say("formula.twin_part", k=k, size=units.exact(size)) for k, size in sizes.items())
    twin = say("formula.twin", batch=slides.BATCH, parts=", ".join(parts))
    largest = slides.fits(slides.layer(KERNELS[-1]))
    notes = say("formula.notes", k=KERNELS[-1], fits=largest)
    return Scene("formula", [slide], [twin], notes)
