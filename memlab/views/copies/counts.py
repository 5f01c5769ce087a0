"""How often each pixel of the small picture is written."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

from memlab.views import extents
from memlab.views.copies import words
from memlab.views.copies.layout import LINE, Layout
from memlab.views.copies.rows import Rows
from memlab.views.copies.windows import SIZE
from memlab.views.svg import Box, Svg

CELL = 19


def draw(svg: Svg, rows: Rows, place: Layout, y: float) -> float:
    """A table of the size of the picture, and what it adds up to; returns where it ends."""
    svg.text(0, y + 10, title(rows), 13, bold=True)
    top = y + 20
    most = max(rows.counts) or 1
    for pixel, count in enumerate(rows.counts):
        row, column = divmod(pixel, SIZE)
        left, up = 1 + column * CELL, top + row * CELL
        box = Box(left, up, left + CELL, up + CELL)
        svg.rect(box, class_="on", fill_opacity=round(0.06 + 0.34 * count / most, 3))
        svg.rect(box, class_="grid")
        svg.text(left + CELL / 2, up + 13.5, str(count), 11, "middle")
    svg.rect(Box(1, top, 1 + SIZE * CELL, top + SIZE * CELL), class_="edge")
    x, line = SIZE * CELL + 24, top + 12
    for sentence in sums(rows):
        for text in extents.wrap(sentence, place.right - x, 13):
            svg.text(x, line, text, 13)
            line += LINE
        line += 4
    return max(top + SIZE * CELL, line)


def title(rows: Rows) -> str:
    """What the table counts."""
    return words.say("counts.title_so_far" if rows.step < rows.count else "counts.title")


def sums(rows: Rows) -> list[str]:
    """Pixels times how often, added up; with the zeros all cells."""
    found = sorted(Counter(rows.counts).items(), reverse=True)
    parts = [words.say("counts.pixels", pixels=n, times=count) for count, n in found]
    cells, values = rows.step * rows.lowered.places**2, sum(rows.counts)
    return [
        words.say("counts.rule"),
        words.say("counts.values", sum=" + ".join(parts), values=f"{values:,}"),
        words.say("counts.cells", values=f"{values:,}", zeros=f"{cells - values:,}",
                  cells=f"{cells:,}", times=words.times(Fraction(cells, SIZE**2)), size=SIZE**2),
    ]  # fmt: skip
