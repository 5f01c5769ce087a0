"""Figures as text, where ``units`` has no form of its own: tables, durations, ratios, powers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any
from unicodedata import east_asian_width

from memlab import strings

_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
SECONDS = {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}


@dataclass(frozen=True)
class Study:
    """What a picture shows: its title, what its figures say, and how they came about."""

    @property
    def title(self) -> str:
        """What it is about, in one line."""
        raise NotImplementedError

    @property
    def sentences(self) -> list[str]:
        """What the figures say."""
        raise NotImplementedError

    @property
    def notes(self) -> list[str]:
        """How and where they were taken."""
        return []

    def text(self) -> str:
        """Title, sentences and notes; a picture's own text has the figures too."""
        return "\n".join([f"{self.title}.", *self.sentences, *self.notes])

    def as_dict(self) -> dict[str, Any]:
        """The same, and every figure."""
        said = {"title": self.title, "sentences": self.sentences, "notes": self.notes}
        return said | asdict(self)


def columns(cells: Sequence[Sequence[str]], left: int = 1, align: str = "") -> list[str]:
    """Cells in columns; the first ``left`` are flush left, the numbers after them flush right.

    ``align`` says it column by column instead. A Chinese or Japanese character takes two places.

    >>> columns([["batch", "bytes"], ["8", "1,024"]], align="<>")
    ['batch   bytes', '8       1,024']
    """
    align = align or "<" * left
    widths = [max(map(_places, column)) for column in zip(*cells, strict=True)]
    return ["   ".join(_padded(row, widths, align)).rstrip() for row in cells]


def _padded(row: Sequence[str], widths: list[int], align: str) -> Iterator[str]:
    for index, (cell, width) in enumerate(zip(row, widths, strict=True)):
        blank = " " * (width - _places(cell))
        yield cell + blank if align[index : index + 1] == "<" else blank + cell


def _places(cell: str) -> int:
    return len(cell) + sum(east_asian_width(char) in "WF" for char in cell)


def duration(seconds: float) -> str:
    """Three digits: ``'1.83 s'``, ``'34.2 ms'``."""
    unit = next((unit for unit, size in SECONDS.items() if seconds >= 0.9995 * size), "ns")
    value = seconds / SECONDS[unit]
    return f"{value:.{_digits(value)}f} {unit}"


def ratio(value: float) -> str:
    """Three digits: ``'1.25'``, ``'57.0'``, ``'200,704'``."""
    return f"{value:,.{_digits(value)}f}"


def billions(rate: float) -> str:
    """Three digits of a rate by 10^9: ``'57.0'``."""
    return ratio(rate / 1e9)


def percent(part: float) -> str:
    """``'1.7 %'``."""
    return f"{100 * part:.1f} %"


def raised(power: int, base: int = 2) -> str:
    """``'2⁻²⁴'``."""
    return f"{base}{str(power).translate(_SUPERSCRIPT)}"


def figure(value: float, digits: int = 3) -> str:
    """So many digits, small and large ones with a power of ten: ``'0.0135'``, ``'2.6·10⁻⁷'``."""
    if not isfinite(value):
        return strings.get(f"training.{'nan' if value != value else 'infinity'}")
    text = f"{value:.{digits}g}"
    if value == 0 or 1e-3 <= abs(value) < 1e6:
        return f"{float(text):,.15g}"
    part, _, power = f"{value:.{digits - 1}e}".partition("e")
    part = f"{float(part):g}"
    ten = raised(int(power), 10)
    return ten if part == "1" else f"{part}·{ten}"


def _digits(value: float) -> int:
    """How many behind the point make three, but for large numbers."""
    return 2 if value < 9.995 else 1 if value < 99.95 else 0
