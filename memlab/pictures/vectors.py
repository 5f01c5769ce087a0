"""Vectors filled like glasses: the lanes that a layer fills at a batch, and the bytes of that
batch.

Lowered, a convolution is a matrix product with a column for each output place of each image: B Ho
Wo columns (claim A6). A linear layer has B columns. The lanes of a vector hold columns side by
side, or output channels, which are the rows of the product, of one column.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from math import floor, prod
from operator import attrgetter
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
from memlab.pictures.draw.svg import PHONE
from memlab.pictures.draw.table import PageBlock, Paragraphs, SideBySide, Table
from memlab.pictures.draw.theme import FREE, PAINTS, SHAPES, Paint, colour
from memlab.pictures.live.setting import ByName, Checkbox, Range, Select, Setting, State
from memlab.pictures.live.view import PageState, View, maker
from memlab.pictures.mountain.stack_parts import StackPart
from memlab.pictures.values.network_setting import network_setting
from memlab.pictures.values.number_text import ratio, three_digits
from memlab.pictures.values.step_recipe import StepRecipe, memory_of, network_of
from memlab.step.tensor import Role

COLUMNS, CHANNELS = SOURCES = "columns", "channels"
"""Values of a layer that fill the lanes."""
WIDTHS = (128, 256, 512, 1024)
"""Bits of a vector: those of processors, and 32 threads of a GPU with 32 bits each."""
FORMATS = ("fp64", "fp32", "bf16", "fp16", "int8")
FP32 = "fp32"
_WORDS = {Fraction(1): "all", Fraction(1, 2): "half"}
STOPS = (1, 2, 4, 8, 16, 32, 64)
"""Batches of the curves and of the slider."""
OFFERED = ("mnist_cnn", "alexnet", "vgg16", "googlenet", "resnet18", "resnet50", "resnet152")
MOST = 1_000_000
"""Largest batch that is drawn."""
TALL, HEAD, FOOT = 208, 74, 34
"""Pixels: height of a vector, room above and room below it."""
WIDE, GAP, SHOWN = 58, 5, 49
"""Pixels: largest width of a vector, gap between two. Largest number of vectors that are drawn."""
APART, CELL, SIDE = 20, 8, 7
"""Pixels between the parts of the picture, and of a place of the map; largest number of places
that are drawn in a row."""
BRACKET = 96
"""Pixels for the words that explain a vector, right of the linear layer."""
NARROW = 740
"""Width in pixels of a page below which the curves stand below the vectors."""
LABEL, BAR, THIN = 100, 24, 1.5
"""Pixels: room behind the bar of bytes, its height, and least width of a cell in it."""
MAP = PAINTS[Role.FEATURE_MAP]
SQUARE = SHAPES["square"]
LARGE = "M-6-6h12v12h-12Z"


@dataclass(frozen=True)
class LayerInLanes:
    """A layer as a matrix product: ``columns`` for each image, ``channels`` for each column.
    ``size`` is the size of its output map, ``'7x7'``; empty for a linear layer."""

    name: str
    size: str
    columns: int
    channels: int

    @property
    def kind(self) -> str:
        """Kind of the layer in words: ``'linear layer'``."""
        return text_of("convolution" if self.size else "linear")


@dataclass(frozen=True)
class FilledLanes:
    """``count`` values of a layer side by side in vectors of ``lanes`` lanes."""

    layer: LayerInLanes
    count: int
    lanes: int

    @property
    def vectors(self) -> int:
        """Number of vectors that hold the values."""
        return -(-self.count // self.lanes)

    @property
    def idle(self) -> int:
        """Number of lanes without a value, all in the last vector."""
        return self.vectors * self.lanes - self.count

    @property
    def part(self) -> Fraction:
        """Share of the lanes that are filled."""
        return Fraction(self.count, self.vectors * self.lanes)

    @property
    def share(self) -> str:
        """Idle lanes in percent of all lanes, rounded half up: ``'23 %'``."""
        share = 100 * (1 - self.part)
        return (
            text_of("little")
            if 0 < share < Fraction(1, 2)
            else f"{floor(share + Fraction(1, 2))} %"
        )

    @property
    def words(self) -> str:
        """Filled share in words: ``'most lanes'``."""
        if self.count == 1 < self.lanes:
            return text_of("lanes.one")
        if self.part in _WORDS:
            return text_of(f"lanes.{_WORDS[self.part]}")
        nearly, most = (self.part >= bound for bound in (Fraction(9, 10), Fraction(1, 2)))
        return text_of("lanes.nearly" if nearly else "lanes.most" if most else "lanes.few")

    def inside(self, vector: int) -> int:
        """Return the number of values in a vector, which is counted from 0."""
        return min(self.lanes, self.count - vector * self.lanes)


@lru_cache(maxsize=16)
def layers_of(network: Network) -> dict[str, LayerInLanes]:
    """Return the layers to show: a linear layer by ``""``, and a convolution by each size of an
    output map, from the smallest map to the largest.

    The linear layer is the one with the fewest columns, the convolution of a size the one with the
    fewest channels.

    Raises:
        InputError: the network has no linear layer or no convolution.
    """
    layers: dict[str, LayerInLanes] = {}
    for layer in sorted(map(_layer, network.nodes), key=attrgetter("columns", "channels")):
        if layer.channels:
            layers.setdefault(layer.size, layer)
    for kind, there in (("linear layer", "" in layers), ("convolution", any(layers))):
        if not there:
            raise InputError(f"{network.label} has no {kind} to put beside the other; "
                             "try 'resnet50'.")  # fmt: skip
    return layers


def _layer(node: Node) -> LayerInLanes:
    """Return a node as a matrix product; without channels where it is none."""
    if node.kind == "conv2d":
        return LayerInLanes(node.name, text(node.shape[1:]), prod(node.shape[1:]), node.shape[0])
    channels = node.shape[-1] if node.kind == "linear" else 0
    return LayerInLanes(node.name, "", prod(node.shape[:-1]), channels)


def sizes(network: Network) -> list[str]:
    """Return the sizes of the output maps of a network's convolutions, from the smallest to the
    largest."""
    return [size for size in layers_of(network) if size]


@dataclass(frozen=True)
class Vectors:
    """A linear layer and a convolution of a network, at a batch, in vectors of some bits.

    Args:
        network: the network.
        batch: number of samples.
        bits: bits of a vector.
        format: number format of a value.
        size: size of the convolution's output map, such as ``"7x7"``.
        source: ``"columns"`` or ``"channels"``, the values that lie side by side.

    Raises:
        InputError: a format or a number of bits that no vector has.
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
        """Number of lanes: values of the chosen format that fit into one SIMD vector."""
        return formats.find(self.format).lanes(self.bits)

    @cached_property
    def both(self) -> tuple[FilledLanes, FilledLanes]:
        """Filled lanes of the linear layer, and of the convolution."""
        return self.at(self.batch)

    def at(self, batch: int) -> tuple[FilledLanes, FilledLanes]:
        """Return the filled lanes of both layers at another batch. Channels are those of one
        column, the same at every batch."""
        layers = layers_of(self.network)
        linear, convolution = (self._filled(layers[size], batch) for size in ("", self.size))
        return linear, convolution

    def _filled(self, layer: LayerInLanes, batch: int) -> FilledLanes:
        """Return the filled lanes of a layer at a batch."""
        count = layer.channels if self.source == CHANNELS else batch * layer.columns
        return FilledLanes(layer, count, self.lanes)

    @property
    def priced(self) -> bool:
        """True if a training step can keep its feature maps in the format."""
        return self.format in WHOLE

    @cached_property
    def nbytes(self) -> int:
        """Largest bytes of feature maps in any operation of a training step; 0 where no step can
        keep maps in the format."""
        if not self.priced:
            return 0
        lines = memory_of(StepRecipe(self.network, format=self.format)).lines
        stays, grows = (lines[StackPart(Role.FEATURE_MAP, grows)] for grows in (False, True))
        return int((stays + self.batch * grows).max())

    def vector_text(self, filled: FilledLanes, vector: int) -> str:
        """Return the content of one vector in words: ``'vector 2: columns 33 to 49 of image 1, 15
        lanes idle'``."""
        first, inside = vector * filled.lanes, filled.inside(vector)
        (image, start), (last, end) = (divmod(n, filled.layer.columns)
                                       for n in (first, first + inside - 1))  # fmt: skip
        key = "one" if image == last else "several"
        if filled.layer.columns == 1:
            key = "image" if image == last else "images"
        if self.source == CHANNELS:
            key, start, end = "channels", first, first + inside - 1
        values = text_of(f"holds.{key}", image=f"{image + 1:,}", last=f"{last + 1:,}",
                     first=f"{start + 1:,}", end=f"{end + 1:,}")  # fmt: skip
        idle = filled.lanes - inside
        left = text_of("idle_one" if idle == 1 else "idle_several", count=idle or text_of("none"))
        return text_of("vector", layer=filled.layer.kind, number=f"{vector + 1:,}", values=values,
                   idle=left)  # fmt: skip

    # -- in words ---------------------------------------------------------------------------

    @property
    def title(self) -> str:
        values = {"network": self.network.label, "batch": f"{self.batch:,}", "bits": self.bits}
        return text_of("title", **values, format=self.format, lanes=self.lanes)

    @property
    def headline(self) -> str:
        """The finding in a sentence; its stressed part stands between asterisks."""
        linear, convolution = self.both
        images = text_of("image") if self.batch == 1 else text_of("images", count=f"{self.batch:,}")
        values = {"images": images, "format": self.format, "linear": linear.words,
                  "convolution": convolution.words, "first": self.at(1)[1].words}  # fmt: skip
        return text_of(f"headline.{self._finding}", **values)

    @property
    def _finding(self) -> str:
        """Return the key of the text that states the finding."""
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
        """The vectors with half the batch in fp32, if that has the same bytes within 1 in 100, else
        None."""
        if self.batch % 2 or not self.nbytes or formats.find(self.format).bits != 16:
            return None
        half = replace(self, batch=self.batch // 2, format=FP32)
        return half if abs(half.nbytes - self.nbytes) < self.nbytes / 100 else None

    def sentence(self, before: Vectors | None = None) -> str:
        """Return a hint what to see, or the change since the previous state."""
        if self._finding == "halved":
            return text_of("halved", count=f"{self.batch // 2:,}")
        if before is None or not self._only_batch_changed(before):
            return text_of(f"see.{self.source}")
        less, more = sorted((before.nbytes, self.nbytes))
        key = "changed.more" if self.nbytes == more else "changed.less"
        return text_of(key, share=before.both[1].share, ratio=ratio(more / less))

    def _only_batch_changed(self, before: Vectors) -> bool:
        """True if only the batch differs from the previous state, and with it the bytes."""
        same = replace(self, batch=before.batch) == before
        return same and 0 != self.nbytes != before.nbytes and self.source == COLUMNS

    @property
    def price(self) -> str:
        """Exact bytes of the feature maps: ``'80,293,376 B'``."""
        return units.exact(self.nbytes) if self.priced else text_of("unpriced", format=self.format)

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return heads and rows of a table: values, vectors and idle lanes of each layer."""
        keys = ("layer", f"each_{self.source}", self.source, "vectors", "lanes", "share")
        rows = []
        for filled in self.both:
            layer = filled.layer
            count = layer.columns if self.source == COLUMNS else layer.channels
            counts = (count, filled.count, filled.vectors, filled.idle)
            rows.append([layer_name(layer), *(f"{n:,}" for n in counts), filled.share])  # fmt: skip
        return [text_of(f"head.{key}") for key in keys], rows

    def by_batch(self) -> tuple[list[str], list[list[str]]]:
        """Return heads and rows of a table: idle share of each layer at batches from 1 to 64."""
        at = [self.at(batch) for batch in STOPS]
        rows = [[layer_name(self.both[i].layer), *(pair[i].share for pair in at)] for i in (0, 1)]
        return [text_of("head.batch"), *map(str, STOPS)], rows


def layer_name(layer: LayerInLanes) -> str:
    """Return the display name of a layer: ``'convolution 4.0.conv2, 7x7 outputs'``."""
    outputs = text_of("outputs", size=layer.size) if layer.size else ""
    return ", ".join(filter(None, (f"{layer.kind} {layer.name}", outputs)))


def text_of(key: str, /, **values: object) -> str:
    """Return a text about vectors from the language files."""
    return strings.get(f"vectors.{key}", **values)


# -- the view ---------------------------------------------------------------------------------


def _networks(now: State) -> dict[str, str]:
    """Return the titles of the networks to choose from, by name, with that of the network on
    display."""
    titles = {name: network_of(name).title for name in OFFERED}
    return titles | {now.network.name: now.network.title}


class FilledVectors(View[Vectors]):
    """The lanes that a linear layer and a convolution fill at a batch, and the bytes of that batch.

    >>> view = memlab.views.vectors("resnet50", batch=32)
    >>> print(view.rows.headline)
    32 images fill the linear layer. *One image already filled most of the convolution*
    >>> view.rows.at(batch=1)[0].share
    '97 %'
    """

    name, made_by = "vectors", "vectors"
    positional = ("network", "batch")
    presets: ClassVar = {
        "surprise": lambda now: {"network": now.network, "batch": 64, "format": "fp16"}
    }
    picture_keys = ("ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Enter", "Escape")

    network = network_setting(ByName, options=_networks, default="resnet50", place="more")
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
        vectors = self.rows_of(now)
        idle = (filled.idle for filled in vectors.both)
        return "|".join(map(str, (now.batch, now.bits, now.format, now.convolution, now.source,
                                  *idle, vectors.nbytes)))  # fmt: skip

    def says(self, scene: PageState) -> str:
        vectors = self.rows_of(scene.now)
        finding = vectors.headline.replace("*", "")
        return self.fact(scene) or f"{finding}. {vectors.sentence(self._previous(scene))}"

    def fact(self, scene: PageState) -> str:
        index, _, vector = scene.now.chosen.partition(":")
        if not vector:
            return ""
        vectors = self.rows_of(scene.now)
        layer = vectors.both[int(index)]
        return vectors.vector_text(layer, min(int(vector), layer.vectors - 1))

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

    def _previous(self, scene: PageState) -> Vectors | None:
        """Return the vectors of the previous state, or None."""
        return self.rows_of(scene.previous) if scene.previous else None

    def compose(self, scene: PageState) -> Page:
        vectors, old = self.rows_of(scene.now), self._previous(scene)
        runs = [(part, bool(at % 2)) for at, part in enumerate(vectors.headline.split("*")) if part]
        blocks: list[PageBlock] = [
            Paragraphs([vectors.title], drawn=False),
            Paragraphs([runs], 16, gap=3),
            Paragraphs(vectors.sentence(old), 13),
            *_layer_blocks(vectors, old, scene.width),
            *_price(vectors, old, scene.width),
            Paragraphs(text_of("told", price=vectors.price), drawn=scene.now.numbers, gap=6),
            Table(*vectors.table(), drawn=scene.now.numbers, gap=6),
            Table(*vectors.by_batch(), drawn=scene.now.numbers, gap=6),
        ]
        return Page(vectors.title, blocks, scene.width, self.says(scene), titled=False)


vectors = maker(FilledVectors)


# -- vectors --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class VectorCells(Mark):
    """``across`` bars side by side, ``gap`` pixels apart; lines divide each into ``up`` cells."""

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


def _layer_blocks(vectors: Vectors, old: Vectors | None, width: float) -> Iterator[PageBlock]:
    """Yield the vectors of the linear layer and of the convolution, and the curves of both at any
    batch."""
    narrow, phone = width < NARROW, width < PHONE
    room = width - APART * (0 if phone else 1 if narrow else 2)
    shares = (1.0, 1.0) if phone else (0.36, 0.64) if narrow else (0.24, 0.50)
    rooms = [share * room for share in shares]
    linear, convolution = vectors.both
    pitch = min(WIDE + GAP, rooms[1] / min(convolution.vectors, SHOWN),
                (rooms[0] - BRACKET) / min(linear.vectors, 12))  # fmt: skip
    same = old is not None and (old.lanes, old.source) == (vectors.lanes, vectors.source)
    before = old.both if old and same else (None, None)
    layers: list[tuple[PageBlock, float]] = [
        (_layer_chart(vectors, filled, previous, pitch, wide), wide)
        for filled, previous, wide in zip(vectors.both, before, rooms, strict=True)
    ]
    if narrow:
        yield SideBySide(layers, APART, gap=12)
        yield _curves(vectors, 120)
    else:
        yield SideBySide([*layers, (_curves(vectors, TALL), room - sum(rooms))], APART, gap=12)


def _layer_chart(
    vectors: Vectors, filled: FilledLanes, previous: FilledLanes | None, pitch: float, room: float
) -> Chart:
    """Return the chart of a layer's vectors; where there is no room for all, the first ones and the
    last."""
    linear = filled is vectors.both[0]
    gap = min(GAP, 0.2 * pitch)
    fits = int((room - BRACKET * linear + gap + 0.01) / pitch)
    cut = filled.vectors > fits
    count = fits - 3 if cut else filled.vectors - 1
    last = pitch * (fits - 1 if cut else count)
    wide = pitch - gap
    cells = VectorCells(0, pitch * count - gap, 0, TALL, count, filled.lanes, gap)
    full = [cells] if count > 0 else []
    marks = [*_layer_head(vectors, filled), *full, *_last_vector(filled, last, wide)]
    if cut:
        marks.append(ChartText(last - pitch - gap / 2, TALL / 2, "…", 12, "middle"))
    places = {**{i: pitch * i for i in range(count)}, filled.vectors - 1: last}
    for index, x in places.items():
        fact = Fact(vectors.vector_text(filled, index))
        marks.append(Rect(x, x + wide, 0, TALL, "target", fact=fact))
    if linear:
        marks += _bracket(vectors, last + wide + 5)
    old: list[Mark] = []
    if previous and previous != filled:
        old = list(_previous_outlines(previous, pitch, gap, fits))
    return Chart(Scale(0, room), Scale(0, TALL), marks, TALL, left=0, right=0, above=HEAD,
                 below=FOOT, previous=old)  # fmt: skip


def _previous_outlines(
    previous: FilledLanes, pitch: float, gap: float, fits: int
) -> Iterator[Mark]:
    """Yield outlines of the lanes that the previous state filled, as far as there is room."""
    full = min(previous.count // previous.lanes, fits)
    if full:
        yield Rect(0, pitch * full - gap, 0, TALL)
    if previous.idle and full < fits:
        level = TALL * previous.inside(previous.vectors - 1) / previous.lanes
        yield Rect(pitch * full, pitch * (full + 1) - gap, 0, level)


def _last_vector(filled: FilledLanes, x: float, wide: float) -> Iterator[Mark]:
    """Yield marks for the last vector, the only one that can have idle lanes."""
    inside = filled.inside(filled.vectors - 1)
    level = TALL * inside / filled.lanes
    yield VectorCells(x, x + wide, 0, level, 1, inside)
    if inside < filled.lanes:
        yield VectorCells(x, x + wide, level, TALL, 1, filled.lanes - inside, look=FREE)


def _layer_head(vectors: Vectors, filled: FilledLanes) -> Iterator[Mark]:
    """Yield marks for the values of one image, as places of its map, and the name of the layer;
    below the vectors, the idle share and the number of vectors."""
    layer, top = filled.layer, TALL + HEAD
    channels = vectors.source == CHANNELS
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
    idle = [(filled.share, True), (f" {text_of('idle')}", False)]
    key = "vectors_one" if filled.vectors == 1 else "vectors"
    yield ChartText(0, 0, idle, 16, dy=24)
    yield ChartText(92, 0, text_of(f"gives.{key}", count=f"{filled.vectors:,}"), 12, dy=24)


def _bracket(vectors: Vectors, x: float) -> Iterator[Mark]:
    """Yield marks for a bracket that says that one bar is one vector."""
    yield Path([(x, 0), (x + 5, 0), (x + 5, TALL), (x, TALL)], "rule", closed=False)
    yield ChartText(x + 12, TALL / 2, text_of("one_vector"), 12, bold=True)
    yield ChartText(x + 12, TALL / 2, text_of("lanes.count", count=vectors.lanes), 12, dy=16)


# -- at any batch ---------------------------------------------------------------------------------


def _curves(vectors: Vectors, tall: float) -> Chart:
    """Return the chart of the filled share of both layers by batch, with the vertical scale of the
    bars."""
    batches = sorted({*STOPS, min(vectors.batch, STOPS[-1])})
    at = {batch: vectors.at(batch) for batch in batches}
    marks: list[Mark] = list(_legend(vectors, tall))
    if vectors.batch <= STOPS[-1]:
        marks.append(Rule(vectors.batch, look="rule", opacity=0.5))
    for index in (0, 1):
        marks.append(Line([(b, float(at[b][index].part)) for b in batches], width=1.6))
    for batch in batches:
        for index in (1, 0):
            marks.append(_point(at[batch][index], batch, batch == vectors.batch, index))
    ticks = [(1, "1"), (8, text_of("batch")), (64, "64")]
    edge = 2**0.4
    return Chart(LogScale(1 / edge, 64 * edge), Scale(0, 1), marks, tall, Axis(grid=False,
                 ticks=ticks),
                 left=0, right=0, above=HEAD)  # fmt: skip


def _point(filled: FilledLanes, batch: int, here: bool, index: int) -> Mark:
    """Return the point of a layer at a batch; it is larger at the batch on display."""
    fact = Fact(
        f"{filled.layer.kind}, {text_of('batch')} {batch:,}", f"{filled.share} {text_of('idle')}"
    )
    y = float(filled.part)
    if index:
        return Glyph(batch, y, LARGE if here else SQUARE, marker="s", fact=fact)
    return Points([(batch, y)], "hollow", 11 if here else 7.2, fact)


def _legend(vectors: Vectors, tall: float) -> Iterator[Mark]:
    """Yield marks for the legend of the curves."""
    left, top = 2**-0.4, 1 + HEAD / tall
    yield Rule(y=1)
    yield ChartText(left, top, text_of("any"), 13, dy=11, bold=True)
    yield ChartText(left, top, text_of("any_note"), 12, dy=29)
    yield ChartText(left, 1, text_of("all"), 11, dy=-11, dim=True)
    linear, convolution = vectors.both
    key = top - 42 / tall
    yield Glyph(left * 2**0.15, key, SQUARE, marker="s")
    yield ChartText(left * 2**0.15, key, convolution.layer.kind, 12, dx=9, dy=4)
    yield Points([(left * 2**3.2, key)], "hollow", 7.2)
    yield ChartText(left * 2**3.2, key, linear.layer.kind, 12, dx=9, dy=4)


# -- the price ------------------------------------------------------------------------------------


def _price(vectors: Vectors, old: Vectors | None, width: float) -> Iterator[PageBlock]:
    """Yield the feature maps of a training step as a bar, a cell for each image. The axis ends at
    64 images in fp32."""
    room = width - LABEL
    most = replace(vectors, batch=STOPS[-1], format=FP32).nbytes
    long, before = (room * shown.nbytes / most if shown else 0 for shown in (vectors, old))
    cells = vectors.batch if min(long, room) / vectors.batch > THIN else 1
    notes = [
        text_of("price_note", network=vectors.network.title),
        text_of("cell") * (cells == vectors.batch),
    ]
    head = [(text_of("price"), True), *((note, False) for note in notes if note)]
    label = text_of("unpriced", format=vectors.format)
    if vectors.priced:
        label = "… " * (long > room) + three_digits(vectors.nbytes)
    bar = [VectorCells(0, min(long, room), 0, BAR, cells)] if vectors.priced else []
    text = ChartText(
        min(long, room) + 8 * vectors.priced, BAR / 2, label, 14, dy=5, bold=vectors.priced
    )
    outline = [Rect(0, min(before, room), -3, BAR + 3)] if before else []
    yield Paragraphs([head] if vectors.priced else [head[:1]], 12, gap=8)
    yield Chart(Scale(0, width), Scale(0, BAR), [*bar, text], BAR, left=0, right=0, below=2,
                previous=outline, told=[label], gap=6)  # fmt: skip
