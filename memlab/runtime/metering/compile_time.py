"""Time that Numba took to compile, so that it does not count as running time.

This module loads Numba, so a measurement imports it once the kernels are loaded.
"""

from __future__ import annotations

import gc
import time
from typing import Any

from memlab.kernels.numba_private_api import INSTALL, LISTENER

Listener: Any = LISTENER()
install_listener: Any = INSTALL()


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
