"""The small picture and its copies, all of one scale, with what they show above and beside them."""

from __future__ import annotations

from memlab.views import extents
from memlab.views.copies import beside, entry, slots, words
from memlab.views.copies.layout import LINE, Layout
from memlab.views.copies.rows import Rows
from memlab.views.copies.windows import SIZE
from memlab.views.svg import Svg

ROOM = 200
"""The least width of the sentences beside the copies; with less they stand below."""


def draw(svg: Svg, rows: Rows, place: Layout, y: float) -> tuple[float, float]:
    """Finding, input, copies and sentences; returns where they end, and where the input begins."""
    top = _finding(svg, rows, place, y) + 34 + rows.rim * place.cell
    entry.draw(svg, rows, place, top)
    slots.draw(svg, rows, place, top)
    wide = rows.state.k * place.pitch - place.cell
    foot = top + max(wide, place.side + rows.rim * place.cell)
    x = place.left + wide + 24
    if place.right - x >= ROOM:
        return max(foot, beside.draw(svg, rows, place, x, top)), top
    return beside.draw(svg, rows, place, place.left, foot + 14), top


def _finding(svg: Svg, rows: Rows, place: Layout, y: float) -> float:
    svg.line(0, y, place.width, y, class_="grid")
    for line in extents.flow([(words.found(rows), True)], place.right, 16):
        y += LINE + 5
        svg.text(0, y, line, 16)
    svg.text(0, y + LINE + 2, words.say("found.example", size=SIZE), 13, dim=True)
    return y + LINE + 2
