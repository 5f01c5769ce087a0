"""A frame whose two axes are doublings: a straight line is a power."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, floor, log2

from memlab.views import extents
from memlab.views.speed.plot import Doublings
from memlab.views.svg import Box, Svg

WIDTH, LINE = 820, 16


@dataclass(frozen=True)
class Plane:
    """A rectangle of pixels, with values to the right and upwards."""

    box: Box
    across: Doublings
    up: Doublings

    def x(self, value: float) -> float:
        """Where a value stands."""
        return self.box.left + (self.box.right - self.box.left) * self.across.place(value)

    def y(self, value: float) -> float:
        """How high a value stands."""
        return self.box.bottom - (self.box.bottom - self.box.top) * self.up.place(value)

    def frame(self, svg: Svg, across: str, key: str) -> None:
        """Lines and their values; what the lower axis is, and ``key`` beside it."""
        box = self.box
        for place, label in self.up.ticks:
            y = box.bottom - (box.bottom - box.top) * place
            svg.line(box.left, y, box.right, y, class_="grid")
            svg.text(box.left - 8, y + 4, label, 11, "end")
        for place, label in self.across.ticks:
            x = box.left + (box.right - box.left) * place
            svg.line(x, box.top, x, box.bottom, class_="grid")
            svg.text(x, box.bottom + 16, label, 11, "middle")
        svg.line(box.left, box.bottom, box.right, box.bottom, class_="rule", opacity=0.5)
        right = svg.text(box.left, box.bottom + 34, across, 12, bold=True).right
        svg.text(right + 14, box.bottom + 34, key, 11, dim=True)


def doublings(values: Iterable[float]) -> Doublings:
    """The powers of 2 around some values."""
    found = [log2(value) for value in values]
    first = floor(min(found))
    return Doublings(first, max(ceil(max(found)), first + 1))


def paragraph(svg: Svg, y: float, lines: list[str], size: int = 11, dim: bool = True) -> None:
    """Lines of text one below the other, the first on the baseline ``y``."""
    for index, line in enumerate(lines):
        svg.text(0, y + LINE * index, line, size, dim=dim)


def wrapped(sentences: list[str], size: int = 11) -> list[str]:
    """Sentences, each in as many lines as it needs."""
    return [line for each in sentences for line in extents.wrap(each, WIDTH, size)]
