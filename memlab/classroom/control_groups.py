"""Limits of memory and processes by the kernel's control groups, in version 1 or 2, where this
process may make a group."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from memlab.classroom.limits import Limits

ROOT = Path("/sys/fs/cgroup")
OWN = Path("/proc/self/cgroup")
NAMES = "memory", "pids"
PATIENCE = 2.0
"""Seconds in which the processes of a group that are killed must be gone."""


@dataclass(frozen=True)
class Folders:
    """Folders in which a group may be made: one for both limits in version 2, one for each in
    version 1."""

    version: int
    memory: Path
    pids: Path


def find(root: Path = ROOT, own: Path = OWN) -> Folders | None:
    """Return the folders in which this process may make groups; None if there are none."""
    return _version_2(root, own) or _version_1(root, own)


def clear(folders: Folders) -> None:
    """Remove the empty groups of processes that were killed before they could do so themselves."""
    for folder in {folders.memory, folders.pids}:
        for path in folder.glob("memlab-*-*"):
            if not Path("/proc", path.name.split("-")[1]).exists():
                with suppress(OSError):  # the process is in another space, and its group is in use
                    path.rmdir()


def _paths(own: Path) -> dict[str, str]:
    """Return the group of this process by the name of its controller, "" in version 2."""
    try:
        lines = own.read_text().splitlines()
    except OSError:
        return {}
    rows = [line.split(":", 2) for line in lines if line.count(":") >= 2]
    return {name: path for _, names, path in rows for name in names.split(",")}


def _version_2(root: Path, own: Path) -> Folders | None:
    """Return the nearest group above this process whose children have both limits."""
    if not (root / "cgroup.controllers").exists():
        return None
    inner = root / _paths(own).get("", "/").lstrip("/")
    for folder in (inner, *inner.parents):
        if not folder.is_relative_to(root):
            break
        if _offers(folder) and _writable(folder):
            return Folders(2, folder, folder)
    return None


def _offers(folder: Path) -> bool:
    """True if the children of a group have both limits, perhaps because they are asked for now."""
    file = folder / "cgroup.subtree_control"
    with suppress(OSError):
        if not {*NAMES} <= {*file.read_text().split()}:
            file.write_text(" ".join(f"+{name}" for name in NAMES))
        return {*NAMES} <= {*file.read_text().split()}
    return False


def _version_1(root: Path, own: Path) -> Folders | None:
    places = {}
    for name in NAMES:
        inner = root / name / _paths(own).get(name, "/").lstrip("/")
        places[name] = next(filter(_writable, (inner, root / name)), None)
    memory, pids = places["memory"], places["pids"]
    return Folders(1, memory, pids) if memory and pids else None


def _writable(folder: Path) -> bool:
    """True if a group can be made in a folder."""
    trial = folder / f"memlab-{uuid4().hex[:12]}"
    try:
        trial.mkdir()
        trial.rmdir()
    except OSError:
        return False
    return True


class Group:
    """A new group with limits, that processes join by their numbers."""

    def __init__(self, folders: Folders, limits: Limits) -> None:
        name = f"memlab-{os.getpid()}-{uuid4().hex[:12]}"
        self.version = folders.version
        self.memory, self.pids = folders.memory / name, folders.pids / name
        for folder in {self.memory, self.pids}:
            folder.mkdir()
        if self.version == 2:
            _write(self.memory / "memory.max", limits.memory)
            with suppress(OSError):  # without swap there is no such file
                _write(self.memory / "memory.swap.max", 0)
        else:
            _write(self.memory / "memory.limit_in_bytes", limits.memory)
            with suppress(OSError):
                _write(self.memory / "memory.memsw.limit_in_bytes", limits.memory)
        _write(self.pids / "pids.max", limits.processes)

    def join(self, process: int) -> None:
        """Put a process into the group; the processes that it starts follow."""
        for folder in {self.memory, self.pids}:
            _write(folder / "cgroup.procs", process)

    @property
    def peak(self) -> int | None:
        """Most bytes that the group held at one time; None where the kernel does not tell."""
        name = "memory.peak" if self.version == 2 else "memory.max_usage_in_bytes"
        with suppress(OSError, ValueError):
            return int((self.memory / name).read_text())
        return None

    @property
    def full(self) -> bool:
        """True if the kernel ended a process because the group asked for too much memory."""
        name = "memory.events" if self.version == 2 else "memory.oom_control"
        with suppress(OSError, ValueError):
            rows = (self.memory / name).read_text().splitlines()
            return any(int(row.split()[1]) > 0 for row in rows if row.startswith("oom_kill "))
        return False

    def remove(self) -> None:
        """Kill what is left in the group, and remove it."""
        deadline = time.monotonic() + PATIENCE
        for folder in {self.memory, self.pids}:
            while folder.exists() and time.monotonic() < deadline:
                with suppress(OSError):
                    _kill_all(folder)
                    folder.rmdir()
                    break
                time.sleep(0.005)


def _kill_all(folder: Path) -> None:
    """Kill the processes of a group."""
    for number in map(int, (folder / "cgroup.procs").read_text().split()):
        if number > 0:  # 0 stands for a process of another space, and for this one's own group
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)


def _write(file: Path, value: int) -> None:
    file.write_text(f"{value}\n")


@contextmanager
def group(folders: Folders | None, limits: Limits) -> Iterator[Group | None]:
    """Provide a group inside of a ``with`` block, or None where none can be made."""
    if folders is None:
        yield None
        return
    made = Group(folders, limits)
    try:
        yield made
    finally:
        made.remove()
