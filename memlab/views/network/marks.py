"""What stands on the plot: the flag at the peak, the cursor, budgets, the guess, notes."""

from __future__ import annotations

from collections.abc import Iterator

from memlab.views import extents
from memlab.views.network import words
from memlab.views.network.layout import LEFT
from memlab.views.network.plot import TICK, Plot
from memlab.views.place import Board
from memlab.views.svg import Box, text_box


def draw(plot: Plot) -> None:
    """All of them; what they take, no label takes again."""
    _poles(plot)
    _axis_title(plot)
    _note(plot)
    _budgets(plot)
    _above(plot)
    _guess(plot)
    _life(plot)


def _poles(plot: Plot) -> None:
    """The flag at the peak on its pole, and the line at the cursor."""
    svg, rows = plot.svg, plot.rows
    x, y = plot.middle(rows.peak.index), max(plot.frame.y(rows.peak.nbytes), plot.top)
    cursor, apart = plot.middle(rows.at), rows.at != rows.peak.index
    top = _flag(plot, x)
    svg.line(x, top, x, y if apart else plot.bottom + 4, class_="pole")
    if apart:
        svg.line(cursor, plot.top - 6, cursor, plot.bottom + 4, class_="pole")
    if plot.torn:
        svg.path(f"M{x - 5:.1f} {plot.top - 1}L{x:.1f} {plot.top - 10}L{x + 5:.1f} {plot.top - 1}Z")
    else:
        svg.add("circle", cx=x, cy=y, r=3.6)
    for pole in {x, cursor}:
        plot.board.take(Box(pole - 1, plot.layout.flag + 4, pole + 1, plot.bottom))
    plot.board.take(Box(x - 4, y - 4, x + 4, y + 4))


def _flag(plot: Plot, x: float) -> float:
    """The flag with its words beside it, or above it where neither side has room; returns its y."""
    runs = list(zip(words.flag(plot.rows), (True, False), strict=True))
    wide = sum(extents.width(text, 12, bold) for text, bold in runs)
    y, edge = plot.layout.flag, plot.layout.edge
    right = x + 16 + wide <= edge
    side = 1 if right else -1
    beside = right or x - 16 - wide >= 0
    if beside:
        plot.svg.text(x + 15 * side, y, runs, 12, "start" if right else "end")
    else:
        plot.svg.text(min(max(x - wide / 2, 0), edge - wide), y, runs, 12)
    top = y - 9 if beside else y + 4
    plot.svg.path(f"M{x:.1f} {top}h{11 * side}l{-3 * side} 4.5l{3 * side} 4.5h{-11 * side}Z")
    plot.board.take(Box(min(x, x + 11 * side), top, max(x, x + 11 * side), top + 9))
    return top


def _axis_title(plot: Plot) -> None:
    """What is counted from left to right, or the operation of the cursor."""
    if plot.rows.at == plot.rows.peak.index:
        plot.svg.text(LEFT, plot.bottom + 32, words.get("axis"), 11, dim=True)
        return
    name = words.cursor(plot.rows)
    half = extents.width(name, 12, True) / 2
    x = max(min(plot.middle(plot.rows.at), plot.right - half), LEFT + half)
    plot.svg.text(x, plot.bottom + 32, name, 12, "middle", bold=True)


def _note(plot: Plot) -> None:
    """That the axis stays during a drag, or that it has changed."""
    note = words.axis_note(plot.rows)
    runs, y = [(note, plot.rows.state.dragging)], plot.layout.above
    if note and plot.board.first([text_box(LEFT, y, runs, 11)]):
        plot.svg.text(LEFT, y, runs, 11)


def _budgets(plot: Plot) -> None:
    """Dotted lines for the budgets on this axis, each with its name where there is room."""
    budgets = [found.budget for found in plot.rows.verdicts]
    for budget in (found for found in budgets if found.nbytes <= plot.frame.end):
        y, name = plot.frame.y(budget.nbytes), words.budget_line(budget)
        dotted = {"stroke": "currentColor", "stroke_width": 1.8, "stroke_dasharray": "2 3"}
        plot.svg.line(LEFT, y, plot.right, y, **dotted)
        plot.board.take(Box(LEFT, y - 1, plot.right, y + 1))
        places = sorted(_beside(plot, y, extents.width(name, 11)), key=plot.crossed)
        if box := plot.board.first(places, 1):
            plot.svg.text(box.left, box.top + 8.5, name, 11, chip=True)


def _beside(plot: Plot, y: float, wide: float) -> Iterator[Box]:
    """Places above and below a level, at its ends and in its middle."""
    inner = plot.right - LEFT - wide
    for down in (-5.0, 13.0):
        for left in (plot.right - 4 - wide, LEFT + 5, *(LEFT + inner * k / 6 for k in range(1, 6))):
            box = Box(left, y + down - 8.5, left + wide, y + down + 2.5)
            if plot.top < box.top and box.bottom < plot.bottom:
                yield box


def _above(plot: Plot) -> None:
    """The budgets that this axis does not reach, in words."""
    budgets = [found.budget for found in plot.rows.verdicts]
    names = ", ".join(words.budget_line(b) for b in budgets if b.nbytes > plot.frame.end)
    if not names:
        return
    name = words.get("budget.above", names=names)
    wide, pole = extents.width(name, 11), plot.middle(plot.rows.peak.index)
    lefts = (plot.right - wide, pole + 10, pole - 10 - wide, LEFT)
    places = [Box(x, plot.layout.above - 8, x + wide, plot.layout.above + 2) for x in lefts]
    inside = [box for box in places if box.left >= LEFT and box.right <= plot.right]
    if box := plot.board.first(inside):
        plot.svg.text(box.left, plot.layout.above, name, 11, dim=True)


def _guess(plot: Plot) -> None:
    """The guess of the learner: a hollow triangle at the axis, which stays."""
    guess, svg = plot.rows.state.guess, plot.svg
    if guess is None:
        return
    y = max(plot.frame.y(guess), plot.top)
    arrow = f"M{LEFT - 10} {y - 5.5:.1f}V{y + 5.5:.1f}L{LEFT} {y:.1f}Z"
    svg.path(arrow, class_="hollow rule", stroke_width=1.5)
    ticks = plot.rows.scales.plot.ticks
    numbers = Board([text_box(LEFT - TICK, plot.frame.y(n) + 4, t, 11, "end") for n, t in ticks])
    name, x = words.get("guess"), LEFT - 13
    for down in (4, 16, -8, 21, -13, 26):
        box = text_box(x, y + down, name, 11.5, "end")
        if box.top > plot.top - 22 and numbers.free(box, 1):
            svg.text(x, y + down, name, 11, "end", bold=True)
            return


def _life(plot: Plot) -> None:
    """How long the block that the keyboard is on is alive: a beam over the plot."""
    block = plot.rows.chosen_block
    if block is None:
        return
    left = plot.frame.x(max(block.first - 1, 0))
    right = plot.frame.x(block.last or plot.frame.operations)
    y = plot.top - 3.5
    plot.svg.line(left, y, right, y, stroke=block.paint.colour, stroke_width=4)
    for x in (left, right):
        plot.svg.line(x, y - 4, x, y + 4, class_="pole")
