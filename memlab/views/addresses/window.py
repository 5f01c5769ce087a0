"""The frame of a map: all of its addresses, or those of one stage."""

from __future__ import annotations

from dataclasses import dataclass

from memlab.views.addresses.scale import Scale
from memlab.views.paths import Frame
from memlab.views.svg import Box


@dataclass(frozen=True, eq=False)
class Window(Frame):
    """A frame whose lower edge is address ``first``; what is beyond it ends at its edges."""

    first: int = 0

    def y(self, nbytes: float) -> float:
        """How high an address stands."""
        height = super().y(nbytes - self.first)
        return min(max(height, self.box.top), self.box.bottom)

    def holds(self, nbytes: float) -> bool:
        """Whether an address stands inside."""
        return self.first <= nbytes <= self.first + self.end


def window(box: Box, operations: int, scale: Scale) -> Window:
    """The frame with the axis of a map."""
    return Window(box, operations, scale.end - scale.first, scale.first)
