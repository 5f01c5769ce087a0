"""The vertical cut at the cursor: what the machine sees at one moment, from address 0 up."""

from __future__ import annotations

from memlab.views import extents
from memlab.views.addresses import chart as charts
from memlab.views.addresses import scale, words
from memlab.views.addresses.chart import Chart
from memlab.views.addresses.layout import LINE, ROWS
from memlab.views.addresses.packed import Row
from memlab.views.addresses.rows import Run
from memlab.views.place import Board
from memlab.views.svg import Box, text_box

WIDE = 26
"""The width of the bar."""
COLUMNS = (116, 52, 0)
"""Where from, to and blocks end, from the right edge."""


def draw(chart: Chart) -> None:
    """The table, and beside the map the bar with lines to it."""
    left, top = chart.layout.cut
    svg, rows = chart.svg, chart.rows
    inside = left + WIDE + 26 if chart.layout.beside else left
    title = words.say("cut", index=f"{rows.at + 1:,}")
    head = svg.text(left, top, title, 12, bold=True)
    unit = rows.scale.unit
    names = words.say("cut_heads", unit=unit).split("|")
    y = head.bottom + 13
    for inset, name in zip(COLUMNS, names, strict=True):
        svg.text(chart.layout.edge - inset, y, name, 11, "end", dim=True)
    runs, others = listed(rows.cut)
    lines = _baselines(chart, runs, y)
    for run, line in zip(runs, lines, strict=True):
        _line(chart, run, inside, line)
    if others:
        low = max([*lines, y]) + LINE
        svg.text(inside, low, words.others(others), 11, dim=True)
    if chart.layout.beside:
        _bar(chart, left, runs, lines)


def listed(cut: tuple[Run, ...]) -> tuple[list[Run], list[Run]]:
    """The largest parts in order, as many as there is room for, and the others."""
    most = ROWS if len(cut) <= ROWS else ROWS - 1
    large = sorted(cut, key=lambda run: run.first - run.top)[:most]
    return [r for r in reversed(cut) if r in large], [r for r in cut if r not in large]


def cells(run: Run, unit: str) -> list[str]:
    """From where to where, and how many blocks; one decimal where the unit is no multiple."""
    digits = None if run.rows[0].entry is None else 1
    ends = [scale.plain(nbytes, unit, digits) for nbytes in (run.first, run.top)]
    return [*ends, f"{len(run.rows):,}"]


def _baselines(chart: Chart, runs: list[Run], head: float) -> list[float]:
    """Each line as near to its part of the bar as the others let it."""
    if not chart.layout.beside:
        return [head + LINE * (index + 1) for index in range(len(runs))]
    found: list[float] = []
    for run in runs:
        wanted = chart.frame.y((run.first + run.top) / 2) + 4
        found.append(max(wanted, (found[-1] if found else head) + LINE))
    low = chart.frame.box.bottom + 2
    for index in range(len(found) - 1, -1, -1):
        found[index] = min(found[index], low)
        low = found[index] - LINE
    return found


def _line(chart: Chart, run: Run, left: float, y: float) -> None:
    svg, edge, unit = chart.svg, chart.layout.edge, chart.rows.scale.unit
    room = edge - COLUMNS[0] - 46 - left
    svg.text(left, y, extents.shortened(words.run(run), room, 12), 12)
    for inset, cell in zip(COLUMNS, cells(run, unit), strict=True):
        svg.text(edge - inset, y, cell, 12, "end")


def _bar(chart: Chart, left: float, runs: list[Run], lines: list[float]) -> None:
    """The blocks at the cursor, one above the other, on the scale of the map."""
    svg, frame, packed = chart.svg, chart.frame, chart.packed
    right = left + WIDE
    top = frame.y(chart.top)
    svg.rect(Box(left, top, right, frame.box.bottom), fill=chart.hatch)
    drawn = {row.name for row in packed.drawn}
    alive = [row for row in packed.at(chart.rows.at) if row.turn <= chart.rows.turn]
    kinds = [
        (row.kind if row.name in drawn else "small",
         Box(left, frame.y(row.top), right, frame.y(row.address)))
        for row in alive
    ]  # fmt: skip
    charts.fill(svg, sorted(kinds, key=lambda found: found[0] != "small"), edge=0.6)
    if packed.source.toy:
        _letters(chart, alive, (left + right) / 2 + 2)
    svg.rect(Box(left, top, right, frame.box.bottom), class_="rule", stroke_width=1.4)
    if frame.holds(chart.top):
        svg.line(left - 4, top, right + 4, top, stroke="currentColor", stroke_width=3)
    svg.text((left + right) / 2, frame.box.bottom + 16, f"{chart.rows.at + 1:,}", 11, "middle")
    for run, y in zip(runs, lines, strict=True):
        _leader(chart, run, right, y - 4)


def _letters(chart: Chart, alive: list[Row], x: float) -> None:
    """The toy's letters; of two that overlap the one that comes first."""
    taken = Board()
    for row in alive:
        y = chart.frame.y((row.address + row.top) / 2) + 4.5
        if taken.first([text_box(x, y, [(row.name, True)], 12, "middle")], 1):
            chip = row.kind == "short"
            chart.svg.text(x, y, row.name, 12, "middle", bold=True, chip=chip)


def _leader(chart: Chart, run: Run, right: float, end: float) -> None:
    """A bracket over a part of the bar, and a line to its text."""
    high, low = chart.frame.y(run.top) + 0.5, chart.frame.y(run.first) - 0.5
    middle = (high + low) / 2
    d = f"M{right + 3} {high:.1f}h4V{low:.1f}h-4M{right + 7} {middle:.1f}L{right + 16} {end:.1f}h6"
    chart.svg.path(d, class_="rule faint", stroke_width=0.9)
