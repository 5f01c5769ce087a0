"""A small picture, lowered: the pixel that each cell of the lowered matrix holds.

Every copy is traced from the index map that the kernels compile.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import chain, product
from math import dist

from memlab import strings
from memlab.errors import InputError, shorten
from memlab.kernels.formulas.windows import source
from memlab.layers import window

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
"""The picture, an F: it has no symmetry, so that a shift of it is visible."""
KERNELS, STRIDES, PADS = (1, 3, 5, 7), (1, 2), ("same", "none")
PIXEL, PLACE = "pixel", "place"
"""Kinds of pins: a pixel of the input, or a place of the output."""
Spot = tuple[int, int]
"""Row and column, from 0."""


def text_of(key: str, /, **values: object) -> str:
    """Return a text on lowering by its key."""
    return strings.get(f"copies.{key}", **values)


def kinds(pixels: Sequence[int | None]) -> str:
    """Return the kind of each cell: ``#`` in the letter, ``.`` around it, ``0`` an added zero.

    Args:
        pixels: number of the pixel in each cell, None for an added zero.
    """
    letter = "".join(LETTER)
    return "".join("0" if pixel is None else letter[pixel] for pixel in pixels)


@dataclass(frozen=True)
class Pin:
    """A pinned pixel of the input, or a pinned output place, whose window is a column of the
    matrix.

    ``stands`` are the cells that belong to it: number of the copy, and place in that copy.
    """

    kind: str
    number: int
    row: int
    column: int
    stands: tuple[tuple[int, int], ...]
    zeros: int = 0

    @property
    def name(self) -> str:
        """Name of the pinned pixel or place: ``'pixel:12'``."""
        return f"{self.kind}:{self.number}"

    @property
    def is_place(self) -> bool:
        """True if it is a place of the output, not a pixel of the input."""
        return self.kind == PLACE

    def until(self, step: int) -> tuple[tuple[int, int], ...]:
        """Return its cells in the first ``step`` copies."""
        return tuple(stand for stand in self.stands if stand[0] < step)


@dataclass(frozen=True)
class SmallPicture:
    """Small picture lowered under one kernel.

    ``copies[ky * k + kx][oy * places + ox]`` is the number of a pixel, or None for an added zero.
    """

    k: int
    stride: int
    pad: str
    places: int
    copies: tuple[tuple[int | None, ...], ...]

    @property
    def key(self) -> str:
        """Kernel, stride and padding as text: ``'3-1-same'``."""
        return f"{self.k}-{self.stride}-{self.pad}"

    @property
    def made(self) -> bool:
        """True if lowering makes a copy: under 1 x 1 at stride 1 the matrix is the
        picture itself."""
        return (self.k, self.stride) != (1, 1)

    @property
    def rim(self) -> int:
        """Number of padding zeros on each side of the picture."""
        return _rim(self.k, self.pad)

    @property
    def cells(self) -> int:
        """Number of cells of the matrix, values and zeros."""
        return len(self.copies) * self.places**2

    @property
    def zeros(self) -> int:
        """Number of added zeros in the matrix."""
        return sum(copy.count(None) for copy in self.copies)

    @property
    def factor(self) -> Fraction:
        """Cells of the matrix divided by the pixels of the picture."""
        return Fraction(self.cells, SIZE**2)

    def counts(self, copies: int) -> tuple[int, ...]:
        """Return for each pixel its number of cells in the first ``copies`` rows of the matrix."""
        counter = Counter(chain.from_iterable(self.copies[:copies]))
        return tuple(counter[pixel] for pixel in range(SIZE**2))

    def reads(self, index: int, places: int) -> tuple[list[int], list[int]]:
        """Return the rows and columns of the picture that a copy reads in its first ``places``
        rows.

        Rows and columns outside of the picture are padding.
        """
        ky, kx = divmod(index, self.k)
        rows = [source(oy, ky, self.stride, self.rim, 1) for oy in range(places)]
        return rows, [source(ox, kx, self.stride, self.rim, 1) for ox in range(self.places)]

    def window(self, row: int, column: int) -> Spot:
        """Return the row and column at which the window of an output place begins."""
        return source(row, 0, self.stride, self.rim, 1), source(column, 0, self.stride, self.rim, 1)

    def shift(self, index: int) -> Spot:
        """Return the pixels by which a copy is moved, down and to the right."""
        ky, kx = divmod(index, self.k)
        return -source(0, ky, self.stride, self.rim, 1), -source(0, kx, self.stride, self.rim, 1)

    def shifted(self, index: int) -> str:
        """Return the shift of a copy in words: ``'the picture, moved 1 down and 1 right'``."""
        down, right = self.shift(index)
        ways = [
            text_of(f"shift.{forth if n > 0 else back}", n=abs(n))
            for n, forth, back in ((down, "down", "up"), (right, "right", "left"))
            if n
        ]
        moved = text_of("shift.and").join(ways)
        if self.stride > 1:
            key = "every_moved" if ways else "every"
            return text_of(f"shift.{key}", stride=self.stride, ways=moved)
        return text_of(f"shift.{'moved' if ways else 'unshifted'}", ways=moved)

    def size(self, kind: str) -> int:
        """Return the number of rows, which is also that of columns, of the output if a place of
        it is pinned, else of the input."""
        return self.places if kind == PLACE else SIZE

    def pin(self, kind: str, number: int) -> Pin:
        """Return the pin of a pixel or of an output place, with the cells that belong to it."""
        row, column = divmod(number, self.size(kind))
        if kind == PLACE:
            stands = tuple((index, number) for index in range(len(self.copies)))
            zeros = sum(copy[number] is None for copy in self.copies)
            return Pin(kind, number, row, column, stands, zeros)
        stands = tuple(
            (index, place)
            for index, copy in enumerate(self.copies)
            for place, pixel in enumerate(copy)
            if pixel == number
        )
        return Pin(kind, number, row, column, stands)

    def parse(self, text: object) -> Pin | None:
        """Return the pin of a text, ``"pixel:12"`` or ``"place:5"``; None for an empty text.

        Raises:
            InputError: there is no such pixel or place.
        """
        given = re.fullmatch(rf"({PIXEL}|{PLACE}):([0-9]{{1,2}})", str(text))
        if text == "":
            return None
        if not given or int(given[2]) >= self.size(given[1]) ** 2:
            pixels, places = SIZE**2 - 1, self.places**2 - 1
            raise InputError(
                f"pin must be 'pixel:0' to 'pixel:{pixels}' or 'place:0' to 'place:{places}', "
                f"got {shorten(text)}; try 'pixel:0'."
            )
        return self.pin(given[1], int(given[2]))

    def column(self, place: int, step: int) -> str:
        """Return the kinds of the cells of an output place in the first ``step`` copies."""
        return kinds([copy[place] for copy in self.copies[:step]])

    def opposite(self, pin: Pin) -> tuple[str, int]:
        """Return the pixel in the centre of a place's window, or the place whose centre is nearest
        a pixel."""
        middle = self.copies[self.k**2 // 2]  # the copy that holds no zero
        centres = [pixel for pixel in middle if pixel is not None]
        if pin.is_place:
            return PIXEL, centres[pin.number]
        here = divmod(pin.number, SIZE)
        nearest = min(range(len(centres)), key=lambda at: dist(divmod(centres[at], SIZE), here))
        return PLACE, nearest


@cache
def lower(k: int, stride: int = 1, pad: str = "same") -> SmallPicture:
    """Return the small picture lowered for a kernel of ``k`` x ``k``."""
    rim = _rim(k, pad)
    places = window("picture", SIZE, k, stride, rim)
    copies = tuple(
        tuple(
            _number(source(oy, ky, stride, rim, 1), source(ox, kx, stride, rim, 1))
            for oy, ox in product(range(places), repeat=2)
        )
        for ky, kx in product(range(k), repeat=2)
    )
    return SmallPicture(k, stride, pad, places, copies)


def every() -> tuple[SmallPicture, ...]:
    """Return all small pictures that can be drawn."""
    return tuple(lower(*chosen) for chosen in product(KERNELS, STRIDES, PADS))


def _rim(k: int, pad: str) -> int:
    """Return the padding zeros on each side for a kernel and a padding."""
    return k // 2 if pad == "same" else 0


def _number(y: int, x: int) -> int | None:
    """Return the number of the pixel at a row and column; None outside of the picture."""
    return y * SIZE + x if 0 <= y < SIZE and 0 <= x < SIZE else None
