"""What stands beside the copies: how large they are together, and what is pinned."""

from __future__ import annotations

from memlab.views import extents
from memlab.views.copies import cells, words
from memlab.views.copies.layout import LINE, Layout
from memlab.views.copies.rows import Rows
from memlab.views.copies.windows import SIZE
from memlab.views.svg import Box, Svg

SWATCH = 11


def draw(svg: Svg, rows: Rows, place: Layout, x: float, y: float) -> float:
    """The sentences from a corner on; returns where they end."""
    if rows.count:
        y = _sum(svg, rows, place, x, y) + 8
    for text, bold in words.notes(rows):
        for line in extents.flow([(text, bold)], place.right - x, 13):
            svg.text(x, y, line, 13)
            y += LINE
    if rows.quarters and rows.pin is None:
        y = _together(svg, rows, place, x, y)
    return y


def _sum(svg: Svg, rows: Rows, place: Layout, x: float, y: float) -> float:
    """How many times the small input, why that is not the factor above, and of what."""
    times = words.say("panel.times", size=SIZE, now=words.times(rows.covered))
    svg.text(x, y + 10, times, 13, bold=True)
    y += 10 + LINE
    for line in extents.wrap(words.why(rows), place.right - x, 13):
        svg.text(x, y, line, 13)
        y += LINE
    y += 3
    for kinds, text in words.tally(rows):
        top = y - SWATCH + 1
        for index, kind in enumerate(kinds):
            left = x + index * (SWATCH + 3)
            cells.single(svg, SWATCH, [(left, top, kind)])
            svg.rect(Box(left, top, left + SWATCH, top + SWATCH), class_="edge")
        svg.text(x + 2 * SWATCH + 11, y, text, 13)
        y += LINE + 2
    return y


def _together(svg: Svg, rows: Rows, place: Layout, x: float, y: float) -> float:
    """Quarters put together to squares of the size of the input."""
    svg.text(x, y, words.say("panel.together"), 13)
    half, across = place.side / 2, max(1, int((place.right - x + place.cell) // place.pitch))
    y += 10
    whole = -(-rows.count // 4)
    for square in range(whole):
        left, top = x + square % across * place.pitch, y + square // across * place.pitch
        svg.rect(Box(left, top, left + place.side, top + place.side), class_="ghost")
        for quarter in range(min(4, rows.step - 4 * square)):
            down, right = divmod(quarter, 2)
            corner = left + right * half, top + down * half
            svg.rect(Box(*corner, corner[0] + half - 1, corner[1] + half - 1), class_="on")
    return y - (-whole // across) * place.pitch
