"""Scales: where a value stands between 0 and 1, and the round values that an axis names.

Round ends, few ticks, one unit. A scale takes numbers and arrays alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor, log, log10
from typing import TYPE_CHECKING, Any

import numpy as np

from memlab import units
from memlab.moved import old_names
from memlab.pictures.values.number_text import SECONDS, unit_of

Tick = tuple[float, str]
"""A value and its label."""
TIGHT, SKY = Fraction(1), Fraction(26, 25)
"""An axis ends at what it shows, or at least this far above it: room for a flag."""


@dataclass(frozen=True)
class Scale:
    """From ``first`` to ``last``: equal differences are equally far apart. ``first`` may be the
    larger one, for pixels that are counted downwards. No ticks."""

    first: float
    last: float

    def at(self, value: Any) -> Any:
        """Where a value, or every value of an array, lies from 0 to 1."""
        return (value - self.first) / (self.last - self.first)

    @property
    def ticks(self) -> list[Tick]:
        """Round values and their labels."""
        return []

    def on(self, axis: Any, which: str) -> None:
        """Give the axis ``"x"`` or ``"y"`` of matplotlib's ``Axes`` these ends and ticks."""
        getattr(axis, f"set_{which}lim")(self.first, self.last)


@dataclass(frozen=True)
class LinearScale(Scale):
    """A tick at every ``step`` values; labels are in units of ``per``, the last one names
    ``unit``."""

    step: float
    unit: str = ""
    per: float = 1

    @property
    def ticks(self) -> list[Tick]:
        count = round((self.last - self.first) / self.step)
        values = [self.first + index * self.step for index in range(count + 1)]
        labels = [self.label(value) for value in values]
        labels[-1] = f"{labels[-1]} {self.unit}".rstrip()
        return list(zip(values, labels, strict=True))

    def label(self, value: float) -> str:
        """A value in the unit of the axis, without it."""
        exact = isinstance(value, int) and isinstance(self.per, int)
        return f"{float(Fraction(int(value), int(self.per)) if exact else value / self.per):,.10g}"

    @property
    def end(self) -> str:
        """The last value with its unit: ``'1.25 GB'``."""
        return f"{self.label(self.last)} {self.unit}".rstrip()


@dataclass(frozen=True)
class Steady(LinearScale):
    """One that a view keeps: what lies beyond it stands at its end."""

    def at(self, value: Any) -> Any:
        place = super().at(value)
        if hasattr(place, "tolist"):
            return np.minimum(np.maximum(place, 0.0), 1.0)
        return min(max(float(place), 0.0), 1.0)


@dataclass(frozen=True)
class LogScale(Scale):
    """Powers of ``base`` from ``first`` to ``last``: equal ratios are equally far apart. What lies
    below the first stands at 0. ``label`` writes a tick, ``marked`` are the ticks."""

    base: float = 2
    label: Callable[[float], str] = "{:,g}".format
    marked: tuple[float, ...] | None = None

    def at(self, value: Any) -> Any:
        least = np.maximum(value, self.first)
        found = np.log(least / self.first) / log(self.last / self.first)
        return found if hasattr(value, "tolist") else float(found)

    @property
    def ticks(self) -> list[Tick]:
        return [(value, self.label(value)) for value in self.values]

    @property
    def values(self) -> tuple[float, ...]:
        """Of the ticks: those given, or the powers of the base."""
        if self.marked is not None:
            return self.marked
        low, high = (round(log(end, self.base)) for end in (self.first, self.last))
        return tuple(float(self.base) ** power for power in range(low, high + 1))

    def on(self, axis: Any, which: str) -> None:
        getattr(axis, f"set_{which}scale")("log", base=self.base)
        super().on(axis, which)


@dataclass(frozen=True)
class Operations(Scale):
    """The operations of a step: the first begins at 0, the middle of the one with index i is at
    i + 0.5. Ticks are their numbers, at most 6 beside the first and the last."""

    first: float = 0
    last: float = 1

    @property
    def ticks(self) -> list[Tick]:
        total = int(self.last)
        numbers = range(1, total + 1) if total <= 12 else counts(total)
        return [(number - 0.5, f"{number:,}") for number in numbers]


@dataclass(frozen=True)
class Band(Scale):
    """Equal places for names: the middle of the one with index i is at i + 0.5."""

    first: float = 0
    last: float = 1
    names: tuple[str, ...] = ()

    @property
    def ticks(self) -> list[Tick]:
        return [(index + 0.5, name) for index, name in enumerate(self.names)]


def operations(count: int) -> Operations:
    """The scale of so many operations."""
    return Operations(0, count)


def band(names: Sequence[str]) -> Band:
    """The scale of some names."""
    return Band(0, len(names), tuple(names))


# -- round ends ---------------------------------------------------------------------------------

_ENDS = (
    ("1", "0.2"), ("1.25", "0.25"), ("1.5", "0.5"), ("2", "0.5"), ("2.5", "0.5"), ("3", "1"),
    ("4", "1"), ("5", "1"), ("6", "2"), ("8", "2"),
)  # fmt: skip
"""The ends of an axis up to a power of ten, and the distance of its ticks."""


@lru_cache(maxsize=64)
def over(amount: int, room: Fraction = TIGHT) -> tuple[int, int]:
    """The least round end that is ``room`` times above a whole amount, and its step."""
    least = max(amount * room, Fraction(8))
    power = 10 ** (len(str(int(least))) - 1)
    for factor in (power, 10 * power):
        for end, step in _ENDS:
            if Fraction(end) * factor >= least and not (Fraction(step) * factor).denominator - 1:
                return int(Fraction(end) * factor), int(Fraction(step) * factor)
    raise AssertionError("unreachable: 10 times the power is always enough")


def bytes_over(nbytes: int, room: Fraction = SKY) -> LinearScale:
    """From 0 bytes to a round end above an amount, in one decimal unit."""
    end, step = over(nbytes, room)
    unit = unit_of(end)
    return LinearScale(0, end, step, unit, units.UNITS[unit])


def counts_over(count: int, unit: str = "", per: float = 1) -> LinearScale:
    """From 0 to a round end that holds a count."""
    return LinearScale(0, *over(count), unit, per)


def seconds_over(seconds: Iterable[float]) -> LinearScale:
    """From 0 s to the least round end that holds every time, in one unit."""
    end, step = over(max(1, ceil(1e9 * max(seconds))))
    unit = next(unit for unit, size in SECONDS.items() if end >= 1e9 * size)
    return LinearScale(0, end / 1e9, step / 1e9, unit, SECONDS[unit])


def steady(scale: LinearScale) -> Steady:
    """The same scale, kept while what it shows changes."""
    return Steady(scale.first, scale.last, scale.step, scale.unit, scale.per)


def powers_around(
    values: Iterable[float],
    base: float = 2,
    label: Callable[[float], str] = "{:,g}".format,
) -> LogScale:
    """The powers of a base around some values above 0, at least two of them."""
    found = [log(value, base) for value in values if value > 0] or [0.0]
    first = floor(min(found) + 1e-9)
    last = max(ceil(max(found) - 1e-9), first + 1)
    return LogScale(float(base) ** first, float(base) ** last, base, label)


def ratios_around(values: Iterable[float], label: Callable[[float], str]) -> LogScale:
    """Between 1, 2 or 5 times powers of 10 around some values above 0; lines at the powers, where
    these are few at 2 and 5 times too."""
    found = [value for value in values if value > 0] or [1.0]
    first = max(each for each in _near(min(found)) if each < min(found))
    last = min(each for each in _near(max(found)) if each > max(found))
    reach, low, high = log10(last / first), floor(log10(first)), ceil(log10(last))
    powers = range(low, high + 1, max(1, ceil(reach / 7)))
    lines = [digit * 10.0**p for p in powers for digit in ((1, 2, 5) if reach < 2.1 else (1,))]
    inside = tuple(each for each in lines if 0.999 * first <= each <= 1.001 * last)
    return LogScale(first, last, 10, label, inside)


def _near(value: float) -> list[float]:
    power = floor(log10(value))
    return [digit * 10.0**p for p in (power - 1, power, power + 1) for digit in (1, 2, 5)]


def counts(total: int) -> list[int]:
    """Round numbers up to ``total``, at most 6, with 1 and the total itself."""
    step = next(
        factor * 10**power
        for power in range(18)
        for factor in (1, 2, 5)
        if total / (factor * 10**power) <= 6
    )
    inner = [n for n in range(step, total, step) if min(n - 1, total - n) >= 0.6 * step]
    return [1, *inner, total] if total > 1 else [1]


if not TYPE_CHECKING:  # a checker of types sees the new names only
    __getattr__ = old_names(__name__)
