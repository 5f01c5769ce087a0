"""Copies between two memories that run beside the kernels, and where the host's bytes lie.

On the processor each stream of copies has a thread of its own; ``runtime.cuda.streams`` has those
of a CUDA device. A kernel does not hold Python's lock, and neither does a copy: so the two run at
the same time, on two cores. What a copy reads or writes is held until it has ended; an error of a
copy is raised where somebody waits for it.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Event

import numpy as np

from memlab import units
from memlab.errors import InputError, shorten
from memlab.kernels.registry import Array
from memlab.step.op import Op

RAM = "ram"
SECTOR = 512
"""Bytes of the unit in which the file system counts a file's blocks (POSIX, ``st_blocks``)."""
TELLS = hasattr(os, "statvfs")
"""True if the system says how many bytes a file takes; Windows does not."""
PIECE = 2**20
"""Bytes of a file that are written at once."""


class PendingCopies:
    """Copies under way, by the name of their operation. Without ``threads`` each has ended before
    what comes after it begins."""

    def __init__(self) -> None:
        self.threads = True
        self._threads: dict[str, ThreadPoolExecutor] = {}
        self._running: dict[str, Future[None]] = {}
        self._uses: dict[str, str] = {}

    def start(self, op: Op, copy: Callable[..., None]) -> None:
        """Begin a copy in the thread of its stream; returns once the thread is at work, or has
        earlier copies to do first."""
        if not self.threads:
            copy()
            return
        begun = Event()

        def work() -> None:
            begun.set()
            copy()

        pool = self._threads.get(op.stream)
        if pool is None:
            pool = self._threads[op.stream] = ThreadPoolExecutor(1, f"memlab {op.stream}")
        idle = all(future.done() for future in self._running.values())
        self._running[op.name] = pool.submit(work)
        self._uses |= {tensor.storage.name: op.name for tensor in op.touched()}
        if idle:
            begun.wait()

    def started(self, name: str) -> bool:
        """Whether a copy was begun, and nobody has waited for it yet."""
        return name in self._running

    def wait(self, name: str) -> None:
        """Return when it has ended; an operation that is no copy under way has."""
        future = self._running.pop(name, None)
        if future is not None:
            future.result()

    def finish(self) -> None:
        """Return when all have ended."""
        for name in list(self._running):
            self.wait(name)

    def release(self, storage: str) -> None:
        """Return when no copy uses this block any more."""
        self.wait(self._uses.pop(storage, ""))

    def close(self) -> None:
        """Wait for what is under way, whatever becomes of it, and end the threads."""
        for pool in self._threads.values():
            pool.shutdown(wait=True, cancel_futures=True)
        self._threads.clear()
        self._running.clear()
        self._uses.clear()


@dataclass(frozen=True, slots=True)
class Host:
    """Where maps wait: in memory of this machine, which ``backend.waiting`` gives out and its hook
    sees; or in files of a ``folder``, mapped into memory and gone when they are dropped.

    ``grain`` is what its bytes come in: where the file system says how many bytes files take, these
    are whole blocks.
    """

    folder: Path | None = None
    grain: int = 1

    def file(self, nbytes: int) -> tuple[Array, int]:
        """New bytes in a file of the folder, and how many the file system says that they take.

        Raises:
            InputError: there are none left.
        """
        try:
            with tempfile.TemporaryFile(dir=self.folder) as file:
                _reserve(file.fileno(), nbytes)
                taken = os.fstat(file.fileno()).st_blocks * SECTOR if TELLS else nbytes
                mapped = mmap.mmap(file.fileno(), nbytes)
        except OSError as error:
            raise InputError(
                f"{self.folder} has no {units.both(nbytes)} left for a map to wait in: "
                f"{error.strerror}; nothing was kept. Try another folder, or a smaller batch."
            ) from None
        return np.frombuffer(mapped, np.uint8), taken


def _reserve(file: int, nbytes: int) -> None:
    """Have the bytes of a file at once; macOS and Windows have them once they are written."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, 0, nbytes)
        return
    for start in range(0, nbytes, PIECE):
        os.write(file, bytes(min(PIECE, nbytes - start)))
    os.fsync(file)


def host(given: object) -> Host:
    """The host's memory: ``"ram"``, or a folder.

    Raises:
        InputError: neither; there is no such folder.
    """
    if isinstance(given, Host):
        return given
    if not isinstance(given, str | Path) or not str(given).strip():
        raise InputError(f"maps wait in 'ram' or in a folder, got {shorten(given)}; try 'ram'.")
    if given == RAM:
        return Host()
    folder = Path(given)
    if not folder.is_dir():
        raise InputError(
            f"{shorten(str(given))} is no folder for maps to wait in; try '/tmp', or 'ram'."
        )
    return Host(folder, os.statvfs(folder).f_frsize if TELLS else 1)
