"""Bars by where their figures come from: planned is filled, measured dotted, a guess hollow.

No colour is needed to tell them apart, and none of a role is used.
"""

from __future__ import annotations

from memlab.views.roles import Paint
from memlab.views.svg import Box, Svg, box_path

GUESS = "guess"
"""The origin of a bar that neither a plan nor a run stands behind."""
PLANNED = Paint("currentColor", 0.20)
MEASURED = Paint("currentColor", 0.04, "dots")
TALL, PITCH = 16, 26


def draw(svg: Svg, box: Box, origin: str) -> None:
    """One bar; its label says more than planned or not."""
    if origin == GUESS:
        svg.rect(box, class_="before", fill="none")
    elif not origin:  # given by the question
        svg.rect(box, class_="rule")
    else:
        svg.fill(box_path(box), PLANNED if origin == "planned" else MEASURED)
