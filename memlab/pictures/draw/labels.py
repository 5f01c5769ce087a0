"""Texts on a chart: at a fixed place, or where there is room for them.

A label has places, and stands at the first that is free. A name on curves has finders: each
searches one kind of place, such as the thickest part of a slice, and takes the best free one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from memlab import strings
from memlab.arrays import Floats, least, most
from memlab.moved import old_names
from memlab.pictures.draw import text as texts
from memlab.pictures.draw.marks import Fact, Mark, Pen
from memlab.pictures.draw.svg import PHONE, Box, text_box
from memlab.pictures.draw.text import Runs
from memlab.pictures.draw.theme import HA, line_style
from memlab.pictures.values.number_text import three_digits

LINE = 14
"""Pixels from one line of a name to the next."""

Spot = tuple[float, float, str, float, float]
"""Place of a text: values of x and y, its anchor, and pixels to the right and down."""

Finder = Callable[[Pen, float, float], Box | None]
"""Takes a free place for a name, of a width and height in pixels, or returns None."""


@dataclass(frozen=True)
class ChartText(Mark):
    """A text at a value, moved by ``dx`` and ``dy`` pixels.

    Its baseline is there, and the part of the text that ``anchor`` names: start, middle or end.
    ``held`` keeps it inside the picture. It is shortened to ``room``, in values of x. In a picture
    for a phone every text is held, and one that is wider than the picture has several lines.
    """

    x: float
    y: float
    content: Runs
    size: float = 12
    anchor: str = "start"
    dx: float = 0
    dy: float = 0
    bold: bool = False
    dim: bool = False
    chip: bool = False
    held: bool = False
    room: float = 0
    fact: Fact | None = None

    def runs(self, pen: Pen) -> Runs:
        """Return the text, shortened to its room, in pieces with their weight."""
        if not isinstance(self.content, str):
            return self.content
        if not self.room:
            return [(self.content, self.bold)]
        room = abs(pen.x(self.room) - pen.x(0))
        return [(texts.shortened(self.content, room, self.size, self.bold), self.bold)]

    def lines(self, pen: Pen) -> list[Runs]:
        """Return the text in lines: one, save on a phone."""
        runs, room = self.runs(pen), pen.svg.width - 2
        if pen.svg.width >= PHONE or texts.measure(runs, self.size, self.bold) <= room:
            return [runs]
        pieces = [(runs, self.bold)] if isinstance(runs, str) else runs
        return [*texts.flow_lines(pieces, room, self.size)]

    def box(self, pen: Pen) -> Box:
        """Return the rectangle of the text in pixels."""
        x, y = pen.x(self.x) + self.dx, pen.y(self.y) + self.dy
        first, *others = self.lines(pen)
        box = text_box(x, y, first, self.size, self.anchor)
        if others:
            box = box._replace(bottom=box.bottom + LINE * len(others))
        if not self.held and pen.svg.width >= PHONE:
            return box
        away = max(0.0, 0.5 - box.left) or min(0.0, pen.svg.width - 1 - box.right)
        return Box(box.left + away, box.top, box.right + away, box.bottom)

    def draw(self, pen: Pen) -> None:
        box = self.box(pen)
        anchors = {"start": box.left, "middle": (box.left + box.right) / 2, "end": box.right}
        y = pen.y(self.y) + self.dy
        for number, line in enumerate(self.lines(pen)):
            pen.svg.text(
                anchors[self.anchor], y + LINE * number, line, self.size, self.anchor, self.bold,
                self.dim, self.chip,
            )  # fmt: skip

    def takes(self, pen: Pen) -> Iterator[Box]:
        yield self.box(pen)

    def on(self, axes: Any) -> None:
        axes.annotate(
            texts.plain(self.content), (self.x, self.y), (self.dx, -self.dy),
            textcoords="offset points", ha=HA[self.anchor], va="baseline", fontsize=self.size,
            fontweight="bold" if self.bold else "normal", annotation_clip=False,
        )  # fmt: skip


@dataclass(frozen=True)
class Label(Mark):
    """A text at the first of several places that is free: ``(x, y, anchor, dx, dy)``.

    It keeps ``apart`` pixels from other labels. Where no place is free it is left out, or with
    ``kept`` stands at the first place. With ``leader`` it stays inside the frame, and a thin line
    leads to it where it stands more than so many pixels higher or lower than its point.
    """

    content: Runs
    places: Sequence[tuple[float, float, str, float, float]]
    size: float = 12
    bold: bool = False
    dim: bool = False
    chip: bool = False
    kept: bool = False
    apart: float = 3
    leader: float = 0
    fact: Fact | None = None
    late: ClassVar[bool] = True

    def texts(self) -> list[ChartText]:
        """Return the label at each of its places."""
        return [
            ChartText(x, y, self.content, self.size, anchor, dx, dy, self.bold, self.dim, self.chip)
            for x, y, anchor, dx, dy in self.places
        ]

    def draw(self, pen: Pen) -> None:
        tries = self.texts()
        for text in tries:
            box = text.box(pen)
            if self._fits(pen, box) and pen.board.free(box, self.apart):
                pen.board.take(box)
                self._draw_leader(pen, text, box)
                text.draw(pen)
                return
        if self.kept and tries:
            pen.board.take(tries[0].box(pen))
            tries[0].draw(pen)

    def _fits(self, pen: Pen, box: Box) -> bool:
        """True if a box lies inside the picture and, with a leader, inside the frame."""
        if self.leader and not (pen.box.top <= box.top and box.bottom <= pen.box.bottom):
            return False
        return box.left >= 0 and box.right <= pen.svg.width

    def _draw_leader(self, pen: Pen, text: ChartText, box: Box) -> None:
        """Draw the thin line from the point to a label that stands far from it."""
        if self.leader and abs(text.dy) > self.leader:
            x, edge = pen.x(text.x), box.bottom if text.dy < 0 else box.top
            end = min(max(x, box.left), box.right)
            pen.svg.line(x, pen.y(text.y), end, edge, class_="rule faint")

    def lower(self, pen: Pen) -> None:
        pen.svg.charting = False  # its place is found now: a figure writes it there
        super().lower(pen)
        pen.svg.charting = True

    def on(self, axes: Any) -> None:
        """Draw nothing: the page writes the label, together with its words."""


def beyond(x: float, end: float, nbytes: int) -> Label:
    """Return the label of an amount that goes on above the end of an axis.

    Args:
        x: value of x at the middle of the label.
        end: value at the end of the axis; the label stands below it.
        nbytes: the amount in bytes, which the label names.
    """
    content = strings.get("draw.beyond", amount=three_digits(nbytes))
    spots = (("middle", 0.0), ("start", 6.0), ("end", -6.0))
    places = [(x, end, anchor, dx, dy) for dy in (22.0, 38.0) for anchor, dx in spots]
    return Label(content, places, 13, bold=True, chip=True, kept=True)


@dataclass(frozen=True)
class PhaseBracket(Mark):
    """A bracket above the chart from the operation boundary ``first`` to ``stop``, with its name
    where there is room, ``apart`` pixels from others, and a line over the chart where it begins."""

    name: str
    first: float
    stop: float
    dy: float = -14
    apart: float = 2

    def draw(self, pen: Pen) -> None:
        left, right, y = pen.x(self.first) + 0.7, pen.x(self.stop) - 0.7, pen.box.top + self.dy
        pen.svg.path(
            f"M{left:.1f} {y + 9:g}V{y + 5:g}H{right:.1f}V{y + 9:g}", class_="rule", opacity=0.7
        )
        middle = (left + right) / 2
        box = text_box(middle, y, self.name, 12, "middle")
        if box.right <= pen.svg.width and pen.board.first([box], self.apart):
            pen.svg.text(middle, y, self.name, 12, "middle")
        if self.first:
            x = pen.x(self.first)
            pen.svg.line(x, pen.box.top, x, pen.box.bottom, class_="grid")

    def on(self, axes: Any) -> None:
        top = axes.get_ylim()[1]
        if self.first:
            axes.axvline(self.first, **line_style("grid"))
        axes.annotate(
            self.name, ((self.first + self.stop) / 2, top), (0, -self.dy - 10), ha="center",
            textcoords="offset points", fontsize=11, annotation_clip=False,
        )  # fmt: skip


# -- names on curves -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Name(Label):
    """A text of one or more lines at the first place that one of its ``finders`` returns; without a
    place the name ``instead`` is tried. Lines are flush left, or with ``right`` flush right."""

    finders: Sequence[Finder] = ()
    instead: Name | None = None
    right: bool = False

    def draw(self, pen: Pen) -> None:
        lines = str(self.content).split("\n")
        wide = max(texts.width(line, self.size, self.bold) for line in lines)
        tall = LINE * len(lines) if len(lines) > 1 else self.size + 4
        box = next((box for find in self.finders if (box := find(pen, wide, tall))), None)
        if box is not None:
            self._write_at(pen, box, lines)
        elif self.instead:
            self.instead.draw(pen)

    def _write_at(self, pen: Pen, box: Box, lines: list[str]) -> None:
        """Write the lines of the name into a box."""
        x, anchor = (box.right, "end") if self.right else (box.left, "start")
        single = len(lines) == 1
        y = (box.top + box.bottom) / 2 + 0.36 * self.size if single else box.top + self.size - 1
        for index, line in enumerate(lines):
            base = y + LINE * index
            pen.svg.text(x, base, line, self.size, anchor, self.bold, self.dim, self.chip)


# -- places ----------------------------------------------------------------------------------------


def middle(low: Floats, high: Floats, step: float = 1) -> Spot:
    """Return the spot in the middle of a slice between two curves, at the moment where it is
    thickest; a moment is ``step`` wide on the axis."""
    at = int((high - low).argmax())
    return (at + 0.5) * step, float(low[at] + high[at]) / 2, "middle", 0.0, 0.0


def thickest(low: Floats, high: Floats, lines: Sequence[Floats] = ()) -> Finder:
    """Return a finder of the place between two curves with the most room. Where ``lines`` cut the
    slice into layers, it tries one layer after the other from the top."""

    def find(pen: Pen, wide: float, tall: float) -> Box | None:
        frame = pen.frame
        if float((frame.heights(low) - frame.heights(high)).max()) <= tall + 4:
            return None
        edges = [low, *(np.minimum(np.maximum(line, low), high) for line in lines), high]
        layers = list(pairwise(edges))[::-1]
        boxes = (pen.board.widest(frame, *layer, wide, tall) for layer in layers)
        return next((box for box in boxes if box), None)

    return find


def near(x: float, y: float, curves: Sequence[Floats]) -> Finder:
    """Return a finder of places around the point ``x``, ``y``; they cross no curve if possible."""

    def find(pen: Pen, wide: float, tall: float) -> Box | None:
        box, at, level = pen.box, pen.x(x), pen.y(y)
        lefts = np.arange(box.left + 4, box.right - wide - 3, 18).tolist()
        aside = [(left, max(left - at, at - left - wide, 0)) for left in lefts]
        tops = ((1.5 * abs(down + 6), level + down - 9) for down in range(-44, 60, 12))
        places = (
            (off + along, left, top)
            for off, top in tops
            if top > box.top + 9 and top + 12 < box.bottom
            for left, along in aside
        )
        return pen.board.cheapest(pen.frame, places, (wide, 12), curves, 2)

    return find


def beside(y: float, curves: Sequence[Floats]) -> Finder:
    """Return a finder of places above or below the level ``y``, at its ends or between them, which
    cross no curve where possible."""

    def find(pen: Pen, wide: float, tall: float) -> Box | None:
        box, inner = pen.box, pen.box.right - pen.box.left - wide
        shares = [box.left + inner * part / 6 for part in range(1, 6)]
        lefts = [box.right - 4 - wide, box.left + 5, *shares]
        tops = [pen.y(y) - 13.5, pen.y(y) + 4.5]
        spots = [(left, top) for top in tops for left in lefts]
        places = (
            (cost, left, top)
            for cost, (left, top) in enumerate(spots)
            if top > box.top and top + 11 < box.bottom
        )
        return pen.board.cheapest(pen.frame, places, (wide, 11), curves, 1)

    return find


def aside(x: float, dy: float) -> Finder:
    """Return a finder of places above the frame, moved by ``dy`` pixels: at its right end, beside
    the value ``x``, or at its left end."""

    def find(pen: Pen, wide: float, tall: float) -> Box | None:
        left, top, right, _ = pen.box
        lefts = (right - wide, pen.x(x) + 10, pen.x(x) - 10 - wide, left)
        places = [Box(at, top + dy - 8, at + wide, top + dy + 2) for at in lefts]
        return pen.board.first(box for box in places if left <= box.left and box.right <= right)

    return find


def flank(sky: Floats, ground: Floats, peak: float) -> Finder:
    """Return a function that finds a free place for a label on the curve ``sky``, at least 12
    pixels above the curve ``ground``. Places to the left of the moment ``peak`` are preferred."""

    def find(pen: Pen, wide: float, tall: float) -> Box | None:
        lefts, bottoms, least, _ = _ledges(pen, sky, ground, wide)
        good = (least > 12) & (bottoms - tall > pen.box.top + 6)
        places = _boxes(lefts[good], bottoms[good], wide, tall)
        return pen.board.first(sorted(places, key=lambda place: place.left > pen.x(peak)))

    return find


def shore(sky: Floats, ground: Floats) -> Finder:
    """Return a finder of places on ``sky`` near the right edge, where the curve is close to
    ``ground``."""

    def find(pen: Pen, wide: float, tall: float) -> Box | None:
        lefts, bottoms, _, most = _ledges(pen, sky, ground, wide, last=12)
        good = (most < 16) & (bottoms - tall > pen.box.top + 4)
        return pen.board.first(_boxes(lefts[good], bottoms[good], wide, tall)[::-1])

    return find


def _ledges(
    pen: Pen, sky: Floats, ground: Floats, wide: float, last: int | None = None
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the places of names on the curve ``sky``: left and lower edges in pixels, and the
    least and the greatest height of the curve above ``ground`` there. ``last`` is the number of
    places at the right end that are wanted; None returns all."""
    highest, span = pen.frame.columns(sky), int(wide) + 11
    if span > len(highest):
        nothing = np.zeros(0)
        return nothing, nothing, nothing, nothing
    first = np.arange(0, len(highest) - span + 1, 5)[-last if last else 0 :]
    apart = pen.frame.columns(ground) - highest
    lefts: Floats = (first + (pen.box.left + 5)).astype(np.float64)
    bottoms = least(highest, span, first) - 7
    return lefts, bottoms, least(apart, span, first), most(apart, span, first)


def _boxes(lefts: Floats, bottoms: Floats, wide: float, tall: float) -> list[Box]:
    """Return rectangles of one size with these left and lower edges."""
    corners = zip(lefts.tolist(), bottoms.tolist(), strict=True)
    return [Box(left, bottom - tall, left + wide, bottom) for left, bottom in corners]


if not TYPE_CHECKING:  # a checker of types sees the new names only
    __getattr__ = old_names(__name__)
