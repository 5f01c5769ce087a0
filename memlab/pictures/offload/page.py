"""Page of the offload picture: compute and copies as two lanes of time, and both memories below."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil

import numpy as np

from memlab import strings
from memlab.clocks.streams import COMPUTE, TimedOperation
from memlab.pictures.draw import text as texts
from memlab.pictures.draw.chart import Axis, Chart
from memlab.pictures.draw.labels import ChartText, Label
from memlab.pictures.draw.marks import (
    Fact,
    Glyph,
    Mark,
    OpenEdge,
    Points,
    Rect,
    Rects,
    Rule,
)
from memlab.pictures.draw.page import Page
from memlab.pictures.draw.scale import LinearScale, Scale, Steady, seconds_over, steady
from memlab.pictures.draw.table import PageBlock, Paragraphs, Table, Unnamed
from memlab.pictures.draw.text import emphasized
from memlab.pictures.draw.theme import IDLE, PAINTS, WAIT, Paint
from memlab.pictures.mountain.layers import Curve, MountainLayer
from memlab.pictures.mountain.picture import DrawnLayer, Mountain, phases, torn, waiting
from memlab.pictures.mountain.stack_parts import role_name
from memlab.pictures.offload import focus
from memlab.pictures.offload.streams import Copy, MemoryOverTime, OffloadTimeline, percent, text_of
from memlab.pictures.values.number_text import duration, three_digits
from memlab.step.tensor import Role

LEFT, RIGHT = 96, 12
LANE, LINK, APART = 30, 20, 3
"""Pixels: height of the lane of compute, height of the link's, and distance between them."""
WORK = LINK + APART, LINK + APART + LANE
"""Lower and upper end of the lane of compute."""
TALL = 248
"""Pixels of both memories together."""
NEAR = 1.5
"""Ratio of budget to peak from which the budget is outside of the picture."""
COLUMNS = 1400
"""Columns of time, about two for each pixel."""
NARROW = 15
"""Pixels from which a copy has its triangle."""
CONV, OTHER = Paint("currentColor", 0.34), Paint("currentColor", 0.20)
DOWN, UP = "M-4.5-3.5h9l-4.5 7Z", "M-4.5 3.5h9l-4.5-7Z"


@dataclass(frozen=True)
class Time:
    """An axis of seconds that holds ``room`` nanoseconds, in a picture ``width`` pixels wide."""

    room: int
    width: float

    @cached_property
    def x(self) -> LinearScale:
        """Scale of seconds."""
        return steady(seconds_over([self.room / 1e9]))

    @property
    def pixel(self) -> float:
        """Seconds of one pixel."""
        return self.x.last / (self.width - LEFT - RIGHT)

    @property
    def axis(self) -> Axis:
        """Axis whose ticks are labelled at both ends, and in the middle where there is a tick."""
        ticks = self.x.ticks
        middle = ticks[len(ticks) // 2 : len(ticks) // 2 + 1] if len(ticks) % 2 else []
        return Axis(grid=False, ticks=[ticks[0], *middle, ticks[-1]])


@dataclass(frozen=True)
class OffloadPageInputs:
    """Everything that the page is drawn from.

    ``room`` has the ends of the axes: nanoseconds, bytes of the device, bytes of the host.
    ``place`` is the place in focus, ``pinned`` the one that stays outlined beside it; both may be
    empty.
    """

    timeline: OffloadTimeline
    room: tuple[int, ...]
    place: str
    pinned: str
    width: float

    @cached_property
    def _looks(self) -> dict[str, str]:
        """Class of the line around the map of the pinned place and of the one in focus, by the
        map's name."""
        ranked = ((self.pinned, "rule"), (self.place, "limit"))
        return {focus.name_of(self.timeline, place): look for place, look in ranked if place}

    @property
    def sentences(self) -> list[str]:
        """Sentences on the place in focus and on the pinned one; without both, the finding on the
        whole step."""
        places = dict.fromkeys(filter(None, (self.place, self.pinned)))
        return [
            focus.sentence(self.timeline, place) for place in places
        ] or self.timeline.sentences[:1]

    def outline(self, name: str) -> str:
        """Return the class of the line around a map: thick in focus, thin where it is pinned, or
        none."""
        return self._looks.get(name, "")

    @property
    def time(self) -> Time:
        """Axis of time."""
        return Time(self.room[0], self.width)

    @property
    def most(self) -> int:
        """Bytes of device memory that the axis has room for."""
        return self.room[1]

    @cached_property
    def y(self) -> LinearScale:
        """Scale of bytes: those of the device upwards, those of the host downwards."""
        low, high = -1.12 * self.room[2] - 0.09 * self.most, 1.06 * self.most
        return Steady(low, high, high - low)

    @cached_property
    def mountain(self) -> Mountain:
        """Device memory over time, and as a dashed outline that of the step without offload."""
        timeline = self.timeline
        layers, plain = self._layers(timeline.on_device), self._layers(timeline.plain_on_device)
        slices = [
            DrawnLayer(low, high, PAINTS[role], role_name(role)) for role, low, high in layers
        ]
        before = plain[-1].high if self.timeline.copies else None
        step = self.time.x.last / COLUMNS
        return Mountain(slices, self.y.last, before=before, time=True, step=step)

    @cached_property
    def host(self) -> Curve:
        """Bytes of host memory in each column of time."""
        layers = self._layers(self.timeline.on_host)
        return layers[-1].high if layers else np.zeros(COLUMNS)

    def _layers(self, filled: MemoryOverTime) -> list[MountainLayer[Role]]:
        """Return the bytes of a memory in the columns of the picture."""
        return filled.layers(self.time.x.last, COLUMNS)


def needs(timeline: OffloadTimeline) -> tuple[int, int, int]:
    """Return the ends that the axes have to hold: nanoseconds, bytes of the device, bytes of the
    host."""
    seconds = max(timeline.now.seconds, timeline.plain.seconds)
    return ceil(1e9 * seconds), max(timeline.peak, timeline.plain_peak), timeline.host


def page(inputs: OffloadPageInputs, says: str) -> Page:
    """Return the page: finding, sentences, lanes, both memories, legend, notes and the table of
    copies."""
    timeline = inputs.timeline
    heads, rows = timeline.table()
    blocks: list[PageBlock] = [
        Paragraphs([emphasized(timeline.finding)], 20),
        Paragraphs(inputs.sentences, 13, gap=3),
        lanes(inputs),
        memories(inputs),
        Unnamed(list(_key(inputs)), gap=8),
        Paragraphs(timeline.notes, 11, dim=True, gap=6),
        Paragraphs(timeline.lines, drawn=False, gap=1),
        Table(heads, rows, "<><<>>><", drawn=False, gap=1),
    ]
    return Page(timeline.title, blocks, inputs.width, says, titled=False)


def _key(inputs: OffloadPageInputs) -> Iterator[tuple[Paint | Glyph, str]]:
    """Yield the entries of the legend."""
    timeline = inputs.timeline
    yield from inputs.mountain.key()
    if timeline.copies:
        yield IDLE, text_of("idle_there")
        if timeline.waits:
            yield WAIT, text_of("standing")
        yield Glyph(0, 0, DOWN), text_of("goes_out")
        yield Glyph(0, 0, UP), text_of("comes_back")


# -- the lanes -------------------------------------------------------------------------------------


def lanes(inputs: OffloadPageInputs) -> Chart:
    """Return the chart of two lanes: the operations that compute, and the copies
    right below them."""
    timeline, high = inputs.timeline, WORK[1]
    marks: list[Mark] = [
        *phases(timeline.backward, timeline.now.seconds, -36),
        *computing(timeline.now.slots, WORK, inputs.time.x.last),
        *_waits(inputs),
        *(
            mark
            for copy in timeline.copies
            if copy.start < inputs.time.x.last
            for mark in _copy_marks(inputs, copy)
        ),
        *named(high - LANE / 2, text_of("compute"), text_of("operations")),
        *named(LINK / 2, text_of("link"), text_of("copies")),
    ]
    return Chart(inputs.time.x, Scale(0, high), marks, high, left=LEFT, right=RIGHT, above=46,
                 name=text_of("compute"), gap=8)  # fmt: skip


def named(y: float, name: str, note: str, dy: float = 0) -> Iterator[Mark]:
    """Yield two lines of text left of the frame at a height ``y``, moved down by ``dy`` pixels."""
    yield ChartText(0, y, name, 13, "end", dx=-10, dy=dy - 1, bold=True)
    yield ChartText(0, y, note, 11, "end", dx=-10, dy=dy + 12, dim=True)


def computing(
    slots: Sequence[TimedOperation], span: tuple[float, float], last: float
) -> Iterator[Mark]:
    """Yield marks for the operations that compute, convolutions darker.

    Args:
        slots: operations with start and end in seconds.
        span: lower and upper end of their lane.
        last: second at which the axis ends.
    """
    slots = [slot for slot in slots if slot.op.stream == COMPUTE and slot.start < last]
    for conv, look in ((True, CONV), (False, OTHER)):
        places = [(s.start, s.end, *span) for s in slots if s.op.kind.startswith("conv") is conv]
        yield Rects(places, look, inset=0.4, edge=0)


def _waits(inputs: OffloadPageInputs) -> Iterator[Mark]:
    """Yield marks for the times at which compute stands still; the two longest are labelled in
    seconds."""
    timeline = inputs.timeline
    for place, (start, end) in zip(focus.waits(timeline), timeline.longest, strict=True):
        if start >= inputs.time.x.last:
            continue
        text = focus.sentence(timeline, place)
        yield Rect(start, end, *WORK, WAIT, edge=0, fact=Fact(text), send=("choose", place))
        if place == inputs.place:
            yield Rect(start, end, *WORK, "limit")
        elif end - start > 3 * inputs.time.pixel:
            yield Rect(start, end, *WORK, "rule", inset=0.5)
    for start, end in longest(inputs):
        text = text_of("waits", seconds=duration(end - start))
        spots = ((start + end) / 2, "middle"), (start, "start"), (end, "end")
        places = [(x, WORK[1], anchor, 0.0, -6.0) for x, anchor in spots]
        yield Label(text, places, 12, bold=True)


def longest(inputs: OffloadPageInputs) -> list[tuple[float, float]]:
    """Return the two longest waits, as far as they are visible."""
    last, least = inputs.time.x.last, 6 * inputs.time.pixel
    return [wait for wait in inputs.timeline.longest[:2]
            if wait[1] - wait[0] > least and wait[1] <= last]  # fmt: skip


def _copy_marks(inputs: OffloadPageInputs, copy: Copy) -> Iterator[Mark]:
    """Yield marks for a copy below the operation it starts with, with a triangle where there is
    room.

    The lane of compute is outlined too, where that copy or its map is in focus.
    """
    place = focus.place_of_copy(copy)
    fact, send = Fact(inputs.timeline.fact(copy.name)), ("choose", place)
    yield Rect(copy.start, copy.end, 0, LINK, PAINTS[Role.FEATURE_MAP], fact=fact, send=send)
    if copy.seconds > NARROW * inputs.time.pixel:
        yield Glyph((copy.start + copy.end) / 2, LINK / 2, DOWN if copy.out else UP)
    if look := inputs.outline(copy.name):
        yield Rect(copy.start, copy.end, 0, LINK, look)
    if inputs.place in (place, f"{focus.MAP}:{copy.name}"):
        yield Rect(copy.start, copy.end, *WORK, "limit")


# -- both memories ---------------------------------------------------------------------------------


def memories(inputs: OffloadPageInputs) -> Chart:
    """Return the chart of both memories: device bytes upwards, host bytes
    downwards, on one scale."""
    timeline, y, mountain = inputs.timeline, inputs.y, inputs.mountain
    marks: list[Mark] = [
        *mountain.stack(),
        *_slabs(inputs),
        Rule(y=0, look="rule", width=1.6),
        *mountain.limits([(text_of("budget", bytes=timeline.card), timeline.budget)]),
        *_added_time(inputs),
        *_peak(inputs),
        *_host_label(inputs),
        *after(timeline.now.seconds, inputs.time, (y.first, y.last)),
        *torn(inputs.host, -y.first, mountain.step, "bottom"),
        *mountain.was(text_of("plain", bytes=three_digits(timeline.plain_peak))),
        *mountain.names(),
        *named(0, text_of("device"), text_of("memory"), -18),
    ]
    marks += [Rule(x=end, span=(0, y.last), look="grid", above=16) for _, end in longest(inputs)]
    if timeline.host:
        marks += named(0, text_of("host"), text_of("memory"), 18)
    return Chart(inputs.time.x, y, marks, TALL, inputs.time.axis, left=LEFT, right=RIGHT, above=16,
                 previous=mountain.previous, name=text_of("memory"))  # fmt: skip


def _slabs(inputs: OffloadPageInputs) -> Iterator[Mark]:
    """Yield marks for a slab for each map in host memory; one area where the maps do not
    keep their levels."""
    timeline = inputs.timeline
    if not timeline.nested:
        yield waiting(inputs.host)
        return
    for slab in timeline.slabs:
        if slab.start >= inputs.time.x.last:
            continue
        place = slab.start, slab.end, -slab.low - slab.nbytes, -slab.low
        fact = Fact(timeline.fact(slab.name))
        edge = 0.8 if slab.nbytes > timeline.host / 60 else 0.15
        send = ("choose", f"{focus.MAP}:{slab.name}")
        yield Rect(*place, IDLE, edge=edge, fact=fact, send=send)
        if look := inputs.outline(slab.name):
            yield Rect(*place, look)


def _peak(inputs: OffloadPageInputs) -> Iterator[Mark]:
    """Yield marks for the peak of the device, with a ring where it is in focus."""
    timeline, mountain = inputs.timeline, inputs.mountain
    text, fact = text_of("peak", bytes=three_digits(timeline.peak)), Fact(timeline.at_peak)
    yield from mountain.peak(timeline.peak, text, fact=fact, send=("choose", focus.PEAK))
    if inputs.place == focus.PEAK and timeline.peak <= mountain.end:
        yield Points([(mountain.at(mountain.top), timeline.peak)], "ring", 15)


def _added_time(inputs: OffloadPageInputs) -> Iterator[Mark]:
    """Yield marks for a bar for the added time, from the end of the plain step to the end of this
    one."""
    timeline, low = inputs.timeline, inputs.y.first + 0.05 * inputs.most
    start, end = timeline.plain.seconds, timeline.now.seconds
    last = inputs.time.x.last
    if not timeline.copies or end > last or end - start < 2 * inputs.time.pixel:
        return
    yield Rule(x=start, span=(low, 0), look="before thin", crossed=True)
    yield Rule(y=low, span=(start, end), look="rule", width=1.8, crossed=True)
    yield Rule(x=end, span=(low, low), look="rule", width=1.8, above=5, below=5, crossed=True)
    brief, full = (
        text_of(key, longer=percent(timeline.longer)) for key in ("longer", "longer_than")
    )
    if texts.width(full, 12, True) + 12 < (end - start) / inputs.time.pixel:
        yield ChartText((start + end) / 2, low, full, 12, "middle", dy=-6, bold=True)
    else:
        yield ChartText(end, low, brief, 12, dx=8, dy=4, bold=True, held=True)


def after(seconds: float, time: Time, span: tuple[float, float]) -> Iterator[Mark]:
    """Yield a mark that the step goes on after the last second of the axis, with its length."""
    if seconds > time.x.last:
        yield OpenEdge(*span, "right")
        text = strings.get("draw.after", amount=duration(seconds))
        places = [(time.x.last, span[1], "end", -10.0, dy) for dy in (16.0, 36.0, 76.0)]
        yield Label(text, places, 13, bold=True, chip=True, kept=True)


def _host_label(inputs: OffloadPageInputs) -> Iterator[Mark]:
    """Yield marks for a label on host memory: the map in focus, or all bytes that wait there."""
    timeline = inputs.timeline
    if not timeline.copies:
        return
    name = focus.name_of(timeline, inputs.place)
    chosen = [slab for slab in timeline.slabs if slab.name == name and timeline.nested]
    for slab in chosen:
        y = -slab.low - slab.nbytes / 2
        places = [((slab.start + slab.end) / 2, y, "middle", 0.0, 4.0)]
        yield Label(text_of("one_here", name=slab.name), places, 13, bold=True, chip=True)
    if not chosen:
        y, middle = -timeline.host * 0.36, timeline.backward
        places = [(middle, y, "middle", 0.0, 4.0)]
        yield Label(text_of("here", bytes=three_digits(timeline.host)), places, 13, chip=True)
