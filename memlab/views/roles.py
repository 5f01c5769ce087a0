"""How every view draws what memory is for: one colour, tint, pattern and side for each role.

Solid is a value that is kept, diagonal is a gradient; the floor is cool, the mountain green and
orange. Neighbours in a stack differ in grey too, and no view tells things apart by colour alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from memlab import strings
from memlab.step.tensor import Role
from memlab.views.draw.theme import PAINTS, STATISTICS, Paint


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

__all__ = ["FLOOR", "MOUNTAIN", "PAINTS", "STACK", "STATISTICS", "Look", "Paint"]
