"""Time against workspace: one point for each way to convolve, joined from whole batch to table."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from memlab import units
from memlab.bench.convolution import Comparison
from memlab.bench.timing import Timing
from memlab.views import extents
from memlab.views.place import Board
from memlab.views.speed import bars, scales, words
from memlab.views.speed.scales import Decades, Ratios, Times
from memlab.views.svg import Box, Svg, text_box

WIDTH, TALL, LINE = 820, 290, 16
LEFT, RIGHT, NOTHING = 60, 800, 64
"""Ends of the frame, and how wide the place of 0 B is, where there is one."""
DOT, GAP = 5, 9
PATH = ("im2col-batch", "im2col-image", "im2col-tile", "offsets")
"""Ever smaller pieces of the lowered matrix, and none."""


@dataclass(frozen=True)
class Field:
    """A rectangle of pixels: workspace to the right, time upwards."""

    box: Box
    sizes: Decades
    times: Times | Ratios
    nothing: bool

    @property
    def left(self) -> float:
        """Where the powers of ten begin: 0 B has its own place before them."""
        return self.box.left + (NOTHING if self.nothing else 0)

    def x(self, nbytes: int) -> float:
        """Where an amount stands."""
        if not nbytes:
            return self.box.left + NOTHING / 2 - DOT
        return self.left + (self.box.right - self.left) * self.sizes.place(nbytes)

    def y(self, seconds: float) -> float:
        """How high a time stands."""
        return self.height(self.times.place(seconds))

    def height(self, part: float) -> float:
        """A place on the axis of time, from 0 to 1, in pixels."""
        return self.box.bottom - (self.box.bottom - self.box.top) * part

    def holds(self, box: Box) -> bool:
        """Whether a label would lie inside."""
        left, top, right, bottom = self.box
        across = left <= box.left and box.right <= right
        return across and top <= box.top and box.bottom <= bottom

    def place(self, each: Timing) -> tuple[float, float]:
        """The point of an algorithm."""
        return self.x(each.workspace or 0), self.y(each.seconds)


def draw(found: Comparison) -> Svg:
    """The picture."""
    lines = bars.notes(found)
    box = Box(LEFT, 100, RIGHT, 100 + TALL)
    svg = Svg(WIDTH, box.bottom + 56 + LINE * len(lines), bars.key(found, "c"))
    field = _field(found, box)
    head = sentences(found)[:1] or words.headline(found)[:1]
    svg.text(0, 12, extents.shortened(words.title(found), WIDTH, 12), 12, dim=True)
    svg.text(0, 34, extents.shortened(head[0], WIDTH - 20, 14), 14, bold=True)
    taken = Board()
    _grid(svg, field)
    _caches(svg, found, field, taken)
    rivals = _rivals(svg, found, field, taken)
    _points(svg, found, field, taken)
    for rival in rivals:
        _named(svg, found, rival, field, taken)
    for index, line in enumerate(lines):
        svg.text(0, box.bottom + 54 + LINE * index, line, 11, dim=True)
    return svg


def path(found: Comparison) -> list[Timing]:
    """The algorithms that are joined, in the order of their pieces."""
    by_name = {each.name: each for each in found.timings}
    return [by_name[name] for name in PATH if name in by_name]


def sentences(found: Comparison) -> list[str]:
    """What changes along the path, and which cache each workspace fits."""
    joined = path(found)
    lines = [_change(joined[0], joined[-1])] if len(joined) > 1 else []
    return lines + [_fits(each, found) for each in joined if each.workspace]


def _change(first: Timing, last: Timing) -> str:
    return words.say(
        "curve.along",
        first=first.name,
        last=last.name,
        more=words.workspace(first),
        less=words.workspace(last),
        before=words.duration(first.seconds),
        after=words.duration(last.seconds),
    )


def _fits(each: Timing, found: Comparison) -> str:
    values = {"name": each.name, "workspace": words.workspace(each)}
    for level, size in found.caches.items():
        if (each.workspace or 0) <= size:
            return words.say("curve.fits", **values, level=level, size=words.cache(size))
    return words.say("curve.too_large", **values)


# -- the frame ----------------------------------------------------------------------------------


def _field(found: Comparison, box: Box) -> Field:
    times = scales.heights(each.seconds for each in found.timings)
    sizes = [each.workspace or 0 for each in words.own(found)]
    return Field(box, scales.decades(sizes), times, 0 in sizes)


def _grid(svg: Svg, field: Field) -> None:
    box = field.box
    right = svg.text(0, box.top - 36, words.say("time"), 12, bold=True).right
    if isinstance(field.times, Ratios):
        svg.text(right + 10, box.top - 36, words.say("curve.ratios"), 11, dim=True)
    for place, label in field.times.ticks:
        y = field.height(place)
        svg.line(box.left, y, box.right, y, class_="grid")
        svg.text(box.left - 8, y + 4, label, 11, "end")
    for place, label in field.sizes.ticks:
        x = field.left + (box.right - field.left) * place
        svg.line(x, box.top, x, box.bottom, class_="grid")
        svg.text(x, box.bottom + 15, label, 11, "middle")
    if field.nothing:
        svg.text(field.x(0), box.bottom + 15, "0 B", 11, "middle")
    svg.line(box.left, box.bottom, box.right, box.bottom, class_="rule", opacity=0.5)
    right = svg.text(box.left, box.bottom + 32, words.say("workspace"), 12, bold=True).right
    svg.text(right + 10, box.bottom + 32, words.say("decades"), 11, dim=True)


def _caches(svg: Svg, found: Comparison, field: Field, taken: Board) -> None:
    """The sizes of this processor's caches, as lines down to the axis."""
    top, bottom = field.box.top, field.box.bottom
    for level, size in found.caches.items():
        if 0 < field.sizes.place(size) < 1:
            x = field.x(size)
            svg.line(x, top - 4, x, bottom, class_="before thin")
            name = words.say("curve.cache", level=level, size=units.short(size))
            taken.take(svg.text(x, top - 9, name, 11, "middle"))


def _rivals(svg: Svg, found: Comparison, field: Field, taken: Board) -> list[Timing]:
    """A rival's time is a line across: nobody planned its workspace."""
    rivals = [each for each in found.timings if each.workspace is None]
    for y in (field.y(each.seconds) for each in rivals):
        svg.line(field.box.left, y, field.box.right, y, class_="before")
        taken.take(Box(field.box.left, y - 1, field.box.right, y + 1))
    return rivals


def _named(svg: Svg, found: Comparison, rival: Timing, field: Field, taken: Board) -> None:
    """The name and the time of a line across, where they are free."""
    left, _, right, _ = field.box
    y, text = field.y(rival.seconds), f"{words.name(rival, found)}: {words.duration(rival.seconds)}"
    ends = [right - (right - left) * part / 8 for part in range(7)]
    boxes = [text_box(x, y + dy, text, 11, "end") for dy in (-6, 15) for x in ends]
    place = taken.first(boxes, 2) or boxes[0]
    svg.text(place.right, place.bottom - 0.22 * 11, text, 11, "end", chip=True)


# -- the points ---------------------------------------------------------------------------------


def _points(svg: Svg, found: Comparison, field: Field, taken: Board) -> None:
    shown, joined = words.own(found), path(found)
    for one, other in pairwise(map(field.place, joined)):
        svg.line(*one, *other, class_="rule", stroke_width=1.8)
        for x, y in np.linspace(one, other, 99).tolist():
            taken.take(Box(x - 1, y - 1, x + 1, y + 1))
    for each in shown:
        x, y = field.place(each)
        taken.take(Box(x - DOT, y - DOT, x + DOT, y + DOT))
        look = {} if each in joined else {"class_": "hollow"}
        svg.add("circle", cx=x, cy=y, r=DOT, stroke="currentColor", stroke_width=1.8, **look)
    for each in shown:
        _label(svg, field, each, taken)


def _near(drop: int) -> int:
    """Above before below."""
    return abs(drop + 3)


def _label(svg: Svg, field: Field, each: Timing, taken: Board) -> None:
    """Name and figures at the nearest free place; a line leads to one that is not beside it."""
    figures = f"{words.workspace(each)}, {words.duration(each.seconds)}"
    wide = max(extents.width(each.name, 12, True), extents.width(figures, 11))
    x, y = field.place(each)
    for drop in sorted((*range(-22, -500, -32), *range(20, 500, 32)), key=_near):
        for start in (x + GAP, x - GAP - wide):
            box = Box(start, y + drop - 10, start + wide, y + drop + 18)
            if field.holds(box) and taken.first([box], 2):
                if abs(drop) > 22:
                    edge = box.bottom if drop < 0 else box.top
                    svg.line(x, y, min(max(x, box.left), box.right), edge, class_="rule thin")
                svg.text(start, y + drop, each.name, 12, bold=True, chip=True)
                svg.text(start, y + drop + 15, figures, 11, chip=True)
                return
