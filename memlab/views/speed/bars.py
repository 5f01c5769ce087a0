"""Workspace and time of each way to convolve, as bars side by side."""

from __future__ import annotations

from zlib import crc32

from memlab.bench.convolution import Comparison
from memlab.bench.timing import Timing
from memlab.views import axis, bars, extents
from memlab.views.axis import Axis
from memlab.views.bars import TALL
from memlab.views.speed import scales, words
from memlab.views.speed.scales import Times
from memlab.views.svg import Box, Svg

WIDTH, LINE, PITCH = 820, 16, 40
BYTES, TIME = (196, 400), (490, 690)
"""Left and right ends of the two axes; the amounts stand behind the bars."""


def draw(found: Comparison) -> Svg:
    """The picture; its height follows the algorithms."""
    headline = words.headline(found)
    top = 74 + LINE * len(headline[1:])
    bottom = top + PITCH * len(found.timings)
    sizes = axis.over(max(each.workspace or 0 for each in found.timings), axis.TIGHT)
    times = scales.times(each.seconds for each in found.timings)
    lines = notes(found)
    svg = Svg(WIDTH, bottom + 56 + LINE * len(lines), key(found, "b"))
    top_lines(svg, found)
    svg.text(BYTES[0], top - 12, words.say("workspace"), 12, bold=True)
    svg.text(TIME[0], top - 12, words.say("time"), 12, bold=True)
    _grid(svg, sizes, times, top, bottom)
    for index, each in enumerate(found.timings):
        _row(svg, found, each, top + PITCH * index + (PITCH - TALL) / 2, sizes, times)
    for end in (BYTES[0], TIME[0]):
        svg.line(end, top, end, bottom, class_="rule", opacity=0.5)
    for index, line in enumerate(lines):
        svg.text(0, bottom + 54 + LINE * index, line, 11, dim=True)
    return svg


def key(found: Comparison, kind: str) -> str:
    """What keeps the ids of this picture apart from those of others."""
    return f"s{kind}{crc32(repr(found).encode()):08x}"


def top_lines(svg: Svg, found: Comparison) -> None:
    """What was measured, and what came out."""
    headline = words.headline(found)
    svg.text(0, 12, extents.shortened(words.title(found), WIDTH, 12), 12, dim=True)
    svg.text(0, 34, extents.shortened(headline[0], WIDTH - 60, 16), 16, bold=True)
    for index, line in enumerate(headline[1:], start=1):
        svg.text(0, 36 + LINE * index, extents.shortened(line, WIDTH, 13), 13)


def notes(found: Comparison) -> list[str]:
    """The small print, in lines."""
    return [line for note in words.notes(found) for line in extents.wrap(note, WIDTH, 11)]


def _grid(svg: Svg, sizes: Axis, times: Times, top: float, bottom: float) -> None:
    places = [(_at(BYTES, nbytes / sizes.end), label) for nbytes, label in sizes.ticks]
    places += [(_at(TIME, part), label) for part, label in times.ticks]
    for x, label in places:
        svg.line(x, top, x, bottom, class_="grid")
        svg.text(x, bottom + 14, label, 11, "middle")
    svg.text(TIME[0], bottom + 30, words.say("times"), 11, dim=True)


def _row(svg: Svg, found: Comparison, each: Timing, top: float, sizes: Axis, times: Times) -> None:
    """One way: its name and what it does, and two bars with their amounts."""
    base, way = top + TALL - 4, words.way(each)
    svg.text(0, base - 6 if way else base, words.name(each, found), 12, bold=True)
    if way:
        svg.text(0, base + 9, extents.shortened(way, BYTES[0] - 12, 11), 11, dim=True)
    end = _at(BYTES, (each.workspace or 0) / sizes.end)
    if each.workspace:
        bars.draw(svg, Box(BYTES[0], top, end, top + TALL), "planned")
    known = each.workspace is not None
    svg.text(end + 8, base, words.workspace(each), 12 if known else 11, bold=known, dim=not known)
    end = _at(TIME, times.place(each.seconds))
    bars.draw(svg, Box(TIME[0], top, end, top + TALL), "measured")
    right = svg.text(end + 8, base, words.duration(each.seconds), 12, bold=True).right
    svg.text(right + 8, base, f"{words.against(each, found)} ×", 12)


def _at(ends: tuple[int, int], part: float) -> float:
    return ends[0] + (ends[1] - ends[0]) * part
