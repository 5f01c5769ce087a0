"""See ``memlab.views.draw.svg``."""

from memlab.views.draw.svg import (
    MARGIN,
    Box,
    Label,
    Svg,
    box_path,
    text_box,
)
from memlab.views.draw.text import Runs

__all__ = [
    "MARGIN",
    "Box",
    "Label",
    "Runs",
    "Svg",
    "box_path",
    "text_box",
]
