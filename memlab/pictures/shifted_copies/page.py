"""Page of the shifted copies: bytes of the real layer, then the small picture, then details.

Each block draws its part and tells it in words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from memlab import strings, units
from memlab.layers.layer import Node
from memlab.pictures.draw import text as texts
from memlab.pictures.draw import theme
from memlab.pictures.draw.chart import Axis, Chart
from memlab.pictures.draw.labels import ChartText, Label
from memlab.pictures.draw.marks import Fact, Glyph, Mark, Pen, Rect, Rule
from memlab.pictures.draw.page import Page
from memlab.pictures.draw.scale import LinearScale, Scale
from memlab.pictures.draw.svg import PHONE, Box, Svg, box_path
from memlab.pictures.draw.table import Below, PageBlock, Paragraphs, SideBySide
from memlab.pictures.draw.theme import Paint
from memlab.pictures.memory.step_memory import Budget, budget
from memlab.pictures.shifted_copies.cells import PITCH, CopiedCells, Corner, Matrix
from memlab.pictures.shifted_copies.lowering import (
    WAYS,
    Lowering,
    Written,
    amount,
    by_copy,
    card,
    convolutions,
    factor,
    input_formula,
    lowered_bytes,
    times,
    workspace,
)
from memlab.pictures.shifted_copies.small_picture import SIZE, Pin, text_of
from memlab.pictures.values.number_text import hundredths

CARD = budget("12 GB card")
RULER = LinearScale(0, 16 * 10**9, 4 * 10**9, "GB", 10**9)
"""Axis of bytes; it holds the lesson's layer at its batch, and the card. A longer bar is broken."""
OVER = Paint("#D55E00", 0, "falling")
"""Look of bytes that do not fit."""
ON, PALE, ZERO = (
    Paint("var(--copy-on,#0072B2)", 1),
    Paint("var(--copy-pale,#bfdcef)", 1),
    Paint("var(--copy-zero,#E69F00)", 0, "rising"),
)
"""Looks of values in the letter, values around it, and added zeros, where they are bars."""
APART = 22
"""Pixels between two parts."""
TOP, LOW = 33, 55
"""Ends of the bar of the copy, below that of the input, in pixels from the top of the ruler."""
WIDE, LEAST = 660, 3
"""Width of a page from which a cell of the picture is larger, and pixels that a cell of the
matrix needs to stand beside the copies."""
LABELS = 108
"""Pixels left of the copies and bars on a phone."""


@dataclass(frozen=True)
class CopiesPageInputs:
    """Everything that the page is drawn from: a lowering, a pin, and what else is chosen.

    ``moving`` animates the copy that has just come. ``before`` is the lowering that was shown
    before. ``numbers`` shows details; ``formulas`` is False on a page that asks for them.
    """

    lowering: Lowering
    pin: Pin | None = None
    done: Written | None = None
    budgets: Sequence[Budget] = (CARD,)
    moving: bool = False
    width: float = 820
    before: Lowering | None = None
    numbers: bool = False
    formulas: bool = True

    @property
    def cell(self) -> int:
        """Side of a cell in pixels, equal for every kernel."""
        if self.width < PHONE:
            return min(6, int((self.width - self.left) // (self.lowering.k * PITCH - 1)))
        return 7 if self.width >= WIDE else 6

    @property
    def left(self) -> int:
        """Left edge of copies and bars, in pixels."""
        if self.width < PHONE:
            return LABELS
        return self.cell * (19 if self.width >= WIDE else 18)


def page_of(inputs: CopiesPageInputs) -> Page:
    """Return the page: bytes of the real layer, the small picture, and the details
    that are chosen."""
    lowered = inputs.lowering
    blocks: list[PageBlock] = [
        *_head(inputs),
        *_written(inputs),
        *_picture(inputs),
        Paragraphs(lowered.pinned(inputs.pin), drawn=False, gap=1),
        *(_details(inputs) if inputs.numbers else []),
        *([_counts(inputs)] if inputs.numbers and lowered.count else []),
        *(strip(lowered) if lowered.pointwise else []),
        Paragraphs(inputs.done.text() if inputs.done else "", drawn=False, gap=1),
    ]
    return Page(lowered.title, blocks, inputs.width, titled=False)


def note(content: str | Sequence[texts.Runs], size: int = 13, **how: Any) -> Paragraphs:
    """Return words of the picture that its text leaves out, for it says them in its own order."""
    return Paragraphs(content, size, told=False, **how)


# -- the real layer -------------------------------------------------------------------------------


def _head(inputs: CopiesPageInputs) -> list[PageBlock]:
    """Return the written bytes, the finding of the small picture, and the bars."""
    lowered = inputs.lowering
    beyond = f"{_beyond(lowered)}." if _beyond(lowered) else ""
    fits = [text for text, _ in _fits(inputs)]
    return [
        note([_amounts(lowered)], 20),
        note(lowered.headline, 14),
        Paragraphs([*lowered.lines(inputs.formulas), beyond, *fits], drawn=False),
        _ruler(inputs),
    ]


def _fits(inputs: CopiesPageInputs) -> list[tuple[str, bool]]:
    """Return the verdict of each budget on the copy, and True where it is too
    large (drawn bold)."""
    return (
        [inputs.lowering.verdict(room) for room in inputs.budgets] if inputs.lowering.total else []
    )


def _details(inputs: CopiesPageInputs) -> list[PageBlock]:
    """Return layer, formulas and verdicts in full."""
    lowered = inputs.lowering
    times_ = lowered.factor_line("head.factor" if lowered.end == lowered.factor else "head.once")
    counter = (
        text_of("head.counter", step=lowered.copies, count=lowered.count) if lowered.count else ""
    )
    lines = [lowered.title, lowered.formula, times_, counter, _beyond(lowered)]
    return [note(lines, gap=10), note([_fits(inputs)]), note(lowered.tile)]


def _amounts(lowering: Lowering) -> list[tuple[str, bool]]:
    """Return words on the written bytes, the total, and the factor over the input."""
    if not lowering.count:
        return [(amount(0), True), (f" {text_of('head.unmade')}", False)]
    of = (
        f" {text_of('head.of', total=amount(lowering.total))}"
        if lowering.copies < lowering.count
        else ""
    )
    now = text_of("head.times", now=times(lowering.now))
    return [(amount(lowering.written), True), (f"{of} · ", False), (now, True),
            (text_of("head.input"), False)]  # fmt: skip


def _ruler(inputs: CopiesPageInputs) -> PageBlock:
    """Return bars of input, copy, card and free memory on one ruler of fixed length."""
    lowered, end, width = inputs.lowering, RULER.last, inputs.width - inputs.left
    pixels = (width - 18) / end
    names = text_of("ruler.input"), text_of(f"ruler.{lowered.how}")
    input_fact = Fact(names[0], input_formula(lowered.node, lowered.batch), lowered.source)
    copy_fact = Fact(names[1], lowered.workspace.formula(lowered.batch), lowered.total)
    bar: list[Mark] = [CopyBar(lowered, TOP, LOW, CARD.nbytes, copy_fact)]
    if lowered.count and lowered.total * pixels < 2:
        bar = _bar(lowered.written, TOP, LOW, pixels, copy_fact)
    rooms = (mark for room in inputs.budgets if room.live for mark in _free(room))
    box = _card(inputs) if lowered.total else []
    marks = [*_bar(lowered.source, 2, 12, pixels, input_fact), *bar, *box, *rooms]
    was = inputs.before.total if inputs.before else lowered.total
    previous = [Rect(0, min(was, end), TOP, LOW)] if was != lowered.total else []
    axis = Axis(grid=False, labels=inputs.numbers)
    chart = Chart(RULER, Scale(LOW, 0), marks, LOW, axis, left=0, right=18, previous=previous)
    source = [(f"{names[0]} ", False), (amount(lowered.source), True)]
    labels = Below([note([source], 12), note(names[1], 12, gap=19)])
    return SideBySide([(labels, inputs.left), (chart, width)], apart=0, gap=6, rows=True)


def _bar(nbytes: int, top: float, bottom: float, pixels: float, fact: Fact) -> list[Mark]:
    """Return a bar from the left edge; one that is thinner than a line gets a pointer."""
    end, middle = max(nbytes, 0.6 / pixels), (top + bottom) / 2
    bar = Rect(0, end, top, bottom, ON, edge=0, fact=fact)
    if end * pixels >= 2:
        return [bar]
    pointer = Glyph(end, middle, "M3 0l7-3.5v7z", marker="<")
    return [bar, pointer, ChartText(end, middle, text_of("ruler.small"), 11, dx=14, dy=4, dim=True)]


def _card(inputs: CopiesPageInputs) -> list[Mark]:
    """Return the box of the card on the ruler, with words where the copy does not fit."""
    lowered, end, last = inputs.lowering, CARD.nbytes, RULER.last
    name = card(CARD.name)
    marks: list[Mark] = [
        Rect(0, end, TOP, LOW, "limit", inset=-1.5, fact=Fact(name, nbytes=end)),
        ChartText(0, TOP, name if inputs.numbers else CARD.name, 11, dx=-2, dy=-7),
    ]
    if end < lowered.total <= last:
        marks.append(ChartText(end, TOP, text_of("ruler.over"), 11, dx=6, dy=-7, bold=True))
    if lowered.total > last:
        exact = inputs.numbers and inputs.width >= PHONE
        beyond = f"{_beyond(lowered) if exact else amount(lowered.total)} →"
        marks.append(ChartText(last, TOP, beyond, 11, "end", dx=14, dy=-7, bold=True, held=True))
    return marks


@dataclass(frozen=True)
class CopyBar(Mark):
    """Bar of the copies side by side, filled as far as they are written.

    Bytes beyond the ``room`` of a card are hollow and hatched. A bar that is longer than the scale
    is broken at its end.
    """

    lowering: Lowering
    top: float
    bottom: float
    room: int
    fact: Fact | None = None
    over: Paint | str = OVER

    def draw(self, pen: Pen) -> None:
        lowered, end = self.lowering, pen.across.last
        written, total = min(lowered.written, end), min(lowered.total, end)
        box = pen.place(0, total, self.top, self.bottom)
        inside = pen.x(min(written, self.room))
        pen.svg.fill(box_path(box._replace(right=inside)), ON, 0)
        if written > self.room:
            pen.svg.style(self.over, box_path(box._replace(left=inside, right=pen.x(written))))
        if written < total:
            rest = Box(pen.x(written) + 1, box.top + 2, box.right, box.bottom - 2)
            pen.svg.rect(rest, class_="ghost")
        self._seams(pen, box)
        if lowered.total > end:
            _break(pen.svg, box)

    def _seams(self, pen: Pen, box: Box) -> None:
        """Draw a line between neighbouring copies of the input, in the colour of the page."""
        copy_bytes = self.lowering.total / max(self.lowering.count, 1)
        xs = [pen.x(copy_bytes * n) for n in range(1, self.lowering.copies)]
        if pen.x(copy_bytes) - pen.x(0) >= 4:
            d = "".join(f"M{x:.1f} {box.top:g}V{box.bottom:g}" for x in xs if x < box.right - 1)
            pen.svg.path(d, class_="seam")

    def on(self, axes: Any) -> None:
        for nbytes, look in ((self.lowering.written, ON), (self.lowering.total, "before")):
            Rect(0, nbytes, self.top, self.bottom, look).on(axes)


def _break(svg: Svg, box: Box) -> None:
    """Draw the broken end of a bar that is longer than the scale."""
    x, step = box.right, (box.bottom - box.top) / 4
    zigzag = "".join(f"l{6 if i % 2 == 0 else -6} {step:g}" for i in range(4))
    svg.path(f"M{x - 3:g} {box.top:g}{zigzag}h14v-{box.bottom - box.top:g}z", class_="hollow")
    svg.path(f"M{x - 3:g} {box.top:g}{zigzag}", class_="edge")


def _free(budget: Budget) -> list[Mark]:
    """Return a dashed line through the ruler for the memory that is free on this machine."""
    text, end = text_of("ruler.free", free=hundredths(budget.nbytes)), RULER.last
    if budget.nbytes > end:
        return [ChartText(end, 12, f"{text} →", 11, "end", 14, dim=True, held=True)]
    line = Rule(x=budget.nbytes, span=(LOW, 14), look="before", below=5)
    places = [("middle", 0), ("start", 6), ("end", -6), ("start", 160)]
    spots = [(budget.nbytes, 12, anchor, dx, 0) for anchor, dx in places]
    return [line, Label(text, spots, 11, chip=True)]


def _beyond(lowering: Lowering) -> str:
    """Return words on how far the bar goes beyond the ruler; empty where it ends on it."""
    if lowering.total <= RULER.last:
        return ""
    ratio = times(Fraction(lowering.total, int(RULER.last)))
    return text_of("ruler.beyond", total=amount(lowering.total), times=ratio, ruler=RULER.end)


# -- one image, written for real ------------------------------------------------------------------


def _written(inputs: CopiesPageInputs) -> list[PageBlock]:
    """Return bars of planned and measured bytes of one written image, on one scale."""
    run = inputs.done
    if run is None or not run.planned:
        return []
    sizes = {"planned": run.planned, "measured": run.measured}
    longest = max(sizes.values())
    marks: list[Mark] = []
    for index, (name, nbytes) in enumerate(sizes.items()):
        top, origin = 34 * index, strings.get(f"run.origin.{name}")
        marks += [
            ChartText(0, top, origin, 11, dx=-inputs.left, dy=6),
            ChartText(0, top, units.exact(nbytes), 12, dx=-inputs.left, dy=20, bold=True),
            Rect(0, nbytes, top, top + 16, theme.origin(name), fact=Fact(origin, nbytes=nbytes)),
        ]
    residual = text_of("write.residual", residual=units.exact(run.residual))
    marks.append(ChartText(longest, 20, residual, 16, dx=12, bold=True))
    if run.seconds:
        marks.append(ChartText(longest, 36, text_of("write.time", ms=run.ms), 11, dx=12, dim=True))
    chart = Chart(Scale(0, longest / 0.55), Scale(52, 0), marks, 52, left=inputs.left, right=4)
    heading = text_of("write.title")
    return [note(heading, bold=True, gap=6), replace(chart, gap=8)]


# -- the small picture ----------------------------------------------------------------------------


def _picture(inputs: CopiesPageInputs) -> list[PageBlock]:
    """Return input and copies, with their values, the matrix and the pin beside or below them."""
    lowered, cell, start = inputs.lowering, inputs.cell, inputs.left / inputs.cell
    rim, across = lowered.small.rim, lowered.k * PITCH - 1
    high = max(across, SIZE + rim + 3)
    cells = CopiedCells(lowered, (start, 0), inputs.pin, input=(3, 0), moving=inputs.moving,
                        headed=inputs.numbers)  # fmt: skip
    marks: list[Mark] = [
        ChartText(3, SIZE, text_of("ruler.input"), 12, dy=16 + rim * cell),
        ChartText(start, 0, text_of("found.example"), 13, dy=-10 - 14 * inputs.numbers, dim=True),
        cells,
    ]
    if cells.framed:
        frame = text_of("ruler.framed", copy=lowered.copies)
        marks.append(ChartText(3, SIZE, frame, 11, dy=32 + rim * cell, dim=True))
    if not lowered.count:
        marks.append(ChartText(start, SIZE, text_of("matrix.unmade"), 12, dy=16))
    chart = Chart(Scale(0, start + across), Scale(high, 0), marks, high * cell, left=0,
                  right=0, above=max(rim * cell + 4, 24 + 14 * inputs.numbers), gap=4)  # fmt: skip
    wide = inputs.left + across * cell
    room, sentences = inputs.width - 4 - wide - 24, lowered.drawn
    words = Paragraphs([*sentences, lowered.tile * (not inputs.pin), *lowered.beside], drawn=False,
                  gap=1)  # fmt: skip
    if room >= LEAST * SIZE**2:
        notes = _notes(inputs, room, gap=chart.above - 2)
        return [SideBySide([(chart, wide), (notes, room)], apart=24), words]
    if inputs.width < PHONE:
        chart = replace(chart, right=inputs.width - wide)
        return [chart, _notes(inputs, inputs.width - 4, gap=10), words]
    alone = SideBySide([(chart, wide), (Paragraphs(""), inputs.width - wide)], apart=0)
    return [alone, _notes(inputs, inputs.width - 4, gap=10), words]


def _notes(inputs: CopiesPageInputs, width: float, gap: float) -> Below:
    """Return the legend of values and zeros, the matrix, and the sentences on the pin."""
    lowered = inputs.lowering
    first, *others = lowered.pinned(inputs.pin) or [""]
    if not lowered.count:
        return Below([], gap=gap)
    blocks: list[PageBlock] = [
        _legend(lowered, width, inputs.numbers),
        note(lowered.why),
        *_matrix(inputs, width),
    ]
    if 4 * lowered.small.places**2 == SIZE**2 and not lowered.tiled:
        blocks += [note(text_of("panel.together"), gap=8), together(lowered, inputs.cell, width)]
    if inputs.numbers:
        blocks.append(note(text_of("panel.times", size=SIZE, now=times(lowered.covered)), gap=8))
    return Below([*blocks, note(first, bold=True, gap=8), note(others)], gap=gap)


def _legend(lowering: Lowering, width: float, numbers: bool) -> Chart:
    """Return the legend: values of the letter and around it, and added zeros, with their numbers if
    asked."""
    values = (
        text_of("panel.values", values=f"{lowering.values:,}")
        if numbers
        else text_of("panel.value")
    )
    zeros = (
        text_of("panel.zeros", zeros=f"{lowering.zeros:,}") if numbers else text_of("panel.zero")
    )
    marks: list[Mark] = [
        Rect(0, 0.6, 0.2, 0.8, ON),
        Rect(0.75, 1.35, 0.2, 0.8, PALE),
        ChartText(1.75, 0.8, values, 13),
        Rect(0, 0.6, 1.2, 1.8, ZERO),
        ChartText(1.75, 1.8, zeros if lowering.small.rim else text_of("panel.no_zeros"), 13),
    ]
    return Chart(Scale(0, width / 19), Scale(2, 0), marks, 38, left=0, right=0)


def quarters(count: int, across: int) -> list[Corner]:
    """Return the corners of ``count`` quarters that make squares, ``across`` squares beside each
    other."""
    half = SIZE / 2
    squares = [(n // 4 % across * PITCH, n // 4 // across * PITCH) for n in range(count)]
    return [(x + half * (n % 2), y + half * (n % 4 // 2)) for n, (x, y) in enumerate(squares)]


def together(lowering: Lowering, cell: float, width: float) -> Chart:
    """Return a chart of copies that are quarters of the input, put together to
    squares of its size."""
    across, half = max(1, int((width / cell + 1) // PITCH)), SIZE / 2
    squares = quarters(lowering.count, across)[::4]
    marks: list[Mark] = [Rect(x, x + SIZE, y, y + SIZE, "ghost") for x, y in squares]
    for x, y in quarters(lowering.count, across)[: lowering.copies]:
        marks.append(Rect(x, x + half, y, y + half, ON, inset=0.5, edge=0))
    high = squares[-1][1] + SIZE
    return Chart(Scale(0, width / cell), Scale(high, 0), marks, high * cell, left=0, right=0)


# -- below it -------------------------------------------------------------------------------------


def _matrix(inputs: CopiesPageInputs, width: float) -> list[PageBlock]:
    """Return the lowered matrix with its name; its cells are as large as there is room for."""
    lowered, columns = inputs.lowering, inputs.lowering.small.places**2
    cell = min(float(inputs.cell), width / columns)
    name = text_of("matrix.name", rows=lowered.count, columns=columns) if inputs.numbers else ""
    chart = Chart(Scale(0, width / cell), Scale(lowered.count, 0), [Matrix(lowered, (0, 0),
                  inputs.pin)],
                  lowered.count * cell, left=0, right=0, gap=4)  # fmt: skip
    named = [(name or text_of("matrix.plain"), True), (f" · {text_of('matrix.read')}", False)]
    return [note([named], 12, gap=10), chart]


def strip(lowering: Lowering) -> list[PageBlock]:
    """Return a box for each convolution of the network, filled by its factor, and words that count
    them."""
    nodes = convolutions(lowering.network)
    none, part, larger = by_copy(nodes)
    name = lowering.network.label
    name = text_of("strip.itself", network=name) if lowering.made_up else name
    counts = {"all": len(nodes), "none": len(none), "parts": len(part), "whole": len(larger)}
    entries = [(Fraction(0), "strip.zero"), (Fraction(1), "strip.more")]
    entries[1:1] = [(factor(part[0]), "strip.quarter")] if part else []
    heading = text_of("strip.title", network=name, all=len(nodes))
    marks = boxes(nodes, lowering.batch)
    text = [text_of("twin.strip", network=name, **counts)]
    chart = Chart(Scale(0, max(len(nodes), 24)), Scale(0, 1), marks, 30, left=1, right=4, gap=4,
                  told=text)  # fmt: skip
    key: list[Mark] = []
    for at, (filled, entry) in enumerate(entries):
        key += [
            *filled_box(0, at + 0.95, filled, -0.7),
            ChartText(1, at + 0.9, text_of(entry, **counts), 13),
        ]
    high = len(entries)
    legend = Chart(Scale(0, 40), Scale(high, 0), key, 19 * high, left=1, right=4)
    return [note(heading, bold=True, gap=APART), chart, legend]


def boxes(nodes: Sequence[Node], batch: int) -> list[Mark]:
    """Return a box for each convolution, which tells the bytes of its lowered copy."""
    marks: list[Mark] = []
    for at, node in enumerate(nodes):
        need = workspace(node, WAYS[0]).formula(batch)
        fact = Fact(node.name, need, lowered_bytes(node, batch))
        marks += filled_box(at, 0, min(factor(node), Fraction(1)), 1, fact)
    return marks


def filled_box(
    x: float, y: float, part: Fraction, high: float, fact: Fact | None = None
) -> list[Mark]:
    """Return a box at a place, filled up to a share ``part`` of its height ``high``."""
    inside = Rect(x, x + 0.72, y, y + float(part) * high, ON, edge=0)
    return [inside, Rect(x, x + 0.72, y, y + high, "edge", fact=fact)]


def _counts(inputs: CopiesPageInputs) -> PageBlock:
    """Return a table of how often each pixel of the small picture is written, with its sum."""
    lowered, side = inputs.lowering, 19
    counts = lowered.small.counts(lowered.copies)
    heading = text_of("counts.title_so_far" if lowered.copies < lowered.count else "counts.title")
    marks: list[Mark] = []
    for pixel, count in enumerate(counts):
        y, x = divmod(pixel, SIZE)
        tint = round(0.06 + 0.34 * count / max(*counts, 1), 3)
        marks.append(Rect(x, x + 1, y, y + 1, replace(ON, tint=tint), edge=0.3))
        marks.append(ChartText(x + 0.5, y + 1, str(count), 11, "middle", dy=-5.5))
    rows = [counts[row * SIZE : (row + 1) * SIZE] for row in range(SIZE)]
    table = ["  " + " ".join(f"{count:2}" for count in row) for row in rows]
    sums = lowered.sums
    text = [f"{heading}:", *table, *(f"{line}." for line in sums)]
    chart = Chart(Scale(0, SIZE), Scale(SIZE, 0), marks, SIZE * side, left=1, right=0, told=text)
    wide = SIZE * side + 1
    parts = [(chart, wide), (note([text_of("counts.rule"), *sums]), inputs.width - wide - 24)]
    return Below([note(heading, bold=True), SideBySide(parts, apart=24)], gap=APART)
