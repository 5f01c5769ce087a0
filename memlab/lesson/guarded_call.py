"""Watch over a learner's function during a check: it may not ask memlab, nor start threads.

A check judges and measures the call that it makes, in its own thread. A result that is read from
memlab is no answer, and arrays of another thread are not measured.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FrameType
from typing import Any

PACKAGE = str(Path(__file__).parents[1])
METER = str(Path(PACKAGE, "runtime", "metering"))
"""NumPy calls the meter for each array, in the frame of whoever makes it."""
STARTS = {
    "_thread.start_new_thread", "_thread.start_joinable_thread", "_posixsubprocess.fork_exec",
    "posix.fork", "posix.forkpty", "posix.posix_spawn", "posix.posix_spawnp", "posix.system",
    "nt.system", "_winapi.CreateProcess",
}  # fmt: skip
"""Functions written in C that start a thread or a process."""


class Watch:
    """Record what runs in this thread inside a ``with`` block.

    ``memlab`` is the name of the first function of memlab that ran, ``started`` the name of the
    first function that started a thread or a process; both are empty without one. ``offered`` are
    the functions of memlab that may run. With ``leads``, memlab itself calls the learner's
    function, as it does for the threads of a kernel: then its functions may call each other.
    """

    def __init__(self, offered: Iterable[Callable[..., Any]] = (), leads: bool = False) -> None:
        self.memlab, self.started = "", ""
        self._leads = leads
        self._before: Any = None
        self._offered = {method.__code__ for method in (Watch.__exit__, *offered)}

    def __enter__(self) -> Watch:
        self._before = sys.getprofile()
        sys.setprofile(self._see)
        return self

    def __exit__(self, *error: object) -> None:
        sys.setprofile(self._before)

    def _see(self, frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and _is_memlab(frame):
            self._entered(frame)
        elif event == "c_call":
            name = f"{getattr(argument, '__module__', '')}.{getattr(argument, '__name__', '')}"
            self.started = self.started or (name if name in STARTS else "")

    def _entered(self, frame: FrameType) -> None:
        code, caller = frame.f_code, frame.f_back
        led = self._leads and caller is not None and _is_memlab(caller)
        if not led and code not in self._offered and not code.co_filename.startswith(METER):
            self.memlab = self.memlab or code.co_name


def _is_memlab(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(PACKAGE)
