"""The rows that the picture and the text of a number are both made from."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isfinite, isinf, isnan
from typing import NamedTuple

from memlab import rounding
from memlab.formats import NUMBERS, Format
from memlab.rounding import Bits, Error
from memlab.views.number.state import State

Number = Fraction | float


@dataclass(frozen=True, slots=True)
class Stop:
    """A point on the line of numbers, 0 at its left end and 1 at its right end. The value is None
    where the format has none any more."""

    where: float
    value: float | None


@dataclass(frozen=True, slots=True)
class Line:
    """The values beside a number; ``solid`` is the part that is true to scale."""

    stops: tuple[Stop, ...]
    where: float
    solid: tuple[float, float]

    @property
    def dashed(self) -> list[tuple[float, float]]:
        """The parts that are not true to scale."""
        parts = (0.0, self.solid[0]), (self.solid[1], 1.0)
        return [(left, right) for left, right in parts if left < right]

    @property
    def middle(self) -> bool:
        """Whether the number lies between two values, so that half-way decides."""
        return len(self.stops) == 2 and self.solid == (0.0, 1.0)


class Kept(NamedTuple):
    """What a format makes of the number, and its error; no value where it cannot hold it."""

    format: Format
    held: float | None
    error: Error | None


@dataclass(frozen=True)
class Rows:
    """Everything that is shown, in exact numbers."""

    state: State
    number: Number
    held: float
    bits: Bits
    error: Error | None
    line: Line | None
    everywhere: tuple[Kept, ...]

    @property
    def format(self) -> Format:
        """The format."""
        return self.state.found

    @property
    def fate(self) -> str:
        """What happened to the number."""
        if isnan(self.held):
            return "nan" if self.number != self.number else "lost"
        if self.number == self.held:
            return "exact"
        if isinf(self.held):
            return "infinity"
        if not self.format.lowest <= self.number <= self.format.largest:
            return "rounded" if self.format.kind == "float" else "saturated"
        return "rounded" if self.held else "zero"

    @property
    def tie(self) -> bool:
        """Whether two values are equally near."""
        between = self.line is not None and self.line.middle
        return between and self.error is not None and abs(self.error.ulps) == Fraction(1, 2)

    @property
    def subnormal(self) -> bool:
        """Whether the value has lost the leading 1 of its mantissa."""
        return self.format.kind == "float" and 0 < abs(self.held) < self.format.smallest_normal


def rows(state: State) -> Rows:
    """The rows of a state."""
    number, format = state.number, state.found
    return Rows(
        state,
        number,
        rounding.nearest(number, format),
        rounding.bits(number, format),
        rounding.error(number, format),
        None if number != number else _line(number, rounding.neighbours(number, format), format),
        tuple(_kept(number, other) for other in NUMBERS.values()),
    )


def _kept(number: Number, format: Format) -> Kept:
    if number != number and not format.nan:
        return Kept(format, None, None)
    return Kept(format, rounding.nearest(number, format), rounding.error(number, format))


def _line(number: Number, beside: tuple[float | None, float | None], format: Format) -> Line:
    """To scale where both neighbours are finite; else the number stands in the middle."""
    low, high = (value is not None and isfinite(value) for value in beside)
    where, solid = 0.5, (0.5, 0.5)
    held = rounding.nearest(number, format) == number
    if low and high:
        below, above = (Fraction(value or 0) for value in beside)
        where, solid = float((Fraction(number) - below) / (above - below)), (0.0, 1.0)
    elif held and isfinite(number):
        solid = (0.0, 0.5) if low else (0.5, 1.0)
    inner = (Stop(where, float(number)),) if held else ()
    return Line((Stop(0.0, beside[0]), *inner, Stop(1.0, beside[1])), where, solid)
