"""The run that the page shows: the copy of one image, written for real when the page is made."""

from __future__ import annotations

from dataclasses import dataclass

from memlab import devices, units
from memlab.views.copies.write import Written, write
from memlab.views.lecture import facts
from memlab.views.lecture.sheet import say

TIMES = 9
"""How often the copy is written; the median is told."""


@dataclass(frozen=True)
class Recorded(Written):
    """What was written, with machine and date."""

    where: str

    def text(self) -> str:
        """The run in words."""
        return say("run.text", planned=units.exact(self.planned), residual=self.residual,
                   measured=units.exact(self.measured), ms=self.ms, where=self.where)  # fmt: skip


def record() -> Recorded:
    """Lower one image of the layer with memlab's kernel, under the meter.

    Raises:
        InputError: so much memory is not free.
    """
    done = write(facts.layer(), "close a program or leave the run out with --no-run", TIMES)
    return Recorded(done.planned, done.measured, done.seconds, devices.here())
