"""The picture of a comparison: for every step the stack of its roles, lying, on one axis from 0."""

from __future__ import annotations

from dataclasses import dataclass
from zlib import crc32

from memlab import units
from memlab.views import axis, bars, extents
from memlab.views.axis import Axis
from memlab.views.comparison import labels, words
from memlab.views.comparison.labels import Name, Part
from memlab.views.comparison.rows import Row, Rows
from memlab.views.svg import Box, Svg, box_path

WIDTH, LINE = 820, 16
RIGHT = 620
"""The end of the axis; the amounts stand behind the bars."""
TALL, LANE, THIN, GAP = 36, 40, 8, 30
"""Of a stack; of the names above it; of the bar of a run; between steps."""


@dataclass(frozen=True)
class Place:
    """Where a step is drawn: the baseline of its name, its stack, the first baseline under it."""

    row: Row
    top: float
    stack: Box
    parts: list[Part]
    names: list[Name]
    facts: list[str]

    @property
    def small(self) -> list[str]:
        """What has a label neither inside nor above."""
        above = [name.part for name in self.names]
        return [p.look.label for p in self.parts if not p.inside and p not in above]

    @property
    def run(self) -> float:
        """How much the bar of a run takes."""
        return THIN + 3 if self.row.measured else 0

    @property
    def below(self) -> float:
        """The first baseline under the bars."""
        return self.stack.bottom + self.run + LINE

    @property
    def end(self) -> float:
        """The baseline of the next step's name."""
        return self.below + LINE * (len(self.facts) - 1) + GAP


def draw(found: Rows) -> Svg:
    """The picture; its height follows the steps."""
    scale = axis.over(max(_most(row) for row in found.rows), axis.TIGHT)
    places, top = list[Place](), 62.0
    for row in found.rows:
        places.append(_place(row, scale, top))
        top = places[-1].end
    foot = _foot(found, places)
    svg = Svg(WIDTH, top + 8 + LINE * len(foot), f"c{crc32(repr(found).encode()):08x}")
    svg.text(0, 12, extents.shortened(words.title(found), WIDTH, 12), 12, dim=True)
    svg.text(0, 34, extents.shortened(words.headline(found), WIDTH - 60, 16), 16, bold=True)
    for place in places:
        _grid(svg, place, scale)
        _step(svg, found, place, scale)
    for nbytes, label in scale.ticks:
        svg.text(_x(nbytes, scale), top - 8, label, 11, "middle" if nbytes else "start")
    for index, line in enumerate(foot):
        svg.text(0, top + 14 + LINE * index, line, 11, dim=True)
    return svg


def _most(row: Row) -> int:
    """The longer one of its bars."""
    return max(row.peak.nbytes, row.measured.nbytes if row.measured else 0)


def _x(nbytes: int, scale: Axis) -> float:
    return RIGHT * nbytes / scale.end


def _place(row: Row, scale: Axis, top: float) -> Place:
    parts = labels.parts(row, scale, RIGHT)
    names = labels.above(parts, WIDTH)
    bar = top + 8 + (LANE if names else 0)
    stack = Box(0, bar, _x(row.peak.nbytes, scale), bar + TALL)
    return Place(row, top, stack, parts, names, extents.wrap(words.facts(row), WIDTH, 12))


def _grid(svg: Svg, place: Place, scale: Axis) -> None:
    """The lines of the axis behind the bars of one step."""
    bottom = place.stack.bottom + place.run
    for nbytes, _ in scale.ticks:
        x = _x(nbytes, scale)
        svg.line(x, place.stack.top - 3, x, bottom + 3, class_="grid")


def _step(svg: Svg, found: Rows, place: Place, scale: Axis) -> None:
    """One step: its name, its stack with names and amounts, its run, and what stands under it."""
    row, stack = place.row, place.stack
    name = extents.shortened(row.name, WIDTH / 2, 13)
    right = svg.text(0, place.top, name, 13, bold=True).right + 12
    about = extents.shortened(row.description, WIDTH - right, 11)
    svg.text(right, place.top, about, 11, dim=True)
    for label in place.names:
        _above(svg, label, stack.top)
    for part in place.parts:
        _part(svg, part, stack)
    _amounts(svg, found, place)
    if row.measured:
        top = stack.bottom + 3
        bars.draw(svg, Box(0, top, _x(row.measured.nbytes, scale), top + THIN), "measured")
    for index, line in enumerate(place.facts):
        svg.text(0, place.below + LINE * index, line, 12)


def _above(svg: Svg, name: Name, top: float) -> None:
    svg.swatch(name.left, top - 29, name.part.look.paint)
    for index, line in enumerate(name.part.lines):
        svg.text(name.left + labels.SWATCH, top - 29 + 15 * index, line, labels.SIZE)
    d = f"M{name.foot:.1f} {top - 10:.1f}L{name.part.middle:.1f} {top - 1:.1f}v4"
    svg.path(d, class_="rule faint", stroke_width=0.9)


def _part(svg: Svg, part: Part, stack: Box) -> None:
    svg.fill(box_path(Box(part.left, stack.top, part.right, stack.bottom)), part.look.paint, 0.5)
    for index, line in enumerate(part.lines if part.inside else ()):
        base, chip = stack.top + 15 + 15 * index, bool(part.look.paint.pattern)
        svg.text(part.middle, base, line, labels.SIZE, "middle", chip=chip)


def _amounts(svg: Svg, found: Rows, place: Place) -> None:
    """Behind the bars: the peak in both units, and its ratio to the first."""
    row, x, base = place.row, place.stack.right + 8, place.stack.top + 15
    svg.text(x, base, units.both(row.peak.nbytes), 12, bold=True, chip=True)
    if row is not found.first:
        against = extents.shortened(words.against(row, found), WIDTH - x - 3, 12)
        svg.text(x, base + 15, against, 12, chip=True)


def _foot(found: Rows, places: list[Place]) -> list[str]:
    """Where each stack is drawn, what the dotted bars are, what is too small for a label."""
    notes = [words.say("text"), *([words.say("key")] if found.measured else [])]
    small = dict.fromkeys(label for place in places for label in place.small)
    if small:
        notes.append(words.say("small", names="; ".join(small)))
    return [line for note in notes for line in extents.wrap(note, WIDTH, 11)]
