"""What both pictures of the data path are made from: the state, the moment, and where stations
stand in pixels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import sqrt

from memlab.step.tensor import Tensor
from memlab.studies.streams.path import CARD, DataPath, letter, say
from memlab.views.draw.marks import Fact
from memlab.views.draw.theme import Paint
from memlab.views.offload.page import Time

TURNS = 4.2
"""The axis of time has room for so many batches, of which one follows the other."""
PLACE = 0.42
"""The share of the axis at which the moment stands that nobody has chosen."""
LIGHT, DARK = Paint("currentColor", 0.20), Paint("currentColor", 0.36)
"""What is read, and what is done with it."""
SHARES = (0.20, 0.17, 0.27, 0.36)
"""Of the disk, RAM, pinned memory and the device, in what the pipes leave."""
LEAST, MOST = 64, 96
"""How long a pipe is, in pixels."""
SIDE, LARGEST = 0.09, 62
"""The side of a batch in fp32: a share of what the pipes leave, and at most so many pixels."""
ROOM = 60
"""Pixels of a station above and below two rows of batches."""


@dataclass(frozen=True)
class Shown:
    """What the picture is made from; ``held`` is the state that its axis of time belongs to,
    ``before`` the one that was seen before this one."""

    found: DataPath
    held: DataPath
    before: DataPath | None
    chosen: int | None
    moment: float | None
    width: float

    @cached_property
    def time(self) -> Time:
        """The axis of time."""
        return Time([TURNS * self.held.turn], self.width)

    @property
    def now(self) -> float:
        """The second that is shown above."""
        last = self.time.x.last
        return PLACE * last if self.moment is None else min(self.moment, last)

    # -- stations, in pixels ----------------------------------------------------------------

    @property
    def pipe(self) -> float:
        """How long each of the three pipes is."""
        return min(max(0.095 * self.width, LEAST), MOST)

    @cached_property
    def spans(self) -> list[tuple[float, float]]:
        """The left and the right end of each station."""
        room, left, found = self.width - 3 * self.pipe - 1, 0.5, []
        for share in SHARES:
            found.append((left, left + share * room))
            left += share * room + self.pipe
        return found

    @property
    def side(self) -> float:
        """Of a batch as the device computes on it."""
        return min(SIDE * (self.width - 3 * self.pipe), LARGEST)

    @property
    def tall(self) -> float:
        """Of a station."""
        return 2 * self.side + ROOM

    def square(self, nbytes: int) -> float:
        """The side of a square of so many bytes: its area is as large."""
        most = max(each.storage.size.at(self.found.batch) for each in self.found.station(CARD))
        return self.side * sqrt(nbytes / most)


def told(found: DataPath, batch: int, place: Tensor | None = None) -> Fact:
    """What a batch says: its bytes in a place, or as the device computes on it, and its times."""
    place = place or found.station(CARD)[-1]
    return Fact(say("batch", name=letter(batch)), place.formula(found.batch),
                place.storage.size.at(found.batch), more=found.fact(batch))  # fmt: skip
