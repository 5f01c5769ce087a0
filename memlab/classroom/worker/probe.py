"""Trial of each limit, in a process that is confined as a submission is: what it could do that it
must not."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

PIECE = 2**20
"""Bytes that are asked for at a time."""


def report(order: dict[str, Any]) -> list[str]:
    """Return the names of the things that were possible here, and must not be. ``order`` has what
    is tried; ``only`` names the one trial, or is empty for all but that of memory."""
    tried = [order["only"]] if order["only"] else [name for name in TRIALS if name != "memory"]
    return [name for name in tried if TRIALS[name](order)]


def _reaches(order: dict[str, Any]) -> bool:
    """True if a program that listens on this machine can be reached."""
    try:
        socket.create_connection(("127.0.0.1", order["port"]), timeout=2).close()
    except OSError:
        return False
    return True


def _forks(order: dict[str, Any]) -> bool:
    """True if more processes can be started than are allowed."""
    children: list[int] = []
    try:
        for _ in range(order["processes"] + 1):
            child = os.fork()
            if not child:
                time.sleep(10)
                os._exit(0)
            children.append(child)
    except OSError:
        return False
    finally:
        for child in children:
            os.kill(child, 9)
            os.waitpid(child, 0)
    return True


def _writes(order: dict[str, Any]) -> bool:
    """True if a file can be written outside of the empty folder."""
    for folder in order["folders"]:
        path = os.path.join(folder, "memlab-probe")
        with suppress(OSError):
            with open(path, "w") as file:
                file.write("written")
            os.unlink(path)
            return True
    return False


def _fills(order: dict[str, Any]) -> bool:
    """True if more bytes can be written to the empty folder than are allowed."""
    return _fills_folder(os.getcwd(), order["disk"]) or _fills_folder("/dev/shm", order["disk"])


def _fills_folder(folder: str, most: int) -> bool:
    paths = [os.path.join(folder, f"memlab-probe-{n}") for n in range(2)]
    try:
        for path in paths:
            with open(path, "wb") as file:
                for _ in range(0, most // 2 + PIECE, PIECE):
                    file.write(bytes(PIECE))
    except OSError:
        return False
    finally:
        for path in paths:
            with suppress(OSError):
                os.unlink(path)
    return True


def _opens(order: dict[str, Any]) -> bool:
    """True if more files can be opened than are allowed."""
    files: list[int] = []
    try:
        for _ in range(order["files"] + 1):
            files.append(os.open("/dev/null", os.O_RDONLY))
    except OSError:
        return False
    finally:
        for file in files:
            os.close(file)
    return True


def _takes(order: dict[str, Any]) -> bool:
    """True if more memory can be filled than is allowed."""
    held = []
    try:
        for _ in range(0, order["memory"] + 2 * PIECE, PIECE):
            held.append(b"x" * PIECE)
    except MemoryError:
        return False
    return True


def _reads(order: dict[str, Any]) -> bool:
    """True if one of the files with the answers is there."""
    return any(os.path.exists(path) for path in order["answers"])


def _is_root(order: dict[str, Any]) -> bool:
    """True for a user who may do anything."""
    with open("/proc/self/status") as file:
        rights = next(line for line in file if line.startswith("CapEff"))
    return os.getuid() == 0 or int(rights.split()[1], 16) != 0


TRIALS: dict[str, Callable[[dict[str, Any]], bool]] = {
    "network": _reaches,
    "processes": _forks,
    "write outside": _writes,
    "disk": _fills,
    "open files": _opens,
    "read the answers": _reads,
    "rights": _is_root,
    "memory": _takes,
}
"""The trials by the name that a message gives them."""
