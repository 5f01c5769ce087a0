"""Time per sample against the batch, one line for each way."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log2
from zlib import crc32

from memlab.bench.batch import Curve, Sweep
from memlab.bench.recorded import Recorded
from memlab.views import extents
from memlab.views.batch import words
from memlab.views.speed import marks
from memlab.views.speed.plot import Doublings
from memlab.views.svg import Box, Svg

WIDTH, TALL, LINE = 820, 270, 16
NAMES, LEFT, RIGHT = 196, 236, 756
"""Right end of the names; ends of the frame."""
INSET, PITCH = 14, 34
"""Between the frame and its first point, and from name to name."""
APART = 6
"""Between the labels of an axis."""


@dataclass(frozen=True)
class Field:
    """A rectangle of pixels: batches to the right, ratios upwards."""

    box: Box
    batches: tuple[int, ...]
    ratios: Doublings

    def x(self, batch: float) -> float:
        """Where a batch stands."""
        first, last = log2(self.batches[0]), log2(self.batches[-1])
        room = self.box.right - self.box.left - 2 * INSET
        return self.box.left + INSET + room * (log2(batch) - first) / (last - first)

    def y(self, ratio: float) -> float:
        """How high a ratio stands."""
        return self.box.bottom - (self.box.bottom - self.box.top) * self.ratios.place(ratio)


def draw(found: Sweep, gpu: Recorded | None) -> Svg:
    """The picture; its height follows the sentences."""
    readings = [extents.wrap(line, WIDTH - 18, 12) for line in words.readings(found)]
    notes = [piece for line in words.notes(found, gpu) for piece in extents.wrap(line, WIDTH, 11)]
    top = 84 + sum(LINE * len(lines) + 4 for lines in readings)
    box = Box(LEFT, top, RIGHT, top + max(TALL, PITCH * len(found.curves)))
    svg = Svg(WIDTH, box.bottom + 56 + LINE * len(notes), f"b{crc32(repr(found).encode()):08x}")
    svg.text(0, 12, extents.shortened(words.title(found), WIDTH, 12), 12, dim=True)
    _head(svg, readings)
    field = _field(found, box)
    _grid(svg, field)
    if any(curve.name == "samples" for curve in found.curves):
        _lanes(svg, field, found.lanes)
    for index, curve in enumerate(found.curves):
        _curve(svg, field, index, curve)
    _names(svg, field, found)
    for index, line in enumerate(notes):
        svg.text(0, box.bottom + 54 + LINE * index, line, 11, dim=True)
    return svg


def _head(svg: Svg, readings: list[list[str]]) -> None:
    """Every sentence behind the mark of its way."""
    base = 34
    for index, lines in enumerate(readings):
        marks.draw(svg, index, marks.SIZE, base - 4)
        for line in lines:
            svg.text(18, base, line, 12)
            base += LINE
        base += 4


def _field(found: Sweep, box: Box) -> Field:
    batches = sorted({batch for curve in found.curves for batch in curve.batches})
    most = max(curve.at(b) / curve.least for curve in found.curves for b in curve.batches)
    return Field(box, tuple(batches), Doublings(0, max(1, ceil(log2(most)))))


def _grid(svg: Svg, field: Field) -> None:
    box = field.box
    right = svg.text(0, box.top - 30, words.say("time"), 12, bold=True).right
    svg.text(right + 10, box.top - 30, words.say("ratios"), 11, dim=True)
    for place, label in field.ratios.ticks:
        y = box.bottom - (box.bottom - box.top) * place
        svg.line(box.left, y, box.right, y, class_="grid")
        svg.text(box.right + 8, y + 4, f"{label} ×", 11)
    end = 0.0
    for batch in field.batches:
        x, label = field.x(batch), f"{batch:,}"
        svg.line(x, box.top, x, box.bottom, class_="grid")
        if x - extents.width(label, 11) / 2 >= end + APART:
            end = svg.text(x, box.bottom + 15, label, 11, "middle").right
    svg.line(box.left, box.bottom, box.right, box.bottom, class_="rule", opacity=0.5)
    svg.text(box.left, box.bottom + 32, words.say("batch"), 12, bold=True)


def _lanes(svg: Svg, field: Field, lanes: int) -> None:
    """The batch that fills a vector of this processor."""
    if field.batches[0] <= lanes <= field.batches[-1]:
        x = field.x(lanes)
        svg.line(x, field.box.top - 4, x, field.box.bottom, class_="before")
        label = words.say("full", lanes=lanes)
        half = extents.width(label, 11) / 2
        svg.text(min(x, WIDTH - half), field.box.top - 10, label, 11, "middle")


def _curve(svg: Svg, field: Field, index: int, curve: Curve) -> None:
    points = [(field.x(b), field.y(curve.at(b) / curve.least)) for b in curve.batches]
    colour = marks.LOOKS[index % len(marks.LOOKS)][1]
    d = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    svg.path(f"M{d}", stroke=colour, stroke_width=1.8, fill="none")
    for x, y in points:
        marks.draw(svg, index, x, y)


def _names(svg: Svg, field: Field, found: Sweep) -> None:
    """Name and ends of every way, as near to its first point as the others let it be."""
    starts = {
        index: field.y(curve.at(curve.batches[0]) / curve.least)
        for index, curve in enumerate(found.curves)
    }
    order = sorted(starts, key=starts.__getitem__)
    tops = spread([starts[index] for index in order], field.box.top, field.box.bottom)
    for index, y in zip(order, tops, strict=True):
        curve = found.curves[index]
        x = field.x(curve.batches[0])
        svg.line(NAMES + 6, y, x - 8, starts[index], class_="rule thin faint")
        marks.draw(svg, index, NAMES - 2, y)
        svg.text(NAMES - 12, y - 2, words.name(curve), 12, "end", bold=True)
        svg.text(NAMES - 12, y + 12, words.ends(curve), 11, "end")


def spread(wanted: list[float], top: float, bottom: float) -> list[float]:
    """Heights near to those wanted, which ascend, at least ``PITCH`` apart and within the frame
    where there is room."""
    found: list[float] = []
    for y in wanted:
        found.append(max([y, top, *(each + PITCH for each in found[-1:])]))
    low = bottom
    for index in reversed(range(len(found))):
        found[index] = min(found[index], low)
        low = found[index] - PITCH
    return found
