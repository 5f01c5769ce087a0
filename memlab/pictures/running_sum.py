"""Sums of equal values, added by several methods: the value at which a sum in a format stops, and
why."""

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
from memlab.pictures.draw.alternatives import NamedLine, Names, drawn, with_names_below
from memlab.pictures.draw.chart import Axis, Chart
from memlab.pictures.draw.marks import CROSS, Fact, Glyph
from memlab.pictures.draw.page import Page, Still, report
from memlab.pictures.draw.scale import Scale, counts, counts_over
from memlab.pictures.draw.table import Table
from memlab.pictures.gradient_histogram import floating
from memlab.pictures.values.number_text import figure, share
from memlab.pictures.values.study import Study

MOST = 65_536
"""Largest number of values of a sum."""
PITCH = 44
"""Pixels from one name to the next."""
POINTS = 256
"""Largest number of points of a line."""
ROWS = 12
"""Largest number of rows of the table."""


@dataclass(frozen=True)
class Added:
    """One method to add: its name, the format of its sums, and the sum after 1, 2, ... values."""

    name: str
    format: Format
    sums: npt.NDArray[np.float64]

    @property
    def end(self) -> float:
        """Sum of all values."""
        return float(self.sums[-1])

    @property
    def stalls_after(self) -> int:
        """Number of values after which the sum changes no more; 0 if the last value changed it."""
        changed = np.flatnonzero(self.sums[1:] != self.sums[:-1])
        after = int(changed[-1]) + 2 if len(changed) else 1
        return after if after < len(self.sums) else 0


@dataclass(frozen=True, repr=False)
class RunningSum(Still, Study):
    """``count`` equal values, added by several methods. ``value`` is the given value, ``stored``
    the one that the format can store."""

    format: Format
    count: int
    value: float
    stored: float
    methods: tuple[Added, ...]

    @property
    def exact(self) -> float:
        """Sum of the stored values without any rounding."""
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
        """Sentences on the value at which the sum in the format stops and the reason, or on its
        error."""
        method = self.methods[0]
        values = {"format": self.format, "sum": total(method.end), "exact": total(self.exact)}
        if not np.isfinite(method.end):
            count = int(np.flatnonzero(~np.isfinite(method.sums))[0]) + 1
            return [text_of("beyond", **values, count=f"{count:,}")]
        if not method.stalls_after:
            return [text_of("off", **values, off=self.off(method))]
        step = rounding.walk(method.end, self.format, 1) - method.end
        stored = f"{self.stored:.6g}"
        return [
            text_of("still", **values, count=f"{method.stalls_after:,}"),
            text_of("why", **values, step=f"{step:g}", stored=stored),
        ]

    def off(self, method: Added) -> str:
        """Return the error of a method's sum as a share of the exact sum, or the sum itself where
        it is NaN or infinite."""
        if not np.isfinite(method.end):
            return figure(method.end)
        return share(abs(method.end - self.exact) / self.exact)

    def page(self) -> Page:
        sums = np.concatenate([method.sums for method in self.methods])
        most = max(float(np.max(sums, initial=0, where=np.isfinite(sums))), self.exact)
        lines = [self._line(method) for method in self.methods]
        pairs = zip(lines, self.methods, strict=True)
        broken = [line.end for line, added in pairs if not isfinite(added.end)]
        crosses = [Glyph(*place, CROSS, "limit", "x") for place in broken]
        values = [(n, f"{n:,}") for n in counts(self.count)]
        chart = Chart(
            Scale(0, self.count),
            counts_over(ceil(most)),
            [*drawn(lines), *crosses, Names(lines, 36, PITCH, 12)],
            260,
            Axis(text_of("axis"), grid=False, ticks=values),
            Axis(text_of("head.sum")),
            left=62,
            right=300,
            told=self._table_of_ends(),
            gap=8,
        )
        return report(self, with_names_below(chart), self._table_by_count(), size=14, bold=2)

    def _line(self, method: Added) -> NamedLine:
        """Return the line of a method: at most 256 of its sums, with the first and the last,
        without infinities."""
        numbers = np.unique(np.linspace(1, len(method.sums), POINTS).astype(int)).tolist()
        sums = [(count, float(method.sums[count - 1])) for count in numbers]
        points = [(0, 0.0), *((count, so_far) for count, so_far in sums if isfinite(so_far))]
        end = total(method.end)
        fact = Fact(method.name, end, more=f"{text_of('head.off')} {self.off(method)}")
        return NamedLine([method.name, [(end, True)]], points, [fact], points[-1])

    def _table_of_ends(self) -> Table:
        """Return the table of the methods with their sums and errors."""
        heads = [text_of(f"head.{head}") for head in ("way", "sum", "off")]
        rows = [[method.name, total(method.end), self.off(method)] for method in self.methods]
        return Table(heads, [*rows, [text_of("exact"), total(self.exact), "–"]])

    def _table_by_count(self) -> Table:
        """Return the table of the sums after 1, 2, 4, ... values, which is in the text only."""
        numbers = [self.count >> shift for shift in range(self.count.bit_length())][:ROWS]
        heads = [text_of("head.count"), *(method.name for method in self.methods)]
        rows = [
            [f"{count:,}", *(total(float(method.sums[count - 1])) for method in self.methods)]
            for count in reversed(numbers)
        ]
        return Table(heads, rows, ">", drawn=False, gap=1)


def running_sum(format: str | Format = "fp16", count: int = 4096, value: float = 1.0) -> RunningSum:
    """Add a value many times by three methods: one after the other in a format, the same in a wider
    format, and in pairs.

    >>> view = memlab.views.running_sum("fp16", count=4096)
    >>> print(view.sentences[0])
    Added one by one in fp16, the sum stays at 2,048 after 2,048 values. Exact: 4,096.

    Args:
        format: number format of the values and of the sums, at most 32 bits.
        count: number of values, at most 65,536.
        value: the value that is added, above 0.

    Raises:
        InputError: a value that is not allowed.
    """
    narrow = floating("sums", format)
    number, addend = (
        whole_number("count", count, most=MOST),
        real_number("value", value, usual=1.0, above=0),
    )
    stored = rounding.nearest(addend, narrow)
    if not 0 < stored < np.inf:
        raise InputError(f"{addend:g} is {stored:g} in {narrow}; try 1.0.")
    wide = FORMATS["fp64" if narrow.bits == 32 else "fp32"]
    methods = (
        Added(text_of("one", format=narrow), narrow, _one_by_one(stored, number, narrow)),
        Added(text_of("one", format=wide), wide, _one_by_one(stored, number, wide)),
        Added(text_of("pairs", format=narrow), narrow, _in_pairs(stored, number, narrow)),
    )
    return RunningSum(narrow, number, addend, stored, methods)


def total(value: float) -> str:
    """Return a sum with all its digits, up to ten."""
    return f"{value:,.10g}" if np.isfinite(value) else figure(value)


def _one_by_one(value: float, count: int, format: Format) -> npt.NDArray[np.float64]:
    """Return the sums after 1, 2, ... values, each added to the sum so far, which is rounded."""
    sums, so_far = np.empty(count), 0.0
    for index in range(count):
        so_far = _rounded(so_far + value, format)
        sums[index] = so_far
    return sums


def _in_pairs(value: float, count: int, format: Format) -> npt.NDArray[np.float64]:
    """Return the sums of 1, 2, ... values; the sum of n values is that of the first half and of the
    second half, rounded."""
    sums = np.empty(count + 1)
    sums[:2] = 0, value
    for n in range(2, count + 1):
        sums[n] = _rounded(sums[n // 2] + sums[n - n // 2], format)
    return sums[1:]


def _rounded(value: float, format: Format) -> float:
    """Return a value rounded to a format."""
    return float(rounding.rounded(value, format))


def text_of(key: str, **values: object) -> str:
    """Return a text about sums from the language files."""
    return strings.get(f"training.sums.{key}", **values)
