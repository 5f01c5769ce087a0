"""What a picture shows that stands still, and a live one once something is sent."""

import json
from typing import Any

from memlab.pictures.draw.chart import Chart
from memlab.pictures.draw.table import SideBySide


def drawn(view: Any) -> list[str]:
    """The texts of the picture, in the order in which they are written."""
    return [label.content for label in view.page().svg().labels]


def charts(view: Any) -> list[Chart]:
    """The charts of the page, those beside each other from left to right."""
    found: list[Any] = []
    for block in view.page().blocks:
        found += [part for part, _ in block.parts] if isinstance(block, SideBySide) else [block]
    return [block for block in found if isinstance(block, Chart)]


def send(view: Any, *events: tuple[str, object], **named: object) -> Any:
    """What is shown after events of the browser, as pairs or by name; all of it is short JSON."""
    listed = [{"name": name, "value": value} for name, value in (*events, *named.items())]
    view._receive(view, {"number": 1, "events": listed}, [])
    assert len(json.dumps(view.now_)) < 100_000
    return view.now_["shown"]
