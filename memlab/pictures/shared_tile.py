"""Matrix product with tiles in shared memory: a block of results, its tiles, and reuse of a
value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from memlab import strings
from memlab.errors import divisor, whole_number
from memlab.pictures.draw.chart import Chart
from memlab.pictures.draw.labels import ChartText
from memlab.pictures.draw.marks import Mark, Rect, Rects
from memlab.pictures.draw.page import Page, Still, report
from memlab.pictures.draw.scale import Scale
from memlab.pictures.draw.theme import PAINTS, Paint
from memlab.pictures.values.study import Study
from memlab.step.tensor import Role

CELL, GAP, MOST = 18, 1.6, 16
"""Pixels of a value, cells between two matrices, and most rows of a matrix."""
WEIGHTS, MATRIX, RESULTS = (
    PAINTS[role] for role in (Role.PARAMETER, Role.WORKSPACE, Role.FEATURE_MAP)
)
"""Looks of the three matrices: the lowered matrix is a workspace, the results are a feature map."""
MARKED = Paint("currentColor", 0.75)
Place = tuple[float, float, float, float]


@dataclass(frozen=True, repr=False)
class SharedTile(Still, Study):
    """Still picture of a tiled matrix product: weights, lowered matrix and results, and one block.

    Each matrix has ``size`` x ``size`` values, the block of results and its tiles ``side`` x
    ``side``. With ``served``, one value of a tile and the results that it is part of are marked
    too.

    Raises:
        InputError: sides that are no whole numbers, or a tile that does not divide the matrix.
    """

    side: int
    size: int
    served: bool

    def __post_init__(self) -> None:
        whole_number("size", self.size, 2, MOST)
        divisor("side", self.side, "size", self.size)

    @property
    def title(self) -> str:
        return strings.get("tile.title", side=self.side)

    @property
    def sentences(self) -> list[str]:
        """Sentences on the work of one block and, with ``served``, on how often a value is
        loaded."""
        blocks = self.size // self.side
        values = {"side": self.side, "all": self.side**2, "blocks": blocks, "size": self.size}
        keys = ("block", "walk", *(("served", "loads") if self.served else ()))
        return [strings.get(f"tile.{key}", **values) for key in keys]

    def page(self) -> Page:
        long = 2 * self.size + GAP
        marks = [*self._matrices(), *self._tiles(), *(self._value() if self.served else ())]
        room = long * CELL
        return report(self, Chart(Scale(0, 820 / CELL), Scale(long, 0), marks, room, left=0,
                                  right=0, below=20, gap=12), bold=0)  # fmt: skip

    # -- in cells from the top left: the weights left of the results, the matrix above them -------

    @property
    def _first(self) -> float:
        """First row and first column of the results, in cells of the page."""
        return self.size + GAP

    @property
    def _at(self) -> int:
        """First row and column of the block within the results; its tiles have moved along
        as far."""
        return self.side * ((self.size // self.side - 1) // 2)

    def _matrices(self) -> Iterator[Mark]:
        """Yield marks for the three matrices with their names, and the block of results."""
        n, first, block = self.size, self._first, (self._at, self._at)
        yield Rects(_cells(0, first, n, n), "grid")
        yield Rects(_cells(first, 0, n, n), "grid")
        yield Rects(_cells(first, first, n, n), "grid")
        x, y = (first + place for place in block)
        yield Rects(_cells(x, y, self.side, self.side), RESULTS, edge=0.4)
        for key, x, y in (("weights", 0, first), ("matrix", first, 0), ("results", first, first)):
            dx, dy = (8, 14) if key == "matrix" else (0, 16)
            at = (x + n, y) if key == "matrix" else (x, y + n)
            yield ChartText(*at, strings.get(f"tile.{key}"), 13, dx=dx, dy=dy, bold=True)

    def _tiles(self) -> Iterator[Mark]:
        """Yield marks for both tiles with their frames: one left of the block, one above it, each
        moved equally far."""
        at, side, first = self._at, self.side, self._first
        for x, y, paint in ((at, first + at, WEIGHTS), (first + at, at, MATRIX)):
            yield Rects(_cells(x, y, side, side), paint, edge=0.4)
            yield Rect(x, x + side, y, y + side, "rule")

    def _value(self) -> Iterator[Mark]:
        """Yield one marked value of the matrix's tile, and the results that it is part of."""
        x = self._first + self._at + self.side // 2
        y = self._first + self._at
        for top, count in ((self._at + self.side // 2, 1), (y, self.side)):
            yield Rects(_cells(x, top, 1, count), MARKED, edge=0.4)


def _cells(x: float, y: float, wide: int, high: int) -> list[Place]:
    """Return the rectangles of ``wide`` x ``high`` cells from a corner on."""
    inset = 0.06
    return [
        (x + i + inset, x + i + 1 - inset, y + j + inset, y + j + 1 - inset)
        for j in range(high)
        for i in range(wide)
    ]


def shared_tile(side: int = 4, size: int = 8, served: bool = True) -> SharedTile:
    """Draw a matrix product whose blocks of results share tiles in shared memory.

    Args:
        side: rows and columns of a tile, in values; it divides ``size``.
        size: rows and columns of each matrix, in values; 2 to 16.
        served: also mark one value of a tile, and the results that it is part of.

    Returns:
        A still picture; ``print`` shows its text.

    Raises:
        InputError: sides that are no whole numbers, or a tile that does not divide the matrix.

    >>> view = memlab.views.shared_tile(side=4, size=8)
    >>> view.sentences[-1]
    'In all, 2 blocks below each other load it: 2 times, instead of 8.'
    """
    return SharedTile(side, size, served)
