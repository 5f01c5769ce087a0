"""The convolutions of a network in order, each filled as far as its copy reaches."""

from __future__ import annotations

from fractions import Fraction

from memlab.views import extents
from memlab.views.copies import layer as layers
from memlab.views.copies import words
from memlab.views.copies.layout import LINE, Layout
from memlab.views.copies.rows import Rows
from memlab.views.svg import Box, Svg

TALL = 30


def draw(svg: Svg, rows: Rows, place: Layout, y: float) -> float:
    """A box for each convolution, and how many need no copy; returns where it ends."""
    network = rows.state.network
    nodes = layers.convolutions(network)
    title = words.say("strip.title", network=words.published(rows), all=len(nodes))
    svg.text(0, y + 10, title, 13, bold=True)
    pitch = place.right / max(len(nodes), 24)
    for index, node in enumerate(nodes):
        left = 1 + index * pitch
        _box(svg, Box(left, y + 20, left + pitch * 0.72, y + 20 + TALL),
             min(layers.factor(node), Fraction(1)))  # fmt: skip
    x, line = 0.0, y + 20 + TALL + 20
    for filled, text in legend(rows):
        wide = extents.width(text, 13) + 18
        if x and x + wide > place.right:
            x, line = 0.0, line + LINE + 2
        _box(svg, Box(x + 1, line - 11, x + 10, line + 1), filled)
        svg.text(x + 17, line, text, 13)
        x += wide + 22
    return line + 4


def legend(rows: Rows) -> list[tuple[Fraction, str]]:
    """How many convolutions there are of each kind, and how far their boxes are filled."""
    none, part, whole = layers.by_copy(layers.convolutions(rows.state.network))
    found = [(Fraction(0), words.say("strip.zero", none=len(none)))]
    if part:
        found.append((layers.factor(part[0]), words.say("strip.quarter", parts=len(part))))
    return [*found, (Fraction(1), words.say("strip.more", whole=len(whole)))]


def _box(svg: Svg, box: Box, filled: Fraction) -> None:
    if filled:
        top = box.bottom - (box.bottom - box.top) * float(filled)
        svg.rect(box._replace(top=top), class_="on")
    svg.rect(box, class_="edge")
