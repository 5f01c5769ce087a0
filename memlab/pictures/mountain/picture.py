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
    """A layer as it is drawn, with its name where there is room for it, and what it says."""

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
    """Slices from the bottom up, on an axis of bytes that ends at ``end``.

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
        """The upper edge of all."""
        return self.slices[-1].high

    @cached_property
    def dashed(self) -> list[Curve]:
        """The dashed curves, which no name should cross."""
        return [curve for curve in (self.before, self.counted) if curve is not None]

    @cached_property
    def sky(self) -> Curve:
        """The highest curve: over it there is nothing."""
        return self.top if self.before is None else np.maximum(self.top, self.before)

    def at(self, curve: Curve) -> float:
        """The place of the highest point of a curve, on the axis to the right."""
        return (int(curve.argmax()) + 0.5) * self.step

    # -- marks ------------------------------------------------------------------------------

    def stack(self) -> Iterator[Mark]:
        """The slices, a thin line around them, the thick one over those that stay."""
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
        """The dashed outline of what was before."""
        return [] if self.before is None else [Stairs(self.before, "before", self._ridge)]

    def small(self, svg: Svg, box: Box) -> None:
        """Draw it into a few pixels of a picture, without names."""
        pen = Pen(svg, box, Scale(0, len(self.top)), Scale(0, self.end))
        for mark in (*self.stack(), *self.previous):
            mark.draw(pen)

    @property
    def _ridge(self) -> float | None:
        return 0 if self.time else None

    def peak(self, nbytes: int, name: str = "", **given: Any) -> Iterator[Mark]:
        """A dot on the peak with its name; where that is above the axis, how much it is."""
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
        """A level line for each limit with its name, and the names of those above the axis. Budgets
        are dotted; the ``heavy`` one is what the picture is about."""
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
        """The name of each slice where it is thickest; on a chip it may cross a dashed curve."""
        for stage in self.slices:
            if stage.name:
                spot = middle(stage.low, stage.high, self.step)
                finders = [thickest(stage.low, stage.high, self.dashed)]
                finders += [thickest(stage.low, stage.high)] * (stage.chip and bool(self.dashed))
                yield Name(stage.name, [spot], stage.size, chip=stage.chip, finders=finders)

    def was(self, name: str) -> Iterator[Name]:
        """The name of what was before, near its peak."""
        if self.before is not None:
            spot = self.at(self.before), float(self.before.max())
            around = near(*spot, [self.top, *self.dashed])
            yield Name(name, [(*spot, "end", -4, -4)], 11, chip=True, finders=[around])

    def key(self, tall: float = inf) -> Iterator[tuple[Paint, str]]:
        """The slices, for those without room for a name: all of them, or those that can be seen in
        so many pixels."""
        for stage in self.slices:
            if stage.name and (stage.high - stage.low).max() >= self.end / tall:
                yield stage.paint, stage.name


def phases(backward: float, end: float, dy: float = -14) -> Iterator[Mark]:
    """Brackets over forward and backward, so many pixels below the top of the frame."""
    spans = {Phase.FORWARD: (0, backward), Phase.BACKWARD: (backward, end)}
    for phase, span in spans.items():
        yield Bracket(strings.get(f"phase.{phase}"), *span, dy)


def torn(curve: Curve, end: float, step: float, side: str = "top") -> Iterator[Mark]:
    """Teeth where a curve goes on beyond the end of the axis."""
    for first, last in runs(curve > end):
        yield OpenEdge(first * step, last * step, side)


def waiting(curve: Curve) -> Mark:
    """The host's memory, whose maps wait, below the device's."""
    return Area(-curve, np.zeros(len(curve)), IDLE)
