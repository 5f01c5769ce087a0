"""The list of the largest blocks alive at the cursor, each with its formula and its life."""

from __future__ import annotations

from memlab import units
from memlab.views import extents
from memlab.views.network import words
from memlab.views.network.plot import Plot
from memlab.views.network.rows import BlockRow, Rows
from memlab.views.svg import Box, Svg

PITCH = 31


def title(rows: Rows) -> str:
    """How many are listed, of how many."""
    if rows.alive == len(rows.blocks):
        return words.get("largest.all", alive=rows.alive)
    return words.get("largest.title", count=len(rows.blocks), alive=f"{rows.alive:,}")


def others(rows: Rows) -> str:
    """The ones that are not listed."""
    count = rows.alive - len(rows.blocks)
    return words.get("largest.others", count=f"{count:,}", amount=units.exact(rows.others))


def focused(rows: Rows) -> BlockRow | None:
    """The block that the keyboard is on, else the largest."""
    return rows.chosen_block or next(iter(rows.blocks), None)


def draw(plot: Plot) -> None:
    """The heading, the blocks, the rest, and the life of the one in focus."""
    svg, rows, (left, top, wide) = plot.svg, plot.rows, plot.layout.blocks
    svg.text(left, top, title(rows), 13, bold=True)
    y = top + 21
    for index, block in enumerate(rows.blocks):
        value = f"block:{index}"
        _block(svg, block, left, y, wide, rows.state.chosen == value)
        target = Box(left, y - 12, left + wide, y + 19)
        svg.rect(target, fill="transparent", data_send="choose", data_value=value)
        y += PITCH
    y = top + 21 + PITCH * 5
    if rows.alive > len(rows.blocks):
        svg.text(left + 20, y - 2, others(rows), 11, dim=True)
    if focus := focused(rows):
        for line in extents.wrap(words.life(focus), wide, 11)[:2]:
            y += 14
            svg.text(left, y, line, 11)


def _block(svg: Svg, block: BlockRow, left: float, y: float, wide: float, chosen: bool) -> None:
    svg.swatch(left, y + 1, block.paint)
    span = words.span(block)
    room = wide - 28 - extents.width(span, 11)
    svg.text(left + 20, y, extents.fitted(block.name, room, 12), 12, bold=chosen)
    svg.text(left + wide, y, span, 11, "end", dim=True)
    svg.text(left + 20, y + 14.5, block.formula, 11, dim=True)
    if chosen:
        frame = Box(left - 4, y - 13, left + wide + 3, y + 18.5)
        svg.rect(frame, class_="rule", stroke_width=1.4, rx=3)
