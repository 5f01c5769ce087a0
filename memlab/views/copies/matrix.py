"""The lowered matrix: a copy is a row of it, a window is a column."""

from __future__ import annotations

from memlab.views.copies import cells, pixels, words
from memlab.views.copies.layout import DIMMED, LINE, Layout
from memlab.views.copies.rows import Rows
from memlab.views.svg import Box, Svg


def draw(svg: Svg, rows: Rows, place: Layout, y: float) -> float:
    """The strip of the matrix with its name; returns where it ends."""
    cell, columns = place.cell, rows.lowered.places**2
    box = Box(place.matrix, y, place.matrix + columns * cell, y + rows.count * cell)
    svg.rect(box, class_="ghost")
    lines = range(rows.step + 1, rows.count)
    svg.path("".join(f"M{box.left} {y + n * cell}H{box.right}" for n in lines), class_="grid")
    with svg.group(opacity=DIMMED if rows.pin else None):
        _written(svg, rows, place, box)
    kept = box.left + rows.kept * rows.lowered.places * cell
    if rows.tiled:
        svg.rect(Box(kept, y, box.right, y + rows.step * cell), class_="veil")
    if rows.framed:
        top = y + (rows.step - 1) * cell
        svg.rect(Box(box.left - 2, top - 2, kept + 2, top + cell + 2), class_="look")
        svg.path(f"M{box.left - 14} {top + cell / 2 - 5}l8 5l-8 5z", class_="mark")
    svg.rect(box, fill="transparent", data_send="column", data_steps=columns)
    return max(box.bottom, y + 3 * LINE)


def _written(svg: Svg, rows: Rows, place: Layout, box: Box) -> None:
    if not rows.step:
        return
    cell = place.cell
    with svg.group(transform=f"translate({box.left} {box.top})", **cells.look(svg, cell)):
        for index in range(rows.step):
            body = cells.row(rows.lowered, index, cell)
            svg.add("g", body, transform=f"translate(0 {index * cell})")
        svg.parts.append(pixels.grid(rows.lowered.places**2, rows.step, cell))
    svg.rect(box._replace(bottom=box.top + rows.step * cell), class_="edge")


def names(svg: Svg, rows: Rows, place: Layout, y: float) -> float:
    """What the matrix is, to its left or above it; returns where the matrix begins."""
    name = words.say("matrix.name", rows=rows.count, columns=rows.lowered.places**2)
    notes = [words.say("matrix.row"), words.say("matrix.column")]
    if place.matrix < place.left:
        end = svg.text(0, y + 9, name, 12).right
        svg.text(end + 12, y + 9, " · ".join(notes), 11, dim=True)
        return y + LINE
    svg.text(0, y + 9, name, 12)
    for index, note in enumerate(notes, 1):
        svg.text(0, y + 9 + LINE * index, note, 11, dim=True)
    return y
