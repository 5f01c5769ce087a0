"""See ``memlab.views.draw.label``."""

from memlab.views.draw.label import (
    Board,
)

__all__ = [
    "Board",
]
