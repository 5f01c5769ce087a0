"""A sum of equal values, added in several ways, after every value."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from memlab import rounding
from memlab.errors import InputError, real, whole
from memlab.formats import FORMATS, Format
from memlab.studies.figures import columns
from memlab.views.training import words

Floats = npt.NDArray[np.float64]

MOST = 65_536
ROWS = 12
"""Lines of the twin."""


@dataclass(frozen=True)
class Way:
    """One way to add: its name, the format of its sums, and the sum after 1, 2, ... values."""

    name: str
    format: Format
    sums: Floats

    @property
    def end(self) -> float:
        """The sum of all."""
        return float(self.sums[-1])

    @property
    def still(self) -> int:
        """After how many values the sum changes no more; 0 where the last one changed it."""
        changed = np.flatnonzero(self.sums[1:] != self.sums[:-1])
        after = int(changed[-1]) + 2 if len(changed) else 1
        return after if after < len(self.sums) else 0


@dataclass(frozen=True)
class Sums:
    """``count`` times a value: as asked for, and as the format stores it."""

    format: Format
    count: int
    value: float
    stored: float
    ways: tuple[Way, ...]

    @property
    def exact(self) -> float:
        """The sum of the stored values without any rounding."""
        return float(self.count * Fraction(self.stored))

    @property
    def title(self) -> str:
        """What is added."""
        key = "title" if self.stored == self.value else "title_stored"
        return words.say(
            f"sums.{key}",
            count=f"{self.count:,}",
            value=f"{self.value:.12g}",
            stored=f"{self.stored:.12g}",
            format=self.format,
        )

    @cached_property
    def headline(self) -> list[str]:
        """Where the sum in the format stops and why, or how far off it is."""
        way = self.ways[0]
        values = {"format": self.format, "sum": figure(way.end), "exact": figure(self.exact)}
        if not np.isfinite(way.end):
            count = int(np.flatnonzero(~np.isfinite(way.sums))[0]) + 1
            return [words.say("sums.beyond", **values, count=f"{count:,}")]
        if not way.still:
            return [words.say("sums.off", **values, off=self._off(way))]
        step = rounding.walk(way.end, self.format, 1) - way.end
        return [
            words.say("sums.still", **values, count=f"{way.still:,}"),
            words.say("sums.why", **values, step=f"{step:g}", stored=f"{self.stored:.6g}"),
        ]

    def text(self) -> str:
        """The twin."""
        ends = [[words.say(f"sums.head.{head}") for head in ("way", "sum", "off")]]
        ends += [[way.name, figure(way.end), self._off(way)] for way in self.ways]
        ends.append([words.say("sums.exact"), figure(self.exact), "–"])
        parts = ([f"{self.title}.", *self.headline], columns(ends), self._running())
        return "\n\n".join("\n".join(part) for part in parts)

    def _running(self) -> list[str]:
        """The sums after 1, 2, 4, ... values."""
        counts = [self.count >> shift for shift in range(self.count.bit_length())]
        heads = [words.say("sums.head.count"), *(way.name for way in self.ways)]
        rows = [
            [f"{count:,}", *(figure(float(way.sums[count - 1])) for way in self.ways)]
            for count in reversed(counts[:ROWS])
        ]
        return columns([heads, *rows], left=0)

    def _off(self, way: Way) -> str:
        if not np.isfinite(way.end):
            return words.figure(way.end)
        return words.percent(abs(way.end - self.exact) / self.exact)


def sums(format: str | Format, count: int, value: object) -> Sums:
    """Add a value many times.

    Raises:
        InputError: no floating-point format of at most 32 bits, no whole number of values or too
            many, or a value that is not above 0 or is 0 in the format.
    """
    found = rounding.find(format)
    if found.kind != "float" or found.bits > 32:
        raise InputError(f"sums need a floating-point format of at most 32 bits, got {found}; "
                         "try fp16.")  # fmt: skip
    number, each = whole("count", count, most=MOST), real("value", value, usual=1.0, above=0)
    stored = rounding.nearest(each, found)
    if not 0 < stored < np.inf:
        raise InputError(f"{each:g} is {stored:g} in {found}; try 1.0.")
    wide = FORMATS["fp64" if found.bits == 32 else "fp32"]
    ways = (
        Way(words.say("sums.one", format=found), found, _one_by_one(stored, number, found)),
        Way(words.say("sums.one", format=wide), wide, _one_by_one(stored, number, wide)),
        Way(words.say("sums.pairs", format=found), found, _in_pairs(stored, number, found)),
    )
    return Sums(found, number, each, stored, ways)


def figure(value: float) -> str:
    """Every digit of a sum, up to ten."""
    return f"{value:,.10g}" if np.isfinite(value) else words.figure(value)


def _one_by_one(value: float, count: int, format: Format) -> Floats:
    """Each value is added to the sum so far, which is rounded."""
    found, total = np.empty(count), 0.0
    for index in range(count):
        total = _rounded(total + value, format)
        found[index] = total
    return found


def _in_pairs(value: float, count: int, format: Format) -> Floats:
    """The sum of n values is that of the first half and of the second, rounded."""
    found = np.empty(count + 1)
    found[:2] = 0, value
    for n in range(2, count + 1):
        found[n] = _rounded(found[n // 2] + found[n - n // 2], format)
    return found[1:]


def _rounded(value: float, format: Format) -> float:
    return float(rounding.rounded(value, format))
