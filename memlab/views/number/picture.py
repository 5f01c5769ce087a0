"""The picture of a number: its bits in boxes, their meaning, and its place between two values."""

from __future__ import annotations

from zlib import crc32

from memlab.views import extents
from memlab.views.number import words
from memlab.views.number.rows import Line, Rows
from memlab.views.roles import Paint
from memlab.views.svg import Box, Svg, box_path

WIDTH, TEXT = 840, 18
GAP, TALL, BAND = 16, 26, 8
"""Pixels between fields, and the heights of a box and of the band below it."""
PAINTS = {
    "sign": Paint("#D55E00", 0.34, "falling"),
    "exponent": Paint("#56B4E9", 0.30, "level"),
    "mantissa": Paint("#009E73", 0.38),
}
PAINTS |= {"top": PAINTS["sign"], "rest": PAINTS["mantissa"]}
LEFT, RIGHT = 12, WIDTH - 12
"""The ends of the line of numbers."""
COLUMNS = ((0, "start"), (130, "end"), (160, "start"), (480, "end"))
"""Of the table: where the cells stand, and which end of theirs is there."""


def draw(rows: Rows, place_in_page: str = "") -> Svg:
    """The picture. ``place_in_page`` tells two of a state apart."""
    key = f"n{crc32(f'{place_in_page}{rows.state!r}'.encode()):08x}"
    svg = Svg(WIDTH, 0, key)
    svg.text(0, 12, extents.shortened(words.title(rows.state), WIDTH, 12), 12, dim=True)
    y = _lines(svg, 36, words.headline(rows), 16, bold=True)
    y = _lines(svg, y, words.note(rows), 13)
    y = _bits(svg, y + 6, words.fields(rows))
    y = _meanings(svg, y + 26, words.fields(rows))
    y = _lines(svg, y + 4, words.formula(rows), 14, bold=True)
    y = _lines(svg, y + 2, words.error(rows), 13)
    y = _lines(svg, y, words.beside(rows), 13)
    if rows.line is not None:
        y = _number_line(svg, y + 14, rows, rows.line)
    svg.height = _table(svg, y + 20, rows)
    return svg


def _lines(svg: Svg, y: float, text: str, size: float, bold: bool = False) -> float:
    """A sentence in as many lines as it takes; returns where the next one stands."""
    for line in extents.flow([(text, bold)], WIDTH, size) if text else ():
        svg.text(0, y, line, size)
        y += TEXT
    return y


def _bits(svg: Svg, y: float, fields: list[tuple[str, str, str]]) -> float:
    """A box for each bit; a band in the look of its field lies below."""
    count = sum(len(bits) for _, bits, _ in fields)
    wide = min(40.0, (WIDTH - GAP * (len(fields) - 1)) // count)
    size = 14 if wide > 14 else 11
    x = 0.0
    for name, bits, _ in fields:
        label = svg.text(x, y, words.say(f"field.{name}"), 12, bold=True)
        top, end = y + 7, x + wide * len(bits)
        for index, bit in enumerate(bits):
            left = x + wide * index
            svg.rect(Box(left, top, left + wide, top + TALL), class_="rule faint")
            svg.text(left + wide / 2, top + TALL / 2 + 0.36 * size, bit, size, "middle")
        band = Box(x, top + TALL + 2, end, top + TALL + 2 + BAND)
        svg.fill(box_path(band), PAINTS[name])
        x = max(end, label.right - 4) + GAP
    return y + 7 + TALL + 2 + BAND


def _meanings(svg: Svg, y: float, fields: list[tuple[str, str, str]]) -> float:
    """A line for each field."""
    for name, bits, meaning in fields:
        svg.swatch(0, y, PAINTS[name])
        written = [(words.say(f"field.{name}"), True), (f" {bits}: {meaning}", False)]
        svg.text(22, y, written, 13)
        y += TEXT
    return y


def _number_line(svg: Svg, y: float, rows: Rows, line: Line) -> float:
    """The number above the line, the values of the format on it and below it."""
    place, axis = _x(line.where), y + 14
    _label(svg, line.where, y, words.subject(rows), bold=True)
    for left, right in line.dashed:
        svg.line(_x(left), axis, _x(right), axis, class_="before")
    svg.line(*(_x(line.solid[0]), axis, _x(line.solid[1]), axis), class_="pole")
    if line.middle:
        svg.line(_x(0.5), axis - 7, _x(0.5), axis + 7, class_="pole")
        _label(svg, 0.5, axis + 22, words.say("key.middle"))
    for stop in line.stops:
        if stop.value is not None:
            _dot(svg, _x(stop.where), axis, stop.value == rows.held)
        _label(svg, stop.where, axis + 22, words.shown(stop.value))
    _pointer(svg, place, axis - 5)
    names = ("number", "held", "other", "scale") if line.dashed else ("number", "held", "other")
    return _key(svg, axis + 48, names)


def _label(svg: Svg, where: float, y: float, text: str, bold: bool = False) -> None:
    """A text whose middle stands at a place of the line, as far as the picture reaches."""
    wide = extents.width(text, 12, bold)
    svg.text(min(max(_x(where) - wide / 2, 0), WIDTH - wide), y, text, 12, bold=bold)


def _dot(svg: Svg, x: float, y: float, held: bool) -> None:
    svg.add("circle", cx=x, cy=y, r=5, class_="pole" if held else "hollow pole")


def _pointer(svg: Svg, x: float, y: float) -> None:
    svg.path(f"M{x - 5:.1f} {y - 7:.1f}h10l-5 7Z")


def _key(svg: Svg, y: float, names: tuple[str, ...]) -> float:
    """What the marks are; returns where the picture ends."""
    x = 6.0
    for name in names:
        if name == "number":
            _pointer(svg, x, y - 1)
        elif name == "scale":
            svg.line(x - 6, y - 4, x + 8, y - 4, class_="before")
        else:
            _dot(svg, x, y - 4, name == "held")
        x = svg.text(x + 12, y, words.say(f"key.{name}"), 11).right + 26
    return y + 6


def _table(svg: Svg, y: float, rows: Rows) -> float:
    """The number in every format, the one on display in bold; returns where the picture ends."""
    svg.text(0, y, words.say("everywhere"), 13, bold=True)
    heads, *lines = words.everywhere(rows)
    for cells in (heads, *lines):
        y += TEXT - 1
        for (x, anchor), cell in zip(COLUMNS, cells, strict=True):
            svg.text(x, y, cell, 12, anchor, bold=cells[0] == rows.format.name, dim=cells is heads)
    return y + 6


def _x(where: float) -> float:
    return LEFT + (RIGHT - LEFT) * where
