"""Kernels in which a thread makes what belongs to a place of a map, and goes on to others.

The threads of a block are neighbours in a row, so that neighbours read and write neighbours.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import cuda

from memlab.kernels.cuda.compile import compiled, inlined
from memlab.kernels.cuda.grids import planes


def at_every_place(operands: type) -> Callable[[Callable[..., None]], Any]:
    """Make a kernel of a function of an image, a channel, a row, a column, and the operands, which
    are a named tuple with annotations; it is called for every place."""

    def lift(function: Callable[..., None]) -> Any:
        f = inlined(function)

        def each(batch: int, channels: int, rows: int, columns: int, of: Any) -> None:
            left, top, plane = cuda.grid(3)
            across, down, along = cuda.gridsize(3)
            while plane < batch * channels:
                b, c = plane // channels, plane % channels
                row = top
                while row < rows:
                    column = left
                    while column < columns:
                        f(b, c, row, column, of)
                        column += across
                    row += down
                plane += along

        each.__annotations__["of"] = operands
        return compiled(each, function)

    return lift


def every_place(maps: Any) -> tuple[Any, ...]:
    """The launch of such a kernel for every place of some maps, and their extents."""
    batch, channels, rows, columns = maps.shape
    return planes(columns, rows, batch * channels), *maps.shape
