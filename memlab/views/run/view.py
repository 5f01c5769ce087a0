"""The view of a run: a picture that stands still, and its text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from memlab.errors import InputError, shorten
from memlab.runtime.run import Run
from memlab.views.run import picture, twin, words
from memlab.views.run.rows import Rows, rows


@dataclass(frozen=True, repr=False)
class PlannedAndMeasured:
    """A run as bars and as a timeline; a notebook shows the picture, ``print`` the text."""

    rows: Rows

    def svg(self) -> str:
        """The picture, which stands alone."""
        return picture.draw(self.rows).render(
            f"{words.title(self.rows)}. {words.spoken(self.rows)}"
        )

    def text(self, seconds: bool = False) -> str:
        """The same in words; ``seconds`` adds how long the run took."""
        return twin.write(self.rows, seconds)

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return {"image/svg+xml": self.svg(), "text/plain": self.text()}


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
