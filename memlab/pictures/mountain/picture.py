"""The mountain, drawn: layers of bytes over the moments of a step, the same way in every picture.

Every picture of bytes by role over a step is made of these marks: the layers and their edge, the
thick line over the floor, the state before as a dashed outline, the peak, the limits that it is
held against, names where there is room for them, and a key of the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any

import numpy as np

from memlab import strings
from memlab.pictures.draw.labels import (
    Label,
    Name,
    aside,
    beside,
    beyond,
    middle,
    near,
    thickest,
)
from memlab.pictures.draw.labels import PhaseBracket as Bracket
from memlab.pictures.draw.marks import Area, Fact, Mark, OpenEdge, Pen, Points, Rule, Stairs
from memlab.pictures.draw.scale import Scale
from memlab.pictures.draw.staircases import runs
from memlab.pictures.draw.svg import Box, Svg
from memlab.pictures.draw.theme import IDLE, Paint
from memlab.pictures.mountain.layers import Curve
from memlab.step.op import Phase

ABOVE = -9
"""Height of the names of limits beyond the axis, in pixels below the top of the frame."""
DOTTED: dict[str, Any] = {"look": "rule", "width": 1.8, "dashes": "2 3"}
HEAVY: dict[str, Any] = {"look": "limit"}

DOWN = (-9.0, 12.0, -26.0, 22.0)
"""Places for the name of the peak, in pixels below it."""

Limit = tuple[str, int]
"""Its name and its bytes."""


@dataclass(frozen=True, eq=False)
class DrawnLayer:
    """Layer as it is drawn, with its name if there is space, and the fact that it shows."""

    low: Curve
    high: Curve
    paint: Paint
    name: str = ""
    fact: Fact | None = None
    size: float = 12
    chip: bool = True
    edge: float = 0.8


@dataclass(frozen=True, eq=False)
class Mountain:
    """Stack of layers from bottom to top, on an axis of bytes that ends at ``end``.

    A moment takes ``step`` on the axis to the right. ``ground`` is the upper edge of the floor,
    ``before`` the upper edge of all as it was, ``counted`` one more curve that is dashed. Over
    ``time`` the mountain may end before the axis does.
    """

    slices: Sequence[DrawnLayer]
    end: float
    ground: Curve | None = None
    before: Curve | None = None
    counted: Curve | None = None
    time: bool = False
    step: float = 1

    # -- curves -----------------------------------------------------------------------------

    @property
    def top(self) -> Curve:
        """Upper edge of the stack."""
        return self.slices[-1].high

    @cached_property
    def dashed(self) -> list[Curve]:
        """Dashed curves, which no name should cross."""
        return [curve for curve in (self.before, self.counted) if curve is not None]

    @cached_property
    def sky(self) -> Curve:
        """Highest curve, above which the plot is empty."""
        return self.top if self.before is None else np.maximum(self.top, self.before)

    def at(self, curve: Curve) -> float:
        """Return the horizontal position of the highest point of a curve."""
        return (int(curve.argmax()) + 0.5) * self.step

    # -- marks ------------------------------------------------------------------------------

    def stack(self) -> Iterator[Mark]:
        """Yield marks for the layers with a thin line around them, and a thick line above those
        that stay."""
        for stage in self.slices:
            yield Area(stage.low, stage.high, stage.paint, stage.edge, stage.fact)
        yield Stairs(self.top, "rule", self._ridge, opacity=0.75, width=0.9)
        if self.ground is not None:
            yield Stairs(self.ground, "limit", self._ridge)
        yield from torn(self.top, self.end, self.step)
        if self.counted is not None:
            yield Stairs(self.counted, "rule chosen")

    @property
    def previous(self) -> list[Mark]:
        """Return the dashed outline of the previous state."""
        return [] if self.before is None else [Stairs(self.before, "before", self._ridge)]

    def small(self, svg: Svg, box: Box) -> None:
        """Draw the stack into a small picture, without names."""
        pen = Pen(svg, box, Scale(0, len(self.top)), Scale(0, self.end))
        for mark in (*self.stack(), *self.previous):
            mark.draw(pen)

    @property
    def _ridge(self) -> float | None:
        return 0 if self.time else None

    def peak(self, nbytes: int, name: str = "", **given: Any) -> Iterator[Mark]:
        """Yield marks for a dot on the peak with its name. If the peak lies above the axis, its
        amount is written there."""
        at = self.at(self.top)
        if nbytes > self.end:
            yield beyond(at, self.end, nbytes)
            return
        yield Points([(at, nbytes)], **given)
        if name:
            sides = (("start", 9.0), ("end", -9.0), ("middle", 0.0))
            spots = [(at, nbytes, side, dx, dy) for dy in DOWN for side, dx in sides]
            yield Label(name, spots, 13, bold=True, chip=True, kept=True)

    def limits(self, limits: Sequence[Limit], heavy: bool = False) -> Iterator[Mark]:
        """Yield marks for a horizontal line with its name for each limit, and the names of the
        limits above the axis. Budgets are dotted; the ``heavy`` one is the subject of the
        picture."""
        last, look = self.step * len(self.top), HEAVY if heavy else DOTTED
        size = 12 if heavy else 11
        for name, nbytes in limits:
            if nbytes <= self.end:
                yield Rule(y=nbytes, **look)
                level = beside(nbytes, [self.top, *self.dashed])
                yield Name(name, [(last, nbytes, "end", -4, -5)], size, heavy, chip=True,
                           finders=[level])  # fmt: skip
        above = ", ".join(name for name, nbytes in limits if nbytes > self.end)
        if above:
            said, pole = strings.get("draw.above", names=above), self.at(self.top)
            yield Name(said, [(last, self.end, "end", 0, ABOVE)], size, heavy, dim=not heavy,
                       finders=[aside(pole, ABOVE)])  # fmt: skip

    # -- names ------------------------------------------------------------------------------

    def names(self) -> Iterator[Name]:
        """Yield the name of each layer where it is thickest. A name on a background may cross a
        dashed curve."""
        for stage in self.slices:
            if stage.name:
                spot = middle(stage.low, stage.high, self.step)
                finders = [thickest(stage.low, stage.high, self.dashed)]
                finders += [thickest(stage.low, stage.high)] * (stage.chip and bool(self.dashed))
                yield Name(stage.name, [spot], stage.size, chip=stage.chip, finders=finders)

    def was(self, name: str) -> Iterator[Name]:
        """Yield the name of the previous state, near its peak."""
        if self.before is not None:
            spot = self.at(self.before), float(self.before.max())
            around = near(*spot, [self.top, *self.dashed])
            yield Name(name, [(*spot, "end", -4, -4)], 11, chip=True, finders=[around])

    def key(self, tall: float = inf) -> Iterator[tuple[Paint, str]]:
        """Yield the layers that have no space for a name, for a legend: all of them, or those that
        are visible in ``tall`` pixels."""
        for stage in self.slices:
            if stage.name and (stage.high - stage.low).max() >= self.end / tall:
                yield stage.paint, stage.name


def phases(backward: float, end: float, dy: float = -14) -> Iterator[Mark]:
    """Yield marks for brackets above forward and backward, ``dy`` pixels below the top of the
    frame."""
    spans = {Phase.FORWARD: (0, backward), Phase.BACKWARD: (backward, end)}
    for phase, span in spans.items():
        yield Bracket(strings.get(f"phase.{phase}"), *span, dy)


def torn(curve: Curve, end: float, step: float, side: str = "top") -> Iterator[Mark]:
    """Yield marks for teeth where a curve continues beyond the end of the axis."""
    for first, last in runs(curve > end):
        yield OpenEdge(first * step, last * step, side)


def waiting(curve: Curve) -> Mark:
    """Return the mark of host memory, where maps wait, below the device's memory."""
    return Area(-curve, np.zeros(len(curve)), IDLE)
