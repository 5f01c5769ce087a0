"""The picture of a warp: the lines of memory that its loads and its stores touch."""

from __future__ import annotations

from collections.abc import Iterator
from zlib import crc32

from memlab.lesson.transactions import LINE, SECTOR
from memlab.step.tensor import Role
from memlab.views import extents
from memlab.views.roles import PAINTS
from memlab.views.svg import Box, Svg, box_path
from memlab.views.warp import words
from memlab.views.warp.rows import CELLS, LOAD, MOST, STORE, Line, Rows, Side
from memlab.views.warp.threads import FP32

WIDTH, PITCH, TEXT = 840, 14, 17
CELL, TALL, GAP = 8, 10, 5
"""Pixels: a value is as wide as ``CELL``, and sectors stand ``GAP`` apart."""
SECTORS, VALUES = LINE // SECTOR, SECTOR // FP32
SPAN = CELLS * CELL + (SECTORS - 1) * GAP
ROOM = 66
"""For the numbers of the threads behind a line."""
LEFT = {LOAD: 72, STORE: 498}
"""Where the cells of a side begin: the byte of a line stands before them, its threads behind."""
PAINT = {LOAD: PAINTS[Role.FEATURE_MAP], STORE: PAINTS[Role.WORKSPACE]}
"""A layer lowers a map into its workspace."""


def draw(rows: Rows, place_in_page: str = "") -> Svg:
    """The picture; its height follows the lines. ``place_in_page`` tells two of a state apart."""
    notes = words.notes(rows)
    top = 86 + (TEXT if notes else 0)
    bottom = top + 50 + PITCH * max(len(side.lines) for side in rows.sides)
    key = f"w{crc32(f'{place_in_page}{rows.state!r}'.encode()):08x}"
    svg = Svg(WIDTH, bottom + 28, key)
    shown = f"{words.title(rows.state)}; {words.which(rows.state)}"
    svg.text(0, 12, extents.shortened(shown, WIDTH, 12), 12, dim=True)
    svg.text(0, 34, words.headline(rows), 16, bold=True)
    svg.text(0, 55, " ".join(words.ends(rows)), 12)
    svg.text(0, 55 + TEXT, " ".join(notes), 12)
    for side in rows.sides:
        _side(svg, side, top)
    _key(svg, bottom + 20)
    return svg


def _side(svg: Svg, side: Side, top: int) -> None:
    """What moves and what is used as a bar, and line by line below it."""
    left = LEFT[side.name]
    svg.text(left - LEFT[LOAD], top, words.lines(side), 13, bold=True)
    _bar(svg, side, left, top + 8)
    svg.text(left - 8, top + 40, words.say("head.line"), 11, "end", dim=True)
    svg.text(left, top + 40, words.say("head.sectors"), 11, dim=True)
    svg.text(left + SPAN + 8, top + 40, words.say("head.threads"), 11, dim=True)
    first = top + 48
    moves: list[Box] = []
    still: list[Box] = []
    used: list[Box] = []
    for index, line in enumerate(side.lines):
        y = first + PITCH * index
        for sector in range(SECTORS):
            box = _sector(left, y, sector)
            (moves if sector in line.sectors else still).append(box)
        used += _values(left, y, line)
        svg.text(left - 8, y + 9, f"{line.start:,}", 11, "end")
        svg.text(left + SPAN + 8, y + 9, _threads(line), 11)
    _paint(svg, side.name, still, moves, used)


def _threads(line: Line) -> str:
    """Their numbers, or how many they are where there is no room."""
    numbers = words.span(line.threads)
    return numbers if extents.width(numbers, 11) <= ROOM else words.count(line)


def _bar(svg: Svg, side: Side, left: float, top: float) -> None:
    """The same scale for every warp: as much as moves where no 2 threads share a sector."""
    box = Box(left, top, left + SPAN, top + 12)
    moved, used = (left + SPAN * nbytes / MOST for nbytes in (side.moved, side.used))
    _paint(svg, side.name, [box], [box._replace(right=moved)], [box._replace(right=used)])
    svg.text(left - 8, top + 10, words.say("head.bytes"), 11, "end", dim=True)
    svg.text(left + SPAN + 8, top + 10, f"{MOST:,} B", 11)


def _paint(svg: Svg, name: str, still: list[Box], moves: list[Box], used: list[Box]) -> None:
    """What does not move, what moves, and what of it is used."""
    svg.path("".join(map(box_path, still)), class_="grid")
    svg.fill("".join(map(box_path, used)), PAINT[name])
    svg.path("".join(map(box_path, moves)), class_="rule")


def _sector(left: float, top: float, sector: int) -> Box:
    x = left + sector * (VALUES * CELL + GAP)
    return Box(x, top, x + VALUES * CELL, top + TALL)


def _values(left: float, top: float, line: Line) -> Iterator[Box]:
    """The values of a line that a thread accesses."""
    for cell in line.cells:
        sector, value = divmod(cell, VALUES)
        x = _sector(left, top, sector).left + value * CELL
        yield Box(x, top, x + CELL, top + TALL)


def _key(svg: Svg, y: float) -> None:
    """What the three looks are."""
    x = 0.0
    for name in (LOAD, STORE):
        svg.swatch(x, y, PAINT[name])
        x += 18
    for name, look in (("used", ""), ("moved", "rule"), ("still", "grid")):
        if look:
            svg.rect(Box(x, y - 9.5, x + 14, y + 0.5), class_=look)
            x += 20
        x = svg.text(x, y, words.say(f"key.{name}"), 11).right + 22
