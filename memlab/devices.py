"""What machines have: a few budgets by name, and the memory that is free on this machine."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from memlab.errors import pick


@dataclass(frozen=True, slots=True)
class Device:
    """A machine by its figures. ``memory`` is in bytes, ``bandwidth`` and ``link`` in bytes per
    second, ``flops`` in operations per second; what no source gives is ``None``."""

    name: str
    memory: int
    model: str
    source: str
    bandwidth: int | None = None
    flops: int | None = None
    link: int | None = None


DEVICES: dict[str, Device] = {
    device.name: device
    for device in (
        Device("12 GB card", 12 * 10**9, "Titan X (Maxwell), 2015", "C4, decimal"),
        Device("24 GB card", 24 * 10**9, "a desktop card of 2020", "its name, decimal"),
        Device("80 GB card", 80 * 10**9, "a server card of 2020", "its name, decimal"),
    )
}
"""Budgets by name, a little below what the cards hold: their gigabytes are 2^30 bytes."""


def find(name: str) -> Device:
    """The device of that name.

    Raises:
        InputError: there is none.
    """
    return pick("device", name, DEVICES)


def free_memory(root: Path = Path("/")) -> int:
    """Bytes that a program can still take here: what the system has left, and what the control
    group that a container or a cluster puts us in still allows."""
    import psutil

    return max(0, min([int(psutil.virtual_memory().available), *_rooms(root)]))


def _rooms(root: Path) -> Iterator[int]:
    """What each control group around this process still allows, in version 1 and 2."""
    try:
        lines = (root / "proc/self/cgroup").read_text().split()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            yield from _climb(root / "sys/fs/cgroup", path, "memory.max", "memory.current")
        elif "memory" in controllers.split(","):
            names = "memory.limit_in_bytes", "memory.usage_in_bytes"
            yield from _climb(root / "sys/fs/cgroup/memory", path, *names)


def _climb(mount: Path, path: str, limit: str, usage: str) -> Iterator[int]:
    """A group is bound by its own limit and by those of all the groups it is in."""
    parts = [part for part in path.split("/") if part not in ("", "..")]
    for depth in range(len(parts) + 1):
        folder = mount.joinpath(*parts[:depth])
        try:
            most, used = int((folder / limit).read_text()), int((folder / usage).read_text())
        except (OSError, ValueError):  # no such file, or "max"
            continue
        yield most - used + _droppable(folder)


def _droppable(folder: Path) -> int:
    """File pages that count as used and are given back when memory is short."""
    try:
        entries = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
    except (OSError, ValueError):
        return 0
    return int(entries.get("total_inactive_file", entries.get("inactive_file", "0")))


def here() -> str:
    """This machine and this day, beside figures that hold nowhere else:
    ``'Linux x86_64, 2 cores, 2026-11-21'``."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{platform.system()} {platform.machine()}, {cores} cores, {date.today().isoformat()}"
