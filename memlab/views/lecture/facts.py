"""The figures of the lecture, each worked out from the layer when the page is written."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from memlab import devices, zoo
from memlab.lesson import quantities
from memlab.networks.graph import Network, Node
from memlab.views.copies import layer as layers
from memlab.views.copies.layer import amount as amount
from memlab.views.copies.layer import by_copy as by_copy
from memlab.views.copies.layer import conv as conv
from memlab.views.copies.layer import convolutions as convolutions
from memlab.views.copies.layer import factor as factor
from memlab.views.copies.layer import part as part
from memlab.views.copies.layer import times as times

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
    return layers.changed(network().by_name[LAYER], k, stride, pad)


def kernel() -> int:
    """The k of the question."""
    return conv(network().by_name[LAYER]).kernel


def source(batch: int = BATCH) -> int:
    """Bytes of the input."""
    return layers.source(layer(), batch)


def lowered(node: Node, batch: int = BATCH) -> int:
    """Bytes of the lowered copy of a layer's input; 0 where that is the input itself."""
    return layers.lowered(node, batch)


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
    found = layers.workspace(layer(), name)
    return Way(found.size.at(BATCH), found.formula())


def fits(node: Node) -> int:
    """The largest batch whose lowered copy fits on the card."""
    return CARD.memory // lowered(node, 1)


@cache
def pointwise_network(variant: str = "v1.5") -> Network:
    """A network of many 1 x 1 convolutions."""
    return zoo.resnet50(variant=variant)
