"""Text layout before any browser sees the text: widths of lines and line breaks.

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
"""A part of a name, with the separators after it."""


# ruff: noqa: RUF001 - what looks like Latin signs are those of Chinese and Japanese
_OPENING = "（「『【〈《〔［｛"
_CLOSING = "、。，．・：；？！）」』】〉》〕］｝…ーぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮヵヶ々％"
_WIDE = (
    "\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6"
)
_ATOM = re.compile(
    rf" ?[{_OPENING}]*(?:(?![{_OPENING}{_CLOSING}])[{_WIDE}]|[^ {_WIDE}]+)?[{_CLOSING}]*"
)
"""A piece of text that no line breaks: a word, or one Chinese or Japanese character, with the
punctuation that may not begin or end a line, and the space before it."""

Line = list[tuple[str, bool]]
"""Pieces of one line of text, each with True for bold."""
Runs = str | Sequence[tuple[str, bool]]
"""A line of text: plain, or pieces of which some are bold."""


@lru_cache(maxsize=8192)
def width(text: str, size: float = 12, bold: bool = False) -> float:
    """Return the width of one line of text in the unit of ``size``, the height of the type.

    >>> width("12 GB", 10)
    28.35
    """
    table = _BOLD if bold else _REGULAR
    return sum(_advance(char, table) for char in text) * size / 1000


def measure(content: Runs, size: float = 12, bold: bool = False) -> float:
    """Return the width of one line, a plain text or pieces with their own weight, in the unit of
    ``size``."""
    if isinstance(content, str):
        return width(content, size, bold)
    return sum(width(piece, size, heavy) for piece, heavy in content)


def emphasized(title: str) -> Runs:
    """Return a title as pieces; those between asterisks are bold."""
    parts = enumerate(map(str.strip, title.split("*")))
    return [(part, index % 2 == 1) for index, part in parts if part]


def plain(content: Runs) -> str:
    """Return the text of a line without its weights."""
    return content if isinstance(content, str) else "".join(piece for piece, _ in content)


# -- lines --------------------------------------------------------------------------------------


def wrap(text: str, room: float, size: float = 12, bold: bool = False) -> list[str]:
    """Return the text in lines of at most ``room`` pixels; a longer word has a line of its own."""
    return [plain(line) for line in flow_lines([(text, bold)], room, size)]


def flow_lines(sentences: Sequence[tuple[str, bool]], room: float, size: float) -> list[Line]:
    """Return sentences, one after the other with a space between them, in lines of at most ``room``
    pixels.

    A line breaks at a space, and between Chinese or Japanese characters.

    Args:
        sentences: texts, each with True for bold.
        room: width of a line in pixels.
        size: size of the type in pixels.
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
    """Yield the pieces of all sentences that no line breaks, each with True for bold."""
    for index, (text, bold) in enumerate(sentences):
        atoms = filter(None, _ATOM.findall(f" {text}" if index else text))
        yield from ((atom, bold) for atom in atoms)


def _append(line: Line, atom: str, bold: bool) -> None:
    """Add a piece to a line, to its last piece where both have one weight."""
    last, heavy = line[-1]
    if heavy is bold:
        line[-1] = (last + atom, bold)
        return
    space = " " if atom.startswith(" ") else ""
    line[-1] = (last + space, heavy)
    line.append((atom.removeprefix(" "), bold))


def fitted(text: str, room: float, size: float = 12) -> str:
    """Return the text, or an ellipsis and as many of its last parts as fit in ``room`` pixels:
    names differ at their end. A single part that is too long is cut at its end."""
    if width(text, size) <= room:
        return text
    first, *others = PART.findall(text) or [text]
    end = ""
    for part in reversed(others):
        if width(f"…{part}{end}", size) > room:
            break
        end = f"{part}{end}"
    return f"…{end}" if end else shortened(f"…{others[-1]}" if others else first, room, size)


def shortened(text: str, room: float, size: float = 12, bold: bool = False) -> str:
    """Return the text, or as much of its beginning as fits in ``room`` pixels, and an ellipsis."""
    if width(text, size, bold) <= room:
        return text
    return f"{text[: _fitting(text, room, size, bold)].rstrip()}…"


def _fitting(text: str, room: float, size: float, bold: bool = False) -> int:
    """Return the number of first characters that fit in ``room`` pixels beside an ellipsis."""
    table = _BOLD if bold else _REGULAR
    ends = accumulate((_advance(char, table) for char in text), initial=_advance("…", table))
    fits = takewhile(lambda end: end * size / 1000 <= room, ends)
    return max(0, sum(1 for _ in fits) - 1)


def _advance(char: str, table: tuple[int, ...]) -> int:
    """Return the width of a character in thousandths of the size of the type."""
    index = ord(char) - 32
    if 0 <= index < len(table):
        return table[index]
    if char in _OTHERS:
        return _OTHERS[char]
    return 1000 if east_asian_width(char) in "WF" else _UNKNOWN
