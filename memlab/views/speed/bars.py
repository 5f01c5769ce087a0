"""Workspace and time of each way to convolve, as bars side by side."""

from __future__ import annotations

from zlib import crc32

from memlab.bench.convolution import Comparison
from memlab.bench.timing import Timing
from memlab.views import bars, extents
from memlab.views.bars import TALL
from memlab.views.speed import scales, words
from memlab.views.speed.scales import Decades, Times
from memlab.views.svg import Box, Svg

WIDTH, LINE, PITCH = 820, 16, 40
BYTES, TIME = (196, 426), (524, 746)
"""Left and right ends of the two axes; the amounts stand behind the bars."""


def draw(found: Comparison) -> Svg:
    """The picture; its height follows the algorithms."""
    headline = words.headline(found)
    top = 74 + LINE * len(headline[1:])
    bottom = top + PITCH * len(found.timings)
    sizes = scales.decades(each.workspace or 0 for each in found.timings)
    times = scales.times(each.seconds for each in found.timings)
    lines = notes(found, times)
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


def notes(found: Comparison, times: Times) -> list[str]:
    """The small print, in lines."""
    beyond = any(each.seconds > times.end for each in found.timings)
    first = [words.say("broken")] if beyond else []
    return [line for note in first + words.notes(found) for line in extents.wrap(note, WIDTH, 11)]


def _grid(svg: Svg, sizes: Decades, times: Times, top: float, bottom: float) -> None:
    places = [(_at(BYTES, part), label) for part, label in sizes.ticks]
    room = (BYTES[1] - BYTES[0]) / (len(places) - 1)
    apart = 1 if room > 46 else 2  # labels stand at every second line where all would collide
    ends = [(_at(TIME, second / times.end), label) for second, label in times.ticks]
    for index, (x, label) in enumerate(places):
        svg.line(x, top, x, bottom, class_="grid")
        if (len(places) - 1 - index) % apart == 0:
            svg.text(x, bottom + 14, label, 11, "middle")
    for x, label in ends:
        svg.line(x, top, x, bottom, class_="grid")
        svg.text(x, bottom + 14, label, 11, "middle")
    svg.text(BYTES[0], bottom + 29, words.say("decades"), 11, dim=True)


def _row(
    svg: Svg, found: Comparison, each: Timing, top: float, sizes: Decades, times: Times
) -> None:
    """One way: its name and what it does, and two bars with their amounts."""
    base, way = top + TALL - 4, words.way(each)
    svg.text(0, base - 6 if way else base, words.name(each, found), 12, bold=True)
    if way:
        svg.text(0, base + 9, extents.shortened(way, BYTES[0] - 12, 11), 11, dim=True)
    end = _at(BYTES, sizes.place(each.workspace or 0))
    if each.workspace:
        bars.draw(svg, Box(BYTES[0], top, end, top + TALL), "planned")
    known = each.workspace is not None
    svg.text(end + 8, base, words.workspace(each), 12 if known else 11, bold=known, dim=not known)
    end = _at(TIME, min(each.seconds / times.end, 1))
    bars.draw(svg, Box(TIME[0], top, end, top + TALL), "measured")
    if each.seconds > times.end:
        cut = f"M{end - 30:.1f} {top + TALL + 3:.1f}l7 {-TALL - 6}"
        svg.path(f"{cut}h6l-7 {TALL + 6}Z", class_="page")
        svg.path(f"{cut}m6 0l-7 {TALL + 6}", class_="rule")
    svg.text(end + 8, base, words.duration(each.seconds), 12, bold=True)


def _at(ends: tuple[int, int], part: float) -> float:
    return ends[0] + (ends[1] - ends[0]) * part
