"""Threads on which libraries of this process compute; a web page has neither such libraries nor the
package that finds them."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any


class NoPools:
    """Control of no library, with the methods of threadpoolctl's."""

    def info(self) -> list[dict[str, Any]]:
        """Return the descriptions of the libraries: none."""
        return []

    def limit(self, **limits: object) -> AbstractContextManager[object]:
        """Return a context in which nothing is limited."""
        return nullcontext()


thread_pools: Any = NoPools
"""Class of the control of the libraries that are loaded when it is made."""

try:
    from threadpoolctl import ThreadpoolController

    thread_pools = ThreadpoolController
except ModuleNotFoundError:
    pass
