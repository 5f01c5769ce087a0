"""The map itself: operations from left to right, addresses upwards, every tensor a rectangle."""

from __future__ import annotations

from memlab.planner.placement import BY_HAND, Placement
from memlab.views import axis, extents
from memlab.views.addresses import again, names, scale, words
from memlab.views.addresses import chart as charts
from memlab.views.addresses.chart import Chart, path
from memlab.views.addresses.packed import Overlap, Row
from memlab.views.place import Board
from memlab.views.svg import Box, text_box

TITLE = 48
"""How far left of the map the title of its axis begins."""


def draw(chart: Chart) -> None:
    """From the free space up to the names."""
    _levels(chart)
    _free(chart)
    _bound(chart)
    _blocks(chart)
    _refused(chart)
    _cursor(chart)
    for fault in chart.packed.overlaps:
        _crossed(chart, fault)
    again.draw(chart)
    for row in chart.shown if _slides(chart) is None else ():
        names.draw(chart, row)
    names.notches(chart)
    _numbers(chart)


def _levels(chart: Chart) -> None:
    """Addresses, each with its number; the top of the arena has its own."""
    svg, frame, found = chart.svg, chart.frame, chart.rows.scale
    title = words.say("axis_y", unit=found.unit)
    svg.text(chart.left - 8 - TITLE, frame.box.top - 16, title, 11, dim=True)
    top = frame.y(chart.top)
    for nbytes, name in found.ticks:
        y = frame.y(nbytes)
        svg.line(chart.left, y, chart.right, y, class_="grid")
        if abs(y - top) > 11 or nbytes == chart.top:
            svg.text(chart.left - 12, y + 4, name, 11, "end")


def _free(chart: Chart) -> None:
    """What the arena holds where no block is."""
    top = chart.frame.y(chart.top)
    chart.svg.rect(Box(chart.left, top, chart.right, chart.frame.box.bottom), fill=chart.hatch)
    base = chart.frame.box.bottom
    chart.svg.line(chart.left, base, chart.right, base, class_="rule", opacity=0.6)


def _bound(chart: Chart) -> None:
    """The lower bound: no arena can be smaller."""
    if chart.packed.bound == chart.top or not chart.frame.holds(chart.packed.bound):
        return
    y = chart.frame.y(chart.packed.bound)
    chart.svg.line(chart.left - 4, y, chart.right + 6, y, class_="rule", stroke_width=1.8,
                   stroke_dasharray="7 4")  # fmt: skip


def _blocks(chart: Chart) -> None:
    """The small ones as one grey shape, each where it is; the others by kind."""
    small = [row for row in chart.packed.small if row.turn <= chart.rows.turn]
    kinds = [("small", chart.box(row)) for row in small]
    slides = _slides(chart)
    if slides is None:
        rows = [(row.kind, chart.box(row)) for row in chart.shown]
        charts.fill(chart.svg, kinds + rows, edge=_edge(chart))
        return
    for row in chart.shown:
        away = chart.frame.y(slides.address(row.name)) - chart.frame.y(row.address)
        style = f"--from:{away:.1f}px;animation-delay:{(row.turn - 1) * 0.2:.1f}s"
        with chart.svg.group(class_="slides" if away else None, style=style if away else None):
            charts.fill(chart.svg, [(row.kind, chart.box(row))])
            names.draw(chart, row)


def _edge(chart: Chart) -> float:
    """Thin lines around the blocks, thinner where an axis was kept that makes them low."""
    return 0.8 if chart.top * 2 > chart.rows.scale.end else 0.25


def _slides(chart: Chart) -> Placement | None:
    """The addresses that the toy's blocks come from; a map with a fault is drawn at rest."""
    still = chart.index or chart.packed.overlaps or not chart.packed.source.toy
    return None if still else chart.rows.state.slid


def _refused(chart: Chart) -> None:
    """The free places that were too small for the block that had to go on top."""
    told = chart.rows.told if not chart.index else None
    if told is None or not chart.packed.source.toy or chart.packed.placement.how == BY_HAND:
        return
    block = told.row.block
    for low, high in told.refused:
        box = chart.span(block.birth, block.death, low, high)
        chart.svg.path(path([box]), class_="page")
        chart.svg.path(path([box]), class_="rule", stroke_width=1.5, stroke_dasharray="3 3")
        _reason(chart, told.row, high - low, box)


def _reason(chart: Chart, row: Row, nbytes: int, box: Box) -> None:
    """How much is free there, and how much was needed: in two lines, or in one."""
    free = words.say("hole", amount=scale.amount(nbytes))
    needs = words.say("hole_needs", name=row.name, amount=scale.amount(row.size))
    x, y = (box.left + box.right) / 2, (box.top + box.bottom) / 2
    low = box.bottom - box.top < 34
    lines = [f"{free}, {needs}"] if low else [free, needs]
    if max(extents.width(text, 11) for text in lines) < box.right - box.left - 6:
        for index, text in enumerate(lines):
            chart.svg.text(
                x, y + 4 + (15 * index - 6) * (not low), text, 11, "middle", dim=index > 0
            )


def _crossed(chart: Chart, fault: Overlap) -> None:
    """Crossed lines where two blocks share bytes while both are alive."""
    box = chart.taken.take(chart.span(fault.operation, fault.until, *fault.addresses))
    left, top, right, bottom = box
    chart.svg.path(path([box]), class_="page", fill_opacity=0.7)
    falling = f"M{left:.1f} {top:.1f}L{right:.1f} {bottom:.1f}"
    rising = f"M{left:.1f} {bottom:.1f}L{right:.1f} {top:.1f}"
    cross = falling + rising
    chart.svg.path(cross + path([box]), class_="rule", stroke_width=2.2)


def _numbers(chart: Chart) -> None:
    """The numbers of operations; the toy has them all."""
    count, y, taken = chart.frame.operations, chart.frame.box.bottom, Board()
    numbers = list(range(1, count + 1)) if count <= 12 else axis.counts(count)
    for number in (numbers[-1], *numbers[:-1]):
        x, name = chart.middle(number - 1), f"{number:,}"
        if taken.first([text_box(x, y + 16, name, 11, "middle")], 4):
            chart.svg.text(x, y + 16, name, 11, "middle")
            chart.svg.line(x, y, x, y + 4, class_="rule", opacity=0.5)
    chart.svg.text(chart.left, y + 32, words.say("axis_x"), 11, dim=True)


def _cursor(chart: Chart) -> None:
    """The operation that is cut, below the names."""
    rows = chart.rows
    if rows.state.cursor is None:
        return
    x, top = chart.middle(rows.at), chart.frame.box.top
    chart.svg.line(x, top - 8, x, chart.frame.box.bottom + 4, class_="pole")
    chart.svg.path(f"M{x - 5:.1f} {top - 14}h10l-5 7Z")
