"""Line that counts the seconds while something slow runs, and disappears at the end.

A thread of its own writes it, in a notebook whose cell is known and in a terminal; the slow work
stays in the thread that began it. No stored output contains the line.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from importlib import import_module
from threading import Event, Thread
from typing import Any

from memlab.lesson import notebook_cells

PATIENCE = 2.0
"""Seconds before the first line is shown."""
PACE = 1.0
"""Seconds between two updates of the line."""

Show = Callable[[str], None]


class WorkingLine:
    """Show a line with the seconds elapsed while a ``with`` block runs.

    ``said`` turns the seconds into the text of the line. It appears ``at_once`` or after
    ``PATIENCE`` seconds. ``show`` replaces the text that it showed before; None shows nothing.
    """

    def __init__(
        self, text_of_seconds: Callable[[int], str], at_once: bool, show: Show | None
    ) -> None:
        self._said, self._wait, self._show = text_of_seconds, 0.0 if at_once else PATIENCE, show
        self._begin, self._shown = time.monotonic(), False
        self._over, self._thread = Event(), Thread(target=self._tell, daemon=True)

    def __enter__(self) -> WorkingLine:
        if self._show is not None:
            try:
                self._thread.start()
            except RuntimeError:  # a web page has no threads
                self._show = None
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        if self._show is not None:
            self._thread.join()
            if self._shown:
                self._show("")

    def _tell(self) -> None:
        assert self._show is not None
        while not self._over.wait(self._wait):
            self._show(self._said(round(time.monotonic() - self._begin)))
            self._shown, self._wait = True, PACE


def line_display() -> Show | None:
    """Return the function that shows a line here; None where the line would stay
    in stored output."""
    if notebook_cells.running() is not None:
        return _notebook_display()
    return _terminal_display if sys.stderr.isatty() else None


def _notebook_display() -> Show:
    """Return a function that shows a line in an output of the running cell, made with the first
    line."""
    display: Any = import_module("IPython.display")
    handles: list[Any] = []

    def show(text: str) -> None:
        bundle = {"text/plain": text}
        if handles:
            handles[0].update(bundle, raw=True)
        else:
            handles.append(display.display(bundle, raw=True, display_id=True))

    return show


def _terminal_display(text: str) -> None:
    print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
