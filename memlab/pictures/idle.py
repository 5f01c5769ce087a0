"""Idle time of each feature map: a pile of bars, whose area is bytes times seconds.

A map is in use while an operation reads or writes it, and idle in between. The share of the area
that is idle is one number for all maps (claim C10).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import Any, ClassVar, NamedTuple

from memlab import optimizers, strings
from memlab.clocks.streams import COMPUTE, Schedule, Stay, TimedOperation, clock
from memlab.errors import InputError, real_number, shorten
from memlab.hardware import Device
from memlab.networks.graph import Network
from memlab.pictures.draw import text as texts
from memlab.pictures.draw.chart import Chart
from memlab.pictures.draw.labels import ChartText
from memlab.pictures.draw.marks import UP, Fact, Glyph, Mark, OpenEdge, Rect
from memlab.pictures.draw.page import Page
from memlab.pictures.draw.scale import Scale
from memlab.pictures.draw.table import PageBlock, Paragraphs, Table
from memlab.pictures.draw.text import emphasized
from memlab.pictures.draw.theme import IDLE, PAINTS, Paint
from memlab.pictures.live.fixed_axes import Needs, SteadyView
from memlab.pictures.live.setting import Setting, State, asking
from memlab.pictures.live.view import PageState, maker
from memlab.pictures.mountain.picture import phases
from memlab.pictures.offload.page import LEFT, RIGHT, Time, after, computing, named
from memlab.pictures.offload.streams import plain_step, short
from memlab.pictures.offload.view import of_batches, of_devices, of_networks
from memlab.pictures.values.number_text import duration, share, three_digits
from memlab.pictures.values.study import Study
from memlab.step.op import Phase
from memlab.step.tensor import Role
from memlab.strings import gettext as _

LITTLE = 0.2
"""A share that is idle, below which the maps are in use nearly all the time."""
SGD = "sgd"
"""Its states are no maps, so another optimizer has the same."""
USE = Paint("#009E73", 0.78)
"""A map while an operation reads or writes it."""
TALL, LANE, NAMED = 226, 30, 11
"""Pixels: of the pile, of the lane of compute, of a bar that has its name beside it."""
NUMBER = 250
"""Pixels that the number takes at the right of the pile."""
ABOVE = 36
"""Pixels that it takes above the pile; the rest stands beside the last bars, which are few."""
AT_EDGE = 0.4
"""A guess that is so near to an end has its words there."""


# -- what is shown ---------------------------------------------------------------------------------


class IdleRow(NamedTuple):
    """Row of one feature map. ``used`` holds the seconds in which operations read or write it, with
    touching spans joined; ``reads`` is the backward operation that reads it first, or empty."""

    name: str
    nbytes: int
    start: float
    end: float
    used: list[tuple[float, float]]
    reads: str

    @property
    def gaps(self) -> list[tuple[float, float]]:
        """Spans of seconds in which no operation uses the map."""
        edges = [self.start, *(second for span in self.used for second in span), self.end]
        spans = zip(edges[::2], edges[1::2], strict=True)
        return [(start, end) for start, end in spans if end > start]

    @property
    def alive(self) -> float:
        """Seconds for which the map is alive."""
        return self.end - self.start

    @property
    def in_use(self) -> float:
        """Seconds for which an operation uses the map."""
        return sum(end - start for start, end in self.used)

    @property
    def idle(self) -> float:
        """Share of its life in which no operation reads or writes the map."""
        return 1 - self.in_use / self.alive if self.alive else 0.0


@dataclass(frozen=True, eq=False)
class IdleFeatureMaps(Study):
    """Feature maps of a step at a batch on a device. With ``asked``, the answer is hidden."""

    network: Network
    device: Device
    now: Schedule
    asked: bool

    @property
    def batch(self) -> int:
        """Number of samples."""
        return self.now.batch

    @cached_property
    def rows(self) -> list[IdleRow]:
        """Rows of the maps, in the order of birth."""
        maps = (stay for stay in self.now.stays() if stay.tensor.role is Role.FEATURE_MAP)
        return [self._row(stay) for stay in maps if stay.tensor.storage.size.per_sample]

    @property
    def nbytes(self) -> int:
        """Bytes of all maps together."""
        return sum(row.nbytes for row in self.rows)

    @cached_property
    def share(self) -> float:
        """Idle byte-seconds of all maps as a share of all their byte-seconds (C10)."""
        return self.now.idle_share()

    @property
    def backward(self) -> float:
        """Time in seconds at which the first backward operation starts."""
        return next(s.start for s in self.slots if s.op.phase is Phase.BACKWARD)

    @property
    def slots(self) -> list[TimedOperation]:
        """Operations with their start and end."""
        return [slot for slot in self.now.slots if slot.op.stream == COMPUTE]

    def _row(self, stay: Stay) -> IdleRow:
        used: list[tuple[float, float]] = []
        for start, end in sorted(stay.uses):
            if used and start <= used[-1][1]:
                used[-1] = used[-1][0], max(end, used[-1][1])
            else:
                used.append((start, end))
        return IdleRow(stay.tensor.name, stay.nbytes, stay.start, stay.end, used, self._reads(stay))

    def _reads(self, stay: Stay) -> str:
        name = stay.tensor.storage.name
        later = (s.op for s in self.slots if s.op.phase is Phase.BACKWARD)
        readers = (op.name for op in later if any(t.storage.name == name for t in op.touched()))
        return next(readers, "")

    # -- said -----------------------------------------------------------------------------------

    @property
    def title(self) -> str:
        return self.finding.replace("*", "")

    @property
    def finding(self) -> str:
        """Finding of the picture, or its question; the bold part stands between asterisks."""
        if self.asked:
            return text_of("title.asked")
        return text_of("title.seen" if self.share > LITTLE else "title.used")

    @property
    def sentences(self) -> list[str]:
        return [text_of("see")]

    @property
    def notes(self) -> list[str]:
        return [
            text_of("planned", network=self.network.title, batch=f"{self.batch:,}",
                device=short(self.device), optimizer=optimizers.title(SGD))
        ]  # fmt: skip

    @property
    def number(self) -> str:
        """Idle share as text: ``'88 %'``."""
        return f"{round(100 * self.share)} %"

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return the heads and a row for every map. While the share is a question, the column that
        answers it is left out."""
        names = ("map", "bytes", "alive", "used", "idle")[: 3 if self.asked else 5]
        rows = [
            [row.name, three_digits(row.nbytes), duration(row.alive), duration(row.in_use),
             share(row.idle)][: len(names)]
            for row in self.rows
        ]  # fmt: skip
        return [text_of(f"head.{name}") for name in names], rows

    def lines(self) -> list[str]:
        """Return the idle share in sentences."""
        return [] if self.asked else [text_of("twin", number=self.number, share=share(self.share))]


def idle_maps(network: Network, batch: int, device: Device, asked: bool = False) -> IdleFeatureMaps:
    """Return the feature maps of a training step with in-place ReLUs and SGD.

    Raises:
        InputError: a device without the figures that are needed.
    """
    return IdleFeatureMaps(network, device, clock(plain_step(network, SGD), batch, device), asked)


def text_of(key: str, **values: object) -> str:
    """Return a text of this picture."""
    return strings.get(f"idle.{key}", **values)


# -- the view --------------------------------------------------------------------------------------


def _guess(given: object) -> float:
    guess = real_number("guess", given, 0.5)
    if not 0 <= guess <= 1:
        raise InputError(_("a guess is a share from 0 to 1, got {given}; try 0.5.",
                           given=shorten(given)))  # fmt: skip
    return guess


class IdleMaps(SteadyView[IdleFeatureMaps]):
    r"""The feature maps of a step: as long as they live, as thick as they have bytes, in use or
    idle.

    >>> view = memlab.views.idle()
    >>> print(str(view).split("\n")[0])
    Most feature maps are idle until backward reads them again
    """

    name, made_by = "idle", "idle"
    positional = ("network", "batch", "device")
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "surprise": {"network": "resnet50", "batch": 32}
    }

    network = of_networks()
    batch = of_batches(256, box=True)
    device = of_devices()
    asked = asking("how much is in use")
    guess = Setting[float | None](
        doc="a guess at the share that is in use, from 0 to 1", default=None, check=_guess,
        stays=True, linked=False,
    )  # fmt: skip

    def study(self, now: State) -> IdleFeatureMaps:
        return idle_maps(now.network, now.batch, now.device, now.asked)

    def needs(self, now: State, rows: IdleFeatureMaps) -> Needs:
        return ceil(1e9 * rows.now.seconds), rows.nbytes

    def card(self, now: State) -> tuple[int, int]:
        return 0, 0

    def question(self, now: State) -> object:
        return now.network, now.device

    def outline_key(self, now: State) -> object:
        return None

    def test_state(self, now: State) -> str:
        rows = self.rows_of(now)
        told = "" if rows.asked else f"{rows.share:.6f}"
        return "|".join((now.network.name, str(now.batch), now.device.name, told))

    def says(self, scene: PageState) -> str:
        rows = self.rows_of(scene.now)
        return " ".join([f"{rows.title}", *rows.lines()])

    def compose(self, scene: PageState) -> Page:
        maps = self.rows_of(scene.now)
        heads, rows = maps.table()
        time = Time(scene.now.room[0], scene.width)
        blocks: list[PageBlock] = [
            Paragraphs([emphasized(maps.finding)], 20),
            Paragraphs(maps.sentences, 13, gap=3),
            _lane(maps, time),
            _pile(maps, time, scene.now.room[1], scene.now.guess),
            Paragraphs(maps.notes, 11, dim=True, gap=6),
            Paragraphs(maps.lines(), drawn=False, gap=1),
            Table(heads, rows, "<>>>>"[: len(heads)], drawn=False, gap=1),
        ]
        return Page(maps.title, blocks, scene.width, self.says(scene), titled=False)


idle = maker(IdleMaps)


# -- how it is drawn -------------------------------------------------------------------------------


def _lane(maps: IdleFeatureMaps, time: Time) -> Chart:
    """Chart of the operations that compute."""
    marks: list[Mark] = [
        *phases(maps.backward, maps.now.seconds, -22),
        *computing(maps.slots, (0, LANE), time.x.last),
        *named(LANE / 2, text_of("compute"), text_of("operations")),
        *after(maps.now.seconds, time, (0, LANE)),
    ]
    return Chart(time.x, Scale(0, LANE), marks, LANE, left=LEFT,
                 right=RIGHT, above=32, name=text_of("compute"), gap=8)  # fmt: skip


def _pile(maps: IdleFeatureMaps, time: Time, room: int, guess: float | None) -> Chart:
    """Return a chart with a bar for each map, the first at the bottom; its height has ``room``
    bytes."""
    marks: list[Mark] = []
    low = 0
    for row in maps.rows:
        high = min(low + row.nbytes, room)
        if high > low:
            marks += _bar(maps, row, low, high, TALL * (high - low) / room)
            if high < low + row.nbytes:
                marks.append(OpenEdge(row.start, min(row.end, time.x.last)))
        low = high
    if not maps.asked:
        marks += _number(maps, time, room, guess)
    if maps.now.seconds > time.x.last:
        marks.append(OpenEdge(0, min(maps.nbytes, room), "right"))
    above = ABOVE * (not maps.asked)
    return Chart(time.x, Scale(0, room), marks, TALL, time.axis, left=LEFT, right=RIGHT,
                 above=12 + above, name=text_of("unused"))  # fmt: skip


def _bar(maps: IdleFeatureMaps, row: IdleRow, low: int, high: int, tall: float) -> Iterator[Mark]:
    """Yield the marks of a map, with its name where the bar is thick enough."""
    edge = 0.8 if tall > 3 else 0.2
    if maps.asked:
        fact = Fact(
            row.name, nbytes=row.nbytes, more=text_of("seconds", seconds=duration(row.alive))
        )
        green = PAINTS[Role.FEATURE_MAP]
        yield Rect(row.start, row.end, low, high, green, edge=edge, fact=fact)
    else:
        told = text_of("fact", alive=duration(row.alive), used=duration(row.in_use),
                   idle=share(row.idle))  # fmt: skip
        fact = Fact(row.name, nbytes=row.nbytes, more=told, reader=row.reads)
        for start, end in row.gaps:
            yield Rect(start, end, low, high, IDLE, edge=edge)
        for start, end in row.used:
            yield Rect(start, end, low, high, USE, edge=edge)
        yield Rect(row.start, row.end, low, high, "target", fact=fact)
    if tall >= NAMED:
        yield ChartText(0, (low + high) / 2, row.name, 12, "end", dx=-10, dy=4)


def _number(maps: IdleFeatureMaps, time: Time, room: int, guess: float | None) -> Iterator[Mark]:
    """Yield the marks at the upper right of the pile: the idle share in digits, and as a bar beside
    the guess."""
    end, top = time.x.last, 1.0 * room
    left, pixel = end - NUMBER * time.pixel, top / TALL
    used, digits = left + (1 - maps.share) * (end - left), maps.number
    top += ABOVE * pixel
    wide = texts.width(digits, 20, bold=True) + 10
    yield ChartText(left, top, digits, 20, dy=18, bold=True)
    yield ChartText(left, top, text_of("of_area"), 12, dx=wide, dy=9)
    yield ChartText(left, top, text_of("nobody"), 12, dx=wide, dy=24)
    high, low = top - 38 * pixel, top - 54 * pixel
    yield Rect(used, end, low, high, IDLE)
    yield Rect(left, used, low, high, USE)
    if guess is None or guess > AT_EDGE:
        yield ChartText(left, low, text_of("used"), 12, dy=16)
    if guess is None or guess < 1 - AT_EDGE:
        yield ChartText(end, low, text_of("unused"), 12, "end", dy=16)
    if guess is not None:
        x = left + guess * (end - left)
        yield Glyph(x, low, UP, "hollow pole", "^", dy=3)
        yield ChartText(x, low, text_of("guess"), 12, "middle", dy=25, bold=True, held=True)
