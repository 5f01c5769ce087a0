"""See ``memlab.views.draw.stairs``."""

from memlab.views.draw.stairs import (
    Floats,
    Frame,
)

__all__ = [
    "Floats",
    "Frame",
]
