"""Ctrl-C while a meter measures.

NumPy asks the allocation hook for memory in the middle of its own work. An interrupt that arrives
there would be taken for a lack of memory, so it is sent again a moment later.
"""

from __future__ import annotations

import signal
import threading
from _thread import interrupt_main
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

from memlab.runtime.metering import numpy_hook

SOON = 0.005
"""Seconds after which a postponed interrupt is sent again."""


@contextmanager
def outside_the_hook() -> Iterator[None]:
    """Context in which an interrupt that arrives inside the allocation hook is postponed.

    A program that handles Ctrl-C itself keeps its handler. Threads other than the main one get no
    interrupts.
    """
    usual = signal.default_int_handler
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not usual:
        yield
        return
    handler = _Handler()
    signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
    if handler.withdrawn():
        raise KeyboardInterrupt


@dataclass
class _Handler:
    """Handler of interrupts: it raises KeyboardInterrupt, or sends the interrupt again if the hook
    is at work."""

    again: threading.Timer | None = None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        while frame is not None:
            if frame.f_globals.get("__name__") == numpy_hook.__name__:
                self.again = threading.Timer(SOON, interrupt_main)
                self.again.daemon = True
                self.again.start()
                return
            frame = frame.f_back
        raise KeyboardInterrupt

    def withdrawn(self) -> bool:
        """Cancel a postponed interrupt; return whether there was one."""
        if self.again is None or not self.again.is_alive():
            return False
        self.again.cancel()
        return True
