"""See ``memlab.views.draw.text``."""

from memlab.views.draw.text import (
    Line,
    fitted,
    flow,
    shortened,
    width,
    wrap,
)

__all__ = [
    "Line",
    "fitted",
    "flow",
    "shortened",
    "width",
    "wrap",
]
