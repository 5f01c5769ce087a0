"""Every page that a view can show, for the tests that hold for all of them.

A new view adds its cases here: a name, and a function that makes the view. A view whose factory
needs no argument is found without one.
"""

from collections.abc import Callable
from typing import Any

CASES: dict[str, dict[str, Callable[[], Any]]] = {}
"""Of each public factory of ``memlab.views``, by its name: what is shown, and how it is made."""


def case(factory: str, name: str) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """The function that is decorated makes a view of that factory."""

    def add(make: Callable[[], Any]) -> Callable[[], Any]:
        CASES.setdefault(factory, {})[name] = make
        return make

    return add
