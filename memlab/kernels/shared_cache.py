"""Folder of compiled kernels that many learners share, which is only read.

A file of Numba's cache is a pickle: who writes it runs code as everybody who reads it. So a shared
folder is read only where nobody but the administrator, or this user, can have written to it. What
is compiled here goes into the user's own cache, and never into that folder.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from memlab.errors import visible

MISSING = "it is no folder"
VARIABLE = "MEMLAB_SHARED_CACHE"
"""Variable of the environment that names the folder, with the layout of ``NUMBA_CACHE_DIR``."""
OTHERS, STICKY = 0o022, 0o1000
"""Bits of a mode: its group or others may write; and in a folder, nobody removes files of others.
"""


def folder() -> Path | None:
    """Return the shared folder that the environment names; None where there is none, or where
    somebody else could write to it."""
    named = os.environ.get(VARIABLE, "")
    place = Path(named).expanduser().resolve()
    return place if named and not refusal(place) else None


@cache
def refusal(place: Path) -> str:
    """Return why a folder is not read, as the end of a sentence; empty where it is safe.

    Args:
        place: path of the folder, without links.
    """
    if os.name == "nt":
        return "Windows does not tell who can write to it"
    if not place.is_dir():
        return MISSING
    inside = [place, *place.rglob("*")]
    writable = [path for path in inside if _others_write(path, sticky_is_safe=False)]
    writable += [path for path in place.parents if _others_write(path, sticky_is_safe=True)]
    return f"others can write to {visible(str(writable[0]))}" if writable else ""


def _others_write(path: Path, sticky_is_safe: bool) -> bool:
    """True if somebody else than root and this user owns a file, or may write to it; a link counts
    as writable, because it can lead anywhere."""
    status = os.lstat(path)
    if status.st_uid not in (0, os.geteuid()):
        return True
    safe = sticky_is_safe and status.st_mode & STICKY
    return bool(status.st_mode & OTHERS) and not safe
