"""Beginning of Python in the worker of a page."""

from __future__ import annotations

import json
from collections.abc import Callable

from web.runtime.notebook import Session
from web.runtime.outbox import outbox


def begin(
    deliver: Callable[[str], object],
) -> tuple[Callable[[str, str], None], Callable[[str, str], None]]:
    """Return the functions that run a cell and take a widget's message, as JSON text.

    Args:
        deliver: sends the text of a message to the page.
    """
    outbox.deliver = deliver
    session = Session()
    session.begin()
    return session.run, lambda model, text: session.receive(model, json.loads(text))
