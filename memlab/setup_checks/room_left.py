"""Room that is left: on the disks that notebooks need, and in memory for each lesson."""

from __future__ import annotations

import errno
import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from memlab import units
from memlab.lesson_folders import LESSONS
from memlab.setup_checks.setup_check import SetupCheck

COST = LESSONS / "data" / "cost.json"
"""Bytes that each lesson took at most, as ``lessons/cost.py`` measured them."""
LITTLE, VERY_LITTLE = 5 * 10**8, 5 * 10**7
"""Free bytes of a disk below which a check notes it, and below which it is a problem."""
PROBE = 2**20
"""Bytes that are written and removed again: a quota may allow less than what is free."""
FULL = {errno.ENOSPC, errno.EDQUOT}


class DiskRoom(NamedTuple):
    """Free bytes of the disk of a folder, and the purpose that notebooks have for it."""

    folder: Path
    purpose: str
    free: int


def disks(cache: Iterable[Path]) -> list[DiskRoom]:
    """Return the room for notebooks in this folder, for compiled kernels, and for temporary files;
    a folder on the same disk as one before is left out."""
    wanted = [(Path.cwd(), "notebooks"), *((folder, "compiled kernels") for folder in cache)]
    rooms: dict[int, DiskRoom] = {}
    for folder, purpose in [*wanted, (Path(tempfile.gettempdir()), "temporary files")]:
        there = existing(folder)
        rooms.setdefault(os.stat(there).st_dev, DiskRoom(there, purpose, free_on(there)))
    return list(rooms.values())


def existing(folder: Path) -> Path:
    """Return a folder, or the nearest one above it that is there."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder


def free_on(folder: Path) -> int:
    """Return the free bytes of the disk of a folder; 0 where a disk or a quota is full."""
    try:
        with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
            file.write(bytes(PROBE))
    except OSError as error:
        if error.errno in FULL:
            return 0
    return shutil.disk_usage(folder).free


def check_disks(
    rooms: Iterable[DiskRoom], python: str, windows: bool = os.name == "nt"
) -> SetupCheck:
    """Check that there is room on each disk that notebooks need."""
    least = min(rooms, key=lambda room: room.free)
    text = f"{units.short(least.free)} free for {least.purpose}, in {least.folder}"
    if least.free >= LITTLE:
        return SetupCheck("disk", "ok", text)
    if least.purpose == "temporary files":
        fix = "set TMP=%USERPROFILE%" if windows else "export TMPDIR=$HOME"
    else:
        fix = f'delete what you do not need there; "{python}" -m pip cache purge frees downloads'
    if least.free >= VERY_LITTLE:
        return SetupCheck("disk", "note", text, fix)
    return SetupCheck("disk", "problem", f"{text}: soon nothing can be written there", fix)


def recorded() -> dict[str, int]:
    """Return the most bytes that each lesson took, by its number; empty where no file has them."""
    try:
        lessons = json.loads(COST.read_text(encoding="utf-8"))["lessons"]
    except FileNotFoundError:
        return {}
    return {name[:2]: max(run["bytes"] for run in runs.values()) for name, runs in lessons.items()}


def check_lessons(free: int, needs: Mapping[str, int], fix: str) -> SetupCheck:
    """Check that each lesson fits into the free memory.

    Args:
        free: bytes.
        needs: bytes of each lesson, by its number.
        fix: the line that makes more memory free.
    """
    name, most = "memory of lessons", max(needs, key=lambda number: needs[number])
    if not (over := [number for number, nbytes in needs.items() if nbytes > free]):
        text = f"enough for each one; {most} takes most, {units.short(needs[most])}"
        return SetupCheck(name, "ok", text)
    fitting = [number for number in needs if number not in over]
    text = f"too little for {_listed(over)}, which take up to {units.short(needs[most])}"
    if not fitting:
        return SetupCheck(name, "problem", f"too little for any; {most} takes "
                          f"{units.short(needs[most])}", fix)  # fmt: skip
    return SetupCheck(name, "note", f"{text}; enough for {_listed(fitting)}", fix)


def _listed(numbers: list[str]) -> str:
    *before, last = numbers
    return f"{', '.join(before)} and {last}" if before else last
