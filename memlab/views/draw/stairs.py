"""Staircases: bytes inside every operation as SVG paths on a frame of pixels."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from memlab.views.draw.svg import Box

Floats = npt.NDArray[np.float64]
Runs = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]
"""The first operations of some runs, and those after their last ones."""


@dataclass(frozen=True, eq=False)
class Stair:
    """A curve in pixels: its height at every operation, and the steps of its path, which are
    worked out once. ``x`` are the boundaries between operations, as text."""

    curve: Floats
    ys: Floats
    x: list[str]

    @cached_property
    def jumps(self) -> npt.NDArray[np.int64]:
        """The operations at which it rises or falls."""
        return np.flatnonzero(self.ys[1:] != self.ys[:-1]) + 1

    @cached_property
    def forth(self) -> list[str]:
        """To each jump, and from there up or down."""
        return self._steps(self.jumps)

    @cached_property
    def back(self) -> list[str]:
        """The same, walked from right to left."""
        return self._steps(self.jumps - 1)

    def _steps(self, levels: npt.NDArray[np.int64]) -> list[str]:
        x, tenths = self.x, np.rint(10 * self.ys[levels]).astype(np.int64).tolist()
        return [f"H{x[i]}{_to(y)}" for i, y in zip(self.jumps.tolist(), tenths, strict=True)]

    def inside(self, runs: Runs) -> list[tuple[int, int]]:
        """Which of its steps lie inside each of some runs of operations."""
        first = np.searchsorted(self.jumps, runs[0], side="right")
        stop = np.searchsorted(self.jumps, runs[1])
        return list(zip(first.tolist(), stop.tolist(), strict=True))


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
            self._stairs[id(curve)] = Stair(curve, self._pixels(curve), self.edges)
        return self._stairs[id(curve)]

    def heights(self, curve: Floats) -> Floats:
        """The y of every operation to a tenth of a pixel, cut off at the top of the frame."""
        return self.stair(curve).ys

    def _pixels(self, curve: Floats) -> Floats:
        pixels = self.box.bottom - curve * ((self.box.bottom - self.box.top) / self.end)
        return np.clip(np.round(pixels, 1), self.box.top, self.box.bottom)

    @property
    def edges(self) -> list[str]:
        """The x of every boundary between operations, as text."""
        return _edges(self.box.left, self.box.right, self.operations)

    def outline(self, curve: Floats) -> str:
        """The open staircase of a curve."""
        stair, x = self.stair(curve), self.edges
        return f"M{x[0]} {stair.ys[0]:.1f}{''.join(stair.forth)}H{x[-1]}"

    def area(self, low: Floats, high: Floats) -> str:
        """The closed shape between two curves, only where there is something between them."""
        over, under, x = self.stair(high), self.stair(low), self.edges
        runs = _runs(under.ys - over.ys > 0.15)
        return "".join(
            f"M{x[first]} {over.ys[first]:.1f}{''.join(over.forth[a:b])}H{x[stop]}"
            f"V{under.ys[stop - 1]:.1f}{''.join(under.back[c:d][::-1])}H{x[first]}Z"
            for first, stop, (a, b), (c, d) in zip(
                *_lists(runs), over.inside(runs), under.inside(runs), strict=True
            )
        )

    def ridge(self, curve: Floats) -> str:
        """The open staircase of a curve where it leaves the ground."""
        stair, x, ground = self.stair(curve), self.edges, f"{self.box.bottom:.1f}"
        runs = _runs(self.box.bottom - stair.ys > 0.15)
        return "".join(
            f"M{x[first]} {ground}V{stair.ys[first]:.1f}{''.join(stair.forth[a:b])}H{x[stop]}"
            f"V{ground}"
            for first, stop, (a, b) in zip(*_lists(runs), stair.inside(runs), strict=True)
        )

    def columns(self, curve: Floats) -> Floats:
        """The y of a curve in every column of pixels, for placing labels."""
        wide = int(self.box.right - self.box.left)
        index = np.arange(wide) * self.operations // wide
        return self.heights(curve)[index]


@lru_cache(maxsize=2**15)
def _to(tenth: int) -> str:
    """Up or down to a tenth of a pixel: formatted once, since every picture has the same."""
    return f"V{tenth / 10:.1f}"


@lru_cache(maxsize=32)
def _edges(left: float, right: float, operations: int) -> list[str]:
    return [f"{left + (right - left) * i / operations:.1f}" for i in range(operations + 1)]


def _runs(seen: npt.NDArray[np.bool_]) -> Runs:
    """Where it is true: the first indices and the ones after the last of every run."""
    padded = np.concatenate(([False], seen, [False]))
    turns = np.flatnonzero(padded[1:] != padded[:-1])
    return turns[::2], turns[1::2]


def _lists(runs: Runs) -> list[list[int]]:
    return [ends.tolist() for ends in runs]
