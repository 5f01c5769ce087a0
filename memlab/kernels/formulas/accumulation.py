"""A result is written, or added to what is there: how every kernel does it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memlab.moved import old_names


def write_or_add(array: Any, at: Any, value: Any, add: bool) -> None:
    """``array[at] = value``, or ``array[at] += value``."""
    if add:
        array[at] += value
    else:
        array[at] = value


def beginning(array: Any, at: Any, add: bool) -> Any:
    """What a sum begins with: what is there, or 0. Compiled for a processor, it is in fp64."""
    return array[at] if add else 0


if not TYPE_CHECKING:  # a checker of types sees the new names only
    __getattr__ = old_names(__name__)
