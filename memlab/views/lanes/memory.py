"""Values read per second against the bytes of a value."""

from __future__ import annotations

from zlib import crc32

import numpy as np

from memlab import units
from memlab.bench.reading import Rate, Reading
from memlab.views import extents
from memlab.views.lanes.plane import LINE, WIDTH, Plane, doublings, paragraph, wrapped
from memlab.views.lanes.words import billions, say
from memlab.views.network.twin import columns
from memlab.views.place import Board
from memlab.views.speed import marks
from memlab.views.speed.words import ratio
from memlab.views.svg import Box, Svg, text_box

LEFT, RIGHT, TALL = 48, 610, 230
DOT = 9


def draw(found: Reading) -> Svg:
    """The picture."""
    bold, *rest = wrapped(headline(found), 13)
    foot = wrapped(notes(found))
    top = 84 + LINE * len(rest)
    svg = Svg(WIDTH, top + TALL + 54 + LINE * len(foot), f"m{crc32(repr(found).encode()):08x}")
    svg.text(0, 12, extents.shortened(title(found), WIDTH, 12), 12, dim=True)
    svg.text(0, 33, bold, 13, bold=True)
    paragraph(svg, 51, rest, 13, dim=False)
    rates = [scale * each.values / 1e9 for each in found.rates for scale in (0.8, 1.25)]
    box = Box(LEFT, top, RIGHT, top + TALL)
    plane = Plane(box, doublings(each.bits / 8 for each in found.rates), doublings(rates))
    svg.text(0, top - 14, say("memory.rate"), 12, bold=True)
    plane.frame(svg, say("memory.bytes"), say("doublings"))
    _points(svg, plane, found, _linear(svg, plane, found))
    paragraph(svg, top + TALL + 56, foot)
    return svg


def text(found: Reading) -> str:
    """The twin of the picture: print it, read it aloud."""
    heads = ["format", "bytes", "values", "bandwidth"]
    cells = [[say(f"memory.{head}") for head in heads]]
    for each in found.rates:
        figures = [billions(each.values), billions(each.bandwidth)]
        cells.append([each.format, str(each.bits // 8), *figures])
    parts = [f"{title(found)}.", *headline(found)], columns(cells), notes(found)
    return "\n\n".join("\n".join(part) for part in parts)


def title(found: Reading) -> str:
    """What was read, and by what."""
    return say("memory.title", size=units.short(found.nbytes), processor=found.machine.processor)


def headline(found: Reading) -> list[str]:
    """The bytes per second of all formats, and the values per second of the narrowest."""
    speeds = [each.bandwidth for each in found.rates]
    narrow, wide = _ends(found)
    if len(speeds) == 1:
        return [say("memory.one", format=wide.format, rate=billions(speeds[0]))]
    first = say("memory.head", least=billions(min(speeds)), most=billions(max(speeds)))
    values = {"format": narrow.format, "first": wide.format}
    more = ratio(narrow.values / wide.values)
    less = f"{narrow.bits / wide.bits:g}"
    return [first, say("memory.against", **values, less=less, more=more)]


def notes(found: Reading) -> list[str]:
    """How large the array is beside the caches, how the times were taken, and where."""
    size = units.short(found.nbytes)
    known = {"times": ratio(found.nbytes / max(1, found.largest)), "size": size}
    key = "memory.caches" if found.largest else "memory.unknown"
    count = len(found.rates[0].samples)
    return [
        say(key, **known, cache=units.short(found.largest)),
        say("memory.samples", count=count, clock=say(found.clock)),
        say("where", machine=found.machine),
    ]


def _ends(found: Reading) -> tuple[Rate, Rate]:
    """The narrowest and the widest format."""
    by_bits = sorted(found.rates, key=lambda each: each.bits)
    return by_bits[0], by_bits[-1]


def _linear(svg: Svg, plane: Plane, found: Reading) -> Board:
    """Through the widest format: half the bytes, twice the values. What is taken by the line."""
    narrow, wide = _ends(found)
    taken, rate = Board(), wide.bandwidth / 1e9
    if narrow.bits == wide.bits:
        return taken
    ends = np.array([(plane.x(n), plane.y(rate / n)) for n in (narrow.bits / 8, wide.bits / 8)])
    svg.line(*ends.reshape(-1).tolist(), class_="before")
    for x, y in np.linspace(ends[0], ends[1], 99).tolist():
        taken.take(Box(x - 1, y - 1, x + 1, y + 1))
    x, y = ends.mean(axis=0).tolist()
    taken.take(svg.text(x - 24, y + 16, say("memory.linear"), 11, "end", chip=True))
    return taken


def _points(svg: Svg, plane: Plane, found: Reading, taken: Board) -> None:
    for index, each in enumerate(found.rates):
        x, y = plane.x(each.bits / 8), plane.y(each.values / 1e9)
        marks.draw(svg, index, x, y)
        label = say(
            "memory.point",
            format=each.format,
            values=billions(each.values),
            rate=billions(each.bandwidth),
        )
        heights = [y + drop for drop in range(-8, -120, -8)]
        boxes = {text_box(x + DOT, height, label, 12): height for height in heights}
        free = taken.first(boxes, 4)
        svg.text(x + DOT, boxes[free] if free else heights[0], label, 12, chip=True)
