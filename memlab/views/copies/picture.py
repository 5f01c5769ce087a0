"""The whole picture of the shifted copies, from its rows."""

from __future__ import annotations

from zlib import crc32

from memlab.views.copies import counts, example, head, marks, matrix, ruler, strip
from memlab.views.copies.layout import STYLE, layout
from memlab.views.copies.rows import Rows
from memlab.views.svg import Svg

APART = 22
"""Between two parts."""


def draw(rows: Rows, place_in_page: str = "") -> Svg:
    """From top to bottom: the bytes of the real layer, then the small picture.

    Ids come from the state, so that a stored picture is the same each time; ``place_in_page``
    tells two live ones of the same state apart.
    """
    place = layout(rows.state.width)
    key = f"c{crc32(f'{place_in_page}{rows.state!r}'.encode()):08x}"
    svg = Svg(place.width, 0, key)
    svg.add("style", STYLE)
    y = head.draw(svg, rows, place)
    y = ruler.draw(svg, rows, place, y + 16)
    y, top = example.draw(svg, rows, place, y + 6)
    start = y + APART
    if rows.count:
        start = matrix.names(svg, rows, place, start)
        y = matrix.draw(svg, rows, place, start)
    with svg.group(class_="marks"):
        marks.draw(svg, rows, place, top, start)
    if rows.pointwise:
        y = strip.draw(svg, rows, place, y + APART)
    if rows.state.counts and rows.count:
        y = counts.draw(svg, rows, place, y + APART)
    svg.height = round(y) + 6
    return svg
