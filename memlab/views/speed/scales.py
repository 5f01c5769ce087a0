"""The axes of time and workspace: from 0 for bars, by ratios for points far apart."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, log10

from memlab import units
from memlab.views import axis
from memlab.views.speed.words import SECONDS

LONG = 10
"""Points are drawn from 0 where the longest time is at most so many times the least."""
ROUND = tuple(digit * 10.0**power for power in range(-10, 7) for digit in (1, 2, 5))
"""Seconds at which an axis of ratios has a line."""


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

    def place(self, seconds: float) -> float:
        """Where a time lies, from 0 to 1."""
        return seconds / self.end

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Places and labels, all in one unit, which the last one names."""
        unit = next(unit for unit, size in SECONDS.items() if self.end >= size)
        count = round(self.end / self.step)
        labels = [f"{index * self.step / SECONDS[unit]:.4g}" for index in range(count + 1)]
        labels[-1] += f" {unit}"
        return [(index / count, label) for index, label in enumerate(labels)]


@dataclass(frozen=True, slots=True)
class Ratios:
    """Seconds from ``first`` to ``last``: equal ratios are equally far apart."""

    first: float
    last: float

    def place(self, seconds: float) -> float:
        """Where a time lies, from 0 to 1."""
        return log10(seconds / self.first) / log10(self.last / self.first)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Places and labels of the round times."""
        found = [each for each in ROUND if self.first <= each <= self.last]
        return [(self.place(each), _round(each)) for each in found]


def times(seconds: Iterable[float]) -> Times:
    """The shortest round axis from 0 that holds every time."""
    whole = axis.over(max(1, ceil(1e9 * max(seconds))), axis.TIGHT)
    return Times(whole.end / 1e9, whole.step / 1e9)


def heights(seconds: Iterable[float]) -> Times | Ratios:
    """An axis that holds every time: from 0, or of ratios where they are far apart."""
    found = list(seconds)
    if max(found) <= LONG * min(found):
        return times(found)
    first = max(each for each in ROUND if each <= 0.9 * min(found))
    return Ratios(first, min(each for each in ROUND if each >= max(found)))


def _round(seconds: float) -> str:
    """``'20 ms'``."""
    unit = next(unit for unit, size in SECONDS.items() if seconds >= 0.9995 * size)
    return f"{seconds / SECONDS[unit]:g} {unit}"
