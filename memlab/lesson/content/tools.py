"""What the truths of several lessons need: peaks, figures, steps that are run."""

from __future__ import annotations

from fractions import Fraction

from memlab.lesson.question import Figure
from memlab.networks.graph import Network
from memlab.planner.book import plan
from memlab.step.build import inference_step, training_step
from memlab.step.step import Step


def planned(value: Fraction | int, label: str = "") -> Figure:
    """A bar that was planned."""
    return Figure("planned", Fraction(value), label)


def measured(value: Fraction | int, label: str = "") -> Figure:
    """A bar that was measured on this machine a moment ago."""
    return Figure("measured", Fraction(value), label)


def step_of(network: Network, optimizer: str = "momentum", format: str = "fp32") -> Step:
    """A training step, or prediction where there is no optimizer."""
    if not optimizer:
        return inference_step(network, format)
    return training_step(network, optimizer, format)


def peak_of(network: Network, batch: int, optimizer: str = "momentum") -> int:
    """The planned peak of a training step in bytes."""
    return plan(step_of(network, optimizer)).peak(batch)
