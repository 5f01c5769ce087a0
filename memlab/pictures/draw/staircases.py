"""Staircases: bytes inside every operation as SVG paths on a frame of pixels."""

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
    """A curve in pixels: its height at every operation in tenths of a pixel, and the steps of its
    path, which are worked out once. ``x`` are the steps to the boundaries between operations,
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

    def to(self, operation: int) -> str:
        """Up or down to the height at an operation."""
        return _levels()[self._listed[operation]]

    @cached_property
    def jumps(self) -> list[int]:
        """The operations at which it rises or falls."""
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
        """From the left end of some operations to the right end, and where it begins."""
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
    """A rectangle of pixels: operations from left to right, 0 to ``end`` bytes upwards."""

    box: Box
    operations: int
    end: float
    _stairs: dict[int, Stair] = field(default_factory=dict, repr=False)

    def x(self, operation: float) -> float:
        """Where an operation begins; its middle is at ``operation + 0.5``."""
        return self.box.left + (self.box.right - self.box.left) * operation / self.operations

    def y(self, nbytes: float) -> float:
        """How high an amount stands, also above the frame."""
        return self.box.bottom - (self.box.bottom - self.box.top) * nbytes / self.end

    def stair(self, curve: Floats) -> Stair:
        """A curve in pixels; worked out once."""
        if id(curve) not in self._stairs:
            # it keeps the curve, so that no other one gets its id
            wide = int(self.box.right - self.box.left)
            self._stairs[id(curve)] = Stair(curve, self._tenths(curve), self.edges, wide)
        return self._stairs[id(curve)]

    def heights(self, curve: Floats) -> Floats:
        """The y of every operation to a tenth of a pixel, cut off at the top of the frame."""
        return self.stair(curve).ys

    def _tenths(self, curve: Floats) -> Integers:
        top, bottom = 10 * self.box.top, 10 * self.box.bottom
        pixels = np.rint(bottom - curve * ((bottom - top) / self.end))
        return np.minimum(np.maximum(pixels, round(top)), round(bottom)).astype(np.int64)

    @property
    def edges(self) -> list[str]:
        """To every boundary between operations."""
        return _edges(self.box.left, self.box.right, self.operations)

    def outline(self, curve: Floats) -> str:
        """The open staircase of a curve."""
        return f"M{self._x(0)} {self._walked(self.stair(curve), 0, self.operations)}"

    def area(self, low: Floats, high: Floats) -> str:
        """The closed shape between two curves, only where there is something between them."""
        over, under = self.stair(high), self.stair(low)
        return "".join(
            f"M{self._x(first)} {self._walked(over, first, stop)}{under.walk_back(first, stop)}Z"
            for first, stop in runs(under.tenths - over.tenths > 1)
        )

    def ridge(self, curve: Floats, ground: float = 0) -> str:
        """The open staircase of a curve where it leaves the ground."""
        stair, low = self.stair(curve), f"{self.y(ground):.1f}"
        return "".join(
            f"M{self._x(first)} {low}{stair.walk(first, stop)}V{low}"
            for first, stop in runs(round(10 * self.y(ground)) - stair.tenths > 1)
        )

    def _x(self, operation: int) -> str:
        return self.edges[operation].removeprefix("H")

    def _walked(self, stair: Stair, first: int, stop: int) -> str:
        """A walk that begins where it is."""
        return stair.walk(first, stop).removeprefix("V")

    def columns(self, curve: Floats) -> Floats:
        """The y of a curve in every column of pixels, for placing labels."""
        return self.stair(curve).columns


@lru_cache(maxsize=32)
def _columns(wide: int, operations: int) -> Integers:
    """The operation in every column of pixels."""
    return np.arange(wide) * operations // wide


@cache
def _levels() -> list[str]:
    """Up or down to every tenth of a pixel."""
    return [f"V{tenth / 10:.1f}" for tenth in range(TALLEST)]


@lru_cache(maxsize=32)
def _edges(left: float, right: float, operations: int) -> list[str]:
    return [f"H{left + (right - left) * i / operations:.1f}" for i in range(operations + 1)]


def runs(seen: Truths) -> list[tuple[int, int]]:
    """Where it is true: the first index and the one after the last of every run."""
    padded = np.concatenate(([False], seen, [False]))
    turns = np.flatnonzero(padded[1:] != padded[:-1]).tolist()
    return list(zip(turns[::2], turns[1::2], strict=True))
