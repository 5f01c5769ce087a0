"""Gradients by their size, and the limits of a number format: the number that become 0 in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import floor, log2
from typing import Any

import numpy as np
import numpy.typing as npt

from memlab import rounding, strings
from memlab.errors import InputError, shorten
from memlab.formats import Format
from memlab.pictures.draw import theme
from memlab.pictures.draw.chart import Axis, Chart
from memlab.pictures.draw.labels import ChartText
from memlab.pictures.draw.marks import Fact, Mark, Rect, Rule
from memlab.pictures.draw.page import Page, Still, report
from memlab.pictures.draw.scale import Scale, counts_over
from memlab.pictures.draw.table import Paragraphs, Table
from memlab.pictures.values.number_text import figure, power_text
from memlab.pictures.values.study import Study
from memlab.runtime.run import Run
from memlab.step.tensor import Role

KEPT = theme.PAINTS[Role.PARAMETER_GRADIENT]
COUNTS = ("already", "zero", "subnormal", "normal", "beyond")
"""Fates of a gradient: 0 before, 0 in the format, kept with fewer digits, kept, too large."""
LARGEST = 2**64
"""Largest scale."""
Given = Run | Mapping[str, npt.ArrayLike] | npt.ArrayLike


@dataclass(frozen=True)
class HistogramCounts:
    """Numbers of gradients, multiplied by a scale, by their fate in a format.

    ``counts`` has the number for each name in ``COUNTS``. ``powers`` has two numbers for every
    power of 2: gradients with a size from it up to the next power that the format keeps, and those
    that it does not keep.
    """

    scale: float
    counts: Mapping[str, int]
    powers: Mapping[int, tuple[int, int]]

    @property
    def alive(self) -> int:
        """Number of gradients that are not 0 before the format."""
        return sum(self.counts.values()) - self.counts["already"]

    @property
    def name(self) -> str:
        """Name of the scale: ``'as they are'``, ``'times 1,024'``."""
        if self.scale == 1:
            return text_of("as_they_are")
        return text_of("times", scale=f"{self.scale:,.6g}")


@dataclass(frozen=True, repr=False)
class GradientHistogram(Still, Study):
    """Gradients by their size, unscaled and, if a scale is given, multiplied by it, with the limits
    of a format."""

    what: str
    format: Format
    tallies: tuple[HistogramCounts, ...]

    @property
    def rows(self) -> GradientHistogram:
        """The picture itself, which has the figures; other views have them in ``rows`` too."""
        return self

    @property
    def title(self) -> str:
        total = sum(self.tallies[0].counts.values())
        of = text_of("of", what=self.what) if self.what else ""
        return text_of("title", what=of, total=f"{total:,}")

    @property
    def limits(self) -> list[tuple[float, str]]:
        """The limits of the format, each with its name: smallest value, smallest normal one,
        largest one."""
        format = self.format
        small, normal = (
            power_text(floor(log2(value))) for value in (format.smallest, format.smallest_normal)
        )
        return [
            (format.smallest, text_of("line.smallest", value=small)),
            (format.smallest_normal, text_of("line.normal", value=normal)),
            (format.largest, text_of("line.largest", value=figure(format.largest, 5))),
        ]

    @property
    def sentences(self) -> list[str]:
        """Sentences on the gradients that become 0, unscaled and scaled."""
        return [self._sentence(tally) for tally in self.tallies]

    def _sentence(self, tally: HistogramCounts) -> str:
        """Return the sentence on the gradients of one scale that become 0."""
        lost = tally.counts["zero"]
        return text_of(
            "plain" if tally.scale == 1 else "scaled",
            format=self.format,
            name=tally.name,
            alive=f"{tally.alive:,}",
            lost=f"{lost:,}",
            part=figure(100 * lost / max(1, tally.alive), 4),
            beyond=f"{tally.counts['beyond']:,}",
            what=self.fate("beyond"),
        )

    def fate(self, count: str) -> str:
        """Return the fate of the gradients of a count in words. Too large ones become infinite, or
        in a format without infinities NaN."""
        lost = count == "beyond" and not self.format.infinities
        return text_of("not_a_number" if lost else count)

    def page(self) -> Page:
        heads = ["", *(self.fate(name) for name in COUNTS)]
        counted = [[t.name, *(f"{t.counts[name]:,}" for name in COUNTS)] for t in self.tallies]
        limits = "; ".join(name for _, name in self.limits)
        sentence = text_of("limits", format=self.format, limits=limits)
        return report(
            self,
            *(self._panel(tally) for tally in self.tallies),
            Table(heads, counted, bold=range(len(counted)), wide=True, gap=6),
            Paragraphs(sentence, drawn=False, gap=1),
            *(_power_table(tally) for tally in self.tallies),
            size=14,
            bold=len(self.sentences),
        )

    def _span(self) -> range:
        """Return the powers of 2 on the axis: those of the gradients and of the limits."""
        powers = [power for tally in self.tallies for power in tally.powers]
        powers += [floor(log2(value)) for value, _ in self.limits]
        return range(min(powers) - 1, max(powers) + 2)

    def _panel(self, tally: HistogramCounts) -> Chart:
        """Return the chart of one scale: a bar for each power of 2, filled for gradients that are
        kept, hollow for the others."""
        first, last = tally is self.tallies[0], tally is self.tallies[-1]
        span = self._span()
        across = Scale(span.start, span.stop)
        sizes = [sum(bar) for counts in self.tallies for bar in counts.powers.values()]
        up = counts_over(max(sizes, default=1))
        bars = [mark for power in tally.powers for mark in _bar(tally, power)]
        every = next(n for n in (1, 2, 4, 5, 10, 20, 40) if len(span) / n <= 16)
        ticks = [(power, power_text(power)) for power in span if power % every == 0]
        note = text_of("axis") if last else ""
        return Chart(
            across,
            up,
            [
                *bars,
                *self._limits(across, up.last if first else None),
                ChartText(span.start, up.last, tally.name, 12, dy=-8, bold=True, chip=True),
            ],
            130,
            Axis(note=note, grid=False, labels=last, ticks=ticks),
            Axis(),
            left=62,
            right=8,
            above=24 + 15 * len(self.limits) * first,
            name=tally.name,
        )

    def _limits(self, across: Scale, top: float | None) -> list[Mark]:
        """Return lines at the limits of the format, with their names above the first panel."""
        marks: list[Mark] = []
        for index, (value, name) in enumerate(self.limits):
            x, dy = log2(value), -24 - 15 * (len(self.limits) - 1 - index)
            above = 24 if top is None else 9 - dy
            marks.append(Rule(x, look="rule", above=above, opacity=0.7))
            if top is not None:
                left = across.at(x) < 0.5
                anchor, dx = ("start", 6) if left else ("end", -6)
                marks.append(ChartText(x, top, name, 11, anchor, dx, dy))
        return marks


def _bar(tally: HistogramCounts, power: int) -> list[Mark]:
    """Return the bar of a power of 2."""
    kept, lost = tally.powers[power]
    counts = f"{text_of('head.kept')} {kept:,}, {text_of('head.lost')} {lost:,}"
    fact = Fact(f"{power_text(power)} – {power_text(power + 1)}", counts)
    left, right = power + 0.02, power + 0.98
    marks: list[Mark] = [Rect(left, right, 0, kept, KEPT, fact=fact)] if kept else []
    if lost:
        marks.append(Rect(left, right, kept, kept + lost, "before thin", fact=fact))
    return marks


def _power_table(tally: HistogramCounts) -> Table:
    """Return the table of the gradients of each size that are kept and lost, which is in the text
    only."""
    heads = [text_of(f"head.{head}") for head in ("size", "kept", "lost")]
    counted = tally.powers.items()
    rows = [[power_text(power), f"{kept:,}", f"{lost:,}"] for power, (kept, lost) in counted]
    return Table(heads, rows, title=f"{tally.name}:", drawn=False, gap=1)


def gradient_histogram(
    gradients: Given, format: str | Format = "fp16", scale: float = 1.0
) -> GradientHistogram:
    """Count the gradients that become 0 in a format, and those that do once they are multiplied by
    a scale.

    >>> view = memlab.views.gradient_histogram([1e-8, 1e-3], "fp16", scale=1024)
    >>> print(view.sentences[0])
    In fp16, 1 of 2 nonzero gradients become 0: 50 %. 0 become infinite.

    Args:
        gradients: a run in fp32 with ``keep="gradients"``, or arrays, also by name.
        format: a floating-point format of at most 32 bits.
        scale: factor of the loss, and so of every gradient, from 2^-64 to 2^64; a second panel
            shows the scaled gradients.

    Raises:
        InputError: no gradients, NaN or infinity in them, or a value that is not allowed.
    """
    target, scales = floating("gradients", format), _scales(scale)
    values = _fp32_values(gradients)
    run = gradients if isinstance(gradients, Run) else None
    what = f"{run.step.describe()}, batch {run.batch}" if run else ""
    tallies = tuple(tally(values, target, factor) for factor in scales)
    return GradientHistogram(what, target, tallies)


def _scales(scale: object) -> list[float]:
    """Return the scales of the panels: 1, and a given scale that differs from 1."""
    if not isinstance(scale, int | float) or not 1 / LARGEST <= scale <= LARGEST:
        raise InputError(f"scale must lie between 2^-64 and 2^64, got {shorten(scale)}; try 1024.")
    return [1.0] if scale == 1 else [1.0, float(scale)]


def tally(values: npt.NDArray[np.float32], format: Format, scale: float) -> HistogramCounts:
    """Count the fates of fp32 values, multiplied by a scale in fp32 and then rounded once to a
    format."""
    with np.errstate(over="ignore", under="ignore"):
        sizes = np.abs(values * np.float32(scale))
    stored = rounding.rounded(sizes, format)
    alive, gone = values != 0, stored == 0
    beyond = ~np.isfinite(stored)
    below = ~gone & (stored < format.smallest_normal)
    masks = (~alive, gone & alive, below, ~gone & ~below & ~beyond, beyond)
    counts = {name: int(np.sum(mask)) for name, mask in zip(COUNTS, masks, strict=True)}
    powers = _counts_by_power(values[alive], scale, (gone | beyond)[alive])
    return HistogramCounts(scale, counts, powers)


def _counts_by_power(
    values: npt.NDArray[np.float32], scale: float, lost: npt.NDArray[np.bool_]
) -> dict[int, tuple[int, int]]:
    """Return, for each power of 2, the number of kept values and the number of lost ones."""
    powers = np.frexp(np.abs(values.astype(np.float64)) * scale)[1] - 1
    counts = {}
    for power in range(int(powers.min()), int(powers.max()) + 1) if len(powers) else ():
        there = powers == power
        counts[power] = (int(np.sum(there & ~lost)), int(np.sum(there & lost)))
    return counts


def _fp32_values(given: Given) -> npt.NDArray[np.float32]:
    """Return all gradients in one array of fp32."""
    arrays: Any = given.gradients if isinstance(given, Run) else given
    parts = list(arrays.values()) if isinstance(arrays, Mapping) else [arrays]
    if not parts:
        raise InputError(
            "this run has no gradients; try memlab.run(step, batch, keep='gradients')."
        )
    try:
        if any(np.iscomplexobj(a) for a in parts):
            raise TypeError
        values = np.concatenate([np.asarray(a).astype(np.float32).reshape(-1) for a in parts])
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"gradients are arrays of numbers, got {shorten(given)}; "
            "try memlab.run(step, batch, keep='gradients')."
        ) from None
    if not np.isfinite(values).all():
        raise InputError("the gradients hold NaN or infinity; try those of a run in fp32.")
    return values


def floating(what: str, format: str | Format) -> Format:
    """Return a floating-point format of at most 32 bits.

    Raises:
        InputError: another format; ``what`` names the values in the sentence.
    """
    target = rounding.find(format)
    if target.kind != "float" or target.bits > 32:
        raise InputError(
            f"{what} need a floating-point format of at most 32 bits, got {target}; try fp16."
        )
    return target


def text_of(key: str, **values: object) -> str:
    """Return a text about gradients from the language files."""
    return strings.get(f"training.gradients.{key}", **values)
