"""Amounts and axes in binary units: an address is a multiple of a power of two."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from memlab import units
from memlab.views import axis

EIGHT = 8
"""From so many of a unit on it is used."""


def unit_of(nbytes: int) -> str:
    """The unit for an arena of so many bytes: MiB, KiB or B."""
    return next((u for u in ("MiB", "KiB") if nbytes >= EIGHT * units.UNITS[u]), "B")


def plain(nbytes: int, unit: str, digits: int | None = None) -> str:
    """The number without its unit: whole where it is whole, else with one decimal."""
    if digits is None:
        digits = 0 if nbytes % units.UNITS[unit] == 0 else 1
    return units.in_unit(nbytes, unit, digits).removesuffix(f" {unit}")


def amount(nbytes: int) -> str:
    """``'13 MiB'``, ``'2,585.4 MiB'``, ``'36 KiB'``, ``'40 B'``."""
    unit = next((u for u in ("MiB", "KiB") if nbytes >= units.UNITS[u]), "B")
    return f"{plain(nbytes, unit)} {unit}"


def parts(total: int, *summands: int) -> tuple[str, list[str], str]:
    """A sum whose rounded parts add up on the page: the total, its parts, the unit of all."""
    unit = unit_of(total)
    size = units.UNITS[unit]
    numbers = (total, *summands)
    tries = (0,) if all(n % size == 0 for n in numbers) else (1, 2, 3, 0, 4, 5, 6)
    rounded = {d: [round(Fraction(n * 10**d, size)) for n in numbers] for d in tries}
    digits = next((d for d in tries if rounded[d][0] == sum(rounded[d][1:])), 1)
    first, *others = (plain(n, unit, digits) for n in numbers)
    return first, others, unit


@dataclass(frozen=True, slots=True)
class Scale:
    """Addresses from ``first`` to ``end`` bytes, a tick at every ``step`` bytes."""

    end: int
    step: int
    unit: str
    first: int = 0

    @property
    def ticks(self) -> list[tuple[int, str]]:
        """Addresses and their labels in the unit."""
        values = range(self.first, self.end + 1, self.step)
        return [(n, plain(n, self.unit)) for n in values]

    @property
    def title(self) -> str:
        """Its end with the unit."""
        return f"{plain(self.end, self.unit)} {self.unit}"


def toy(total: int) -> Scale:
    """The axis of the toy ends with all of its tensors on top of each other, and stays so."""
    return Scale(total, 2 * units.UNITS["MiB"], "MiB")


def over(nbytes: int) -> Scale:
    """The shortest round axis a little above an amount."""
    unit = unit_of(nbytes)
    size = units.UNITS[unit]
    found = axis.over(-(-nbytes // size))
    return Scale(found.end * size, found.step * size, unit)


def between(low: int, high: int) -> Scale:
    """The round axis around some addresses."""
    found = over(high - low)
    step = found.step
    return Scale(-(-high // step) * step, step, found.unit, low // step * step)
