"""View of the data path: batches that wait in disk, RAM, pinned memory and device, and compute's
waits."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from math import ceil
from string import ascii_uppercase
from typing import Any, ClassVar

from memlab import hardware
from memlab.clocks.streams import COMPUTE
from memlab.errors import InputError, real_number, shorten
from memlab.networks import zoo
from memlab.networks.graph import Network
from memlab.pictures.draw import text as texts
from memlab.pictures.draw.chart import Chart
from memlab.pictures.draw.labels import ChartText, Label
from memlab.pictures.draw.marks import Fact, Glyph, Mark, Press, Rect, Rule
from memlab.pictures.draw.page import Page
from memlab.pictures.draw.scale import Scale
from memlab.pictures.draw.table import Key, PageBlock, Paragraphs, Table
from memlab.pictures.draw.text import emphasized
from memlab.pictures.draw.theme import WAIT, Paint
from memlab.pictures.live.fixed_axes import Needs, SteadyView
from memlab.pictures.live.setting import NumberBox, Range, Select, Setting, State, asking
from memlab.pictures.live.view import PageState, maker
from memlab.pictures.live.widget import Control, Labels
from memlab.pictures.offload.page import LEFT, RIGHT, named
from memlab.pictures.offload.view import of_batches, of_devices, of_networks
from memlab.pictures.path.data_path import (
    BUFFERS,
    FILES,
    RAM,
    DataPath,
    Job,
    data_path_of,
    letter,
    text_of,
)
from memlab.pictures.path.stations import (
    DARK,
    LIGHT,
    TURNS,
    PathLayout,
    fact_of_batch,
    largest,
    stations,
)
from memlab.pictures.values.step_recipe import name_of, network_of
from memlab.strings import gettext as _

GB = 10**9
DISKS = (.01, .02, .03, .05, .07, .1, .15, .2, .3, .5, .7, 1, 2, 3, 5, 7, 10)  # fmt: skip
LINKS = (.5, 1, 2, 3, 4, 6, 8, 12, 16, 25, 32)  # fmt: skip
"""Gigabytes per second at which the sliders stop."""
WORKERS = (1, 2, 4, 8, 16)
KEYS = ("ArrowLeft", "ArrowRight", "Home", "End", "KeyW", "ArrowUp", "ArrowDown", "Escape")
LOOKS: dict[str, Paint | str] = {"empty": "edge before", "read": LIGHT, "other": DARK, "wait": WAIT}
"""Looks that the legend explains, by the names of their texts."""
DROP = "M-5-7h10l-5 8Z"
TALL, APART, FOOT = 31, 15, 23
"""Pixels: height of a lane, distance of both lanes, and room below them."""
HIGH = FOOT + 2 * TALL + APART
LOADER, WORK = (FOOT + TALL + APART, HIGH), (FOOT, FOOT + TALL)
LETTER = 13
"""Pixels that a letter needs."""


# -- settings --------------------------------------------------------------------------------------


@dataclass(eq=False)
class RateSlider(Range):
    """Setting of a rate on a slider with a box, kept in whole bytes per second.

    A number, or a text without a unit, is in GB/s.
    """

    def allowed(self, given: Any, now: State) -> int:
        value = given
        if isinstance(given, str):
            try:
                value = float(given)
            except ValueError:
                return hardware.link(given).speed
        bytes_per_second = round(
            real_number(f"{self.name}, in GB/s,", value, 0.15, above=0.0, below=1e6) * GB
        )
        if not bytes_per_second:
            raise InputError(_("nothing moves at {given} GB/s; try 0.15.", given=shorten(given)))
        return bytes_per_second

    def read(self, event: str, value: Any, now: State) -> Any:
        if event == self.name:
            return super().read(event, value, now) / GB
        return "" if value is None else str(value)

    def _box(self, name: str, now: State, labels: Labels, beside: bool = False) -> Control:
        box = super()._box(name, now, labels, beside)
        return box._replace(kind="text", value=_gigabytes(self.value(now)))


def _gigabytes(rate: int) -> str:
    """Return bytes per second as a number of GB/s."""
    return f"{rate / GB:.9g}"


def _rate(usual: Any, stops: tuple[float, ...], doc: str, **given: Any) -> RateSlider:
    """Return a slider of a rate.

    Args:
        usual: default in GB/s, or a function of the state that returns bytes per second.
        stops: rates in GB/s at which the slider stops.
        doc: description of the setting.
        **given: other arguments of the setting.
    """
    return RateSlider(
        1, 10**15, default=usual, stops=tuple(round(stop * GB) for stop in stops), box=True,
        doc=doc, code=given.pop("code", "always"), write=_gigabytes,
        show=lambda rate: f"{_gigabytes(rate)} GB/s", **given,
    )  # fmt: skip


@cache
def networks() -> dict[str, str]:
    """Return titles by name of the networks of the zoo that read images."""
    networks_by_name = {name: network_of(name) for name in zoo.ZOO}
    return {
        name: network.title
        for name, network in networks_by_name.items()
        if len(network.input_shape) == 3
    }


class DataPathView(SteadyView[DataPath]):
    """Images on their way from disk to device: bytes in each station, and the waits of compute.

    >>> view = memlab.views.path("googlenet", batch=128, buffers=2)
    >>> view.rows.reserved("pinned")
    154140672
    >>> view.rows.title
    'Two buffers: compute waits only for the first batch: 546 images/s, not 338'
    """

    name, made_by = "path", "path"
    classes = "memlab-view memlab-path"
    positional = ("network", "batch", "buffers")
    picture_keys = KEYS
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "surprise": {"buffers": 2}, "break": {"buffers": 2, "disk": 0.05}
    }  # fmt: skip
    """Two buffers, so that the device does not wait; and a disk so slow that no buffer helps."""

    buffers = Select(
        BUFFERS, default=0, code="always", few=True,
        doc="places in pinned memory that the loader fills ahead of time; 0: everything in turn",
    )  # fmt: skip
    disk = _rate(0.15, DISKS, 'what the disk reads, in GB/s, or ``"150 MB/s"``')
    link = _rate(
        lambda now: now.device.wire.speed, LINKS,
        'what the link carries, in GB/s, or ``"PCIe 4.0 x16"``; that of the device if not given',
        follows=["device"], stands=True,
    )  # fmt: skip
    workers = Select(
        WORKERS, default=1, code="changed", few=True, place="more", brief=lambda now: "",
        doc="processes of the loader; each decodes 500 images per second, or converts raw files",
    )  # fmt: skip
    files = Select(
        FILES, default="raw", code="changed", place="more",
        brief=lambda now: text_of(f"short.{now.files}") if now.files != "raw" else "",
        doc='how images are stored: ``"raw"``, a byte for each value, or ``"jpeg"``',
    )  # fmt: skip
    augment = Select(
        ("host", "device"), default="host", place="more",
        brief=lambda now: text_of(f"short.{now.augment}"),
        doc='where images become fp32: ``"host"``, or ``"device"``, and bytes cross the link',
    )  # fmt: skip
    batch = of_batches(
        128, box=True, place="more",
        brief=lambda now: text_of("short.batch", batch=f"{now.batch:,}"),
    )  # fmt: skip
    network = of_networks(networks, default="googlenet", place="more")
    image = NumberBox(
        1, 10_000, default=lambda now: now.network.input_shape[-1], follows=["network"],
        brief=lambda now: "",
        doc="height and width of the images; those of the network if not given", place="more",
    )  # fmt: skip
    host = _rate(10, (1, 2, 5, 10, 20, 50), "what a worker reads and writes of raw files, in GB/s",
                 code="changed", place="more", brief=lambda now: "")  # fmt: skip
    device = of_devices(place="more", brief=lambda now: "")
    moment: Setting[float | None] = Setting(
        doc="the second that is shown, in seconds; within the picture if not given", default=None,
        check=lambda given: real_number("moment, in seconds,", given, 0.88, 0.0),
        follows=["network", "batch", "image", "device"],
    )  # fmt: skip
    asked = asking("which part takes longest")
    chosen: Setting[str] = Setting(
        doc="the letter of the batch that is in focus", default="", argument=False, code="never"
    )

    def help(self) -> str:
        return text_of("help_asked") if self.state.asked else super().help()

    def study(self, now: State) -> DataPath:
        network = _sized(now.network, now.image)
        return data_path_of(network, now.batch, now.buffers, now.augment, now.disk, now.host,
                            now.link, now.device, now.files, now.workers)  # fmt: skip

    def needs(self, now: State, rows: DataPath) -> Needs:
        return ceil(1e9 * TURNS * rows.turn), largest(rows)

    def question(self, now: State) -> object:
        return now.network, now.image, now.device

    def outline_key(self, now: State) -> object:
        return now.replace(moment=None, chosen="")

    def test_state(self, now: State) -> str:
        path = self.rows_of(now).path
        settings = now.network.name, now.batch, now.buffers, now.disk, now.link, now.augment
        told = () if now.asked else (
            f"{path.images_per_second:.3f}", f"{path.waits:.4f}",
            f"{self._path_layout(self.scene()).now:.6f}", now.chosen,
        )  # fmt: skip
        return "|".join(map(str, (*settings, *told)))

    def says(self, scene: PageState) -> str:
        if scene.now.asked:
            return f"{text_of('title.asked').replace('*', '')} {text_of('see.asked')}"
        data_path, layout = self.rows_of(scene.now), self._path_layout(scene)
        sentences = (
            []
            if layout.moment is None
            else [data_path.at(layout.now), data_path.waiting(layout.now)]
        )
        sentences += [] if layout.chosen is None else [data_path.fact(layout.chosen)]
        if sentences and not scene.news:
            return " ".join(filter(None, sentences))
        return f"{data_path.title}. {data_path.sentences[0]}"

    def on_action(self, now: State, name: str, value: Any) -> State | None:
        if now.asked:
            return None
        layout = self._path_layout(self.scene())
        if name == "moment":
            step = min(max(int(real_number("moment", value, 0)), 0), 999)
            return now.replace(moment=(step + 0.5) / 1000 * layout.time.x.last)
        if name == "choose" and value in tuple(ascii_uppercase):
            return now.replace(chosen="" if value == now.chosen else value)
        if name == "key" and value in ("ArrowUp", "ArrowDown", "Escape"):
            return now.replace(chosen=_next_batch(layout, now.chosen, value))
        if name == "key" and value in KEYS:
            return now.replace(moment=_moment(layout, value))
        return None

    def compose(self, scene: PageState) -> Page:
        layout, data_path = self._path_layout(scene), self.rows_of(scene.now)
        if scene.now.asked:
            return self._asking(layout, scene)
        heads, rows = data_path.table(layout.time.x.last)
        blocks: list[PageBlock] = [
            Paragraphs([emphasized(data_path.finding)], 20),
            Paragraphs(_sentences(layout), 13, gap=3),
            stations(layout),
            lanes(layout),
            Key(_keys(data_path), 11, gap=2),
            Paragraphs(data_path.notes, 11, dim=True, gap=6),
            Paragraphs(data_path.lines(layout.now), drawn=False, gap=1),
            Table(heads, rows, "<" * len(heads), drawn=False, gap=1),
        ]
        return Page(data_path.title, blocks, layout.width, self.says(scene), titled=False)

    def _asking(self, layout: PathLayout, scene: PageState) -> Page:
        """Return the page while times are a question: the stations alone."""
        question = text_of("title.asked")
        blocks: list[PageBlock] = [
            Paragraphs([emphasized(question)], 20),
            Paragraphs([text_of("see.asked")], 13, gap=3),
            stations(layout),
            Paragraphs(layout.data_path.notes, 11, dim=True, gap=6),
            Paragraphs(layout.data_path.lines(layout.now)[:1], drawn=False, gap=1),
        ]
        title = question.replace("*", "")
        return Page(title, blocks, layout.width, self.says(scene), titled=False)

    def _path_layout(self, scene: PageState) -> PathLayout:
        """Return the layout of the path on a page, at the chosen moment and with the batch in
        focus."""
        data_path, now = self.rows_of(scene.now), scene.now
        before = self.rows_of(scene.previous) if scene.previous else None
        chosen = ascii_uppercase.index(now.chosen) if now.chosen else None
        return PathLayout(data_path, now.room, before, chosen, now.moment, scene.width, now.asked)


path = maker(DataPathView)


def _sized(network: Network, image: int) -> Network:
    """Return the network for images of ``image`` pixels.

    Raises:
        InputError: a network that is not from the zoo reads images of another size.
    """
    if network.input_shape[-1] == image:
        return network
    if network.name not in zoo.ZOO:
        raise InputError(_("the images of {name} are {size} pixels wide; make the network for "
                           "{image}, and give that.", name=network.name,
                           size=network.input_shape[-1], image=image))  # fmt: skip
    return network_of(name_of(network), image=image)


def _moment(layout: PathLayout, key: str) -> float:
    """Return the second that a key leads to: an event, or the start of a wait."""
    last, now = layout.time.x.last, layout.now
    if key == "KeyW":
        waits = [start for _, start, _ in layout.data_path.stalls if start < last]
        return next((start for start in waits if start > now + 1e-9), waits[0] if waits else now)
    events = [event for event in layout.data_path.events if event <= last]
    if key in ("Home", "End"):
        return events[0 if key == "Home" else -1]
    if key == "ArrowRight":
        return events[min(bisect_right(events, now + 1e-9), len(events) - 1)]
    return events[max(bisect_left(events, now - 1e-9) - 1, 0)]


def _next_batch(layout: PathLayout, here: str, key: str) -> str:
    """Return the letter of the batch before or after the one in focus. If none is in focus, return
    the one that is being computed on; after Escape, return ``''``."""
    if key == "Escape":
        return ""
    if not here:
        return layout.data_path.busy(layout.now)
    at = ascii_uppercase.index(here) + (1 if key == "ArrowDown" else -1)
    return ascii_uppercase[min(max(at, 0), len(layout.data_path.by_batch) - 1)]


# -- the page --------------------------------------------------------------------------------------


def _keys(data_path: DataPath) -> list[tuple[Paint | str, str]]:
    """Return the looks that the legend explains, with their texts."""
    texts_of = {name: text_of(f"key.{name}") for name in LOOKS}
    if data_path.decode:
        texts_of["other"] = text_of("key.decoded")
    return [(look, texts_of[name]) for name, look in LOOKS.items()]


def _sentences(layout: PathLayout) -> list[str]:
    """Return sentences on the batch in focus, on the wait at the chosen moment, or on the whole
    path."""
    data_path = layout.data_path
    if layout.chosen is not None:
        return [str(fact_of_batch(data_path, layout.chosen))]
    wait = data_path.waiting(layout.now) if layout.moment is not None else ""
    return [wait] if wait else data_path.sentences


# -- the lanes -------------------------------------------------------------------------------------


def lanes(layout: PathLayout) -> Chart:
    """Return the chart of two lanes, of the loader and of the device, with the
    copies between them."""
    x, data_path = layout.time.x, layout.data_path
    jobs = [job for job in data_path.jobs if job.start < x.last]
    marks: list[Mark] = [
        *(mark for job in jobs for mark in _job(layout, job)),
        *_waits(layout),
        *_outline(layout),
        *named((LOADER[0] + LOADER[1]) / 2, text_of("loader"), text_of("on_host")),
        *named((WORK[0] + WORK[1]) / 2, text_of("compute"), text_of("on_device")),
        Rule(x=layout.now, span=(FOOT - 6, HIGH), look="rule", width=2, above=10),
        ChartText(layout.now, HIGH, text_of("now"), 12, "middle", dy=-16, bold=True, held=True),
        Press("moment", 1000, (0, x.last, FOOT, HIGH)),
    ]
    return Chart(x, Scale(0, HIGH), marks, HIGH, layout.time.axis, left=LEFT, right=RIGHT, above=28,
                 name=text_of("lanes"), gap=4)  # fmt: skip


def _job(layout: PathLayout, job: Job) -> Iterator[Mark]:
    """Yield marks for a block with the letter of its batch, or an arrow for a copy
    over the link."""
    if job.kind == "link":
        if job.end <= layout.time.x.last:
            yield Rule(x=job.end, span=(WORK[1] + 3, LOADER[0] - 1), look="rule", width=1.6)
            yield Glyph(job.end, WORK[1] + 1, DROP, dy=-1)
            near = 6 * layout.time.pixel
            place = job.end - near, job.end + near, WORK[1], LOADER[0]
            yield Rect(*place, "target", fact=fact_of_batch(layout.data_path, job.batch))
        return
    low, high = WORK if job.lane == COMPUTE else LOADER
    end = min(job.end, layout.time.x.last)
    light = job.kind == "read"
    fact = fact_of_batch(
        layout.data_path, job.batch, layout.data_path.station(RAM)[0] if light else None
    )
    look, send = LIGHT if light else DARK, ("choose", letter(job.batch))
    yield Rect(job.start, end, low, high, look, inset=0.4, edge=0, fact=fact, send=send)
    if job.batch == layout.chosen:
        yield Rect(job.start, end, low, high, "limit")
    first = layout.data_path.pipes[1] if layout.data_path.decode else "read"
    if job.kind in (first, "compute"):
        yield from _batch_letter(layout, job, end, (low + high) / 2)


def _batch_letter(layout: PathLayout, job: Job, end: float, y: float) -> Iterator[Mark]:
    """Yield marks for the letter of a batch where there is room, for the first batch with a word on
    the operation."""
    wide = (end - job.start) / layout.time.pixel
    name = letter(job.batch)
    if not job.batch and (
        texts.width(text := text_of(f"{_word(job)}_first", batch=name), 12) < wide - 6
    ):
        name = text
    if wide > LETTER:
        places = [(job.start + share * (end - job.start), y, "middle", 0.0, 4.0)
                  for share in (0.5, 0.25, 0.75)]  # fmt: skip
        yield Label(name, places, 12)


def _word(job: Job) -> str:
    """Return the word on the first batch of an operation; the loader may read or decode."""
    return job.kind if job.kind in ("read", "compute") else "decode"


def _waits(layout: PathLayout) -> Iterator[Mark]:
    """Yield marks for the waits of compute."""
    data_path, last = layout.data_path, layout.time.x.last
    for _batch, start, stop in data_path.stalls:
        if start < last:
            end = min(stop, last)
            yield Rect(start, end, *WORK, WAIT, edge=0, fact=Fact(data_path.waiting(start)))
            if end - start > 3 * layout.time.pixel:
                yield Rect(start, end, *WORK, "rule", inset=0.5)
    key = "waits_alone" if data_path.ceases else "waits_first"
    yield ChartText(0, FOOT, text_of(key, batch=letter(0)), 12, dy=15, bold=True)


def _outline(layout: PathLayout) -> Iterator[Mark]:
    """Yield marks for the outline of the last batch that both this path and the one before have
    computed."""
    if layout.before is None:
        return
    last = layout.time.x.last
    done = [batch for batch, (after, before) in enumerate(
        zip(layout.data_path.by_batch, layout.before.by_batch, strict=False))
        if max(after["compute"].end, before["compute"].end) <= last]  # fmt: skip
    if not done:
        return
    job = layout.before.by_batch[done[-1]]["compute"]
    yield Rect(job.start, job.end, 2, FOOT - 6, "before thin")
    text = text_of("was", batch=letter(job.batch))
    places = [(job.end, 6.0, "start", 6.0, 0.0), (job.start, 6.0, "end", -6.0, 0.0)]
    yield Label(text, places, 11, dim=True)
