"""What a benchmark of kernels found: each way's time as a ratio, its workspace beside it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from math import ceil, floor, log2
from zlib import crc32

from memlab.bench.convolution import RIVAL
from memlab.bench.timing import Group, Result, Timing
from memlab.errors import InputError
from memlab.views import extents
from memlab.views.speed import marks, scales, words
from memlab.views.speed.scales import Decades
from memlab.views.svg import Svg

WIDTH, LINE = 820, 16
NAMES, RATIOS, BYTES = 190, (204, 540), (620, 790)
"""Room for the names of groups; left and right ends of the two axes. Without any workspace the
first one takes all the room."""
NOTHING = 590
"""Where 0 B stands."""
APART, GAP = 7, 16
"""Between the marks of a group, and from group to group."""


@dataclass(frozen=True, slots=True)
class Doublings:
    """Ratios from ``2**first`` to ``2**last``, each doubling as far from the one before."""

    first: int
    last: int

    def place(self, ratio: float) -> float:
        """Where a ratio lies, from 0 to 1."""
        return (log2(ratio) - self.first) / (self.last - self.first)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Places and labels of the doublings."""
        powers = range(self.first, self.last + 1)
        return [(self.place(2.0**power), f"{2.0**power:,g}") for power in powers]


def doublings(ratios: Iterable[float]) -> Doublings:
    """Those around some ratios and around 1."""
    found = [log2(ratio) for ratio in ratios]
    return Doublings(min(floor(min(found)), -1), max(ceil(max(found)), 1))


@dataclass(frozen=True)
class Plot:
    """What is drawn of a result.

    Every time is divided by PyTorch's where it took part everywhere, else by the least of its
    group.
    """

    result: Result

    @cached_property
    def rival(self) -> str:
        """The name of what the times are divided by; empty for the least."""
        groups = [[each.name for each in group.timings] for group in self.result.groups]
        return RIVAL if all(RIVAL in names for names in groups) else ""

    def ratios(self, group: Group) -> list[tuple[Timing, float]]:
        """Every way of a group but the rival, and its ratio."""
        times = {each.name: each.seconds for each in group.timings}
        under = times[self.rival] if self.rival else min(times.values())
        return [(e, e.seconds / under) for e in group.timings if e.name != self.rival]

    @cached_property
    def ways(self) -> list[str]:
        """The names of all ways, in the order of their marks."""
        found = (each.name for group in self.result.groups for each, _ in self.ratios(group))
        return list(dict.fromkeys(found))

    @cached_property
    def sizes(self) -> list[int]:
        """All planned workspaces."""
        found = (each.workspace for group in self.result.groups for each in group.timings)
        return [size for size in found if size is not None]

    @cached_property
    def across(self) -> Doublings:
        """The axis of the ratios."""
        groups = self.result.groups
        return doublings(ratio for group in groups for _, ratio in self.ratios(group))

    @cached_property
    def bytes(self) -> Decades:
        """The axis of the workspaces."""
        return scales.decades(self.sizes)

    def x(self, ratio: float) -> float:
        """Where a ratio stands."""
        left, right = self.ends
        return left + (right - left) * self.across.place(ratio)

    def x_bytes(self, nbytes: int) -> float:
        """Where a workspace stands."""
        return BYTES[0] + (BYTES[1] - BYTES[0]) * self.bytes.place(nbytes) if nbytes else NOTHING

    @property
    def ends(self) -> tuple[int, int]:
        """Of the axis of the ratios."""
        return RATIOS if self.sizes else (RATIOS[0], BYTES[1])


def draw(result: Result) -> Svg:
    """The picture; its height follows the groups.

    Raises:
        InputError: a result without groups of timings.
    """
    if not result.groups:
        raise InputError(f"{result.benchmark} has no plot; leave it out, or try convolution.")
    plot, head, foot = Plot(result), _head(result), _foot(result)
    key = marks.key(plot.ways, WIDTH)
    top = 84 + LINE * len(head) + 20 * len(key)
    bottom = top + (APART * len(plot.ways) + GAP) * len(result.groups)
    svg = Svg(WIDTH, bottom + 52 + LINE * len(foot), f"p{crc32(repr(result).encode()):08x}")
    svg.text(0, 14, words.say("plot.title", name=result.benchmark), 16, bold=True)
    for index, line in enumerate(head):
        svg.text(0, 36 + LINE * index, line, 12)
    for index, names in enumerate(key):
        for name, left in names:
            base = 46 + LINE * len(head) + 20 * index
            marks.draw(svg, plot.ways.index(name), left + marks.SIZE, base - 4)
            svg.text(left + 16, base, name, 12)
    _ratio_axis(svg, plot, top, bottom)
    if plot.sizes:
        _byte_axis(svg, plot, top, bottom)
    pitch = (bottom - top) / len(result.groups)
    for index, group in enumerate(result.groups):
        _group(svg, plot, group, top + pitch * index, pitch)
    for index, line in enumerate(foot):
        svg.text(0, bottom + 56 + LINE * index, line, 11, dim=True)
    return svg


def _head(result: Result) -> list[str]:
    """The figures that have an aim."""
    lines = [" ".join(str(line).split()) for line in result.lines if line.aim is not None]
    return [piece for line in lines for piece in extents.wrap(line, WIDTH, 12)]


def _foot(result: Result) -> list[str]:
    """What has no unit is a note: libraries, what is missing; and where it was measured."""
    notes = [f"{line.name}." for line in result.lines if not line.unit]
    notes.append(words.say("where", machine=result.machine))
    return [piece for note in notes for piece in extents.wrap(note, WIDTH, 11)]


def _ratio_axis(svg: Svg, plot: Plot, top: float, bottom: float) -> None:
    left, right = plot.ends
    against = words.rival(plot.result.machine) if plot.rival else words.say("plot.least")
    svg.text(left, top - 10, words.say("plot.ratio", against=against), 12, bold=True)
    for place, label in plot.across.ticks:
        x = left + (right - left) * place
        svg.line(x, top, x, bottom, class_="rule" if label == "1" else "grid")
        svg.text(x, bottom + 15, label, 11, "middle")
    svg.text(left, bottom + 32, words.say("plot.doublings"), 11, dim=True)


def _byte_axis(svg: Svg, plot: Plot, top: float, bottom: float) -> None:
    svg.text(NOTHING, top - 10, words.say("workspace"), 12, bold=True)
    ticks = plot.bytes.ticks
    for index, (place, label) in enumerate(ticks):
        x = BYTES[0] + (BYTES[1] - BYTES[0]) * place
        svg.line(x, top, x, bottom, class_="grid")
        if (len(ticks) - 1 - index) % 2 == 0:
            svg.text(x, bottom + 15, label, 11, "middle")
    if 0 in plot.sizes:
        svg.line(NOTHING, top, NOTHING, bottom, class_="grid")
        svg.text(NOTHING, bottom + 15, "0 B", 11, "middle")
    svg.text(NOTHING, bottom + 32, words.say("decades"), 11, dim=True)


def _group(svg: Svg, plot: Plot, group: Group, top: float, pitch: float) -> None:
    """One layer: a mark for each way, each at its own height, in both panels."""
    svg.line(0, top, WIDTH, top, class_="grid")
    svg.text(0, top + pitch / 2 + 4, extents.shortened(group.name, NAMES, 12), 12, bold=True)
    for each, ratio in plot.ratios(group):
        index = plot.ways.index(each.name)
        y = top + GAP / 2 + APART * (index + 0.5)
        marks.draw(svg, index, plot.x(ratio), y)
        if each.workspace is not None:
            marks.draw(svg, index, plot.x_bytes(each.workspace), y)
