"""The names on the map: letters of the toy, tensors of a network, two where one took a place."""

from __future__ import annotations

from itertools import pairwise

from memlab.views import extents
from memlab.views.addresses import chart as charts
from memlab.views.addresses import scale, telling
from memlab.views.addresses.chart import Chart
from memlab.views.addresses.packed import Row
from memlab.views.svg import Box, text_box

LETTER, NAME = 16, 11
"""The size of the toy's letters, and of the names in a network."""


def draw(chart: Chart, row: Row) -> None:
    """The name of a block, with its bytes and its turn in the toy."""
    box = chart.box(row)
    if row.name in chart.faulty:
        _beside(chart, row, box)
    elif chart.packed.source.toy:
        _letter(chart, row, box)
    elif row.tenants:
        _tenants(chart, row, box)
    else:
        _written(chart, row.kind, row.name, box)


def _letter(chart: Chart, row: Row, box: Box) -> None:
    """The letter, the bytes and the turn, as far as there is room."""
    svg, wide, tall = chart.svg, box.right - box.left, box.bottom - box.top
    x, y = (box.left + box.right) / 2, (box.top + box.bottom) / 2
    nbytes, turn = scale.amount(row.size), telling.ordinal(row.turn)
    chip = row.kind == "short" or _cut(chart, row)
    if wide < 60:
        if tall >= 50 and extents.width(turn, 11) < wide - 4:
            svg.text(x, y - 12, turn, 11, "middle", dim=True, chip=chip)
        svg.text(x, y + (6 if tall >= 50 else 5), row.name, LETTER, "middle", bold=True, chip=chip)
        if tall >= 50 and extents.width(nbytes, 11) < wide - 4:
            svg.text(x, y + 20, nbytes, 11, "middle", chip=chip)
        return
    svg.text(box.right - 5, box.top + (13 if tall > 25 else 13.5), turn, 11, "end", dim=True,
             chip=chip)  # fmt: skip
    if tall >= 36:
        svg.text(x, y + 1, row.name, LETTER, "middle", bold=True, chip=chip)
        svg.text(x, y + 16, nbytes, 11, "middle", chip=chip)
        return
    left = x - (extents.width(row.name, LETTER, True) + 5 + extents.width(nbytes, 11)) / 2
    end = svg.text(left, y + 5.5, row.name, LETTER, bold=True, chip=chip).right
    svg.text(end + 5, y + 4.5, nbytes, 11, chip=chip)


def _cut(chart: Chart, row: Row) -> bool:
    """Whether the line of the cursor runs through a block."""
    cursor = chart.rows.state.cursor
    return cursor is not None and row.block.birth <= cursor <= row.block.death


def _beside(chart: Chart, row: Row, box: Box) -> None:
    """The name of a block that overlaps another, where no other name is."""
    size = LETTER if chart.packed.source.toy else NAME
    wide, middle = extents.width(row.name, size, True), (box.top + box.bottom) / 2 + 0.36 * size
    room = box.right - box.left - wide - 16
    lefts = [box.left + 8 + room * part / 4 for part in (0, 4, 2, 1, 3)]
    lefts = lefts if room > 0 else [box.right + 6, box.left - 6 - wide]
    heights = (middle, box.top + size + 1, box.bottom - 4)
    places = [text_box(left, y, [(row.name, True)], size) for y in heights for left in lefts]
    if found := chart.taken.first(places, 3):
        y = found.top + 0.75 * size
        chart.svg.text(found.left, y, row.name, size, bold=True, chip=True)


def _tenants(chart: Chart, row: Row, box: Box) -> None:
    """Every name where its tensor is: in place, two lie in one rectangle. Where one has no room
    there, all stand in a row."""
    edges = [*(tenant.first for tenant in row.tenants), row.block.death + 1]
    spans = [(chart.frame.x(a), chart.frame.x(b)) for a, b in pairwise(edges)]
    parts = [box._replace(left=left, right=right) for left, right in spans]
    names = [tenant.name for tenant in row.tenants]
    together = " → ".join(names)
    if all(map(_fits, names, parts)) or not _fits(together, box):
        for name, part in zip(names, parts, strict=True):
            _written(chart, row.kind, name, part)
    else:
        _written(chart, row.kind, together, box)


def _fits(name: str, box: Box) -> bool:
    """Whether a rectangle is large enough for a name."""
    room = box.right - box.left - 2 * charts.BAR - 4
    return box.bottom - box.top >= 13 and extents.width(name, NAME) <= room


def _written(chart: Chart, kind: str, name: str, box: Box) -> None:
    """A name in the middle of a place that is large enough."""
    if not _fits(name, box):
        return
    x, y = (box.left + box.right) / 2, (box.top + box.bottom) / 2 + 4
    if chart.taken.first([text_box(x, y, name, NAME, "middle")], 1):
        chart.svg.text(x, y, name, NAME, "middle", chip=bool(charts.paint(kind).pattern))


def notches(chart: Chart) -> None:
    """A notch in the upper edge where one tensor ends and the next takes its place."""
    cuts, lines = [], []
    for row in chart.shown:
        box = chart.box(row)
        size = min(6.0, (box.bottom - box.top) / 2)
        for tenant in row.tenants[1:]:
            x = chart.frame.x(tenant.first)
            cuts.append(f"M{x - size:.1f} {box.top:.1f}L{x:.1f} {box.top + size:.1f}"
                        f"L{x + size:.1f} {box.top:.1f}")  # fmt: skip
            if box.bottom - box.top > 12:
                lines.append(f"{cuts[-1]}M{x:.1f} {box.top + size:.1f}V{box.bottom:.1f}")
    if cuts:
        chart.svg.path("".join(cuts), class_="page")
    if lines:
        chart.svg.path("".join(lines), class_="rule", stroke_width=0.9, stroke_dasharray="2 2")
