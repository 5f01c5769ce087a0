"""The plane of bytes and time of lessons 08 and 11: bytes to the right, extra time upwards."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from math import ceil, floor

from memlab.pictures.draw.scale import Tick

PERCENTS = (20, 50, 100, 200, 500, 1000, 2000, 5000, 10**4, 10**9)
"""Distances of the lines of the axis of time, in percent."""
Place = tuple[float, float]
"""Bytes, and percent of extra time."""


def percent_ticks(most: float, least: float = 0.0, first: int = PERCENTS[0]) -> list[Tick]:
    """Return ticks of the axis of time: round percents from at most ``least`` to at least ``most``,
    at most 5 above 0, ``first`` or more percent apart.

    >>> percent_ticks(30.0)
    [(0, '0'), (20, '+20 %'), (40, '+40 %')]
    """
    step = next(percent for percent in (first, *PERCENTS) if most <= 4 * percent)
    ends = range(step * floor(least / step), step * ceil(most / step) + 1, step)
    return [(at, f"{'+' if at > 0 else '−'}{abs(at)} %" if at else "0") for at in ends]


def staircase(points: Iterable[Place]) -> list[Place]:
    """Return the corners of the line through the best of some points: with at most so many bytes,
    no less time.

    >>> staircase([(4, 0), (1, 9), (2, 9)])
    [(1, 9), (4, 9), (4, 0)]
    """
    best: list[Place] = []
    for place in sorted(points):
        if not best or place[1] < best[-1][1]:
            best.append(place)
    corners = best[:1]
    for (_, above), (x, y) in pairwise(best):
        corners += [(x, above), (x, y)]
    return corners
