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
from types import FrameType

from memlab.runtime import hook

SOON = 0.005
"""Seconds."""


@contextmanager
def outside_the_hook() -> Iterator[None]:
    """Let an interrupt arrive where it is an interrupt. Whoever handles Ctrl-C already goes on to
    do so, and other threads than the main one get none."""
    usual = signal.default_int_handler
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not usual:
        yield
        return
    signal.signal(signal.SIGINT, _handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)


def _handle(number: int, frame: FrameType | None) -> None:
    while frame is not None:
        if frame.f_globals.get("__name__") == hook.__name__:
            again = threading.Timer(SOON, interrupt_main)
            again.daemon = True
            again.start()
            return
        frame = frame.f_back
    raise KeyboardInterrupt
