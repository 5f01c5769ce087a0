"""Lines that are told apart by mark, dashes and name, and the axes that they stand on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from memlab.views.speed import marks
from memlab.views.svg import Box, Svg
from memlab.views.training import words

DASHES = (None, "7 3", "2 2.5", "10 3 2 3", "4 2")
CROSS = "M-8-8L8 8M-8 8L8-8"
MOST = len(marks.LOOKS)
"""So many lines have looks of their own."""
Points = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Powers:
    """From ``first`` to ``last``: equal ratios are equally far apart."""

    first: float
    last: float

    def place(self, value: float) -> float:
        """Where a value lies, from 0 to 1; what is less than the first lies at 0."""
        if value <= self.first:
            return 0.0
        return min(1.0, log10(value / self.first) / log10(self.last / self.first))

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Places and labels of the powers of ten, where these are few of 2 and 5 times too."""
        reach = log10(self.last / self.first)
        digits = (1, 2, 5) if reach <= 2 else (1,)
        every = max(1, ceil(reach / 7))
        low, high = floor(log10(self.first)), ceil(log10(self.last))
        values = [digit * 10.0**power for power in range(low, high + 1, every) for digit in digits]
        inside = [v for v in values if 0.999 * self.first <= v <= 1.001 * self.last]
        return [(self.place(value), words.figure(value)) for value in inside]


def powers(values: Iterable[float]) -> Powers:
    """The axis of ratios around some values above 0, with round ends."""
    found = [value for value in values if value > 0] or [1.0]
    return Powers(_round(min(found), up=False), _round(max(found), up=True))


def _round(value: float, up: bool) -> float:
    """The next of 1, 2, 5 times a power of ten."""
    power = floor(log10(value))
    around = [digit * 10.0**p for p in (power - 1, power, power + 1) for digit in (1, 2, 5)]
    return min(v for v in around if v > value) if up else max(v for v in around if v < value)


def draw(svg: Svg, index: int, points: Points) -> None:
    """The line with that number."""
    _, colour, _ = marks.LOOKS[index % MOST]
    d = "".join(f"{'L' if i else 'M'}{x:.1f} {y:.1f}" for i, (x, y) in enumerate(points))
    dashes = DASHES[index % len(DASHES)]
    svg.path(d, stroke=colour, stroke_width=1.8, stroke_dasharray=dashes, fill="none")


def sample(svg: Svg, index: int, x: float, y: float) -> None:
    """A short piece of a line with its mark, which stands beside its name."""
    draw(svg, index, [(x, y), (x + 30, y)])
    marks.draw(svg, index, x + 15, y)


def cross(svg: Svg, x: float, y: float) -> None:
    """What stands where a line has no number any more."""
    svg.path(CROSS, class_="limit", transform=f"translate({x:.1f} {y:.1f})")


def frame(svg: Svg, box: Box, across: list[tuple[float, str]], up: list[tuple[float, str]]) -> None:
    """The grid of a plot with its labels; places from 0 to 1."""
    for place, label in up:
        y = box.bottom - (box.bottom - box.top) * place
        svg.line(box.left, y, box.right, y, class_="grid")
        svg.text(box.left - 8, y + 4, label, 11, "end")
    for place, label in across:
        x = box.left + (box.right - box.left) * place
        svg.line(x, box.bottom, x, box.bottom + 4, class_="rule", opacity=0.5)
        svg.text(x, box.bottom + 17, label, 11, "middle")
    svg.line(box.left, box.bottom, box.right, box.bottom, class_="rule", opacity=0.5)
