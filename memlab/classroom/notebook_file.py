"""Code cells of a notebook that somebody handed in: read as data, with limits."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any, NoReturn

from memlab.errors import InputError, visible

BYTES = 2**24
"""Most bytes of a notebook; its outputs count too."""
CELLS, LETTERS = 1000, 10**6
"""Most cells of a notebook, and most characters of their code."""


def code_cells(path: Path) -> list[str]:
    """Return the code of a notebook's cells, in order.

    Raises:
        InputError: it is no file, too large, or no notebook; nothing of it is run.
    """
    try:
        notebook = json.loads(
            _content(path), object_pairs_hook=_once, parse_constant=_no_number, parse_int=_short
        )
    except InputError:  # of the file itself
        raise
    except (ValueError, RecursionError) as error:
        raise _refused(path, f"it is no notebook ({_reason(error)})") from None
    cells = notebook.get("cells") if type(notebook) is dict else None
    if type(cells) is not list or len(cells) > CELLS:
        raise _refused(path, f"it has no list of at most {CELLS:,} cells")
    codes = [_source(path, cell) for cell in cells if _is_code(cell)]
    if sum(map(len, codes)) > LETTERS:
        raise _refused(path, f"its code has more than {LETTERS:,} characters")
    return codes


def _content(path: Path) -> str:
    """Return the text of a regular file that is no link.

    Raises:
        InputError: it is anything else, or too large.
        UnicodeDecodeError: it is no text.
    """
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise _refused(path, f"it cannot be read ({error.strerror})") from None
    try:
        about = os.fstat(file)
        if not stat.S_ISREG(about.st_mode):
            raise _refused(path, "it is no file")
        if about.st_size > BYTES:
            raise _refused(path, f"it has {about.st_size:,} B, and {BYTES:,} B are allowed")
        with open(file, "rb", closefd=False) as stream:
            return stream.read(BYTES).decode("utf-8-sig")
    finally:
        os.close(file)


def _refused(path: Path, why: str) -> InputError:
    return InputError(f"{path.name} is not graded: {why}; ask for the notebook again.")


def _reason(error: Exception) -> str:
    """Return what is wrong with a file as a few words."""
    if isinstance(error, RecursionError):
        return "lists too deep"
    return visible(str(error).split("\n")[0])[:100]


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON; one with a key twice is read differently by different programs."""
    named = dict(pairs)
    if len(named) < len(pairs):
        raise ValueError("a key that stands twice")
    return named


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def _short(digits: str) -> int:
    if len(digits) > 20:
        raise ValueError("a number of too many digits")
    return int(digits)


def _is_code(cell: Any) -> bool:
    return type(cell) is dict and cell.get("cell_type") == "code"


def _source(path: Path, cell: dict[str, Any]) -> str:
    """Return the code of a cell, which is a text or a list of lines."""
    source = cell.get("source", "")
    lines = source if type(source) is list else [source]
    if not all(type(line) is str for line in lines):
        raise _refused(path, "the source of a cell is no text")
    return "".join(lines).encode("utf-8", "replace").decode()
