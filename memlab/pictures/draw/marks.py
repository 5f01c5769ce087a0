"""Marks: the parts of a chart, in the values of its scales.

A mark lowers itself twice: ``draw`` onto a pen (SVG), ``on`` onto matplotlib's Axes. ``outline`` is
the mark that shows it as part of the previous state. A view may add a mark of its own by the same
methods.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from memlab import strings, units
from memlab.arrays import Floats
from memlab.pictures.draw import theme
from memlab.pictures.draw.label_board import LabelBoard
from memlab.pictures.draw.scale import Scale
from memlab.pictures.draw.staircases import Frame
from memlab.pictures.draw.svg import Box, Svg, box_path
from memlab.pictures.draw.theme import Paint, area_style, edge_style, ink, line_style, point_style

Send = tuple[str, object]
"""Message of a press to Python: a name and a value."""


@dataclass(frozen=True, slots=True)
class Fact:
    """Text of a mark on hover and focus: its name, formula, bytes, maker and last reader; empty
    fields are left out. ``more`` are further sentences."""

    name: str
    formula: str = ""
    nbytes: int | None = None
    maker: str = ""
    reader: str = ""
    more: str = ""

    def __str__(self) -> str:
        size = "" if self.nbytes is None else units.exact(self.nbytes)
        amount = " = ".join(filter(None, (self.formula, size)))
        parts = [": ".join(filter(None, (self.name, amount)))]
        parts += [strings.get("fact.maker", name=self.maker)] if self.maker else []
        parts += [strings.get("fact.reader", name=self.reader)] if self.reader else []
        return "; ".join([*parts, *filter(None, [self.more])])


@dataclass
class Pen:
    """A chart under construction: its picture, its frame in pixels, its two scales, and the board
    of places that are taken."""

    svg: Svg
    box: Box
    across: Scale
    up: Scale
    board: LabelBoard = field(default_factory=LabelBoard)

    def x(self, value: Any) -> Any:
        """Return the x of a value, or of an array of values, in pixels."""
        return self.box.left + (self.box.right - self.box.left) * self.across.at(value)

    def y(self, value: Any) -> Any:
        """Return the y of a value, or of an array of values, in pixels."""
        return self.box.bottom - (self.box.bottom - self.box.top) * self.up.at(value)

    @cached_property
    def frame(self) -> Frame:
        """The chart's rectangle as a frame of staircases."""
        return Frame(self.box, self.up.last, self.up.first)

    def place(self, x0: float, x1: float, y0: float, y1: float) -> Box:
        """Return the rectangle in pixels between two values of x and two values of y."""
        left, right = sorted((self.x(x0), self.x(x1)))
        top, bottom = sorted((self.y(y0), self.y(y1)))
        return Box(left, top, right, bottom)


class Mark:
    """The base of all marks. A ``late`` one is drawn after all others, clear of them."""

    fact: Fact | None = None
    send: Send | None = None
    late: ClassVar[bool] = False

    def draw(self, pen: Pen) -> None:
        """Write the mark to the pen's picture."""
        raise NotImplementedError

    def on(self, axes: Any) -> None:
        """Draw the mark on matplotlib's Axes, in the values of the scales."""
        raise NotImplementedError

    def takes(self, pen: Pen) -> Iterable[Box]:
        """Return the rectangles in pixels that no label may cover."""
        return ()

    def outline(self) -> Mark:
        """Return the mark that shows this one as part of the previous state: its dashed edge."""
        return replace(self, look="before", fact=None)  # type: ignore[type-var]  # every mark is a dataclass

    def lower(self, pen: Pen) -> None:
        """Draw the mark, in a group that shows its fact and sends its name and value on a press."""
        if self.fact is None and self.send is None:
            self.draw(pen)
            return
        with pen.svg.told(str(self.fact or ""), self.send):
            self.draw(pen)


Point = tuple[float, float]
"""A value of x and a value of y."""


# -- staircases over the moments of a step ------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Area(Mark):
    """The area between two curves, which have a value for each moment: an operation, or a span of
    time."""

    low: Floats
    high: Floats
    paint: Paint
    edge: float = 0.8
    fact: Fact | None = None
    send: Send | None = None

    def outline(self) -> Mark:
        return Stairs(self.high, "before")

    def draw(self, pen: Pen) -> None:
        if d := pen.frame.area(self.low, self.high):
            pen.svg.fill(d, self.paint, self.edge)

    def on(self, axes: Any) -> None:
        edges = _boundaries(axes, len(self.high))
        low, high = (np.append(curve, curve[-1]) for curve in (self.low, self.high))
        axes.fill_between(edges, low, high, step="post", **area_style(self.paint))


@dataclass(frozen=True, eq=False)
class Stairs(Mark):
    """The edge of a curve that has a value for each moment; ``look`` is the CSS class of the line.
    With a ``ridge`` it is drawn only where the curve is above that value."""

    curve: Floats
    look: str = "rule"
    ridge: float | None = None
    width: float | None = None
    opacity: float | None = None
    fact: Fact | None = None

    def draw(self, pen: Pen) -> None:
        frame = pen.frame
        d = frame.outline(self.curve) if self.ridge is None else frame.ridge(self.curve, self.ridge)
        pen.svg.path(d, class_=self.look, opacity=self.opacity, stroke_width=self.width)

    def outline(self) -> Mark:
        return Stairs(self.curve, "before", self.ridge)

    def on(self, axes: Any) -> None:
        edges = _boundaries(axes, len(self.curve))
        axes.stairs(self.curve, edges, baseline=None, **line_style(self.look))


def _boundaries(axes: Any, moments: int) -> Floats:
    """Return the values of x at the boundaries between moments, which fill the whole axis."""
    first, last = axes.get_xlim()
    return np.linspace(float(first), float(last), moments + 1)


# -- lines and points ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Line(Mark):
    """Straight pieces from point to point. ``look`` is the CSS class of the line, or the number of
    an alternative for its colour; ``dashed`` gives it the dashes of that alternative too."""

    points: Sequence[Point]
    look: str | int = "rule"
    dashed: bool = False
    width: float | None = None
    fact: Fact | None = None

    def draw(self, pen: Pen) -> None:
        places = [(pen.x(x), pen.y(y)) for x, y in self.points]
        d = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        look = self.look
        if isinstance(look, str):
            pen.svg.path(d, class_=look, fill="none", stroke_width=self.width)
            return
        pen.svg.path(d, stroke=theme.alternative_symbol(look)[1], stroke_width=self.width or 1.8,
                     stroke_dasharray=self._dashes or None, fill="none")  # fmt: skip

    @property
    def _dashes(self) -> str:
        """The dashes of the alternative; empty for a solid line."""
        index = self.look if isinstance(self.look, int) and self.dashed else 0
        return theme.DASHES[index % len(theme.DASHES)]

    def takes(self, pen: Pen) -> Iterator[Box]:
        places = [(pen.x(x), pen.y(y)) for x, y in self.points]
        for (x, y), (x1, y1) in pairwise(places):
            count = int(max(abs(x1 - x), abs(y1 - y)) // 6)
            for share in (part / max(count, 1) for part in range(count + 1)):
                at, down = x + share * (x1 - x), y + share * (y1 - y)
                yield Box(at - 1, down - 1, at + 1, down + 1)

    def on(self, axes: Any) -> None:
        xs, ys = zip(*self.points, strict=True)
        axes.plot(xs, ys, **line_style(self.look, self._dashes))


@dataclass(frozen=True, eq=False)
class Points(Mark):
    """Points with one look: the number of an alternative, ``"dot"``, ``"hollow"`` or ``"ring"``;
    ``size`` is their diameter in pixels. Many dots are one path: a picture of hundreds stays
    small."""

    points: Sequence[Point]
    look: str | int = "dot"
    size: float = 7.2
    fact: Fact | None = None
    send: Send | None = None

    def draw(self, pen: Pen) -> None:
        places = [(pen.x(x), pen.y(y)) for x, y in self.points]
        if self.look == "dot" and len(places) > 1:
            d = "".join(f"M{x:.1f} {y:.1f}h0" for x, y in places)
            pen.svg.path(d, class_="rule", stroke_width=self.size, stroke_linecap="round")
            return
        for x, y in places:
            symbol(pen.svg, self.look, x, y, self.size)

    def outline(self) -> Mark:
        return replace(self, look="hollow", fact=None, send=None)

    def takes(self, pen: Pen) -> Iterator[Box]:
        half = self.size / 2 + 1
        for x, y in ((pen.x(x), pen.y(y)) for x, y in self.points):
            yield Box(x - half, y - half, x + half, y + half)

    def on(self, axes: Any) -> None:
        xs, ys = zip(*self.points, strict=True)
        axes.scatter(xs, ys, zorder=3, clip_on=False, **point_style(self.look, self.size))


def symbol(svg: Svg, look: str | int, x: float, y: float, size: float = 7.2) -> None:
    """Draw one point at a place of the picture, in pixels.

    Args:
        svg: picture.
        look: number of an alternative, ``"dot"``, ``"hollow"`` or ``"ring"``.
        x: middle of the point.
        y: middle of the point.
        size: diameter of a dot or a ring; symbols of alternatives have one size.
    """
    if isinstance(look, int):
        shape, colour, full = theme.alternative_symbol(look)
        place = f"translate({x:.1f} {y:.1f})"
        fill = {"fill": colour} if full else {"class_": "hollow"}
        svg.path(theme.SHAPES[shape], stroke=colour, stroke_width=1.6, transform=place, **fill)
        return
    kinds: dict[str, dict[str, Any]] = {
        "dot": {},
        "hollow": {"class_": "hollow pole"},
        "ring": {"class_": "rule", "stroke_width": 1.4},
    }
    svg.add("circle", cx=x, cy=y, r=size / 2, **kinds[look])


# -- rectangles ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rect(Mark):
    """A rectangle from ``x0`` to ``x1`` and from ``y0`` to ``y1``: a bar, a block, a cell.

    ``look`` is a paint that fills it, or the CSS class of its edge. ``inset`` pixels are kept free
    on each side. ``thick`` is its height in pixels, around the middle of ``y0`` and ``y1``. No
    label may cover a ``solid`` one.
    """

    x0: float
    x1: float
    y0: float
    y1: float
    look: Paint | str = "rule"
    inset: float = 0
    thick: float | None = None
    radius: float | None = None
    edge: float = 0.8
    solid: bool = False
    fact: Fact | None = None
    send: Send | None = None

    def box(self, pen: Pen) -> Box:
        """Return the rectangle in pixels."""
        left, top, right, bottom = pen.place(self.x0, self.x1, self.y0, self.y1)
        if self.thick is not None:
            middle = (top + bottom) / 2
            top, bottom = middle - self.thick / 2, middle + self.thick / 2
        gap = self.inset
        return Box(left + gap, top + gap, right - gap, bottom - gap)

    def draw(self, pen: Pen) -> None:
        box = self.box(pen)
        if isinstance(self.look, Paint):
            pen.svg.fill(box_path(box), self.look, self.edge)
        elif self.look == "target":  # invisible: only the pointer finds it
            pen.svg.rect(box, fill="transparent")
        else:
            pen.svg.rect(box, class_=self.look, rx=self.radius)

    def takes(self, pen: Pen) -> Iterator[Box]:
        if self.solid:
            yield self.box(pen)

    def on(self, axes: Any) -> None:
        from matplotlib.patches import Rectangle

        if self.look == "target":
            return
        style = area_style(self.look) if isinstance(self.look, Paint) else edge_style(self.look)
        tall = abs(self.y1 - self.y0) * (1 if self.thick is None else 0.7)
        low = min(self.x0, self.x1), (self.y0 + self.y1 - tall) / 2
        axes.add_patch(Rectangle(low, abs(self.x1 - self.x0), tall, **style))


@dataclass(frozen=True, eq=False)
class Rects(Mark):
    """Many rectangles of one look as one shape; each is ``(x0, x1, y0, y1)``. With ``bar`` only a
    strip at the left edge of each is drawn, so many pixels wide, at most a third of it."""

    places: Sequence[tuple[float, float, float, float]]
    look: Paint | str = "rule"
    inset: float = 0
    edge: float = 0.8
    bar: float | None = None
    fact: Fact | None = None

    def draw(self, pen: Pen) -> None:
        if not self.places:
            return
        d = "".join(
            f"M{x0:.1f} {y0:.1f}H{x1:.1f}V{y1:.1f}H{x0:.1f}Z" for x0, y0, x1, y1 in self._boxes(pen)
        )
        if isinstance(self.look, Paint):
            pen.svg.fill(d, self.look, self.edge)
        else:
            pen.svg.path(d, class_=self.look)

    def _boxes(self, pen: Pen) -> list[tuple[float, float, float, float]]:
        """Return left, top, right and bottom of every rectangle in pixels, computed as arrays."""
        ends = [np.array(values, np.float64) for values in zip(*self.places, strict=True)]
        (x0, x1), (y0, y1), gap = map(pen.x, ends[:2]), map(pen.y, ends[2:]), self.inset
        left, top = np.minimum(x0, x1) + gap, np.minimum(y0, y1) + gap
        right, bottom = np.maximum(x0, x1) - gap, np.maximum(y0, y1) - gap
        if self.bar is not None:
            right = left + np.minimum(self.bar, (right - left) / 3)
        edges = (left, top, right, bottom)
        return list(zip(*(values.tolist() for values in edges), strict=True))

    def on(self, axes: Any) -> None:
        for place in self.places if self.bar is None else ():
            Rect(*place, look=self.look).on(axes)


# -- rules, brackets, shapes --------------------------------------------------------------------


@dataclass(frozen=True)
class Rule(Mark):
    """A line at one value of ``x`` or of ``y``, over the whole chart or over a ``span`` of the
    other scale.

    It reaches ``above`` and ``below`` the frame by so many pixels. Labels may stand on it where it
    is ``crossed``.
    """

    x: float | None = None
    y: float | None = None
    span: Point | None = None
    look: str = "grid"
    above: float = 0
    below: float = 0
    width: float | None = None
    dashes: str | None = None
    opacity: float | None = None
    crossed: bool = False
    fact: Fact | None = None

    def ends(self, pen: Pen) -> tuple[float, float, float, float]:
        """Return x and y of its two ends in pixels."""
        if self.x is not None:
            low, high = (
                (pen.y(end) for end in self.span) if self.span else (pen.box.bottom, pen.box.top)
            )
            x = pen.x(self.x)
            return x, high - self.above, x, low + self.below
        left, right = (
            (pen.x(end) for end in self.span) if self.span else (pen.box.left, pen.box.right)
        )
        y = pen.y(self.y)
        return left - self.below, y, right + self.above, y

    def draw(self, pen: Pen) -> None:
        pen.svg.line(
            *self.ends(pen),
            class_=self.look,
            stroke_width=self.width,
            stroke_dasharray=self.dashes,
            opacity=self.opacity,
        )

    def takes(self, pen: Pen) -> Iterator[Box]:
        if not self.crossed and self.look not in ("grid", "faint"):
            left, top, right, bottom = self.ends(pen)
            yield Box(left - 1, min(top, bottom) - 1, right + 1, max(top, bottom) + 1)

    def on(self, axes: Any) -> None:
        style = line_style(self.look, self.dashes or "")
        if self.x is not None:
            low, high = self.span or axes.get_ylim()
            axes.plot([self.x, self.x], [low, high], **style)
        else:
            low, high = self.span or axes.get_xlim()
            axes.plot([low, high], [self.y, self.y], **style)


@dataclass(frozen=True, eq=False)
class Path(Mark):
    """Points joined to one line or, ``closed``, to one area."""

    points: Sequence[Point]
    look: Paint | str = "rule"
    closed: bool = True
    fact: Fact | None = None

    def draw(self, pen: Pen) -> None:
        d = "M" + "L".join(f"{pen.x(x):.1f} {pen.y(y):.1f}" for x, y in self.points)
        pen.svg.style(self.look, d + "Z" * self.closed)

    def on(self, axes: Any) -> None:
        xs, ys = zip(*[*self.points, *self.points[: self.closed]], strict=True)
        if isinstance(self.look, Paint):
            axes.fill(xs, ys, **area_style(self.look))
        else:
            axes.plot(xs, ys, **line_style(self.look))


@dataclass(frozen=True)
class Glyph(Mark):
    """A shape of fixed size at a value: ``d`` is its SVG path around the origin, in pixels;
    ``marker`` is the matplotlib marker instead of it. Without a class in ``look`` it is filled."""

    x: float
    y: float
    d: str
    look: str | None = None
    marker: str = "v"
    dx: float = 0
    dy: float = 0
    width: float | None = None
    fact: Fact | None = None

    def draw(self, pen: Pen) -> None:
        place = f"translate({pen.x(self.x) + self.dx:.1f} {pen.y(self.y) + self.dy:.1f})"
        pen.svg.path(self.d, class_=self.look, stroke_width=self.width, transform=place)

    def on(self, axes: Any) -> None:
        axes.scatter([self.x], [self.y], marker=self.marker, color=ink(), zorder=4, clip_on=False)


TOOTH = 8
"""Width in pixels of a tooth of an open edge."""


@dataclass(frozen=True)
class OpenEdge(Mark):
    """Teeth along a side of the frame, the sign that something goes on beyond the axis.

    They reach from the value ``first`` to ``last``: values of x along the ``"top"`` or
    ``"bottom"``, of y along the ``"right"`` side. ``at`` is the value of the other scale at which
    they stand if not at the side.
    """

    first: float
    last: float
    side: str = "top"
    at: float | None = None

    def draw(self, pen: Pen) -> None:
        along, across = (pen.y, pen.x) if self.side == "right" else (pen.x, pen.y)
        edge = getattr(pen.box, self.side) if self.at is None else float(across(self.at))
        low, high = sorted((float(along(self.first)), float(along(self.last))))
        count = max(round((high - low) / TOOTH), 1)
        ends = [low + (high - low) * at / count for at in range(count + 1)]
        deep = edge + (TOOTH if self.side == "top" else -TOOTH) * 0.75
        tips = [((a + b) / 2, deep) for a, b in pairwise(ends)]
        teeth = [
            point for end, tip in zip(ends, tips, strict=False) for point in ((end, edge), tip)
        ]
        places = [*teeth, (high, edge)]
        corners = [(y, x) for x, y in places] if self.side == "right" else places
        d = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in corners)
        pen.svg.path(f"{d}Z", class_="page")
        pen.svg.path(d, class_="rule thin")

    def on(self, axes: Any) -> None:
        """Draw nothing: matplotlib cuts at the end of its axis."""


CROSS = "M-8-8L8 8M-8 8L8-8"
DOWN, UP = "M-5-8h10l-5 8Z", "M-5 8h10l-5-8Z"
"""Triangles whose tip is at the origin."""


@dataclass(frozen=True)
class Press(Mark):
    """An invisible rectangle that takes presses: a press sends ``name`` and the index of the one of
    ``steps`` equal parts, from left to right, that was pressed. Without a ``place`` it covers
    the chart."""

    name: str
    steps: int
    place: tuple[float, float, float, float] | None = None
    below: float = 0

    def draw(self, pen: Pen) -> None:
        box = pen.place(*self.place) if self.place else pen.box
        box = box._replace(bottom=box.bottom + self.below)
        pen.svg.rect(box, fill="transparent", data_send=self.name, data_steps=self.steps)

    def on(self, axes: Any) -> None:
        """Draw nothing: a figure takes no presses."""


@dataclass(frozen=True, eq=False)
class Group(Mark):
    """Several marks that are one mark; a subclass draws them together."""

    marks: Sequence[Mark]

    def takes(self, pen: Pen) -> Iterator[Box]:
        for mark in self.marks:
            yield from mark.takes(pen)

    def on(self, axes: Any) -> None:
        for mark in self.marks:
            mark.on(axes)


@dataclass(frozen=True)
class Lift(Mark):
    """An invisible rectangle by which a pointer drags something up or down from the level ``at``.
    Each move sends ``name`` and, in one text, ``value`` with the new level."""

    name: str
    value: str
    place: tuple[float, float, float, float]
    at: int
    send: Send | None = None

    def draw(self, pen: Pen) -> None:
        per = (pen.up.last - pen.up.first) / (pen.box.bottom - pen.box.top)
        pen.svg.rect(pen.place(*self.place), fill="transparent", data_lift=self.name,
                     data_value=self.value, data_at=self.at, data_per=f"{per:.6g}")  # fmt: skip

    def on(self, axes: Any) -> None:
        """Draw nothing: a figure takes no presses."""
