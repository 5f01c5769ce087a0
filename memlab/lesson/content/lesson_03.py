"""Lesson 03, lowering: the factor of one layer, of a whole network, and the buffer of a tile."""

from __future__ import annotations

from fractions import Fraction
from math import prod
from random import Random

import numpy as np

from memlab import units
from memlab.lesson.allocation import measure
from memlab.lesson.content.lesson_02 import FP32, one_convolution
from memlab.lesson.content.tools import measured, planned, step_of
from memlab.lesson.misconceptions import Cause, distinct
from memlab.lesson.quantities import lowered
from memlab.lesson.question import Kind, Numbers, Truth, topic
from memlab.networks import zoo
from memlab.networks.graph import Network, Node
from memlab.networks.layers import Conv2d
from memlab.planner.book import plan
from memlab.planner.ledger import Ledger
from memlab.step.buffers import PANEL, TILE
from memlab.step.step import Step
from memlab.techniques.lowering import lowering


def forward_by(algorithm: str, network: Network) -> Step:
    """The forward pass of a network whose convolutions are computed in one way."""
    return lowering(step_of(network, ""), algorithm)


def workspace(ledger: Ledger, layer: str, batch: int) -> int:
    """The buffer of a layer in bytes; 0 where it has none."""
    sizes = {entry.name: entry.size.at(batch) for entry in ledger.entries}
    return sizes.get(f"{layer}.workspace", 0)


def conv(node: Node) -> Conv2d:
    """The convolution of a node."""
    assert isinstance(node.layer, Conv2d)
    return node.layer


def input_bytes(node: Node, batch: int = 1) -> int:
    """What a layer reads, in fp32."""
    return batch * prod(node.input_shapes[0]) * FP32


def written(node: Node) -> int:
    """Bytes of one image's lowered copy, as the kernel writes it for real."""
    from memlab.kernels import im2col

    image, layer = np.zeros((1, *node.input_shapes[0]), np.float32), conv(node)
    im2col(np.zeros((1, 1, 1, 1), np.float32), 1)  # compiled before it is measured
    return measure(im2col, image, layer.kernel, layer.stride, layer.padding).peak


# -- one layer, with another window -------------------------------------------------------------

_LAYERS = ("conv2_1", "conv2_2", "conv3_1", "conv3_3", "conv4_1", "conv4_2")
"""Layers of VGG-16 that a retry asks about."""
_COPIES = ("1", "2", "3", "4", "5", "7", "9", "12", "15", "20", "25", "36", "49", "64", "81", "125")
_THINNED = ("0.5", "0.75", "1", "1.5", "2.25", "3", "4.5", "6.25", "9", "12.25", "18", "25", "49")

_WIDE = {"network": "vgg16", "layer": "conv1_2", "k": 5, "stride": 1, "batch": 128}
_THIN = {"network": "vgg16", "layer": "conv1_2", "k": 3, "stride": 2, "batch": 128}


def _draw_window(chance: Random) -> Numbers:
    found = {"network": "vgg16", "layer": chance.choice(_LAYERS), "k": chance.choice((5, 7, 9))}
    return {**found, "stride": 1, "batch": chance.choice((16, 32, 64))}


def _draw_stride(chance: Random) -> Numbers:
    k = chance.choice((3, 5, 7))
    found = {"network": "vgg16", "layer": chance.choice(_LAYERS), "k": k}
    stride = 2 if k == 3 else chance.choice((2, 4))
    return {**found, "stride": stride, "batch": chance.choice((16, 32, 64))}


def with_window(n: Numbers) -> Network:
    """A layer of a network with another window and same padding, alone in its own network."""
    node = zoo.build(n["network"]).by_name[n["layer"]]
    (channels, size, _), *_ = node.input_shapes
    shapes = {"channels": channels, "size": size, "kernels": node.shape[0]}
    return one_convolution({**n, **shapes, "pad": n["k"] // 2})


def _window_words(n: Numbers) -> Numbers:
    network = zoo.build(n["network"])
    node = network.by_name[n["layer"]]
    source = units.short(input_bytes(node, n["batch"]))
    return {**n, "label": network.label, "was": conv(node).kernel, "input": source}


def _window_causes(node: Node) -> list[Cause]:
    """Ratios of somebody who counts one direction, or forgets what the stride or padding does."""
    k, s = conv(node).kernel, conv(node).stride
    named = ("one_k", "not_lowered", "lowered_twice", "stride", "stride_once", "padding")
    source, known = input_bytes(node), lowered(node, 1).causes
    found = [Cause(c.name, c.value / source, c.values) for c in known if c.name in named]
    if s == 1:
        return [*found, Cause("linear", Fraction(3 * k), {"k": k})]
    return [*found, Cause("one_direction", Fraction(k, s), {"k": k, "stride": s})]


def factor(n: Numbers) -> Truth:
    """How many times its input a lowered copy takes: planned at the batch, written for 1 image
    (A8)."""
    network, batch = with_window(n), n["batch"]
    node, ledger = network.by_name["conv"], plan(forward_by("im2col-batch", network))
    due = workspace(ledger, "conv", batch)
    ratio = Fraction(due, input_bytes(node, batch))
    figures = planned(ratio), measured(Fraction(written(node), input_bytes(node)))
    causes = tuple(distinct(ratio, _window_causes(node)))
    rows, columns = node.shape[1:]
    return Truth(ratio, figures, causes, {"copies": n["k"] ** 2, "rows": rows,
                 "columns": columns, "nbytes": units.both(due)})  # fmt: skip


topic("03.copy", Kind.TIMES, _WIDE, _draw_window, stops=_COPIES, words=_window_words)(factor)
topic("03.stride", Kind.TIMES, _THIN, _draw_stride, stops=_THINNED, decimals=2,
      words=_window_words)(factor)  # fmt: skip


# -- a whole network ----------------------------------------------------------------------------

_NETWORKS = ("resnet18", "resnet34", "resnet101", "googlenet_bn", "vgg13", "alexnet")
_RATIOS = ("1.0", "1.2", "1.5", "1.8", "2.0", "2.4", "3.0", "3.5", "4.0", "5.0", "6.5", "7.5",
           "9.0", "10.5", "12.0")  # fmt: skip


def _draw_network(chance: Random) -> Numbers:
    return {"network": chance.choice(_NETWORKS), "batch": chance.choice((16, 32, 64))}


def convolutions(name: str) -> list[Node]:
    """The convolutions of a network, in order."""
    return [node for node in zoo.build(name).nodes if isinstance(node.layer, Conv2d)]


def _network_words(n: Numbers) -> Numbers:
    count = len(convolutions(n["network"]))
    return {**n, "label": zoo.build(n["network"]).label, "count": count}


def _network_causes(nodes: list[Node], made: Fraction) -> list[Cause]:
    """Every layer taken for a 3x3; every layer counted alike; no stride; copies ``made`` alone."""
    ratios = [Fraction(lowered(node, 1).nbytes, input_bytes(node)) for node in nodes]
    inputs = sum(map(input_bytes, nodes))
    unthinned = sum(conv(node).kernel ** 2 * input_bytes(node) for node in nodes)
    return [
        Cause("all_3x3", Fraction(9)),
        Cause("left_out", made, {"count": len(nodes)}),
        Cause("counted_alike", sum(ratios, Fraction()) / len(nodes)),
        Cause("strides", Fraction(unthinned, inputs)),
        Cause("not_lowered", Fraction(1)),
    ]


@topic("03.whole", Kind.TIMES, {"network": "resnet50", "batch": 32}, _draw_network,
       stops=_RATIOS, decimals=1, words=_network_words)  # fmt: skip
def whole(n: Numbers) -> Truth:
    """All lowered matrices of a network over all inputs (A8), planned, and written for 1 image.

    Where the matrix is the input itself (1x1, stride 1) the plan has no copy.
    """
    nodes, batch = convolutions(n["network"]), n["batch"]
    ledger = plan(forward_by("im2col-batch", zoo.build(n["network"])))
    copies = [workspace(ledger, node.name, batch) for node in nodes]
    sources = [input_bytes(node, batch) for node in nodes]
    matrices = sum(copy or source for copy, source in zip(copies, sources, strict=True))
    ratio = Fraction(matrices, sum(sources))
    seen = Fraction(sum(map(written, nodes)), sum(map(input_bytes, nodes)))
    causes = distinct(ratio, _network_causes(nodes, Fraction(sum(copies), sum(sources))))
    told = {
        "inputs": units.both(sum(sources)), "matrices": units.both(matrices),
        "none": copies.count(0), "made": units.both(sum(copies)),
    }  # fmt: skip
    return Truth(ratio, (planned(ratio), measured(seen)), tuple(causes), told)


# -- a tile -------------------------------------------------------------------------------------

_TILE = {"network": "vgg16", "layer": "conv1_2", "channels": 64, "size": 224, "kernels": 64,
         "k": 3, "stride": 1, "pad": 1, "batch": 128}  # fmt: skip


def _draw_tile(chance: Random) -> Numbers:
    """Layers whose channels all fit into one panel."""
    k = chance.choice((3, 5))
    most = PANEL // (TILE * k * k)
    return {
        "channels": chance.choice([c for c in (12, 16, 20, 32, 40, 48) if c <= most]),
        "size": chance.choice((32, 40, 56, 112)), "kernels": chance.choice((16, 32)),
        "k": k, "stride": 1, "pad": k // 2, "batch": chance.choice((16, 32, 64)),
    }  # fmt: skip


def _tile_causes(node: Node, nbytes: int, batch: int) -> list[Cause]:
    (channels, *_), k = node.input_shapes[0], conv(node).kernel
    image, places = lowered(node, 1).nbytes, prod(node.shape[1:])
    return [
        Cause("bits", Fraction(8 * nbytes)),
        Cause("values", Fraction(nbytes, FP32), {"bytes": FP32}),
        Cause("one_k", Fraction(nbytes, k), {"k": k}),
        Cause("not_lowered", Fraction(nbytes, k * k)),
        Cause("one_channel", Fraction(nbytes, channels), {"channels": channels}),
        Cause("whole_image", Fraction(image), {"tile": TILE, "places": f"{places:,}"}),
        Cause("each_image", Fraction(nbytes * batch), {"batch": batch}),
    ]


@topic("03.tile", Kind.AMOUNT, _TILE, _draw_tile, words=lambda n: {**n, "tile": TILE})
def tile(n: Numbers) -> Truth:
    """The buffer of a tile in a plan, and in a run of 1 image (G4)."""
    from memlab.runtime.run import run

    network, batch = one_convolution(n), n["batch"]
    done = run(forward_by("im2col-tile", network), 1)
    due, seen = (workspace(ledger, "conv", 1) for ledger in (done.planned, done.measured))
    node = network.by_name["conv"]
    causes = distinct(due, _tile_causes(node, due, batch))
    told: dict[str, object] = {"nbytes": f"{due:,}", "image": units.both(lowered(node, 1).nbytes)}
    return Truth(Fraction(due), (planned(due), measured(seen)), tuple(causes), told)
