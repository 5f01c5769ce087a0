"""The views of training in several formats: pictures that stand still, and their text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memlab.formats import Format
from memlab.runtime.training import History
from memlab.views.still import Still
from memlab.views.svg import Svg
from memlab.views.training import curves, histogram, losses, sums, sums_picture, tally
from memlab.views.training.losses import Curves
from memlab.views.training.sums import Sums
from memlab.views.training.tally import Given, Gradients


@dataclass(frozen=True, repr=False)
class Drawn(Still):
    """A picture whose title is the head of its text."""

    rows: Any

    def draw(self) -> Svg:
        """The picture under construction."""
        raise NotImplementedError

    def svg(self) -> str:
        return self.draw().render(self.text().partition("\n\n")[0].replace("\n", " "))

    def text(self) -> str:
        text: str = self.rows.text()
        return text


@dataclass(frozen=True, repr=False)
class TrainingCurves(Drawn):
    """Losses over the steps, and the test errors at the end."""

    rows: Curves

    def draw(self) -> Svg:
        return curves.draw(self.rows)


@dataclass(frozen=True, repr=False)
class GradientHistogram(Drawn):
    """Gradients by their size, and the limits of a format."""

    rows: Gradients

    def draw(self) -> Svg:
        return histogram.draw(self.rows)


@dataclass(frozen=True, repr=False)
class RunningSum(Drawn):
    """Sums of equal values, added in several ways."""

    rows: Sums

    def draw(self) -> Svg:
        return sums_picture.draw(self.rows)


def training_curves(histories: Mapping[str, History]) -> TrainingCurves:
    """Trainings by their names: ``{"fp32": memlab.train(network, data), ...}``.

    Raises:
        InputError: none, too many, or something else.
    """
    return TrainingCurves(losses.curves(histories))


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
    return GradientHistogram(tally.gradients(gradients, format, scale))


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
    return RunningSum(sums.sums(format, count, value))
