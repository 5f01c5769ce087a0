"""What the view of a number is asked to show: one frozen value."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from memlab import rounding
from memlab.errors import whole
from memlab.formats import Format
from memlab.views.number.typed import parse

STEPS = 16
"""How many values a walk goes up or down."""


@dataclass(frozen=True)
class State:
    """A number as it was typed, and a format. A ``step`` other than 0 shows the value of the
    format that comes so many after the typed number, or before it."""

    typed: str = "0.1"
    format: str = "fp16"
    step: int = 0

    def __post_init__(self) -> None:
        rounding.nearest(parse(self.typed), self.found)
        object.__setattr__(self, "step", whole("step", self.step, -STEPS, STEPS))

    @property
    def found(self) -> Format:
        """The format."""
        return rounding.find(self.format)

    @property
    def number(self) -> Fraction | float:
        """The number that is shown: what was typed, or where the walk has come to."""
        typed = parse(self.typed)
        return rounding.walk(typed, self.found, self.step) if self.step else typed
