"""Staircases: bytes inside every operation as SVG paths on a frame of pixels."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from memlab.views.draw.svg import Box

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Frame:
    """A rectangle of pixels: operations from left to right, 0 to ``end`` bytes upwards."""

    box: Box
    operations: int
    end: float
    _heights: dict[int, tuple[Floats, Floats]] = field(default_factory=dict, repr=False)

    def x(self, operation: float) -> float:
        """Where an operation begins; its middle is at ``operation + 0.5``."""
        return self.box.left + (self.box.right - self.box.left) * operation / self.operations

    def y(self, nbytes: float) -> float:
        """How high an amount stands, also above the frame."""
        return self.box.bottom - (self.box.bottom - self.box.top) * nbytes / self.end

    def heights(self, curve: Floats) -> Floats:
        """The y of every operation to a tenth of a pixel, cut off at the top of the frame; worked
        out once for a curve."""
        known = self._heights.get(id(curve))
        if known is None:
            # the curve is kept beside its heights, so that no other one gets its id
            known = self._heights[id(curve)] = (curve, self._pixels(curve))
        return known[1]

    def _pixels(self, curve: Floats) -> Floats:
        pixels = self.box.bottom - curve * ((self.box.bottom - self.box.top) / self.end)
        return np.clip(np.round(pixels, 1), self.box.top, self.box.bottom)

    @property
    def edges(self) -> list[str]:
        """The x of every boundary between operations, as text."""
        return _edges(self.box.left, self.box.right, self.operations)

    def outline(self, curve: Floats) -> str:
        """The open staircase of a curve."""
        ys = self.heights(curve)
        return f"M{self.edges[0]} {ys[0]:.1f}{self._forth(ys, 0, len(ys))}"

    def area(self, low: Floats, high: Floats) -> str:
        """The closed shape between two curves, only where there is something between them."""
        bottoms, tops = self.heights(low), self.heights(high)
        pieces = []
        for first, stop in _runs(bottoms - tops > 0.15):
            there = f"M{self.edges[first]} {tops[first]:.1f}{self._forth(tops, first, stop)}"
            pieces.append(f"{there}V{bottoms[stop - 1]:.1f}{self._back(bottoms, first, stop)}Z")
        return "".join(pieces)

    def ridge(self, curve: Floats) -> str:
        """The open staircase of a curve where it leaves the ground."""
        ys, ground = self.heights(curve), f"{self.box.bottom:.1f}"
        return "".join(
            f"M{self.edges[first]} {ground}V{ys[first]:.1f}{self._forth(ys, first, stop)}V{ground}"
            for first, stop in _runs(self.box.bottom - ys > 0.15)
        )

    def columns(self, curve: Floats) -> Floats:
        """The y of a curve in every column of pixels, for placing labels."""
        wide = int(self.box.right - self.box.left)
        index = np.arange(wide) * self.operations // wide
        return self.heights(curve)[index]

    def _forth(self, ys: Floats, first: int, stop: int) -> str:
        x = self.edges
        jumps = (np.flatnonzero(ys[first + 1 : stop] != ys[first : stop - 1]) + first + 1).tolist()
        steps = [f"H{x[i]}V{y:.1f}" for i, y in zip(jumps, ys[jumps].tolist(), strict=True)]
        return "".join(steps) + f"H{x[stop]}"

    def _back(self, ys: Floats, first: int, stop: int) -> str:
        x = self.edges
        jumps = (np.flatnonzero(ys[first + 1 : stop] != ys[first : stop - 1]) + first + 1)[::-1]
        earlier = ys[jumps - 1].tolist()
        steps = [f"H{x[i]}V{y:.1f}" for i, y in zip(jumps.tolist(), earlier, strict=True)]
        return "".join(steps) + f"H{x[first]}"


@lru_cache(maxsize=32)
def _edges(left: float, right: float, operations: int) -> list[str]:
    return [f"{left + (right - left) * i / operations:.1f}" for i in range(operations + 1)]


def _runs(seen: npt.NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Where it is true: the first index and the one after the last of every run."""
    padded = np.concatenate(([False], seen, [False]))
    turns = np.flatnonzero(padded[1:] != padded[:-1]).tolist()
    return list(zip(turns[::2], turns[1::2], strict=True))
