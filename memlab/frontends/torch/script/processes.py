"""Processes of a script, and their end."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

import psutil


def end_tree(process: int) -> None:
    """End a process that leads a group, all processes that it started, and all of its group, at
    once: nothing of them runs any more."""
    with suppress(psutil.Error):
        for child in psutil.Process(process).children(recursive=True):
            with suppress(psutil.Error):
                child.kill()
    with suppress(ProcessLookupError, PermissionError):
        if os.name == "posix":
            os.killpg(process, signal.SIGKILL)
        else:
            os.kill(process, signal.SIGTERM)  # which ends a process of Windows at once
