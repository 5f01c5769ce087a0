"""Places for labels that are clear of curves, of lines and of earlier labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter

import numpy as np

from memlab.arrays import Floats, least, most
from memlab.pictures.draw.staircases import Frame
from memlab.pictures.draw.svg import Box

Place = tuple[float, float, float]
"""Cost of a place, and left and upper edge in pixels of a label there."""

MARGIN = 8
"""Pixels that a label between curves keeps clear to its left and right."""


@dataclass
class LabelBoard:
    """The rectangles of a chart that no further label may cover."""

    taken: list[Box] = field(default_factory=list)

    def free(self, box: Box, margin: float = 3) -> bool:
        """True if the box keeps ``margin`` pixels from every rectangle that is taken."""
        return not any(box.meets(other, margin) for other in self.taken)

    def take(self, box: Box) -> Box:
        """Mark a box as taken, and return it."""
        self.taken.append(box)
        return box

    def first(self, boxes: Iterable[Box], margin: float = 3) -> Box | None:
        """Take and return the first of several boxes that is free, or return None."""
        first = next((box for box in boxes if self.free(box, margin)), None)
        return self.take(first) if first else None

    def widest(
        self, frame: Frame, low: Floats, high: Floats, wide: float, tall: float
    ) -> Box | None:
        """Take and return the free box between two curves with the most room above and below it, or
        return None.

        Args:
            frame: rectangle of the chart.
            low: lower curve, bytes at every moment.
            high: upper curve, bytes at every moment.
            wide: width of the label in pixels.
            tall: height of the label in pixels.
        """
        places = sorted(_boxes_between(frame, low, high, wide, tall), key=lambda place: -place[0])
        return self.first(box for _, box in places)

    def cheapest(
        self,
        frame: Frame,
        places: Iterable[Place],
        size: tuple[float, float],
        curves: Sequence[Floats] = (),
        margin: float = 3,
    ) -> Box | None:
        """Take and return the cheapest free box, or return None. Boxes that a curve crosses come
        last.

        Args:
            frame: rectangle of the chart.
            places: cost, left edge and upper edge of each possible label.
            size: width and height of the label in pixels.
            curves: bytes at every moment; the label should cross none of them.
            margin: pixels between the label and everything that is taken.
        """
        (wide, tall), crossed = size, list[Place]()
        ordered = sorted(places, key=itemgetter(0))
        if not ordered:
            return None
        heights = _curve_spans(frame, curves, dict.fromkeys(left for _, left, _ in ordered), wide)
        for place in ordered:
            _, left, top = place
            if any(low > top - 2 and high < top + tall + 2 for low, high in heights[left]):
                crossed.append(place)
            elif self.free(box := Box(left, top, left + wide, top + tall), margin):
                return self.take(box)
        return self.first((Box(x, y, x + wide, y + tall) for _, x, y in crossed), margin)


def _curve_spans(
    frame: Frame, curves: Sequence[Floats], lefts: Iterable[float], wide: float
) -> dict[float, list[tuple[float, float]]]:
    """Return the least and the greatest y of each curve under labels with these left edges, by left
    edge."""
    spans: dict[float, list[tuple[float, float]]] = {left: [] for left in lefts}
    for ys in map(frame.columns, curves):
        span = min(int(wide) + 6, len(ys))
        at = [min(max(int(x - frame.box.left - 3), 0), len(ys) - span) for x in spans]
        low, high = (best(ys, span, np.array(at)).tolist() for best in (most, least))
        for pairs, pair in zip(spans.values(), zip(low, high, strict=True), strict=True):
            pairs.append(pair)
    return spans


def _boxes_between(
    frame: Frame, low: Floats, high: Floats, wide: float, tall: float, stride: int = 7
) -> list[tuple[float, Box]]:
    """Return boxes of a size that fit between two curves, each with the pixels of room that it
    leaves."""
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


def spread_heights(wanted: Sequence[float], pitch: float, top: float, bottom: float) -> list[float]:
    """Return heights near the wanted ones, at least ``pitch`` apart, and between ``top`` and
    ``bottom`` where there is room: the names at the ends of lines.

    Args:
        wanted: heights in pixels, in ascending order.
        pitch: least distance of two heights in pixels.
        top: least height in pixels.
        bottom: greatest height in pixels; it is kept where not all fit.
    """
    heights: list[float] = []
    for y in wanted:
        heights.append(max([y, top, *(height + pitch for height in heights[-1:])]))
    low = bottom
    for index in reversed(range(len(heights))):
        heights[index] = min(heights[index], low)
        low = heights[index] - pitch
    return heights
