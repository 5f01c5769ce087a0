"""Lesson 03, lowering (im2col).

Cards: the size of a lowered copy, its ratio to the input for a layer and a network, and tiles.
Exercise: the bytes of a lowered copy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from itertools import groupby
from math import prod
from operator import itemgetter
from random import Random

import numpy as np

from memlab import strings
from memlab.layers import Conv2d
from memlab.layers.algorithms import TILE
from memlab.layers.layer import Node
from memlab.ledger.ledger import Ledger
from memlab.ledger.plan import plan
from memlab.lesson.card_question import AnswerKind, Numbers, Purpose, Truth, topic
from memlab.lesson.content.lesson_02 import FP32, at, one_convolution
from memlab.lesson.content.shared_truths import (
    beside,
    copied_window,
    known,
    room,
    same_rows,
    step_of,
    with_label,
)
from memlab.lesson.exercise_task import Arguments, Slip, task
from memlab.lesson.material.allocation import measure
from memlab.lesson.material.quantities import lowered
from memlab.lesson.misconceptions import Mistake, confusable_pairs, distinct_causes
from memlab.networks import zoo
from memlab.networks.graph import Network
from memlab.step.step import Step
from memlab.techniques.lowering import lowering


def forward_by(algorithm: str, network: Network) -> Step:
    """Forward pass of a network whose convolutions use this algorithm."""
    return lowering(step_of(network, ""), algorithm)


def workspace(ledger: Ledger, layer: str, batch: int) -> int:
    """Bytes of the workspace of a layer; 0 if it has none."""
    sizes = {entry.name: entry.size.at(batch) for entry in ledger.entries}
    return sizes.get(f"{layer}.workspace", 0)


def conv(node: Node) -> Conv2d:
    """Return the convolution of a node."""
    assert isinstance(node.layer, Conv2d)
    return node.layer


def input_bytes(node: Node, batch: int = 1) -> int:
    """Bytes of a layer's input in fp32."""
    return batch * prod(node.input_shapes[0]) * FP32


def written(node: Node) -> int:
    """Bytes of one image's lowered copy, measured while the kernel writes it."""
    from memlab.kernels import im2col

    image, layer = np.zeros((1, *node.input_shapes[0]), np.float32), conv(node)
    im2col(np.zeros((1, 1, 1, 1), np.float32), 1)  # compiled before it is measured
    return measure(im2col, image, layer.kernel, layer.stride, layer.padding).peak


# -- what lesson 02 had -------------------------------------------------------------------------

topic(
    "03.part", AnswerKind.CHOICE, {}, None, options=("floor", "mountain", "both", "neither"),
    part=Purpose.RECALL, gives=("only the mountain", "mountain halves"),
)(known("mountain"))  # fmt: skip


@topic("03.inside", AnswerKind.CHOICE, {"batch": 32}, None, part=Purpose.RECALL,
       options=("map", "gradient_map", "gradient", "workspace"),
       gives=("lives in 1 operation", "inside 1 operation"))  # fmt: skip
def inside(n: Numbers) -> Truth:
    """Answer of 03.inside: the array of a convolution that is freed by the
    operation that makes it."""
    names = {"conv": "map", "gradient of conv": "gradient_map",
             "gradient of conv.weight": "gradient", "conv.workspace": "workspace"}  # fmt: skip
    entries = plan(step_of(with_window({**_LAYER, **n, "k": 3, "stride": 1}), "sgd")).entries
    (short,) = (names[e.name] for e in entries if e.name in names and e.birth == e.death)
    return Truth(short)


# -- one layer ----------------------------------------------------------------------------------

_LAYERS = ("conv2_1", "conv2_2", "conv3_1", "conv3_3", "conv4_1", "conv4_2")
"""Layers of VGG-16 that a retry asks about."""
_THINNED = ("0.5", "0.75", "1", "1.5", "2.25", "3", "4.5", "6.25", "9", "12.25", "18", "25", "49")

_LAYER = {"network": "vgg16", "layer": "conv1_2"}
_THIN = {**_LAYER, "k": 3, "stride": 2, "batch": 128}


def _draw_stride(chance: Random) -> Numbers:
    k, stride = chance.choice(((3, 1), (5, 1), (5, 2), (7, 2)))
    numbers = {"network": "vgg16", "layer": chance.choice(_LAYERS), "k": k, "stride": stride}
    return {**numbers, "batch": chance.choice((16, 32, 64))}


def with_window(n: Numbers, more: int = 1) -> Network:
    """Network of one layer taken from another network, with kernel size ``k``, same padding, and
    ``more`` times its number of kernels."""
    node = zoo.build(n["network"]).by_name[n["layer"]]
    (channels, size, _), *_ = node.input_shapes
    shapes = {"channels": channels, "size": size, "kernels": more * node.shape[0]}
    return one_convolution({**n, **shapes, "pad": n["k"] // 2})


def _window_words(n: Numbers) -> Numbers:
    network = zoo.build(n["network"])
    node = network.by_name[n["layer"]]
    source = at(input_bytes(node, n["batch"]))
    return {**n, "label": network.label, "input": source, "kernels": node.shape[0],
            "more": 2 * node.shape[0]}  # fmt: skip


def _window_causes(node: Node) -> list[Mistake]:
    """Mistakes about the ratio of a lowered copy: one direction counted, or the
    stride forgotten."""
    k, s = conv(node).kernel, conv(node).stride
    named = ("one_k", "not_lowered", "lowered_twice", "stride", "stride_once", "padding")
    source = input_bytes(node)
    causes = [cause for cause in lowered(node, 1).causes if cause.name in named]
    mistakes = [Mistake(c.name, c.value / source, c.values) for c in causes]
    return [*mistakes, Mistake("one_direction", Fraction(k, s), {"k": k, "stride": s})]


def factor(n: Numbers) -> Truth:
    """Answer of 03.stride: the lowered copy over its input, planned at the batch and written for 1
    image (A8)."""
    network, batch = with_window(n), n["batch"]
    node, ledger = network.by_name["conv"], plan(forward_by("im2col-batch", network))
    due = workspace(ledger, "conv", batch)
    ratio = Fraction(due, input_bytes(node, batch))
    figures = beside(ratio, lambda: Fraction(written(node), input_bytes(node)))
    causes = tuple(distinct_causes(ratio, _window_causes(node)))
    rows, columns = node.shape[1:]
    return Truth(ratio, figures, causes, {"copies": n["k"] ** 2, "rows": rows,
                 "columns": columns, "nbytes": at(due)})  # fmt: skip


topic("03.stride", AnswerKind.TIMES, _THIN, _draw_stride, stops=_THINNED, decimals=2,
      words=_window_words, gives=("k²/s²", "k²·Ho·Wo", "a quarter", "quarters", "4 times smaller"),
      shows=({"stride": 2},))(factor)  # fmt: skip


@topic("03.kernels", AnswerKind.CHOICE, {**_THIN, "stride": 1}, None, words=_window_words,
       options=("same", "twice", "four", "less"),
       gives=("B·C·k²·Ho·Wo", "number of kernels", "what a layer reads"))  # fmt: skip
def kernels(n: Numbers) -> Truth:
    """Answer of 03.kernels: the lowered copy of a layer with twice its kernels; it does not change
    (A7)."""
    net, twice = with_window(n), with_window(n, 2)
    sizes = [
        workspace(plan(forward_by("im2col-batch", x)), "conv", n["batch"]) for x in (net, twice)
    ]
    ratio = Fraction(sizes[1], sizes[0])
    names = {Fraction(1): "same", Fraction(2): "twice", Fraction(4): "four"}
    node = net.by_name["conv"]
    rows = node.input_shapes[0][0] * n["k"] ** 2
    return Truth(names.get(ratio, "less"), seen={
        "nbytes": at(sizes[0]), "kernels": node.shape[0], "rows": rows,
        "places": f"{prod(node.shape[1:]):,}"})  # fmt: skip


# -- a whole network ----------------------------------------------------------------------------

_NETWORKS = ("resnet18", "resnet34", "resnet101", "googlenet_bn", "vgg13", "alexnet")
_RATIOS = ("1.0", "1.2", "1.4", "1.5", "1.8", "2.0", "2.4", "3.0", "3.2", "3.5", "4.0", "5.0",
           "6.5", "7.5", "9.0", "10.5", "12.0")  # fmt: skip


def _draw_network(chance: Random) -> Numbers:
    return {"network": chance.choice(_NETWORKS), "batch": chance.choice((16, 32, 64))}


def convolutions(name: str) -> list[Node]:
    """Return the convolutions of a network, in order."""
    return [node for node in zoo.build(name).nodes if isinstance(node.layer, Conv2d)]


def _network_words(n: Numbers) -> Numbers:
    return {**with_label(n), "windows": _windows(convolutions(n["network"]))}


def _windows(nodes: list[Node]) -> str:
    """Return the windows of convolutions by stride: ``'3 convolutions of 3·3 (stride 1)'``."""
    counts = Counter((conv(node).stride, conv(node).kernel) for node in nodes)
    groups = []
    for stride, alike in groupby(sorted(counts), key=itemgetter(0)):
        kinds = [
            _text("first" if key == min(counts) else "next", count=counts[key], k=key[1])
            for key in alike
        ]
        groups.append(_text("stride", kinds=strings.series(kinds), stride=stride))
    return "; ".join(groups)


def _text(key: str, **values: object) -> str:
    return strings.get(f"ask.03.whole.windows.{key}", **values)


def _network_causes(nodes: list[Node], fraction: Fraction) -> list[Mistake]:
    """Mistakes about the ratio for a network: all kernels 3x3, layers without a copy left out, all
    layers weighted alike, strides forgotten.

    The last two become one mistake where their values are alike.
    """
    inputs = sum(map(input_bytes, nodes))
    unthinned = sum(conv(node).kernel ** 2 * input_bytes(node) for node in nodes)
    mean, whole = _mean_ratio(nodes), Fraction(unthinned, inputs)
    two = [Mistake("counted_alike", mean), Mistake("strides", whole)]
    return [
        Mistake("all_3x3", Fraction(9)),
        Mistake("left_out", fraction, {"count": len(nodes)}),
        *([Mistake("alike_or_strides", (mean + whole) / 2)] if confusable_pairs(0, two) else two),
        Mistake("not_lowered", Fraction(1)),
    ]


def _mean_ratio(nodes: list[Node]) -> Fraction:
    """Mean over the layers of a lowered matrix over its input."""
    ratios = [Fraction(lowered(node, 1).nbytes, input_bytes(node)) for node in nodes]
    return sum(ratios, Fraction()) / len(nodes)


@topic("03.whole", AnswerKind.TIMES, {"network": "resnet50", "batch": 32}, _draw_network,
       stops=_RATIOS, decimals=1, words=_network_words,
       gives=("most windows are 1·1",),
       shows=({"network": "resnet50"},))  # fmt: skip
def whole(n: Numbers) -> Truth:
    """Answer of 03.whole: all lowered matrices of a network over all inputs, planned, and written
    for 1 image (A8).

    Where the matrix is the input itself (1x1, stride 1) the plan has no copy.
    """
    nodes, batch = convolutions(n["network"]), n["batch"]
    ledger = plan(forward_by("im2col-batch", zoo.build(n["network"])))
    copies = [workspace(ledger, node.name, batch) for node in nodes]
    sources = [input_bytes(node, batch) for node in nodes]
    matrices = sum(copy or source for copy, source in zip(copies, sources, strict=True))
    ratio = Fraction(matrices, sum(sources))
    causes = distinct_causes(ratio, _network_causes(nodes, Fraction(sum(copies), sum(sources))))
    told = {
        "inputs": at(sum(sources)), "matrices": at(matrices),
        "made": at(sum(copies)),
        "mean": f"{float(_mean_ratio(nodes)):.1f}",
    }  # fmt: skip
    figures = beside(
        ratio, lambda: Fraction(sum(map(written, nodes)), sum(map(input_bytes, nodes)))
    )
    return Truth(ratio, figures, tuple(causes), told)


# -- a tile -------------------------------------------------------------------------------------


def tiles(node: Node, batch: int) -> int:
    """Bytes written into the buffer of a tile in total, tile by tile."""
    places = prod(node.shape[1:])
    filled = sum(min(TILE, places - first) for first in range(0, places, TILE))
    return FP32 * batch * node.input_shapes[0][0] * conv(node).kernel ** 2 * filled


_MEASURED = {"network": "resnet50", "layer": "1.1.conv2", "batch": 8, "k": 3, "stride": 1}
"""Layer of the curve under the answer: five ways take seconds on two cores, and the copy fits no
cache."""


@topic("03.tile", AnswerKind.CHOICE, _MEASURED, None, options=("fewer", "same", "more"),
       words=lambda n: {**_window_words(n), **_tile(n)},
       gives=("the same bytes are written", "same number of bytes"), seconds=20)  # fmt: skip
def tile(n: Numbers) -> Truth:
    """Answer of 03.tile: bytes written through the buffer of a tile, compared with the copy of the
    whole batch (G4)."""
    network = with_window(n)
    whole = workspace(plan(forward_by("im2col-batch", network)), "conv", n["batch"])
    through = tiles(network.by_name["conv"], n["batch"])
    answer = "same" if through == whole else "fewer" if through < whole else "more"
    return Truth(answer, seen=_tile(n))


def _tile(n: Numbers) -> dict[str, object]:
    """Planned bytes of the copy of the whole batch and of the buffer of a tile, for texts."""
    network = with_window(n)
    whole, part = (workspace(plan(forward_by(way, network)), "conv", n["batch"])
                   for way in ("im2col-batch", "im2col-tile"))  # fmt: skip
    return {"tile": TILE, "whole": at(whole), "buffer": at(part)}


# -- exercise -----------------------------------------------------------------------------------


def _draw_window(chance: Random, size: int) -> Arguments:
    batch, channels = chance.randint(1, 2 * size), chance.randint(1, size)
    return {"batch": batch, "channels": channels, **copied_window(chance, size)}


def _mistake(name: str) -> Slip:
    """Slip with the value of a named mistake; the truth where the mistake changes nothing."""

    def wrong(truth: int, a: Arguments) -> Fraction:
        node = one_convolution({"kernels": 1, **a}).by_name["conv"]
        causes = {cause.name: cause.value for cause in lowered(node, a["batch"]).causes}
        return causes.get(name, Fraction(truth))

    return wrong


def _with(rows: Callable[[Arguments], int | float]) -> Slip:
    """Slip with another number of output rows and columns."""
    return lambda truth, a: FP32 * a["batch"] * a["channels"] * (a["k"] * rows(a)) ** 2


_MISTAKES = ("values", "bits", "batch", "one_k", "not_lowered", "stride", "padding")
_COPY_SLIPS: dict[str, Slip] = {
    **{name: _mistake(name) for name in _MISTAKES},
    "one_channel": lambda truth, a: Fraction(truth, a["channels"]),
    "input_places": _with(lambda a: a["size"]),
    "one_side": _with(lambda a: room(a, 1) // a["stride"] + 1),
    "not_whole": _with(lambda a: room(a) / a["stride"] + 1),
    "one_less": _with(lambda a: room(a) // a["stride"]),
}


_COPY_TRAPS: dict[str, Slip] = {
    "same": _with(same_rows),
    "round": _with(lambda a: round(room(a) / a["stride"]) + 1),
    "padded_later": _with(lambda a: room(a, 0) // a["stride"] + 1 + 2 * a["pad"]),
    "apart": _with(lambda a: room(a, 0) // a["stride"] + 2 * a["pad"] // a["stride"] + 1),
    "unpadded_1": lambda truth, a: truth if a["k"] > 1 or a["pad"] else 0,
    "every_1": lambda truth, a: truth if a["k"] > 1 or a["stride"] > 1 else 0,
}


@lru_cache(maxsize=4096)
def _copy_of(channels: int, size: int, k: int, stride: int, pad: int, batch: int) -> int:
    numbers = {"channels": channels, "size": size, "k": k, "stride": stride, "pad": pad}
    network = one_convolution({"kernels": 1, **numbers})
    return workspace(plan(forward_by("im2col-batch", network)), "conv", batch)


@task("03.lowered_bytes", _draw_window, slips=_COPY_SLIPS, traps=_COPY_TRAPS,
      edge=lambda a: room(a) < a["stride"])  # fmt: skip
def lowered_bytes(batch: int, channels: int, size: int, k: int, stride: int, pad: int) -> int:
    """Planned bytes of the lowered copy of a whole batch in a forward pass, fp32."""
    return _copy_of(channels, size, k, stride, pad, batch)
