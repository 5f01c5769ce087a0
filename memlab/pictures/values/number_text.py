"""Numbers as text, where ``units`` has no form of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import isfinite
from typing import TYPE_CHECKING
from unicodedata import east_asian_width

from memlab import strings, units
from memlab.moved import old_names

_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
MOST = 1_000_000
"""The largest batch that a view takes."""
SECONDS = {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}


def batches(largest: int) -> str:
    """Return a largest batch as text. It is given as more than ``MOST`` where nobody trains with so
    many samples; a toy network would allow a hundred million on a card of 12 GB."""
    return f"{largest:,}" if largest <= MOST else strings.get("views.or_more", count=f"{MOST:,}")


def columns(cells: Sequence[Sequence[str]], left: int = 1, align: str = "") -> list[str]:
    """Return cells aligned in columns. The first ``left`` columns are aligned to the left, and
    numbers after them to the right.

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
    """Return a duration with three digits: ``'1.83 s'``, ``'34.2 ms'``."""
    unit = next((unit for unit, size in SECONDS.items() if seconds >= 0.9995 * size), "ns")
    value = seconds / SECONDS[unit]
    return f"{value:.{_digits(value)}f} {unit}"


def ratio(value: float) -> str:
    """Return a ratio with three digits: ``'1.25'``, ``'57.0'``, ``'200,704'``."""
    return f"{value:,.{_digits(value)}f}"


def billions(rate: float) -> str:
    """Return a rate divided by 10^9, with three digits: ``'57.0'``."""
    return ratio(rate / 1e9)


def share(part: float) -> str:
    """Return a share in percent: ``'1.7 %'``."""
    return f"{100 * part:.1f} %"


def signed_percent(value: float) -> str:
    """Return a change in percent with its sign: ``'+20.2 %'``, ``'−3.1 %'``, ``'+0.0 %'``."""
    return f"{'−' if value < -0.05 else '+'}{abs(value):,.1f} %"


def power_text(power: int, base: int = 2) -> str:
    """Return a power as text: ``'2⁻²⁴'``."""
    return f"{base}{str(power).translate(_SUPERSCRIPT)}"


def figure(value: float, digits: int = 3) -> str:
    """Return a value with the given digits. Small and large values have a power of ten:
    ``'0.0135'``, ``'2.6·10⁻⁷'``."""
    if not isfinite(value):
        return strings.get(f"training.{'nan' if value != value else 'infinity'}")
    text = f"{value:.{digits}g}"
    if value == 0 or 1e-3 <= abs(value) < 1e6:
        return f"{float(text):,.15g}"
    part, _, power = f"{value:.{digits - 1}e}".partition("e")
    part = f"{float(part):g}"
    ten = power_text(int(power), 10)
    return ten if part == "1" else f"{part}·{ten}"


def _digits(value: float) -> int:
    """Number of decimals that make three digits, but for large numbers."""
    return 2 if value < 9.995 else 1 if value < 99.95 else 0


# -- amounts of bytes: equations, shares, changes -------------------------------------------------


def unit_of(nbytes: int) -> str:
    """Return the largest decimal unit that is no larger than the amount. Below 1
    MB, it is bytes."""
    return next((u for u in ("TB", "GB", "MB") if abs(nbytes) >= units.DECIMAL[u]), "B")


def hundredths(nbytes: int) -> str:
    """Return bytes with two decimals, enough for free memory, which changes quickly."""
    return units.in_unit(nbytes, unit_of(nbytes), 2)


def three_digits(nbytes: int) -> str:
    """Return bytes with three digits: ``'2.94 GB'``, ``'102 MB'``, ``'56 B'``."""
    unit = next((u for u in ("TB", "GB", "MB", "kB") if abs(nbytes) >= _least(u)), "B")
    return units.in_unit(nbytes, unit, _digits(abs(nbytes) / units.UNITS[unit]) * (unit != "B"))


def round_bytes(nbytes: float) -> str:
    """Return bytes with at most three digits, and no zeros behind the point: ``'6 GB'``."""
    amount, unit = three_digits(int(nbytes)).split()
    return f"{float(amount.replace(',', '')):g} {unit}"


def three_digits_of_sum(total: int, parts: Sequence[int]) -> tuple[str, list[str]]:
    """The total in three digits, always as many of them, and its parts in its unit with one more
    decimal: added up, they round to it.

    >>> three_digits_of_sum(513_840_000, [411_400_000, 102_440_000])
    ('514 MB', ['411.4', '102.4'])
    """
    unit = next((u for u in ("TB", "GB", "MB") if abs(total) >= _least(u)), "B")
    more = 0 if unit == "B" else _digits(abs(total) / units.UNITS[unit]) + 1
    shown = [units.in_unit(n, unit, more).removesuffix(f" {unit}") for n in parts]
    return units.exact(total) if unit == "B" else three_digits(total), shown


def sum_of(total: int, parts: Sequence[int]) -> tuple[str, list[str]]:
    """Return the total with its unit, and the parts without, rounded so that they add up: to three
    decimals, or to the nearest number of decimals at which they do.

    >>> sum_of(2_935_804_128, [212_652_256, 2_723_151_872])
    ('2.936 GB', ['0.213', '2.723'])
    """
    unit = unit_of(total)
    size = units.UNITS[unit]
    tries = (0,) if unit == "B" else (3, 2, 4, 1, 5, 6, 7, 8, 9, 10, 11, 12)
    digits = next(d for d in tries if _adds_up(total, parts, size, d))
    shown = [units.in_unit(n, unit, digits).removesuffix(f" {unit}") for n in parts]
    return units.in_unit(total, unit, digits), shown


def binary(nbytes: int) -> str:
    """Return the amount in binary units: ``'2.734 GiB'``; empty below 1 MB."""
    unit = {"TB": "TiB", "GB": "GiB", "MB": "MiB"}.get(unit_of(nbytes))
    return units.in_unit(nbytes, unit, 3) if unit else ""


def exact_text(text: str, nbytes: int) -> str:
    """Return a text of an amount, or the exact bytes if the text is rounded.

    >>> exact_text("12 GB", 12 * 10**9), exact_text("12.9 GB", 12_884_901_888)
    ('12 GB', '12884901888 B')
    """
    return text if units.parse(text) == nbytes else f"{nbytes} B"


def percent(part: int, whole: int) -> str:
    """Return a share in percent: ``'92.8'``. A share of nothing is 0."""
    return f"{round(Fraction(1000 * part, whole)) / 10:,.1f}" if whole else "0.0"


def signed(nbytes: int) -> str:
    """Return a difference with its sign: ``'+102 MB'``, ``'−2.730 GB'``."""
    return f"{'−' if nbytes < 0 else '+'}{units.short(abs(nbytes))}"


def change(before: int, after: int) -> str:
    """Return a change in percent with its sign: ``'+92.8 %'``, ``'−7.7 %'``."""
    sign = "−" if after < before else "+"
    return f"{sign}{percent(abs(after - before), before)} %"


def _least(unit: str) -> float:
    """Return the bytes from which a unit is used with three digits: 999.6 MB are 1.00 GB."""
    return 0.9995 * units.DECIMAL[unit]


def _adds_up(total: int, parts: Sequence[int], size: int, digits: int) -> bool:
    return sum(_rounded(n, size, digits) for n in parts) == _rounded(total, size, digits)


def _rounded(nbytes: int, size: int, digits: int) -> int:
    return round(Fraction(nbytes * 10**digits, size))


# -- in binary units: an address is a multiple of a power of two -----------------------------------


def number(nbytes: int, unit: str, digits: int | None = None) -> str:
    """Return the number without its unit: without decimals if it is whole, else with one."""
    if digits is None:
        digits = 0 if nbytes % units.UNITS[unit] == 0 else 1
    return units.in_unit(nbytes, unit, digits).removesuffix(f" {unit}")


def in_binary(nbytes: int) -> str:
    """Return bytes in binary units: ``'13 MiB'``, ``'2,585.4 MiB'``, ``'36 KiB'``, ``'40 B'``."""
    unit = next((u for u in ("MiB", "KiB") if nbytes >= units.UNITS[u]), "B")
    return f"{number(nbytes, unit)} {unit}"


if not TYPE_CHECKING:  # a checker of types sees the new names only
    __getattr__ = old_names(__name__)
