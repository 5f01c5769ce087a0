"""Stations of the data path at a moment, with their batches as squares, and pipes between them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import sqrt
from typing import NamedTuple

from memlab import units
from memlab.pictures.draw import text as texts
from memlab.pictures.draw.chart import Chart
from memlab.pictures.draw.labels import ChartText
from memlab.pictures.draw.marks import Fact, Glyph, Mark, OpenEdge, Rect, Rule
from memlab.pictures.draw.scale import Scale
from memlab.pictures.draw.svg import PHONE
from memlab.pictures.draw.theme import PAINTS, Paint
from memlab.pictures.offload.page import Time
from memlab.pictures.path.data_path import CARD, PINNED, RAM, DataPath, Filling, letter, text_of
from memlab.pictures.values.number_text import duration, three_digits
from memlab.step.tensor import Role, Tensor

TURNS = 2.1
"""Batches, one after the other, that the picture holds at least; twice as many at first."""
PLACE = 0.42
"""Share of the axis at which the moment stands where none is chosen."""
LIGHT, DARK = Paint("currentColor", 0.20), Paint("currentColor", 0.36)
"""Fills of reading, and of all that follows."""
SHARES = (0.20, 0.17, 0.27, 0.36)
"""Shares of disk, RAM, pinned memory and device in the width without the pipes."""
SHORT, LEAST, MOST = 40, 64, 96
"""Length of a pipe on a phone, shortest and longest pipe on other pages, in pixels."""
SIDE, LARGEST = 0.09, 62
"""Side of a batch in fp32: a share of the width without the pipes, and at most so many pixels."""
ROOM = 60
"""Pixels of a station above and below two rows of batches."""


FULL = Paint("currentColor", 0.9)
INPUT = PAINTS[Role.INPUT]
TRIANGLE = "M-6-7L7 0L-6 7Z"
PER_GB, THIN, WIDE, ALIKE = 4.0, 1.2, 16, 20
"""Pixels of a pipe's thickness for each GB/s beside the largest batches, its least thickness,
the thickness from which it has a triangle, and the one of all pipes while times are a question."""
APART = 8.0
"""Pixels from one row of batches to the next."""

Span = tuple[float, float]
"""The left and the right end of a station or of a pipe, in pixels."""


@dataclass(frozen=True)
class PathLayout:
    """Data path laid out on a page ``width`` pixels wide, at a moment.

    ``room`` has the nanoseconds that the axis of time holds, and the bytes that the largest square
    holds. ``before`` is the path that was shown before this one. ``chosen`` is the number of the
    batch in focus. With ``asked`` the times are a question: the moment is one at which the device
    computes, no text names a time, and all pipes are alike.
    """

    data_path: DataPath
    room: tuple[int, ...]
    before: DataPath | None
    chosen: int | None
    moment: float | None
    width: float
    asked: bool = False

    @cached_property
    def time(self) -> Time:
        """Axis of time."""
        return Time(self.room[0], self.width)

    @property
    def now(self) -> float:
        """Second that the stations show: the chosen one, or one at a fixed share of the axis,
        earlier where a batch now takes less time, so that the same operation runs."""
        if self.asked:
            first_step = self.data_path.by_batch[0]["compute"]
            return (first_step.start + first_step.end) / 2
        if self.moment is not None:
            return min(self.moment, self.time.x.last)
        first = self.room[0] / (2e9 * TURNS)
        return PLACE * self.time.x.last * min(1.0, self.data_path.turn / first)

    # -- stations, in pixels ----------------------------------------------------------------

    @property
    def phone(self) -> bool:
        """True if pipes are short and have fewer words."""
        return self.width < PHONE

    @property
    def pipe(self) -> float:
        """Length of each of the three pipes, in pixels."""
        return SHORT if self.phone else min(max(0.095 * self.width, LEAST), MOST)

    @cached_property
    def spans(self) -> list[Span]:
        """Left and right end of each station, in pixels."""
        room, left, spans = self.width - 3 * self.pipe - 1, 0.5, []
        for share in SHARES:
            spans.append((left, left + share * room))
            left += share * room + self.pipe
        return spans

    @property
    def side(self) -> float:
        """Side of the largest square, in pixels."""
        return min(SIDE * (self.width - 3 * self.pipe), LARGEST)

    @property
    def tall(self) -> float:
        """Height of a station, in pixels."""
        return 2 * self.side + ROOM + 22 * self.phone

    def square(self, place: Tensor) -> float:
        """Return the side of a place's square in pixels; its area shows its bytes, up to the
        largest square."""
        nbytes = place.storage.size.at(self.data_path.batch)
        return self.side * sqrt(min(nbytes / self.room[1], 1))

    def fact(self, batch: int, place: Tensor) -> Fact:
        """Return the fact of a batch in a place: its bytes, and its times where they are no
        question."""
        fact = fact_of_batch(self.data_path, batch, place)
        return replace(fact, more="") if self.asked else fact


def largest(data_path: DataPath) -> int:
    """Return the bytes of a batch as the device computes on it."""
    return data_path.station(CARD)[-1].storage.size.at(data_path.batch)


def fact_of_batch(data_path: DataPath, batch: int, place: Tensor | None = None) -> Fact:
    """Return the fact of a batch: its bytes in a place (on the device without
    one), and its times."""
    place = place or data_path.station(CARD)[-1]
    return Fact(text_of("batch", name=letter(batch)), place.formula(data_path.batch),
                place.storage.size.at(data_path.batch), more=data_path.fact(batch))  # fmt: skip


# -- stations --------------------------------------------------------------------------------------


def stations(layout: PathLayout) -> Chart:
    """Return the chart of disk, RAM, pinned memory and device, with pipes between them."""
    names = ("disk", RAM, PINNED, CARD)
    marks: list[Mark] = [*_pipes(layout)]
    for name, span in zip(names, layout.spans, strict=True):
        marks += _station(layout, name, span)
    words = [_words(layout, name) for name in names]
    return Chart(Scale(0, layout.width), Scale(layout.tall, 0), marks, layout.tall, left=0, right=0,
                 above=22, told=words, name=text_of("stations"), gap=8)  # fmt: skip


def _words(layout: PathLayout, name: str) -> str:
    """Return the text of a station: its name, its contents, and its bytes."""
    text = f"{text_of(name)}: {_holds(layout, name)}"
    return f"{text}." if name == "disk" else f"{text}, {texts.plain(_bytes_of(layout, name))}."


def _holds(layout: PathLayout, name: str) -> str:
    """Return what a station holds, in a few words."""
    files = name == "disk" and layout.data_path.decode
    return text_of("holds.files" if files else f"holds.{name}")


def _bytes_of(layout: PathLayout, name: str) -> list[tuple[str, bool]]:
    """Return the reserved bytes of a station as words, the number in bold."""
    return [(f"{_short(layout.data_path.reserved(name))} ", True), (text_of("reserved"), False)]


def _short(nbytes: int) -> str:
    """Return bytes without decimals, or with two digits below 10 of a unit: ``'19 MB'``."""
    unit = three_digits(nbytes).rpartition(" ")[2]
    value = nbytes / units.UNITS[unit]
    return f"{value:.0f} {unit}" if value >= 9.5 else f"{value:.2g} {unit}"


def _station(layout: PathLayout, name: str, span: Span) -> Iterator[Mark]:
    """Yield marks for a station: its frame, its name, its batches and its bytes."""
    left, right = span
    yield Rect(left, right, 0.5, layout.tall - 0.5, "rule faint", radius=5)
    yield ChartText(left, 0, text_of(name), 13, dy=-7, bold=True)
    note, top = _holds(layout, name), 8
    if texts.width(note, 11) < right - left - 12:
        top = 22
        yield ChartText(left, 0, note, 11, dx=7, dy=16, dim=True)
    if name == "disk":
        yield from _on_disk(layout, span)
        return
    reserved = _reserved(layout, name, span)
    bottom = layout.tall - (24 if len(reserved) == 1 else 36)
    rows = _rows(layout, name, span, (top + bottom) / 2)
    for row in rows:
        for place in row:
            yield from _square(layout, place)
    if name == CARD:
        if len(rows) > 1:
            yield from _converted(rows[0][0], span)
        yield from _states(layout, rows[-1], span)
    yield from reserved


def _reserved(layout: PathLayout, name: str, span: Span) -> list[ChartText]:
    """Return the bytes of a station as words at its bottom, on two lines where one is too long."""
    (left, right), low, text = span, layout.tall, _bytes_of(layout, name)
    if texts.measure(text, 12) < right - left - 10:
        return [ChartText(left, low, text, 12, dx=7, dy=-8)]
    (amount, _), (word, _) = text
    return [ChartText(left, low, amount.strip(), 12, dx=5, dy=-20, bold=True),
            ChartText(left, low, word, 11, dx=5, dy=-7, dim=True)]  # fmt: skip


# -- places of a batch -----------------------------------------------------------------------------


class ImagePlace(NamedTuple):
    """State of a place at a moment, with its square: middle and half of its side, in pixels."""

    held: Filling
    x: float
    y: float
    half: float


def _rows(layout: PathLayout, name: str, span: Span, middle: float) -> list[list[ImagePlace]]:
    """Return the buffers of a station (a memory on the path), drawn as squares, row by row: those
    of one size side by side, at most two in a row, with the smaller ones above."""
    sizes: dict[str, list[Filling]] = {}
    for filling in layout.data_path.held(name, layout.now):
        sizes.setdefault(filling.tensor.format.name, []).append(filling)
    rows = [size[i : i + 2] for size in sizes.values() for i in range(0, len(size), 2)]
    halves = [layout.square(row[0].tensor) / 2 for row in rows]
    y, squares = middle - sum(halves) - APART * (len(rows) - 1) / 2, []
    for row, half in zip(rows, halves, strict=True):
        pitch = min((span[1] - span[0]) / len(row), 1.7 * layout.side)
        first = sum(span) / 2 - pitch * (len(row) - 1) / 2
        squares.append([ImagePlace(filling, first + pitch * index, y + half, half)
                      for index, filling in enumerate(row)])  # fmt: skip
        y += 2 * half + APART
    return squares


def _square(layout: PathLayout, place: ImagePlace, pressed: bool = True) -> Iterator[Mark]:
    """Yield marks for a place: dashed if empty, filled from below, with a thick frame while it is
    in use.

    Args:
        layout: layout of the page.
        place: place with its square.
        pressed: True if the whole square takes the pointer.
    """
    filling, x, y, half = place
    box = x - half, x + half, y - half, y + half
    if filling.part < 1:
        yield Rect(*box, "before")
    if filling.tensor.storage.size.at(layout.data_path.batch) > layout.room[1]:
        yield OpenEdge(x - half, x + half, at=y - half)
    if filling.batch is None:
        return
    fact, send = (
        layout.fact(filling.batch, filling.tensor),
        None if layout.asked else ("choose", letter(filling.batch)),
    )
    full = x - half, x + half, y + half - 2 * half * filling.part, y + half
    yield Rect(*full, INPUT, fact=fact, send=send)
    if filling.used:
        yield Rect(*box, "limit")
    if filling.batch == layout.chosen:
        yield Rect(*box, "rule", inset=-4, radius=3)
    size = 13 if half > 11 else 11
    yield ChartText(
        x, y, letter(filling.batch), size, "middle", dy=0.36 * size, bold=True, chip=half > 11
    )
    if pressed:
        yield Rect(*box, "target", fact=fact, send=send)


def _on_disk(layout: PathLayout, span: Span) -> Iterator[Mark]:
    """Yield marks for the next batches on the disk, as many as there is room for."""
    left, right = span
    raw = layout.data_path.station(RAM)[0]
    side = layout.square(raw)
    pitch = max(side + 9, 20)
    across, down = min(max(int((right - left - 4) / pitch), 1), 3), 2
    waiting = layout.data_path.waiting_on_disk(layout.now)[: across * down]
    x0, y0 = (left + right - pitch * (across - 1)) / 2, layout.tall / 2 - pitch / 2
    for index, batch in enumerate(waiting):
        x, y = x0 + pitch * (index % across), y0 + pitch * (index // across)
        place = ImagePlace(Filling(raw, batch, 1, used=False), x, y, side / 2)
        yield from _square(layout, place, pressed=False)
    if waiting:
        yield ChartText((left + right) / 2, y0 + 1.5 * pitch, text_of("and_so_on"), 11, "middle",
                   dy=12,
                   dim=True)  # fmt: skip


def _converted(place: ImagePlace, span: Span) -> Iterator[Mark]:
    """Yield words beside a place of bytes on the device, where the batch becomes fp32."""
    x = sum(span) / 2 + place.half + 8
    for number, key in enumerate(("convert", "convert_more")):
        text = text_of(f"pipe.{key}")
        if texts.width(text, 11) < span[1] - x - 4:
            yield ChartText(x, place.y - 3 + 13 * number, text, 11, dim=True)


def _states(layout: PathLayout, row: list[ImagePlace], span: Span) -> Iterator[Mark]:
    """Yield words below the places of the device: the batch in use, the next one, or that compute
    waits."""
    if layout.data_path.waiting(layout.now):
        low = row[0].y + row[0].half
        yield ChartText(
            sum(span) / 2, low, text_of("compute_waits"), 12, "middle", dy=16, bold=True
        )
        return
    for filling, x, y, half in row:
        if filling.used:
            yield ChartText(x, y + half, text_of("in_use"), 12, "middle", dy=16, bold=True)
        elif filling.batch is not None and filling.part >= 1:
            yield ChartText(x, y + half, text_of("next"), 12, "middle", dy=16)


# -- pipes ----------------------------------------------------------------------------------------


def _pipes(layout: PathLayout) -> Iterator[Mark]:
    """Yield pipes as thick as their rate; the slowest one is darker."""
    spans = [(left[1], right[0]) for left, right in pairwise(layout.spans)]
    for name, kind, span in zip(
        ("disk", "host", "link"), layout.data_path.pipes, spans, strict=True
    ):
        yield from _pipe(layout, kind, name, span)


def _pipe(layout: PathLayout, kind: str, name: str, span: Span) -> Iterator[Mark]:
    """Yield marks for a pipe with its rate and the kind of its operation."""
    text, rate = layout.data_path.rate(name), layout.data_path.rates[name]
    decodes = name == "host" and layout.data_path.decode > 0
    said = text_of(f"pipe.{'decode' if decodes else kind}")
    slow = kind == layout.data_path.slowest and not layout.asked
    x, y = sum(span) / 2, layout.tall / 2
    wanted = ALIKE if layout.asked else rate / 1e9 * PER_GB * layout.side / LARGEST
    thick = min(max(wanted, THIN), layout.tall - 66)
    takes = text_of("pipe.takes", seconds=duration(layout.data_path.seconds[kind]))
    fact = Fact(f"{said}, {text}", more="" if layout.asked else takes)
    if wanted > thick:  # it is thicker than the picture
        for edge in (y - thick / 2, y + thick / 2):
            yield Rule(y=edge, span=span, look="before thin", crossed=True)
    look = LIGHT if not slow else DARK if thick > WIDE else FULL
    yield Rect(*span, y - thick / 2, y + thick / 2, look, edge=0, fact=fact)
    if thick > WIDE:
        yield Glyph(x, y, TRIANGLE, marker=">")
    # in one line, or in one for the number and one for its unit
    lines = [text] if texts.width(text, 12, slow) <= span[1] - span[0] - 6 else text.split(" ")
    for number, line in enumerate(reversed(lines)):
        yield ChartText(x, y - thick / 2, line, 12, "middle", dy=-7 - 14 * number, bold=slow)
    more = kind == "convert" and not decodes and not layout.phone
    below = [said, *([text_of("pipe.convert_more")] if more else [])]
    for number, line in enumerate(below):
        yield ChartText(x, y + thick / 2, line, 11, "middle", dy=15 + 13 * number, dim=True)
