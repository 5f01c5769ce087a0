"""How long Numba compiled, so that it is not taken for running time, and what it leaves behind.

This module loads Numba, so whoever measures imports it once the kernels are loaded.
"""

from __future__ import annotations

import gc
import time
from typing import Any

from memlab.kernels.numba_private_api import INSTALL, LISTENER

Listener: Any = LISTENER()
install_listener: Any = INSTALL()


class Compilations(Listener):  # type: ignore[misc]  # Numba's
    """All compilations while it is installed, in ``seconds``: they contain others, and the
    outermost counts.

    Numba handles errors of its own while it compiles. They stay in cycles, and with them the arrays
    of the kernel that is compiled, past their planned end: so what is left is collected at once.
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
