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
from memlab.pictures.draw.alternatives import LabelledBar, NamedLine, Names, bars, drawn
from memlab.pictures.draw.chart import Axis, Chart
from memlab.pictures.draw.marks import CROSS, Fact, Glyph
from memlab.pictures.draw.page import Page, report
from memlab.pictures.draw.scale import LogScale, Scale, counts, counts_over, ratios_around
from memlab.pictures.draw.table import Paragraphs, SideBySide, Table
from memlab.pictures.draw.text import shortened, wrap
from memlab.pictures.values.number_text import figure, share
from memlab.pictures.values.recordable import Recordable
from memlab.runtime.training import History

TRAININGS, POINTS = 10, 60
"""How many are shown at most, and the points of the longest."""
LEAST, PITCH, ROOM = 230, 44, 172
"""The height of the curves, and of the row of a training beside them, at least; the width of a
name there."""


@dataclass(frozen=True)
class TrainingCurve:
    """One training, its name, and how many steps are one point."""

    name: str
    history: History
    window: int

    @cached_property
    def points(self) -> list[tuple[float, float]]:
        """Middle and mean loss of so many steps each; none where a loss of them is no number."""
        losses, found = self.history.losses, []
        for first in range(0, len(losses), self.window):
            part = losses[first : first + self.window]
            if np.isfinite(part).all():
                found.append((first + (len(part) + 1) / 2, float(np.mean(part))))
        return found

    @property
    def level(self) -> float:
        """The loss of the last steps, or the last one that was a number."""
        return self.points[-1][1] if self.points else float("nan")

    @property
    def state(self) -> str:
        """How the loss ended, or that it was no number."""
        losses, broken = self.history.losses, self.history.broken
        if not broken:
            return text_of("loss", loss=figure(self.level))
        key = "broken" if len(losses) - broken[0] + 1 == len(broken) else "sometimes"
        figures = {"first": f"{broken[0]:,}", "count": f"{len(broken):,}"}
        return text_of(key, **figures, steps=f"{len(losses):,}")

    @property
    def lines(self) -> list[timing.BenchmarkLine]:
        """Its errors and losses at the end, the steps without a loss, its peak and its seconds."""
        history = self.history
        found = {
            "test errors": (100 * history.error, "%"),
            "at the end": (self.level, "loss"),
            "without a loss": (len(history.broken), "steps"),
            "planned peak": (history.peak, "B"),
            "time": (history.seconds, "s"),
        }
        return [
            timing.BenchmarkLine(f"{self.name}: {name}", value, unit)
            for name, (value, unit) in found.items()
            if isfinite(value) and (value or unit != "steps")
        ]

    def broken(self, up: LogScale) -> tuple[float, float] | None:
        """The place on a chart where the loss was no number for the first time: at the loss before,
        or on top where there was none."""
        if not self.history.broken:
            return None
        first = self.history.broken[0]
        return first, next((y for x, y in reversed(self.points) if x < first), up.last)

    def curve(self, up: LogScale) -> NamedLine:
        """Its points, its name where it ends, and how it ended."""
        broken = self.broken(up)
        end = max([*self.points[-1:], *([broken] if broken else [])])
        name = [(shortened(self.name, ROOM, 12, bold=True), True)]
        state = wrap(self.state, ROOM, 11)
        return NamedLine([name, *state], self.points, [Fact(self.name, self.state)], end)


@dataclass(frozen=True, repr=False)
class TrainingCurves(Recordable):
    """Losses over the steps, and the test errors at the end."""

    ways: tuple[TrainingCurve, ...]

    @property
    def lines(self) -> list[timing.BenchmarkLine]:
        return [line for way in self.ways for line in way.lines]

    @property
    def threads(self) -> int:
        return processor.threads()

    @property
    def steps(self) -> int:
        """Steps of the longest training."""
        return max(len(way.history.losses) for way in self.ways)

    @property
    def title(self) -> str:
        window = self.ways[0].window
        means = text_of("means", steps=window) if window > 1 else ""
        return text_of("title", means=means)

    @property
    def sentences(self) -> list[str]:
        """The errors at the end, in the order that was asked for."""
        errors = (text_of("with", name=w.name, error=share(w.history.error)) for w in self.ways)
        return [text_of("headline", errors=", ".join(errors))]

    @property
    def broken(self) -> list[str]:
        """Whose loss was no number, and when."""
        return [f"{way.name}: {way.state}." for way in self.ways if way.history.broken]

    @property
    def notes(self) -> list[str]:
        counts = sorted({(way.history.last, way.history.epochs) for way in self.ways})
        return [text_of("note", last=last, epochs=epochs) for last, epochs in counts]

    def page(self) -> Page:
        up = ratios_around((loss for way in self.ways for _, loss in way.points), figure)
        ways = [way.curve(up) for way in self.ways]
        high = max(LEAST, PITCH * len(ways))
        names = Names(ways, 32, high / len(ways), high / len(ways) / 2)
        broken = filter(None, (way.broken(up) for way in self.ways))
        crosses = [Glyph(*place, CROSS, "limit", "x") for place in broken]
        steps = [(n, f"{n:,}") for n in counts(self.steps)]
        losses = Chart(
            Scale(1, max(2, self.steps)),
            up,
            [*drawn(ways), *crosses, names],
            high,
            Axis(text_of("head.steps"), grid=False, ticks=steps),
            Axis(text_of("head.loss")),
            left=52,
            right=222,
        )
        order = [self.ways[index] for index in names.order]
        return report(
            self,
            Paragraphs(self.broken, drawn=False),
            SideBySide([(losses, 610), (_errors(order, high), 190)], gap=8),
            self._table(),
            Paragraphs([text_of("each"), *self._each("each_error")], drawn=False, gap=1),
            Paragraphs([text_of("steps"), *self._each("step")], drawn=False, gap=1),
            size=14,
        )

    def _each(self, what: str) -> list[str]:
        """A line of each training."""
        return [f"{way.name}: {getattr(way.history, what)}" for way in self.ways]

    def _table(self) -> Table:
        heads = ("name", "batch", "first", "end", "error", "scale", "peak", "time")
        rows = []
        for way in self.ways:
            history, scales = way.history, way.history.scales
            rows.append([
                way.name,
                f"{history.batch:,}",
                figure(history.losses[0]),
                strings.get("training.nan") if history.broken else figure(way.level),
                share(history.error),
                f"{scales[0]:,g} → {scales[-1]:,g}" if scales else "–",
                units.exact(history.peak),
                text_of("seconds", seconds=history.seconds),
            ])  # fmt: skip
        return Table([text_of(f"head.{key}") for key in heads], rows, drawn=False, gap=1)


def _errors(ways: list[TrainingCurve], high: float) -> Chart:
    """The test errors at the end, a bar beside the name of each training."""
    across = counts_over(round(1000 * max(way.history.error for way in ways)), "%", 10)
    rows = []
    for way in ways:
        error = share(way.history.error)
        fact = Fact(way.name, error, more=way.state)
        rows.append(LabelledBar(1000 * way.history.error, "measured", [(error, True)], fact))
    return bars(rows, across, high / len(ways), text_of("head.error"))


def training_curves(histories: Mapping[str, History]) -> TrainingCurves:
    """Trainings by their names: ``{"fp32": memlab.train(network, data), ...}``.

    Raises:
        InputError: none, too many, or something else.
    """
    return TrainingCurves(_trainings(histories))


def _trainings(histories: object) -> tuple[TrainingCurve, ...]:
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
    ways = (TrainingCurve(str(name), history, window) for name, history in histories.items())
    return tuple(ways)


def text_of(key: str, **values: object) -> str:
    """A text about curves."""
    return strings.get(f"training.curves.{key}", **values)
