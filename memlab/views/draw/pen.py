"""The base of marks: what draws, where values lie in pixels, and what a mark says of itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

from memlab import strings, units
from memlab.views.draw.board import Board
from memlab.views.draw.scale import Scale
from memlab.views.draw.stairs import Frame
from memlab.views.draw.svg import Box, Svg

Send = tuple[str, object]
"""What a press sends to Python: a name and a value."""


@dataclass(frozen=True, slots=True)
class Fact:
    """What a mark says on hover and focus: its name, formula, bytes, maker and last reader; what
    is empty is left out. ``more`` are further sentences."""

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
    """A chart under construction: where values lie in pixels, and what is taken."""

    svg: Svg
    box: Box
    across: Scale
    up: Scale
    board: Board = field(default_factory=Board)

    def x(self, value: Any) -> Any:
        """Where a value stands."""
        return self.box.left + (self.box.right - self.box.left) * self.across.at(value)

    def y(self, value: Any) -> Any:
        """How high a value stands."""
        return self.box.bottom - (self.box.bottom - self.box.top) * self.up.at(value)

    @cached_property
    def frame(self) -> Frame:
        """The same rectangle for staircases over operations."""
        return Frame(self.box, int(self.across.last), self.up.last)

    def place(self, x0: float, x1: float, y0: float, y1: float) -> Box:
        """The pixels of a rectangle of values."""
        left, right = sorted((self.x(x0), self.x(x1)))
        top, bottom = sorted((self.y(y0), self.y(y1)))
        return Box(left, top, right, bottom)


class Mark:
    """The base of all marks. A ``late`` one is drawn when all others are, clear of them."""

    fact: Fact | None = None
    send: Send | None = None
    late: ClassVar[bool] = False

    def draw(self, pen: Pen) -> None:
        """Write it to the pen's picture."""
        raise NotImplementedError

    def on(self, axes: Any) -> None:
        """Draw it on matplotlib's Axes, in the values of the scales."""
        raise NotImplementedError

    def takes(self, pen: Pen) -> Iterable[Box]:
        """The pixels that no label may cover."""
        return ()

    def outline(self) -> Mark:
        """What shows it where it is the state before: its edge, dashed."""
        return replace(self, look="before", fact=None)  # type: ignore[type-var]

    def lower(self, pen: Pen) -> None:
        """Draw it with its fact and what a press on it sends."""
        if self.fact is None and self.send is None:
            self.draw(pen)
            return
        with pen.svg.told(str(self.fact or ""), self.send):
            self.draw(pen)
