"""A mark for each of several ways: shape, colour and filling, so that none needs its colour."""

from __future__ import annotations

from memlab.views import extents
from memlab.views.svg import Svg

SIZE = 5
SHAPES = {
    "circle": "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0Z",
    "square": "M-3.6-3.6h7.2v7.2h-7.2Z",
    "triangle": "M0-4.6L4.5 3.4H-4.5Z",
    "diamond": "M0-5L5 0L0 5L-5 0Z",
    "wedge": "M0 4.6L4.5-3.4H-4.5Z",
}
LOOKS = (
    ("circle", "#0072B2", True), ("square", "#D55E00", True), ("triangle", "#009E73", True),
    ("diamond", "#E69F00", True), ("circle", "#CC79A7", False), ("square", "#56B4E9", False),
    ("triangle", "#999999", False), ("diamond", "#0072B2", False), ("wedge", "#D55E00", True),
    ("wedge", "#009E73", False),
)  # fmt: skip
"""Shape, colour, filled."""


def draw(svg: Svg, index: int, x: float, y: float) -> None:
    """The mark of the way with that number."""
    shape, colour, filled = LOOKS[index % len(LOOKS)]
    look = {"fill": colour} if filled else {"class_": "hollow"}
    place = f"translate({x:.1f} {y:.1f})"
    svg.path(SHAPES[shape], stroke=colour, stroke_width=1.6, transform=place, **look)


def key(names: list[str], wide: float) -> list[list[tuple[str, float]]]:
    """Names in lines with room for a mark before each; with every name its left end."""
    lines: list[list[tuple[str, float]]] = [[]]
    left = 0.0
    for name in names:
        room = extents.width(name, 12) + 36
        if left + room > wide and lines[-1]:
            lines.append([])
            left = 0.0
        lines[-1].append((name, left))
        left += room
    return lines
