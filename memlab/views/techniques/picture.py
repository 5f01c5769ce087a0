"""The picture of techniques: the trade of bytes for time, and a table under it."""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

from memlab import units
from memlab.views import extents
from memlab.views.svg import Box, Svg
from memlab.views.techniques import chart, looks, words
from memlab.views.techniques.rows import Row, Rows

WIDTH, LINE = 820, 16
FRAME = Box(60, 84, 792, 424)
TABLE = 488
"""The baseline of the table's heads."""
ENDS = {"peak": 240, "plain": 308, "no_reuse": 396, "again": 476, "extra": 548}
DISTANCE = 572
"""Right ends of the columns of figures, and the left end of the last one."""


def draw(found: Rows) -> Svg:
    """The picture; its height follows the rows."""
    pitch = 38 if found.measured else 22
    bottom = TABLE + 8 + pitch * len(found.rows)
    notes = [*words.notes(found), words.say("note.text")]
    foot = [line for note in notes for line in extents.wrap(note, WIDTH, 11)]
    key = f"t{crc32(repr(found).encode()):08x}"
    svg = Svg(WIDTH, bottom + 12 + LINE * len(foot), key)
    svg.text(0, 12, extents.shortened(words.title(found), WIDTH, 12), 12, dim=True)
    svg.text(0, 36, extents.shortened(words.headline(found), WIDTH - 40, 14), 14, bold=True)
    chart.draw(svg, found, FRAME)
    _heads(svg)
    for index, row in enumerate(found.rows):
        _row(svg, found, row, TABLE + 22 + pitch * index)
    for index, line in enumerate(foot):
        svg.text(0, bottom + 20 + LINE * index, line, 11, dim=True)
    return svg


def _heads(svg: Svg) -> None:
    svg.text(16, TABLE, words.say("table.technique"), 11, dim=True)
    for key, end in ENDS.items():
        svg.text(end, TABLE, words.say(f"table.{key}"), 11, "end", dim=True)
    svg.text(DISTANCE, TABLE, words.say("table.distance"), 11, dim=True)
    svg.line(0, TABLE + 6, WIDTH, TABLE + 6, class_="grid")


def _row(svg: Svg, found: Rows, row: Row, base: float) -> None:
    looks.draw(svg, row.key, 6, base - 4)
    svg.text(16, base, words.name(row, found), 12, bold=True)
    for end, figure in zip(ENDS.values(), _figures(found, row), strict=True):
        svg.text(end, base, figure, 12, "end")
    svg.text(DISTANCE, base, words.distance(row, found), 12)
    if row.measured is not None:
        said = words.measured(row.measured, found.slower(row))
        svg.text(16, base + 15, extents.shortened(said, WIDTH - 16, 11), 11, dim=True)


def _figures(found: Rows, row: Row) -> Sequence[str]:
    """What stands in the columns, in short."""
    return (
        units.short(row.peak),
        words.ratio(found.ratio(row)),
        words.ratio(found.ratio(row, "no_reuse")),
        f"{row.again:,}",
        words.percent(found.extra(row)),
    )
