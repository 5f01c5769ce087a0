"""The mark on blocks that are cheap to make again: a turning arrow."""

from __future__ import annotations

from memlab.views.addresses.chart import BAR, Chart
from memlab.views.svg import Box, Svg

LARGEST, SMALLEST = 4.5, 2.0
"""The radius of the arrow; a block that has no room for the smallest has none."""


def draw(chart: Chart) -> None:
    """An arrow at the left edge of each; no name may cover it."""
    for row in (row for row in chart.shown if row.name in chart.packed.source.cheap):
        left, top, right, bottom = chart.box(row)
        radius = min(LARGEST, (bottom - top) / 2 - 1.2)
        if radius >= SMALLEST and right - left > BAR + 4 * LARGEST:
            arrow(chart.svg, left + BAR + 4 + radius, (top + bottom) / 2, radius)
            chart.taken.take(Box(left, top, left + BAR + 6 + 2 * radius, bottom))


def arrow(svg: Svg, x: float, y: float, radius: float) -> None:
    """Three quarters of a circle that end in a point."""
    point = radius * 0.55
    ring = f"M{x:.1f} {y - radius:.1f}A{radius:.1f} {radius:.1f} 0 1 0 {x + radius:.1f} {y:.1f}"
    svg.path(ring, class_="rule", stroke_width=1.3)
    top = y - radius
    svg.path(f"M{x - 0.3:.1f} {top - point:.1f}v{2 * point:.1f}l{1.6 * point:.1f} {-point:.1f}Z")
