"""Bytes that a layer reads and writes for a batch: its weights once, the maps of each image."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod

from memlab import strings, units
from memlab.errors import InputError
from memlab.layers.layer import Node
from memlab.layers.layer import text as dims
from memlab.networks.graph import Network
from memlab.pictures.draw.chart import Chart
from memlab.pictures.draw.labels import ChartText
from memlab.pictures.draw.marks import Fact, Mark, Rect
from memlab.pictures.draw.page import Page
from memlab.pictures.draw.scale import TIGHT, Band, bytes_over
from memlab.pictures.draw.table import Key, PageBlock, Paragraphs, SideBySide, Table
from memlab.pictures.draw.theme import PAINTS
from memlab.pictures.live.setting import Range, Select, State
from memlab.pictures.live.view import PageState, View, maker
from memlab.pictures.per_image.curves import BatchShares, curves_of
from memlab.pictures.values.network_setting import network_setting
from memlab.pictures.values.number_text import figure, ratio, three_digits
from memlab.step.tensor import Role

STOPS = (1, 2, 4, 8, 16, 32, 64)
VALUE = 4
"""Bytes of a value in fp32."""
KINDS = {"linear": "linear", "conv2d": "convolution"}
"""Layers that have weights and are a matrix product, and their names in the texts, in the order of
the curves of ``views.batch_speed``."""
WEIGHTS, IMAGES = PAINTS[Role.PARAMETER], PAINTS[Role.FEATURE_MAP]
BAR, ROW, NAMES, TOTAL, APART, NARROW = 40, 96, 74, 68, 24, 700
"""Pixels: height of a bar and of a row; room for the names of rows and for totals; between both
charts; width below which they stand below each other."""


@dataclass(frozen=True)
class LayerBytes:
    """Bytes that a layer reads and writes for a batch, if each value moves once: ``weights`` for
    the whole batch, ``per_image`` for the input and the output of an image. ``look`` is the number
    of the alternative that its curve looks like, as in ``views.batch_speed``."""

    label: str
    weights: int
    per_image: int
    batch: int
    look: int = 0

    @property
    def total(self) -> int:
        """Bytes for the whole batch."""
        return self.weights + self.batch * self.per_image

    @property
    def alone(self) -> int:
        """Bytes for a batch of one image."""
        return self.weights + self.per_image

    def at(self, batch: int) -> LayerBytes:
        """Return the bytes of the layer at another batch."""
        return replace(self, batch=batch)

    @property
    def share(self) -> float:
        """Bytes per image, divided by those of one image alone."""
        return self.total / self.batch / self.alone

    @property
    def images(self) -> str:
        """The batch in words: ``'16 images'``."""
        return text_of(f"row.{'one' if self.batch == 1 else 'several'}", batch=self.batch)

    @property
    def headline(self) -> str:
        """The finding in a sentence; its stressed part stands between asterisks."""
        values = {"one": three_digits(self.alone), "total": three_digits(self.total)}
        if self.batch == 1:
            return text_of("headline.one", **values)
        times = ratio(self.total / self.alone)
        return text_of("headline.several", batch=self.batch, ratio=times, **values)

    @property
    def sentence(self) -> str:
        """A hint what is counted."""
        return text_of("see", label=self.label, weights=three_digits(self.weights),
                       each=three_digits(self.per_image))  # fmt: skip

    def table(self) -> Table:
        """Return exact bytes at every batch: weights, images, total and total per image."""
        keys = ("batch", "weights", "images", "total", "per_image")
        rows = []
        for layer in map(self.at, sorted({*STOPS, self.batch})):
            amounts = (layer.batch, layer.weights, layer.batch * layer.per_image, layer.total,
                       round(layer.total / layer.batch))  # fmt: skip
            rows.append([f"{amount:,}" for amount in amounts])
        return Table([text_of(f"head.{key}") for key in keys], rows, drawn=False, gap=6)


def layers_of(network: Network) -> dict[str, Node]:
    """Return the linear layers and the convolutions of a network by name.

    Raises:
        InputError: it has none.
    """
    nodes = {node.name: node for node in network.nodes if node.kind in KINDS}
    if not nodes:
        raise InputError(f"{network.label} has no linear layer and no convolution; try 'vgg16'.")
    return nodes


def bytes_of(node: Node, batch: int) -> LayerBytes:
    """Return the bytes that a linear layer or a convolution reads and writes in fp32.

    Args:
        node: the layer in its network.
        batch: number of images.
    """
    values = sum(map(prod, node.input_shapes)) + prod(node.shape)
    weights = sum(parameter.count for parameter in node.parameters)
    look = list(KINDS).index(node.kind)
    return LayerBytes(_label(node), VALUE * weights, VALUE * values, batch, look)


def _label(node: Node) -> str:
    """Return a layer in words: ``'linear layer, 4096 to 4096'``."""
    (source,) = node.input_shapes
    return text_of(f"label.{KINDS[node.kind]}", source=dims(source), target=dims(node.shape))


def text_of(key: str, /, **values: object) -> str:
    """Return a text of this view."""
    return strings.get(f"layer_bytes.{key}", **values)


def _options(now: State) -> dict[str, str]:
    """Return the layers to choose from, by name."""
    return {name: f"{name}: {_label(node)}" for name, node in layers_of(now.network).items()}


class BytesOfLayer(View[LayerBytes]):
    """Bytes that a layer reads and writes for a batch, in all and for each image.

    >>> view = memlab.views.layer_bytes("vgg16", "fc7", batch=16)
    >>> view.rows.total, view.rows.alone
    (67649536, 67158016)
    """

    name, made_by = "layer_bytes", "layer_bytes"
    positional = ("network", "layer", "batch")

    network = network_setting(default="vgg16", fixed=True)
    layer = Select(_options, doc="the name of a linear layer or a convolution; the first if not "
                   "given", default=lambda now: next(iter(layers_of(now.network))),
                   code="always")  # fmt: skip
    batch = Range(1, STOPS[-1], doc="the mini-batch size, up to 64", default=1, stops=STOPS,
                  code="always")  # fmt: skip

    def study(self, now: State) -> LayerBytes:
        return bytes_of(layers_of(now.network)[now.layer], now.batch)

    def buttons(self, now: State) -> dict[str, str]:
        return {"copy": "copy"}

    def test_state(self, now: State) -> str:
        return f"{now.layer}|{now.batch}|{self.rows_of(now).total}"

    def says(self, scene: PageState) -> str:
        return self.rows_of(scene.now).headline.replace("*", "")

    def compose(self, scene: PageState) -> Page:
        layer = self.rows_of(scene.now)
        old = self.rows_of(scene.previous) if scene.previous else None
        old = old if old and old.at(1) == layer.at(1) else None
        runs = [(part, bool(at % 2)) for at, part in enumerate(layer.headline.split("*")) if part]
        blocks: list[PageBlock] = [Paragraphs([runs], 16, gap=3), Paragraphs(layer.sentence, 13)]
        blocks += [*_charts(layer, old, scene.width), layer.table()]
        return Page(text_of("title"), blocks, scene.width, self.says(scene), titled=False)


layer_bytes = maker(BytesOfLayer)


def _charts(layer: LayerBytes, old: LayerBytes | None, width: float) -> Iterator[PageBlock]:
    """Yield the key, and the bars of the bytes beside the curve of the bytes per image."""
    key = [(WEIGHTS, text_of("head.weights")), (IMAGES, text_of("head.images"))]
    yield Key(key, gap=6)
    halves = _bars(layer, old), _curve(layer)
    yield from halves if width < NARROW else [SideBySide([(half, 1) for half in halves], APART)]


def _bars(layer: LayerBytes, old: LayerBytes | None) -> Chart:
    """Return the bytes of one image and of the batch as bars, on an axis that ends at the larger
    one, or at the batch before."""
    scale = bytes_over(max(shown.total for shown in (layer, old or layer)), TIGHT)
    one = layer.at(1)
    marks = [*_bar(0, one), *_bar(1, layer)]
    told = [f"{bar.images}: {three_digits(bar.total)}" for bar in (one, layer)]
    before = [Rect(0, old.total, 1, 2, thick=BAR + 6)] if old and old.batch != layer.batch else []
    return Chart(scale, Band(2, 0), marks, 2 * ROW, left=NAMES, right=TOTAL, above=26,
                 previous=before, told=told, gap=8)  # fmt: skip


def _bar(row: int, layer: LayerBytes) -> Iterator[Mark]:
    """Yield the marks of a bar: its name, weights, images and total."""
    yield ChartText(0, row + 0.5, layer.images, 13, "end", dx=-8, dy=5)
    for first, nbytes, look, what in (
        (0, layer.weights, WEIGHTS, "weights"),
        (layer.weights, layer.batch * layer.per_image, IMAGES, "images"),
    ):
        fact = Fact(f"{layer.images}, {text_of(f'head.{what}')}", units.exact(nbytes))
        yield Rect(first, first + nbytes, row, row + 1, look, thick=BAR, fact=fact)
    total = three_digits(layer.total)
    yield ChartText(layer.total, row + 0.5, total, 13, dx=8, dy=5, bold=True)


def _curve(layer: LayerBytes) -> Chart:
    """Return the curve of the bytes per image."""
    shares = {batch: layer.at(batch).share for batch in STOPS}
    words = {batch: text_of("point", batch=batch, share=figure(share))
             for batch, share in shares.items()}  # fmt: skip
    line = BatchShares([layer.label], shares, words)
    return curves_of([line], layer.batch, text_of("axis"), 2 * ROW - 18, 0, Table([], []),
                     1 / STOPS[-1], layer.look)  # fmt: skip
