"""What stands on top of these pictures: what is shown, and the sentences that it says."""

from __future__ import annotations

from collections.abc import Iterable

from memlab.views import extents
from memlab.views.svg import Svg

WIDTH, LINE = 820, 18
TITLE, SIZE = 34, 14
"""The baseline of the first sentence, and the size of all."""


def wrapped(sentences: Iterable[str]) -> list[str]:
    """The sentences in bold lines, each from the left."""
    flows = (extents.flow([(sentence, True)], WIDTH, SIZE) for sentence in sentences)
    return ["".join(piece for piece, _ in line) for lines in flows for line in lines]


def draw(svg: Svg, title: str, lines: list[str]) -> None:
    """The title, and below it the lines."""
    svg.text(0, 12, extents.shortened(title, WIDTH, 12), 12, dim=True)
    for index, line in enumerate(lines):
        svg.text(0, TITLE + LINE * index, line, SIZE, bold=True)
