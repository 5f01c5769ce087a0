"""The parts that are words: the head, the block in focus, how it was packed, the key."""

from __future__ import annotations

from memlab.views import extents
from memlab.views.addresses import about, again, telling, words
from memlab.views.addresses import chart as charts
from memlab.views.addresses.chart import Chart
from memlab.views.addresses.layout import LINE, PANEL, STORY, Layout
from memlab.views.addresses.rows import Rows
from memlab.views.svg import Box, Svg, box_path


def head(svg: Svg, rows: Rows, place: Layout) -> None:
    """The equation, what is shown, and the sentences; what is wrong is bold."""
    runs = words.headline(rows)
    end = svg.text(0, 20, runs, 20).right
    title = words.title(rows.state)
    if extents.width(title, 11) < place.edge - end - 16:
        svg.text(place.edge, 20, title, 11, "end", dim=True)
    lines = extents.flow(words.sentences(rows), place.edge, 13)
    for index, line in enumerate(lines[: place.sentences]):
        svg.text(0, 43 + LINE * index, line, 13)


def focus(chart: Chart) -> None:
    """The block in focus: what it is, its formula, its life, its addresses, who shares them."""
    svg, row, (left, y) = chart.svg, chart.rows.chosen, chart.layout.panel
    if row is None:
        return
    room = chart.layout.edge - left - 46
    name = extents.fitted(row.name, room - 20, 13)
    end = svg.text(left, y, name, 13, bold=True).right
    swatch = Box(end + 10, y - 10.5, end + 34, y + 2.5)
    charts.fill(svg, [(row.kind, swatch)])
    svg.rect(swatch, class_="rule", stroke_width=1.4)
    lines = [
        part for text in about.block(chart.rows, row) for part in extents.wrap(text, room + 40, 12)
    ]
    for index, line in enumerate(lines[: PANEL - 1]):
        svg.text(left, y + LINE * (index + 1), line, 12)


def packing(chart: Chart) -> None:
    """How it was packed: the places in the placer's order, and what the last one met."""
    svg, y = chart.svg, chart.layout.story
    svg.text(chart.left, y, words.say("packing"), 13, bold=True)
    room = chart.right - chart.left + 6
    told = telling.story(chart.rows, chart.index)
    lines = [part for text in told for part in extents.wrap(text, room, 12)]
    for index, line in enumerate(lines[:STORY]):
        svg.text(chart.left, y + LINE * (index + 1), line, 12)


def key(chart: Chart, packed_kinds: list[str], small: int) -> None:
    """What the fillings mean."""
    svg, y, x = chart.svg, chart.layout.key, 4.0
    marks = [*(["small"] if small else []), *(["cheap"] if chart.packed.cheap else []), "free"]
    for kind in (*packed_kinds, *marks):
        text = words.key(kind, chart.packed, small)
        wide = 32 if kind == "cheap" else 26
        if x + wide + extents.width(text, 11) > chart.layout.edge:
            x, y = 4.0, y + LINE
        box = Box(x, y - 9.5, x + 20, y + 1.5)
        if kind == "free":
            svg.path(box_path(box), fill=chart.hatch)
            svg.rect(box, class_="rule faint", stroke_width=0.8)
        elif kind == "cheap":
            again.arrow(svg, x + 5, y - 4, again.LARGEST)
            again.dots(svg, x + 16, y - 4)
        else:
            charts.fill(svg, [(kind, box)])
        x = svg.text(x + wide, y, text, 11).right + 20
