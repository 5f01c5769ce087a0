"""Convolutions whose input is lowered (im2col), in bytes by the plan of the layer.

Lowering copies the window of every output place: k² copies of the input, each shifted. ``Lowering``
has the figures of a real layer, and those of a small picture beside them; ``write`` lowers one
image and measures it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from math import prod
from statistics import median
from typing import Any

from memlab import formats, free_memory, units
from memlab.axes import dims
from memlab.errors import InputError, one_option
from memlab.hardware import DEVICES
from memlab.layers import Conv2d, algorithms
from memlab.layers.algorithms import pointwise
from memlab.layers.layer import Node
from memlab.networks.graph import Network
from memlab.pictures.memory.step_memory import Budget
from memlab.pictures.shifted_copies.small_picture import (
    KERNELS,
    LETTER,
    PADS,
    SIZE,
    STRIDES,
    Pin,
    SmallPicture,
    kinds,
    lower,
    text_of,
)
from memlab.pictures.values.number_text import batches, hundredths
from memlab.step import tensor
from memlab.step.storage import Size
from memlab.step.tensor import Tensor

WAYS = ("im2col-batch", "im2col-image", "im2col-tile", "direct")
"""Algorithms of the plan, from the most lowered at once to none."""
FP32 = formats.find("fp32")
VALUE = 4
"""Bytes of a value in fp32."""
BATCHES = tuple(2**power for power in range(8))
"""Batches at which the slider stops."""
MOST = 1_000_000
"""Largest batch."""


def conv(node: Node) -> Conv2d:
    """Return the convolution of a node."""
    assert isinstance(node.layer, Conv2d)
    return node.layer


def convolutions(network: Network) -> list[Node]:
    """Return the nodes of a network that are convolutions, in order."""
    return [node for node in network.nodes if isinstance(node.layer, Conv2d)]


def find(network: Network, name: object) -> Node:
    """Return a convolution of a network by the name of its layer.

    Raises:
        InputError: no such layer, one that is no convolution, or one with a dilation.
    """
    nodes = {node.name: node for node in convolutions(network)}
    if not nodes:
        raise InputError(f"{network.title} has no convolution; try vgg16.")
    node = one_option("convolution", name, nodes)
    if conv(node).dilation > 1:
        raise InputError(f"{name} has dilation {conv(node).dilation}, and 1 is drawn; "
                         "try another layer.")  # fmt: skip
    return node


def settings(node: Node) -> dict[str, Any]:
    """Return kernel, stride and padding of a layer: ``{"k": 3, "stride": 1, "pad": "same"}``.

    It is empty where the picture cannot draw them.
    """
    layer = conv(node)
    for pad in PADS:
        values = {"k": layer.kernel, "stride": layer.stride, "pad": pad}
        drawn = layer.kernel in KERNELS and layer.stride in STRIDES
        if drawn and changed(node, **values).layer == layer:
            return values
    return {}


@lru_cache(maxsize=256)
def changed(node: Node, k: int, stride: int, pad: str) -> Node:
    """Return a node with another kernel, stride and padding.

    Raises:
        InputError: the kernel is wider than the padded image.
    """
    layer = replace(conv(node), kernel=k, stride=stride, pad="same" if pad == "same" else 0)
    return replace(node, layer=layer, shape=layer.output(*node.input_shapes))


@dataclass(frozen=True)
class AlgorithmWorkspace:
    """Workspace of an algorithm for the forward pass of a layer: memory beside the operands.

    ``name`` is the algorithm that does the work, which may be another one than was asked for.
    """

    name: str
    parts: tuple[Tensor, ...]

    @cached_property
    def size(self) -> Size:
        """Bytes of the workspace, in terms of the batch."""
        return sum((part.size for part in self.parts), Size())

    def formula(self, batch: int | None = None) -> str:
        """Return the bytes as a product, in symbols or, at a batch, in numbers."""
        return " + ".join(part.formula(batch) for part in self.parts)

    def largest(self, room: int) -> int | None:
        """Return the largest batch whose workspace fits into ``room`` bytes.

        It is 0 where not even one sample fits, None where every batch does.
        """
        size = self.size
        if size.fixed > room:
            return 0
        return (room - size.fixed) // size.per_sample if size.per_sample else None


@lru_cache(maxsize=512)
def workspace(node: Node, name: str) -> AlgorithmWorkspace:
    """Return the workspace of an algorithm for a layer, as the plan has it.

    Raises:
        InputError: no such algorithm.
    """
    shapes = node.input_shapes[0], node.shape
    chosen = algorithms.choose(name, conv(node), *shapes, False, node.name, FP32)
    return AlgorithmWorkspace(chosen.algorithm, tuple(chosen.workspace.values()))


def input_bytes(node: Node, batch: int) -> int:
    """Return the bytes of a layer's input at a batch, in fp32."""
    return batch * prod(node.input_shapes[0]) * VALUE


def input_formula(node: Node, batch: int) -> str:
    """Return the bytes of a layer's input as a product: ``'128·64·224·224·4 B'``."""
    return tensor.formula(dims(node.input_shapes[0]), FP32, batch)


def lowered_bytes(node: Node, batch: int) -> int:
    """Return the bytes of the lowered copy of the input; 0 where that is the input itself (A8)."""
    return workspace(node, WAYS[0]).size.at(batch)


def factor(node: Node) -> Fraction:
    """Return the bytes of the lowered copy divided by those of the input: k² Ho Wo / (H W)."""
    return Fraction(lowered_bytes(node, 1), input_bytes(node, 1))


def by_copy(nodes: Sequence[Node]) -> tuple[list[Node], list[Node], list[Node]]:
    """Return the nodes that need no copy, those whose copy is smaller than the input, and the
    others."""
    none = [node for node in nodes if factor(node) == 0]
    part = [node for node in nodes if 0 < factor(node) < 1]
    return none, part, [node for node in nodes if factor(node) >= 1]


# -- as text --------------------------------------------------------------------------------------


def amount(nbytes: int) -> str:
    """Return bytes as short text: ``'14.80 GB'``, ``'133 GB'``, ``'115.6 MB'``, ``'4.5 KiB'``."""
    if nbytes >= units.DECIMAL["TB"]:
        return units.in_unit(nbytes, "TB", 2)
    if nbytes >= units.DECIMAL["GB"]:
        return units.in_unit(nbytes, "GB", 2 if nbytes < 100 * units.DECIMAL["GB"] else 0)
    if nbytes >= units.DECIMAL["MB"]:
        return units.in_unit(nbytes, "MB", 1)
    kibi = units.UNITS["KiB"]
    digits = 1 if nbytes % kibi else 0
    return units.in_unit(nbytes, "KiB", digits) if nbytes >= kibi else f"{nbytes} B"


def times(ratio: Fraction) -> str:
    """Return a factor as text: ``'9.00'``, ``'7,225'``, ``'1/14,867'``.

    It has two decimals below 1,000, and is a fraction below a hundredth.
    """
    if 0 < ratio < Fraction(1, 100):
        return f"1/{round(1 / ratio):,}"
    return f"{float(ratio):,.{2 if ratio < 1000 else 0}f}"


def short_times(ratio: Fraction) -> str:
    """Return a factor as text without decimals where it is whole: ``'9'``, ``'2.25'``."""
    return f"{ratio}" if ratio.denominator == 1 else f"{float(ratio):.2f}"


def part_of(ratio: Fraction) -> str:
    """Return a fraction as text: ``'¼'``."""
    return {Fraction(1, 4): "¼", Fraction(1, 2): "½"}.get(ratio, str(ratio))


# -- for real -------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Written:
    """Planned and measured bytes of the lowered copy of one image, and the seconds
    of writing it."""

    planned: int
    measured: int
    seconds: float

    @property
    def residual(self) -> int:
        """Measured minus planned bytes."""
        return self.measured - self.planned

    @property
    def ms(self) -> str:
        """Milliseconds as text with two digits."""
        return f"{1000 * self.seconds:.2g}" if self.seconds < 0.1 else f"{1000 * self.seconds:.0f}"

    def __repr__(self) -> str:
        """Return the bytes in words, without the time, which changes from run to run."""
        if not self.planned:
            return text_of("write.nothing")
        sizes = {"planned": units.exact(self.planned), "measured": units.exact(self.measured)}
        return text_of("write.done", residual=units.exact(self.residual), **sizes)

    def text(self) -> str:
        """Return the bytes in a sentence, with the time if it was measured just now."""
        if not self.planned:
            return f"{self!r}."
        key = "ms" if self.seconds else "image"
        return text_of(f"write.{key}", ms=self.ms, done=repr(self))


def write(node: Node, otherwise: str, times: int = 1) -> Written:
    """Lower one image of a layer into new memory, and measure its bytes and seconds.

    Args:
        node: a convolution.
        otherwise: words of the error on what to try where the copy does not fit.
        times: number of runs; the seconds are their median.

    Raises:
        InputError: so much memory is not free.
    """
    from memlab.measure.convolution import (
        ConvolutionCase,  # compiled code: who writes nothing needs none
    )
    from memlab.measure.lecture_layer import copied

    case, planned = (
        ConvolutionCase(node.name, node.input_shapes[0], conv(node)),
        lowered_bytes(node, 1),
    )
    need, free = planned + input_bytes(node, 1), free_memory.free_memory()
    if need > free:
        raise InputError(
            f"the run needs {units.short(need)} and {units.short(free)} are free; {otherwise}."
        )
    measured, seconds = copied(case, times)
    return Written(planned, measured, median(seconds))


# -- a layer, lowered -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Lowering:
    """Lowering of a layer of a network at a batch, as far as it is written.

    The layer has its own kernel, stride and padding or made-up ones. ``how`` is the algorithm,
    which says how much is lowered at once; ``step`` counts the copies that are written.
    """

    network: Network
    layer: str
    k: int
    stride: int
    pad: str
    batch: int = 128
    how: str = WAYS[0]
    step: int = 0

    @cached_property
    def own(self) -> Node:
        """Layer as the network has it."""
        return find(self.network, self.layer)

    @cached_property
    def node(self) -> Node:
        """Layer that is lowered, with the chosen kernel, stride and padding."""
        return changed(self.own, self.k, self.stride, self.pad)

    @property
    def made_up(self) -> bool:
        """True if the network has no layer with these settings."""
        return self.node.layer != self.own.layer

    @cached_property
    def small(self) -> SmallPicture:
        """Small picture lowered under this kernel."""
        return lower(self.k, self.stride, self.pad)

    @cached_property
    def workspace(self) -> AlgorithmWorkspace:
        """Workspace in the plan of the layer."""
        return workspace(self.node, self.how)

    # -- bytes of the real layer

    @property
    def count(self) -> int:
        """Number of copies that lowering makes: k², or 0 without a lowered copy."""
        return self.k**2 if self.workspace.parts else 0

    @property
    def copies(self) -> int:
        """Number of copies that are written."""
        return min(self.step, self.count)

    @property
    def source(self) -> int:
        """Bytes of the input."""
        return input_bytes(self.node, self.batch)

    @property
    def total(self) -> int:
        """Bytes of all copies that are kept at once."""
        return self.workspace.size.at(self.batch)

    @property
    def written(self) -> int:
        """Bytes of the copies that are written."""
        return self.total * self.copies // self.count if self.count else 0

    @property
    def now(self) -> Fraction:
        """Bytes of the copies that are written, divided by those of the input."""
        return Fraction(self.written, self.source)

    @property
    def end(self) -> Fraction:
        """Bytes of all copies that are kept at once, divided by those of the input."""
        return Fraction(self.total, self.source)

    @property
    def factor(self) -> Fraction:
        """Values of all copies divided by those of the input, k² Ho Wo / (H W), kept at once or
        not."""
        _, height, width = self.node.input_shapes[0]
        _, rows, columns = self.node.shape
        return Fraction(self.k**2 * rows * columns, height * width)

    @property
    def pointwise(self) -> bool:
        """True if the matrix is the input itself, so that no copy is made."""
        return not self.count and pointwise(conv(self.node))

    @property
    def tiled(self) -> bool:
        """True if only a tile of output places is lowered at a time."""
        return self.workspace.name == "im2col-tile"

    # -- cells of the small picture

    @property
    def kept(self) -> int:
        """Rows of output places of each small copy that are kept at once."""
        return 1 if self.tiled else self.small.places

    @property
    def cells(self) -> int:
        """Cells of the small matrix that are written and kept."""
        return self.copies * self.kept * self.small.places

    @cached_property
    def zeros(self) -> int:
        """Number of added zeros among the cells that are written and kept."""
        upto = self.kept * self.small.places
        return sum(copy[:upto].count(None) for copy in self.small.copies[: self.copies])

    @property
    def values(self) -> int:
        """Number of values of the input among the cells that are written and kept."""
        return self.cells - self.zeros

    @property
    def covered(self) -> Fraction:
        """Cells that are written and kept, divided by the pixels of the small picture."""
        return Fraction(self.cells, SIZE**2)

    @property
    def current(self) -> tuple[int, int] | None:
        """Place (ky, kx) in the kernel of the copy written last; None before the first."""
        return divmod(self.copies - 1, self.k) if self.copies else None

    def last(self) -> str:
        """Return the kinds of the cells of the copy written last, as far as it is kept."""
        return kinds(self.small.copies[self.copies - 1][: self.kept * self.small.places])

    # -- in words ------------------------------------------------------------------------

    def lines(self, formulas: bool = True) -> list[str]:
        """Return sentences with title, step, bytes, input, formula and factor.

        Args:
            formulas: False leaves out the formulas, for a page that asks for them later.
        """
        sizes = {"written": units.exact(self.written), "total": units.exact(self.total)}
        source = units.exact(self.source)
        numbers = input_formula(self.node, self.batch)
        sentence = text_of("twin.bytes", input=source, **sizes)
        if self.count:
            key = "twin.equal" if self.end == self.factor else "twin.unequal"
            key = key if formulas else "twin.plain"
            sentence += " " + text_of(key, now=times(self.now), end=times(self.end),
                              factor=times(self.factor), why=self._simple)  # fmt: skip
        first = [f"{self.title}.", self.last_step, sentence]
        if not formulas:
            return first
        return [
            *first,
            text_of("twin.input", formula=numbers, input=source),
            self.formula or text_of("twin.none"),
            self.factor_line("twin.factor"),
        ]

    @property
    def title(self) -> str:
        """Layer, kernel, stride, padding, batch, and how much is lowered at once, in words."""
        settings = (
            text_of("kernel", k=self.k),
            text_of("stride", stride=self.stride),
            text_of(self.pad),
            text_of("batch", batch=f"{self.batch:,}"),
            text_of(f"kept.{self.how if self.count else 'direct'}"),
        )
        return text_of("title", layer=self.layer_name, settings=", ".join(settings))

    @property
    def layer_name(self) -> str:
        """Display name of the layer: ``'VGG-16 conv1_2'``, with a word if it is made up."""
        name = f"{self.network.title} {self.layer}"
        return text_of("made_up", layer=name) if self.made_up else name

    @property
    def last_step(self) -> str:
        """Sentence on the copy written last."""
        if not self.count:
            return f"{self.headline}."
        if self.current is None:
            return text_of("twin.nothing", count=self.count)
        (ky, kx), copy = self.current, self.last()
        zeros = copy.count("0")
        return text_of("twin.step", number=self.copies, count=self.count, ky=ky, kx=kx, zeros=zeros,
                   values=len(copy) - zeros, shift=self.small.shifted(self.copies - 1))  # fmt: skip

    @property
    def formula(self) -> str:
        """Bytes of the workspace in symbols and in numbers; empty where there are none."""
        if not self.count:
            return ""
        numbers, total = self.workspace.formula(self.batch), units.exact(self.total)
        return text_of(
            "twin.formula", symbols=self.workspace.formula(), numbers=numbers, total=total
        )

    def factor_line(self, key: str) -> str:
        """Return k² Ho Wo / (H W) in symbols, in numbers and its value, in the text of a key."""
        exact = (100 * self.factor).denominator == 1
        value = f"{'=' if exact else '≈'} {times(self.factor)}"
        return text_of(key, symbols="k²·Ho·Wo / (H·W)", numbers=self.ratio, value=value)

    @property
    def ratio(self) -> str:
        """Factor as a quotient in numbers: ``'3²·222·222 / (224·224)'``."""
        _, height, width = self.node.input_shapes[0]
        _, down, across = self.node.shape
        return f"{self.k}²·{down}·{across} / ({height}·{width})"

    @property
    def _simple(self) -> str:
        """Factor as ``'3²/1²'`` where it equals k² / stride²; else the quotient in numbers."""
        k, stride = self.k, self.stride
        return f"{k}²/{stride}²" if self.factor == Fraction(k * k, stride * stride) else self.ratio

    @property
    def headline(self) -> str:
        """Finding of the small picture in a sentence."""
        small, name = self.small, text_of("kernel", k=self.k)
        if not self.count:
            return text_of("found.pointwise" if self.pointwise else "found.direct")
        if self.current is None:
            return text_of("found.nothing")
        if self.copies < self.count:
            shift = small.shifted(self.copies - 1)
            return text_of("found.copy", number=self.copies, count=self.count, shift=shift)
        if self.tiled:
            return text_of("found.tile", kernel=name, places=small.places, all=small.places**2)
        if self.k == 1 and self.stride == 1:
            return text_of("found.one", kernel=name, shift=small.shifted(0))
        every = {"kernel": name, "count": self.count, "places": small.places, "size": SIZE}
        if small.places == SIZE:
            return text_of("found.all", **every)
        if self.pad == "none" and self.k > 1:
            return text_of("found.none", **every)
        part = part_of(Fraction(small.places**2, SIZE**2))
        key = "found.stride_one" if self.k == 1 else "found.stride"
        return text_of(key, stride=self.stride, part=part, **every)

    def verdict(self, room: Budget) -> tuple[str, bool]:
        """Return a sentence on whether a budget holds the copy, and True where it does not.

        The sentence also names the largest batch that fits.
        """
        largest, over = self.workspace.largest(room.nbytes), self.total > room.nbytes
        key = {None: "always", 0: "none"}.get(largest, "refused" if over else "fits")
        need, most = amount(self.total), batches(largest or 0)
        sentence = text_of(f"verdict.{'live_' if room.live else ''}{key}", name=card(room.name),
                   free=hundredths(room.nbytes), need=need, largest=most)  # fmt: skip
        return sentence, over

    @property
    def why(self) -> str:
        """Reason why the small picture has another factor than the layer; empty where they are
        equal."""
        if times(self.covered) == times(self.now):
            return ""
        if self.tiled:
            return text_of("panel.part")
        if self.workspace.name == "im2col-image" and self.batch > 1:
            return text_of("panel.image", batch=f"{self.batch:,}")
        inside = Fraction(self.copies, self.stride**2)
        more = abs(self.covered - inside) > abs(self.now - inside)
        return text_of("panel.more" if more else "panel.less")

    @property
    def tile(self) -> str:
        """Sentence on the size of a tile; empty where more than a tile is lowered at a time."""
        if not self.tiled:
            return ""
        size = dict(self.workspace.parts[0].axes)["tile"]
        real, places = self.node.shape[1] * self.node.shape[2], self.small.places
        return text_of("panel.tile", drawn=places, places=places**2, tile=size, real=f"{real:,}")

    @property
    def drawn(self) -> list[str]:
        """Sentence on how many values of the lowered matrix the animation has written so far."""
        if not self.count:
            return []
        small, reason = self.small, self.why
        copies = text_of("twin.copy" if self.copies == 1 else "twin.copies", count=self.copies)
        return [
            text_of("twin.drawn", size=SIZE, copies=copies, why=f": {reason}" if reason else "",
                places=small.places, pixels=SIZE**2, now=times(self.covered),
                values=f"{self.values:,}", zeros=f"{self.zeros:,}", cells=f"{self.cells:,}",
                all=f"{small.cells:,}")
        ]  # fmt: skip

    @property
    def beside(self) -> list[str]:
        """Lines with the input and its last copy in characters, side by side."""
        if not self.copies:
            return []
        places, last = self.small.places, self.last()
        rows = [last[row * places : (row + 1) * places] for row in range(SIZE)]
        pairs = (f"  {left}   {right}".rstrip() for left, right in zip(LETTER, rows, strict=True))
        return [text_of("twin.beside", number=self.copies), *pairs]

    def pinned(self, pin: Pin | None) -> list[str]:
        """Return sentences on a pinned pixel or output place: where it stands; empty where nothing
        is copied."""
        if pin is None or not self.count:
            return []
        where = {"row": pin.row + 1, "column": pin.column + 1}
        if pin.is_place:
            values, name = len(pin.stands) - pin.zeros, text_of("kernel", k=self.k)
            place = text_of("pin.place", number=pin.number + 1, kernel=name, **where)
            return [place, text_of("pin.holds", values=values, zeros=pin.zeros)]
        count, so_far = len(pin.stands), len(pin.until(self.copies))
        key = {0: "pin.pixel_never", 1: "pin.pixel_once"}.get(count, "pin.pixel")
        rest = [text_of("pin.so_far", written=so_far)] if so_far < count else []
        return [text_of(key, count=count, **where), *rest]

    @property
    def sums(self) -> list[str]:
        """Lines that add up how often the pixels are written; with the zeros, all cells."""
        counts = self.small.counts(self.copies)
        often = sorted(Counter(counts).items(), reverse=True)
        parts = [text_of("counts.pixels", pixels=n, times=count) for count, n in often]
        cells, values = self.copies * self.small.places**2, sum(counts)
        return [
            text_of("counts.values", sum=" + ".join(parts), values=f"{values:,}"),
            text_of("counts.cells", values=f"{values:,}", zeros=f"{cells - values:,}",
                cells=f"{cells:,}", times=times(Fraction(cells, SIZE**2)), size=SIZE**2),
        ]  # fmt: skip


def of_layer(network: Network, name: object, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a ``Lowering`` of a layer, with all copies written.

    Args:
        network: network with the layer.
        name: name of a convolution.
        given: kernel ``k``, ``stride`` and ``pad`` that replace the layer's own.

    Raises:
        InputError: no such convolution, or one whose settings are not drawn and not given.
    """
    node = find(network, name)
    own = settings(node)
    if not own and not {"k", "stride", "pad"} <= given.keys():
        raise InputError(
            f"{node.name} is {conv(node).describe()}, and k 1, 3, 5, 7, stride 1, 2 and same or no "
            "padding are drawn; give k, stride and pad."
        )
    chosen = {**own, **given}
    return {"network": network, "layer": node.name, "step": chosen["k"] ** 2, **chosen}


def card(name: str) -> str:
    """Return the name of a budget, with the year of its machine if it is one."""
    year = DEVICES[name].title.rpartition(", ")[2] if name in DEVICES else ""
    return text_of("ruler.card", name=name, year=year) if year else name
