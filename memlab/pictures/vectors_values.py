"""Which lanes of a vector a layer fills, at a batch, and what that batch costs in feature maps.

Lowered, a convolution multiplies a matrix with a column for each output place of each image:
B Ho Wo of them (claim A6). A linear layer has B. A vector takes as many columns side by side as it
has lanes; or as many output channels, which are the rows of the product, of one column.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from math import floor, prod
from typing import Any

from memlab import formats, strings, units
from memlab.errors import InputError
from memlab.formats import WHOLE
from memlab.layers.layer import Node, text
from memlab.networks.graph import Network
from memlab.pictures.mountain.stack_parts import Part
from memlab.pictures.values.number_text import ratio
from memlab.pictures.values.recipe import Recipe, memory_of
from memlab.pictures.values.study import Study
from memlab.step.tensor import Role

COLUMNS, CHANNELS = SOURCES = "columns", "channels"
"""What the lanes are filled from."""
WIDTHS = (128, 256, 512, 1024)
"""Bits of a vector: those of processors, and 32 threads of a GPU with 32 bits each."""
FORMATS = ("fp64", "fp32", "bf16", "fp16", "int8")
FP32 = "fp32"
_WORDS = {Fraction(1): "all", Fraction(1, 2): "half"}
STOPS = (1, 2, 4, 8, 16, 32, 64)
"""Batches of the curves."""


@dataclass(frozen=True)
class Layer:
    """What a layer gives to the lanes: ``columns`` for each image, ``channels`` for each column.
    ``size`` is its output map, empty for a linear layer: ``'7x7'``."""

    name: str
    size: str
    columns: int
    channels: int

    @property
    def kind(self) -> str:
        """Its name for people: ``'linear layer'``."""
        return say("convolution" if self.size else "linear")


@dataclass(frozen=True)
class Filled:
    """``count`` values of a layer side by side in vectors of so many lanes."""

    layer: Layer
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
        """Those that do, of all lanes."""
        return Fraction(self.count, self.vectors * self.lanes)

    @property
    def share(self) -> str:
        """The idle ones of all lanes, rounded half up: ``'23 %'``."""
        share = 100 * (1 - self.part)
        return say("little") if 0 < share < Fraction(1, 2) else f"{floor(share + Fraction(1, 2))} %"

    @property
    def words(self) -> str:
        """How many of the lanes: ``'most lanes'``."""
        if self.count == 1 < self.lanes:
            return say("lanes.one")
        if self.part in _WORDS:
            return say(f"lanes.{_WORDS[self.part]}")
        nearly, most = (self.part >= bound for bound in (Fraction(9, 10), Fraction(1, 2)))
        return say("lanes.nearly" if nearly else "lanes.most" if most else "lanes.few")

    def inside(self, vector: int) -> int:
        """How many values one of the vectors holds, counted from 0."""
        return min(self.lanes, self.count - vector * self.lanes)


@lru_cache(maxsize=16)
def layers_of(network: Network) -> dict[str, Layer]:
    """The linear layer with the fewest columns, by ``""``, and by the size of its output the
    convolution of that size with the fewest channels, from the smallest map to the largest.

    Raises:
        InputError: it lacks one of them.
    """
    found: dict[str, Layer] = {}
    for layer in sorted(map(_layer, network.nodes), key=lambda each: (each.columns, each.channels)):
        if layer.channels:
            found.setdefault(layer.size, layer)
    for kind, there in (("linear layer", "" in found), ("convolution", any(found))):
        if not there:
            raise InputError(f"{network.label} has no {kind} to put beside the other; "
                             "try 'resnet50'.")  # fmt: skip
    return found


def _layer(node: Node) -> Layer:
    """Without channels where it is no matrix product."""
    if node.kind == "conv2d":
        return Layer(node.name, text(node.shape[1:]), prod(node.shape[1:]), node.shape[0])
    channels = node.shape[-1] if node.kind == "linear" else 0
    return Layer(node.name, "", prod(node.shape[:-1]), channels)


def sizes(network: Network) -> list[str]:
    """The output maps of its convolutions, from the smallest to the largest."""
    return [size for size in layers_of(network) if size]


@dataclass(frozen=True)
class Vectors(Study):
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
    def both(self) -> tuple[Filled, Filled]:
        """The linear layer, and the convolution."""
        return self.at(self.batch)

    def at(self, batch: int) -> tuple[Filled, Filled]:
        """The same at another batch. Of channels, those of one column, at every batch."""
        found = layers_of(self.network)
        linear, convolution = (self._filled(found[size], batch) for size in ("", self.size))
        return linear, convolution

    def _filled(self, layer: Layer, batch: int) -> Filled:
        count = layer.channels if self.source == CHANNELS else batch * layer.columns
        return Filled(layer, count, self.lanes)

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
        lines = memory_of(Recipe(self.network, format=self.format)).lines
        stays, grows = (lines[Part(Role.FEATURE_MAP, grows)] for grows in (False, True))
        return int((stays + self.batch * grows).max())

    def said(self, found: Filled, vector: int) -> str:
        """``'vector 2: columns 33 to 49 of image 1, 15 lanes idle'``."""
        first, inside = vector * found.lanes, found.inside(vector)
        (image, start), (last, end) = (divmod(n, found.layer.columns)
                                       for n in (first, first + inside - 1))  # fmt: skip
        key = "one" if image == last else "several"
        if found.layer.columns == 1:
            key = "image" if image == last else "images"
        if self.source == CHANNELS:
            key, start, end = "channels", first, first + inside - 1
        values = say(f"holds.{key}", image=f"{image + 1:,}", last=f"{last + 1:,}",
                     first=f"{start + 1:,}", end=f"{end + 1:,}")  # fmt: skip
        idle = found.lanes - inside
        left = say("idle_one" if idle == 1 else "idle_several", count=idle or say("none"))
        return say("vector", layer=found.layer.kind, number=f"{vector + 1:,}", values=values,
                   idle=left)  # fmt: skip

    # -- in words ---------------------------------------------------------------------------

    @property
    def title(self) -> str:
        values = {"network": self.network.label, "batch": f"{self.batch:,}", "bits": self.bits}
        return say("title", **values, format=self.format, lanes=self.lanes)

    @property
    def headline(self) -> str:
        """The finding; what it stresses is between stars."""
        linear, convolution = self.both
        images = say("image") if self.batch == 1 else say("images", count=f"{self.batch:,}")
        values = {"images": images, "format": self.format, "linear": linear.words,
                  "convolution": convolution.words, "first": self.at(1)[1].words}  # fmt: skip
        return say(f"headline.{self._case}", **values)

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
        """What there is to see, or what has changed."""
        if self._case == "halved":
            return say("halved", count=f"{self.batch // 2:,}")
        if before is None or not self._beside(before):
            return say(f"see.{self.source}")
        less, more = sorted((before.nbytes, self.nbytes))
        key = "changed.more" if self.nbytes == more else "changed.less"
        return say(key, share=before.both[1].share, ratio=ratio(more / less))

    def _beside(self, before: Vectors) -> bool:
        """Whether only the batch has changed, and with it the price."""
        same = replace(self, batch=before.batch) == before
        return same and 0 != self.nbytes != before.nbytes and self.source == COLUMNS

    @property
    def price(self) -> str:
        """``'80,293,376 B'``."""
        return units.exact(self.nbytes) if self.priced else say("unpriced", format=self.format)

    @property
    def sentences(self) -> list[str]:
        """The finding, and what there is to see."""
        return [f"{self.headline.replace('*', '')}.", self.sentence()]

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Heads and rows: what each layer gives, and the lanes that it leaves."""
        keys = ("layer", f"each_{self.source}", self.source, "vectors", "lanes", "share")
        rows = []
        for found in self.both:
            layer = found.layer
            each = layer.columns if self.source == COLUMNS else layer.channels
            rows.append([layer_name(layer), f"{each:,}", f"{found.count:,}", f"{found.vectors:,}",
                         f"{found.idle:,}", found.share])  # fmt: skip
        return [say(f"head.{key}") for key in keys], rows

    def by_batch(self) -> tuple[list[str], list[list[str]]]:
        """Heads and rows: the idle share of each layer at every stop."""
        at = [self.at(batch) for batch in STOPS]
        rows = [[layer_name(self.both[i].layer), *(found[i].share for found in at)] for i in (0, 1)]
        return [say("head.batch"), *map(str, STOPS)], rows

    def as_dict(self) -> dict[str, Any]:
        layers = {"linear": self.both[0], "convolution": self.both[1]}
        return {
            "network": self.network.name, "batch": self.batch, "bits": self.bits,
            "format": self.format, "source": self.source, "lanes": self.lanes,
            "nbytes": self.nbytes,
            **{kind: {"layer": found.layer.name, "count": found.count, "vectors": found.vectors,
                      "idle": found.idle} for kind, found in layers.items()},
        }  # fmt: skip


def layer_name(layer: Layer) -> str:
    """``'convolution 4.0.conv2, 7x7 outputs'``."""
    outputs = say("outputs", size=layer.size) if layer.size else ""
    return ", ".join(filter(None, (f"{layer.kind} {layer.name}", outputs)))


def say(key: str, /, **values: object) -> str:
    """A text about vectors."""
    return strings.get(f"vectors.{key}", **values)
