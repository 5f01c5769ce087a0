"""How every view draws what memory is for: one colour, tint, pattern and side for each role.

Solid is a value that is kept, diagonal is a gradient; the floor is cool, the mountain green and
orange. Neighbours in a stack differ in grey too, and no view tells things apart by colour alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from memlab import strings
from memlab.step.tensor import Role


@dataclass(frozen=True, slots=True)
class Paint:
    """How a role is filled: a colour, how much of it covers the page, a pattern over it."""

    colour: str
    tint: float
    pattern: str = ""


PAINTS: dict[Role, Paint] = {
    Role.PARAMETER: Paint("#0072B2", 0.62),
    Role.OPTIMIZER_STATE: Paint("#56B4E9", 0.30, "level"),
    Role.BUFFER: Paint("#999999", 0.30, "level"),
    Role.INPUT: Paint("#999999", 0.30, "dots"),
    Role.FEATURE_MAP: Paint("#009E73", 0.38),
    Role.PARAMETER_GRADIENT: Paint("#CC79A7", 0.28, "rising"),
    Role.WORKSPACE: Paint("#F0E442", 0.75, "grid"),
    Role.GRADIENT_MAP: Paint("#D55E00", 0.34, "falling"),
}
"""The colours of Okabe and Ito, which people with any colour vision can tell apart."""


STATISTICS = Paint("#009E73", 0.16, "level")
"""Kept values that do not grow: means and deviations of batch norm, the loss."""


@dataclass(frozen=True, slots=True)
class Look:
    """One slice of a stack: the part of a role that grows with the batch, or the part that does
    not. A usual slice has its line in every table; another only where a plan has such bytes."""

    role: Role
    grows: bool

    @property
    def usual(self) -> bool:
        """Whether a learner expects it, so that its absence is worth a line."""
        return self.grows is (self.role in _GROW) and self.role is not Role.BUFFER

    @property
    def label(self) -> str:
        """Its name for people, in the plural."""
        side = "grows" if self.grows else "stays"
        return strings.get(f"role.{self.role.value}.{side}")

    @property
    def paint(self) -> Paint:
        """How it is filled."""
        odd = self.role is Role.FEATURE_MAP and not self.grows
        return STATISTICS if odd else PAINTS[self.role]


_GROW = (Role.INPUT, Role.FEATURE_MAP, Role.GRADIENT_MAP)
_STAY = (Role.PARAMETER, Role.OPTIMIZER_STATE, Role.BUFFER)
_PASS = (Role.PARAMETER_GRADIENT, Role.WORKSPACE)

FLOOR = tuple(Look(role, False) for role in (*_STAY, *_GROW, *_PASS))
MOUNTAIN = tuple(Look(role, True) for role in (*reversed(_PASS), *_STAY, *_GROW))
STACK = (*FLOOR, *MOUNTAIN)
"""From the bottom of a stack to its top."""
