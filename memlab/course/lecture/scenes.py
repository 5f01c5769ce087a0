"""The eleven scenes of the lecture: each a list of slides, their description in words, and notes
for the lecturer.

The first seven show the shifted copies; in the others length and area are bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from memlab import units
from memlab.course.lecture import slides
from memlab.course.lecture.slides import (
    ANSWERS,
    CELL,
    COPIES,
    INPUT,
    LEFT,
    MATRIX,
    RIGHT,
    TEXT,
    TITLE,
    LectureScene,
    LectureSlide,
    RecordedCopy,
    U,
    lowering,
    place,
    text_of,
)
from memlab.measure.convolution import RIVAL
from memlab.measure.recorded_figures import RecordedFigures as Figures
from memlab.pictures.draw.chart import Chart
from memlab.pictures.draw.marks import Pen
from memlab.pictures.draw.scale import Scale
from memlab.pictures.draw.svg import Box
from memlab.pictures.shifted_copies.cells import (
    PITCH,
    Matrix,
    copy,
    grid,
    row,
    runs,
    single,
    spots,
    square,
)
from memlab.pictures.shifted_copies.lowering import (
    amount,
    by_copy,
    conv,
    convolutions,
    factor,
    part_of,
    short_times,
)
from memlab.pictures.shifted_copies.page import CopyBar, boxes, filled_box, quarters, together
from memlab.pictures.shifted_copies.small_picture import (
    KERNELS,
    PIXEL,
    SIZE,
    SmallPicture,
    kinds,
    lower,
)
from memlab.pictures.values.number_text import duration
from memlab.pictures.values.timings import rival


def scenes(recorded: RecordedCopy | None = None) -> list[LectureScene]:
    """Return all scenes of the lecture (pictures with what is said) in order."""
    return [_question(), _window(), _fold(), _copies(), _pixel(), _stride(), _pointwise(),
            _size(), _product(), _need(recorded or RecordedCopy.kept()), _formula()]  # fmt: skip


# -- 1: the question, and the vote ----------------------------------------------------------------


def _question() -> LectureScene:
    """Scene of the question to vote on: the answers as four areas."""
    slide, k, floor = LectureSlide(), slides.kernel(), 536
    network, layer, sizes = slides.network().title, slides.LAYER, slides.answers()
    slide.title("question.title")
    slide.write(
        LEFT, 120, "question.layer", 30, network=network, layer=layer, k=k, batch=slides.BATCH
    )
    slide.write(LEFT, 160, "question.lowering", 30)
    slide.square(LEFT, 222, 32, class_="on")
    slide.write(LEFT + 50, 250, "question.input", 34, bold=True, input=amount(sizes[0]))
    slide.write(LEFT + 50, 290, "question.area", 30, dim=True)
    with slide.group(class_="tips"):
        slide.write(RIGHT, 64, "question.keys", 28, dim=True, anchor="end")
    slide.says("voting", RIGHT, 64, "s28 b", "end")
    for answer, x, size in zip(ANSWERS, (64, 332, 612, 928), sizes, strict=True):
        squares = size // sizes[0]
        columns = {1: 1, k: k}.get(squares) or round(squares**0.5)
        rows = squares // columns
        slide.boxes(x, floor - rows * 32, 32, columns, rows, "hollow")
        right = slide.text(x, 584, answer, 36, bold=True).right
        slide.text(right + 16, 584, amount(size), 36)
        slide.write(x, 622, f"question.{answer.lower()}", 30, dim=True)
        slide.add("rect", x=x, y=640, width=0, height=16, class_="votes", data_bar=answer)
        slide.add("text", "", x=x, y=692, class_="s32 b", data_votes=answer)
    a, b, c, d = map(units.exact, sizes)
    twin = text_of("question.twin", network=network, layer=layer, k=k, batch=slides.BATCH, a=a, b=b,
               c=c, d=d)  # fmt: skip
    return LectureScene("question", [slide], [twin], text_of("question.notes"))


# -- 2 and 3: a window is a column, a row is a picture --------------------------------------------

SHOWN = (26, 27, 28)
"""Places in the middle, side by side: their windows share most values."""
LENS = (312, 236)


def _window() -> LectureScene:
    """Scene in which one window becomes one column, three times; then all of them."""
    small = lower(3)
    count, columns, same = len(small.copies), small.places**2, slides.shared(small, *SHOWN[:2])
    drawn = [_window_slide(small, step, same) for step in range(len(SHOWN))]
    last = LectureSlide()
    last.title("window.found", windows=columns)
    last.input()
    last.matrix(lowering())
    last.write(TEXT, 300, "window.all", 56, bold=True, rows=count, columns=columns)
    last.write(TEXT, 346, "window.textbook", 34)
    last.write(TEXT, 390, "window.hidden", 34, rows=count)
    twins = [
        text_of("window.twin", row=at // small.places + 1, column=at % small.places + 1,
            values=count, number=at + 1, columns=columns)
        for at in SHOWN
    ]  # fmt: skip
    twins.append(text_of("window.twin_all", rows=count, columns=columns, cells=small.cells))
    return LectureScene("window", [*drawn, last], twins, text_of("window.notes", shared=same))


def _window_slide(small: SmallPicture, step: int, same: int) -> LectureSlide:
    """Slide of a window, enlarged three times between the input and its column of the matrix."""
    slide, count, big = LectureSlide(), len(small.copies), 3 * 3 * CELL
    pin = small.pin("place", SHOWN[step])
    (down, right), (x, y) = small.window(pin.row, pin.column), LENS
    corner = place((INPUT[0] + right, INPUT[1] + down))
    left, top = corner[0] + 3 * CELL, corner[1]
    foot, head = place((MATRIX[0] + pin.number, MATRIX[1]))
    slide.title("window.title")
    slide.input()
    slide.matrix(lowering(step=0))
    with slide.cells():
        for at in SHOWN[: step + 1]:
            stands = [(MATRIX[0] + at, MATRIX[1] + index) for index in range(count)]
            for name, d in single(zip(stands, small.column(at, count), strict=True)):
                slide.path(d, class_=name)
        slide.path(square(INPUT[0] + right, INPUT[1] + down, 3), class_="look")
        slide.path(square(MATRIX[0] + pin.number, MATRIX[1], 1, count, 0.15), class_="look")
    with slide.cells(LENS, 3 * CELL):
        slide.parts.append(runs(small.column(pin.number, count), 3) + grid(3, 3))
    slide.square(x, y, big, class_="frame")
    lead = f"M{left} {top}L{x} {y}M{left} {top + 3 * CELL}L{x} {y + big}"
    slide.path(f"{lead}M{x + big // 2} {y + big}L{foot + CELL // 2} {head - 5}", class_="lead")
    ends = [(x + 24, y + 34), (x + big - 24, y + big - 14), (foot + 38, 574), (foot + 38, 690)]
    for (a, b), value in zip(ends, (1, count) * 2, strict=True):
        slide.text(a, b, str(value), 28, "middle", bold=True, chip=b < 500)
    key = ("first", "next", "again")[step]
    slide.write(512, 300, "window.values", 56, bold=True, values=count)
    slide.write(512, 346, f"window.{key}", 34, shared=same)
    return slide


def _fold() -> LectureScene:
    """Scene that reads the matrix by rows: row 1 folds into a picture, the shifted input."""
    small = lower(3)
    values, zeros = small.places**2, small.copies[0].count(None)
    drawn = [LectureSlide(), LectureSlide()]
    for slide, title in zip(drawn, ("title", "found"), strict=True):
        slide.title(f"fold.{title}")
        slide.input()
        slide.matrix(lowering(), dimmed=True)
        with slide.cells():
            slide.add("g", row(small, 0), transform=f"translate({MATRIX[0]} {MATRIX[1]})")
            slide.path(square(*MATRIX, values, 1, 0.15), class_="look")
    drawn[0].write(TEXT, 300, "fold.row", 56, bold=True)
    drawn[0].write(TEXT, 346, "fold.first", 34)
    _pieces(drawn[1], small)
    with drawn[1].group(class_="late", style=f"animation-delay:{600 + 60 * small.places}ms"):
        with drawn[1].cells():
            drawn[1].path(square(*COPIES, SIZE, out=0.25), class_="look")
        drawn[1].write(TEXT, 300, "fold.copy", 56, bold=True)
        drawn[1].write(TEXT, 346, "fold.values", 34, values=values)
    twins = [
        text_of("fold.twin", values=values),
        text_of("fold.twin_found", size=small.places, values=values - zeros, zeros=zeros),
    ]
    return LectureScene("fold", drawn, twins, text_of("fold.notes"))


def _pieces(slide: LectureSlide, small: SmallPicture) -> None:
    """Draw the first matrix row as pieces that move, one after the other, to their rows in the
    picture."""
    cells, wide = kinds(small.copies[0]), small.places
    with slide.cells():
        for at in range(wide):
            left, top = MATRIX[0] + wide * at - COPIES[0], MATRIX[1] - COPIES[1] - at
            start = f"--x:{left}px;--y:{top}px;animation-delay:{60 * at}ms"
            with slide.group(transform=f"translate({COPIES[0]} {COPIES[1] + at})"):
                piece = runs(cells[at * wide : (at + 1) * wide], wide) + grid(wide, 1)
                slide.add("g", piece, class_="folds", style=start)
        edge = square(*COPIES, SIZE)
        slide.path(edge, class_="edge")


# -- 4 and 5: nine copies, and one pixel in all of them -------------------------------------------

ALONE = 3
"""From this slide on the copies follow by themselves."""


def _copies() -> LectureScene:
    """Scene in which the matrix is, row by row, nine copies of the whole input;
    then area is bytes."""
    count = slides.kernel() ** 2
    drawn = []
    for step in range(1, count + 1):
        slide, copies = LectureSlide(), lowering(step=step)
        done = step == count
        slide.title("copies.found" if done else "copies.title", k=copies.k, copies=count)
        slide.copies(copies, moving=step > 1)
        slide.matrix(copies)
        slide.hero(f"{step} ×", "copies.input")
        slide.zeros(430)
        slide.write(TEXT + 48, 457, "copies.zeros", 32)
        drawn.append(slide)
    drawn.append(_area(slides.kernel()))
    twins = [_copy_twin(step) for step in range(1, count + 1)]
    copy_, input_ = slides.lowered(slides.layer()), slides.source()
    twins.append(text_of("copies.twin_area", input=units.exact(input_), copy=units.exact(copy_),
                     times=short_times(Fraction(copy_, input_))))  # fmt: skip
    return LectureScene("copies", drawn, twins, text_of("copies.notes"), (ALONE, count - 1))


def _area(k: int) -> LectureSlide:
    """Slide of the copies as areas without pixels: area is bytes."""
    slide, (x, y) = LectureSlide(), place(INPUT)
    input_, copy_ = slides.source(), slides.lowered(slides.layer())
    slide.title("copies.found", k=k, copies=k * k)
    slide.area()
    slide.text(x, y + U + 42, amount(input_), 36)
    slide.hero(amount(copy_), "copies.times", 322, times=short_times(Fraction(copy_, input_)))
    for index in range(k * k):
        ky, kx = divmod(index, k)
        slide.square(*place((COPIES[0] + 9 * kx, COPIES[1] + 9 * ky)), U, class_="on")
    slide.write(LEFT, 640, "copies.area", 72, bold=True)
    slide.motto("motto.layer", layer=slides.LAYER, batch=slides.BATCH)
    return slide


def _copy_twin(step: int) -> str:
    layer = lowering(step=step)
    pixels, (ky, kx) = layer.small.copies[step - 1], divmod(step - 1, layer.k)
    unshifted = text_of("copies.unshifted") if layer.small.shift(step - 1) == (0, 0) else ""
    return text_of(
        "copies.twin", number=step, count=layer.count, ky=ky, kx=kx, unshifted=unshifted,
        values=len(pixels) - pixels.count(None), zeros=pixels.count(None),
        written=units.exact(layer.written), whole=units.exact(layer.total),
        input=units.exact(layer.source), now=step, end=short_times(layer.end), k=layer.k,
    )  # fmt: skip


PINNED = (4 * 8 + 5, 7 * 8 + 2, 7 * 8 + 7)
"""Pixels inside, at an edge, in a corner."""


def _pixel() -> LectureScene:
    """Scene of the places of one pixel in the matrix: the factor is exact. A click pins another
    pixel."""
    layer, small = lowering(), lower(3)
    drawn, twins = [], []
    for pixel in PINNED:
        slide, pin = LectureSlide(), small.pin(PIXEL, pixel)
        count = len(pin.stands)
        with slide.group(class_="unpinned-only"):
            slide.title("pixel.title", count=count)
            slide.hero(f"{count} ×", "pixel.written")
        slide.copies(layer, pin)
        slide.matrix(layer, pin)
        slide.write(LEFT, 440, "pixel.click", 28, dim=True)
        _chosen(slide)
        drawn.append(slide)
        twins.append(text_of("pixel.twin", row=pin.row + 1, column=pin.column + 1, count=count))
    drawn.append(_sorted(small))
    twins.append(text_of("pixel.twin_sum", values=small.cells - small.zeros, zeros=small.zeros,
                     cells=small.cells, count=len(small.copies), all=SIZE**2))  # fmt: skip
    return LectureScene("pixel", drawn, twins, text_of("pixel.notes"), pinned=len(PINNED))


def _chosen(slide: LectureSlide) -> None:
    """Add the texts that the browser fills in when another pixel is pinned."""
    with slide.group(class_="pinned-only"):
        slide.add("text", text_of("pixel.chosen"), x=LEFT, y=TITLE, class_="s42 b")
        slide.says("count", TEXT, 306, "s96 b")
        slide.says("pinned", TEXT, 356, "s32")
        slide.says("pinned2", TEXT, 396, "s32")


def _sorted(small: SmallPicture) -> LectureSlide:
    """Slide of the matrix with its cells sorted: values first, zeros last."""
    slide, count, columns = LectureSlide(), len(small.copies), small.places**2
    values, zeros = small.cells - small.zeros, small.zeros
    slide.title("pixel.found", count=count)
    slide.copies(lowering())
    x, y = place(INPUT)
    slide.label(x, y + U + 40, "pixel.all", values=SIZE**2)
    slide.square(TEXT, 250, 32, class_="on")
    slide.write(TEXT + 50, 283, "pixel.values", 44, bold=True, value=values)
    slide.zeros(306)
    slide.write(TEXT + 50, 339, "pixel.zeros", 44, bold=True, value=zeros)
    slide.path(f"M{TEXT} 360h334", class_="rule")
    slide.write(TEXT + 50, 413, "pixel.sum", 44, bold=True, cells=small.cells, count=count,
              values=SIZE**2)  # fmt: skip
    slide.label(LEFT, 626, "label.sorted")
    cells = (
        "#" if at % columns * count + at // columns < values else "0" for at in range(small.cells)
    )
    with slide.cells(place(MATRIX)):
        slide.parts.append(runs("".join(cells), columns) + grid(columns, count))
        slide.path(square(0, 0, columns, count), class_="edge")
    return slide


# -- 6 and 7: stride, and 1 x 1 -------------------------------------------------------------------


def _stride() -> LectureScene:
    """Scene of stride 2: each copy is a quarter, and the quarters put together show the total."""
    layer, drawn = lowering(stride=2), [LectureSlide(), LectureSlide()]
    small, pixels, times = layer.small, SIZE**2, short_times(layer.small.factor)
    part = part_of(Fraction(small.places**2, pixels))
    known = {"stride": layer.stride, "copies": layer.count, "part": part}
    drawn[0].title("stride.title", **known)
    drawn[0].copies(layer)
    drawn[0].hero(f"{layer.count} × {part}", "copies.input")
    drawn[1].title("stride.found", times=times, **known)
    drawn[1].area()
    drawn[1].hero(f"{times} ×", "copies.input")
    x, y = place((COPIES[0], INPUT[1]))
    together(lowering(stride=2, step=0), CELL, RIGHT - x).draw(drawn[1], x, y, RIGHT - x)
    _glide(drawn[1], layer.count)
    drawn[1].motto("motto.area")
    for slide in drawn:
        slide.write(LEFT, 600, "stride.why", 36, k2=layer.count, s2=layer.stride**2)
    zeros = small.zeros
    twins = [
        text_of("stride.twin", size=small.places, values=small.cells - zeros, zeros=zeros,
            cells=small.cells, **known),
        text_of("stride.twin_found", cells=small.cells, times=times, values=pixels),
    ]  # fmt: skip
    return LectureScene("stride", drawn, twins, text_of("stride.notes"))


def _glide(slide: LectureSlide, count: int) -> None:
    """Draw the quarters moving from their places in the kernel to those where they fill inputs."""
    k, rise = round(count**0.5), INPUT[1] - COPIES[1]
    with slide.cells(place((COPIES[0], INPUT[1]))):
        for at, (x, y) in enumerate(quarters(count, k)):
            left, top = at % k * PITCH - x, at // k * PITCH - rise - y
            start = f"--x:{left:g}px;--y:{top:g}px;animation-delay:{60 * at}ms"
            box = Box(0.03, 0.03, SIZE / 2 - 0.03, SIZE / 2 - 0.03)
            where = slide.group(transform=f"translate({x:g} {y:g})")
            with where, slide.group(class_="folds", style=start):
                slide.rect(box, class_="on")


def _pointwise() -> LectureScene:
    """Scene of 1 x 1 kernels: the matrix is the input, so no copy is made; and the number of such
    layers in a network."""
    network, other = slides.pointwise_network(), slides.pointwise_network("resnet50-v1")
    x, y = 944, 244
    none, part, whole = by_copy(convolutions(network))
    counts: dict[str, Any] = {
        "all": len(none + part + whole), "none": len(none), "parts": len(part),
        "whole": len(whole), "part": part_of(factor(part[0])), "pointwise": len(none + part),
        "stride": conv(part[0]).stride, "network": network.label,
    }  # fmt: skip
    drawn = [LectureSlide(), LectureSlide(), LectureSlide()]
    for slide in drawn:
        slide.input()
    drawn[0].title("pointwise.title")
    drawn[0].hero(f"{len(lower(1).copies)} ×", "copies.input")
    with drawn[0].cells((x, y)):
        drawn[0].parts.append(copy(lower(1), 0))
    for slide in drawn[1:]:
        slide.title("pointwise.found")
        slide.hero(amount(slides.lowered(slides.layer(1))), "pointwise.used")
        slide.label(x, y - 16, "pointwise.none")
        slide.square(x, y, U, class_="ghost")
    _strip(drawn[2], counts, factor(part[0]))
    twins = [
        text_of("pointwise.twin"),
        text_of("pointwise.twin_none"),
        text_of("pointwise.twin_net", **counts),
    ]
    others = len(by_copy(convolutions(other))[0])
    notes = text_of("pointwise.notes", other=other.label, others=others, **counts)
    return LectureScene("pointwise", drawn, twins, notes)


def _strip(slide: LectureSlide, counts: dict[str, Any], ratio: Fraction) -> None:
    """Draw the convolutions of a network in order, each filled by the share of its full copy that
    is made."""
    slide.write(LEFT, 534, "pointwise.net", 30, **counts)
    nodes = convolutions(slides.pointwise_network())
    chart = Chart(
        Scale(0, len(nodes)), Scale(0, 1), boxes(nodes, slides.BATCH), 44, left=0, right=0
    )
    chart.draw(slide, LEFT, 556, RIGHT - LEFT)
    key = ((LEFT, Fraction(0), "zero"), (460, ratio, "quarter"), (880, Fraction(1), "more"))
    for x, filled, name in key:
        pen = Pen(slide, Box(x, 632, x + 22, 664), Scale(0, 1), Scale(0, 1))
        for mark in filled_box(0, 0, filled, 1):
            mark.draw(pen)
        slide.write(x + 34, 659, f"pointwise.{name}", 30, **counts)


# -- 8: the real layer, batch by batch ------------------------------------------------------------

STOPS = (1, 16, 64, 128)
HEAD, FOOT = 336, 464


def _size() -> LectureScene:
    """Scene of the real layer, batch by batch, until its copy exceeds a 12 GB card. Length is bytes
    on one scale; the width of the page is the copy at the last batch."""
    fits, k2 = slides.fits(slides.layer()), slides.kernel() ** 2
    copy_bytes, drawn, twins = slides.lowered(slides.layer()), [], []
    for step, batch in enumerate(slides.BATCHES):
        drawn.append(_batch_slide(batch, slides.BATCHES[max(step - 1, 0)], fits))
        layer = lowering(batch=batch)
        key = "size.twin_over" if layer.total > slides.CARD.memory.value else "size.twin"
        twins.append(text_of(key, batch=batch, input=units.exact(layer.source), fits=fits,
                         copy=units.exact(layer.total), card=slides.CARD.name))  # fmt: skip
    screens = slides.answers()[-1] // copy_bytes
    with drawn[-1].group(class_="votes-only"):
        _marks(drawn[-1], screens)
    stops = tuple(slides.BATCHES.index(batch) for batch in STOPS)
    notes = text_of("size.notes", answer=ANSWERS[-1], screens=screens, fits=fits, k2=k2)
    return LectureScene("size", drawn, twins, notes, stops=stops)


def _x_of_bytes(nbytes: float) -> float:
    return LEFT + nbytes / slides.lowered(slides.layer()) * (RIGHT - LEFT)


def _batch_slide(batch: int, before: int, fits: int) -> LectureSlide:
    slide, layer, room = LectureSlide(), lowering(batch=batch), slides.CARD.memory.value
    over, side = layer.total > room, U * (batch / slides.BATCH) ** 0.5
    slide.title("size.over" if over else "size.title", batch=batch)
    slide.square(LEFT, 246 - side, side, class_="on")
    slide.write(LEFT + max(side + 24, 40), 194 if side > 60 else 246, "size.input", 36,
              input=amount(layer.source))  # fmt: skip
    copies, copy_bytes = CopyBar(layer, 0, 1, room, over="overflow"), slides.lowered(slides.layer())
    bar = Chart(Scale(0, copy_bytes), Scale(1, 0), [copies], FOOT - HEAD, left=0, right=0)
    with slide.group(class_="grows", style=f"--from:{before / batch:g}"):
        bar.draw(slide, LEFT, HEAD, RIGHT - LEFT)
    slide.rect(Box(LEFT - 3, HEAD - 3, _x_of_bytes(room) + 3, FOOT + 3), class_="card")
    year = slides.CARD.title.rpartition(", ")[2]
    slide.write(LEFT, 316, "size.card", 32, card=slides.CARD.name, year=year)
    if over:
        slide.write(RIGHT, 316, "size.refused", 32, bold=True, anchor="end")
        slide.write(360, 316, "size.fits", 32, fits=fits)
    right = slide.text(LEFT, 640, amount(layer.total), 96, bold=True).right + 80
    slide.write(right, 596, "size.copy", 36)
    slide.write(right, 640, "copies.times", 36, times=layer.count)
    slide.motto()
    return slide


def _marks(slide: LectureSlide, screens: int) -> None:
    """Mark the bytes of each answer with its votes; the last answer lies off the page."""
    for answer, size in zip(ANSWERS[:-1], slides.answers(), strict=False):
        x = _x_of_bytes(size)
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
"""Weights of 4 kernels: inside, left and upper edges, corners of the letter are dark."""


def _product() -> LectureScene:
    """Scene of the matrix product: a row of weights times a column is one value, and a row of the
    result is a picture; then the time that the product saves."""
    small, recording = lower(3), slides.rivals()
    rows, columns = len(small.copies), small.places**2
    cells = {"rows": rows, "columns": columns}
    drawn = [_multiplied(small, done) for done in (False, True)]
    drawn[0].write(LEFT, 500, "product.one", 44, bold=True, rows=rows)
    drawn[0].write(LEFT, 550, "product.many", 34, columns=columns)
    drawn[1].write(LEFT, 500, "product.row", 44, bold=True)
    node = slides.layer()
    channels, (kernels, high, wide) = node.input_shapes[0][0], node.shape
    sizes = {"kernels": kernels, "rows": channels * slides.kernel() ** 2, "columns": high * wide}
    real: dict[str, Any] = {name: f"{size:,}" for name, size in sizes.items()}
    drawn[1].write(LEFT, 550, "product.real", 34, layer=slides.LAYER, **real)
    twins = [
        text_of("product.twin", **cells),
        text_of("product.twin_real", layer=slides.LAYER, **real),
    ]
    if recording:
        ratio = slides.seconds(recording, "direct") / slides.seconds(recording, "im2col-image")
        names = {"direct": text_of("rivals.direct"), "im2col-image": text_of("rivals.product")}
        slide, twin = _race(recording, names)
        slide.title("rivals.loops", ratio=f"{ratio:.0f}")
        slide.write(LEFT, 480, "rivals.buys", 44, bold=True)
        drawn, twins = [*drawn, slide], [*twins, twin]
    return LectureScene("product", drawn, twins, text_of("product.notes"))


def _multiplied(small: SmallPicture, done: bool) -> LectureSlide:
    """Slide of weights, lowered matrix and result: with the place of one value framed, or, when
    ``done``, with the whole result and one row folded to a picture."""
    slide, rows, columns = LectureSlide(), len(small.copies), small.places**2
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
        _result(slide, (left, low), SIDE, columns, [_output(small, weights) for weights in WEIGHTS])
        output = _output(small, WEIGHTS[0])
        folded = [output[at : at + small.places] for at in range(0, columns, small.places)]
        _result(slide, (RIGHT - U, 470), CELL, small.places, folded, len(folded))
    else:
        slide.rect(Box(left, low, left + columns * SIDE, low + count * SIDE), class_="ghost")
        with slide.cells((left, low), SIDE):
            slide.path(square(at, 0, 1, 1, 0.15), class_="look")
    return slide


def _result(
    slide: LectureSlide,
    corner: tuple[float, float],
    side: int,
    wide: int,
    rows: list[str],
    framed: int = 1,
) -> None:
    """Draw rows of the product, the first ``framed`` of them in a frame."""
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
    """Return a row of the product with a matrix of ones where the letter is; ``#`` stands for a
    value above half of the largest possible one."""
    copies = [kinds(copy) for copy in small.copies]
    sums = [
        sum(w for w, copy in zip(weights, copies, strict=True) if copy[place] == "#")
        for place in range(small.places**2)
    ]
    most = sum(w for w in weights if w > 0)
    return "".join("#" if 2 * pixel_sum > most else "." for pixel_sum in sums)


# -- 10 and 11 ------------------------------------------------------------------------------------


def _need(run: RecordedCopy | None) -> LectureScene:
    """Scene of ways to lower: the whole batch, one image, one tile, or a table of offsets, as areas
    on one scale; the last two are too small to see."""
    places, floor = (64, 496, 752, 1008), 488
    needs = {name: slides.way(algorithm) for algorithm, name in slides.WAYS.items()}
    sizes = [need.size.at(slides.BATCH) for need in needs.values()]
    drawn = []
    for step in range(len(needs)):
        slide = LectureSlide()
        slide.title("need.found" if step else "need.title")
        slide.path(f"M{LEFT} {floor}H{RIGHT}", class_="rule")
        columns = list(zip(needs.items(), places, sizes, strict=True))[: step + 1]
        for (name, need), x, size in columns:
            _standing(slide, x, floor, size, sizes[0])
            slide.write(x, 536, f"need.{name}", 32)
            slide.text(x, 584, amount(size), 42, bold=True)
            slide.text(x, 624, need.formula(), 28, dim=True)
        if step > 1:
            slide.write(places[2] - 16, 396, "need.small", 30)
        if run and step:
            slide.write(places[1], 664, "need.measured", 28, residual=run.residual, ms=run.ms)
            slide.write(LEFT, 700, "need.recorded", 28, dim=True, where=run.where)
        else:
            slide.motto()
        drawn.append(slide)
    twins = [text_of(f"need.twin_{name}", size=units.exact(size), formula=need.formula())
             for (name, need), size in zip(needs.items(), sizes, strict=True)]  # fmt: skip
    if run:
        twins[1] += f" {run.text()}"
    if recording := slides.rivals():
        _, *raced = slides.WAYS
        titles = {algorithm: text_of(f"need.{slides.WAYS[algorithm]}") for algorithm in raced}
        titles[RIVAL] = rival(recording.result.machine)
        whole, *parts = (slides.seconds(recording, algorithm) for algorithm in raced)
        slide, twin = _race(recording, titles)
        slide.title("rivals.faster" if min(parts) < whole else "rivals.less")
        drawn, twins = [*drawn, slide], [*twins, twin]
    return LectureScene("need", drawn, twins, text_of("need.notes"))


def _standing(slide: LectureSlide, x: float, floor: float, size: int, whole: int) -> None:
    """Draw bytes as an area on a floor line, the whole copy in squares of the input; an arrow
    points at an area that is too small to see."""
    k = slides.kernel()
    side, count = k * U * (size / whole) ** 0.5, k if size == whole else 1
    slide.boxes(x, floor - side, side / count, count, count, "on")
    if side < 2:
        slide.path(f"M{x} 418v36", class_="rule")
        slide.path(f"M{x} 474l-11 -20h22z")


def _race(figures: Figures, names: dict[str, str]) -> tuple[LectureSlide, str]:
    """Return a slide with time and bytes of some algorithms as bars, and its
    description in words."""
    slide = LectureSlide()
    slide.bars(200, figures, names)
    parts = [
        text_of("rivals.twin_part", name=text, size=units.exact(slides.taken(figures, name)),
            time=duration(slides.seconds(figures, name)))
        for name, text in names.items()
    ]  # fmt: skip
    return slide, text_of("rivals.twin", parts=" ".join(parts), where=slides.where(figures))


def _formula() -> LectureScene:
    """Scene of the formula, with its k² as areas on one scale."""
    slide, side, floor = LectureSlide(), U // 2, 568
    sizes = {k: slides.lowered(slides.layer(k)) for k in KERNELS}
    slide.title("formula.title")
    x = slide.text(LEFT, 154, "B · C · ", 52).right
    x = slide.text(x + 12, 154, "k²", 76, bold=True).right + 12
    for letter in ("· H", "· W"):
        x = slide.text(x, 154, letter, 52).right + 2
        x = slide.text(x, 166, "o", 34).right + 12
    slide.write(x, 154, "formula.bytes", 52)
    slide.write(LEFT, 206, "formula.layer", 30, dim=True, batch=slides.BATCH)
    gap = (RIGHT - LEFT - side * sum(KERNELS)) / (len(KERNELS) - 1)
    left: float = LEFT
    for k, size in sizes.items():
        slide.boxes(left, floor - k * side, side, k, k, "on" if size else "ghost")
        slide.write(left, 612, "kernel", 32, k=k)
        slide.text(left, 658, amount(size), 40, bold=True)
        left += k * side + gap
    slide.motto()
    parts = (text_of("formula.twin_part", k=k, size=units.exact(size)) for k, size in sizes.items())
    twin = text_of("formula.twin", batch=slides.BATCH, parts=", ".join(parts))
    largest = slides.fits(slides.layer(KERNELS[-1]))
    notes = text_of("formula.notes", k=KERNELS[-1], fits=largest)
    return LectureScene("formula", [slide], [twin], notes)
