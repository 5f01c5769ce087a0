"""Staircases: bytes inside every operation as SVG paths on a frame of pixels."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from memlab.views.draw.svg import Box

Floats = npt.NDArray[np.float64]
Runs = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]
"""The first operations of some runs, and those after their last ones."""


TALLEST = 40_000
"""Tenths of a pixel that a picture with a staircase has from top to bottom at most."""


@dataclass(frozen=True, eq=False)
class Stair:
    """A curve in pixels: its height at every operation, and the steps of its path, which are
    worked out once. ``x`` are the steps to the boundaries between operations."""

    curve: Floats
    ys: Floats
    x: list[str]

    @cached_property
    def jumps(self) -> npt.NDArray[np.int64]:
        """The operations at which it rises or falls."""
        return np.flatnonzero(self.ys[1:] != self.ys[:-1]) + 1

    @cached_property
    def forth(self) -> list[str]:
        """To each jump, and from there up or down: two strings for each."""
        return self._steps(self.jumps, self.ys[self.jumps])

    @cached_property
    def back(self) -> list[str]:
        """The same, walked from right to left."""
        return self._steps(self.jumps[::-1], self.ys[self.jumps[::-1] - 1])

    def _steps(self, jumps: npt.NDArray[np.int64], ys: Floats) -> list[str]:
        """Strings that are there already are put in order, since a picture has thousands."""
        levels, tenths = _levels(), np.rint(10 * ys).astype(np.int64).tolist()
        found = [""] * (2 * len(tenths))
        found[::2] = map(self.x.__getitem__, jumps.tolist())
        found[1::2] = map(levels.__getitem__, tenths)
        return found

    def walk(self, first: int, stop: int) -> str:
        """The path over some of its jumps."""
        return "".join(self.forth[2 * first : 2 * stop])

    def walk_back(self, first: int, stop: int) -> str:
        """The same from right to left."""
        end = 2 * len(self.jumps)
        return "".join(self.back[end - 2 * stop : end - 2 * first])

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
        """To every boundary between operations."""
        return _edges(self.box.left, self.box.right, self.operations)

    def outline(self, curve: Floats) -> str:
        """The open staircase of a curve."""
        stair, x = self.stair(curve), self.edges
        return f"M{x[0][1:]} {stair.ys[0]:.1f}{''.join(stair.forth)}{x[-1]}"

    def area(self, low: Floats, high: Floats) -> str:
        """The closed shape between two curves, only where there is something between them."""
        over, under, x = self.stair(high), self.stair(low), self.edges
        runs = _runs(under.ys - over.ys > 0.15)
        return "".join(
            f"M{x[first][1:]} {over.ys[first]:.1f}{over.walk(*there)}{x[stop]}"
            f"V{under.ys[stop - 1]:.1f}{under.walk_back(*back)}{x[first]}Z"
            for first, stop, there, back in zip(
                *_lists(runs), over.inside(runs), under.inside(runs), strict=True
            )
        )

    def ridge(self, curve: Floats) -> str:
        """The open staircase of a curve where it leaves the ground."""
        stair, x, ground = self.stair(curve), self.edges, f"{self.box.bottom:.1f}"
        runs = _runs(self.box.bottom - stair.ys > 0.15)
        return "".join(
            f"M{x[first][1:]} {ground}V{stair.ys[first]:.1f}{stair.walk(*there)}{x[stop]}V{ground}"
            for first, stop, there in zip(*_lists(runs), stair.inside(runs), strict=True)
        )

    def columns(self, curve: Floats) -> Floats:
        """The y of a curve in every column of pixels, for placing labels."""
        wide = int(self.box.right - self.box.left)
        index = np.arange(wide) * self.operations // wide
        return self.heights(curve)[index]


@cache
def _levels() -> list[str]:
    """Up or down to every tenth of a pixel."""
    return [f"V{tenth / 10:.1f}" for tenth in range(TALLEST)]


@lru_cache(maxsize=32)
def _edges(left: float, right: float, operations: int) -> list[str]:
    return [f"H{left + (right - left) * i / operations:.1f}" for i in range(operations + 1)]


def _runs(seen: npt.NDArray[np.bool_]) -> Runs:
    """Where it is true: the first indices and the ones after the last of every run."""
    padded = np.concatenate(([False], seen, [False]))
    turns = np.flatnonzero(padded[1:] != padded[:-1])
    return turns[::2], turns[1::2]


def _lists(runs: Runs) -> list[list[int]]:
    return [ends.tolist() for ends in runs]
