"""The convolutions of a network, and what lowering the input of one writes, by its plan.

Lowering (im2col) copies the window of every output place. ``write`` does it for one image.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from math import prod
from statistics import median
from typing import Any

from memlab import formats, strings, this_machine, units
from memlab.axes import dims
from memlab.errors import InputError, pick
from memlab.layers import Conv2d, algorithms
from memlab.layers.layer import Node
from memlab.networks.graph import Network
from memlab.pictures.shifted_copies.small_values import KERNELS, PADS, STRIDES
from memlab.step import tensor
from memlab.step.storage import Size
from memlab.step.tensor import Tensor

WAYS = ("im2col-batch", "im2col-image", "im2col-tile", "direct")
"""How a layer is lowered, from the most memory to none: algorithms of the plan."""
FP32 = formats.find("fp32")
VALUE = 4
"""Bytes of a value in fp32."""


def conv(node: Node) -> Conv2d:
    """The convolution of a node."""
    assert isinstance(node.layer, Conv2d)
    return node.layer


def convolutions(network: Network) -> list[Node]:
    """The convolutions of a network, in order."""
    return [node for node in network.nodes if isinstance(node.layer, Conv2d)]


def find(network: Network, name: object) -> Node:
    """A convolution of a network.

    Raises:
        InputError: no such layer, one that is no convolution, or one with a dilation.
    """
    nodes = {node.name: node for node in convolutions(network)}
    if not nodes:
        raise InputError(f"{network.title} has no convolution; try vgg16.")
    node = pick("convolution", name, nodes)
    if conv(node).dilation > 1:
        raise InputError(f"{name} has dilation {conv(node).dilation}, and 1 is drawn; "
                         "try another layer.")  # fmt: skip
    return node


def settings(node: Node) -> dict[str, Any]:
    """The kernel, stride and padding of a layer: ``{"k": 3, "stride": 1, "pad": "same"}``; nothing
    where they are others than are drawn."""
    layer = conv(node)
    for pad in PADS:
        found = {"k": layer.kernel, "stride": layer.stride, "pad": pad}
        drawn = layer.kernel in KERNELS and layer.stride in STRIDES
        if drawn and changed(node, **found).layer == layer:
            return found
    return {}


@lru_cache(maxsize=256)
def changed(node: Node, k: int, stride: int, pad: str) -> Node:
    """The same layer with another kernel, stride and padding.

    Raises:
        InputError: the kernel is wider than the padded image.
    """
    layer = replace(conv(node), kernel=k, stride=stride, pad="same" if pad == "same" else 0)
    return replace(node, layer=layer, shape=layer.output(*node.input_shapes))


@dataclass(frozen=True)
class Workspace:
    """What an algorithm needs beside the operands of the layer's forward pass.

    ``name`` is the algorithm that does the work: the one asked for, or what it uses instead.
    """

    name: str
    parts: tuple[Tensor, ...]

    @cached_property
    def size(self) -> Size:
        """Its bytes."""
        return sum((part.size for part in self.parts), Size())

    def formula(self, batch: int | None = None) -> str:
        """The bytes as a product, in symbols or, at a batch, in numbers."""
        return " + ".join(part.formula(batch) for part in self.parts)

    def largest(self, room: int) -> int | None:
        """The largest batch that fits: 0 where none does, None where every one does."""
        size = self.size
        if size.fixed > room:
            return 0
        return (room - size.fixed) // size.per_sample if size.per_sample else None


@lru_cache(maxsize=512)
def workspace(node: Node, name: str) -> Workspace:
    """The workspace of an algorithm, as a plan of the layer has it.

    Raises:
        InputError: no such algorithm.
    """
    shapes = node.input_shapes[0], node.shape
    chosen = algorithms.choose(name, conv(node), *shapes, False, node.name, FP32)
    return Workspace(chosen.algorithm, tuple(chosen.workspace.values()))


def input_bytes(node: Node, batch: int) -> int:
    """Bytes of a layer's input."""
    return batch * prod(node.input_shapes[0]) * VALUE


def input_formula(node: Node, batch: int) -> str:
    """The same as a product: ``'128·64·224·224·4 B'``."""
    return tensor.formula(dims(node.input_shapes[0]), FP32, batch)


def lowered_bytes(node: Node, batch: int) -> int:
    """Bytes of the lowered copy of the input; 0 where that is the input itself (A8)."""
    return workspace(node, WAYS[0]).size.at(batch)


def factor(node: Node) -> Fraction:
    """How many times its input that is: k² Ho Wo / (H W)."""
    return Fraction(lowered_bytes(node, 1), input_bytes(node, 1))


def by_copy(nodes: Sequence[Node]) -> tuple[list[Node], list[Node], list[Node]]:
    """Those that need no copy, those whose copy is a part of the input, and the others."""
    none = [node for node in nodes if factor(node) == 0]
    part = [node for node in nodes if 0 < factor(node) < 1]
    return none, part, [node for node in nodes if factor(node) >= 1]


# -- as text --------------------------------------------------------------------------------------


def amount(nbytes: int) -> str:
    """Bytes at a glance: ``'14.80 GB'``, ``'133 GB'``, ``'115.6 MB'``, ``'4.5 KiB'``."""
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
    """A factor with two decimals if it has less than four digits, or as a part: ``'9.00'``,
    ``'7,225'``, ``'1/14,867'``."""
    if 0 < ratio < Fraction(1, 100):
        return f"1/{round(1 / ratio):,}"
    return f"{float(ratio):,.{2 if ratio < 1000 else 0}f}"


def short_times(ratio: Fraction) -> str:
    """A factor without decimals where it has none: ``'9'``, ``'2.25'``."""
    return f"{ratio}" if ratio.denominator == 1 else f"{float(ratio):.2f}"


def part_of(ratio: Fraction) -> str:
    """A part of one: ``'¼'``."""
    return {Fraction(1, 4): "¼", Fraction(1, 2): "½"}.get(ratio, str(ratio))


# -- for real -------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Written:
    """Planned and measured bytes of the copy of one image, and the seconds of writing it once."""

    planned: int
    measured: int
    seconds: float

    @property
    def residual(self) -> int:
        """Measured less planned bytes."""
        return self.measured - self.planned

    @property
    def ms(self) -> str:
        """Milliseconds, two digits."""
        return f"{1000 * self.seconds:.2g}" if self.seconds < 0.1 else f"{1000 * self.seconds:.0f}"

    def __repr__(self) -> str:
        """Without the time, which is another each time."""
        if not self.planned:
            return strings.get("copies.write.nothing")
        sizes = {"planned": units.exact(self.planned), "measured": units.exact(self.measured)}
        return strings.get("copies.write.done", residual=units.exact(self.residual), **sizes)

    def text(self) -> str:
        """In a sentence; the time only where it was a moment ago."""
        if not self.planned:
            return f"{self!r}."
        key = "ms" if self.seconds else "image"
        return strings.get(f"copies.write.{key}", ms=self.ms, done=repr(self))


def write(node: Node, otherwise: str, times: int = 1) -> Written:
    """Lower one image of a layer under the meter, into new memory; the median of several times.

    ``otherwise`` is what to try where that does not fit.

    Raises:
        InputError: so much memory is not free.
    """
    from memlab.measure.convolution import Case  # compiled code: who writes nothing needs none
    from memlab.measure.lecture_layer import copied

    case, planned = Case(node.name, node.input_shapes[0], conv(node)), lowered_bytes(node, 1)
    need, free = planned + input_bytes(node, 1), this_machine.free_memory()
    if need > free:
        raise InputError(
            f"the run needs {units.short(need)} and {units.short(free)} are free; {otherwise}."
        )
    measured, seconds = copied(case, times)
    return Written(planned, measured, median(seconds))
