"""The view of a run: a picture that stands still, and its text."""

from __future__ import annotations

from dataclasses import dataclass

from memlab.errors import InputError, shorten
from memlab.runtime.run import Run
from memlab.views.run import picture, twin, words
from memlab.views.run.rows import Rows, rows
from memlab.views.still import Still


@dataclass(frozen=True, repr=False)
class PlannedAndMeasured(Still):
    """A run as bars and as a timeline; a notebook shows the picture, ``print`` the text."""

    rows: Rows

    def svg(self) -> str:
        return picture.draw(self.rows).render(
            f"{words.title(self.rows)}. {words.spoken(self.rows)}"
        )

    def text(self, seconds: bool = False) -> str:
        """The same in words; ``seconds`` adds how long the run took."""
        return twin.write(self.rows, seconds)


def planned_and_measured(run: Run, guess: int | str | None = None) -> PlannedAndMeasured:
    """A guess at the peak, its plan and its measurement side by side, and both over time.

    Args:
        run: what ``memlab.run`` gave back.
        guess: a guess at the peak, in bytes or as ``"1.4 GB"``.

    Raises:
        InputError: no run, or no amount of memory.
    """
    if not isinstance(run, Run):
        raise InputError(f"a run is shown, got {shorten(run)}; try memlab.run(step, batch=4).")
    return PlannedAndMeasured(rows(run, guess))
