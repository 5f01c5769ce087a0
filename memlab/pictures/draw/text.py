"""Text before any browser sees it: how wide it is, where its lines break.

Widths are the advance widths of Arial, which Helvetica and Liberation Sans share. A picture tells
the browser the width that it counted on, so that another font fits too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, takewhile
from unicodedata import east_asian_width

_REGULAR = (
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556,
    556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667,
    611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667,
    667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500,
    222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
)  # fmt: skip
_BOLD = (
    278, 333, 474, 556, 556, 889, 722, 238, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556,
    556, 556, 556, 556, 556, 556, 556, 333, 333, 584, 584, 584, 611, 975, 722, 722, 722, 722, 667,
    611, 778, 722, 278, 556, 722, 611, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667,
    667, 611, 333, 278, 333, 584, 556, 333, 556, 611, 556, 611, 556, 333, 611, 611, 278, 278, 556,
    278, 889, 611, 611, 611, 611, 389, 556, 333, 611, 556, 778, 556, 556, 500, 389, 280, 389, 584,
)  # fmt: skip
_OTHERS = {
    "·": 278,
    "×": 584,
    "−": 584,
    "–": 556,
    "…": 1000,
    "↑": 500,
    "↓": 500,
    "→": 1000,
    **dict.fromkeys("⁰¹²³⁴⁵⁶⁷⁸⁹", 333),
}
_UNKNOWN = 600
PART = re.compile(r"[^ ._/]+[ ._/]*|[ ._/]+")
"""A part of a name, with what stands between it and the next one."""


# ruff: noqa: RUF001 - what looks like Latin signs are those of Chinese and Japanese
_OPENING = "（「『【〈《〔［｛"
_CLOSING = "、。，．・：；？！）」』】〉》〕］｝…ーぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮヵヶ々％"
_WIDE = (
    "\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6"
)
_ATOM = re.compile(
    rf" ?[{_OPENING}]*(?:(?![{_OPENING}{_CLOSING}])[{_WIDE}]|[^ {_WIDE}]+)?[{_CLOSING}]*"
)
"""What no line breaks: a word, or one Chinese or Japanese character, with the marks that may not
begin or end a line; a space before it is part of it."""

Line = list[tuple[str, bool]]
"""Pieces of text, True for bold."""
Runs = str | Sequence[tuple[str, bool]]
"""A line of text: plain, or pieces of which some are bold."""


@lru_cache(maxsize=8192)
def width(text: str, size: float = 12, bold: bool = False) -> float:
    """The width of one line of text in the unit of ``size``, the height of the type.

    >>> width("12 GB", 10)
    30.57
    """
    table = _BOLD if bold else _REGULAR
    return sum(_advance(char, table) for char in text) * size / 1000


def measure(content: Runs, size: float = 12, bold: bool = False) -> float:
    """The width of one line, plain or of pieces."""
    if isinstance(content, str):
        return width(content, size, bold)
    return sum(width(piece, size, heavy) for piece, heavy in content)


def emphasized(title: str) -> Runs:
    """What stands between asterisks is bold."""
    parts = enumerate(map(str.strip, title.split("*")))
    return [(part, index % 2 == 1) for index, part in parts if part]


def plain(content: Runs) -> str:
    """A line without its bold."""
    return content if isinstance(content, str) else "".join(piece for piece, _ in content)


# -- lines --------------------------------------------------------------------------------------


def wrap(text: str, room: float, size: float = 12, bold: bool = False) -> list[str]:
    """The text in lines of at most ``room``; a word that is longer stands alone."""
    return [plain(line) for line in flow([(text, bold)], room, size)]


def flow(sentences: Sequence[tuple[str, bool]], room: float, size: float) -> list[Line]:
    """Sentences one after the other, a space between them, in lines of at most ``room``.

    A line breaks at a space, and between Chinese or Japanese characters.
    """
    lines: list[Line] = []
    left = 0.0
    for atom, bold in _atoms(sentences):
        wide = width(atom, size, bold)
        if not lines or left + wide > room:
            atom = atom.removeprefix(" ")
            lines.append([(atom, bold)])
            left = width(atom, size, bold)
            continue
        _append(lines[-1], atom, bold)
        left += wide
    return lines


def _atoms(sentences: Sequence[tuple[str, bool]]) -> Iterator[tuple[str, bool]]:
    for index, (text, bold) in enumerate(sentences):
        atoms = filter(None, _ATOM.findall(f" {text}" if index else text))
        yield from ((atom, bold) for atom in atoms)


def _append(line: Line, atom: str, bold: bool) -> None:
    last, heavy = line[-1]
    if heavy is bold:
        line[-1] = (last + atom, bold)
        return
    space = " " if atom.startswith(" ") else ""
    line[-1] = (last + space, heavy)
    line.append((atom.removeprefix(" "), bold))


def fitted(text: str, room: float, size: float = 12) -> str:
    """The text, or as many of its last parts as fit behind an ellipsis: names differ at their end.
    A part that is too long alone is cut at its own end."""
    if width(text, size) <= room:
        return text
    first, *others = PART.findall(text) or [text]
    kept = ""
    for part in reversed(others):
        if width(f"…{part}{kept}", size) > room:
            break
        kept = f"{part}{kept}"
    return f"…{kept}" if kept else shortened(f"…{others[-1]}" if others else first, room, size)


def shortened(text: str, room: float, size: float = 12, bold: bool = False) -> str:
    """The text, or as much of its beginning as fits before an ellipsis."""
    if width(text, size, bold) <= room:
        return text
    return f"{text[: _fitting(text, room, size, bold)].rstrip()}…"


def _fitting(text: str, room: float, size: float, bold: bool = False) -> int:
    """Number of first characters that have room beside an ellipsis."""
    table = _BOLD if bold else _REGULAR
    ends = accumulate((_advance(char, table) for char in text), initial=_advance("…", table))
    fits = takewhile(lambda end: end * size / 1000 <= room, ends)
    return max(0, sum(1 for _ in fits) - 1)


def _advance(char: str, table: tuple[int, ...]) -> int:
    index = ord(char) - 32
    if 0 <= index < len(table):
        return table[index]
    if char in _OTHERS:
        return _OTHERS[char]
    return 1000 if east_asian_width(char) in "WF" else _UNKNOWN
