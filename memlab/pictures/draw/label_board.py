"""Where a label may stand: clear of curves, lines and of the labels before it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter

import numpy as np

from memlab.arrays import Floats, least, most
from memlab.pictures.draw.staircases import Frame
from memlab.pictures.draw.svg import Box

Place = tuple[float, float, float]
"""What a place costs, and the left and the upper edge of a label there."""

MARGIN = 8
"""What a label keeps clear to its left and right."""


@dataclass
class Board:
    """What is taken."""

    taken: list[Box] = field(default_factory=list)

    def free(self, box: Box, margin: float = 3) -> bool:
        """Whether a label could stand there."""
        return not any(box.meets(other, margin) for other in self.taken)

    def take(self, box: Box) -> Box:
        """Nothing else may stand there from now on."""
        self.taken.append(box)
        return box

    def first(self, boxes: Iterable[Box], margin: float = 3) -> Box | None:
        """The first of several places that is free; it is taken."""
        found = next((box for box in boxes if self.free(box, margin)), None)
        return self.take(found) if found else None

    def widest(
        self, frame: Frame, low: Floats, high: Floats, wide: float, tall: float
    ) -> Box | None:
        """The place between two curves with the most room above and below; it is taken."""
        found = sorted(_places(frame, low, high, wide, tall), key=lambda place: -place[0])
        return self.first(box for _, box in found)

    def cheapest(
        self,
        frame: Frame,
        places: Iterable[Place],
        size: tuple[float, float],
        curves: Sequence[Floats] = (),
        margin: float = 3,
    ) -> Box | None:
        """The free place of the least cost, of those that no curve crosses if there is one; it is
        taken.

        ``size`` is how wide and how tall.
        """
        (wide, tall), crossed = size, list[Place]()
        ordered = sorted(places, key=itemgetter(0))
        if not ordered:
            return None
        heights = _heights(frame, curves, dict.fromkeys(left for _, left, _ in ordered), wide)
        for place in ordered:
            _, left, top = place
            if any(low > top - 2 and high < top + tall + 2 for low, high in heights[left]):
                crossed.append(place)
            elif self.free(box := Box(left, top, left + wide, top + tall), margin):
                return self.take(box)
        return self.first((Box(x, y, x + wide, y + tall) for _, x, y in crossed), margin)


def _heights(
    frame: Frame, curves: Sequence[Floats], lefts: Iterable[float], wide: float
) -> dict[float, list[tuple[float, float]]]:
    """The lowest and the highest pixel of each curve under labels with these left edges."""
    found: dict[float, list[tuple[float, float]]] = {left: [] for left in lefts}
    for ys in map(frame.columns, curves):
        span = min(int(wide) + 6, len(ys))
        at = [min(max(int(x - frame.box.left - 3), 0), len(ys) - span) for x in found]
        low, high = (best(ys, span, np.array(at)).tolist() for best in (most, least))
        for each, pair in zip(found.values(), zip(low, high, strict=True), strict=True):
            each.append(pair)
    return found


def _places(
    frame: Frame, low: Floats, high: Floats, wide: float, tall: float, stride: int = 7
) -> list[tuple[float, Box]]:
    """Boxes that fit between two curves, each with the room that it leaves."""
    span = int(wide) + 2 * MARGIN
    tops, bottoms = frame.columns(high), frame.columns(low)
    if span >= len(tops):
        return []
    first = np.arange(0, len(tops) - span + 1, stride)
    highest, lowest = most(tops, span, first), least(bottoms, span, first)
    room = lowest - highest - tall - 4
    boxes = []
    for index in np.flatnonzero(room > 0).tolist():
        left = frame.box.left + stride * index + MARGIN
        middle = (highest[index] + lowest[index]) / 2
        box = Box(left, middle - tall / 2, left + wide, middle + tall / 2)
        boxes.append((float(room[index]), box))
    return boxes


def spread(wanted: Sequence[float], pitch: float, top: float, bottom: float) -> list[float]:
    """Heights near to those wanted, which ascend, at least ``pitch`` apart, and between ``top``
    and ``bottom`` where there is room: names at the ends of lines."""
    found: list[float] = []
    for y in wanted:
        found.append(max([y, top, *(each + pitch for each in found[-1:])]))
    low = bottom
    for index in reversed(range(len(found))):
        found[index] = min(found[index], low)
        low = found[index] - pitch
    return found
