"""Confinement of a process that runs a submission: bubblewrap, a user without rights, limits.

The process sees the Python installation, its packages without memlab, and a copy of the few parts
of memlab that know no answer, all of them read-only; an empty folder in memory; no network, and no
other process. Memory and processes are limited by a control group where one can be made, else for
each process alone. Every limit is tried before the first submission.

Example::

    with confined(Limits()) as confinement, confinement.worker(Limits()) as worker:
        worker.channel.send({"cells": ["a = 1"]})
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from random import SystemRandom
from typing import IO

from memlab import lesson_folders
from memlab.classroom import control_groups, shown_folders, worker_copy
from memlab.classroom.channel import BrokenChannelError, Channel, EndedError, LateError
from memlab.classroom.control_groups import Folders, Group
from memlab.classroom.limits import MIB, Limits
from memlab.errors import InputError, visible

USERS = range(61184, 65520)
"""Numbers of users without an account and without rights: a process takes one of them."""
STARTING = 30.0
"""Seconds in which a process must start, on a busy machine."""
TRIAL_MEMORY, TRIAL_DISK, TRIAL_PROCESSES = 96 * MIB, 4 * MIB, 16
ENVIRONMENT = {
    "HOME": "/tmp", "LC_ALL": "C.UTF-8", "MPLBACKEND": "agg", "NUMBA_ENABLE_CUDASIM": "1",
    "NUMBA_NUM_THREADS": "2", "OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2",
    "PATH": "/usr/bin:/bin", "USER": "learner",
}  # fmt: skip
RECIPE = (
    "docker run --rm --network none --memory 4g --pids-limit 256 --read-only --tmpfs /tmp "
    "-v FOLDER:/class IMAGE memlab grade /class --csv /class/marks.csv --trusted"
)
"""Command that confines all submissions together, in a container with memlab in it."""
GATE = 'read go && exec "$@" </dev/null'
"""Script that waits until its process is in a control group."""


class WorkerProcess:
    """Process that runs a submission: the ``channel`` to it, and the control ``group`` that it is
    in; None without one."""

    def __init__(self, channel: Channel, group: Group | None) -> None:
        self.channel, self.group = channel, group

    @property
    def peak(self) -> int | None:
        """Most bytes that it held at one time, with its files; None where nobody knows."""
        return self.group.peak if self.group else None

    @property
    def out_of_memory(self) -> bool:
        """True if it asked for more memory than the limit, and was ended for that."""
        return self.group is not None and self.group.full


@dataclass(frozen=True)
class Confinement:
    """Way to run submissions, with the folder of the copy of memlab that they see.

    ``program`` is bubblewrap; empty for trusted submissions, which run with the rights of whoever
    grades them. ``drops`` is True if the process is started as root and gives up its rights
    itself. ``folders`` are those of control groups, None without them.
    """

    copy: Path
    program: str
    drops: bool
    folders: Folders | None

    @property
    def trusted(self) -> bool:
        """True if submissions are not confined."""
        return not self.program

    @property
    def said(self) -> str:
        """One sentence on how submissions run, for a report."""
        if self.trusted:
            return "Submissions are not confined: they were trusted."
        limit = "together" if self.folders else "for each process"
        return (
            "Submissions are confined by bubblewrap, without network and without rights; memory is "
            f"limited {limit}."
        )

    @contextmanager
    def worker(
        self, limits: Limits, probe: bool = False, complaints: IO[bytes] | None = None
    ) -> Iterator[WorkerProcess]:
        """Start a process for one submission, which ends with the ``with`` block. Into
        ``complaints`` goes what it says if it does not start."""
        with ExitStack() as stack:
            folder = stack.enter_context(_folder("memlab-submission-"))
            group = stack.enter_context(control_groups.group(self.folders, limits))
            reads, theirs = os.pipe()
            inner, writes = os.pipe()
            stack.callback(_close, (reads, writes))
            settings = self._settings(limits, probe, inner, theirs)
            gated = ["/bin/sh", "-c", GATE, "sh", *self._command(settings, limits)]
            try:
                process = subprocess.Popen(
                    gated, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                    stderr=complaints or subprocess.DEVNULL, env=ENVIRONMENT, cwd=folder,
                    pass_fds=(inner, theirs), start_new_session=True,
                )  # fmt: skip
            finally:
                _close((inner, theirs))
            stack.callback(_end, process)
            if group is not None:
                group.join(process.pid)
            _open_gate(process)
            yield WorkerProcess(Channel(reads, writes, limits.returned), group)

    def _settings(self, limits: Limits, probe: bool, reads: int, writes: int) -> dict[str, object]:
        """Return what ``worker/start.py`` is told."""
        seconds = int(4 * limits.whole) + 10
        most = {"CORE": 0, "NOFILE": limits.files, "FSIZE": limits.disk, "CPU": seconds}
        if self.folders is None:
            most["AS"] = limits.memory
            if not self.trusted:
                most["NPROC"] = limits.processes
        return {
            "reads": reads, "writes": writes, "most": 8 * limits.returned, "probe": probe,
            "copy": str(self.copy), "packages": shown_folders.packages(), "limits": most,
            "user": SystemRandom().choice(USERS) if self.drops else None,
        }  # fmt: skip

    def _command(self, settings: dict[str, object], limits: Limits) -> list[str]:
        python = [shown_folders.interpreter(), "-I", "-S", "-B", str(self.copy / worker_copy.START)]
        command = [*python, json.dumps(settings)]
        if self.trusted:
            return command
        rights = (
            ["--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
            if self.drops
            else ["--unshare-user", "--disable-userns", "--uid", "65534", "--gid", "65534"]
        )
        spaces = ["--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts",
                  "--unshare-cgroup-try", "--die-with-parent", "--new-session"]  # fmt: skip
        places = shown_folders.places(self.copy)
        empty = ["--perms", "1777", "--size", str(limits.disk), "--tmpfs", "/tmp"]
        closed = ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/tmp"]
        return [self.program, *rights, *spaces, *empty, *places, *closed, *command]


def _close(pipes: Iterable[int]) -> None:
    for pipe in pipes:
        with suppress(OSError):
            os.close(pipe)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process, and what is in its session; a process space ends with its first process."""
    with suppress(OSError):
        os.killpg(process.pid, 9)
    process.kill()
    process.wait()
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()


def _open_gate(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    with suppress(OSError):
        process.stdin.write(b"go\n")
        process.stdin.close()


@contextmanager
def _folder(prefix: str) -> Iterator[Path]:
    """Provide a new folder, which is removed at the end, whatever is in it."""
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


# -- the start of a batch -----------------------------------------------------------------------


@contextmanager
def confined(limits: Limits, trusted: bool = False) -> Iterator[Confinement]:
    """Provide a way to run submissions whose limits were all tried.

    Args:
        limits: the limits that submissions will have; the trials use smaller ones.
        trusted: run submissions with the rights of this process, with limits of time, and of
            memory, and nothing else.

    Raises:
        InputError: submissions cannot be confined here; the message says what to do.
    """
    with _folder("memlab-worker-") as copy:
        copy.chmod(0o755)
        worker_copy.write(copy)
        yield Confinement(copy, "", False, control_groups.find()) if trusted else _tried(copy)


def _tried(copy: Path) -> Confinement:
    """Return the first way of confinement that starts, after its limits were tried."""
    program = shutil.which("bwrap")
    if program is None:
        raise _cannot("bubblewrap is not installed")
    drops, folders = os.geteuid() == 0, control_groups.find()
    if folders is not None:
        control_groups.clear(folders)
    confinement = Confinement(copy, program, drops, folders)
    possible = _possible(confinement)
    if possible is None and folders is not None:  # a group that nobody can join
        confinement = replace(confinement, folders=None)
        possible = _possible(confinement)
    if possible is None:
        raise _cannot(f"bubblewrap does not start here{_complaint(confinement)}")
    if possible:
        raise _cannot(f"a trial process could do what it must not: {', '.join(possible)}")
    return confinement


def _complaint(confinement: Confinement) -> str:
    """Return what bubblewrap says where it does not start, in brackets."""
    silent = suppress(BrokenChannelError, EndedError, LateError, OSError)
    with tempfile.TemporaryFile() as file:
        with silent, confinement.worker(Limits(), probe=True, complaints=file) as worker:
            worker.channel.receive(time.monotonic() + STARTING)
        file.seek(0)
        line = file.readline(200).decode(errors="replace").strip()
    return f" ({visible(line)})" if line else ""


def _cannot(why: str) -> InputError:
    return InputError(
        f"Submissions cannot be confined: {why}; install bubblewrap 0.8 or newer (apt-get install "
        f"bubblewrap), or confine all of them together in a container ({RECIPE}), or give "
        "--trusted if you trust each of them."
    )


def _possible(confinement: Confinement) -> list[str] | None:
    """Return what a process under a confinement could do and must not; None if it does not
    start."""
    limits = Limits(
        seconds=STARTING, memory=TRIAL_MEMORY, processes=TRIAL_PROCESSES, disk=TRIAL_DISK, files=32
    )
    with socket.create_server(("127.0.0.1", 0)) as server:
        order = {
            "port": server.getsockname()[1], "processes": limits.processes, "disk": limits.disk,
            "files": limits.files, "memory": limits.memory,
            "folders": [str(folder) for folder in _closed_folders(confinement.copy)],
            "answers": [*map(str, worker_copy.ANSWERS), str(lesson_folders.LESSONS / "solutions")],
        }  # fmt: skip
        found = [_trial(confinement, limits, {**order, "only": name}) for name in ("", "memory")]
    return None if None in found else [name for names in found for name in names or ()]


def _closed_folders(copy: Path) -> list[Path]:
    """Return folders that a process must not write to; ``/tmp`` is its own empty folder."""
    home = [folder for folder in (Path.home(),) if not folder.is_relative_to("/tmp")]
    return [Path("/"), Path("/usr/lib"), Path("/dev"), copy, *home]


def _trial(confinement: Confinement, limits: Limits, order: dict[str, object]) -> list[str] | None:
    """Return the things that were possible in one trial process; None if it did not start. One
    that asks for too much memory may be ended."""
    try:
        with confinement.worker(limits, probe=True) as worker:
            worker.channel.send(order, time.monotonic() + STARTING)
            names = worker.channel.receive(time.monotonic() + STARTING)
            return [str(name) for name in names]
    except EndedError:
        return [] if order["only"] else None
    except (BrokenChannelError, LateError, OSError):
        return None
