"""A mark for each technique, by shape and filling, so that none needs its colour."""

from __future__ import annotations

from memlab.views.speed.marks import SHAPES
from memlab.views.svg import Svg

LOOKS = {
    "no_reuse": ("circle", "#999999", False),
    "plain": ("circle", "#0072B2", True),
    "in_place": ("square", "#D55E00", False),
    "placed": ("square", "#D55E00", True),
    "every": ("triangle", "#009E73", False),
    "cheap": ("wedge", "#56B4E9", False),
    "greedy": ("wedge", "#009E73", True),
    "slots": ("triangle", "#56B4E9", True),
    "within": ("triangle", "#009E73", True),
    "chain": ("triangle", "#009E73", True),
    "exact": ("diamond", "#CC79A7", False),
    "combined": ("diamond", "#E69F00", True),
}
"""Shape, colour, filled."""
SIZE = 5
MEASURED = "M-4-4L4 4M-4 4L4-4"


def draw(svg: Svg, key: str, x: float, y: float) -> None:
    """The mark of a technique as it is planned."""
    shape, colour, filled = LOOKS[key]
    look = {"fill": colour} if filled else {"class_": "hollow"}
    place = f"translate({x:.1f} {y:.1f})"
    svg.path(SHAPES[shape], stroke=colour, stroke_width=1.8, transform=place, **look)


def measured(svg: Svg, x: float, y: float) -> None:
    """A cross: what a run took."""
    place = f"translate({x:.1f} {y:.1f})"
    svg.path(MEASURED, stroke="currentColor", stroke_width=1.6, transform=place)
