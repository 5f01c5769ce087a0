"""Page of fine-tuning: for each way its model state and its maps as bars, and the maps of one layer
in cells.

One thick line parts the sides: bytes of the model state lie to its left, those of the maps to its
right, on one scale. The layout is that of the view of formats (``memlab.pictures.precision``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from memlab.pictures.draw import text as texts
from memlab.pictures.draw.bars import TALL, CellBar, gone, margins
from memlab.pictures.draw.chart import Chart
from memlab.pictures.draw.labels import ChartText, Label
from memlab.pictures.draw.marks import Fact, Mark, OpenEdge, Rect, Rule
from memlab.pictures.draw.page import Page
from memlab.pictures.draw.scale import Band, Scale
from memlab.pictures.draw.svg import PHONE
from memlab.pictures.draw.table import Key, PageBlock, Paragraphs, Table
from memlab.pictures.draw.text import emphasized
from memlab.pictures.fine_tuning.ways import (
    MAPS,
    STATE,
    FineTuning,
    LayerMap,
    TuningWay,
    name_of,
    parts_of,
    text_of,
)
from memlab.pictures.length.page import PAINT
from memlab.pictures.values.number_text import three_digits

NAMES, RIGHT = 168, 10
"""Pixels for the names of rows, and to the right of the cells."""
NARROW, FEW = 760, 112
"""Below that width the names of rows have so many pixels, and the sums of both sides stand one
below the other."""
PITCH, PARTS, HEAD = 62, 16, 38
"""Pixels from row to row, for the sums below a bar, for the heads."""
TALLEST, CELL_NAMES = 100, 84
"""Pixels from row to row where the names stand above the bars, as on a phone, and the room for the
names beside the cells there."""
CELLS, BELOW = 40, 44
"""Pixels of the frame of the cells, and of the words below it."""


@dataclass(frozen=True)
class FineTuningPageInputs:
    """Everything that the picture depends on. ``room`` is the end of its scale: bytes of the model
    state, and of the maps. With ``asked`` only the way is shown in which every parameter learns."""

    study: FineTuning
    room: tuple[int, ...]
    width: float
    numbers: bool = False
    chosen: str = ""
    asked: bool = False

    @property
    def ways(self) -> Sequence[TuningWay]:
        """Ways that have a row."""
        return self.study.ways[:1] if self.asked else self.study.ways

    @property
    def wide(self) -> bool:
        """True if the sums of both sides stand beside each other."""
        return self.width >= NARROW

    @property
    def phone(self) -> bool:
        """True if the names of rows stand above the bars."""
        return self.width < PHONE

    @property
    def names(self) -> float:
        """Pixels for the names of rows, left of the bars."""
        return NAMES if self.wide else 0 if self.phone else FEW

    @property
    def pitch(self) -> float:
        """Pixels from row to row."""
        if self.phone:
            return TALLEST
        return PITCH + PARTS * self.numbers * (1 if self.wide else 2)

    @property
    def rows(self) -> Band:
        """Scale of the rows, with the first at the top."""
        return Band(len(self.ways), 0)

    @property
    def maps_note(self) -> str:
        """Note on the texts whose maps are drawn."""
        study = self.study
        key = "maps_note" if study.batch > 1 else "maps_note_one"
        return text_of(key, batch=f"{study.batch:,}", length=f"{study.length:,}")

    def right_sum(self, way: TuningWay) -> str:
        """Return the maps of a way as a sum, and its peak."""
        return f"{way.sums[1]}; {text_of('of_peak', peak=three_digits(way.peak))}"

    @cached_property
    def margins(self) -> tuple[float, float]:
        """Pixels to the left of the bars, without the names, and to their right."""
        state, maps = self.room
        if self.phone:
            return margins(self.width, state, maps, 0)
        sums = [self.right_sum(way) for way in self.ways if self.numbers]
        least = max(texts.width(line, 11) + 14 for line in (self.maps_note, *sums))
        return margins(self.width - self.names, state, maps, least)

    @property
    def pixel(self) -> float:
        """Pixels of one byte."""
        return (self.width - self.names - sum(self.margins)) / max(sum(self.room), 1)


def page(shown: FineTuningPageInputs, says: str) -> Page:
    """Return the page, and what a screen reader hears."""
    study = shown.study
    title = text_of("title.asked") if shown.asked else study.finding
    return Page(
        title.replace("*", ""), list(_blocks(shown, title)), shown.width, says, titled=False
    )


def _blocks(shown: FineTuningPageInputs, title: str) -> Iterator[PageBlock]:
    study = shown.study
    yield Paragraphs([emphasized(title)], 20)
    see = f"{text_of('see_asked')} {study.adapters}" if shown.asked else text_of("see")
    yield Paragraphs(see, 13, gap=3)
    drawn = [part for part in (*map(str, STATE), *MAPS) if part in _drawn(shown)]
    yield Key([(PAINT[part], name_of(part)) for part in drawn], gap=8)
    if shown.phone:
        sides = ("state_head", text_of("state_note")), ("maps_head", shown.maps_note)
        notes = [[(f"{text_of(head)} ", True), (note, False)] for head, note in sides]
        yield Paragraphs(notes, 11, dim=True, told=False, gap=8)
    yield _bars(shown)
    if shown.asked:
        yield Paragraphs(study.subject, dim=True, gap=1)
        return
    yield Paragraphs(text_of("cells.head"), 13, bold=True, gap=14)
    yield Paragraphs(text_of("cells.note"), 11, dim=True)
    yield _layer(shown)
    heads, *rows = study.table()
    yield Table(heads, rows, drawn=False)
    yield Paragraphs(study.notes, drawn=False, gap=1)


def _drawn(shown: FineTuningPageInputs) -> set[str]:
    return {part for way in shown.ways for part in parts_of(way)}


# -- the ways ----------------------------------------------------------------------------------


def _bars(shown: FineTuningPageInputs) -> Chart:
    """Return the chart with a row for each way."""
    state, maps = shown.room
    marks: list[Mark] = [*_heads(shown)]
    for row, way in enumerate(shown.ways):
        marks += [*_name(shown, row, way), *_parts(shown, row, way), *_amounts(shown, row, way)]
    marks.append(Rule(x=0, look="limit", above=HEAD - 8))
    return Chart(Scale(-state, maps), shown.rows, marks, shown.pitch * len(shown.ways),
                 left=shown.names + shown.margins[0], right=shown.margins[1], above=HEAD,
                 told=list(_told(shown)),
                 name=text_of("state_head"), gap=4)  # fmt: skip


def _heads(shown: FineTuningPageInputs) -> Iterator[Mark]:
    """Yield marks for the names of both sides."""
    first, second = 20 - HEAD, 35 - HEAD
    yield ChartText(0, 0, text_of("state_head"), 13, "end", dx=-12, dy=first, bold=True)
    if not shown.phone:
        yield ChartText(0, 0, text_of("state_note"), 11, "end", dx=-12, dy=second, dim=True)
    yield ChartText(0, 0, text_of("maps_head"), 13, dx=10, dy=first, bold=True)
    if not shown.phone:
        yield ChartText(0, 0, shown.maps_note, 11, dx=10, dy=second, dim=True)


def _name(shown: FineTuningPageInputs, row: int, way: TuningWay) -> Iterator[Mark]:
    """Yield marks for the name of a way, and what is told of it."""
    left, dx, y = -shown.room[0], -shown.names - shown.margins[0], row + 0.5
    if shown.phone:
        high = -TALL / 2 - 9
        yield ChartText(left, y, way.label, 13, dx=dx, dy=high - 15, bold=True, chip=True)
        note = shown.study.row_note(way)
        yield ChartText(left, y, note, 11, dx=dx, dy=high, dim=True, chip=True)
        return
    yield ChartText(left, y, way.label, 13, dx=dx, dy=-2, bold=True)
    lines = texts.wrap(shown.study.row_note(way), shown.names - 6, 11)
    for index, line in enumerate(lines[:3]):
        yield ChartText(left, y, line, 11, dx=dx, dy=13 + 13 * index, dim=True)


def _parts(shown: FineTuningPageInputs, row: int, way: TuningWay) -> Iterator[Mark]:
    """Yield marks for the parts of a way as far as the scale goes, and what the first way has
    beyond them, dashed."""
    (state, maps), x = shown.room, -way.totals[0]
    for part in parts_of(way):
        nbytes = way.amounts[part]
        ends = min(max(x, -state), maps), min(max(x + nbytes, -state), maps)
        if ends[1] > ends[0]:
            yield _bar(shown, row, way, part, ends)
        x += nbytes
    tall = TALL / 2 / shown.pitch
    for side, end, over in (("left", -state, way.totals[0] > state),
                            ("right", maps, way.totals[1] > maps)):  # fmt: skip
        if over:
            yield OpenEdge(row + 0.5 - tall, row + 0.5 + tall, side, end)
    first = shown.study.first.totals
    yield from gone(row, -min(way.totals[0], state), -min(first[0], state))
    yield from gone(row, min(way.totals[1], maps), min(first[1], maps))


def _bar(
    shown: FineTuningPageInputs, row: int, way: TuningWay, part: str, ends: tuple[float, float]
) -> CellBar:
    """Return the block of a part in a row. A press chooses it, and all others become pale."""
    place = f"{row}:{part}"
    fact = Fact(f"{way.label}, {name_of(part)}", nbytes=way.amounts[part])
    pale = shown.chosen not in ("", place)
    return CellBar(*ends, row, row + 1, PAINT[part], 0, TALL, fact=fact, send=("choose", place),
                   pale=pale)  # fmt: skip


def _amounts(shown: FineTuningPageInputs, row: int, way: TuningWay) -> Iterator[Mark]:
    """Yield marks for the bytes of both sides of a way."""
    y, (state, maps), first = row + 0.5, shown.room, shown.study.first.totals
    left = -min(max(way.totals[0], first[0]), state)
    amount = three_digits(way.totals[0])
    yield ChartText(left, y, amount, 13, "end", dx=-8, dy=5, bold=True, chip=True)
    end, amount = min(way.totals[1], maps), three_digits(way.totals[1])
    inside = texts.width(amount, 13, bold=True) + 20 < end * shown.pixel
    right = end if inside else min(max(way.totals[1], first[1]), maps)
    anchor, dx = ("end", -10) if inside else ("start", 8)
    yield ChartText(right, y, amount, 13, anchor, dx=dx, dy=5, bold=True, chip=True)
    if shown.numbers:
        dy, low = TALL / 2 + 14, 0 if shown.wide else 14
        yield ChartText(0, y, way.sums[0], 11, "end", dx=-8, dy=dy, chip=True, held=True)
        yield ChartText(0, y, shown.right_sum(way), 11, dx=8, dy=dy + low, chip=True, held=True)


def _told(shown: FineTuningPageInputs) -> Iterator[str]:
    """Yield the amounts that are written, and what stands beside the rows."""
    for way in shown.ways:
        state, maps = map(three_digits, way.totals)
        yield text_of("parts", name=f"{way.label} ({shown.study.row_note(way)})", state=state,
                      maps=maps)  # fmt: skip
        if shown.numbers:
            state, maps = way.sums
            said = text_of("of_peak", peak=three_digits(way.peak))
            yield f"{text_of('parts', name=way.label, state=state, maps=maps)} {said}."


# -- one layer ---------------------------------------------------------------------------------


def _layer(shown: FineTuningPageInputs) -> Chart:
    """Return the chart of the maps that one layer keeps, in cells of the model's width."""
    maps, start = shown.study.maps, 0
    marks: list[Mark] = [
        ChartText(0, 0.5, text_of(f"cells.{key}"), 11, "end", dx=-12, dy=dy, dim=True)
        for key, dy in (("map", _FIRST), ("reader", _SECOND))
    ]
    for map_ in maps:
        marks += _map(shown, map_, start)
        start += map_.nbytes
    heads, *rows = shown.study.map_table()
    return Chart(Scale(0, max(start, 1)), Band(1, 0), marks, CELLS,
                 left=CELL_NAMES if shown.phone else shown.names, right=RIGHT,
                 below=BELOW, told=Table(heads, rows), name=text_of("cells.head"),
                 gap=4)  # fmt: skip


_FIRST, _SECOND, _THIRD = TALL / 2 + 17, TALL / 2 + 34, TALL / 2 + 48
"""Pixels from the middle of the cells down to the names, the readers, and a note on these."""


def _map(shown: FineTuningPageInputs, map_: LayerMap, start: int) -> Iterator[Mark]:
    """Yield marks for one map: its cells, its name, and who reads it again."""
    study, end = shown.study, start + map_.nbytes
    fact = Fact(text_of("map", name=map_.name), nbytes=study.batch * map_.nbytes,
                reader=map_.read_by(adapted=map_.kept))  # fmt: skip
    count = max(round(map_.nbytes / study.unit), 1)
    if map_.kept:
        yield CellBar(start, end, 0, 1, PAINT[map_.part], 1, TALL, fact=fact, cells=count)
    else:
        wide = map_.nbytes / count
        for cell in range(count):
            x = start + cell * wide
            yield Rect(x, x + wide, 0, 1, "before", 1.5, TALL, fact=fact)
    middle = (start + end) / 2
    yield Label(map_.name, [(middle, 0.5, "middle", 0, _FIRST)], 11)
    reader = map_.read_by(adapted=map_.kept)
    yield Label(reader, [(middle, 0.5, "middle", 0, _SECOND)], 11, dim=not map_.kept)
    if not map_.kept:
        frozen = text_of("cells.frozen")
        yield Label(frozen, [(middle, 0.5, "middle", 0, _THIRD)], 11, dim=True)
