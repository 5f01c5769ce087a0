"""Staircases: bytes at every moment of a step as SVG paths on a frame of pixels.

A moment is an operation, or one of equal spans of time. A curve has a value for each moment and is
spread over the whole frame.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache

import numpy as np

from memlab.arrays import Floats, Integers, Truths
from memlab.pictures.draw.svg import Box

TALLEST = 40_000
"""Largest height of a picture with a staircase, in tenths of a pixel."""


@dataclass(frozen=True, eq=False)
class Stair:
    """A curve in pixels: its height at every moment, and the parts of its SVG path, which are
    computed once.

    ``tenths`` are the heights in tenths of a pixel, ``x`` the SVG commands that go to the
    boundaries between moments, ``wide`` is the width of the frame in pixels.
    """

    curve: Floats
    tenths: Integers
    x: list[str]
    wide: int

    @cached_property
    def columns(self) -> Floats:
        """The y of the curve in every column of pixels."""
        return self.ys[_columns(self.wide, len(self.tenths))]

    @cached_property
    def ys(self) -> Floats:
        """The y of the curve at every moment, in pixels."""
        return self.tenths / 10

    @cached_property
    def _listed(self) -> list[int]:
        """The heights as a list of integers."""
        listed: list[int] = self.tenths.tolist()
        return listed

    def begin(self, moment: int) -> str:
        """Return the x at which a moment begins, as text."""
        return self.x[moment].removeprefix("H")

    def to(self, moment: int) -> str:
        """Return the SVG command that goes up or down to the height at a moment."""
        return _levels()[self._listed[moment]]

    @cached_property
    def jumps(self) -> list[int]:
        """The moments at which the curve rises or falls."""
        jumps: list[int] = (np.flatnonzero(self.tenths[1:] != self.tenths[:-1]) + 1).tolist()
        return jumps

    @cached_property
    def forth(self) -> list[str]:
        """SVG commands from left to right: for each jump, one to its x and one to the height after
        it."""
        return self._steps(self.jumps, self.jumps)

    @cached_property
    def back(self) -> list[str]:
        """SVG commands from right to left: for each jump, one to its x and one to the height before
        it."""
        jumps = self.jumps[::-1]
        return self._steps(jumps, [jump - 1 for jump in jumps])

    def _steps(self, jumps: list[int], levels: list[int]) -> list[str]:
        """Return, for each jump, the command to its x and the command to the height of its level.

        The strings exist already and are only put in order: a picture has thousands of steps.
        """
        commands = [""] * (2 * len(jumps))
        commands[::2] = map(self.x.__getitem__, jumps)
        commands[1::2] = map(_levels().__getitem__, map(self._listed.__getitem__, levels))
        return commands

    def walk(self, first: int, stop: int) -> str:
        """Return the SVG commands along the curve from the left end of moment ``first`` to the
        right end of moment ``stop - 1``. The first command goes to the height at ``first``."""
        a, b = bisect_right(self.jumps, first), bisect_left(self.jumps, stop)
        steps = "".join(self.forth[2 * a : 2 * b])
        return f"{self.to(first)}{steps}{self.x[stop]}"

    def walk_back(self, first: int, stop: int) -> str:
        """Return the SVG commands along the curve from the right end of moment ``stop - 1`` to the
        left end of moment ``first``. The first command goes to the height at ``stop - 1``."""
        a, b = bisect_right(self.jumps, first), bisect_left(self.jumps, stop)
        end = 2 * len(self.jumps)
        steps = "".join(self.back[end - 2 * b : end - 2 * a])
        return f"{self.to(stop - 1)}{steps}{self.x[first]}"


@dataclass(frozen=True, eq=False)
class Frame:
    """A rectangle of pixels: the moments of a step from left to right, ``first`` to ``end`` bytes
    upwards."""

    box: Box
    end: float
    first: float = 0
    _stairs: dict[int, Stair] = field(default_factory=dict, repr=False)

    def y(self, nbytes: float) -> float:
        """Return the y of an amount of bytes in pixels; it may lie above or below the frame."""
        tall = self.box.bottom - self.box.top
        return self.box.bottom - tall * (nbytes - self.first) / (self.end - self.first)

    def stair(self, curve: Floats) -> Stair:
        """Return a curve in pixels; computed once for each curve."""
        if id(curve) not in self._stairs:
            # the Stair keeps the curve alive, so that no other array gets its id
            left, right = self.box.left, self.box.right
            edges = _edges(left, right, len(curve))
            self._stairs[id(curve)] = Stair(curve, self._tenths(curve), edges, int(right - left))
        return self._stairs[id(curve)]

    def heights(self, curve: Floats) -> Floats:
        """Return the y of every moment to a tenth of a pixel, cut off at the ends of the frame."""
        return self.stair(curve).ys

    def _tenths(self, curve: Floats) -> Integers:
        """Return the y of every moment in tenths of a pixel, cut off at the ends of the frame."""
        top, bottom = 10 * self.box.top, 10 * self.box.bottom
        pixels = np.rint(bottom - (curve - self.first) * ((bottom - top) / (self.end - self.first)))
        return np.minimum(np.maximum(pixels, round(top)), round(bottom)).astype(np.int64)

    def outline(self, curve: Floats) -> str:
        """Return the SVG path of a curve's open staircase."""
        return self._path_along(self.stair(curve), 0, len(curve))

    def area(self, low: Floats, high: Floats) -> str:
        """Return the SVG path of the closed shapes between two curves, only where they are more
        than a tenth of a pixel apart."""
        over, under = self.stair(high), self.stair(low)
        return "".join(
            f"{self._path_along(over, first, stop)}{under.walk_back(first, stop)}Z"
            for first, stop in runs(under.tenths - over.tenths > 1)
        )

    def ridge(self, curve: Floats, ground: float = 0) -> str:
        """Return the SVG path of a curve's staircase where it is more than a tenth of a pixel above
        ``ground`` bytes, with both ends on the ground."""
        stair, low = self.stair(curve), f"{self.y(ground):.1f}"
        return "".join(
            f"M{stair.begin(first)} {low}{stair.walk(first, stop)}V{low}"
            for first, stop in runs(round(10 * self.y(ground)) - stair.tenths > 1)
        )

    def _path_along(self, stair: Stair, first: int, stop: int) -> str:
        """Return the SVG path along a curve from moment ``first`` to ``stop``, which begins on the
        curve."""
        return f"M{stair.begin(first)} {stair.walk(first, stop).removeprefix('V')}"

    def columns(self, curve: Floats) -> Floats:
        """Return the y of a curve in every column of pixels, for placing labels."""
        return self.stair(curve).columns


@lru_cache(maxsize=32)
def _columns(wide: int, moments: int) -> Integers:
    """Return the index of the moment in every column of pixels."""
    return np.arange(wide) * moments // wide


@cache
def _levels() -> list[str]:
    """Return the SVG commands that go up or down to every tenth of a pixel."""
    return [f"V{tenth / 10:.1f}" for tenth in range(TALLEST)]


@lru_cache(maxsize=32)
def _edges(left: float, right: float, moments: int) -> list[str]:
    """Return the SVG commands that go to every boundary between moments."""
    return [f"H{left + (right - left) * i / moments:.1f}" for i in range(moments + 1)]


def runs(seen: Truths) -> list[tuple[int, int]]:
    """Return the first index and the one after the last of every run of True values."""
    padded = np.concatenate(([False], seen, [False]))
    turns = np.flatnonzero(padded[1:] != padded[:-1]).tolist()
    return list(zip(turns[::2], turns[1::2], strict=True))
