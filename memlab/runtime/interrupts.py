"""Ctrl-C while a meter measures.

NumPy asks the hook for memory in the middle of its own work. An interrupt that arrives there would
be taken for a lack of memory, so it comes again a moment later.
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
    """Let an interrupt arrive where it is an interrupt. Whoever handles Ctrl-C already goes on to
    do so, and other threads than the main one get none."""
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
    """Raises an interrupt, or sends it again where the hook is at work."""

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
        """Whether one was still to come, which does not come now."""
        if self.again is None or not self.again.is_alive():
            return False
        self.again.cancel()
        return True
