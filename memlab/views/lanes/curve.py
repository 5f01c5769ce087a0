"""Operations per second against lanes: one line for each format, and where it bends."""

from __future__ import annotations

from itertools import pairwise
from zlib import crc32

from memlab.bench.curves import GAIN, Curve, Measured
from memlab.views import extents
from memlab.views.lanes import words
from memlab.views.lanes.plane import LINE, WIDTH, Plane, doublings, paragraph, wrapped
from memlab.views.lanes.words import say
from memlab.views.speed import marks
from memlab.views.svg import Box, Svg

LEFT, RIGHT, TALL = 48, 600, 300
FAR = 8
"""How many times the knee's lanes linear is drawn for."""
RING, APART, PITCH = 9, 15, 15
"""Radius around a knee; between labels at the right, and between those of the marks."""


def draw(found: Measured) -> Svg:
    """The picture; its height follows the sentences."""
    bold, *rest = wrapped(words.headline(found), 13)
    marked = words.marks(found)
    foot = wrapped(words.details(found) + words.notes(found))
    top = 74 + LINE * len(rest) + PITCH * len(marked)
    svg = Svg(WIDTH, top + TALL + 54 + LINE * len(foot), f"l{crc32(repr(found).encode()):08x}")
    svg.text(0, 12, extents.shortened(words.title(found), WIDTH, 12), 12, dim=True)
    svg.text(0, 33, bold, 13, bold=True)
    paragraph(svg, 51, rest, 13, dim=False)
    plane = _plane(found, Box(LEFT, top, RIGHT, top + TALL))
    _above(svg, 58 + LINE * len(rest))
    plane.frame(svg, say("lanes"), say("ring", gain=f"{GAIN:g}"))
    _marks(svg, plane, marked)
    _linear(svg, plane, words.reference(found))
    for index, curve in enumerate(found.curves):
        _curve(svg, plane, curve, index)
    _labels(svg, plane, found)
    paragraph(svg, top + TALL + 56, foot)
    return svg


def _plane(found: Measured, box: Box) -> Plane:
    points = [point for curve in found.curves for point in curve.points]
    one = words.reference(found)
    lanes = [*(point.lanes for point in points), *(lanes for lanes, _ in words.marks(found))]
    rates = [*(point.rate for point in points), one.linear(_last(one))]
    return Plane(box, doublings(lanes), doublings(rate / 1e9 for rate in rates))


def _last(curve: Curve) -> int:
    """As far as linear is drawn: far enough beyond the knee to see the two part."""
    return min(FAR * curve.knee.lanes, curve.points[-1].lanes)


def _above(svg: Svg, y: float) -> None:
    right = svg.text(0, y, say("rate"), 12, bold=True).right
    svg.text(right + 10, y, say("doublings"), 11, dim=True)


def _marks(svg: Svg, plane: Plane, marked: list[tuple[int, str]]) -> None:
    """Lines down from labels: the more lanes, the higher the label, so that none crosses one."""
    for index, (lanes, label) in enumerate(marked):
        x, y = plane.x(lanes), plane.box.top - 8 - PITCH * index
        svg.line(x, y + 4, x, plane.box.bottom, class_="before thin")
        svg.text(max(x + 4, extents.width(label, 11)), y, label, 11, "end", chip=True)


def _linear(svg: Svg, plane: Plane, curve: Curve) -> None:
    """What each lane would add if all added as much."""
    ends = curve.points[0].lanes, _last(curve)
    start, end = (_place(plane, lanes, curve.linear(lanes)) for lanes in ends)
    svg.line(*start, *end, class_="before")
    label = say("linear", format=curve.format)
    svg.text(end[0] - 14, end[1] + 4, label, 11, "end", chip=True)


def _curve(svg: Svg, plane: Plane, curve: Curve, index: int) -> None:
    places = [_place(plane, point.lanes, point.rate) for point in curve.points]
    for one, other in pairwise(places):
        svg.line(*one, *other, stroke=marks.LOOKS[index][1], stroke_width=1.8)
    if curve.ends:
        x, y = _place(plane, curve.knee.lanes, curve.knee.rate)
        svg.add("circle", cx=x, cy=y, r=RING, class_="rule", fill="none", stroke_width=1.4)
    for x, y in places:
        marks.draw(svg, index, x, y)


def _labels(svg: Svg, plane: Plane, found: Measured) -> None:
    """Format, rate and width at the end of each line, moved apart where lines end together."""
    ends = [(curve.points[-1], index) for index, curve in enumerate(found.curves)]
    before = plane.box.top - APART
    for point, index in sorted(ends, key=lambda end: -end[0].rate):
        curve = found.curves[index]
        x, end = _place(plane, point.lanes, point.rate)
        before = y = max(end + 4, before + APART)
        if y > end + 4 or x < plane.box.right:
            marks.draw(svg, index, plane.box.right + 18, y - 4)
        right = svg.text(plane.box.right + 28, y, curve.format, 12, bold=True).right
        svg.text(right + 8, y, words.at(curve), 12)


def _place(plane: Plane, lanes: float, rate: float) -> tuple[float, float]:
    return plane.x(lanes), plane.y(rate / 1e9)
