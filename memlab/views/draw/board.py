"""Where a label may stand: clear of curves, lines and of the labels before it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from memlab.views.draw.stairs import Floats, Frame
from memlab.views.draw.svg import Box

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
        places: tuple[Floats, Floats],
        size: tuple[float, float],
        cost: Floats,
        curves: Sequence[Floats] = (),
        margin: float = 3,
    ) -> Box | None:
        """The free place of the least cost, of those that no curve crosses if there is one; it is
        taken.

        ``places`` are left edges (n,) and upper edges (m,), which all go together; ``cost`` is of
        shape (m, n), ``size`` how wide and how tall.
        """
        (lefts, tops), (wide, tall) = places, size
        crossed = np.zeros((len(tops), len(lefts)), bool)
        for low, high in (_heights(frame, curve, lefts, wide) for curve in curves):
            crossed |= (low > tops[:, None] - 2) & (high < tops[:, None] + tall + 2)
        for index in np.lexsort((cost.ravel(), crossed.ravel())).tolist():
            row, column = divmod(index, len(lefts))
            left, top = float(lefts[column]), float(tops[row])
            box = Box(left, top, left + wide, top + tall)
            if self.free(box, margin):
                return self.take(box)
        return None


def _heights(frame: Frame, curve: Floats, lefts: Floats, wide: float) -> tuple[Floats, Floats]:
    """The lowest and the highest pixel of a curve under labels with these left edges."""
    ys = frame.columns(curve)
    span = min(int(wide) + 6, len(ys))
    windows = np.lib.stride_tricks.sliding_window_view(ys, span)
    first = np.clip((lefts - frame.box.left - 3).astype(int), 0, len(windows) - 1)
    return windows[first].max(axis=1), windows[first].min(axis=1)


def _places(
    frame: Frame, low: Floats, high: Floats, wide: float, tall: float, stride: int = 7
) -> list[tuple[float, Box]]:
    """Boxes that fit between two curves, each with the room that it leaves."""
    span = int(wide) + 2 * MARGIN
    tops, bottoms = frame.columns(high), frame.columns(low)
    if span >= len(tops):
        return []
    slide = np.lib.stride_tricks.sliding_window_view
    highest = slide(tops, span)[::stride].max(axis=1)
    lowest = slide(bottoms, span)[::stride].min(axis=1)
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
