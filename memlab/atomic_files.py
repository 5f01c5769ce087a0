"""A file is written whole or not at all: one that was cut short would pass for another.

Only a regular file is replaced. Links are followed; into a pipe or a device it is written.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from errno import EACCES, EISDIR
from functools import partial
from pathlib import Path

NEW = 0o666
"""The mode of a file that is new; the system takes the umask off."""


def write(target: Path, content: str | bytes) -> None:
    """Write ``content`` to a file, all of it or nothing. The file keeps its mode and, where the
    system allows it, its owner. A text is written as UTF-8 with the same line ends everywhere.
    If the file has another name (a hard link), that name keeps the old content.

    Raises:
        OSError: that cannot be done, with ``target`` as its file; a file that was there is there
            still.
        UnicodeEncodeError: a text that UTF-8 has no bytes for.
    """
    data = content.encode() if isinstance(content, str) else content
    try:
        file = place(target)
        if file is None:
            target.write_bytes(data)
        else:
            _replace(file, data)
    except OSError as error:
        if error.errno is not None:
            error.filename = str(target)  # not the part, nor None where a disk is full
        raise


def place(target: Path) -> Path | None:
    """Return the regular file that ``write`` creates or replaces, after all links are followed.
    Return None where something else is there, such as a pipe, which is written to as a stream.

    Raises:
        OSError: it cannot be written to, as far as that can be told without trying.
    """
    file = Path(os.path.realpath(target))
    try:
        kind = target.stat().st_mode
    except FileNotFoundError:
        kind = None
    if kind is not None:
        if stat.S_ISDIR(kind):
            raise IsADirectoryError(EISDIR, os.strerror(EISDIR), str(target))
        _allowed(target)
        if not (stat.S_ISREG(kind) and file.exists()):  # a pipe's name may lead to no file
            return None
    _allowed(file.parent)
    return file


def _allowed(path: Path) -> None:
    """Raise the system's error where the file does not exist or must not be written."""
    path.stat()
    if not os.access(path, os.W_OK):
        raise PermissionError(EACCES, os.strerror(EACCES), str(path))


def _replace(file: Path, data: bytes) -> None:
    part = file.with_name(f".{os.urandom(8).hex()}.part")
    old = file.stat() if file.exists() else None
    mode = stat.S_IMODE(old.st_mode) if old else NEW
    try:
        with open(part, "xb", opener=partial(os.open, mode=mode)) as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        if old is not None:
            _take_after(part, old)
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)


def _take_after(part: Path, old: os.stat_result) -> None:
    """Give a new file the owner and the mode of an old one. The new mode never allows more than the
    old one."""
    with suppress(OSError, AttributeError):  # root alone gives files away; Windows has no owners
        os.chown(part, old.st_uid, old.st_gid)
    with suppress(OSError):  # a file system without modes
        part.chmod(stat.S_IMODE(old.st_mode))
