"""The picture of gradients by their size, with the limits of a format across it."""

from __future__ import annotations

from math import floor, log2
from zlib import crc32

from memlab.step.tensor import Role
from memlab.views import axis, extents
from memlab.views.roles import PAINTS
from memlab.views.svg import Box, Svg, box_path
from memlab.views.training import head, words
from memlab.views.training.head import WIDTH
from memlab.views.training.tally import Gradients, Tally

LINE = 16
LEFT, RIGHT = 62, 812
TALL, GAP = 130, 44
LABELS = 15
"""Between the names of the limits, each in a line of its own."""
COLUMNS = (0, 240, 370, 500, 640, 770)
"""The right ends of the columns of the table, the left end of the first."""
KEPT = PAINTS[Role.PARAMETER_GRADIENT]


def draw(found: Gradients) -> Svg:
    """The picture, with a panel for the gradients as they are and one for them scaled."""
    sentences = head.wrapped(found.sentences)
    limits = 42 + head.LINE * len(sentences)
    top = limits + LABELS * len(found.lines) + 24
    bottom = top + TALL * len(found.tallies) + GAP * (len(found.tallies) - 1)
    svg = Svg(WIDTH, bottom + 66 + LINE * len(found.table), f"g{crc32(found.text().encode()):08x}")
    head.draw(svg, found.title, sentences)
    span = _span(found)
    most = max((sum(bar) for t in found.tallies for bar in t.powers.values()), default=1)
    boxes = [Box(LEFT, y, RIGHT, y + TALL) for y in (top, top + TALL + GAP)]
    panels = list(zip(found.tallies, boxes, strict=False))
    for tally, box in panels:
        _panel(svg, tally, span, most, box)
    _limits(svg, found, span, limits, bottom)
    for tally, box in panels:
        svg.text(LEFT, box.top - 8, tally.name, 12, bold=True, chip=True)
    _powers(svg, span, bottom)
    _table(svg, found, bottom + 58)
    return svg


def _span(found: Gradients) -> range:
    """The powers of 2 that are shown: those of the gradients and of the limits."""
    powers = [power for tally in found.tallies for power in tally.powers]
    powers += [floor(log2(value)) for value, _ in found.lines]
    return range(min(powers) - 1, max(powers) + 2)


def _x(power: float, span: range) -> float:
    return LEFT + (RIGHT - LEFT) * (power - span.start) / len(span)


def _limits(svg: Svg, found: Gradients, span: range, top: float, bottom: float) -> None:
    """Lines at the smallest and the largest values of the format."""
    for index, (value, name) in enumerate(found.lines):
        x = _x(log2(value), span)
        y = top + LABELS * index
        svg.line(x, y - 9, x, bottom, class_="rule", opacity=0.7)
        fits = x + 8 + extents.width(name, 11) <= WIDTH
        svg.text(x + 6 if fits else x - 6, y, name, 11, "start" if fits else "end")


def _panel(svg: Svg, tally: Tally, span: range, most: int, box: Box) -> None:
    """Bars for the powers: filled where they are kept, hollow where they are not."""
    scale = axis.over(most, axis.TIGHT)
    high = box.bottom - box.top
    for count in range(0, scale.end + 1, scale.step):
        y = box.bottom - high * count / scale.end
        svg.line(box.left, y, box.right, y, class_="grid")
        svg.text(box.left - 8, y + 4, f"{count:,}", 11, "end")
    for power, (kept, lost) in tally.powers.items():
        left, right = _x(power, span) + 0.5, _x(power + 1, span) - 0.5
        middle = box.bottom - high * kept / scale.end
        if kept:
            svg.fill(box_path(Box(left, middle, right, box.bottom)), KEPT)
        if lost:
            above = middle - high * lost / scale.end
            svg.rect(Box(left, above, right, middle), class_="before thin")
    svg.line(box.left, box.bottom, box.right, box.bottom, class_="rule", opacity=0.5)


def _powers(svg: Svg, span: range, bottom: float) -> None:
    every = next(n for n in (1, 2, 4, 5, 10, 20, 40) if len(span) / n <= 16)
    for power in span:
        if power % every == 0:
            x = _x(power, span)
            svg.line(x, bottom, x, bottom + 4, class_="rule", opacity=0.5)
            svg.text(x, bottom + 17, words.raised(power), 11, "middle")
    svg.text(LEFT, bottom + 34, words.say("gradients.axis"), 11, dim=True)


def _table(svg: Svg, found: Gradients, top: float) -> None:
    """The counts."""
    for row, cells in enumerate(found.table):
        for column, cell in enumerate(cells):
            anchor = "end" if column else "start"
            y = top + LINE * row
            svg.text(COLUMNS[column], y, cell, 11 if row == 0 else 12, anchor, bold=row > 0)
