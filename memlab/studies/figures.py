"""Figures as text, where ``units`` has no form of its own: tables in columns, durations."""

from __future__ import annotations

from collections.abc import Sequence

SECONDS = {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}


def columns(cells: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """Cells in columns; the first ``left`` are flush left, the numbers after them flush right."""
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "   ".join(
            cell.ljust(width) if index < left else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]


def duration(seconds: float) -> str:
    """Three digits: ``'1.83 s'``, ``'34.2 ms'``."""
    unit = next((unit for unit, size in SECONDS.items() if seconds >= 0.9995 * size), "ns")
    value = seconds / SECONDS[unit]
    return f"{value:.{_digits(value)}f} {unit}"


def _digits(value: float) -> int:
    """How many behind the point make three, but for large numbers."""
    return 2 if value < 9.995 else 1 if value < 99.95 else 0
