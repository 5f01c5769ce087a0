"""The strip above a map: bytes alive over the operations, and how much of the arena they leave."""

from __future__ import annotations

import numpy as np

from memlab import strings
from memlab.views import extents
from memlab.views.addresses import scale, words
from memlab.views.addresses.chart import KEPT, Chart
from memlab.views.place import Board
from memlab.views.svg import Box, text_box

ROOM = 13
"""What a number needs between its bar and the top."""


def draw(chart: Chart) -> None:
    """Phases or the name of the placing, the bars, the top, the busiest operation."""
    if chart.packed.source.toy:
        _heading(chart)
    else:
        _bands(chart)
    _bars(chart)
    _busiest(chart)


def _heading(chart: Chart) -> None:
    """The name of the placing and what it gives."""
    how = chart.packed.placement.how
    y = chart.layout.bands
    end = chart.svg.text(chart.left, y, words.how(how), 13, bold=True).right
    done = chart.rows.turn >= len(chart.packed.rows)
    result = words.result(chart.packed) if done else words.so_far(chart.top)
    if extents.width(result, 12) <= chart.right - end - 10:
        chart.svg.text(end + 10, y, result, 12, dim=True)


def _bands(chart: Chart) -> None:
    """The parts of a step as brackets with their names."""
    svg, frame, y, taken = chart.svg, chart.frame, chart.layout.bands, Board()
    for phase, first, last in chart.packed.source.bands:
        left, right = frame.x(first) + 0.7, frame.x(last + 1) - 0.7
        svg.path(f"M{left:.1f} {y + 9}V{y + 5}H{right:.1f}V{y + 9}", class_="rule", opacity=0.7)
        name, at = strings.get(f"phase.{phase}"), (left + right) / 2
        if taken.first([text_box(at, y, name, 12, "middle")], 2):
            svg.text(at, y, name, 12, "middle")
        if first:
            svg.line(frame.x(first), chart.strip.box.top, frame.x(first), frame.box.bottom,
                     class_="grid")  # fmt: skip


def _bars(chart: Chart) -> None:
    """Live bytes; the rest up to the top of the arena is waste, shaded."""
    svg, strip, packed = chart.svg, chart.strip, chart.packed
    alive = np.array(packed.alive, np.float64)
    top = strip.y(packed.arena)
    svg.rect(Box(chart.left, top, chart.right, strip.box.bottom), fill=chart.hatch)
    area = strip.area(np.zeros_like(alive), alive)
    svg.path(area, class_="page")
    svg.fill(area, KEPT, edge=0.6)
    svg.line(chart.left, top, chart.right, top, class_="limit")
    svg.line(
        chart.left, strip.box.bottom, chart.right, strip.box.bottom, class_="rule", opacity=0.6
    )
    lines = words.say("alive_in", unit=chart.rows.scale.unit).split("|")
    for index, line in enumerate(reversed(lines)):
        svg.text(chart.left - 8, strip.box.bottom - 2 - 14 * index, line, 11, "end", dim=True)
    if packed.source.toy:
        _numbers(chart)


def _numbers(chart: Chart) -> None:
    """How much is alive in each operation, over its bar or in it."""
    strip, packed = chart.strip, chart.packed
    for index, nbytes in enumerate(packed.alive):
        y, top = strip.y(nbytes), strip.y(packed.arena)
        at = y + 12 if 0 <= y - top < ROOM else y - 3.5
        text = scale.plain(nbytes, chart.rows.scale.unit)
        if at < strip.box.bottom:
            chart.svg.text(
                chart.middle(index), at, text, 12, "middle", bold=index == packed.busiest
            )


def _busiest(chart: Chart) -> None:
    """A drop line from the busiest operation to the lower bound, with its name."""
    svg, packed = chart.svg, chart.packed
    x, low = chart.middle(packed.busiest), chart.strip.box.bottom
    end = chart.frame.y(max(packed.bound, 0))
    svg.line(x, low, x, end, class_="rule thin")
    if packed.source.toy:
        name = words.say("busiest", index=packed.busiest + 1)
        svg.text(x + 6, low + 16, name, 11)
        return
    runs = [(words.say("busiest", index=f"{packed.busiest + 1:,}"), True),
            (f" · {packed.source.operation(packed.busiest)}", False)]  # fmt: skip
    wide = sum(extents.width(text, 12, bold) for text, bold in runs)
    y = chart.layout.flag
    fits = x + 16 + wide <= chart.right
    svg.line(x, y - 9, x, low, class_="pole")
    side = 1 if fits else -1
    svg.path(f"M{x:.1f} {y - 9}h{11 * side}l{-3 * side} 4.5l{3 * side} 4.5h{-11 * side}Z")
    svg.text(x + 15 * side, y, runs, 12, "start" if fits else "end")
