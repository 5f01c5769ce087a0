"""Copies between device and host memory that run beside the kernels, and the place of the host's
bytes.

On the processor each stream of copies has a thread of its own; ``runtime.cuda.arrays`` has the
streams of a CUDA device. Neither a kernel nor a copy holds Python's lock, so the two run at the
same time, on two cores. Arrays that a copy reads or writes are kept until it has ended. An error of
a copy is raised where somebody waits for it.
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
from memlab.errors import IN_PAGE, InputError, shorten
from memlab.kernels.cpu.threads import threads_start
from memlab.kernels.registry import Array
from memlab.step.op import Op

RAM = "ram"
SECTOR = 512
"""Bytes of the unit in which the file system counts a file's blocks (POSIX, ``st_blocks``)."""
TELLS_FILE_SIZE = hasattr(os, "statvfs")
"""True if the system says how many bytes a file takes; Windows does not."""
PIECE = 2**20
"""Bytes of a file that are written at once."""


class PendingCopies:
    """Copies under way, by the names of their operations.

    If ``threads`` is False, every copy ends before the next operation begins. It is where no thread
    can start.
    """

    def __init__(self) -> None:
        self.threads = threads_start()
        self._threads: dict[str, ThreadPoolExecutor] = {}
        self._running: dict[str, Future[None]] = {}
        self._uses: dict[str, str] = {}

    def start(self, op: Op, copy: Callable[..., None]) -> None:
        """Begin a copy in the thread of its stream.

        It returns once the thread is at work, or at once if earlier copies are still running.
        """
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
        """Return whether a copy was begun and nobody has waited for it yet."""
        return name in self._running

    def wait(self, name: str) -> None:
        """Return when the copy of this operation has ended; at once if none is under way."""
        future = self._running.pop(name, None)
        if future is not None:
            future.result()

    def finish(self) -> None:
        """Return when all copies have ended."""
        for name in list(self._running):
            self.wait(name)

    def release(self, storage: str) -> None:
        """Return when no copy uses the block of this storage any more."""
        self.wait(self._uses.pop(storage, ""))

    def close(self) -> None:
        """Wait for the copies that are running, drop those that have not begun, and end the
        threads; errors are ignored."""
        for pool in self._threads.values():
            pool.shutdown(wait=True, cancel_futures=True)
        self._threads.clear()
        self._running.clear()
        self._uses.clear()


@dataclass(frozen=True, slots=True)
class Host:
    """Place in which offloaded maps wait: this machine's memory, or files of a ``folder``.

    Memory is allocated by ``Backend.host_block``, and seen by its hook. Files are mapped into
    memory, and vanish when they are dropped. ``grain`` is the unit in which the bytes are
    allocated: whole blocks of the file system, where it says how many bytes files take, else 1.
    """

    folder: Path | None = None
    grain: int = 1

    def file(self, nbytes: int) -> tuple[Array, int]:
        """Allocate bytes in a file of the folder; return them, and the bytes that the file takes on
        the disk.

        Raises:
            InputError: the folder has too few bytes left.
        """
        try:
            with tempfile.TemporaryFile(dir=self.folder) as file:
                _reserve(file.fileno(), nbytes)
                disk_bytes = (
                    os.fstat(file.fileno()).st_blocks * SECTOR if TELLS_FILE_SIZE else nbytes
                )
                mapped = mmap.mmap(file.fileno(), nbytes)
        except OSError as error:
            raise InputError(
                f"{self.folder} has no {units.both(nbytes)} left for a map to wait in: "
                f"{error.strerror}; nothing was kept. Try another folder, or a smaller batch."
            ) from None
        return np.frombuffer(mapped, np.uint8), disk_bytes


def _reserve(file: int, nbytes: int) -> None:
    """Allocate the bytes of a file at once; on macOS and Windows they must be written for that."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, 0, nbytes)
        return
    for start in range(0, nbytes, PIECE):
        os.write(file, bytes(min(PIECE, nbytes - start)))
    os.fsync(file)


def host(given: object) -> Host:
    """Return the place for offloaded maps that a user named: ``"ram"``, or a folder.

    Raises:
        InputError: it is neither, or there is no such folder.
    """
    if isinstance(given, Host):
        return given
    if not isinstance(given, str | Path) or not str(given).strip():
        raise InputError(f"maps wait in 'ram' or in a folder, got {shorten(given)}; try 'ram'.")
    if given == RAM:
        return Host()
    if IN_PAGE:
        raise InputError("a web page has no disk for maps to wait on; try 'ram'.")
    folder = Path(given)
    if not folder.is_dir():
        raise InputError(
            f"{shorten(str(given))} is no folder for maps to wait in; try '/tmp', or 'ram'."
        )
    return Host(folder, os.statvfs(folder).f_frsize if TELLS_FILE_SIZE else 1)
