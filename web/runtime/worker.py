"""Beginning of Python in the worker of a page."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial

from web.runtime.notebook import Session
from web.runtime.outbox import outbox


def begin(
    deliver: Callable[[str], object],
) -> tuple[Callable[[str, str], None], ...]:
    """Return the functions that run a cell, take a widget's message as JSON text, and take another
    progress file.

    Args:
        deliver: sends the text of a message to the page.
    """
    outbox.deliver = deliver
    session = Session()
    session.begin()
    return session.run, partial(_receive, session), session.take_progress


def _receive(session: Session, model: str, text: str) -> None:
    session.receive(model, json.loads(text))
