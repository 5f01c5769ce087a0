"""What is drawn of some trainings: smoothed losses, errors at the end, where a loss was NaN."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from memlab import units
from memlab.errors import InputError, shorten
from memlab.runtime.training import History
from memlab.studies.figures import columns
from memlab.views.training import words
from memlab.views.training.lines import MOST, Points

POINTS = 60
"""Of the longest curve."""


@dataclass(frozen=True)
class Way:
    """One training, its name, and the number of its look."""

    index: int
    name: str
    history: History
    window: int

    @cached_property
    def points(self) -> Points:
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
            return words.say("curves.loss", loss=words.figure(self.level))
        count = len(losses) - broken[0] + 1
        key = "broken" if count == len(broken) else "sometimes"
        figures = {"first": f"{broken[0]:,}", "count": f"{len(broken):,}"}
        return words.say(f"curves.{key}", **figures, steps=f"{len(losses):,}")


@dataclass(frozen=True)
class Curves:
    """Several trainings on the same axes."""

    ways: tuple[Way, ...]

    @property
    def steps(self) -> int:
        """Of the longest training."""
        return max(len(way.history.losses) for way in self.ways)

    @property
    def title(self) -> str:
        """What stands on the axes."""
        window = self.ways[0].window
        means = words.say("curves.means", steps=window) if window > 1 else ""
        return words.say("curves.title", means=means)

    @property
    def headline(self) -> str:
        """The errors at the end, in the order that was asked for."""
        each = (
            words.say("curves.with", name=way.name, error=words.percent(way.history.error))
            for way in self.ways
        )
        return words.say("curves.headline", errors=", ".join(each))

    @property
    def notes(self) -> list[str]:
        """Over which epochs the error is taken."""
        counts = sorted({(way.history.last, way.history.epochs) for way in self.ways})
        return [words.say("curves.note", last=last, epochs=epochs) for last, epochs in counts]

    def text(self) -> str:
        """The twin."""
        broken = [f"{way.name}: {way.state}." for way in self.ways if way.history.broken]
        steps = [f"{way.name}: {way.history.step}" for way in self.ways]
        epochs = [f"{way.name}: {way.history.each_error}" for way in self.ways]
        parts = (
            [f"{self.title}.", self.headline, *broken],
            self._table(),
            [words.say("curves.each"), *epochs],
            [words.say("curves.steps"), *steps],
            self.notes,
        )
        return "\n\n".join("\n".join(part) for part in parts)

    def _table(self) -> list[str]:
        heads = ["name", "batch", "first", "end", "error", "scale", "peak", "time"]
        cells = [[words.say(f"curves.head.{head}") for head in heads]]
        for way in self.ways:
            history, scales = way.history, way.history.scales
            cells.append([
                way.name,
                f"{history.batch:,}",
                words.figure(history.losses[0]),
                words.say("nan") if history.broken else words.figure(way.level),
                words.percent(history.error),
                f"{scales[0]:,g} → {scales[-1]:,g}" if scales else "–",
                units.exact(history.peak),
                words.say("curves.seconds", seconds=history.seconds),
            ])  # fmt: skip
        return columns(cells)


def curves(histories: object) -> Curves:
    """Names and trainings.

    Raises:
        InputError: none, too many, or something else.
    """
    if not isinstance(histories, Mapping) or not 0 < len(histories) <= MOST:
        raise InputError(
            f"give 1 to {MOST} trainings with names, got {shorten(histories)}; "
            'try {"fp32": memlab.train(network, data)}.'
        )
    for history in histories.values():
        if not isinstance(history, History):
            raise InputError(
                f"a training is shown, got {shorten(history)}; try memlab.train(network, data)."
            )
    longest = max(len(history.losses) for history in histories.values())
    window = max(1, longest // POINTS)
    return Curves(
        tuple(
            Way(index, str(name), history, window)
            for index, (name, history) in enumerate(histories.items())
        )
    )
