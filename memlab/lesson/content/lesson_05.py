"""Lesson 05, the mini-batch.

Cards: the bytes of a batch, the columns of a sample, half the bits. Exercise: the vectors of a row,
and their idle lanes.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import prod
from random import Random

import numpy as np

from memlab import formats
from memlab.layers import Conv2d
from memlab.layers.layer import Node
from memlab.ledger.plan import plan
from memlab.lesson.card_question import AnswerKind, Numbers, Purpose, Truth, topic
from memlab.lesson.content.lesson_03 import conv, convolutions
from memlab.lesson.content.shared_truths import (
    any_window,
    beside,
    measured,
    planned,
    same_rows,
    step_of,
    with_label,
)
from memlab.lesson.exercise_task import Arguments, Slip, task
from memlab.lesson.misconceptions import Mistake, distinct_causes
from memlab.networks import zoo
from memlab.networks.builder import network
from memlab.networks.graph import Network
from memlab.pictures.values.number_text import three_digits
from memlab.pictures.vectors import Vectors, sizes
from memlab.step.tensor import Role

# -- what was in lessons 02 and 03 --------------------------------------------------------------


@topic("05.stays", AnswerKind.CHOICE, {"network": "resnet50", "batch": 32}, None,
       part=Purpose.RECALL,
       options=("maps", "parameters", "both"), gives=("floor", "for every batch"))  # fmt: skip
def stays(n: Numbers) -> Truth:
    """Answer of 05.stays: the bytes of a step that are the same for one image as for a batch,
    planned."""
    ledger = plan(step_of(zoo.build(n["network"])))
    same = {
        key: all(e.size.at(1) == e.size.at(n["batch"]) for e in ledger.entries if e.role is role)
        for key, role in (("maps", Role.FEATURE_MAP), ("parameters", Role.PARAMETER))
    }
    (answer,) = (key for key, stays in same.items() if stays)
    return Truth(answer)


_COPIES = ("1", "2", "3", "4", "5", "8", "9", "16", "25", "32", "49")


@topic("05.quarter", AnswerKind.TIMES, {"k": 4, "stride": 2}, None, part=Purpose.RECALL,
       counted=True, stops=_COPIES)  # fmt: skip
def quarter(n: Numbers) -> Truth:
    """Answer of 05.quarter: a lowered matrix over its input, with a stride, written."""
    from memlab.kernels import im2col

    image = np.zeros((1, 1, 16, 16), np.float32)
    ratio = Fraction(im2col(image, n["k"], n["stride"], pad=1).size, image.size)
    causes = [
        Mistake("stride", Fraction(n["k"] ** 2), {"stride": n["stride"]}),
        Mistake("one_k", Fraction(n["k"], n["stride"] ** 2), {"k": n["k"]}),
        Mistake("stride_once", Fraction(n["k"] ** 2, n["stride"]), {"squared": n["stride"] ** 2}),
    ]
    return Truth(ratio, (measured(ratio),), tuple(distinct_causes(ratio, causes)))


# -- the columns of a sample --------------------------------------------------------------------

_NETWORKS = ("resnet34", "resnet101", "vgg11", "vgg13", "googlenet_bn", "alexnet", "overfeat")
_COUNTS = ("1", "2", "4", "7", "12", "13", "14", "28", "32", "49", "64", "100", "144", "169", "196",
           "256", "400", "576", "729", "784", "1024", "2048", "3136", "12544", "50176")  # fmt: skip


def places(node: Node) -> int:
    """Columns of a layer's matrix product for each sample: its output places."""
    return prod(node.shape[1:])


def _columns_written(node: Node) -> int:
    """Columns of the matrix that the kernel writes for 1 image."""
    from memlab.kernels import im2col

    image, layer = np.zeros((1, *node.input_shapes[0]), np.float32), conv(node)
    return int(im2col(image, layer.kernel, layer.stride, layer.padding).shape[-1])


def _columns_causes(name: str, least: Node) -> list[Mistake]:
    nodes, (_, rows, _) = convolutions(name), least.shape
    larger = sorted({places(node) for node in nodes})[1]
    return [
        Mistake("one_column", Fraction(1)),
        Mistake("rows_alone", Fraction(rows), {"rows": rows}),
        Mistake("larger_map", Fraction(larger)),
        Mistake("first_map", Fraction(places(nodes[0]))),
        Mistake("channel_rows", Fraction(nodes[-1].shape[0])),
    ]


@topic("05.columns", AnswerKind.COUNT, {"network": "resnet50"},
       lambda chance: {"network": chance.choice(_NETWORKS)}, stops=_COUNTS,
       words=with_label,
       gives=("output place", "output places", "output position", "output positions",
              "B·Ho·Wo", "7·7 places", "7·7 =", "from pixels"),
       shows=({"convolution": "7x7"},))  # fmt: skip
def columns(n: Numbers) -> Truth:
    """Answer of 05.columns: columns of a network's smallest lowered matrix at batch 1, by its
    output, and written (A6)."""
    least = min(convolutions(n["network"]), key=places)
    due = places(least)
    causes = distinct_causes(due, _columns_causes(n["network"], least))
    _, rows, wide = least.shape
    told = {"rows": rows, "wide": wide, "count": due}
    figures = beside(due, lambda: _columns_written(least))
    return Truth(Fraction(due), figures, tuple(causes), told)


# -- half the bits, at the same batch -----------------------------------------------------------

_IDLE = ("none", "few", "half", "most")
_FIRST_HALF = {"network": "resnet50", "batch": 32, "bits": 1024, "format": "fp16"}


def _draw_half(chance: Random) -> Numbers:
    """Draw a network whose smallest map leaves few lanes idle, but some."""
    numbers = chance.choice(("resnet18", "resnet101", "googlenet_bn")), chance.choice((16, 32))
    named = dict(zip(("network", "batch"), numbers, strict=True))
    return {**_FIRST_HALF, **named, "format": chance.choice(("fp16", "bf16"))}


def filled(n: Numbers) -> Vectors:
    """Vectors that the maps of a network fill at a batch."""
    network = zoo.build(n["network"])
    return Vectors(network, n["batch"], n["bits"], n["format"], sizes(network)[0])


@topic("05.half", AnswerKind.CHOICE, _FIRST_HALF, _draw_half, words=with_label, options=_IDLE,
       gives=("few of the lanes", "1 in 50", "half of the bytes", "need not double"),
       shows=({"batch": 32, "format": "fp16"},))  # fmt: skip
def half(n: Numbers) -> Truth:
    """Answer of 05.half: the share of a convolution's lanes that idle in 16 bits, at the batch of
    32 bits (A6)."""
    filled_lanes, whole = filled(n), filled({**n, "format": "fp32"})
    _, least = filled_lanes.both
    idle = 1 - least.part
    bounds = ((Fraction(0), "none"), (Fraction(1, 10), "few"), (Fraction(1, 2), "half"))
    right = next((name for bound, name in bounds if idle <= bound), "most")
    twice = filled({**n, "batch": 2 * n["batch"]})
    told = {
        "idle": least.idle, "share": least.share, "linear": filled_lanes.both[0].share,
        "less": three_digits(filled_lanes.nbytes), "whole": three_digits(whole.nbytes),
        "more": three_digits(twice.nbytes),
    }  # fmt: skip
    return Truth(right, seen=told)


# -- the bytes of a sample ----------------------------------------------------------------------

_LINEAR = {"inputs": 4096, "outputs": 4096, "batch": 16}
_CONVOLUTION = {"channels": 48, "kernels": 48, "k": 3, "size": 14, "batch": 16}
"""Layer of ``memlab.measure.batch_times``, whose time the lesson measures."""
_MOVED = ("0.25", "0.5", "1", "2", "3", "4", "6", "8", "12", "16", "24", "32", "48", "64", "128")


def _draw_linear(chance: Random) -> Numbers:
    sizes = (2048, 3072, 4096)
    numbers = {"inputs": chance.choice(sizes), "outputs": chance.choice(sizes)}
    return {**numbers, "batch": chance.choice((24, 32, 64))}


def _draw_maps(chance: Random) -> Numbers:
    size, channels = chance.choice(((112, 64), (56, 64), (56, 32), (112, 128)))
    numbers = {"channels": channels, "kernels": channels, "k": 3, "size": size}
    return {**numbers, "batch": chance.choice((8, 24, 32))}


def one_layer(n: Numbers) -> Network:
    """Network with one layer: linear with ``inputs``, otherwise a convolution."""
    if "inputs" in n:
        one = network("one", features=n["inputs"]).linear(n["outputs"], bias=False, name="layer")
    else:
        image = network("one", image=(n["channels"], n["size"], n["size"]))
        one = image.conv(n["kernels"], n["k"], pad="same", bias=False, name="layer")
    return one.squared_error()


def moved(n: Numbers, batch: int) -> tuple[int, int]:
    """Planned bytes of the layer's weights, and of its input and output."""
    entries = {e.name: e.size.at(batch) for e in plan(step_of(one_layer(n), "")).entries}
    return entries["layer.weight"], entries["input"] + entries["layer"]


def _ratio(n: Numbers) -> Truth:
    """Answer of 05.weights and 05.maps: bytes moved for a batch over those for one sample (A6)."""
    (weights, one), (_, many) = moved(n, 1), moved(n, n["batch"])
    batch, ratio = n["batch"], Fraction(weights + many, weights + one)
    causes = [
        Mistake("each_reads", Fraction(batch), {"batch": batch}),
        Mistake("weights_alone", Fraction(1)),
    ]
    if abs(weights - one) > one / 5:  # otherwise it is nearly right
        causes.append(Mistake("as_large", Fraction(1 + batch, 2)))
    if "inputs" not in n:
        causes[0] = Mistake("maps_alone", Fraction(batch))
    told = {"weights": three_digits(weights), "one": three_digits(one),
            "operations": f"{_per_byte(n):.2g}", "linear": f"{_per_byte(_LINEAR):.2g}"}  # fmt: skip
    return Truth(ratio, (planned(ratio),), tuple(distinct_causes(ratio, causes)), told)


def _per_byte(n: Numbers) -> float:
    """Operations of the layer for each byte that it reads or writes, for one image."""
    op = next(op for op in step_of(one_layer(n), "").ops if op.layer == "layer")
    return op.flops.at(1) / sum(moved(n, 1))


topic("05.weights", AnswerKind.TIMES, _LINEAR, _draw_linear, stops=_MOVED,
      gives=("weight reuse", "shared by", "read once", "2·B"))(_ratio)  # fmt: skip
topic("05.maps", AnswerKind.TIMES, _CONVOLUTION, _draw_maps, stops=_MOVED,
      gives=("each image brings its own", "to about half"))(_ratio)  # fmt: skip


# -- exercise -----------------------------------------------------------------------------------

Filled = tuple[int, int]
"""Number of vectors, and number of their lanes that stay idle."""
FORMATS = {64: "fp64", 32: "fp32", 16: "fp16"}


def _rows(a: Arguments) -> int:
    """Output rows of one image."""
    layer = Conv2d(1, a["k"], stride=a["stride"], pad=a["pad"])
    return layer.output((1, a["size"], a["size"]))[1]


def _columns(a: Arguments) -> int:
    """Columns of the lowered matrix of the whole batch: its output places."""
    return int(a["batch"] * _rows(a) ** 2)


def _lanes(a: Arguments) -> int:
    return formats.find(FORMATS[a["bits"]]).lanes(a["width"])


def _filled(columns: int, lanes: int) -> Filled:
    """Number of vectors that a row of the matrix needs, and of the lanes left idle."""
    begun = len(range(0, columns, lanes))
    return begun, begun * lanes - columns


def _draw_row(chance: Random, size: int) -> Arguments:
    """Draw any row; in every third size, one that fills its vectors exactly."""
    while True:
        arguments = _any_row(chance, size)
        if size % 3 or not _columns(arguments) % _lanes(arguments):
            return arguments


def _any_row(chance: Random, size: int) -> Arguments:
    return {
        "width": chance.choice((128, 256, 512)), "bits": chance.choice((16, 32, 64)),
        "batch": chance.randint(1, 2 + size), **any_window(chance, size),
    }  # fmt: skip


def _with(columns: Callable[[Arguments], int]) -> Slip:
    """Slip with another number of columns."""
    return lambda truth, a: _filled(columns(a), _lanes(a))


def _with_lanes(lanes: Callable[[Arguments], int]) -> Slip:
    return lambda truth, a: _filled(_columns(a), lanes(a))


def _each_image(truth: Filled, a: Arguments) -> Filled:
    """Slip that begins a new vector at every image."""
    begun, idle = _filled(_columns({**a, "batch": 1}), _lanes(a))
    return a["batch"] * begun, a["batch"] * idle


def _full_and(more: int) -> Slip:
    """Return the slip (a typical mistake) that counts the full vectors plus ``more``, whether or
    not values are left over; with too few vectors, the count of empty lanes is negative."""

    def slip(truth: Filled, a: Arguments) -> Filled:
        begun = _columns(a) // _lanes(a) + more
        return begun, begun * _lanes(a) - _columns(a)

    return slip


_VECTORS_SLIPS: dict[str, Slip] = {
    "samples": _with(lambda a: a["batch"]),
    "one_image": _with(lambda a: _columns({**a, "batch": 1})),
    "one_direction": _with(lambda a: a["batch"] * _rows(a)),
    "stride": _with(lambda a: _columns({**a, "stride": 1})),
    "padding": _with(lambda a: _columns({**a, "pad": 0})),
    "by_bytes": _with_lanes(lambda a: 8 * _lanes(a)),
    "each_image": _each_image,
    "windows": _with(lambda a: a["k"] ** 2 * _columns(a)),
    "floor": _full_and(0),
    "not_whole": lambda truth, a: (_columns(a) / _lanes(a), 0),
    "full": lambda truth, a: divmod(_columns(a), _lanes(a)),
    "used": lambda truth, a: (truth[0], _columns(a) % _lanes(a)),
    "whole": lambda truth, a: (truth[0], _lanes(a) - _columns(a) % _lanes(a)),
    "one_more": _full_and(1),
}


_VECTORS_TRAPS: dict[str, Slip] = {
    "same": _with(lambda a: a["batch"] * same_rows(a) ** 2),
    "nearly": lambda truth, a: _begun(int(_columns(a) / _lanes(a) + 0.9), a),
}


def _begun(vectors: int, a: Arguments) -> Filled:
    return vectors, vectors * _lanes(a) - _columns(a)


@task("05.vectors", _draw_row, slips=_VECTORS_SLIPS, traps=_VECTORS_TRAPS,
      edge=lambda a: _columns(a) < _lanes(a))  # fmt: skip
def vectors(width: int, bits: int, batch: int, size: int, k: int, stride: int, pad: int) -> Filled:
    """Number of vectors for one row of the lowered matrix of a batch, and of their idle lanes."""
    a = {"width": width, "bits": bits, "batch": batch, "size": size, "k": k, "stride": stride,
         "pad": pad}  # fmt: skip
    return _filled(_columns(a), _lanes(a))
