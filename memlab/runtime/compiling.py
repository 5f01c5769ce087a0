"""How long Numba compiled, so that it is not taken for running time, and what it leaves behind."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass
class Compilations:
    """All compilations so far, in seconds."""

    seconds: float = 0.0


@contextmanager
def compilations(event: str) -> Iterator[Compilations]:
    """Those inside the ``with`` block; ``event`` is what Numba calls them.

    Numba handles errors of its own while it compiles. They stay in cycles, and with them the arrays
    of the kernel that is compiled, past their planned end: so what is left is collected at once.
    """
    from numba.core.event import Listener, install_listener

    found = Compilations()

    class Clock(Listener):
        """Compilations contain others: the outermost counts."""

        depth, begin = 0, 0.0

        def on_start(self, event: Any) -> None:
            if self.depth == 0:
                self.begin = time.perf_counter()
            self.depth += 1

        def on_end(self, event: Any) -> None:
            self.depth -= 1
            if self.depth == 0:
                gc.collect()
                found.seconds += time.perf_counter() - self.begin

    with install_listener(event, Clock()):
        yield found
