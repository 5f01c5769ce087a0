"""What is pinned, marked on the input, in the copies and in the matrix."""

from __future__ import annotations

from memlab.kernels.indices import source
from memlab.views.copies import cells, windows
from memlab.views.copies.entry import outside
from memlab.views.copies.layout import Layout
from memlab.views.copies.rows import Pin, Rows
from memlab.views.copies.slots import corner
from memlab.views.svg import Box, Svg


def draw(svg: Svg, rows: Rows, place: Layout, top: float, matrix: float) -> None:
    """The marks of a pin; ``top`` is where the input begins, ``matrix`` where the matrix does."""
    pin = rows.pin
    if pin is None:
        return
    spots = [_spot(rows, place, top, stand) for stand in pin.until(rows.step)]
    if pin.is_place:
        _window(svg, rows, pin, place, top)
        _column(svg, rows, pin, place, matrix)
        found = zip(spots, _kinds(rows, pin), strict=True)  # in full colour among dimmed ones
        cells.single(svg, place.cell, [(x, y, kind) for (x, y), kind in found])
    else:
        spots.append((place.input + pin.column * place.cell, top + pin.row * place.cell))
        across = [(place.matrix + place.cell * at, matrix + place.cell * index)
                  for index, at in pin.until(rows.step)]  # fmt: skip
        for x, y in [*spots, *across]:
            svg.rect(Box(x, y, x + place.cell, y + place.cell), class_="mark")
    for x, y in spots:
        svg.rect(Box(x - 3, y - 3, x + place.cell + 3, y + place.cell + 3), class_="thin-look")


def _spot(rows: Rows, place: Layout, top: float, stand: tuple[int, int]) -> tuple[float, float]:
    """The top left corner of a cell of a copy."""
    index, number = stand
    x, y = corner(rows, place, top, index)
    oy, ox = divmod(number, rows.lowered.places)
    return x + ox * place.cell, y + oy * place.cell


def _kinds(rows: Rows, pin: Pin) -> str:
    """What the cells of a place hold, copy by copy, as far as they are written."""
    stands = pin.until(rows.step)
    return windows.kinds([rows.lowered.copies[index][at] for index, at in stands])


def _window(svg: Svg, rows: Rows, pin: Pin, place: Layout, top: float) -> None:
    """The window on the input, with the zeros that it reads."""
    k, stride, cell = rows.state.k, rows.state.stride, place.cell
    y, x = (source(at, 0, stride, rows.rim, 1) for at in (pin.row, pin.column))
    outside(svg, place, top, [(y + ky, x + kx) for ky in range(k) for kx in range(k)])
    left, up = place.input + x * cell, top + y * cell
    svg.rect(Box(left, up, left + k * cell, up + k * cell), class_="look")


def _column(svg: Svg, rows: Rows, pin: Pin, place: Layout, matrix: float) -> None:
    """The window as a column of the matrix."""
    if not rows.count:
        return
    left, cell = place.matrix + pin.stands[0][1] * place.cell, place.cell
    found = enumerate(_kinds(rows, pin))
    cells.single(svg, cell, [(left, matrix + index * cell, kind) for index, kind in found])
    box = Box(left - 1, matrix - 1, left + cell + 1, matrix + rows.count * cell + 1)
    svg.rect(box, class_="look")
