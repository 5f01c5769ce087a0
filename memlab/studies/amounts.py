"""Amounts for people, where ``units`` has no form of its own: equations, shares, changes."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from memlab import units


def unit_of(nbytes: int) -> str:
    """The largest decimal unit that the amount fills; below 1 MB it is bytes."""
    return next((u for u in ("TB", "GB", "MB") if abs(nbytes) >= units.DECIMAL[u]), "B")


def sum_of(total: int, parts: Sequence[int]) -> tuple[str, list[str]]:
    """The total with its unit and the parts without, all rounded alike and adding up on the page.

    Three decimals, or the next best number of them with which rounded parts make a rounded total.

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
    """The same amount in the binary unit beside it: ``'2.734 GiB'``; empty below 1 MB."""
    unit = {"TB": "TiB", "GB": "GiB", "MB": "MiB"}.get(unit_of(nbytes))
    return units.in_unit(nbytes, unit, 3) if unit else ""


def percent(part: int, whole: int) -> str:
    """``'92.8'``; nothing has a share in nothing."""
    return f"{round(Fraction(1000 * part, whole)) / 10:,.1f}" if whole else "0.0"


def signed(nbytes: int) -> str:
    """A difference with its sign: ``'+102 MB'``, ``'−2.730 GB'``."""
    return f"{'−' if nbytes < 0 else '+'}{units.short(abs(nbytes))}"


def change(before: int, after: int) -> str:
    """The change in percent with its sign: ``'+92.8 %'``, ``'−7.7 %'``."""
    sign = "−" if after < before else "+"
    return f"{sign}{percent(abs(after - before), before)} %"


def _adds_up(total: int, parts: Sequence[int], size: int, digits: int) -> bool:
    return sum(_rounded(n, size, digits) for n in parts) == _rounded(total, size, digits)


def _rounded(nbytes: int, size: int, digits: int) -> int:
    return round(Fraction(nbytes * 10**digits, size))


# -- in binary units: an address is a multiple of a power of two -----------------------------------


def binary_unit(nbytes: int) -> str:
    """The unit for an arena of so many bytes: MiB, KiB or B."""
    return next((u for u in ("MiB", "KiB") if nbytes >= 8 * units.UNITS[u]), "B")


def number(nbytes: int, unit: str, digits: int | None = None) -> str:
    """The number without its unit: whole where it is whole, else with one decimal."""
    if digits is None:
        digits = 0 if nbytes % units.UNITS[unit] == 0 else 1
    return units.in_unit(nbytes, unit, digits).removesuffix(f" {unit}")


def in_binary(nbytes: int) -> str:
    """``'13 MiB'``, ``'2,585.4 MiB'``, ``'36 KiB'``, ``'40 B'``."""
    unit = next((u for u in ("MiB", "KiB") if nbytes >= units.UNITS[u]), "B")
    return f"{number(nbytes, unit)} {unit}"


def binary_sum(total: int, parts: Sequence[int]) -> tuple[str, list[str], str]:
    """A total and its parts without their unit, rounded so that they add up, and the unit."""
    unit = binary_unit(total)
    size = units.UNITS[unit]
    tries = (0,) if all(n % size == 0 for n in (total, *parts)) else (1, 2, 3, 0, 4, 5, 6)
    digits = next((d for d in tries if _adds_up(total, parts, size, d)), 1)
    return number(total, unit, digits), [number(n, unit, digits) for n in parts], unit
