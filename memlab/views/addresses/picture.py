"""The whole picture of an address map, from its rows."""

from __future__ import annotations

from zlib import crc32

from memlab.views.addresses import cut, map, marks, strip, texts
from memlab.views.addresses.chart import Chart
from memlab.views.addresses.layout import layout
from memlab.views.addresses.rows import Rows
from memlab.views.addresses.window import window
from memlab.views.paths import Frame
from memlab.views.svg import Svg

_FREE = (
    '<pattern id="{key}-free" width="7" height="7" patternUnits="userSpaceOnUse" '
    'patternTransform="rotate(45)"><path d="M3.5 0V7" stroke="currentColor" stroke-opacity=".2" '
    'stroke-width="1"/></pattern>'
)
_STYLE = (
    "@media(prefers-reduced-motion:no-preference){"
    ".memlab-svg .slides{animation:memlab-slide .2s ease-in-out backwards}"
    ".memlab-svg .glides{animation:memlab-slide .8s ease-in-out backwards}}"
    "@keyframes memlab-slide{from{transform:translateY(var(--from))}}"
)


def draw(rows: Rows, place_in_page: str = "") -> Svg:
    """One map with the cut beside it or below it, or two maps side by side.

    Ids come from the state, so that a stored picture is the same each time; ``place_in_page``
    tells two live ones of the same state apart.
    """
    state = rows.state
    place = layout(state.width, rows.source.toy, len(rows.maps) > 1)
    named = (state.network, state.how, state.beside, state.batch, state.in_place, state.cursor,
             state.chosen, state.packed, state.guess, state.stage, state.budgets, state.axis,
             state.width,
             rows.packed.placement.addresses)  # fmt: skip
    svg = Svg(place.width, place.height, f"a{crc32(f'{place_in_page}{named!r}'.encode()):08x}")
    svg.add("defs", _FREE.format(key=svg.key))
    svg.add("style", _STYLE)
    texts.head(svg, rows, place)
    charts = []
    for index, packed in enumerate(rows.maps):
        operations, end = rows.source.operations, max(rows.scale.end, packed.arena)
        frame = window(place.frame(index), operations, rows.scale)
        above = Frame(place.above(index), operations, end)
        charts.append(Chart(svg, rows, packed, place, frame, above, index))
    for chart in charts:
        strip.draw(chart)
        map.draw(chart)
        marks.draw(chart)
        texts.packing(chart)
    kinds = list(dict.fromkeys(row.kind for row in rows.packed.drawn))
    texts.key(charts[0], kinds, len(rows.packed.small))
    if len(charts) == 1:
        texts.focus(charts[0])
        cut.draw(charts[0])
    for chart in charts:
        marks.targets(chart)
    return svg
