"""The mark on blocks that are cheap to make again: a turning arrow, dots where a block is low."""

from __future__ import annotations

from memlab.views.addresses.chart import BAR, Chart
from memlab.views.svg import Box, Svg

LARGEST, SMALLEST = 4.5, 2.0
"""The radius of the arrow."""
LOWEST = 2.2
"""A block that is lower has no mark, in pixels."""
WIDE = 14
"""The width of either mark."""


def draw(chart: Chart) -> None:
    """A mark at the left edge of each; no name may cover it."""
    for row in (row for row in chart.shown if row.name in chart.packed.source.cheap):
        left, top, right, bottom = chart.box(row)
        x, y = left + BAR + 3, (top + bottom) / 2
        if bottom - top < LOWEST or right - x < WIDE:
            continue
        radius = min(LARGEST, (bottom - top) / 2 - 1.2)
        if radius < SMALLEST:
            dots(chart.svg, x, y)
        else:
            arrow(chart.svg, x + 1 + radius, y, radius)
            chart.taken.take(Box(left, top, x + WIDE, bottom))


def arrow(svg: Svg, x: float, y: float, radius: float) -> None:
    """Three quarters of a circle that end in a point."""
    top, point = y - radius, radius * 0.55
    ring = f"M{x:.1f} {top:.1f}A{radius:.1f} {radius:.1f} 0 1 0 {x + radius:.1f} {y:.1f}"
    svg.path(ring, class_="rule", stroke_width=1.3)
    svg.path(f"M{x - 0.3:.1f} {top - point:.1f}v{2 * point:.1f}l{1.6 * point:.1f} {-point:.1f}Z")


def dots(svg: Svg, x: float, y: float) -> None:
    """Three dots in a row."""
    svg.path(
        f"M{x:.1f} {y:.1f}h{WIDE - 4}", class_="rule", stroke_width=1.6, stroke_dasharray="2 2"
    )
