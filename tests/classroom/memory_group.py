"""A control group with a limit on memory, of version 1 or 2, where this machine lets one be."""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from memlab.classroom import control_groups

ENTER = 'echo $$ > "$0" && exec "$@"'
"""Line for a shell that enters the group whose list of processes is its first word, and becomes the
command that follows."""


@dataclass(frozen=True)
class MemoryGroup:
    """Control group of processes that may take so much memory together."""

    folder: Path

    @property
    def members(self) -> Path:
        """File of the numbers of its processes; to write one is to move that process."""
        return self.folder / "cgroup.procs"

    @property
    def version(self) -> int:
        return 1 if (self.folder / "memory.limit_in_bytes").exists() else 2

    @property
    def limit(self) -> int:
        """Bytes that the system itself says are allowed."""
        name = "memory.limit_in_bytes" if self.version == 1 else "memory.max"
        return int((self.folder / name).read_text())

    @property
    def most_taken(self) -> int:
        """The most bytes that were taken at once, with the pages of files."""
        name = "memory.max_usage_in_bytes" if self.version == 1 else "memory.peak"
        return int((self.folder / name).read_text())

    def entering(self, *command: str) -> list[str]:
        """Command line that runs a command inside the group."""
        return ["/bin/sh", "-c", ENTER, str(self.members), *command]

    def processes(self) -> list[psutil.Process]:
        numbers = self.members.read_text().split()
        return [psutil.Process(int(number)) for number in numbers]

    def proportional(self) -> int:
        """Bytes of its processes: their own, and their share of what several have (PSS)."""
        return sum(process.memory_full_info().pss for process in self.processes())

    def resident(self) -> int:
        """Bytes of its processes, shared pages counted for each (RSS)."""
        return sum(process.memory_info().rss for process in self.processes())

    def ends_who_takes_more(self) -> bool:
        """Whether a process that fills a quarter more than the limit is ended: the limit holds."""
        code = f"x = bytearray(b'1' * 1024) * ({self.limit} * 5 // 4 // 1024)"
        done = subprocess.run(self.entering(sys.executable, "-c", code), capture_output=True)
        return done.returncode == -9

    def remove(self) -> None:
        """End the processes of the group, and remove it."""
        for _ in range(100):
            for process in self.processes():
                process.kill()
            try:
                self.folder.rmdir()
            except OSError:
                time.sleep(0.1)
            else:
                return


def make(name: str, nbytes: int) -> MemoryGroup:
    """Make a group with a limit and without swapping.

    Raises:
        OSError: this machine does not let us.
    """
    places = control_groups.find()
    if places is None:
        raise OSError("no folder of control groups can be written")
    folder = places.memory / f"memlab-{os.getpid()}-{name}"
    folder.mkdir()
    group = MemoryGroup(folder)
    try:
        if group.version == 1:
            (folder / "memory.limit_in_bytes").write_text(str(nbytes))
        else:
            (folder / "memory.max").write_text(str(nbytes))
            (folder / "memory.swap.max").write_text("0")
        if not nbytes - mmap.PAGESIZE < group.limit <= nbytes:
            raise OSError(f"the limit is {group.limit}, and not {nbytes}")
    except OSError:
        folder.rmdir()
        raise
    return group
