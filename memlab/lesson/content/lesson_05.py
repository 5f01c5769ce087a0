"""Lesson 05, mini-batch and vectors: lanes, columns, the bytes of a format, weights per sample."""

from __future__ import annotations

from fractions import Fraction
from math import prod
from random import Random

from memlab import formats, units
from memlab.lesson.content.lesson_02 import FP32
from memlab.lesson.content.lesson_03 import conv, convolutions
from memlab.lesson.content.tools import measured, planned, step_of
from memlab.lesson.misconceptions import Cause, distinct
from memlab.lesson.question import Kind, Numbers, Truth, topic
from memlab.networks import counting, zoo
from memlab.networks.builder import network
from memlab.networks.graph import Node
from memlab.planner.book import plan

# -- the lanes of a vector ----------------------------------------------------------------------

_LANES = {"format": "fp32", "bits": 256, "lanes": 32}
_DOUBLINGS = ("1", "2", "4", "8", "16", "32", "64", "128", "256", "512")


def _draw_lanes(chance: Random) -> Numbers:
    bits, format = chance.choice((128, 256, 512)), chance.choice(("fp64", "fp32", "fp16"))
    return {"format": format, "bits": bits, "lanes": 64}


def _lanes_words(n: Numbers) -> Numbers:
    return {**n, "each": formats.find(n["format"]).bits}


@topic("05.lanes", Kind.TIMES, _LANES, _draw_lanes, stops=_DOUBLINGS, words=_lanes_words)
def lanes(n: Numbers) -> Truth:
    """How many times the operations of 1 lane a vector in code brings, on vectors of some bits."""
    each, bits = formats.find(n["format"]).bits, n["bits"]
    found = formats.find(n["format"]).lanes(bits)
    count = n["lanes"] // found
    causes = [
        Cause("as_written", Fraction(n["lanes"]), {"lanes": n["lanes"], "count": count}),
        Cause("bit_count", Fraction(bits), {"each": each}),
        Cause("by_bytes", Fraction(8 * bits, each), {"each": each}),
        Cause("one_by_one", Fraction(1)),
    ]
    told: dict[str, object] = {"found": found, "count": count}
    return Truth(Fraction(found), (planned(found),), tuple(distinct(found, causes)), told)


# -- the columns of a sample --------------------------------------------------------------------

_NETWORKS = ("resnet34", "resnet101", "vgg11", "vgg13", "googlenet_bn", "alexnet", "overfeat")
_COUNTS = ("1", "2", "4", "7", "12", "13", "14", "28", "32", "49", "64", "100", "144", "169", "196",
           "256", "400", "576", "729", "784", "1024", "2048", "3136", "12544", "50176")  # fmt: skip


def places(node: Node) -> int:
    """Columns of a layer's matrix product for each sample: its output places."""
    return prod(node.shape[1:])


def _columns_written(node: Node) -> int:
    """Columns of the matrix that the kernel writes for 1 image."""
    import numpy as np

    from memlab.kernels import im2col

    image, layer = np.zeros((1, *node.input_shapes[0]), np.float32), conv(node)
    return int(im2col(image, layer.kernel, layer.stride, layer.padding).shape[-1])


def _columns_causes(name: str, least: Node) -> list[Cause]:
    nodes, (_, rows, _) = convolutions(name), least.shape
    larger = sorted({places(node) for node in nodes})[1]
    return [
        Cause("one_column", Fraction(1)),
        Cause("rows_alone", Fraction(rows), {"rows": rows}),
        Cause("larger_map", Fraction(larger)),
        Cause("first_map", Fraction(places(nodes[0]))),
        Cause("channel_rows", Fraction(nodes[-1].shape[0])),
    ]


@topic("05.columns", Kind.TIMES, {"network": "resnet50"},
       lambda chance: {"network": chance.choice(_NETWORKS)}, stops=_COUNTS,
       words=lambda n: {**n, "label": zoo.build(n["network"]).label})  # fmt: skip
def columns(n: Numbers) -> Truth:
    """Columns of a convolution's smallest matrix at batch 1: by its output, and written (A6)."""
    least = min(convolutions(n["network"]), key=places)
    due = places(least)
    causes = distinct(due, _columns_causes(n["network"], least))
    _, rows, wide = least.shape
    told: dict[str, object] = {"rows": rows, "wide": wide, "count": due}
    figures = planned(due), measured(_columns_written(least))
    return Truth(Fraction(due), figures, tuple(causes), told)


# -- half the bits ------------------------------------------------------------------------------

_COUNTED = "conv-sums"
_SUMMED = ("resnet18", "resnet34", "resnet101", "vgg16", "googlenet_bn")


def _draw_halved(chance: Random) -> Numbers:
    found = {"network": chance.choice(_SUMMED), "format": chance.choice(("fp16", "bf16"))}
    return {**found, "batch": chance.choice((8, 16, 32, 64))}


def counted(n: Numbers, format: str) -> int:
    """Bytes of the outputs that the text counts, at the batch, in a format (A5)."""
    values = counting.find(_COUNTED).values(zoo.build(n["network"]))
    return formats.find(format).nbytes(values * n["batch"])


def _halved_words(n: Numbers) -> Numbers:
    label = zoo.build(n["network"]).label
    return {**n, "label": label, "counted": units.short(counted(n, "fp32"))}


def _outputs(n: Numbers) -> int:
    """The same outputs among the blocks of a planned step."""
    made = zoo.build(n["network"])
    names = {node.name for node in made.nodes if node.kind in ("conv2d", "add")}
    ledger = plan(step_of(made, format=n["format"]))
    return sum(entry.size.at(n["batch"]) for entry in ledger.entries if entry.name in names)


@topic("05.halved", Kind.AMOUNT, {"network": "resnet50", "format": "fp16", "batch": 32},
       _draw_halved, words=_halved_words)  # fmt: skip
def halved(n: Numbers) -> Truth:
    """Outputs of convolutions and sums in 16 bits, at the same batch, planned (A6)."""
    due, whole = counted(n, n["format"]), counted(n, "fp32")
    each = formats.find(n["format"]).nbytes(1)
    causes = [
        Cause("bits", Fraction(8 * due)),
        Cause("values", Fraction(due, each), {"bytes": each}),
        Cause("batch", Fraction(due, n["batch"]), {"batch": n["batch"]}),
        Cause("doubled", Fraction(whole), {"batch": n["batch"]}),
    ]
    told: dict[str, object] = {"twice": 2 * n["batch"], "whole": units.both(whole)}
    return Truth(Fraction(due), (planned(_outputs(n)),), tuple(distinct(due, causes)), told)


# -- the weights of a sample --------------------------------------------------------------------

_LINEAR = {"inputs": 4096, "outputs": 4096, "batch": 32}


def _draw_linear(chance: Random) -> Numbers:
    sizes = (512, 768, 1024, 1536, 2048, 3072)
    found = {"inputs": chance.choice(sizes), "outputs": chance.choice(sizes)}
    return {**found, "batch": chance.choice((4, 16, 32, 64, 128))}


def _weight(n: Numbers) -> int:
    """Bytes of the weights of a linear layer, planned."""
    source = network("one", features=n["inputs"]).linear(n["outputs"], bias=False, name="layer")
    ledger = plan(step_of(source.squared_error(), ""))
    return next(e for e in ledger.entries if e.name == "layer.weight").size.at(n["batch"])


@topic("05.weights", Kind.AMOUNT, _LINEAR, _draw_linear)
def weights(n: Numbers) -> Truth:
    """Bytes of weights that a linear layer reads for each sample of a batch (A6)."""
    whole, batch = _weight(n), n["batch"]
    due = whole // batch
    causes = [
        Cause("bits", Fraction(8 * due)),
        Cause("values", Fraction(due, FP32), {"bytes": FP32}),
        Cause("all_weights", Fraction(whole), {"batch": batch}),
        Cause("each_reads", Fraction(whole * batch), {"batch": batch}),
        Cause("input_values", Fraction(FP32 * n["inputs"])),
    ]
    told: dict[str, object] = {"whole": units.exact(whole), "each": units.exact(due),
                               "operations": 2 * batch}  # fmt: skip
    return Truth(Fraction(due), (planned(due),), tuple(distinct(due, causes)), told)
