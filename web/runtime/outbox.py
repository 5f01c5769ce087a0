"""Messages from Python to the page, one JSON text each: ``web/page/worker.js`` lists the kinds."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

Message = dict[str, Any]


class Outbox:
    """Way to the page: a function that takes the text of a message. Before a worker sets it,
    messages are kept, which is what tests read."""

    def __init__(self) -> None:
        self.kept: list[Message] = []
        self.deliver: Callable[[str], object] | None = None

    def post(self, kind: str, **content: Any) -> None:
        """Send a message of a kind."""
        message = {"kind": kind, **content}
        if self.deliver is None:
            self.kept.append(message)
        else:
            self.deliver(_text(message))


def _text(message: Message) -> str:
    """Return a message as JSON, in which a number that is not finite is null."""
    try:
        return json.dumps(message, default=_plain, allow_nan=False)
    except ValueError:  # JSON of a browser has no word for such a number
        plain = json.loads(json.dumps(message, default=_plain), parse_constant=lambda _: None)
        return json.dumps(plain)


def _plain(value: Any) -> Any:
    """Return a value that JSON has no word for as one that it has: NumPy's numbers, a set, a
    fraction."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return sorted(value) if isinstance(value, set | frozenset) else str(value)


outbox = Outbox()
post = outbox.post
