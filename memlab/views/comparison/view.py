"""Steps of one network side by side: a picture that stands still, and its text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from memlab.step.step import Step
from memlab.views.comparison import picture, twin, words
from memlab.views.comparison.rows import Rows
from memlab.views.comparison.rows import rows as made
from memlab.views.still import Still


@dataclass(frozen=True, repr=False)
class Comparison(Still):
    """Steps side by side; a notebook shows the picture, ``print`` the text, ``rows`` has the exact
    figures."""

    rows: Rows

    def svg(self) -> str:
        title = f"{words.title(self.rows)}. {words.headline(self.rows)}"
        return picture.draw(self.rows).render(title)

    def text(self) -> str:
        return twin.write(self.rows)


def comparison(
    steps: Mapping[str, Step], batch: int = 32, measure: bool = False, *, progress: bool = True
) -> Comparison:
    """What each step keeps alive at its peak, by role, and how the peaks compare with the first.

    >>> mixed = memlab.precision(step, "mixed fp16")
    >>> comparison({"fp32": step, "mixed fp16": mixed}, batch=8)

    Args:
        steps: steps of one network by the names that they are shown under.
        batch: the mini-batch size.
        measure: also run each step once on this machine, one after the other.
        progress: show how far a run is, where it takes more than a second.

    Raises:
        InputError: no steps, or of several networks; a name that is no text; a batch that a step
            does not hold for; with ``measure``, more bytes than are free (``DoesNotFitError``) or
            an operation without a kernel, before anything runs.
    """
    return Comparison(made(steps, batch, measure, progress))
