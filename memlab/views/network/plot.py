"""The upper picture: the stack of bytes over the operations of one step."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from memlab import strings
from memlab.views import axis, extents
from memlab.views.network.layout import LEFT, Layout
from memlab.views.network.rows import Rows
from memlab.views.paths import Floats, Frame
from memlab.views.place import Board
from memlab.views.roles import STACK
from memlab.views.svg import Box, Svg, text_box

TICK = 12
"""From the number of a level to the plot: the guess stands between them."""


@dataclass
class Plot:
    """A picture under construction, its rows, its frame, and what is taken on it."""

    svg: Svg
    rows: Rows
    layout: Layout
    frame: Frame
    board: Board = field(default_factory=Board)
    stack: list[tuple[Floats, Floats]] = field(default_factory=list)
    lines: list[Floats] = field(default_factory=list)
    """Dashed curves, which no name of a slice should cross."""

    @property
    def right(self) -> float:
        """The right edge of the frame."""
        return self.frame.box.right

    @property
    def top(self) -> float:
        """The upper edge of the frame."""
        return self.frame.box.top

    @property
    def bottom(self) -> float:
        """The lower edge of the frame."""
        return self.frame.box.bottom

    @property
    def torn(self) -> bool:
        """The mountain goes on above the frame."""
        return self.rows.peak.nbytes > self.frame.end

    def crossed(self, box: Box) -> bool:
        """The edge of the mountain, or a dashed curve, runs through a place."""
        left = int(max(box.left - LEFT - 3, 0))
        columns = slice(left, left + int(box.right - box.left) + 6)
        edges = [edge[columns] for edge in (self.ground, *self.dashes)]
        return any((e > box.top - 2).any() and (e < box.bottom + 2).any() for e in edges)

    @cached_property
    def ground(self) -> Floats:
        """The y of the mountain in every column: the sky is above it."""
        return self.frame.columns(self.rows.curve)

    @cached_property
    def dashes(self) -> list[Floats]:
        """The y of the dashed curves in every column."""
        return [self.frame.columns(line) for line in self.lines]

    def middle(self, operation: int) -> float:
        """The x of the middle of an operation."""
        return self.frame.x(operation + 0.5)


def draw(svg: Svg, rows: Rows, layout: Layout) -> Plot:
    """Bands, levels, numbers and the stack."""
    frame = Frame(layout.plot, rows.source.operations, rows.scales.plot.end)
    plot = Plot(svg, rows, layout, frame, stack=bounds(rows))
    _bands(plot)
    _levels(plot)
    _numbers(plot)
    _stack(plot)
    return plot


def bounds(rows: Rows) -> list[tuple[Floats, Floats]]:
    """The lower and the upper edge of every slice of the stack, in bytes."""
    edge = np.zeros(rows.source.operations)
    found = []
    for look in STACK:
        line = rows.source.lines[look].astype(np.float64)
        higher = edge + line * (rows.batch if look.grows else 1)
        found.append((edge, higher))
        edge = higher
    return found


def _bands(plot: Plot) -> None:
    """The parts of a step as brackets with their names."""
    svg, frame, y, taken = plot.svg, plot.frame, plot.layout.bands, Board()
    for phase, first, last in plot.rows.source.bands:
        left, right = frame.x(first) + 0.7, frame.x(last + 1) - 0.7
        bracket = f"M{left:.1f} {y + 9}V{y + 5}H{right:.1f}V{y + 9}"
        svg.path(bracket, class_="rule", opacity=0.7)
        name, at = strings.get(f"phase.{phase}"), (left + right) / 2
        if taken.first([text_box(at, y, name, 12, "middle")], 2):
            svg.text(at, y, name, 12, "middle")
        if first:
            svg.line(frame.x(first), plot.top, frame.x(first), plot.bottom, class_="grid")


def _levels(plot: Plot) -> None:
    """Levels of bytes, each with its number."""
    for nbytes, name in plot.rows.scales.plot.ticks:
        y = plot.frame.y(nbytes)
        plot.svg.line(LEFT, y, plot.right, y, class_="grid")
        plot.svg.text(LEFT - TICK, y + 4, name, 11, "end")


def _numbers(plot: Plot) -> None:
    """The numbers of operations; the last one has precedence."""
    numbers, taken = axis.counts(plot.frame.operations), Board()
    for number in (numbers[-1], *numbers[:-1]):
        x, name = plot.middle(number - 1), f"{number:,}"
        half = extents.width(name, 11) / 2
        at = min(x, plot.layout.width - 1 - half)
        if taken.first([text_box(at, plot.bottom + 16, name, 11, "middle")], 4):
            plot.svg.text(at, plot.bottom + 16, name, 11, "middle")
            plot.svg.line(x, plot.bottom, x, plot.bottom + 4, class_="rule", opacity=0.5)


def _stack(plot: Plot) -> None:
    """The slices, a thin line around them, the thick one over those that stay, the one before."""
    svg, frame, rows = plot.svg, plot.frame, plot.rows
    for look, (low, high) in zip(STACK, plot.stack, strict=True):
        if d := frame.area(low, high):
            svg.fill(d, look.paint)
    svg.path(frame.outline(rows.curve), class_="rule", opacity=0.75, stroke_width=0.9)
    svg.path(frame.outline(rows.source.floor.astype(np.float64)), class_="limit")
    svg.line(LEFT, plot.bottom, plot.right, plot.bottom, class_="rule", opacity=0.5)
    if rows.outline is not None:
        svg.path(frame.outline(rows.outline.curve), class_="before")
        plot.lines.append(rows.outline.curve)
    if plot.torn:
        _tear(plot)


def _tear(plot: Plot) -> None:
    """A torn edge: what is drawn goes on above it."""
    xs = range(LEFT, int(plot.right) + 1, 6)
    points = [f"{x} {plot.top + (4.5 if index % 2 else -1.5)}" for index, x in enumerate(xs)]
    line = "M" + "L".join(points)
    plot.svg.path(f"{line}V{plot.top - 4}H{LEFT}Z", class_="page")
    plot.svg.path(line, class_="rule", opacity=0.7)
