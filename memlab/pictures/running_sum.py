"""Sums of equal values, added in several ways: where the sum in a format stops, and why."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, isfinite

import numpy as np
import numpy.typing as npt

from memlab import rounding, strings
from memlab.errors import InputError, real_number, whole_number
from memlab.formats import FORMATS, Format
from memlab.pictures.draw.alternatives import NamedLine, Names, drawn
from memlab.pictures.draw.chart import Axis, Chart
from memlab.pictures.draw.marks import CROSS, Fact, Glyph
from memlab.pictures.draw.page import Page, Still, report
from memlab.pictures.draw.scale import Scale, counts, counts_over
from memlab.pictures.draw.table import Table
from memlab.pictures.gradient_histogram import floating
from memlab.pictures.values.number_text import figure, share
from memlab.pictures.values.study import Study

MOST = 65_536
"""Values of a sum."""
PITCH = 44
"""From name to name."""
POINTS = 256
"""Points of the line of a sum."""
ROWS = 12
"""Rows of the table."""


@dataclass(frozen=True)
class Added:
    """One way to add: its name, the format of its sums, and the sum after 1, 2, ... values."""

    name: str
    format: Format
    sums: npt.NDArray[np.float64]

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


@dataclass(frozen=True, repr=False)
class RunningSum(Still, Study):
    """``count`` times a value, as asked for and as the format stores it, added in several ways."""

    format: Format
    count: int
    value: float
    stored: float
    ways: tuple[Added, ...]

    @property
    def exact(self) -> float:
        """The sum of the stored values without any rounding."""
        return float(self.count * Fraction(self.stored))

    @property
    def title(self) -> str:
        same = self.stored == self.value
        return text_of(
            "title" if same else "title_stored",
            count=f"{self.count:,}",
            value=f"{self.value:.12g}",
            stored=f"{self.stored:.12g}",
            format=self.format,
        )

    @cached_property
    def sentences(self) -> list[str]:
        """The place where the sum in the format stops and why, or how far off it is."""
        way = self.ways[0]
        values = {"format": self.format, "sum": total(way.end), "exact": total(self.exact)}
        if not np.isfinite(way.end):
            count = int(np.flatnonzero(~np.isfinite(way.sums))[0]) + 1
            return [text_of("beyond", **values, count=f"{count:,}")]
        if not way.still:
            return [text_of("off", **values, off=self.off(way))]
        step = rounding.walk(way.end, self.format, 1) - way.end
        stored = f"{self.stored:.6g}"
        return [
            text_of("still", **values, count=f"{way.still:,}"),
            text_of("why", **values, step=f"{step:g}", stored=stored),
        ]

    def off(self, way: Added) -> str:
        """How far a way's sum is from the exact one, as a part of that."""
        if not np.isfinite(way.end):
            return figure(way.end)
        return share(abs(way.end - self.exact) / self.exact)

    def page(self) -> Page:
        sums = np.concatenate([way.sums for way in self.ways])
        most = max(float(np.max(sums, initial=0, where=np.isfinite(sums))), self.exact)
        ways = [self._line(way) for way in self.ways]
        pairs = zip(ways, self.ways, strict=True)
        broken = [way.end for way, added in pairs if not isfinite(added.end)]
        crosses = [Glyph(*place, CROSS, "limit", "x") for place in broken]
        values = [(n, f"{n:,}") for n in counts(self.count)]
        chart = Chart(
            Scale(0, self.count),
            counts_over(ceil(most)),
            [*drawn(ways), *crosses, Names(ways, 36, PITCH, 12)],
            260,
            Axis(text_of("axis"), grid=False, ticks=values),
            Axis(text_of("head.sum")),
            left=62,
            right=300,
            told=self._ends(),
            gap=8,
        )
        return report(self, chart, self._running(), size=14, bold=2)

    def _line(self, way: Added) -> NamedLine:
        """Some of its sums, with the first and the last; those that are numbers."""
        numbers = np.unique(np.linspace(1, len(way.sums), POINTS).astype(int)).tolist()
        sums = [(count, float(way.sums[count - 1])) for count in numbers]
        points = [(0, 0.0), *((count, so_far) for count, so_far in sums if isfinite(so_far))]
        said = total(way.end)
        fact = Fact(way.name, said, more=f"{text_of('head.off')} {self.off(way)}")
        return NamedLine([way.name, [(said, True)]], points, [fact], points[-1])

    def _ends(self) -> Table:
        heads = [text_of(f"head.{head}") for head in ("way", "sum", "off")]
        rows = [[way.name, total(way.end), self.off(way)] for way in self.ways]
        return Table(heads, [*rows, [text_of("exact"), total(self.exact), "–"]])

    def _running(self) -> Table:
        """The sums after 1, 2, 4, ... values, in words alone."""
        numbers = [self.count >> shift for shift in range(self.count.bit_length())][:ROWS]
        heads = [text_of("head.count"), *(way.name for way in self.ways)]
        rows = [
            [f"{count:,}", *(total(float(way.sums[count - 1])) for way in self.ways)]
            for count in reversed(numbers)
        ]
        return Table(heads, rows, ">", drawn=False, gap=1)


def running_sum(format: str | Format = "fp16", count: int = 4096, value: float = 1.0) -> RunningSum:
    """Add a value many times: one after the other in a format and in one of more bits, and in
    pairs.

    Args:
        format: of the values and of the sums, at most 32 bits.
        count: how many values, at most 65,536.
        value: each of them, above 0.

    Raises:
        InputError: a value that is not allowed.
    """
    found = floating("sums", format)
    number, each = (
        whole_number("count", count, most=MOST),
        real_number("value", value, usual=1.0, above=0),
    )
    stored = rounding.nearest(each, found)
    if not 0 < stored < np.inf:
        raise InputError(f"{each:g} is {stored:g} in {found}; try 1.0.")
    wide = FORMATS["fp64" if found.bits == 32 else "fp32"]
    ways = (
        Added(text_of("one", format=found), found, _one_by_one(stored, number, found)),
        Added(text_of("one", format=wide), wide, _one_by_one(stored, number, wide)),
        Added(text_of("pairs", format=found), found, _in_pairs(stored, number, found)),
    )
    return RunningSum(found, number, each, stored, ways)


def total(value: float) -> str:
    """Every digit of a sum, up to ten."""
    return f"{value:,.10g}" if np.isfinite(value) else figure(value)


def _one_by_one(value: float, count: int, format: Format) -> npt.NDArray[np.float64]:
    """Each value is added to the sum so far, which is rounded."""
    found, so_far = np.empty(count), 0.0
    for index in range(count):
        so_far = _rounded(so_far + value, format)
        found[index] = so_far
    return found


def _in_pairs(value: float, count: int, format: Format) -> npt.NDArray[np.float64]:
    """The sum of n values is that of the first half and of the second, rounded."""
    found = np.empty(count + 1)
    found[:2] = 0, value
    for n in range(2, count + 1):
        found[n] = _rounded(found[n // 2] + found[n - n // 2], format)
    return found[1:]


def _rounded(value: float, format: Format) -> float:
    return float(rounding.rounded(value, format))


def text_of(key: str, **values: object) -> str:
    """A text about sums."""
    return strings.get(f"training.sums.{key}", **values)
