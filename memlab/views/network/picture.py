"""The whole picture of the network-memory view, from its rows."""

from __future__ import annotations

from zlib import crc32

from memlab.views import extents
from memlab.views.network import counted, labels, largest, marks, plot, slices, table, words
from memlab.views.network.layout import LINE, Layout, layout
from memlab.views.network.plot import Plot
from memlab.views.network.rows import Rows
from memlab.views.svg import Svg


def draw(rows: Rows, place_in_page: str = "") -> Svg:
    """The picture with its parts in place: the table beside the plot, or below it.

    Ids come from the state, so that a stored picture is the same each time; ``place_in_page``
    tells two live ones of the same state apart.
    """
    place = layout(rows.state.width, bool(rows.state.rule))
    key = f"m{crc32(f'{place_in_page}{rows.state!r}'.encode()):08x}"
    svg = Svg(place.width, place.height, key)
    _head(svg, rows, place.edge)
    _sentences(svg, rows, place)
    picture = plot.draw(svg, rows, place)
    marks.draw(picture)
    if rows.state.rule:
        counted.outline(picture)
    labels.draw(picture)
    _pick(picture)
    baselines = table.draw(picture)
    if place.bar:
        table.leaders(picture, table.bar(picture), baselines)
    if rows.state.rule:
        counted.draw(picture)
    else:
        slices.draw(picture)
    if not (rows.state.rule and place.bar):
        largest.draw(picture)
    return svg


def _head(svg: Svg, rows: Rows, edge: int) -> None:
    """The equation, and what is shown."""
    total, binary, right = words.equation(rows)
    end = svg.text(0, 20, total, 20, bold=True).right
    wide = extents.width(right, 16) + extents.width(f"({binary})", 16) + 18
    if binary and end + wide <= edge:
        end = svg.text(end + 9, 20, f"({binary})", 16, dim=True).right
    end = svg.text(end + 9, 20, right, 16).right
    title = words.title(rows.state)
    if extents.width(title, 11) < edge - end - 16:
        svg.text(edge, 20, title, 11, "end", dim=True)


def _sentences(svg: Svg, rows: Rows, place: Layout) -> None:
    """The news, then on a line of their own the verdicts; what is refused is bold."""
    news = extents.flow([(words.news(rows), False)], place.edge, 13)
    verdicts = [words.verdict(found, rows) for found in rows.verdicts]
    lines = news + extents.flow([(text, bold) for text, bold in verdicts], place.edge, 13)
    for index, line in enumerate(lines[: place.sentences]):
        svg.text(0, place.head + LINE * index, line, 13)


def _pick(picture: Plot) -> None:
    """Where a pointer chooses an operation."""
    box = picture.frame.box._replace(bottom=picture.bottom + 20)
    steps = picture.frame.operations
    picture.svg.rect(box, fill="transparent", data_send="operation", data_steps=steps)
