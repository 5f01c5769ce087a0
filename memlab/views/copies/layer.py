"""The real layer whose input is lowered: its bytes, from its shapes and from the plan."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import prod

from memlab import formats, units
from memlab.lesson import quantities
from memlab.networks.graph import Network, Node
from memlab.networks.layers import Conv2d
from memlab.step import algorithms, tensor
from memlab.step.algorithms import pointwise
from memlab.step.rules import dims
from memlab.step.storage import Size
from memlab.step.tensor import Tensor

FP32 = formats.find("fp32")


def conv(node: Node) -> Conv2d:
    """The convolution of a node."""
    assert isinstance(node.layer, Conv2d)
    return node.layer


def convolutions(network: Network) -> list[Node]:
    """The convolutions of a network, in order."""
    return [node for node in network.nodes if isinstance(node.layer, Conv2d)]


@lru_cache(maxsize=256)
def changed(node: Node, k: int, stride: int, pad: str) -> Node:
    """The same layer with another kernel, stride and padding.

    Raises:
        InputError: the kernel is wider than the padded image.
    """
    layer = replace(conv(node), kernel=k, stride=stride, pad="same" if pad == "same" else 0)
    return replace(node, layer=layer, shape=layer.output(*node.input_shapes))


def source(node: Node, batch: int) -> int:
    """Bytes of the input."""
    return batch * prod(node.input_shapes[0]) * quantities.FP32


def source_formula(node: Node, batch: int) -> str:
    """The same as a product: ``'128·64·224·224·4 B'``."""
    return tensor.formula(dims(node.input_shapes[0]), FP32, batch)


def lowered(node: Node, batch: int) -> int:
    """Bytes of the lowered copy of the input; 0 where that is the input itself (A8)."""
    return 0 if pointwise(conv(node)) else quantities.lowered(node, batch).nbytes


def factor(node: Node) -> Fraction:
    """How many times its input that is: k² Ho Wo / (H W)."""
    return Fraction(lowered(node, 1), source(node, 1))


def by_copy(nodes: list[Node]) -> tuple[list[Node], list[Node], list[Node]]:
    """Those that need no copy, those whose copy is a part of the input, and the others."""
    none = [node for node in nodes if factor(node) == 0]
    part = [node for node in nodes if 0 < factor(node) < 1]
    return none, part, [node for node in nodes if factor(node) >= 1]


@dataclass(frozen=True)
class Workspace:
    """What an algorithm needs beside the operands of the layer's forward pass.

    ``name`` is the algorithm that does the work: the one asked for, or what it uses instead.
    """

    name: str
    parts: tuple[Tensor, ...]

    @property
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


@lru_cache(maxsize=256)
def workspace(node: Node, name: str) -> Workspace:
    """The workspace of an algorithm, as a plan of the layer has it.

    Raises:
        InputError: no such algorithm.
    """
    shapes = node.input_shapes[0], node.shape
    chosen = algorithms.choose(name, conv(node), *shapes, False, node.name, FP32)
    return Workspace(chosen.algorithm, tuple(chosen.workspace.values()))


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
    return (
        units.in_unit(nbytes, "KiB", 1 if nbytes % kibi else 0) if nbytes >= kibi else f"{nbytes} B"
    )


def times(ratio: Fraction) -> str:
    """A factor: ``'9'``, ``'2.25'``; with two decimals where it has more."""
    return f"{ratio}" if ratio.denominator == 1 else f"{float(ratio):.2f}"


def part(ratio: Fraction) -> str:
    """A part of one: ``'¼'``."""
    return {Fraction(1, 4): "¼", Fraction(1, 2): "½"}.get(ratio, str(ratio))
