"""Write a result or add it to the value that is there: two helpers of every kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memlab.moved import old_names


def write_or_add(array: Any, at: Any, value: Any, add: bool) -> None:
    """Set ``array[at] = value``, or ``array[at] += value`` where ``add`` is true."""
    if add:
        array[at] += value
    else:
        array[at] = value


def initial_sum(array: Any, at: Any, add: bool) -> Any:
    """Initial value of a sum: ``array[at]`` where ``add`` is true, else 0. Compiled for a
    processor, the sum is in fp64."""
    return array[at] if add else 0


if not TYPE_CHECKING:  # a checker of types sees the new names only
    __getattr__ = old_names(__name__)
