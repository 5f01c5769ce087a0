"""How wide a text is: the advance widths of Arial, which Helvetica and Liberation Sans share.

A picture is laid out before any browser sees it, so it must know where its texts end.
"""

from __future__ import annotations

from functools import lru_cache
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


@lru_cache(maxsize=4096)
def width(text: str, size: float = 12, bold: bool = False) -> float:
    """The width of one line of text in the unit of ``size``, the height of the type.

    >>> width("12 GB", 10)
    30.57
    """
    table = _BOLD if bold else _REGULAR
    return sum(_advance(char, table) for char in text) * size / 1000


def wrap(text: str, room: float, size: float = 12) -> list[str]:
    """The text in lines of at most ``room``, broken at spaces; a longer word stands alone."""
    return ["".join(piece for piece, _ in line) for line in flow([(text, False)], room, size)]


Line = list[tuple[str, bool]]
"""Pieces of text, True for bold."""


def flow(sentences: Line, room: float, size: float) -> list[Line]:
    """Sentences one after the other in lines of at most ``room``."""
    lines: list[Line] = []
    left = 0.0
    for text, bold in sentences:
        for word in text.split(" "):
            wide, space = width(word, size, bold), width(" ", size, bold)
            if not lines or left + space + wide > room:
                lines.append([(word, bold)])
                left = wide
                continue
            last, heavy = lines[-1][-1]
            if heavy is bold:
                lines[-1][-1] = (f"{last} {word}", bold)
            else:
                lines[-1][-1] = (f"{last} ", heavy)
                lines[-1].append((word, bold))
            left += space + wide
    return lines


def fitted(text: str, room: float, size: float = 12) -> str:
    """The text, or as much of its end as fits behind an ellipsis: names differ at their end."""
    if width(text, size) <= room:
        return text
    while text and width(f"…{text}", size) > room:
        text = text[1:]
    return f"…{text}"


def shortened(text: str, room: float, size: float = 12) -> str:
    """The text, or as much of its beginning as fits before an ellipsis."""
    if width(text, size) <= room:
        return text
    while text and width(f"{text}…", size) > room:
        text = text[:-1]
    return f"{text.rstrip()}…"


def _advance(char: str, table: tuple[int, ...]) -> int:
    index = ord(char) - 32
    if 0 <= index < len(table):
        return table[index]
    if char in _OTHERS:
        return _OTHERS[char]
    return 1000 if east_asian_width(char) in "WF" else _UNKNOWN
