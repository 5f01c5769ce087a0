"""The axes of time and workspace: bytes by powers of ten, time from 0."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import log10

from memlab import units
from memlab.views import axis
from memlab.views.speed.words import SECONDS

LONG = 4
"""A time of more than so many times the least is drawn beyond the end of the axis."""


@dataclass(frozen=True, slots=True)
class Decades:
    """Bytes from ``10**first`` to ``10**last``, each power as far from the one before."""

    first: int
    last: int

    def place(self, nbytes: int) -> float:
        """Where an amount lies, from 0 to 1; less than the first power lies at 0."""
        reach = log10(nbytes) - self.first if nbytes else 0.0
        return max(0.0, reach / (self.last - self.first))

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Places and labels of the powers."""
        powers = [10**power for power in range(self.first, self.last + 1)]
        return [(self.place(nbytes), power_of_ten(nbytes)) for nbytes in powers]


def decades(sizes: Iterable[int]) -> Decades:
    """The powers around some amounts; the least one that is not 0 has a length."""
    some = [size for size in sizes if size] or [1]
    first, last = len(str(min(some))) - 1, len(str(max(some) - 1))
    first -= 10**first == min(some)
    return Decades(max(first, 0), max(last, first + 1))


def power_of_ten(nbytes: int) -> str:
    """``'10 kB'``."""
    unit = next(unit for unit in reversed(units.DECIMAL) if nbytes >= units.DECIMAL[unit])
    return units.in_unit(nbytes, unit, 0)


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds from 0 to ``end``."""

    end: float
    step: float

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Seconds and labels, all in one unit, which the last one names."""
        unit = next(unit for unit, size in SECONDS.items() if self.end >= size)
        count = round(self.end / self.step)
        labels = [f"{index * self.step / SECONDS[unit]:.4g}" for index in range(count + 1)]
        labels[-1] += f" {unit}"
        return [(index * self.step, label) for index, label in enumerate(labels)]


def times(seconds: Iterable[float]) -> Times:
    """A round axis for all but times that are long beside the least."""
    found = list(seconds)
    most = max(each for each in found if each <= LONG * min(found))
    whole = axis.over(max(1, round(1e9 * most)), axis.TIGHT)
    return Times(whole.end / 1e9, whole.step / 1e9)
