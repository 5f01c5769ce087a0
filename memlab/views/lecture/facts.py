"""The figures of the lecture, each worked out from the layer when the page is written."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from math import prod
from typing import NamedTuple

from memlab import devices, formats, units, zoo
from memlab.lesson import quantities
from memlab.networks.graph import Network, Node
from memlab.networks.layers import Conv2d
from memlab.step import algorithms
from memlab.step.algorithms import pointwise

NETWORK, LAYER, BATCH = "vgg16", "conv1_2", 128
BATCHES = (1, 2, 4, 8, 16, 32, 64, 128)
WAYS = ("im2col-batch", "im2col-image", "im2col-tile", "offsets")
"""Algorithms, from the most workspace to the least."""
CARD = devices.find("12 GB card")


@cache
def network() -> Network:
    """The network that the question is about."""
    return zoo.build(NETWORK)


@cache
def layer(k: int = 3, stride: int = 1, pad: str = "same") -> Node:
    """The layer of the question, or the same with another kernel."""
    node = network().by_name[LAYER]
    assert isinstance(node.layer, Conv2d)
    changed = Conv2d(node.layer.out_channels, k, stride, "same" if pad == "same" else 0)
    return replace(node, layer=changed, shape=changed.output(*node.input_shapes))


def kernel() -> int:
    """The k of the question."""
    return conv(network().by_name[LAYER]).kernel


def conv(node: Node) -> Conv2d:
    """The convolution of a node."""
    assert isinstance(node.layer, Conv2d)
    return node.layer


def source(batch: int = BATCH) -> int:
    """Bytes of the input."""
    return batch * prod(layer().input_shapes[0]) * quantities.FP32


def lowered(node: Node, batch: int = BATCH) -> int:
    """Bytes of the lowered copy of a layer's input; 0 where that is the input itself (A8)."""
    return 0 if pointwise(conv(node)) else quantities.lowered(node, batch).nbytes


def factor(node: Node) -> Fraction:
    """How many times its input that is: k² Ho Wo / (H W)."""
    return Fraction(lowered(node, 1), prod(node.input_shapes[0]) * quantities.FP32)


def mistake(name: str) -> int:
    """What somebody answers who makes this mistake."""
    causes = quantities.lowered(layer(), BATCH).causes
    return int(next(cause.value for cause in causes if cause.name == name))


class Way(NamedTuple):
    """A way to compute the layer: its workspace in bytes, and the formula of that."""

    nbytes: int
    formula: str


def way(name: str) -> Way:
    """The workspace of an algorithm for the layer of the question, at its batch."""
    node = layer()
    (buffer,) = algorithms.choose(
        name, conv(node), node.input_shapes[0], node.shape, False, LAYER, formats.find("fp32")
    ).workspace.values()
    return Way(buffer.size.at(BATCH), buffer.formula())


def fits(node: Node) -> int:
    """The largest batch whose lowered copy fits on the card."""
    return CARD.memory // lowered(node, 1)


@cache
def pointwise_network(variant: str = "v1.5") -> Network:
    """A network of many 1 x 1 convolutions."""
    return zoo.resnet50(variant=variant)


def convolutions(network: Network) -> list[Node]:
    """Its convolutions, in order."""
    return [node for node in network.nodes if isinstance(node.layer, Conv2d)]


# -- as text --------------------------------------------------------------------------------------


def amount(nbytes: int) -> str:
    """Bytes for a projector: ``'14.80 GB'``, ``'133 GB'``, ``'115.6 MB'``, ``'4.5 KiB'``."""
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
