"""Page of a text's length: bytes over all lengths, a cut at one of them, and its rows.

The chart's horizontal scale counts pixels: the plot, then the cut, then the rows beside it; on a
narrow page the rows stand below. Its vertical scale counts bytes, up to half as much again as the
card, and no setting but the card changes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import log2
from typing import Any

import numpy as np

from memlab import units
from memlab.arrays import Floats
from memlab.pictures.draw import text as texts
from memlab.pictures.draw.bars import PALE
from memlab.pictures.draw.chart import Chart
from memlab.pictures.draw.labels import ChartText, Label, Name, thickest
from memlab.pictures.draw.marks import (
    Area,
    Fact,
    Group,
    Line,
    Mark,
    OpenEdge,
    Pen,
    Points,
    Rect,
    Rule,
    Stairs,
)
from memlab.pictures.draw.page import Page
from memlab.pictures.draw.scale import Scale
from memlab.pictures.draw.svg import box_path
from memlab.pictures.draw.table import PageBlock, Paragraphs, Table
from memlab.pictures.draw.text import emphasized
from memlab.pictures.draw.theme import FREE, LOGITS, MATRICES, PAINTS, Paint, background
from memlab.pictures.length import growth
from memlab.pictures.length.axis import FIRST, LAST, LengthPicture, foot, pole
from memlab.pictures.length.growth import FLOOR, PARTS
from memlab.pictures.length.text_length import DRAWN, TextLength, text_of
from memlab.pictures.mountain.layers import MountainLayer, pile
from memlab.pictures.values.number_text import percent, round_bytes, three_digits, unit_of
from memlab.step.tensor import Role

NARROW = 800
"""Width in pixels of a page from which the rows stand beside the chart."""
LEFT, GAP, CUT, REACH, ROWS = 44, 28, 28, 36, 316
"""Pixels: left of the plot, from the plot to the cut, width of the cut, from it to the rows, and
width of the rows."""
ABOVE, BELOW, HEIGHT = 30, 64, 300
"""Pixels: above the frame, below it, and the frame."""
ROW, LOW_ROW, LOW, AMOUNTS = 21, 17, 260, 194
"""Pixels: from row to row, the same beside a frame that is lower than ``LOW``, and from the left
edge of the rows to the end of the amounts."""
LOWEST, FLOOR_GAP = 9.0, 12
"""Pixels from the axis down to the baseline of the lowest row, and free above the floor's rows."""
BAR, TALLEST = 8, 15
"""Pixels: width of a small bar, and height of the highest."""
STRIP = (3.0, 14.0)
"""Pixels below the axis between which lengths that do not fit are hatched."""
PAINT: dict[str, Paint] = {
    **{str(role): PAINTS[role] for role in (*FLOOR, Role.GRADIENT_MAP)},
    growth.REST: PAINTS[Role.INPUT],
    growth.OTHERS: PAINTS[Role.FEATURE_MAP],
    growth.LOGITS: LOGITS,
    growth.MATRICES: MATRICES,
}
"""Fills of the parts."""
TWO_LINES = {
    str(Role.GRADIENT_MAP): True,
    growth.OTHERS: True,
    growth.LOGITS: False,
    growth.MATRICES: True,
}
"""Parts with their name on the plot: True where it has two lines."""


class LengthPageInputs(LengthPicture[TextLength]):
    """Everything that the picture depends on; the study before has other curves."""

    # -- places -----------------------------------------------------------------------------

    @property
    def wide(self) -> bool:
        """True if the rows stand beside the chart."""
        return self.width >= NARROW

    @property
    def frame(self) -> float:
        """Pixels from the left edge of the plot to the right edge of the chart."""
        return self.width - LEFT

    @property
    def plot(self) -> float:
        """Width of the plot in pixels."""
        beside = REACH + ROWS if self.wide else 12
        return self.frame - GAP - CUT - beside

    @property
    def cut(self) -> tuple[float, float]:
        """Left and right end of the cut."""
        return self.plot + GAP, self.plot + GAP + CUT

    @property
    def end(self) -> int:
        """Bytes at the end of the axis."""
        return self.study.budget * 3 // 2

    @property
    def low(self) -> bool:
        """True if the rows stand close beside a low frame."""
        return self.wide and self.height < LOW

    @property
    def row(self) -> float:
        """Pixels from row to row."""
        return LOW_ROW if self.low else ROW

    @property
    def per(self) -> float:
        """Bytes of one pixel."""
        return self.end / self.height

    def x(self, length: float) -> float:
        """Return the place of a length on the plot, in pixels."""
        return self.plot * log2(length / FIRST) / log2(LAST / FIRST)

    @cached_property
    def lengths(self) -> Floats:
        """Length in the middle of every column of pixels of the plot."""
        count = int(self.plot)
        places: Floats = (np.arange(count) + 0.5) / count
        columns: Floats = FIRST * (LAST / FIRST) ** places
        return columns

    # -- curves -----------------------------------------------------------------------------

    def lines(self, study: TextLength) -> dict[str, Floats]:
        """Return the bytes of every part in each column; where the answer is asked for, only up to
        the length."""
        parts = study.recipe.curves.parts(self.lengths, study.batch)
        if self.asked:
            parts = {part: np.where(self.lengths <= study.length, line, 0.0)
                     for part, line in parts.items()}  # fmt: skip
        return parts

    @cached_property
    def layers(self) -> list[MountainLayer[str]]:
        """Parts piled up over the whole frame, without bytes right of the plot."""
        empty = np.zeros(max(int(self.frame) - len(self.lengths), 0))
        lines = {part: np.append(line, empty) for part, line in self.lines(self.study).items()}
        return pile(lines, np.zeros(len(self.lengths) + len(empty)))

    def crossing(self, study: TextLength) -> float | None:
        """Return the place at which the longest text that fits stands, or None where that is beyond
        the axis."""
        return self.x(study.longest) if FIRST <= study.longest < LAST else None


def page(shown: LengthPageInputs, says: str) -> Page:
    """Return the page of a text's length."""
    study, before = shown.study, shown.before
    finding = text_of("title.asked") if shown.asked else study.finding(before)
    blocks: list[PageBlock] = [
        Paragraphs([emphasized(finding)], 20),
        Paragraphs([] if shown.asked else study.see(before), 13, gap=2),
        _chart(shown),
        *([] if shown.wide else [_rows_below(shown)]),
        *_twin(shown),
    ]
    return Page(finding.replace("*", ""), blocks, shown.width, says, titled=False)


def _twin(shown: LengthPageInputs) -> Iterator[PageBlock]:
    """Yield the exact figures, which are drawn where all numbers are asked for."""
    study, before, drawn = shown.study, shown.before, shown.numbers
    exact = study.exact_lines(before)
    exact = exact[:1] if shown.asked else [*exact, *study.products()]
    yield Paragraphs([*study.notes, *exact], 12, drawn=drawn, gap=8)
    if not shown.asked:
        heads, *rows = study.roles()
        yield Table(heads, rows, "<>>><", drawn=drawn, gap=8)
        heads, *rows = study.doubled()
        yield Table(heads, rows, ">><", drawn=drawn, gap=8)


# -- the chart -------------------------------------------------------------------------------------


def _chart(shown: LengthPageInputs) -> Chart:
    """Return the chart: bytes over the length of a text, the cut, and on a wide page the rows."""
    marks: list[Mark] = [
        *_stack(shown),
        *_card(shown),
        *_axis(shown),
        *([] if shown.asked else _longest(shown)),
        *_pole(shown),
        *_cut(shown),
        *(_rows(shown, shown.cut[1] + REACH, shown.per, 0) if shown.wide else ()),
        *([] if shown.asked else _leaders(shown) if shown.wide else ()),
        *_names(shown),
    ]
    return Chart(Scale(0, shown.frame), Scale(0, shown.end), marks, shown.height, left=LEFT,
                 right=0, above=ABOVE, below=BELOW, previous=list(_previous(shown)),
                 told=list(_told(shown)), gap=4)  # fmt: skip


def _told(shown: LengthPageInputs) -> Iterator[str]:
    """Yield what is written on the chart."""
    study = shown.study
    yield text_of("ends", first=f"{FIRST:,}", last=f"{LAST:,}")
    yield text_of("here", length=f"{study.length:,}")
    if shown.numbers:
        yield text_of("levels", marks=", ".join(label for _, label in _levels(shown)))
    yield "; ".join([text_of("card", card=round_bytes(study.budget)), *_free(study)])
    for part in DRAWN:
        law = text_of(f"law.{study.law(part)}")
        name, amount = text_of(f"part.{part}"), study.amount(part)
        counted = study.now.parts[part] and not shown.asked
        yield text_of("row", name=name, amount=amount, law=law) if counted else f"{name}: {amount}"
    yield text_of("peak_row", amount=three_digits(study.now.nbytes))
    if not shown.asked:
        yield _fits(study)
        if shown.before and shown.crossing(shown.before) is not None:
            yield text_of("was", tokens=f"{shown.before.longest:,}")


def _fact(shown: LengthPageInputs, part: str) -> Fact:
    """Return the fact of a part at the length: its bytes, and its share of the peak."""
    now = shown.study.now
    share = percent(now.parts[part], now.nbytes)
    formula = "" if shown.asked else shown.study.formula(part)
    return Fact(text_of(f"part.{part}"), formula, now.parts[part],
                more=text_of("of_peak", share=share))  # fmt: skip


@dataclass(frozen=True, eq=False)
class Pale(Group):
    """Marks that are drawn pale, because another one is in focus."""

    def draw(self, pen: Pen) -> None:
        with pen.svg.group(opacity=PALE):
            for mark in self.marks:
                mark.lower(pen)


def _faded(shown: LengthPageInputs, part: str, marks: Iterator[Mark]) -> Iterator[Mark]:
    """Yield marks of a part, as pale ones where another part is in focus."""
    if shown.chosen in ("", part):
        yield from marks
    else:
        yield Pale(list(marks))


@dataclass(frozen=True)
class Veil(Rect):
    """A rectangle in the colour of the page that lets half of what lies under it through."""

    def draw(self, pen: Pen) -> None:
        pen.svg.path(box_path(self.box(pen)), class_="page", fill_opacity=0.5)

    def on(self, axes: Any) -> None:
        from matplotlib.patches import Rectangle

        place, wide, tall = (self.x0, self.y0), self.x1 - self.x0, self.y1 - self.y0
        axes.add_patch(Rectangle(place, wide, tall, facecolor=background(), alpha=0.5))


def _stack(shown: LengthPageInputs) -> Iterator[Mark]:
    """Yield marks for the parts over all lengths, the line over the floor, and the veil over what
    the card cannot hold; none where the shortest length is asked about, which has no column."""
    if not shown.layers:
        return
    study = shown.study
    for layer in shown.layers:
        area = Area(layer.low, layer.high, PAINT[layer.part], fact=_fact(shown, layer.part),
                    send=("choose", layer.part))  # fmt: skip
        yield from _faded(shown, layer.part, iter([area]))
    yield Stairs(shown.layers[-1].high, "rule", 0, opacity=0.75, width=0.9)
    yield Veil(0, shown.plot, study.budget, shown.end)
    ground = [layer.high for layer in shown.layers if layer.part in FLOOR][-1]
    drawn = ground[: len(shown.lengths)].tolist()
    points = [(float(at), level) for at, level in enumerate(drawn) if 0 < level <= shown.end][::4]
    if len(points) > 1:
        yield Line(points, "limit")


def _previous(shown: LengthPageInputs) -> Iterator[Mark]:
    """Yield the curve of the state before, as far as the axis reaches."""
    if shown.before is None or shown.asked:
        return
    total = np.sum([*shown.lines(shown.before).values()], axis=0)
    inside = [(at + 0.5, float(nbytes)) for at, nbytes in enumerate(total) if nbytes <= shown.end]
    if len(inside) > 1:
        yield Line([*inside[::4], inside[-1]], "before")


def _names(shown: LengthPageInputs) -> Iterator[Mark]:
    """Yield the names of the layers where they are thick enough."""
    for layer in shown.layers:
        if layer.part in TWO_LINES:
            finders = [thickest(layer.low, layer.high)]
            whole = Name(text_of(f"part.{layer.part}"), [], chip=True, finders=finders)
            name = whole.content
            if TWO_LINES[layer.part]:
                name = text_of(f"part.{layer.part}_name")
            yield Name(name, [], chip=True, finders=finders, instead=whole)
    if not shown.asked:
        yield _floor_name(shown)


def _floor_name(shown: LengthPageInputs) -> Label:
    """Return the name of the floor, with a thin line down to it."""
    level = shown.study.now.floor
    tries = [shown.plot * share for share in (0.85, 0.7, 0.55, 0.4)]
    places = [(x, level, "middle", 0.0, dy) for dy in (-26.0, -38.0) for x in tries]
    return Label(text_of("floor"), places, 11, chip=True, apart=8, leader=8)


# -- card, axis, cursor ----------------------------------------------------------------------------


def _free(study: TextLength) -> list[str]:
    """Return what is free at the peak, in words; nothing where the title says what is too much."""
    return [text_of("free", amount=three_digits(-study.over))] if study.over <= 0 else []


def _card(shown: LengthPageInputs) -> Iterator[Mark]:
    """Yield marks for the line of the card, its name, and what is free above the cut."""
    study = shown.study
    right = shown.cut[1]
    yield Rule(y=study.budget, span=(0, right), look="limit")
    name = text_of("card", card=round_bytes(study.budget))
    yield ChartText(0, study.budget, name, 12, dx=6, dy=-8, bold=True, chip=True)
    for said in _free(study):
        if shown.wide:
            yield ChartText(right, study.budget, said, 12, dx=16, dy=-6 if shown.low else 4)
        else:
            yield ChartText(right, study.budget, said, 12, "end", dy=-8, chip=True)
    if study.over < 0 and shown.wide:
        top, bottom = study.budget - 4 * shown.per, study.now.nbytes
        if top > bottom:
            points = [(right + 4, top), (right + 9, top), (right + 9, bottom), (right + 4, bottom)]
            yield Line(points, "rule faint")


def _axis(shown: LengthPageInputs) -> Iterator[Mark]:
    """Yield marks for the axis of lengths and, with all numbers, for that of bytes."""
    yield from foot(shown.x, 0, text_of("axis"), BELOW - 4)
    for nbytes, label in _levels(shown):
        yield ChartText(0, nbytes, label, 11, "end", dx=-8, dy=4, dim=True)


def _levels(shown: LengthPageInputs) -> list[tuple[int, str]]:
    """Return the marks of the axis of bytes with their names, where all numbers are asked for."""
    levels = [shown.end * share // 3 for share in (0, 1, 3) if shown.numbers]
    unit = unit_of(shown.end)
    names = [f"{nbytes / units.UNITS[unit]:,.4g}" for nbytes in levels]
    return list(zip(levels, [*names[:-1], *(f"{name} {unit}" for name in names[-1:])], strict=True))


def _pole(shown: LengthPageInputs) -> Iterator[Mark]:
    """Yield marks for the length that is chosen, with a dot at its peak."""
    study = shown.study
    x = shown.x(study.length)
    yield from pole(x, (0, shown.end), text_of("here", length=f"{study.length:,}"), x + LEFT)
    if study.now.nbytes <= shown.end:
        yield Points([(x, study.now.nbytes)])


def _fits(study: TextLength) -> str:
    """Return which lengths fit the card, in words."""
    if study.longest < FIRST:
        return text_of("fits_none")
    key = "fits" if study.longest < LAST else "fits_all"
    return text_of(key, tokens=f"{study.longest:,}")


def _longest(shown: LengthPageInputs) -> Iterator[Mark]:
    """Yield marks for the longest text that fits: where its peak meets the card, a line down from
    there, and a strip for the lengths that do not fit."""
    study, before = shown.study, shown.before
    x = shown.crossing(study)
    low = -(BELOW - 20) * shown.per
    if study.longest < LAST:
        strip = [-at * shown.per for at in STRIP]
        yield Rect(x or 0, shown.plot, strip[1], strip[0], FREE)
    was = None if before is None else shown.crossing(before)
    if before is not None and was is not None and was != x:
        yield Rule(x=was, span=(low, study.budget), look="before", crossed=True)
        yield Points([(was, study.budget)], "hollow", 9)
    if x is not None:
        yield Rule(x=x, span=(low, study.budget), look="pole", crossed=True)
        more = text_of("crossing_more", tokens=f"{study.longest + 1:,}",
                       over=units.exact(study.excess))  # fmt: skip
        said = Fact(text_of("crossing", tokens=f"{study.longest:,}"), more=more)
        yield Points([(x, study.budget)], size=9, fact=said)
    yield from _said_longest(shown, x, was if was != x else None)


def _said_longest(shown: LengthPageInputs, x: float | None, was: float | None) -> Iterator[Mark]:
    """Yield the text beside the line of the longest text, and that of the state before."""
    study, before, dy = shown.study, shown.before, BELOW - 22
    said = _fits(study)
    room = texts.width(said, 13, bold=True) + 12
    edge = shown.cut[1] if shown.wide else shown.frame
    right = x is not None and x + room <= edge
    at, anchor, dx = (
        (0.0, "start", 0) if x is None else (x, "start", 7) if right else (x, "end", -7)
    )
    yield ChartText(at, 0, said, 13, anchor, dx=dx, dy=dy, bold=True, chip=True)
    if before is None or was is None:
        return
    old = text_of("was", tokens=f"{before.longest:,}")
    wide = texts.width(old, 12) + 12
    if right and x is not None and (was < x or was > x + room) and was + LEFT > wide:
        yield ChartText(was, 0, old, 12, "end" if was < x else "start", dx=-7 if was < x else 7,
                        dy=dy, dim=True)  # fmt: skip


# -- the cut, and its rows -------------------------------------------------------------------------


def _cut(shown: LengthPageInputs) -> Iterator[Mark]:
    """Yield marks for the parts at the length, one on top of the other, and the bar before."""
    study, (left, right) = shown.study, shown.cut
    low = 0
    for part in PARTS:
        nbytes = study.now.parts[part]
        high = min(low + nbytes, shown.end)
        if nbytes and low < shown.end:
            bar = Rect(left, right, low, high, PAINT[part], fact=_fact(shown, part),
                       send=("choose", part))  # fmt: skip
            yield from _faded(shown, part, iter([bar]))
        low += nbytes
    if study.now.floor <= shown.end:
        yield Rule(y=study.now.floor, span=(left - 5, right + 5), look="limit", crossed=True)
    if low > shown.end:
        yield OpenEdge(left, right)
    yield Rule(y=0, span=(left, right), look="rule", crossed=True)
    before = shown.before
    if before and not shown.asked and before.now.nbytes > study.now.nbytes:
        top = min(before.now.nbytes, shown.end)
        if top > study.now.nbytes:
            yield Rect(left, right, study.now.nbytes, top, "before")


def _middles(shown: LengthPageInputs) -> Iterator[tuple[str, float]]:
    """Yield the parts that are seen in the cut, each with the bytes at its middle, or below the
    line of the card."""
    low = 0
    for part in PARTS:
        nbytes = shown.study.now.parts[part]
        high = min(low + nbytes, shown.end)
        if part in DRAWN and high - low > shown.per:
            yield part, min((low + high) / 2, shown.study.budget - 24 * shown.per)
        low += nbytes


def _leaders(shown: LengthPageInputs) -> Iterator[Mark]:
    """Yield thin lines from the parts of the cut to their rows."""
    right, places = shown.cut[1], dict(_row_places(shown.row))
    start = right + 4
    parts = list(_middles(shown))
    for number, (part, middle) in enumerate(parts):
        turn = right + 12 + 10 * (number % 2)
        level = -(places[part] - 4) * shown.per
        yield Line([(start, middle), (turn, middle), (right + REACH - 8, level),
                    (right + REACH - 2, level)], "rule faint")  # fmt: skip


def _row_places(pitch: float) -> Iterator[tuple[str, float]]:
    """Yield the parts of the rows, each with its baseline in pixels below the axis; rows are
    ``pitch`` apart."""
    base = LOWEST
    for part in reversed(DRAWN):
        if part == Role.GRADIENT_MAP:
            base -= FLOOR_GAP
        yield part, base
        base -= pitch


def _rows(shown: LengthPageInputs, left: float, per: float, ground: float) -> Iterator[Mark]:
    """Yield marks for the rows: a sample and a name of each part, its bytes, and its growth.

    ``ground`` is the value of the axis, from which the rows go up; a pixel has ``per`` of them.
    """
    study, right = shown.study, left + ROWS
    table = RowTable(left, right, per, ground)
    places = dict(_row_places(shown.row))
    top = min(places.values()) - shown.row
    yield table.text(22, top, text_of("table.alive"), 12, bold=True)
    yield table.text(AMOUNTS, top, text_of("table.bytes"), 11, "end", dim=True)
    if not shown.asked:
        yield table.text(ROWS, top, text_of("table.laws"), 11, "end", dim=True)
    for part, base in places.items():
        yield from _faded(shown, part, _row(shown, table, part, base))
    gap = (places[str(Role.PARAMETER_GRADIENT)] + places[str(Role.GRADIENT_MAP)]) / 2 - 5
    yield table.line(gap, "limit")
    yield table.line(LOWEST + 7, "rule faint")
    yield table.text(22, 33, text_of("peak"), 13, bold=True)
    yield table.text(AMOUNTS, 33, three_digits(study.now.nbytes), 13, "end", bold=True)
    if not shown.asked:
        sizes = [peak.nbytes for peak in study.peaks]
        yield from table.bars(sizes, 33, Paint("currentColor", 0.7))


def _row(shown: LengthPageInputs, table: RowTable, part: str, base: float) -> Iterator[Mark]:
    """Yield the marks of one row."""
    study = shown.study
    nbytes = study.now.parts[part]
    largest = nbytes and nbytes == study.now.parts[study.largest]
    fact = _fact(shown, part) if nbytes else None
    yield table.target(base, fact, ("choose", part))
    yield table.sample(base, PAINT[part])
    yield table.text(22, base, text_of(f"part.{part}"), 12, dim=not nbytes)
    amount = study.amount(part)
    yield table.text(AMOUNTS, base, amount, 12, "end", bold=bool(largest), dim=not nbytes)
    if nbytes and not shown.asked:
        yield from table.bars([peak.parts[part] for peak in study.peaks], base, PAINT[part])
        yield table.text(ROWS, base, text_of(f"law.{study.law(part)}"), 11, "end")


@dataclass(frozen=True)
class RowTable:
    """Places of the rows on a chart whose horizontal scale counts pixels: from ``left`` to
    ``right``, ``per`` values for each pixel downwards from ``ground``."""

    left: float
    right: float
    per: float
    ground: float

    def y(self, down: float) -> float:
        """Return the value so many pixels below the ground."""
        return self.ground - down * self.per

    def text(self, x: float, down: float, content: str, size: float, anchor: str = "start",
             bold: bool = False, dim: bool = False) -> ChartText:  # fmt: skip
        """Return a text whose baseline is ``down`` pixels below the ground."""
        return ChartText(self.left + x, self.ground, content, size, anchor, dy=down, bold=bold,
                         dim=dim)  # fmt: skip

    def line(self, down: float, look: str) -> Rule:
        """Return a line over the whole width."""
        return Rule(y=self.y(down), span=(self.left, self.right), look=look, crossed=True)

    def sample(self, base: float, paint: Paint) -> Rect:
        """Return the sample beside the name of a row."""
        return Rect(self.left, self.left + 14, self.y(base + 1), self.y(base - 11), paint)

    def target(self, base: float, fact: Fact | None, send: tuple[str, object]) -> Rect:
        """Return the invisible rectangle that the pointer finds."""
        low, high = self.y(base + 5), self.y(base - ROW + 6)
        return Rect(self.left, self.right, low, high, "target", fact=fact, send=send)

    def bars(self, sizes: list[int], base: float, paint: Paint) -> Iterator[Rect]:
        """Yield small bars side by side, the highest of one height: they show a law of growth."""
        most = max(sizes)
        x = self.left + AMOUNTS + 8
        for size in sizes:
            tall = max(TALLEST * size / most, 0.8)
            yield Rect(x, x + BAR, self.y(base + 2), self.y(base + 2 - tall), paint, edge=0.6)
            x += BAR + 2


def _rows_below(shown: LengthPageInputs) -> Chart:
    """Return the rows as a chart of their own, below the chart of a narrow page."""
    top = -min(base for _, base in _row_places(shown.row)) + ROW + 16
    marks = list(_rows(shown, 0, 1, 40))
    return Chart(Scale(0, shown.width), Scale(0, top + 40), marks, top + 40, left=0, right=0,
                 gap=4)  # fmt: skip
