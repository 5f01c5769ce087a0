"""What a picture that stands still shows."""

from typing import Any

from memlab.views.draw.chart import Chart
from memlab.views.draw.table import Beside


def drawn(view: Any) -> list[str]:
    """The texts of the picture, in the order in which they are written."""
    return [label.content for label in view.page().svg().labels]


def charts(view: Any) -> list[Chart]:
    """The charts of the page, those beside each other from left to right."""
    found: list[Any] = []
    for block in view.page().blocks:
        found += [part for part, _ in block.parts] if isinstance(block, Beside) else [block]
    return [block for block in found if isinstance(block, Chart)]
