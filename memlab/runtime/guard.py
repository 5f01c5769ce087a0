"""Refuse what does not fit before anything is allocated: out of memory is a lesson, not a crash."""

from __future__ import annotations

from memlab import devices, units
from memlab.errors import InputError
from memlab.planner.answers import Fit
from memlab.planner.ledger import Ledger


class DoesNotFitError(InputError):
    """A plan needs more than is free. It carries the plan, what is free and the largest batch."""

    def __init__(self, ledger: Ledger, batch: int, free: int) -> None:
        self.ledger, self.batch, self.free = ledger, batch, free
        self.fit: Fit = ledger.fit(free)
        need = ledger.peak(batch)
        largest = (
            f"the largest batch that fits is {self.fit.batch}"
            if self.fit.fits
            else "not even batch 1 fits; try a smaller image"
        )
        super().__init__(
            f"refused before anything was allocated: {ledger.describe()} at batch {batch} needs "
            f"{units.both(need)}, {units.both(free)} are free, {units.short(need - free)} are "
            f"missing; {largest}."
        )


def check(ledger: Ledger, batch: int, free: int | None = None) -> None:
    """Let a plan pass that fits into what is free on this machine, control groups included.

    Raises:
        DoesNotFitError: it does not.
    """
    room = devices.free_memory() if free is None else free
    if ledger.peak(batch) > room:
        raise DoesNotFitError(ledger, batch, room)
