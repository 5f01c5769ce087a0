"""The copies, each at its place in the kernel; what is not written is a dashed place."""

from __future__ import annotations

from memlab.kernels.indices import source
from memlab.views.copies import cells, words
from memlab.views.copies.layout import DIMMED, Layout
from memlab.views.copies.rows import Rows
from memlab.views.copies.windows import SIZE
from memlab.views.svg import Box, Svg

Corner = tuple[float, float]


def corner(rows: Rows, place: Layout, top: float, index: int) -> Corner:
    """The top left corner of a copy."""
    ky, kx = divmod(index, rows.state.k)
    return place.left + kx * place.pitch, top + ky * place.pitch


def draw(svg: Svg, rows: Rows, place: Layout, top: float) -> None:
    """All copies that are written, and the places of the others."""
    if not rows.count:
        left, side = place.left, place.side
        svg.rect(Box(left, top, left + side, top + side), class_="ghost")
        svg.text(left, top - 8, words.say("matrix.unmade"), 12)
        return
    wide = rows.lowered.places * place.cell
    corners = [corner(rows, place, top, index) for index in range(rows.count)]
    written = corners[: rows.step]
    _heads(svg, rows, place, top)
    svg.path(_squares(corners if wide < place.side else corners[rows.step :], place.side),
             class_="ghost")  # fmt: skip
    with svg.group(opacity=DIMMED if rows.pin else None):
        _written(svg, rows, place, written)
        svg.path(_squares(written, wide), class_="edge")
    if rows.tiled:
        _veil(svg, rows, written, place)
    if rows.framed:
        x, y = written[-1]
        svg.rect(Box(x - 2, y - 2, x + wide + 2, y + rows.kept * place.cell + 2), class_="look")
    if written and rows.state.moving and rows.state.stride == 1:
        _print(svg, rows, place, top)
    _targets(svg, rows, place, top)


def _squares(corners: list[Corner], side: float) -> str:
    return "".join(f"M{x} {y}h{side}v{side}h-{side}z" for x, y in corners)


def _heads(svg: Svg, rows: Rows, place: Layout, top: float) -> None:
    """Kernel columns above the copies, kernel rows beside them."""
    for at in range(rows.state.k):
        middle = at * place.pitch + place.side / 2
        kx, ky = (f"kx {at}", f"ky {at}") if at == 0 else (str(at), str(at))
        svg.text(place.left + middle, top - 6, kx, 11, "middle", dim=True)
        svg.text(place.left - 6, top + middle + 4, ky, 11, "end", dim=True)


def _written(svg: Svg, rows: Rows, place: Layout, corners: list[Corner]) -> None:
    with svg.group(**cells.look(svg, place.cell)):
        for index, (x, y) in enumerate(corners):
            comes = rows.state.moving and index == rows.step - 1
            body = cells.copy(rows.lowered, index, place.cell)
            svg.add("g", body, transform=f"translate({x} {y})", class_="comes" if comes else None)


def _veil(svg: Svg, rows: Rows, corners: list[Corner], place: Layout) -> None:
    """Of each copy only a tile is kept at a time."""
    wide, kept = rows.lowered.places * place.cell, rows.kept * place.cell
    d = "".join(f"M{x} {y + kept}h{wide}v{wide - kept}h-{wide}z" for x, y in corners)
    svg.path(d, class_="veil")


def _print(svg: Svg, rows: Rows, place: Layout, top: float) -> None:
    """A print of the input slides to its place and settles, while nothing else moves."""
    x, y = corner(rows, place, top, rows.step - 1)
    ky, kx = divmod(rows.step - 1, rows.state.k)
    x -= source(0, kx, 1, rows.rim, 1) * place.cell
    y -= source(0, ky, 1, rows.rim, 1) * place.cell
    start = f"--from-x:{place.input - x}px;--from-y:{top - y}px"
    with svg.group(class_="print", style=start), svg.group(**cells.look(svg, place.cell)):
        svg.add("g", cells.letter(place.cell), transform=f"translate({x} {y})")


def _targets(svg: Svg, rows: Rows, place: Layout, top: float) -> None:
    """Where a pointer chooses a place: a row of places in all copies of a kernel row, which have
    a free cell between them."""
    steps = rows.state.k * (SIZE + 1) - 1
    for ky in range(rows.state.k):
        for oy in range(rows.lowered.places):
            y = top + ky * place.pitch + oy * place.cell
            box = Box(place.left, y, place.left + steps * place.cell, y + place.cell)
            svg.rect(box, fill="transparent", data_send=f"places-{oy}", data_steps=steps)
