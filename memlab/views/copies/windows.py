"""A small picture, lowered: which of its pixels each cell of the lowered matrix holds.

Every copy that is drawn is traced from the index map that the kernels compile.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, product

from memlab.kernels.indices import source
from memlab.networks.windows import window

SIZE = 8
"""Rows and columns of the picture."""
LETTER = (
    "........",
    ".######.",
    ".######.",
    ".##.....",
    ".#####..",
    ".##.....",
    ".##.....",
    ".##.....",
)
"""An F has no symmetry, so a shift of it is seen."""
KERNELS, STRIDES, PADS = (1, 3, 5, 7), (1, 2), ("same", "none")


@dataclass(frozen=True)
class Lowered:
    """The picture under one kernel: ``copies[ky * k + kx][oy * places + ox]`` is the number of a
    pixel, or None for an added zero."""

    k: int
    stride: int
    pad: str
    places: int
    copies: tuple[tuple[int | None, ...], ...]

    @property
    def key(self) -> str:
        """Its name: ``'3-1-same'``."""
        return f"{self.k}-{self.stride}-{self.pad}"

    @property
    def made(self) -> bool:
        """Whether it is a copy at all: under 1 x 1 at stride 1 it is the picture itself."""
        return (self.k, self.stride) != (1, 1)

    @property
    def cells(self) -> int:
        """Values and zeros of the matrix."""
        return len(self.copies) * self.places**2

    @property
    def zeros(self) -> int:
        """How many of them were added."""
        return sum(copy.count(None) for copy in self.copies)

    def stands(self, pixel: int) -> tuple[tuple[int, int], ...]:
        """Where a pixel stands: number of the copy, place in it."""
        places = range(self.places**2)
        return tuple(
            (index, place)
            for index, copy in enumerate(self.copies)
            for place in places
            if copy[place] == pixel
        )

    def written(self, pixel: int) -> int:
        """How often a pixel stands in the matrix."""
        return sum(copy.count(pixel) for copy in self.copies)

    def counts(self, copies: int) -> tuple[int, ...]:
        """The same for every pixel in the first ``copies`` rows."""
        found = Counter(chain.from_iterable(self.copies[:copies]))
        return tuple(found[pixel] for pixel in range(SIZE**2))


@cache
def lower(k: int, stride: int = 1, pad: str = "same") -> Lowered:
    """The picture lowered for a kernel of ``k`` x ``k``."""
    rim = k // 2 if pad == "same" else 0
    places = window("picture", SIZE, k, stride, rim)
    copies = tuple(
        tuple(
            _number(source(oy, ky, stride, rim, 1), source(ox, kx, stride, rim, 1))
            for oy, ox in product(range(places), repeat=2)
        )
        for ky, kx in product(range(k), repeat=2)
    )
    return Lowered(k, stride, pad, places, copies)


def every() -> tuple[Lowered, ...]:
    """All that can be drawn."""
    return tuple(lower(*chosen) for chosen in product(KERNELS, STRIDES, PADS))


def kinds(pixels: Sequence[int | None]) -> str:
    """What each cell shows: ``#`` the letter, ``.`` what is around it, ``0`` an added zero."""
    letter = "".join(LETTER)
    return "".join("0" if pixel is None else letter[pixel] for pixel in pixels)


def _number(y: int, x: int) -> int | None:
    return y * SIZE + x if 0 <= y < SIZE and 0 <= x < SIZE else None
