"""The picture of offload: two lanes of time, and both memories below them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import ceil
from typing import Any

import numpy as np

from memlab import strings
from memlab.clocks.streams import COMPUTE, Slot
from memlab.pictures.draw import text as texts
from memlab.pictures.draw.chart import Axis, Chart
from memlab.pictures.draw.labels import Label, Phase, Text, beyond
from memlab.pictures.draw.marks import (
    Fact,
    Glyph,
    Mark,
    OpenEdge,
    Path,
    Points,
    Rect,
    Rects,
    Rule,
)
from memlab.pictures.draw.page import Page
from memlab.pictures.draw.scale import Linear, Scale, Steady, seconds_over, steady
from memlab.pictures.draw.staircases import runs
from memlab.pictures.draw.table import Block, Key, Table, Words
from memlab.pictures.draw.text import emphasized
from memlab.pictures.draw.theme import IDLE, PAINTS, WAIT, Paint
from memlab.pictures.offload import focus
from memlab.pictures.offload.streams import Copy, Mountain, Offload, percent, role_name, say
from memlab.pictures.values.number_text import duration, three
from memlab.step.op import Phase as StepPhase
from memlab.step.tensor import Role

LEFT, RIGHT = 96, 12
LANE, LINK, APART = 30, 20, 3
"""Pixels: of the lane of compute, of that of the link, and between them."""
WORK = LINK + APART, LINK + APART + LANE
"""Where the lane of compute stands."""
TALL = 248
"""Of both memories together."""
NEAR = 1.5
"""A budget that is so many times above the peaks is out of the picture."""
NARROW = 15
"""Pixels: a copy that has its triangle."""
CONV, OTHER = Paint("currentColor", 0.34), Paint("currentColor", 0.20)
DOWN, UP = "M-4.5-3.5h9l-4.5 7Z", "M-4.5 3.5h9l-4.5-7Z"


@dataclass(frozen=True)
class Time:
    """An axis of seconds that holds so many nanoseconds, in a picture so many pixels wide."""

    room: int
    width: float

    @cached_property
    def x(self) -> Linear:
        """Its scale."""
        return steady(seconds_over([self.room / 1e9]))

    @property
    def pixel(self) -> float:
        """Seconds of a pixel."""
        return self.x.last / (self.width - LEFT - RIGHT)

    @property
    def axis(self) -> Axis:
        """Few ticks have a label: both ends, and the middle where there is one."""
        ticks = self.x.ticks
        middle = ticks[len(ticks) // 2 : len(ticks) // 2 + 1] if len(ticks) % 2 else []
        return Axis(grid=False, ticks=[ticks[0], *middle, ticks[-1]])


@dataclass(frozen=True)
class Shown:
    """What the picture is made from; ``room`` is what its axes hold: nanoseconds, bytes of the
    device, bytes of the host. ``place`` is what is in focus, ``pinned`` what stays outlined beside
    it."""

    found: Offload
    room: tuple[int, ...]
    place: str
    pinned: str
    width: float

    @cached_property
    def _looks(self) -> dict[str, str]:
        ranked = ((self.pinned, "rule"), (self.place, "limit"))
        return {focus.name_of(self.found, place): look for place, look in ranked if place}

    @property
    def sentences(self) -> list[str]:
        """What there is to say: of the focus and of what is pinned, or of all."""
        places = dict.fromkeys(filter(None, (self.place, self.pinned)))
        return [focus.sentence(self.found, each) for each in places] or self.found.sentences[:1]

    def outline(self, name: str) -> str:
        """The class of the line around a map: thick in focus, thin where it is pinned, or none."""
        return self._looks.get(name, "")

    @property
    def time(self) -> Time:
        """The axis of time."""
        return Time(self.room[0], self.width)

    @property
    def most(self) -> int:
        """Bytes that the device's memory has room for, of the picture."""
        return self.room[1]

    @cached_property
    def y(self) -> Linear:
        """Bytes of the device upwards, of the host downwards."""
        low, high = -1.12 * self.room[2] - 0.09 * self.most, 1.06 * self.most
        return Steady(low, high, high - low)


def needs(found: Offload) -> tuple[int, int, int]:
    """Ends that the axes have to hold: nanoseconds, bytes of the device and of the host."""
    seconds = max(found.now.seconds, found.plain.seconds)
    return ceil(1e9 * seconds), max(found.peak, found.plain_peak), found.host


def page(shown: Shown, says: str) -> Page:
    """The lanes, and both memories below them."""
    found = shown.found
    heads, rows = found.table()
    blocks: list[Block] = [
        Words([emphasized(found.finding)], 20),
        Words(shown.sentences, 13, gap=3),
        lanes(shown),
        memories(shown),
        Key(list(_key(found)), gap=8),
        Words(found.notes, 11, dim=True, gap=6),
        Words(found.lines, drawn=False, gap=1),
        Table(heads, rows, "<><<>>><", drawn=False, gap=1),
    ]
    return Page(found.title, blocks, shown.width, says, titled=False)


def _key(found: Offload) -> Iterator[tuple[Paint | Glyph, str]]:
    for role in found.mountain.parts:
        yield PAINTS[role], role_name(role)
    if found.copies:
        yield IDLE, say("idle_there")
        if found.waits:
            yield WAIT, say("standing")
        yield Glyph(0, 0, DOWN), say("goes_out")
        yield Glyph(0, 0, UP), say("comes_back")


# -- the lanes -------------------------------------------------------------------------------------


def lanes(shown: Shown) -> Chart:
    """What computes, and the copies right below it."""
    found, high = shown.found, WORK[1]
    marks: list[Mark] = [
        *phases(found.backward, found.now.seconds, -36),
        *computing(found.now.slots, WORK, shown.time.x.last),
        *_waits(shown),
        *(
            mark
            for copy in found.copies
            if copy.start < shown.time.x.last
            for mark in _copied(shown, copy)
        ),
        *named(high - LANE / 2, say("compute"), say("operations")),
        *named(LINK / 2, say("link"), say("copies")),
    ]
    return Chart(shown.time.x, Scale(0, high), marks, high, left=LEFT, right=RIGHT, above=46,
                 name=say("compute"), gap=8)  # fmt: skip


def phases(backward: float, end: float, dy: float) -> Iterator[Mark]:
    """Brackets over forward and backward, so many pixels below the top of the frame."""
    spans = {StepPhase.FORWARD: (0, backward), StepPhase.BACKWARD: (backward, end)}
    for phase, span in spans.items():
        yield Phase(strings.get(f"phase.{phase}"), *span, dy)


def named(y: float, name: str, note: str, dy: float = 0) -> Iterator[Mark]:
    """Two lines left of the frame, so many pixels below a height."""
    yield Text(0, y, name, 13, "end", dx=-10, dy=dy - 1, bold=True)
    yield Text(0, y, note, 11, "end", dx=-10, dy=dy + 12, dim=True)


def computing(slots: Sequence[Slot], span: tuple[float, float], last: float) -> Iterator[Mark]:
    """The operations that compute up to the last second, convolutions darker."""
    slots = [slot for slot in slots if slot.op.stream == COMPUTE and slot.start < last]
    for conv, look in ((True, CONV), (False, OTHER)):
        places = [(s.start, s.end, *span) for s in slots if s.op.kind.startswith("conv") is conv]
        yield Rects(places, look, inset=0.4, edge=0)


def _waits(shown: Shown) -> Iterator[Mark]:
    """Where compute stands still, the longest two with their seconds."""
    found = shown.found
    for place, (start, end) in zip(focus.waits(found), found.longest, strict=True):
        if start >= shown.time.x.last:
            continue
        said = focus.sentence(found, place)
        yield Rect(start, end, *WORK, WAIT, edge=0, fact=Fact(said), send=("choose", place))
        if place == shown.place:
            yield Rect(start, end, *WORK, "limit")
        elif end - start > 3 * shown.time.pixel:
            yield Rect(start, end, *WORK, "rule", inset=0.5)
    for start, end in longest(shown):
        said = say("waits", seconds=duration(end - start))
        spots = ((start + end) / 2, "middle"), (start, "start"), (end, "end")
        places = [(x, WORK[1], anchor, 0.0, -6.0) for x, anchor in spots]
        yield Label(said, places, 12, bold=True)


def longest(shown: Shown) -> list[tuple[float, float]]:
    """The two longest waits, where they can be seen."""
    last, least = shown.time.x.last, 6 * shown.time.pixel
    return [wait for wait in shown.found.longest[:2]
            if wait[1] - wait[0] > least and wait[1] <= last]  # fmt: skip


def _copied(shown: Shown, copy: Copy) -> Iterator[Mark]:
    """A copy under its operation, with a triangle where there is room. The operation has an
    outline too, where that copy or its map is in focus."""
    place = focus.of_copy(copy)
    fact, send = Fact(shown.found.fact(copy.name)), ("choose", place)
    yield Rect(copy.start, copy.end, 0, LINK, PAINTS[Role.FEATURE_MAP], fact=fact, send=send)
    if copy.seconds > NARROW * shown.time.pixel:
        yield Glyph((copy.start + copy.end) / 2, LINK / 2, DOWN if copy.out else UP)
    if look := shown.outline(copy.name):
        yield Rect(copy.start, copy.end, 0, LINK, look)
    if shown.place in (place, f"{focus.MAP}:{copy.name}"):
        yield Rect(copy.start, copy.end, *WORK, "limit")


# -- both memories ---------------------------------------------------------------------------------


def memories(shown: Shown) -> Chart:
    """The device's bytes upwards and the host's downwards, on one scale."""
    found, y = shown.found, shown.y
    marks: list[Mark] = [
        *_areas(found.mountain),
        *_slabs(shown),
        Rule(y=0, look="rule", width=1.6),
        *_budget(shown),
        *_plain(found),
        *_longer(shown),
        *_dot(shown),
        *_labels(shown),
        *_beyond(shown),
        *named(0, say("device"), say("memory"), -18),
    ]
    marks += [Rule(x=end, span=(0, y.last), look="grid", above=16) for _, end in longest(shown)]
    if found.host:
        marks += named(0, say("host"), say("memory"), 18)
    return Chart(shown.time.x, y, marks, TALL, shown.time.axis, left=LEFT, right=RIGHT, above=16,
                 name=say("memory"))  # fmt: skip


def _areas(mountain: Mountain) -> Iterator[Mark]:
    """The roles on top of each other, each where it has bytes."""
    low = np.zeros(len(mountain.seconds))
    for role, part in mountain.parts.items():
        high = low + part
        for first, last in runs(part[:-1] > 0):
            span = slice(first, last + 1)
            top, ground = (stairs(mountain.seconds[span], each[span]) for each in (high, low))
            yield Path([*top, *reversed(ground)], PAINTS[role])
        low = high


def stairs(seconds: Any, level: Any) -> list[tuple[float, float]]:
    """The corners of a curve that is level from each second to the next."""
    found: list[tuple[float, float]] = []
    for (start, end), high in zip(pairwise(seconds.tolist()), level.tolist(), strict=False):
        if found and found[-1][1] == high:
            found[-1] = (end, high)
        else:
            found += [(start, high), (end, high)]
    return found


def _slabs(shown: Shown) -> Iterator[Mark]:
    """A slab for each map in host memory; one area where they do not keep their levels."""
    found = shown.found
    if not found.nested:
        host = found.host_mountain
        yield Path([*stairs(host.seconds, -host.total), (host.seconds[-1], 0), (0, 0)], IDLE)
        return
    for slab in found.slabs:
        if slab.start >= shown.time.x.last:
            continue
        place = slab.start, slab.end, -slab.low - slab.nbytes, -slab.low
        fact = Fact(found.fact(slab.name))
        edge = 0.8 if slab.nbytes > found.host / 60 else 0.15
        send = ("choose", f"{focus.MAP}:{slab.name}")
        yield Rect(*place, IDLE, edge=edge, fact=fact, send=send)
        if look := shown.outline(slab.name):
            yield Rect(*place, look)


def _dot(shown: Shown) -> Iterator[Mark]:
    """On the peak, where that is in the picture."""
    found = shown.found
    if found.peak > shown.y.last:
        return
    place = [(_peak_at(found), found.peak)]
    yield Points(place, "dot", 8, fact=Fact(found.at_peak), send=("choose", focus.PEAK))
    if shown.place == focus.PEAK:
        yield Points(place, "ring", 15)


def _budget(shown: Shown) -> Iterator[Mark]:
    """A level line, or where it is far above, that it is there."""
    budget, y = shown.found.budget, shown.y
    near = budget <= y.last
    said = say("budget" if near else "budget_above", bytes=shown.found.card)
    yield Text(0, min(budget, y.last), said, 12, "end", dx=-10, dy=4, bold=True)
    if near:
        yield Rule(y=budget, look="rule", width=1.8, dashes="2 3.5", crossed=True)


def _plain(found: Offload) -> Iterator[Mark]:
    """The step without offload, in its own seconds."""
    if found.copies:
        plain = found.plain_mountain
        edge = [*stairs(plain.seconds, plain.total), (found.plain.seconds, 0.0)]
        yield Path(edge, "before thin", closed=False)


def _longer(shown: Shown) -> Iterator[Mark]:
    """From the end of the dashed line to that of the step."""
    found, low = shown.found, shown.y.first + 0.05 * shown.most
    start, end = found.plain.seconds, found.now.seconds
    last = shown.time.x.last
    if not found.copies or end > last or end - start < 2 * shown.time.pixel:
        return
    yield Rule(x=start, span=(low, 0), look="before thin", crossed=True)
    yield Rule(y=low, span=(start, end), look="rule", width=1.8, crossed=True)
    yield Rule(x=end, span=(low, low), look="rule", width=1.8, above=5, below=5, crossed=True)
    said, whole = (say(key, longer=percent(found.longer)) for key in ("longer", "longer_than"))
    if texts.width(whole, 12, True) + 12 < (end - start) / shown.time.pixel:
        yield Text((start + end) / 2, low, whole, 12, "middle", dy=-6, bold=True)
    else:
        yield Text(end, low, said, 12, dx=8, dy=4, bold=True, held=True)


def _peak_at(found: Offload) -> float:
    """The second at which the peak is reached."""
    total = found.mountain.total
    return float(found.mountain.seconds[int(total.argmax())])


def _labels(shown: Shown) -> Iterator[Mark]:
    """Peak, budget, the plain peak, what waits in host memory."""
    found, at = shown.found, _peak_at(shown.found)
    places = [(at, found.peak, anchor, dx, dy) for dy in (-9.0, -26.0, 22.0)
              for anchor, dx in (("start", 8.0), ("end", -8.0), ("middle", 0.0))]  # fmt: skip
    if found.peak <= shown.y.last:
        said = say("peak", bytes=three(found.peak))
        yield Label(said, places, 12, bold=True, chip=True, kept=True)
    if not found.copies:
        return
    plain = found.plain_mountain
    top = float(plain.seconds[int(plain.total.argmax())])
    spots = [(top, found.plain_peak, "middle", dx, dy) for dy in (-9.0, -22.0, 22.0)
             for dx in (0.0, 70.0, -70.0)]  # fmt: skip
    yield Label(say("plain", bytes=three(found.plain_peak)), spots, 12, chip=True)
    yield from _waiting(shown)


def _beyond(shown: Shown) -> Iterator[Mark]:
    """Edges after the last second, above the device's bytes and below the host's."""
    found, y = shown.found, shown.y
    yield from after(found.now.seconds, shown.time, (y.first, y.last))
    yield from _torn(found.mountain, y.last, "top")
    yield from _torn(found.host_mountain, -y.first, "bottom")
    if found.peak > y.last:
        yield beyond(_peak_at(found), y.last, found.peak)


def after(seconds: float, time: Time, span: tuple[float, float]) -> Iterator[Mark]:
    """A mark that a step goes on after the last second, and how long it is."""
    if seconds > time.x.last:
        yield OpenEdge(*span, "right")
        said = strings.get("draw.after", amount=duration(seconds))
        places = [(time.x.last, span[1], "end", -10.0, 16.0)]
        yield Label(said, places, 13, bold=True, chip=True, kept=True)


def _torn(mountain: Mountain, last: float, side: str) -> Iterator[Mark]:
    """Edge of a memory that goes on beyond the frame."""
    for first, stop in runs(mountain.total[:-1] > last) if mountain.parts else ():
        yield OpenEdge(float(mountain.seconds[first]), float(mountain.seconds[stop]), side)


def _waiting(shown: Shown) -> Iterator[Mark]:
    """On the host's memory: the map in focus, or all that waits there."""
    found = shown.found
    name = focus.name_of(found, shown.place)
    chosen = [slab for slab in found.slabs if slab.name == name and found.nested]
    for slab in chosen:
        y = -slab.low - slab.nbytes / 2
        places = [((slab.start + slab.end) / 2, y, "middle", 0.0, 4.0)]
        yield Label(say("one_here", name=slab.name), places, 13, bold=True, chip=True)
    if not chosen:
        y, middle = -found.host * 0.36, found.backward
        places = [(middle, y, "middle", 0.0, 4.0)]
        yield Label(say("here", bytes=three(found.host)), places, 13, chip=True)
