"""A map under construction: its frame, and how blocks are filled."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from memlab.step.tensor import Role
from memlab.views.addresses.layout import Layout
from memlab.views.addresses.packed import Packed, Row
from memlab.views.addresses.rows import Rows
from memlab.views.addresses.window import Window
from memlab.views.paths import Frame
from memlab.views.place import Board
from memlab.views.roles import PAINTS, Paint
from memlab.views.svg import Box, Svg

KEPT = PAINTS[Role.FEATURE_MAP]
SHORT = Paint(KEPT.colour, 0.10, "dots")
SMALL = Paint("#888888", 0.75)
BAR = 4
"""The bar at the left edge of what is kept, in pixels."""


def paint(kind: str) -> Paint:
    """How a kind of block is filled."""
    return {"kept": KEPT, "short": SHORT}.get(kind) or PAINTS[Role(kind)]


@dataclass
class Chart:
    """One map with the strip above it; ``taken`` is where labels stand."""

    svg: Svg
    rows: Rows
    packed: Packed
    layout: Layout
    frame: Window
    strip: Frame
    index: int = 0
    taken: Board = field(default_factory=Board)

    @property
    def left(self) -> float:
        """The left edge of the frame."""
        return self.frame.box.left

    @property
    def right(self) -> float:
        """Its right edge."""
        return self.frame.box.right

    @property
    def gap(self) -> float:
        """What the toy's blocks keep free on each side."""
        return 1.0 if self.packed.source.toy else 0.0

    @property
    def hatch(self) -> str:
        """The pattern of free space."""
        return f"url(#{self.svg.key}-free)"

    @property
    def shown(self) -> list[Row]:
        """The drawn blocks that lie already."""
        return [row for row in self.packed.drawn if row.turn <= self.rows.turn]

    @cached_property
    def faulty(self) -> set[str]:
        """The blocks that overlap another one."""
        return {row.name for fault in self.packed.overlaps for row in (fault.first, fault.second)}

    @property
    def top(self) -> int:
        """The top of the blocks that lie already."""
        if self.rows.turn >= len(self.packed.rows):
            return self.packed.arena
        return max((r.top for r in self.packed.rows if r.turn <= self.rows.turn), default=0)

    def middle(self, operation: int) -> float:
        """The x of the middle of an operation."""
        return self.frame.x(operation + 0.5)

    def box(self, row: Row) -> Box:
        """Where a block is drawn."""
        first, last = row.block.birth, min(row.block.death, self.frame.operations - 1)
        return self.span(first, last, row.address, row.top)

    def span(self, first: int, last: int, low: int, high: int) -> Box:
        """The rectangle of some operations and some addresses."""
        f, gap = self.frame, self.gap
        return Box(f.x(first) + gap, f.y(high) + gap, f.x(last + 1) - gap, f.y(low) - gap)


def path(boxes: Iterable[Box]) -> str:
    """Rectangles as one closed path."""
    return "".join(
        f"M{left:.1f} {top:.1f}H{right:.1f}V{bottom:.1f}H{left:.1f}Z"
        for left, top, right, bottom in boxes
    )


def fill(svg: Svg, kinds: Sequence[tuple[str, Box]], edge: float = 0.8) -> None:
    """Rectangles by kind, on the page's colour; what is kept gets a bar at its left edge."""
    if not kinds:
        return
    svg.path(path(box for _, box in kinds), class_="page")
    for kind in dict.fromkeys(kind for kind, _ in kinds):
        boxes = [box for found, box in kinds if found == kind]
        svg.fill(
            path(boxes), SMALL if kind == "small" else paint(kind), 0 if kind == "small" else edge
        )
    bars = [_bar(box) for kind, box in kinds if kind == "kept"]
    if bars:
        svg.path(path(bars), fill=KEPT.colour)


def _bar(box: Box) -> Box:
    wide = min(BAR, (box.right - box.left) / 3)
    return Box(box.left, box.top, box.left + wide, box.bottom)
