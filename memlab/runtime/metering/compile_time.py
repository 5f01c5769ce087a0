"""Time that Numba took to compile, so that it does not count as running time.

This module loads Numba, so a measurement imports it once the kernels are loaded. In a web page all
kernels were compiled before: no compiler is there to listen to.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from memlab.free_memory import compiler
from memlab.kernels.numba_private_api import INSTALL, LISTENER


@contextmanager
def _not_installed(event: str, listener: Any) -> Iterator[Any]:
    """Context in which nothing is heard of the compiler."""
    yield listener


Listener: Any = LISTENER() if compiler() else object
install_listener: Any = INSTALL() if compiler() else _not_installed
"""Context of an event and a listener to it."""


class Compilations(Listener):  # type: ignore[misc]  # Numba's
    """Listener that adds up, in ``seconds``, the time of all compilations while it is installed.

    Compilations contain others, and only the outermost ones count. Numba handles errors of its own
    while it compiles. They stay in reference cycles, and with them the arrays of the kernel that is
    compiled, past their planned end. So garbage is collected after each compilation.
    """

    seconds, depth, begin = 0.0, 0, 0.0

    def on_start(self, event: Any) -> None:
        if self.depth == 0:
            self.begin = time.perf_counter()
        self.depth += 1

    def on_end(self, event: Any) -> None:
        self.depth -= 1
        if self.depth == 0:
            gc.collect()
            self.seconds += time.perf_counter() - self.begin
