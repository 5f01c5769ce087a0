"""Gradients by their size, and the limits of a format: how many become 0 there."""

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
"""0 before, 0 in the format, kept with fewer digits, kept, too large."""
LARGEST = 2**64
"""The largest scale."""
Given = Run | Mapping[str, npt.ArrayLike] | npt.ArrayLike


@dataclass(frozen=True)
class HistogramCounts:
    """Gradients times a scale in a format.

    ``counts`` are by the names of ``COUNTS``. ``powers`` holds, for every power of 2, how many
    gradients have a size from it up to the next one and are kept, and how many are not.
    """

    scale: float
    counts: Mapping[str, int]
    powers: Mapping[int, tuple[int, int]]

    @property
    def alive(self) -> int:
        """Gradients that are not 0."""
        return sum(self.counts.values()) - self.counts["already"]

    @property
    def name(self) -> str:
        """``'as they are'``, ``'times 1,024'``."""
        if self.scale == 1:
            return text_of("as_they_are")
        return text_of("times", scale=f"{self.scale:,.6g}")


@dataclass(frozen=True, repr=False)
class GradientHistogram(Still, Study):
    """Gradients as they are and, where a scale is given, times that: by their size, with the limits
    of a format."""

    what: str
    format: Format
    tallies: tuple[HistogramCounts, ...]

    @property
    def rows(self) -> GradientHistogram:
        """Its figures, as every view has them: they are its own."""
        return self

    @property
    def title(self) -> str:
        total = sum(self.tallies[0].counts.values())
        of = text_of("of", what=self.what) if self.what else ""
        return text_of("title", what=of, total=f"{total:,}")

    @property
    def limits(self) -> list[tuple[float, str]]:
        """The limits of the format and their names."""
        found = self.format
        small, normal = (
            power_text(floor(log2(value))) for value in (found.smallest, found.smallest_normal)
        )
        return [
            (found.smallest, text_of("line.smallest", value=small)),
            (found.smallest_normal, text_of("line.normal", value=normal)),
            (found.largest, text_of("line.largest", value=figure(found.largest, 5))),
        ]

    @property
    def sentences(self) -> list[str]:
        """The gradients that vanish, as they are and scaled."""
        return [self._sentence(tally) for tally in self.tallies]

    def _sentence(self, tally: HistogramCounts) -> str:
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
        """The fate of the gradients of a count: of too large ones it differs from format to
        format."""
        lost = count == "beyond" and not self.format.infinities
        return text_of("not_a_number" if lost else count)

    def page(self) -> Page:
        heads = ["", *(self.fate(name) for name in COUNTS)]
        counted = [[t.name, *(f"{t.counts[name]:,}" for name in COUNTS)] for t in self.tallies]
        limits = "; ".join(name for _, name in self.limits)
        said = text_of("limits", format=self.format, limits=limits)
        return report(
            self,
            *(self._panel(tally) for tally in self.tallies),
            Table(heads, counted, bold=range(len(counted)), wide=True, gap=6),
            Paragraphs(said, drawn=False, gap=1),
            *(_powers(tally) for tally in self.tallies),
            size=14,
            bold=len(self.sentences),
        )

    def _span(self) -> range:
        """The powers of 2 that are shown: those of the gradients and of the limits."""
        powers = [power for tally in self.tallies for power in tally.powers]
        powers += [floor(log2(value)) for value, _ in self.limits]
        return range(min(powers) - 1, max(powers) + 2)

    def _panel(self, tally: HistogramCounts) -> Chart:
        """Bars for the powers: filled where gradients are kept, hollow where they are not."""
        first, last = tally is self.tallies[0], tally is self.tallies[-1]
        span = self._span()
        across = Scale(span.start, span.stop)
        sizes = [sum(bar) for each in self.tallies for bar in each.powers.values()]
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
        """Lines at the smallest and the largest values, named above the first panel."""
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
    kept, lost = tally.powers[power]
    said = f"{text_of('head.kept')} {kept:,}, {text_of('head.lost')} {lost:,}"
    fact = Fact(f"{power_text(power)} – {power_text(power + 1)}", said)
    left, right = power + 0.02, power + 0.98
    marks: list[Mark] = [Rect(left, right, 0, kept, KEPT, fact=fact)] if kept else []
    if lost:
        marks.append(Rect(left, right, kept, kept + lost, "before thin", fact=fact))
    return marks


def _powers(tally: HistogramCounts) -> Table:
    """How many gradients of each size are kept, in words alone."""
    heads = [text_of(f"head.{head}") for head in ("size", "kept", "lost")]
    counted = tally.powers.items()
    rows = [[power_text(power), f"{kept:,}", f"{lost:,}"] for power, (kept, lost) in counted]
    return Table(heads, rows, title=f"{tally.name}:", drawn=False, gap=1)


def gradient_histogram(
    gradients: Given, format: str | Format = "fp16", scale: float = 1.0
) -> GradientHistogram:
    """How many gradients become 0 in a format, and how many do once they are multiplied.

    Args:
        gradients: a run in fp32 with ``keep="gradients"``, or arrays, also by name.
        format: a floating-point format of at most 32 bits.
        scale: of the loss, and so of every gradient; a second panel shows them times that. From
            2^-64 to 2^64.

    Raises:
        InputError: no gradients, NaN or infinity in them, or a value that is not allowed.
    """
    found, scales = floating("gradients", format), _scales(scale)
    values = _values(gradients)
    run = gradients if isinstance(gradients, Run) else None
    what = f"{run.step.describe()}, batch {run.batch}" if run else ""
    return GradientHistogram(what, found, tuple(tally(values, found, each) for each in scales))


def _scales(scale: object) -> list[float]:
    if not isinstance(scale, int | float) or not 1 / LARGEST <= scale <= LARGEST:
        raise InputError(f"scale must lie between 2^-64 and 2^64, got {shorten(scale)}; try 1024.")
    return [1.0] if scale == 1 else [1.0, float(scale)]


def tally(values: npt.NDArray[np.float32], format: Format, scale: float) -> HistogramCounts:
    """Count the fates of fp32 values times a scale: multiplied in fp32, then rounded once."""
    with np.errstate(over="ignore", under="ignore"):
        sizes = np.abs(values * np.float32(scale))
    held = rounding.rounded(sizes, format)
    alive, gone = values != 0, held == 0
    beyond = ~np.isfinite(held)
    below = ~gone & (held < format.smallest_normal)
    masks = (~alive, gone & alive, below, ~gone & ~below & ~beyond, beyond)
    counts = {name: int(np.sum(mask)) for name, mask in zip(COUNTS, masks, strict=True)}
    return HistogramCounts(scale, counts, _by_power(values[alive], scale, (gone | beyond)[alive]))


def _by_power(
    values: npt.NDArray[np.float32], scale: float, lost: npt.NDArray[np.bool_]
) -> dict[int, tuple[int, int]]:
    powers = np.frexp(np.abs(values.astype(np.float64)) * scale)[1] - 1
    found = {}
    for power in range(int(powers.min()), int(powers.max()) + 1) if len(powers) else ():
        there = powers == power
        found[power] = (int(np.sum(there & ~lost)), int(np.sum(there & lost)))
    return found


def _values(given: Given) -> npt.NDArray[np.float32]:
    """All gradients in a row, in fp32."""
    arrays: Any = given.gradients if isinstance(given, Run) else given
    found = list(arrays.values()) if isinstance(arrays, Mapping) else [arrays]
    if not found:
        raise InputError(
            "this run has no gradients; try memlab.run(step, batch, keep='gradients')."
        )
    try:
        if any(np.iscomplexobj(a) for a in found):
            raise TypeError
        values = np.concatenate([np.asarray(a).astype(np.float32).reshape(-1) for a in found])
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"gradients are arrays of numbers, got {shorten(given)}; "
            "try memlab.run(step, batch, keep='gradients')."
        ) from None
    if not np.isfinite(values).all():
        raise InputError("the gradients hold NaN or infinity; try those of a run in fp32.")
    return values


def floating(what: str, format: str | Format) -> Format:
    """A floating-point format of at most 32 bits."""
    found = rounding.find(format)
    if found.kind != "float" or found.bits > 32:
        raise InputError(
            f"{what} need a floating-point format of at most 32 bits, got {found}; try fp16."
        )
    return found


def text_of(key: str, **values: object) -> str:
    """A text about gradients."""
    return strings.get(f"training.gradients.{key}", **values)
