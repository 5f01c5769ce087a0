"""Cells of the small picture: the input with its copies at their places in the kernel, and the
matrix.

Both are marks of a chart whose scales count cells, whatever the size of a cell on the page.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Any

from memlab.pictures.draw.marks import Mark, Pen
from memlab.pictures.draw.svg import Box, Svg
from memlab.pictures.shifted_copies.lowering import Lowering
from memlab.pictures.shifted_copies.small_picture import (
    LETTER,
    PIXEL,
    SIZE,
    Pin,
    SmallPicture,
    kinds,
    text_of,
)

CLASSES = {"#": "on", ".": "pale", "0": "zero"}
"""CSS class of a cell, by its kind."""
PITCH = SIZE + 1
"""Cells from one copy to the next; one stays free."""
DIMMED = 0.35
"""Opacity of the cells that are not pinned, where something is."""

_LIGHT = "--copy-on:#0072B2;--copy-pale:#bfdcef;--copy-look:#D55E00;--copy-zero:#E69F00"
_DARK = "--copy-on:#56B4E9;--copy-pale:#23495f;--copy-look:#F0E442;--copy-zero:#E69F00"
_PAGE = "var(--jp-layout-color0,var(--paper))"
STYLE = "".join(
    (
        f".memlab-svg{{{_LIGHT}}}",
        f"@media(prefers-color-scheme:dark){{.memlab-svg{{{_DARK}}}}}",
        f'.memlab-svg:is([data-jp-theme-light="true"] *){{{_LIGHT}}}',
        f'.memlab-svg:is([data-jp-theme-light="false"] *){{{_DARK}}}',
        ".memlab-svg .on{fill:var(--copy-on)}.memlab-svg .cells{fill:none;stroke-width:1}",
        *(
            f".memlab-svg .{name}-run{{stroke:var(--copy-{name})}}"
            for name in ("on", "pale", "look")
        ),
        ".memlab-svg .zero{stroke:var(--copy-zero);stroke-width:.2}",
        f".memlab-svg .mesh{{stroke:{_PAGE};stroke-width:.09}}",
        ".memlab-svg .rim{stroke:currentColor;stroke-width:.12}",
        ".memlab-svg .cells .line{stroke:currentColor;stroke-opacity:.2;stroke-width:.12}",
        ".memlab-svg .edge{stroke:currentColor;stroke-width:1;fill:none}",
        ".memlab-svg .cells .edge{stroke-width:.12}.memlab-svg .cells .input{stroke-width:.3}",
        ".memlab-svg .ghost{stroke:currentColor;stroke-opacity:.55;stroke-dasharray:3 3;fill:none}",
        ".memlab-svg .cells .ghost{stroke-width:.12;stroke-dasharray:.4 .4}",
        ".memlab-svg .cells rect,.memlab-svg :is(.mark,.veil){stroke:none}",
        f".memlab-svg .seam{{stroke:{_PAGE};stroke-width:1.5;fill:none}}",
        f".memlab-svg .veil{{fill:{_PAGE};fill-opacity:.68}}",
        ".memlab-svg .look{stroke:var(--copy-look);stroke-width:.32;fill:none}",
        ".memlab-svg .thin-look{stroke:var(--copy-look);stroke-width:.15;fill:none}",
        ".memlab-svg .mark{fill:var(--copy-look)}",
        ".memlab-svg :is(.marks,.print){pointer-events:none}.memlab-svg .print{opacity:0}",
        "@media(prefers-reduced-motion:no-preference){"
        ".memlab-svg .print{animation:memlab-fly .4s ease-in-out}"
        ".memlab-svg .comes{animation:memlab-come .4s}}",
        "@keyframes memlab-fly{0%{opacity:.75;transform:translate(var(--from-x),var(--from-y))}"
        "80%{opacity:.75;transform:none}100%{opacity:0}}",
        "@keyframes memlab-come{0%,70%{opacity:0}}",
    )
)
"""Style of the picture; every rule begins with its class, for a style inside a page holds for
all of it."""

Corner = tuple[float, float]
Paths = list[tuple[str, str]]
"""CSS class and data of each path."""


def group(svg: Svg, x: float, y: float, cell: float) -> AbstractContextManager[None]:
    """Open a group of an SVG whose contents are in cells, from a corner of the page on; zeros are
    hatched.

    Args:
        svg: drawing to write to.
        x: left edge of the group, in pixels.
        y: upper edge of the group, in pixels.
        cell: side of a cell, in pixels.
    """
    name = f"{svg.key}-zero"
    pattern = (
        f'<pattern id="{name}" width=".75" height=".75" patternUnits="userSpaceOnUse" '
        'patternTransform="rotate(45)"><path class="zero" d="M.375 0V.75"/></pattern>'
    )
    if (definition := f"<style>{STYLE}</style><defs>{pattern}</defs>") not in svg.parts:
        svg.parts.append(definition)
    place = f"translate({x:g} {y:g})scale({cell:g})"
    return svg.group(transform=place, class_="cells", stroke=f"url(#{name})")


# -- cells as text of an SVG ----------------------------------------------------------------------


def runs(cells: str, columns: int) -> str:
    """Return rows of cells as SVG paths; equal cells side by side are one stroke.

    Args:
        shown: kinds of the cells, row by row, each ``#``, ``.`` or ``0``.
        columns: cells of a row.
    """
    spans: dict[str, list[str]] = {}
    for row in range(len(cells) // columns):
        x = 0
        for kind, run in groupby(cells[row * columns : (row + 1) * columns]):
            wide = len(list(run))
            spans.setdefault(kind, []).append(f"M{x} {row}.5h{wide}")
            x += wide
    return "".join(
        f'<path class="{CLASSES[kind]}-run" d="{"".join(d)}"/>' for kind, d in spans.items()
    )


def grid(columns: int, rows: int) -> str:
    """Return the lines between cells as an SVG path."""
    across = "".join(f"M0 {y}H{columns}" for y in range(1, rows))
    down = "".join(f"M{x} 0V{rows}" for x in range(1, columns))
    return f'<path class="mesh" d="{across}{down}"/>' if across or down else ""


def square(x: float, y: float, wide: float, high: float | None = None, out: float = 0) -> str:
    """Return a rectangle as a path, ``out`` cells larger on each side."""
    wide, high = wide + 2 * out, (wide if high is None else high) + 2 * out
    return f"M{x - out:g} {y - out:g}h{wide:g}v{high:g}h{-wide:g}z"


@lru_cache
def letter() -> str:
    """Return the SVG of the small picture, from its top left corner on."""
    return runs("".join(LETTER), SIZE) + grid(SIZE, SIZE)


@lru_cache(maxsize=1024)
def copy(small: SmallPicture, index: int) -> str:
    """Return the SVG of one shifted copy as a picture, with its edge."""
    places = small.places
    edge = f'<path class="rim" d="{square(0, 0, places)}"/>'
    return runs(kinds(small.copies[index]), places) + grid(places, places) + edge


@lru_cache(maxsize=1024)
def row(small: SmallPicture, index: int) -> str:
    """Return the SVG of one shifted copy as a row of the lowered matrix."""
    return runs(kinds(small.copies[index]), small.places**2)


def single(positions: Iterable[tuple[Corner, str]]) -> Paths:
    """Return paths for single cells, with the class of their kind."""
    marks: dict[str, list[str]] = {}
    for (x, y), kind in positions:
        marks.setdefault(f"{CLASSES[kind]}-run", []).append(f"M{x:g} {y + 0.5:g}h1")
    return [(name, "".join(d)) for name, d in marks.items()]


@lru_cache(maxsize=1024)
def fact(small: SmallPicture, index: int) -> str:
    """Return the fact of a copy: its number, its place in the kernel, its shift,
    values and zeros."""
    ky, kx = divmod(index, small.k)
    zeros = small.copies[index].count(None)
    return text_of("fact.copy", number=index + 1, ky=ky, kx=kx, shift=small.shifted(index),
               values=small.places**2 - zeros, zeros=zeros)  # fmt: skip


def spots(corners: Iterable[Corner]) -> str:
    """Return the path of marked cells, from their corners."""
    return "".join(f"M{x:g} {y + 0.5:g}h1" for x, y in corners)


# -- the picture ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class PicturePart(Mark):
    """A part of the small picture: a lowering, the part's corner in cells, and the pin.

    ``told`` is True where its cells tell facts and take the pointer.
    """

    lowering: Lowering
    corner: Corner
    pin: Pin | None = None
    told: bool = True

    @property
    def framed(self) -> bool:
        """True if the last copy is framed: some copies are missing (or there is one), and nothing
        is pinned."""
        step, count = self.lowering.copies, self.lowering.count
        return self.pin is None and step > 0 and (step < count or count == 1)

    @property
    def faded(self) -> float | None:
        """Opacity of the cells that are not pinned, where something is; else None."""
        return DIMMED if self.pin else None

    def said(self, index: int) -> str | None:
        """Return the fact of a copy; None in a part that tells nothing."""
        return fact(self.lowering.small, index) if self.told else None

    def draw(self, pen: Pen) -> None:
        with group(pen.svg, pen.x(0), pen.y(0), pen.x(1) - pen.x(0)):
            self.write(pen.svg)

    def write(self, svg: Svg) -> None:
        """Draw the part inside a group whose unit is a cell."""
        raise NotImplementedError

    def marks(self) -> Paths:
        """Return the paths that mark the pinned cells in this part."""
        raise NotImplementedError

    def _pinned(self, svg: Svg) -> None:
        """Draw the marks of the pinned cells."""
        with svg.group(class_="marks"):
            for name, d in self.marks():
                svg.path(d, class_=name)

    def _rings(self, axes: Any, corners: Sequence[Corner]) -> None:
        """Mark the pinned cells on matplotlib's Axes."""
        if corners:
            xs, ys = zip(*((x + 0.5, y + 0.5) for x, y in corners), strict=True)
            axes.scatter(xs, ys, marker="s", facecolors="none", edgecolors="#D55E00", zorder=3)


@dataclass(frozen=True)
class CopiedCells(PicturePart):
    """Input, and the copies that are written, at their places in the kernel.

    ``input`` is the corner of the input. ``moving`` animates the last copy; ``headed`` writes the
    rows and columns of the kernel beside the copies.
    """

    input: Corner = (0, 0)
    moving: bool = False
    headed: bool = False

    def at(self, index: int) -> Corner:
        """Return the corner of a copy, in cells."""
        ky, kx = divmod(index, self.lowering.k)
        return self.corner[0] + kx * PITCH, self.corner[1] + ky * PITCH

    # -- SVG

    def draw(self, pen: Pen) -> None:
        super().draw(pen)
        for text, x, y, anchor in self._heads():
            dx, dy = (-6, 4) if anchor == "end" else (0, -6)
            pen.svg.text(pen.x(x) + dx, pen.y(y) + dy, text, 11, anchor, dim=True)

    def _heads(self) -> Iterator[tuple[str, float, float, str]]:
        """Yield kernel columns above the copies and kernel rows beside them: text,
        x, y and anchor."""
        left, top = self.corner
        for at in range(self.lowering.k if self.headed and self.lowering.count else 0):
            middle, name = at * PITCH + SIZE / 2, str(at) if at else "{} 0"
            yield name.format("kx"), left + middle, top, "middle"
            yield name.format("ky"), left, top + middle, "end"

    def write(self, svg: Svg) -> None:
        self._input(svg)
        if self.lowering.count:
            self._copies(svg)
        else:
            svg.path(square(*self.corner, SIZE), class_="ghost")
        self._pinned(svg)

    def _input(self, svg: Svg) -> None:
        """Draw the small picture, and the pixels that the last copy reads."""
        x, y = self.input
        svg.add("g", letter(), transform=f"translate({x:g} {y:g})")
        svg.path(square(x, y, SIZE), class_="edge input")
        if self.framed and self.told:
            self._read(svg)
        counts = self.lowering.small.counts(self.lowering.count) if self.told else ()
        for pixel, count in enumerate(counts):
            down, right = divmod(pixel, SIZE)
            fact = text_of("fact.pixel", row=down + 1, column=right + 1, count=count)
            with svg.told(fact, (PIXEL, pixel)):
                svg.rect(Box(x + right, y + down, x + right + 1, y + down + 1), fill="transparent")

    def _read(self, svg: Svg) -> None:
        """Draw a frame around the cells that the last copy reads; under a stride, a dot on each of
        them."""
        (x, y), lowered = self.input, self.lowering
        down, right = lowered.small.reads(lowered.copies - 1, lowered.kept)
        for name, d in single(self._outside([(row, column) for row in down for column in right])):
            svg.path(d, class_=name)
        wide, high = right[-1] + 1 - right[0], down[-1] + 1 - down[0]
        svg.path(square(x + right[0], y + down[0], wide, high), class_="look")
        if lowered.stride > 1:
            dots = [f"M{x + at + 0.3:g} {y + row + 0.5:g}h.4" for row in down for at in right]
            svg.path("".join(dots), class_="look")

    def _outside(self, reads: Sequence[tuple[int, int]]) -> list[tuple[Corner, str]]:
        """Return the given rows and columns that lie outside of the input, where a kernel reads
        zeros."""
        (left, top), size = self.input, range(SIZE)
        return [((left + x, top + y), "0") for y, x in reads if y not in size or x not in size]

    def _copies(self, svg: Svg) -> None:
        """Draw all copies that are written, and the outlines of the others."""
        lowered, small = self.lowering, self.lowering.small
        corners = [self.at(index) for index in range(lowered.count)]
        written = corners[: lowered.copies]
        svg.path("".join(square(x, y, SIZE) for x, y in corners), class_="ghost")
        with svg.group(class_="fades", opacity=self.faded):
            for index, (x, y) in enumerate(written):
                comes = "comes" if self.moving and index == lowered.copies - 1 else None
                svg.add("g", copy(small, index), transform=f"translate({x:g} {y:g})", class_=comes,
                        data_copy=index, data_fact=self.said(index))  # fmt: skip
        if lowered.tiled:
            rest = small.places - lowered.kept
            veils = (square(x, y + lowered.kept, small.places, rest) for x, y in written)
            svg.path("".join(veils), class_="veil")
        if self.framed:
            svg.path(square(*written[-1], small.places, lowered.kept, 0.25), class_="look")
        if self.moving and written and lowered.stride == 1:
            self._print(svg)
        if self.told:
            self._targets(svg)

    def _print(self, svg: Svg) -> None:
        """Draw a print of the input that slides to the place of the last copy."""
        last = self.lowering.copies - 1
        (x, y), (down, right) = self.at(last), self.lowering.small.shift(last)
        left, top = self.input[0] - x - right, self.input[1] - y - down
        with svg.group(class_="print", style=f"--from-x:{left:g}px;--from-y:{top:g}px"):
            svg.add("g", letter(), transform=f"translate({x + right:g} {y + down:g})")

    def _targets(self, svg: Svg) -> None:
        """Draw targets of the pointer for output places: one for each row of cells in a row of
        copies.

        The target runs over the free cells between the copies.
        """
        (x, y), k = self.corner, self.lowering.k
        wide = k * PITCH - 1
        for top in range(k):
            for oy in range(self.lowering.small.places):
                up = y + top * PITCH + oy
                svg.rect(Box(x, up, x + wide, up + 1), fill="transparent",
                         data_send=f"places-{oy}", data_steps=wide)  # fmt: skip

    # -- pins

    def _spots(self) -> list[Corner]:
        """Return the upper left corner, in cells, of the pinned value in each copy that is written
        so far."""
        if not (self.pin and self.lowering.count):
            return []
        stands = self.pin.until(self.lowering.copies)
        corners = ((self.at(index), divmod(at, self.lowering.small.places)) for index, at in stands)
        return [(x + ox, y + oy) for (x, y), (oy, ox) in corners]

    def marks(self) -> Paths:
        pin, lowered, (x, y) = self.pin, self.lowering, self.input
        stands = self._spots()
        if pin is None:
            return []
        if pin.is_place:
            down, right = lowered.small.window(pin.row, pin.column)
            reads = [(down + ky, right + kx) for ky in range(lowered.k) for kx in range(lowered.k)]
            column = zip(stands, lowered.small.column(pin.number, len(stands)), strict=True)
            frame = square(x + right, y + down, lowered.k)
            marks = [*single([*self._outside(reads), *column]), ("look", frame)]
        else:
            stands.append((x + pin.column, y + pin.row))
            marks = [("look-run", spots(stands))]
        return [*marks, ("thin-look", "".join(square(a, b, 1, out=0.4) for a, b in stands))]

    # -- matplotlib

    def on(self, axes: Any) -> None:
        _image(axes, self.input, "".join(LETTER), SIZE)
        small = self.lowering.small
        for index in range(self.lowering.copies):
            _image(axes, self.at(index), kinds(small.copies[index]), small.places)
        for text, x, y, anchor in self._heads():
            axes.text(
                x, y, text, ha={"end": "right"}.get(anchor, "center"), va="bottom", fontsize=11
            )
        pinned = [(self.input[0] + pin.column, self.input[1] + pin.row)
                  for pin in (self.pin,) if pin and not pin.is_place]  # fmt: skip
        self._rings(axes, [*pinned, *self._spots()])


@dataclass(frozen=True)
class Matrix(PicturePart):
    """Lowered matrix: each row is a copy of the input, each column the window of
    an output place."""

    def write(self, svg: Svg) -> None:
        lowered, small, (x, y) = self.lowering, self.lowering.small, self.corner
        columns, step = small.places**2, lowered.copies
        svg.path(square(x, y, columns, lowered.count), class_="ghost")
        lines = "".join(f"M{x:g} {y + n:g}h{columns}" for n in range(step + 1, lowered.count))
        if lines:
            svg.path(lines, class_="line")
        with svg.group(class_="fades", opacity=self.faded):
            for index in range(step):
                svg.add("g", row(small, index), transform=f"translate({x:g} {y + index:g})",
                        data_copy=index, data_fact=self.said(index))  # fmt: skip
            if step:
                svg.add("g", grid(columns, step), transform=f"translate({x:g} {y:g})")
                svg.path(square(x, y, columns, step), class_="edge")
        kept_columns = lowered.kept * small.places
        if lowered.tiled:
            svg.path(square(x + kept_columns, y, columns - kept_columns, step), class_="veil")
        if self.framed:
            svg.path(square(x, y + step - 1, kept_columns, 1, 0.25), class_="look")
            svg.path(f"M{x - 1.75:g} {y + step - 1.1:g}l1 .6l-1 .6z", class_="mark")
        self._pinned(svg)
        if self.told:
            box = Box(x, y, x + columns, y + lowered.count)
            svg.rect(box, fill="transparent", data_send="column", data_steps=columns)

    def _spots(self) -> list[Corner]:
        """Return the corners of the pinned cells in the rows that are written."""
        stands = self.pin.until(self.lowering.copies) if self.pin else ()
        return [(self.corner[0] + place, self.corner[1] + index) for index, place in stands]

    def marks(self) -> Paths:
        pin, stands, (x, y) = self.pin, self._spots(), self.corner
        if pin is None:
            return []
        if not pin.is_place:
            return [("look-run", spots(stands))]
        column = self.lowering.small.column(pin.number, len(stands))
        frame = square(x + pin.number, y, 1, self.lowering.count, 0.12)
        return [*single(zip(stands, column, strict=True)), ("look", frame)]

    def on(self, axes: Any) -> None:
        small = self.lowering.small
        cells = "".join(kinds(copy) for copy in small.copies[: self.lowering.copies])
        _image(axes, self.corner, cells, small.places**2)
        self._rings(axes, self._spots())


def _image(axes: Any, corner: Corner, cell_kinds: str, columns: int) -> None:
    """Draw the cells of a matrix as an image on matplotlib's Axes."""
    import numpy as np
    from matplotlib.colors import ListedColormap

    if not cell_kinds:
        return
    cells = np.array(["0.#".index(kind) for kind in cell_kinds]).reshape(-1, columns)
    (x, y), (rows, _) = corner, cells.shape
    colours = ListedColormap(["#E69F00", "#bfdcef", "#0072B2"])
    axes.imshow(cells, colours, vmin=0, vmax=2, extent=(x, x + columns, y + rows, y), aspect="auto",
                interpolation="none")  # fmt: skip
