"""A file is written whole or not at all: one that was cut short would pass for another."""

from __future__ import annotations

import os
from pathlib import Path


def write(target: Path, content: str | bytes) -> None:
    """Put ``content`` in the place of a file; a text is UTF-8, its lines end alike everywhere.

    Raises:
        OSError: the folder cannot be written to; what was there is there still.
        UnicodeEncodeError: a text that UTF-8 has no bytes for.
    """
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    data = content.encode() if isinstance(content, str) else content
    try:
        part.write_bytes(data)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
