"""Vectors filled like glasses: the lanes that a layer fills at a batch, and what the batch costs.

Lowered, a convolution multiplies a matrix with a column for each output place of each image:
B Ho Wo of them (claim A6). A linear layer has B. A vector takes as many columns side by side as it
has lanes; or as many output channels, which are the rows of the product, of one column.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from math import floor, prod
from typing import Any, ClassVar

from memlab import formats, strings, units
from memlab.errors import InputError
from memlab.formats import WHOLE
from memlab.layers.layer import Node, text
from memlab.networks.graph import Network
from memlab.pictures.draw.chart import Axis, Chart
from memlab.pictures.draw.labels import ChartText
from memlab.pictures.draw.marks import Fact, Glyph, Line, Mark, Path, Pen, Points, Rect, Rule
from memlab.pictures.draw.page import Page
from memlab.pictures.draw.scale import LogScale, Scale
from memlab.pictures.draw.table import PageBlock, Paragraphs, SideBySide, Table
from memlab.pictures.draw.theme import FREE, PAINTS, SHAPES, Paint, colour
from memlab.pictures.live.setting import ByName, Checkbox, Range, Select, Setting, State
from memlab.pictures.live.view import PageState, View, maker
from memlab.pictures.mountain.stack_parts import StackPart
from memlab.pictures.values.number_text import ratio, three_digits
from memlab.pictures.values.step_recipe import (
    StepRecipe,
    memory_of,
    name_of,
    named_or_given,
    network_of,
)
from memlab.step.tensor import Role

COLUMNS, CHANNELS = SOURCES = "columns", "channels"
"""Sources that fill the lanes."""
WIDTHS = (128, 256, 512, 1024)
"""Bits of a vector: those of processors, and 32 threads of a GPU with 32 bits each."""
FORMATS = ("fp64", "fp32", "bf16", "fp16", "int8")
FP32 = "fp32"
_WORDS = {Fraction(1): "all", Fraction(1, 2): "half"}
STOPS = (1, 2, 4, 8, 16, 32, 64)
"""Batches of the curves."""
OFFERED = ("mnist_cnn", "alexnet", "vgg16", "googlenet", "resnet18", "resnet50", "resnet152")
MOST = 1_000_000
"""The largest batch that is drawn."""
TALL, HEAD, FOOT = 208, 74, 34
"""Pixels: a vector, and what stands above and below it."""
WIDE, GAP, SHOWN = 58, 5, 49
"""A vector where there is room, what is free between two; more of them than that are not drawn."""
APART, CELL, SIDE = 20, 8, 7
"""Between the parts of the picture; a place of the map, and how many of them are drawn."""
BRACKET = 96
"""Room for what a vector is, beside those of the linear layer."""
NARROW = 740
"""Below it the curves stand below the vectors."""
LABEL, BAR, THIN = 100, 24, 1.5
"""Room behind the price, how tall it is, and a cell in it at least, in pixels."""
MAP = PAINTS[Role.FEATURE_MAP]
SQUARE = SHAPES["square"]
LARGE = "M-6-6h12v12h-12Z"


@dataclass(frozen=True)
class LayerInLanes:
    """A layer as the lanes get it: ``columns`` for each image, ``channels`` for each column.
    ``size`` is its output map, empty for a linear layer: ``'7x7'``."""

    name: str
    size: str
    columns: int
    channels: int

    @property
    def kind(self) -> str:
        """Its name for people: ``'linear layer'``."""
        return text_of("convolution" if self.size else "linear")


@dataclass(frozen=True)
class FilledLanes:
    """``count`` values of a layer side by side in vectors of so many lanes."""

    layer: LayerInLanes
    count: int
    lanes: int

    @property
    def vectors(self) -> int:
        """How many vectors hold them."""
        return -(-self.count // self.lanes)

    @property
    def idle(self) -> int:
        """The lanes that hold none, all in the last vector."""
        return self.vectors * self.lanes - self.count

    @property
    def part(self) -> Fraction:
        """The share of lanes that are filled."""
        return Fraction(self.count, self.vectors * self.lanes)

    @property
    def share(self) -> str:
        """The idle ones of all lanes, rounded half up: ``'23 %'``."""
        share = 100 * (1 - self.part)
        return (
            text_of("little")
            if 0 < share < Fraction(1, 2)
            else f"{floor(share + Fraction(1, 2))} %"
        )

    @property
    def words(self) -> str:
        """How many of the lanes: ``'most lanes'``."""
        if self.count == 1 < self.lanes:
            return text_of("lanes.one")
        if self.part in _WORDS:
            return text_of(f"lanes.{_WORDS[self.part]}")
        nearly, most = (self.part >= bound for bound in (Fraction(9, 10), Fraction(1, 2)))
        return text_of("lanes.nearly" if nearly else "lanes.most" if most else "lanes.few")

    def inside(self, vector: int) -> int:
        """How many values one of the vectors holds, counted from 0."""
        return min(self.lanes, self.count - vector * self.lanes)


@lru_cache(maxsize=16)
def layers_of(network: Network) -> dict[str, LayerInLanes]:
    """The linear layer with the fewest columns, by ``""``, and by the size of its output the
    convolution of that size with the fewest channels, from the smallest map to the largest.

    Raises:
        InputError: it lacks one of them.
    """
    found: dict[str, LayerInLanes] = {}
    for layer in sorted(map(_layer, network.nodes), key=lambda each: (each.columns, each.channels)):
        if layer.channels:
            found.setdefault(layer.size, layer)
    for kind, there in (("linear layer", "" in found), ("convolution", any(found))):
        if not there:
            raise InputError(f"{network.label} has no {kind} to put beside the other; "
                             "try 'resnet50'.")  # fmt: skip
    return found


def _layer(node: Node) -> LayerInLanes:
    """Without channels where it is no matrix product."""
    if node.kind == "conv2d":
        return LayerInLanes(node.name, text(node.shape[1:]), prod(node.shape[1:]), node.shape[0])
    channels = node.shape[-1] if node.kind == "linear" else 0
    return LayerInLanes(node.name, "", prod(node.shape[:-1]), channels)


def sizes(network: Network) -> list[str]:
    """The output maps of its convolutions, from the smallest to the largest."""
    return [size for size in layers_of(network) if size]


@dataclass(frozen=True)
class Vectors:
    """A linear layer and a convolution of a network, at a batch, in vectors of some bits.

    Raises:
        InputError: a format, or a number of bits, that no vector has.
    """

    network: Network
    batch: int
    bits: int
    format: str
    size: str
    source: str = COLUMNS

    # -- exact figures ----------------------------------------------------------------------

    @cached_property
    def lanes(self) -> int:
        """How many values a vector holds."""
        return formats.find(self.format).lanes(self.bits)

    @cached_property
    def both(self) -> tuple[FilledLanes, FilledLanes]:
        """The linear layer, and the convolution."""
        return self.at(self.batch)

    def at(self, batch: int) -> tuple[FilledLanes, FilledLanes]:
        """The same at another batch. Of channels, those of one column, at every batch."""
        found = layers_of(self.network)
        linear, convolution = (self._filled(found[size], batch) for size in ("", self.size))
        return linear, convolution

    def _filled(self, layer: LayerInLanes, batch: int) -> FilledLanes:
        count = layer.channels if self.source == CHANNELS else batch * layer.columns
        return FilledLanes(layer, count, self.lanes)

    @property
    def priced(self) -> bool:
        """Whether a training step can keep its maps in the format."""
        return self.format in WHOLE

    @cached_property
    def nbytes(self) -> int:
        """The most bytes of feature maps inside one operation of a training step; 0 where it has
        no price."""
        if not self.priced:
            return 0
        lines = memory_of(StepRecipe(self.network, format=self.format)).lines
        stays, grows = (lines[StackPart(Role.FEATURE_MAP, grows)] for grows in (False, True))
        return int((stays + self.batch * grows).max())

    def said(self, found: FilledLanes, vector: int) -> str:
        """``'vector 2: columns 33 to 49 of image 1, 15 lanes idle'``."""
        first, inside = vector * found.lanes, found.inside(vector)
        (image, start), (last, end) = (divmod(n, found.layer.columns)
                                       for n in (first, first + inside - 1))  # fmt: skip
        key = "one" if image == last else "several"
        if found.layer.columns == 1:
            key = "image" if image == last else "images"
        if self.source == CHANNELS:
            key, start, end = "channels", first, first + inside - 1
        values = text_of(f"holds.{key}", image=f"{image + 1:,}", last=f"{last + 1:,}",
                     first=f"{start + 1:,}", end=f"{end + 1:,}")  # fmt: skip
        idle = found.lanes - inside
        left = text_of("idle_one" if idle == 1 else "idle_several", count=idle or text_of("none"))
        return text_of("vector", layer=found.layer.kind, number=f"{vector + 1:,}", values=values,
                   idle=left)  # fmt: skip

    # -- in words ---------------------------------------------------------------------------

    @property
    def title(self) -> str:
        values = {"network": self.network.label, "batch": f"{self.batch:,}", "bits": self.bits}
        return text_of("title", **values, format=self.format, lanes=self.lanes)

    @property
    def headline(self) -> str:
        """The finding; what it stresses is between stars."""
        linear, convolution = self.both
        images = text_of("image") if self.batch == 1 else text_of("images", count=f"{self.batch:,}")
        values = {"images": images, "format": self.format, "linear": linear.words,
                  "convolution": convolution.words, "first": self.at(1)[1].words}  # fmt: skip
        return text_of(f"headline.{self._case}", **values)

    @property
    def _case(self) -> str:
        """Which finding it is."""
        linear, _ = self.both
        if self.source == CHANNELS:
            return "channels"
        if linear.part < 1 or self.batch == 1:
            return "one" if self.batch == 1 else "several"
        if self.halved:
            return "halved"
        return "little" if self.at(1)[1].part >= Fraction(3, 4) else "full"

    @cached_property
    def halved(self) -> Vectors | None:
        """The same with half the batch in fp32, where that costs as much: within 1 in 100."""
        if self.batch % 2 or not self.nbytes or formats.find(self.format).bits != 16:
            return None
        found = replace(self, batch=self.batch // 2, format=FP32)
        return found if abs(found.nbytes - self.nbytes) < self.nbytes / 100 else None

    def sentence(self, before: Vectors | None = None) -> str:
        """A hint at what there is to see, or the change."""
        if self._case == "halved":
            return text_of("halved", count=f"{self.batch // 2:,}")
        if before is None or not self._beside(before):
            return text_of(f"see.{self.source}")
        less, more = sorted((before.nbytes, self.nbytes))
        key = "changed.more" if self.nbytes == more else "changed.less"
        return text_of(key, share=before.both[1].share, ratio=ratio(more / less))

    def _beside(self, before: Vectors) -> bool:
        """Whether only the batch has changed, and with it the price."""
        same = replace(self, batch=before.batch) == before
        return same and 0 != self.nbytes != before.nbytes and self.source == COLUMNS

    @property
    def price(self) -> str:
        """``'80,293,376 B'``."""
        return units.exact(self.nbytes) if self.priced else text_of("unpriced", format=self.format)

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Heads and rows: what each layer gives, and the lanes that it leaves."""
        keys = ("layer", f"each_{self.source}", self.source, "vectors", "lanes", "share")
        rows = []
        for found in self.both:
            layer = found.layer
            each = layer.columns if self.source == COLUMNS else layer.channels
            rows.append([layer_name(layer), f"{each:,}", f"{found.count:,}", f"{found.vectors:,}",
                         f"{found.idle:,}", found.share])  # fmt: skip
        return [text_of(f"head.{key}") for key in keys], rows

    def by_batch(self) -> tuple[list[str], list[list[str]]]:
        """Heads and rows: the idle share of each layer at every stop."""
        at = [self.at(batch) for batch in STOPS]
        rows = [[layer_name(self.both[i].layer), *(found[i].share for found in at)] for i in (0, 1)]
        return [text_of("head.batch"), *map(str, STOPS)], rows


def layer_name(layer: LayerInLanes) -> str:
    """``'convolution 4.0.conv2, 7x7 outputs'``."""
    outputs = text_of("outputs", size=layer.size) if layer.size else ""
    return ", ".join(filter(None, (f"{layer.kind} {layer.name}", outputs)))


def text_of(key: str, /, **values: object) -> str:
    """A text about vectors."""
    return strings.get(f"vectors.{key}", **values)


# -- the view ---------------------------------------------------------------------------------


def _networks(now: State) -> dict[str, str]:
    """The titles to choose from by name, and that of what is shown."""
    titles = {name: network_of(name).title for name in OFFERED}
    return titles | {now.network.name: now.network.title}


class FilledVectors(View[Vectors]):
    """The lanes that a linear layer and a convolution fill, and what the batch costs."""

    name, made_by = "vectors", "vectors"
    positional = ("network", "batch")
    presets: ClassVar = {
        "surprise": lambda now: {"network": now.network, "batch": 64, "format": "fp16"}
    }
    picture_keys = ("ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Enter", "Escape")

    network = ByName(
        _networks,
        doc="a name of ``memlab.zoo``, or a network of yours",
        default="resnet50",
        check=named_or_given,
        place="more",
        code="plain",
        write=lambda network: repr(name_of(network)),
    )
    batch = Range(
        1, MOST, doc="the mini-batch size", default=1, stops=STOPS, box=True, code="always"
    )
    bits = Select(WIDTHS, doc="of a vector: 128, 256, 512 or 1024", default=1024, code="always")
    format = Select(FORMATS, doc="of each value", default=FP32, code="always")
    convolution = Select(
        lambda now: {size: text_of("outputs", size=size) for size in sizes(now.network)},
        doc='the output of the convolution, such as ``"14x14"``; the smallest if not given',
        default=lambda now: sizes(now.network)[0],
        follows=["network"],
    )
    source = Select(
        SOURCES, doc='what fills the lanes, ``"columns"`` or output ``"channels"``', place="more"
    )
    numbers = Checkbox(doc="whether all numbers are shown", argument=False, stays=True, key="KeyN")
    chosen: Setting[str] = Setting(
        doc="the vector that the keyboard is on", default="", argument=False, fixed=True
    )

    def study(self, now: State) -> Vectors:
        return Vectors(now.network, now.batch, now.bits, now.format, now.convolution, now.source)

    def outline_key(self, now: State) -> object:
        return now.replace(numbers=False, chosen="")

    def test_state(self, now: State) -> str:
        found = self.rows_of(now)
        idle = (each.idle for each in found.both)
        return "|".join(map(str, (now.batch, now.bits, now.format, now.convolution, now.source,
                                  *idle, found.nbytes)))  # fmt: skip

    def says(self, scene: PageState) -> str:
        found = self.rows_of(scene.now)
        finding = found.headline.replace("*", "")
        return self.fact(scene) or f"{finding}. {found.sentence(self._old(scene))}"

    def fact(self, scene: PageState) -> str:
        index, _, vector = scene.now.chosen.partition(":")
        if not vector:
            return ""
        found = self.rows_of(scene.now)
        layer = found.both[int(index)]
        return found.said(layer, min(int(vector), layer.vectors - 1))

    def on_action(self, now: State, name: str, value: Any) -> State | None:
        if name != "key":
            return None
        stops = {"ArrowLeft": [s for s in STOPS if s < now.batch][-1:],
                 "ArrowRight": [s for s in STOPS if s > now.batch][:1]}  # fmt: skip
        if value in stops:
            return self.changed(now, batch=(*stops[value], now.batch)[0])
        if value in ("ArrowUp", "ArrowDown"):
            return now.replace(chosen=f"{int(value == 'ArrowDown')}:0")
        if value == "Enter":
            index, _, vector = (now.chosen or "0:-1").partition(":")
            count = self.rows_of(now).both[int(index)].vectors
            return now.replace(chosen=f"{index}:{(int(vector) + 1) % count}")
        return now.replace(chosen="") if value == "Escape" else None

    def _old(self, scene: PageState) -> Vectors | None:
        return self.rows_of(scene.previous) if scene.previous else None

    def compose(self, scene: PageState) -> Page:
        found, old = self.rows_of(scene.now), self._old(scene)
        runs = [(part, bool(at % 2)) for at, part in enumerate(found.headline.split("*")) if part]
        blocks: list[PageBlock] = [
            Paragraphs([found.title], drawn=False),
            Paragraphs([runs], 16, gap=3),
            Paragraphs(found.sentence(old), 13),
            *_lanes(found, old, scene.width),
            *_price(found, old, scene.width),
            Paragraphs(text_of("told", price=found.price), drawn=scene.now.numbers, gap=6),
            Table(*found.table(), drawn=scene.now.numbers, gap=6),
            Table(*found.by_batch(), drawn=scene.now.numbers, gap=6),
        ]
        return Page(found.title, blocks, scene.width, self.says(scene), titled=False)


vectors = maker(FilledVectors)


# -- vectors --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class VectorCells(Mark):
    """``across`` bars side by side, ``gap`` pixels apart, each with a line between the ``up`` cells
    that it is made of."""

    x0: float
    x1: float
    y0: float
    y1: float
    across: int = 1
    up: int = 1
    gap: float = 0
    look: Paint = MAP

    def draw(self, pen: Pen) -> None:
        left, top, right, bottom = pen.place(self.x0, self.x1, self.y0, self.y1)
        pitch, tall = (right - left + self.gap) / self.across, (bottom - top) / self.up
        wide = pitch - self.gap
        bars = (f"M{left + pitch * i:.1f} {top:.1f}h{wide:.2f}V{bottom:.1f}h-{wide:.2f}Z"
                for i in range(self.across))  # fmt: skip
        pen.svg.fill("".join(bars), self.look, 0.8 if self.look.tint else 0.4)
        lines = "".join(f"M{left:.1f} {top + tall * i:.1f}H{right:.1f}" for i in range(1, self.up))
        if lines:
            pen.svg.path(lines, stroke=self.look.colour, stroke_width=min(0.8, tall / 5),
                         stroke_dasharray=f"{wide:.2f} {self.gap:.2f}",
                         stroke_opacity=None if self.look.tint else 0.3)  # fmt: skip

    def on(self, axes: Any) -> None:
        pitch, tall = (self.x1 - self.x0 + self.gap) / self.across, (self.y1 - self.y0) / self.up
        for index in range(self.across):
            x = self.x0 + pitch * index
            Rect(x, x + pitch - self.gap, self.y0, self.y1, self.look).on(axes)
            axes.hlines([self.y0 + tall * i for i in range(1, self.up)], x, x + pitch - self.gap,
                        linewidth=0.4, color=colour(self.look.colour))  # fmt: skip


def _lanes(found: Vectors, old: Vectors | None, width: float) -> Iterator[PageBlock]:
    """A linear layer, a convolution, and both at any batch."""
    narrow = width < NARROW
    room = width - APART * (1 if narrow else 2)
    shares = (0.36, 0.64) if narrow else (0.24, 0.50)
    rooms = [share * room for share in shares]
    linear, convolution = found.both
    pitch = min(WIDE + GAP, rooms[1] / min(convolution.vectors, SHOWN),
                (rooms[0] - BRACKET) / min(linear.vectors, 12))  # fmt: skip
    same = old is not None and (old.lanes, old.source) == (found.lanes, found.source)
    before = old.both if old and same else (None, None)
    glasses: list[tuple[PageBlock, float]] = [
        (_glasses(found, each, was, pitch, wide), wide)
        for each, was, wide in zip(found.both, before, rooms, strict=True)
    ]
    if narrow:
        yield SideBySide(glasses, APART, gap=12)
        yield _curves(found, 120)
    else:
        yield SideBySide([*glasses, (_curves(found, TALL), room - sum(rooms))], APART, gap=12)


def _glasses(
    found: Vectors, each: FilledLanes, was: FilledLanes | None, pitch: float, room: float
) -> Chart:
    """The vectors of a layer; at most as many as there is room for, and the last one."""
    linear = each is found.both[0]
    gap = min(GAP, 0.2 * pitch)
    fits = int((room - BRACKET * linear + gap + 0.01) / pitch)
    cut = each.vectors > fits
    shown = fits - 3 if cut else each.vectors - 1
    last = pitch * (fits - 1 if cut else shown)
    wide = pitch - gap
    full = (
        [VectorCells(0, pitch * shown - gap, 0, TALL, shown, each.lanes, gap)] if shown > 0 else []
    )
    marks = [*_head(found, each), *full, *_last(each, last, wide)]
    if cut:
        marks.append(ChartText(last - pitch - gap / 2, TALL / 2, "…", 12, "middle"))
    places = {**{i: pitch * i for i in range(shown)}, each.vectors - 1: last}
    for index, x in places.items():
        fact = Fact(found.said(each, index))
        marks.append(Rect(x, x + wide, 0, TALL, "target", fact=fact))
    if linear:
        marks += _bracket(found, last + wide + 5)
    old = list(_outlines(was, pitch, gap, fits)) if was and was != each else []
    return Chart(Scale(0, room), Scale(0, TALL), marks, TALL, left=0, right=0, above=HEAD,
                 below=FOOT, previous=old)  # fmt: skip


def _outlines(was: FilledLanes, pitch: float, gap: float, fits: int) -> Iterator[Mark]:
    """Outlines of what the state before filled, as far as there is room for it."""
    full = min(was.count // was.lanes, fits)
    if full:
        yield Rect(0, pitch * full - gap, 0, TALL)
    if was.idle and full < fits:
        level = TALL * was.inside(was.vectors - 1) / was.lanes
        yield Rect(pitch * full, pitch * (full + 1) - gap, 0, level)


def _last(each: FilledLanes, x: float, wide: float) -> Iterator[Mark]:
    """The only one that can have idle lanes."""
    inside = each.inside(each.vectors - 1)
    level = TALL * inside / each.lanes
    yield VectorCells(x, x + wide, 0, level, 1, inside)
    if inside < each.lanes:
        yield VectorCells(x, x + wide, level, TALL, 1, each.lanes - inside, look=FREE)


def _head(found: Vectors, each: FilledLanes) -> Iterator[Mark]:
    """Values that one image gives, as places of its map; idle lanes and vectors below."""
    layer, top = each.layer, TALL + HEAD
    channels = found.source == CHANNELS
    count = layer.channels if channels else layer.columns
    places = "1x1" if channels or not layer.size else layer.size
    rows, wide = (min(int(side), SIDE) for side in places.split("x"))
    right = CELL * wide
    yield VectorCells(0, right, top - CELL * rows, top, wide, rows)
    if rows * wide < layer.columns and not channels:
        yield ChartText(right + 3, top - CELL * rows, "…", 11, dim=True)
    key = "channels" if channels else "columns_one" if count == 1 else "columns"
    yield ChartText(right + 10, top, layer.kind.capitalize(), 13, dy=11, bold=True)
    yield ChartText(right + 10, top, text_of(f"gives.{key}", count=f"{count:,}"), 12, dy=29)
    idle = [(each.share, True), (f" {text_of('idle')}", False)]
    key = "vectors_one" if each.vectors == 1 else "vectors"
    yield ChartText(0, 0, idle, 16, dy=24)
    yield ChartText(92, 0, text_of(f"gives.{key}", count=f"{each.vectors:,}"), 12, dy=24)


def _bracket(found: Vectors, x: float) -> Iterator[Mark]:
    """A bracket that says what one bar is."""
    yield Path([(x, 0), (x + 5, 0), (x + 5, TALL), (x, TALL)], "rule", closed=False)
    yield ChartText(x + 12, TALL / 2, text_of("one_vector"), 12, bold=True)
    yield ChartText(x + 12, TALL / 2, text_of("lanes.count", count=found.lanes), 12, dy=16)


# -- at any batch ---------------------------------------------------------------------------------


def _curves(found: Vectors, tall: float) -> Chart:
    """How far the lanes are filled, on the scale of the bars."""
    batches = sorted({*STOPS, min(found.batch, STOPS[-1])})
    at = {batch: found.at(batch) for batch in batches}
    marks: list[Mark] = list(_legend(found, tall))
    if found.batch <= STOPS[-1]:
        marks.append(Rule(found.batch, look="rule", opacity=0.5))
    for index in (0, 1):
        marks.append(Line([(b, float(at[b][index].part)) for b in batches], width=1.6))
    for batch in batches:
        for index in (1, 0):
            marks.append(_point(at[batch][index], batch, batch == found.batch, index))
    ticks = [(1, "1"), (8, text_of("batch")), (64, "64")]
    edge = 2**0.4
    return Chart(LogScale(1 / edge, 64 * edge), Scale(0, 1), marks, tall, Axis(grid=False,
                 ticks=ticks),
                 left=0, right=0, above=HEAD)  # fmt: skip


def _point(each: FilledLanes, batch: int, here: bool, index: int) -> Mark:
    fact = Fact(
        f"{each.layer.kind}, {text_of('batch')} {batch:,}", f"{each.share} {text_of('idle')}"
    )
    y = float(each.part)
    if index:
        return Glyph(batch, y, LARGE if here else SQUARE, marker="s", fact=fact)
    return Points([(batch, y)], "hollow", 11 if here else 7.2, fact)


def _legend(found: Vectors, tall: float) -> Iterator[Mark]:
    """The legend of the curves."""
    left, top = 2**-0.4, 1 + HEAD / tall
    yield Rule(y=1)
    yield ChartText(left, top, text_of("any"), 13, dy=11, bold=True)
    yield ChartText(left, top, text_of("any_note"), 12, dy=29)
    yield ChartText(left, 1, text_of("all"), 11, dy=-11, dim=True)
    linear, convolution = found.both
    key = top - 42 / tall
    yield Glyph(left * 2**0.15, key, SQUARE, marker="s")
    yield ChartText(left * 2**0.15, key, convolution.layer.kind, 12, dx=9, dy=4)
    yield Points([(left * 2**3.2, key)], "hollow", 7.2)
    yield ChartText(left * 2**3.2, key, linear.layer.kind, 12, dx=9, dy=4)


# -- the price ------------------------------------------------------------------------------------


def _price(found: Vectors, old: Vectors | None, width: float) -> Iterator[PageBlock]:
    """The feature maps of a training step, an image a cell: 64 in fp32 reach to the end."""
    room = width - LABEL
    most = replace(found, batch=STOPS[-1], format=FP32).nbytes
    long, before = (room * each.nbytes / most if each else 0 for each in (found, old))
    cells = found.batch if min(long, room) / found.batch > THIN else 1
    notes = [
        text_of("price_note", network=found.network.title),
        text_of("cell") * (cells == found.batch),
    ]
    head = [(text_of("price"), True), *((note, False) for note in notes if note)]
    label = text_of("unpriced", format=found.format)
    if found.priced:
        label = "… " * (long > room) + three_digits(found.nbytes)
    bar = [VectorCells(0, min(long, room), 0, BAR, cells)] if found.priced else []
    text = ChartText(
        min(long, room) + 8 * found.priced, BAR / 2, label, 14, dy=5, bold=found.priced
    )
    outline = [Rect(0, min(before, room), -3, BAR + 3)] if before else []
    yield Paragraphs([head] if found.priced else [head[:1]], 12, gap=8)
    yield Chart(Scale(0, width), Scale(0, BAR), [*bar, text], BAR, left=0, right=0, below=2,
                previous=outline, told=[label], gap=6)  # fmt: skip
