"""Trainings in several formats: losses over the steps, and the test errors at the end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import isfinite

import numpy as np

from memlab import strings, units
from memlab.errors import InputError, shorten
from memlab.measure import processor, timing
from memlab.pictures.draw.alternatives import (
    LabelledBar,
    NamedLine,
    Names,
    bars,
    drawn,
    with_names_below,
)
from memlab.pictures.draw.chart import Axis, Chart
from memlab.pictures.draw.marks import CROSS, Fact, Glyph
from memlab.pictures.draw.page import Page, report
from memlab.pictures.draw.scale import LogScale, Scale, counts, counts_over, ratios_around
from memlab.pictures.draw.table import Paragraphs, SideBySide, Table
from memlab.pictures.draw.text import shortened, wrap
from memlab.pictures.values import timings
from memlab.pictures.values.number_text import figure, share
from memlab.pictures.values.recordable import Recordable
from memlab.runtime.training import History

TRAININGS, POINTS = 10, 60
"""Largest number of trainings, and number of points of the longest one."""
LEAST, PITCH, ROOM = 230, 44, 172
"""Pixels: least height of the curves, least height of a training's row beside them, and width of
a name there."""


@dataclass(frozen=True)
class TrainingCurve:
    """One training, its name, and the number of steps (``window``) that make one point."""

    name: str
    history: History
    window: int

    @cached_property
    def points(self) -> list[tuple[float, float]]:
        """Middle and mean loss of every ``window`` steps; no point where a loss of them is NaN or
        infinite."""
        losses, points = self.history.losses, []
        for first in range(0, len(losses), self.window):
            part = losses[first : first + self.window]
            if np.isfinite(part).all():
                points.append((first + (len(part) + 1) / 2, float(np.mean(part))))
        return points

    @property
    def level(self) -> float:
        """Mean loss of the last point; NaN without any point."""
        return self.points[-1][1] if self.points else float("nan")

    @property
    def state(self) -> str:
        """Loss at the end in words, or the steps at which it was NaN or infinite."""
        losses, broken = self.history.losses, self.history.broken
        if not broken:
            return text_of("loss", loss=figure(self.level))
        key = "broken" if len(losses) - broken[0] + 1 == len(broken) else "sometimes"
        figures = {"first": f"{broken[0]:,}", "count": f"{len(broken):,}"}
        return text_of(key, **figures, steps=f"{len(losses):,}")

    @property
    def lines(self) -> list[timing.BenchmarkLine]:
        """Figures of the training: test errors, loss at the end, steps without a loss, peak and
        seconds."""
        history = self.history
        figures = {
            "test errors": (100 * history.error, "%"),
            "at the end": (self.level, "loss"),
            "without a loss": (len(history.broken), "steps"),
            "planned peak": (history.peak, "B"),
            "time": (history.seconds, "s"),
        }
        return [
            timing.BenchmarkLine(f"{self.name}: {name}", value, unit)
            for name, (value, unit) in figures.items()
            if isfinite(value) and (value or unit != "steps")
        ]

    def broken(self, up: LogScale) -> tuple[float, float] | None:
        """Return the place of the first loss that was NaN or infinite: its step, and the loss
        before it, or the top of the chart. None where every loss was a number."""
        if not self.history.broken:
            return None
        first = self.history.broken[0]
        return first, next((y for x, y in reversed(self.points) if x < first), up.last)

    def curve(self, up: LogScale) -> NamedLine:
        """Return the line of the training, with its name and its state at the end."""
        broken = self.broken(up)
        end = max([*self.points[-1:], *([broken] if broken else [])])
        name = [(shortened(self.name, ROOM, 12, bold=True), True)]
        state = wrap(self.state, ROOM, 11)
        return NamedLine([name, *state], self.points, [Fact(self.name, self.state)], end)


@dataclass(frozen=True, repr=False)
class TrainingCurves(Recordable):
    """Losses over the steps of some trainings, and their test errors at the end. The ``machine``
    that trained them is named where it is known."""

    curves: tuple[TrainingCurve, ...]
    machine: timing.Machine | None = None

    @property
    def lines(self) -> list[timing.BenchmarkLine]:
        return [line for curve in self.curves for line in curve.lines]

    @property
    def threads(self) -> int:
        return processor.threads()

    @property
    def steps(self) -> int:
        """Number of steps of the longest training."""
        return max(len(curve.history.losses) for curve in self.curves)

    @property
    def title(self) -> str:
        window = self.curves[0].window
        means = text_of("means", steps=window) if window > 1 else ""
        return text_of("title", means=means)

    @property
    def sentences(self) -> list[str]:
        """Sentence with the test errors at the end, in the order of the trainings."""
        errors = (
            text_of("with", name=curve.name, error=share(curve.history.error))
            for curve in self.curves
        )
        return [text_of("headline", errors=", ".join(errors))]

    @property
    def broken(self) -> list[str]:
        """Sentences on the trainings whose loss was NaN or infinite."""
        return [f"{curve.name}: {curve.state}." for curve in self.curves if curve.history.broken]

    @property
    def notes(self) -> list[str]:
        counts = sorted({(curve.history.last, curve.history.epochs) for curve in self.curves})
        where = [timings.where(self.machine)] if self.machine else []
        return [*(text_of("note", last=last, epochs=epochs) for last, epochs in counts), *where]

    def page(self) -> Page:
        up = ratios_around((loss for curve in self.curves for _, loss in curve.points), figure)
        lines = [curve.curve(up) for curve in self.curves]
        high = max(LEAST, PITCH * len(lines))
        names = Names(lines, 32, high / len(lines), high / len(lines) / 2)
        broken = filter(None, (curve.broken(up) for curve in self.curves))
        crosses = [Glyph(*place, CROSS, "limit", "x") for place in broken]
        steps = [(n, f"{n:,}") for n in counts(self.steps)]
        losses = Chart(
            Scale(1, max(2, self.steps)),
            up,
            [*drawn(lines), *crosses, names],
            high,
            Axis(text_of("head.steps"), grid=False, ticks=steps),
            Axis(text_of("head.loss")),
            left=52,
            right=222,
        )
        order = [self.curves[index] for index in names.order]
        return report(
            self,
            Paragraphs(self.broken, drawn=False),
            SideBySide([(with_names_below(losses), 610), (_errors(order, high), 190)], gap=8),
            self._table(),
            Paragraphs([text_of("each"), *self._lines_of("each_error")], drawn=False, gap=1),
            Paragraphs([text_of("steps"), *self._lines_of("step")], drawn=False, gap=1),
            size=14,
        )

    def _lines_of(self, what: str) -> list[str]:
        """Return a line for each training with a field of its history."""
        return [f"{curve.name}: {getattr(curve.history, what)}" for curve in self.curves]

    def _table(self) -> Table:
        """Return the table of the trainings, which is in the text only."""
        heads = ("name", "batch", "first", "end", "error", "scale", "peak", "time")
        rows = []
        for curve in self.curves:
            history, scales = curve.history, curve.history.scales
            rows.append([
                curve.name,
                f"{history.batch:,}",
                figure(history.losses[0]),
                strings.get("training.nan") if history.broken else figure(curve.level),
                share(history.error),
                f"{scales[0]:,g} → {scales[-1]:,g}" if scales else "–",
                units.exact(history.peak),
                text_of("seconds", seconds=history.seconds),
            ])  # fmt: skip
        return Table([text_of(f"head.{key}") for key in heads], rows, drawn=False, gap=1)


def _errors(curves: list[TrainingCurve], high: float) -> Chart:
    """Return the chart of the test errors at the end, a bar beside the name of each training."""
    across = counts_over(round(1000 * max(curve.history.error for curve in curves)), "%", 10)
    rows = []
    for curve in curves:
        error = share(curve.history.error)
        fact = Fact(curve.name, error, more=curve.state)
        rows.append(LabelledBar(1000 * curve.history.error, "measured", [(error, True)], fact,
                                named_beside=curve.name))  # fmt: skip
    return bars(rows, across, high / len(curves), text_of("head.error"))


def training_curves(
    histories: Mapping[str, History], machine: timing.Machine | None = None
) -> TrainingCurves:
    """Show trainings beside each other: losses over the steps, and test errors at the end.

    >>> history = memlab.History("a step", 32, (2.0, 1.0, 0.5), (0.9, 0.25), peak=4096, seconds=1.0)
    >>> view = memlab.views.training_curves({"fp32": history})
    >>> print(view.sentences[0])
    Test error at the end: 25.0 % with fp32.

    Args:
        histories: 1 to 10 results of ``memlab.train`` by their names:
            ``{"fp32": memlab.train(network, data), ...}``.
        machine: machine that trained them, named below the picture; not named if not given.

    Raises:
        InputError: no training, too many, or something else.
    """
    return TrainingCurves(_trainings(histories), machine)


def _trainings(histories: object) -> tuple[TrainingCurve, ...]:
    """Return the checked trainings, all with one number of steps for a point."""
    if not isinstance(histories, Mapping) or not 0 < len(histories) <= TRAININGS:
        raise InputError(
            f"give 1 to {TRAININGS} trainings with names, got {shorten(histories)}; "
            'try {"fp32": memlab.train(network, data)}.'
        )
    for history in histories.values():
        if not isinstance(history, History):
            raise InputError(
                f"a training is shown, got {shorten(history)}; try memlab.train(network, data)."
            )
    longest = max(len(history.losses) for history in histories.values())
    window = max(1, longest // POINTS)
    curves = (TrainingCurve(str(name), history, window) for name, history in histories.items())
    return tuple(curves)


def text_of(key: str, **values: object) -> str:
    """Return a text about training curves from the language files."""
    return strings.get(f"training.curves.{key}", **values)
