"""Staircases: bytes inside every moment of a step as SVG paths on a frame of pixels.

Moments are operations, or equal spans of time; a curve has a value for each of them and is spread
over the whole frame.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache

import numpy as np

from memlab.arrays import Floats, Integers, Truths
from memlab.pictures.draw.svg import Box

TALLEST = 40_000
"""Tenths of a pixel that a picture with a staircase has from top to bottom at most."""


@dataclass(frozen=True, eq=False)
class Stair:
    """A curve in pixels: its height at every moment in tenths of a pixel, and the steps of its
    path, which are worked out once. ``x`` are the steps to the boundaries between moments,
    ``wide`` is the frame in pixels."""

    curve: Floats
    tenths: Integers
    x: list[str]
    wide: int

    @cached_property
    def columns(self) -> Floats:
        """The height in every column of pixels."""
        return self.ys[_columns(self.wide, len(self.tenths))]

    @cached_property
    def ys(self) -> Floats:
        """The heights in pixels."""
        return self.tenths / 10

    @cached_property
    def _listed(self) -> list[int]:
        listed: list[int] = self.tenths.tolist()
        return listed

    def begin(self, moment: int) -> str:
        """The x at which a moment begins."""
        return self.x[moment].removeprefix("H")

    def to(self, moment: int) -> str:
        """Up or down to the height at a moment."""
        return _levels()[self._listed[moment]]

    @cached_property
    def jumps(self) -> list[int]:
        """The moments at which it rises or falls."""
        found: list[int] = (np.flatnonzero(self.tenths[1:] != self.tenths[:-1]) + 1).tolist()
        return found

    @cached_property
    def forth(self) -> list[str]:
        """To each jump, and from there up or down: two strings for each."""
        return self._steps(self.jumps, self.jumps)

    @cached_property
    def back(self) -> list[str]:
        """The same, walked from right to left."""
        jumps = self.jumps[::-1]
        return self._steps(jumps, [jump - 1 for jump in jumps])

    def _steps(self, jumps: list[int], levels: list[int]) -> list[str]:
        """Strings that are there already are put in order: a picture has thousands of steps."""
        found = [""] * (2 * len(jumps))
        found[::2] = map(self.x.__getitem__, jumps)
        found[1::2] = map(_levels().__getitem__, map(self._listed.__getitem__, levels))
        return found

    def walk(self, first: int, stop: int) -> str:
        """From the left end of some moments to the right end, and where it begins."""
        a, b = bisect_right(self.jumps, first), bisect_left(self.jumps, stop)
        steps = "".join(self.forth[2 * a : 2 * b])
        return f"{self.to(first)}{steps}{self.x[stop]}"

    def walk_back(self, first: int, stop: int) -> str:
        """The same from right to left."""
        a, b = bisect_right(self.jumps, first), bisect_left(self.jumps, stop)
        end = 2 * len(self.jumps)
        steps = "".join(self.back[end - 2 * b : end - 2 * a])
        return f"{self.to(stop - 1)}{steps}{self.x[first]}"


@dataclass(frozen=True, eq=False)
class Frame:
    """A rectangle of pixels: the moments from left to right, ``first`` to ``end`` bytes upwards."""

    box: Box
    end: float
    first: float = 0
    _stairs: dict[int, Stair] = field(default_factory=dict, repr=False)

    def y(self, nbytes: float) -> float:
        """How high an amount stands, also above the frame."""
        tall = self.box.bottom - self.box.top
        return self.box.bottom - tall * (nbytes - self.first) / (self.end - self.first)

    def stair(self, curve: Floats) -> Stair:
        """A curve in pixels; worked out once."""
        if id(curve) not in self._stairs:
            # it keeps the curve, so that no other one gets its id
            left, right = self.box.left, self.box.right
            edges = _edges(left, right, len(curve))
            self._stairs[id(curve)] = Stair(curve, self._tenths(curve), edges, int(right - left))
        return self._stairs[id(curve)]

    def heights(self, curve: Floats) -> Floats:
        """The y of every moment to a tenth of a pixel, cut off at the ends of the frame."""
        return self.stair(curve).ys

    def _tenths(self, curve: Floats) -> Integers:
        top, bottom = 10 * self.box.top, 10 * self.box.bottom
        pixels = np.rint(bottom - (curve - self.first) * ((bottom - top) / (self.end - self.first)))
        return np.minimum(np.maximum(pixels, round(top)), round(bottom)).astype(np.int64)

    def outline(self, curve: Floats) -> str:
        """The open staircase of a curve."""
        return self._walked(self.stair(curve), 0, len(curve))

    def area(self, low: Floats, high: Floats) -> str:
        """The closed shape between two curves, only where there is something between them."""
        over, under = self.stair(high), self.stair(low)
        return "".join(
            f"{self._walked(over, first, stop)}{under.walk_back(first, stop)}Z"
            for first, stop in runs(under.tenths - over.tenths > 1)
        )

    def ridge(self, curve: Floats, ground: float = 0) -> str:
        """The open staircase of a curve where it leaves the ground."""
        stair, low = self.stair(curve), f"{self.y(ground):.1f}"
        return "".join(
            f"M{stair.begin(first)} {low}{stair.walk(first, stop)}V{low}"
            for first, stop in runs(round(10 * self.y(ground)) - stair.tenths > 1)
        )

    def _walked(self, stair: Stair, first: int, stop: int) -> str:
        """A path that begins on the curve."""
        return f"M{stair.begin(first)} {stair.walk(first, stop).removeprefix('V')}"

    def columns(self, curve: Floats) -> Floats:
        """The y of a curve in every column of pixels, for placing labels."""
        return self.stair(curve).columns


@lru_cache(maxsize=32)
def _columns(wide: int, moments: int) -> Integers:
    """The moment in every column of pixels."""
    return np.arange(wide) * moments // wide


@cache
def _levels() -> list[str]:
    """Up or down to every tenth of a pixel."""
    return [f"V{tenth / 10:.1f}" for tenth in range(TALLEST)]


@lru_cache(maxsize=32)
def _edges(left: float, right: float, moments: int) -> list[str]:
    """To every boundary between moments."""
    return [f"H{left + (right - left) * i / moments:.1f}" for i in range(moments + 1)]


def runs(seen: Truths) -> list[tuple[int, int]]:
    """Where it is true: the first index and the one after the last of every run."""
    padded = np.concatenate(([False], seen, [False]))
    turns = np.flatnonzero(padded[1:] != padded[:-1]).tolist()
    return list(zip(turns[::2], turns[1::2], strict=True))
