"""Inputs and lowered matrices of all convolutions of a network, as bars side by side.

Where the window is 1x1 and the stride is 1 the matrix is the input itself, and no copy is made.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from memlab import strings, units
from memlab.errors import InputError
from memlab.layers.layer import Node
from memlab.networks.graph import Network
from memlab.pictures.draw.chart import Axis, Chart
from memlab.pictures.draw.marks import Fact, Mark, Rect
from memlab.pictures.draw.page import Page
from memlab.pictures.draw.scale import Scale, bytes_over
from memlab.pictures.draw.table import Key, Paragraphs, Table
from memlab.pictures.draw.theme import PAINTS, Paint
from memlab.pictures.live.setting import Checkbox, Range, State
from memlab.pictures.live.view import PageState, View, maker
from memlab.pictures.shifted_copies.lowering import (
    BATCHES,
    MOST,
    amount,
    conv,
    convolutions,
    input_bytes,
    lowered_bytes,
    times,
)
from memlab.pictures.values.network_setting import network_setting
from memlab.pictures.values.study import Study
from memlab.step.tensor import Role

INPUT, COPY, ITSELF = PAINTS[Role.INPUT], PAINTS[Role.WORKSPACE], "rule"
"""Looks of an input, of a copy, and of a matrix that is the input itself."""
LEFT, MIDDLE, RIGHT = 0.08, 0.48, 0.88
"""Ends of the two bars of a layer, in layers."""
HIGH = 190
"""Pixels of the highest bar."""


def text_of(key: str, **values: object) -> str:
    """Return a text of this picture by its key."""
    return strings.get(f"layers.{key}", **values)


@dataclass(frozen=True, eq=False)
class LoweredBytes(Study):
    """Bytes of the input and of the lowered matrix of each convolution, at a batch, in fp32."""

    network: Network
    batch: int

    @cached_property
    def nodes(self) -> list[Node]:
        """Convolutions of the network, in order."""
        return convolutions(self.network)

    @cached_property
    def inputs(self) -> list[int]:
        """Bytes of the input of each convolution."""
        return [input_bytes(node, self.batch) for node in self.nodes]

    @cached_property
    def copies(self) -> list[int]:
        """Bytes of the lowered copy of each convolution; 0 where none is made."""
        return [lowered_bytes(node, self.batch) for node in self.nodes]

    @property
    def matrices(self) -> list[int]:
        """Bytes of the matrix of each convolution: its copy, or the input itself."""
        return [copy or read for copy, read in zip(self.copies, self.inputs, strict=True)]

    @property
    def ratio(self) -> Fraction:
        """Bytes of all matrices, divided by those of all inputs."""
        return Fraction(sum(self.matrices), sum(self.inputs))

    # -- in words ---------------------------------------------------------------------------------

    @property
    def title(self) -> str:
        return text_of("title", network=self.network.label, all=len(self.nodes),
                       batch=f"{self.batch:,}")  # fmt: skip

    @property
    def headline(self) -> str:
        """All matrices beside all inputs: ``'All matrices: 2.79 GB, 2.05 times all ...'``."""
        totals = {"matrices": _size(sum(self.matrices)), "inputs": _size(sum(self.inputs))}
        return text_of("head", **totals, ratio=times(self.ratio))

    @property
    def sentences(self) -> list[str]:
        """Sentences on the totals, on the layers without a copy, and on the largest copy."""
        most = max(self.copies)
        counts = {"none": self.copies.count(0), "all": len(self.nodes)}
        largest = {"most": _size(most), "layer": self.nodes[self.copies.index(most)].name}
        told = [f"{self.headline}."]
        told += [text_of("itself", **counts)] if counts["none"] else []
        return [*told, text_of("most", **largest)] if most else told


# -- the view ---------------------------------------------------------------------------------


class LoweredLayers(View[LoweredBytes]):
    """Inputs and lowered matrices of all convolutions of a network, as bars side by side.

    >>> view = memlab.views.lowered_layers("resnet50", batch=32)
    >>> float(round(view.rows.ratio, 2))
    2.05
    """

    name, made_by, widest = "layers", "lowered_layers", 820
    positional = ("network", "batch")

    network = network_setting(default="resnet50", fixed=True)
    batch = Range(1, MOST, doc="the mini-batch size", default=32, stops=BATCHES, code="always")
    numbers = Checkbox(doc="whether all numbers are shown", argument=False, stays=True, key="KeyN")

    def study(self, now: State) -> LoweredBytes:
        if not convolutions(now.network):
            raise InputError(f"{now.network.title} has no convolution; try vgg16.")
        return LoweredBytes(now.network, now.batch)

    def outline_key(self, now: State) -> object:
        return None

    def test_state(self, now: State) -> str:
        return f"{now.batch}|{sum(self.rows_of(now).matrices)}"

    def says(self, scene: PageState) -> str:
        return f"{self.rows_of(scene.now).headline}."

    def compose(self, scene: PageState) -> Page:
        rows = self.rows_of(scene.now)
        first, *others = rows.sentences
        blocks = [Paragraphs([f"{rows.title}.", *rows.sentences], drawn=False),
                  Paragraphs(first, 16, bold=True, told=False), _legend(rows), _chart(rows),
                  Paragraphs(others, 13, told=False), _table(rows, scene.now.numbers)]  # fmt: skip
        return Page(rows.title, blocks, scene.width, self.says(scene), titled=False)


lowered_layers = maker(LoweredLayers)


def _legend(rows: LoweredBytes) -> Key:
    """Return the looks of an input, of a copy, and of a matrix that is not made."""
    looks: list[tuple[Paint | str, str]] = [(INPUT, text_of("input")), (COPY, text_of("copy"))]
    return Key(
        [*looks, *([(f"edge {ITSELF}", text_of("same"))] if 0 in rows.copies else [])], gap=6
    )


def _chart(rows: LoweredBytes) -> Chart:
    """Return the bars of all layers on one axis of bytes."""
    axis = Axis(text_of("axis", network=rows.network.label), labels=False, grid=False, ticks=())
    up = bytes_over(max(rows.matrices))
    ends = Axis(ticks=(up.ticks[0], up.ticks[-1]))
    return Chart(Scale(0, len(rows.nodes)), up, list(_marks(rows)), HIGH, axis, ends, gap=6,
                 left=60)  # fmt: skip


def _marks(rows: LoweredBytes) -> Iterator[Mark]:
    """Yield the bars of each layer: its input, and beside it its matrix."""
    layers = zip(rows.nodes, rows.inputs, rows.copies, strict=True)
    for at, (node, read, copy) in enumerate(layers):
        name = f"{node.name}, {_window(node)}"
        fact = Fact(f"{name}, {text_of('input')}", nbytes=read)
        yield Rect(at + LEFT, at + MIDDLE, 0, read, INPUT, edge=0.5, fact=fact)
        fact = Fact(f"{name}, {text_of('copy' if copy else 'same')}", nbytes=copy or read)
        look = COPY if copy else ITSELF
        yield Rect(at + MIDDLE, at + RIGHT, 0, copy or read, look, edge=0.5, fact=fact)


def _table(rows: LoweredBytes, drawn: bool) -> Table:
    """Return a table of the windows: how many layers have it, what they read and copy."""
    cells = []
    for kind in dict.fromkeys(map(_window, rows.nodes)):
        found = [n for n, node in enumerate(rows.nodes) if _window(node) == kind]
        read, copied = (sum(sizes[n] for n in found) for sizes in (rows.inputs, rows.copies))
        cells.append([kind, f"{len(found)}", _size(read), _size(copied)])
    heads = [text_of(f"table.{head}") for head in ("window", "count", "read", "copied")]
    return Table(heads, cells, "<>>>", drawn=drawn, gap=8)


def _size(nbytes: int) -> str:
    """Return bytes with three digits: ``'2.79 GB'``, ``'236 MB'``."""
    return amount(nbytes) if nbytes >= units.DECIMAL["GB"] else units.short(nbytes)


def _window(node: Node) -> str:
    """Return window and stride of a layer: ``'3·3, stride 1'``."""
    layer = conv(node)
    return text_of("window", k=layer.kernel, stride=layer.stride)
