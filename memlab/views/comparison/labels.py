"""Names and amounts of the parts of a stack: inside where they fit, else above it with a line."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from statistics import fmean
from typing import NamedTuple

from memlab import units
from memlab.views import extents
from memlab.views.axis import Axis
from memlab.views.comparison.rows import Row
from memlab.views.roles import STACK, Look

SIZE, SWATCH, APART = 12, 19, 12
"""Of the text; of a sample before a label above a stack; between two such labels."""
LEAST = 1.5
"""So many pixels a part must have to be named."""


@dataclass(frozen=True, slots=True)
class Part:
    """One slice of a lying stack, from left to right in pixels."""

    look: Look
    nbytes: int
    left: float
    right: float

    @property
    def wide(self) -> float:
        """Its width."""
        return self.right - self.left

    @property
    def middle(self) -> float:
        """Where a line to it ends."""
        return (self.left + self.right) / 2

    @property
    def lines(self) -> tuple[str, str]:
        """Its name, its amount."""
        return self.look.label, units.short(self.nbytes)

    @property
    def room(self) -> float:
        """What the wider one of both takes."""
        return max(extents.width(line, SIZE) for line in self.lines)

    @property
    def inside(self) -> bool:
        """Whether both fit into it."""
        return self.room + 10 <= self.wide


class Name(NamedTuple):
    """A label above a stack: what it names, where its sample begins and its text ends."""

    part: Part
    left: float
    right: float

    @property
    def foot(self) -> float:
        """Where its line begins: as near to over the part as the label reaches."""
        return min(max(self.part.middle, self.left + 4), self.right - 4)


def parts(row: Row, scale: Axis, end: float) -> list[Part]:
    """The slices of a row that hold anything, side by side; the axis ends at ``end``."""
    found, base = [], 0
    for look in STACK:
        if nbytes := row.at_peak[look]:
            left, right = (end * n / scale.end for n in (base, base + nbytes))
            found.append(Part(look, nbytes, left, right))
            base += nbytes
    return found


def above(found: list[Part], room: float) -> list[Name]:
    """The labels of what is too narrow for its own, in order and none over another; where not all
    have room, those of the widest."""
    named = [part for part in found if not part.inside and part.wide >= LEAST]
    while sum(map(_room, named)) > room:
        named.remove(min(named, key=lambda part: part.wide))
    lefts = _spread(named, room)
    return [
        Name(part, left, left + _room(part) - APART)
        for part, left in zip(named, lefts, strict=True)
    ]


def _room(part: Part) -> float:
    """What a label above a stack takes, and the distance to the next one."""
    return SWATCH + part.room + APART


def _spread(named: list[Part], room: float) -> list[float]:
    """Left ends that bring labels as near over their parts as can be: where two would touch, they
    share the way that they have to move."""
    begins = list(accumulate(map(_room, named), initial=0.0))
    groups: list[list[float]] = []
    for part, begin in zip(named, begins, strict=False):
        groups.append([part.middle - (_room(part) - APART) / 2 - begin])
        while len(groups) > 1 and fmean(groups[-2]) > fmean(groups[-1]):
            last = groups.pop()
            groups[-1] += last
    moved = [min(max(fmean(group), 0.0), room - begins[-1]) for group in groups for _ in group]
    return [shift + begin for shift, begin in zip(moved, begins, strict=False)]
