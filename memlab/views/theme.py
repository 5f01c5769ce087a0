"""See ``memlab.views.draw.theme``."""

from memlab.views.draw.theme import (
    GRID_INK,
    STYLE,
    pattern,
)

__all__ = [
    "GRID_INK",
    "STYLE",
    "pattern",
]
