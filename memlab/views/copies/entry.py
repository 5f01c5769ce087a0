"""The input: the picture, and what of it the last copy reads."""

from __future__ import annotations

from collections.abc import Iterable

from memlab.kernels.indices import source
from memlab.views.copies import cells, words
from memlab.views.copies.layout import Layout
from memlab.views.copies.rows import Rows
from memlab.views.copies.windows import SIZE
from memlab.views.svg import Box, Svg


def draw(svg: Svg, rows: Rows, place: Layout, top: float) -> None:
    """The input with its name."""
    x, side, cell = place.input, place.side, place.cell
    svg.text(x, top - 8 - rows.rim * cell, words.say("ruler.input"), 12)
    with svg.group(**cells.look(svg, cell)):
        svg.add("g", cells.letter(cell), transform=f"translate({x} {top})")
    svg.rect(Box(x, top, x + side, top + side), class_="input")
    if rows.framed:
        _read(svg, rows, place, top)
    for row in range(SIZE):
        line = Box(x, top + row * cell, x + side, top + (row + 1) * cell)
        svg.rect(line, fill="transparent", data_send=f"pixels-{row}", data_steps=SIZE)


def outside(svg: Svg, place: Layout, top: float, found: Iterable[tuple[int, int]]) -> None:
    """Hatched cells beside the input, where a kernel reads zeros: row and column of each."""
    beyond = [(y, x) for y, x in found if not (0 <= y < SIZE and 0 <= x < SIZE)]
    places = [(place.input + x * place.cell, top + y * place.cell, "0") for y, x in beyond]
    cells.single(svg, place.cell, places)


def _read(svg: Svg, rows: Rows, place: Layout, top: float) -> None:
    """A frame around it; under a stride a dot on each pixel that is read."""
    assert rows.current is not None
    (ky, kx), stride, cell = rows.current, rows.state.stride, place.cell
    ys = [source(oy, ky, stride, rows.rim, 1) for oy in range(rows.kept)]
    xs = [source(ox, kx, stride, rows.rim, 1) for ox in range(rows.lowered.places)]
    outside(svg, place, top, [(y, x) for y in ys for x in xs])
    left, up = place.input + xs[0] * cell, top + ys[0] * cell
    right, down = place.input + (xs[-1] + 1) * cell, top + (ys[-1] + 1) * cell
    svg.rect(Box(left, up, right, down), class_="look")
    if stride > 1:
        half = cell / 2
        dots = [(place.input + x * cell + half, top + y * cell + half) for y in ys for x in xs]
        svg.path("".join(f"M{x - 1.5} {y}h3" for x, y in dots), class_="look")
