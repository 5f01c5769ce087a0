"""A result is written, or added to what is there: the one way in which every kernel does it."""

from __future__ import annotations

from typing import Any


def put(array: Any, at: Any, value: Any, add: bool) -> None:
    """``array[at] = value``, or ``array[at] += value``."""
    array[at] = array[at] + value if add else value
