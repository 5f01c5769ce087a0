"""Scales: the position of a value between 0 and 1, and the round values that an axis names.

An axis has round ends, few ticks and one unit. A scale takes numbers and arrays alike.
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
"""Least ratio of the end of an axis to its largest value: no room above, or room for a flag."""


@dataclass(frozen=True)
class Scale:
    """A linear scale from ``first`` to ``last`` without ticks. ``first`` may be the larger one, for
    pixels that are counted downwards."""

    first: float
    last: float

    def at(self, value: Any) -> Any:
        """Return the position of a value, or of every value of an array: 0 at the first end, 1 at
        the last."""
        return (value - self.first) / (self.last - self.first)

    @property
    def ticks(self) -> list[Tick]:
        """Round values and their labels."""
        return []

    def on(self, axis: Any, which: str) -> None:
        """Give the axis ``"x"`` or ``"y"`` of matplotlib's ``Axes`` the ends of this scale, and
        where it is not linear its kind."""
        getattr(axis, f"set_{which}lim")(self.first, self.last)


@dataclass(frozen=True)
class LinearScale(Scale):
    """A linear scale with a tick at every ``step`` values. Labels are values divided by ``per``;
    the last label has the ``unit`` after it."""

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
        """Return a value in the unit of the axis, as text without the unit."""
        exact = isinstance(value, int) and isinstance(self.per, int)
        return f"{float(Fraction(int(value), int(self.per)) if exact else value / self.per):,.10g}"

    @property
    def end(self) -> str:
        """Text of the last value with its unit: ``'1.25 GB'``."""
        return f"{self.label(self.last)} {self.unit}".rstrip()


@dataclass(frozen=True)
class Steady(LinearScale):
    """A linear scale that a view keeps while its values change: a value beyond an end stands at
    that end."""

    def at(self, value: Any) -> Any:
        place = super().at(value)
        if hasattr(place, "tolist"):
            return np.minimum(np.maximum(place, 0.0), 1.0)
        return min(max(float(place), 0.0), 1.0)


@dataclass(frozen=True)
class LogScale(Scale):
    """A logarithmic scale from ``first`` to ``last``: equal ratios are equally far apart. A value
    below ``first`` stands at 0. ``label`` writes a tick; ticks are ``marked``, or the powers of
    ``base``."""

    base: float = 2
    label: Callable[[float], str] = "{:,g}".format
    marked: tuple[float, ...] | None = None

    def at(self, value: Any) -> Any:
        least = np.maximum(value, self.first)
        position = np.log(least / self.first) / log(self.last / self.first)
        return position if hasattr(value, "tolist") else float(position)

    @property
    def ticks(self) -> list[Tick]:
        return [(value, self.label(value)) for value in self.values]

    @property
    def values(self) -> tuple[float, ...]:
        """Values of the ticks: ``marked``, or the powers of the base."""
        if self.marked is not None:
            return self.marked
        low, high = (round(log(end, self.base)) for end in (self.first, self.last))
        return tuple(float(self.base) ** power for power in range(low, high + 1))

    def on(self, axis: Any, which: str) -> None:
        getattr(axis, f"set_{which}scale")("log", base=self.base)
        super().on(axis, which)


@dataclass(frozen=True)
class Operations(Scale):
    """The operations of a step: the first begins at 0, the middle of the operation with index i is
    at i + 0.5. Ticks are numbers of operations: all up to 12, else the first, the last and round
    ones."""

    first: float = 0
    last: float = 1

    @property
    def ticks(self) -> list[Tick]:
        total = int(self.last)
        numbers = range(1, total + 1) if total <= 12 else counts(total)
        return [(number - 0.5, f"{number:,}") for number in numbers]


@dataclass(frozen=True)
class Band(Scale):
    """Equal places for names: the middle of the name with index i is at i + 0.5."""

    first: float = 0
    last: float = 1
    names: tuple[str, ...] = ()

    @property
    def ticks(self) -> list[Tick]:
        return [(index + 0.5, name) for index, name in enumerate(self.names)]


def operations(count: int) -> Operations:
    """Return the scale of ``count`` operations."""
    return Operations(0, count)


def band(names: Sequence[str]) -> Band:
    """Return the scale of some names, in their order."""
    return Band(0, len(names), tuple(names))


# -- round ends ---------------------------------------------------------------------------------

_ENDS = (
    ("1", "0.2"), ("1.25", "0.25"), ("1.5", "0.5"), ("2", "0.5"), ("2.5", "0.5"), ("3", "1"),
    ("4", "1"), ("5", "1"), ("6", "2"), ("8", "2"),
)  # fmt: skip
"""Round ends of an axis up to a power of ten, each with the distance of its ticks."""


@lru_cache(maxsize=64)
def over(amount: int, room: Fraction = TIGHT) -> tuple[int, int]:
    """Return the least round end that is at least ``room`` times a whole amount, and the step of
    its ticks."""
    least = max(amount * room, Fraction(8))
    power = 10 ** (len(str(int(least))) - 1)
    for factor in (power, 10 * power):
        for end, step in _ENDS:
            if Fraction(end) * factor >= least and not (Fraction(step) * factor).denominator - 1:
                return int(Fraction(end) * factor), int(Fraction(step) * factor)
    raise AssertionError("unreachable: 10 times the power is always enough")


def bytes_over(nbytes: int, room: Fraction = SKY) -> LinearScale:
    """Return the scale from 0 bytes to a round end at least ``room`` times an amount, in one
    decimal unit."""
    end, step = over(nbytes, room)
    unit = unit_of(end)
    return LinearScale(0, end, step, unit, units.UNITS[unit])


def counts_over(count: int, unit: str = "", per: float = 1) -> LinearScale:
    """Return the scale from 0 to the least round end that holds ``count``; its labels are values
    divided by ``per``, in that unit."""
    return LinearScale(0, *over(count), unit, per)


def seconds_over(seconds: Iterable[float]) -> LinearScale:
    """Return the scale from 0 s to the least round end that holds every time, in one unit."""
    end, step = over(max(1, ceil(1e9 * max(seconds))))
    unit = next(unit for unit, size in SECONDS.items() if end >= 1e9 * size)
    return LinearScale(0, end / 1e9, step / 1e9, unit, SECONDS[unit])


def steady(scale: LinearScale) -> Steady:
    """Return a copy of a scale that stays while its values change: values beyond its ends stand at
    the ends."""
    return Steady(scale.first, scale.last, scale.step, scale.unit, scale.per)


def powers_around(
    values: Iterable[float],
    base: float = 2,
    label: Callable[[float], str] = "{:,g}".format,
) -> LogScale:
    """Return the logarithmic scale between the powers of ``base`` around some values; values of 0
    or less are left out. It spans at least one power."""
    powers = [log(value, base) for value in values if value > 0] or [0.0]
    first = floor(min(powers) + 1e-9)
    last = max(ceil(max(powers) - 1e-9), first + 1)
    return LogScale(float(base) ** first, float(base) ** last, base, label)


def ratios_around(values: Iterable[float], label: Callable[[float], str]) -> LogScale:
    """Return the logarithmic scale around some values, its ends 1, 2 or 5 times a power of 10
    outside of them; values of 0 or less are left out. Ticks stand at powers of 10, and at 2 and
    5 times these where the scale is short."""
    positive = [value for value in values if value > 0] or [1.0]
    first = max(end for end in _round_values_near(min(positive)) if end < min(positive))
    last = min(end for end in _round_values_near(max(positive)) if end > max(positive))
    reach, low, high = log10(last / first), floor(log10(first)), ceil(log10(last))
    powers = range(low, high + 1, max(1, ceil(reach / 7)))
    lines = [digit * 10.0**p for p in powers for digit in ((1, 2, 5) if reach < 2.1 else (1,))]
    inside = tuple(end for end in lines if 0.999 * first <= end <= 1.001 * last)
    return LogScale(first, last, 10, label, inside)


def _round_values_near(value: float) -> list[float]:
    """Return 1, 2 and 5 times three powers of 10: that of a value, and those next to it."""
    power = floor(log10(value))
    return [digit * 10.0**p for p in (power - 1, power, power + 1) for digit in (1, 2, 5)]


def counts(total: int) -> list[int]:
    """Return round numbers up to ``total``, at most 6, with 1 and the total itself."""
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
