"""The slices of a stack of bytes, by which whoever sums up a ledger names its bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memlab import strings
from memlab.moved import old_names
from memlab.step.tensor import Role


class StackPart(NamedTuple):
    """Part of a stack: the bytes of a role that grow with the batch, or those that do not. A usual
    part has its line in every table; any other only if a plan has such bytes."""

    role: Role
    grows: bool

    @property
    def usual(self) -> bool:
        """True if learners expect the part, so that its line is shown even without bytes."""
        return self.grows is (self.role in _GROW) and self.role is not Role.BUFFER

    @property
    def label(self) -> str:
        """Name for people, in the plural."""
        side = "grows" if self.grows else "stays"
        return strings.get(f"role.{self.role.value}.{side}")


_GROW = (Role.INPUT, Role.FEATURE_MAP, Role.GRADIENT_MAP)
_STAY = (Role.PARAMETER, Role.OPTIMIZER_STATE, Role.BUFFER)
_PASS = (Role.PARAMETER_GRADIENT, Role.WORKSPACE)

ROLES = (*_STAY, *_PASS, *_GROW)
"""From the bottom to the top, where parts are told apart by their role alone."""
FLOOR = tuple(StackPart(role, False) for role in (*_STAY, *_GROW, *_PASS))
MOUNTAIN = tuple(StackPart(role, True) for role in (*reversed(_PASS), *_STAY, *_GROW))
STACK = (*FLOOR, *MOUNTAIN)
"""From the bottom of a stack to its top."""


def role_name(role: Role) -> str:
    """Return the name of a role that is understood without others: ``'feature maps'``."""
    return StackPart(role, role in _GROW).label


if not TYPE_CHECKING:  # a checker of types sees the new names only
    __getattr__ = old_names(__name__)
