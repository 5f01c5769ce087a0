"""Registry of training loops: each case is a function that builds its models and optimizers and
returns ``(step, batch)``. ``step(batch)`` is the body of the loop as the pages of its library write
it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Loop = tuple[Callable[[Any], Any], Any]
"""A step and the batch that is given to it."""


@dataclass(frozen=True)
class LoopCase:
    """A training loop by its name and its library."""

    name: str
    library: str
    make: Callable[[], Loop]

    @property
    def title(self) -> str:
        """First line of the function's docstring."""
        return (self.make.__doc__ or "").strip().split("\n")[0].rstrip(".")


CASES: dict[str, LoopCase] = {}
"""All cases by name, in the order of the table."""


def loop(library: str) -> Callable[[Callable[[], Loop]], Callable[[], Loop]]:
    """Register a function as a case of a library, under the function's name."""

    def register(make: Callable[[], Loop]) -> Callable[[], Loop]:
        CASES[make.__name__] = LoopCase(make.__name__, library, make)
        return make

    return register
