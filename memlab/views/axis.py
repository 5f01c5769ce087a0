"""Axes that people can read: round ends, few ticks, one unit."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from memlab import units
from memlab.views.amounts import unit_of

_ENDS = (
    ("1", "0.2"), ("1.25", "0.25"), ("1.5", "0.5"), ("2", "0.5"), ("2.5", "0.5"), ("3", "1"),
    ("4", "1"), ("5", "1"), ("6", "2"), ("8", "2"),
)  # fmt: skip
"""The ends of an axis up to a power of ten, and the distance of its ticks."""


SKY = Fraction(26, 25)
"""An axis ends at least this far above what it shows: room for a flag."""
TIGHT = Fraction(1)


@dataclass(frozen=True, slots=True)
class Axis:
    """From 0 to ``end`` bytes, a tick at every ``step`` bytes."""

    end: int
    step: int

    @property
    def unit(self) -> str:
        """The unit of all its labels."""
        return unit_of(self.end)

    @property
    def ticks(self) -> list[tuple[int, str]]:
        """Bytes and labels; the last one names the unit."""
        values = range(0, self.end + 1, self.step)
        return [(n, self._text(n) + (f" {self.unit}" if n == self.end else "")) for n in values]

    @property
    def title(self) -> str:
        """Its end with the unit: ``'1.25 GB'``."""
        return f"{self._text(self.end)} {self.unit}"

    def _text(self, nbytes: int) -> str:
        return f"{float(Fraction(nbytes, units.UNITS[self.unit])):,g}"


def over(nbytes: int, room: Fraction = SKY) -> Axis:
    """The shortest round axis that ends ``room`` times above an amount."""
    least = max(nbytes * room, Fraction(8))
    power = 10 ** (len(str(int(least))) - 1)
    for factor in (power, 10 * power):
        for end, step in _ENDS:
            if Fraction(end) * factor >= least and not (Fraction(step) * factor).denominator - 1:
                return Axis(int(Fraction(end) * factor), int(Fraction(step) * factor))
    raise AssertionError("unreachable: 10 times the power is always enough")


def counts(total: int, most: int = 6) -> list[int]:
    """Round numbers up to ``total``, at most ``most``, with 1 and the total itself."""
    step = next(
        factor * 10**power
        for power in range(18)
        for factor in (1, 2, 5)
        if total / (factor * 10**power) <= most
    )
    inner = [n for n in range(step, total, step) if min(n - 1, total - n) >= 0.6 * step]
    return [1, *inner, total] if total > 1 else [1]
