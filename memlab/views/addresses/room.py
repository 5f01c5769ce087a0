"""Budgets beside an arena: how much each leaves for it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from memlab import devices
from memlab.studies.memory import Budget, budget
from memlab.views.addresses.state import State

STEP = 10**7
"""What is free here is read in steps of 10 MB: the last digits never stand still."""


@dataclass(frozen=True, slots=True)
class Room:
    """A budget, and ``before``: bytes that are there before the step, which the arena cannot
    have."""

    budget: Budget
    before: int

    @property
    def nbytes(self) -> int:
        """Bytes that are left for the arena."""
        return max(self.budget.nbytes - self.before, 0)


def named(name: str | int) -> Budget:
    """A budget under the name that it was given: a device's, or an amount such as ``'8 GB'``.

    Raises:
        InputError: neither a device nor an amount.
    """
    found = budget(name)
    return replace(found, name=name) if isinstance(name, str) else found


def fresh(state: State, live: bool) -> State:
    """The same with what is free on this machine now, or without it."""
    fixed = tuple(budget for budget in state.budgets if not budget.live)
    if not live or state.source.toy:
        return replace(state, budgets=fixed)
    here = Budget("free", devices.free_memory() // STEP * STEP, live=True)
    return replace(state, budgets=(*fixed, here))
