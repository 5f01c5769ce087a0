"""Time and workspace of every way to convolve, beside PyTorch's, on one core.

Processor time of one thread: other programs on the machine move it less than the time on the wall.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from importlib.util import find_spec
from typing import NamedTuple

from memlab.bench.processor import Way, one_thread, prepared, timed
from memlab.bench.step import blas, keep_freed_memory
from memlab.bench.timing import Line, Result, line, machine, median, ratio
from memlab.kernels import registry
from memlab.kernels.registry import Array
from memlab.networks import zoo
from memlab.networks.builder import network
from memlab.networks.layers import Conv2d, Shape
from memlab.step.algorithms import ALGORITHMS
from memlab.step.build import inference_step
from memlab.step.op import Op

AIM = 1 / 0.9
"""The time of the best algorithm, at most this many times PyTorch's: over the layers, the geometric
mean."""
SHORTEST = 0.02
"""Seconds of a sample: short calls are repeated."""
RIVAL, BEST = "PyTorch", "the best against PyTorch is "


class Case(NamedTuple):
    """A convolution of one image."""

    name: str
    shape: Shape
    layer: Conv2d


LAYERS = (
    Case("VGG-16 conv1_2", (64, 224, 224), Conv2d(64, 3, pad=1)),
    Case("VGG-16 conv3_2", (256, 56, 56), Conv2d(256, 3, pad=1)),
    Case("ResNet-50 conv1", (3, 224, 224), Conv2d(64, 7, 2, 3)),
    Case("ResNet-50 3x3", (64, 56, 56), Conv2d(64, 3, pad=1)),
    Case("ResNet-50 1x1", (256, 56, 56), Conv2d(64, 1)),
)


def run(repeats: int = 5, cases: Iterable[Case] = LAYERS) -> Result:
    """Time every algorithm on five convolutions of VGG-16 and ResNet-50, one thread."""
    return _measured("convolution", repeats, cases)


def resnet50(repeats: int = 9) -> Result:
    """Time every algorithm on each different convolution of ResNet-50, one thread."""
    return _measured("convolution-resnet50", repeats, of("resnet50"))


def of(name: str) -> list[Case]:
    """Each different convolution of a network, named after the first layer of its kind."""
    found: dict[tuple[Shape, Conv2d], Case] = {}
    for node in zoo.build(name).nodes:
        if isinstance(node.layer, Conv2d):
            case = Case(node.name, node.input_shapes[0], node.layer)
            found.setdefault((case.shape, case.layer), case)
    return list(found.values())


def _measured(name: str, repeats: int, cases: Iterable[Case]) -> Result:
    keep_freed_memory()
    registry.load()
    lines: list[Line] = []
    with one_thread():
        for case in cases:
            lines += _times(case, repeats)
    best = [each.value for each in lines if BEST in each.name]
    if best:
        mean = statistics.geometric_mean(best)
        lines.append(Line(f"the best against {RIVAL}, geometric mean", mean, "x", AIM))
    else:
        lines.append(Line(f"{RIVAL} is not installed: no comparison", 0, ""))
    return Result(name, machine(), (*lines, *blas()))


def _times(case: Case, repeats: int) -> list[Line]:
    """Time and workspace of every algorithm that computes this layer, and the best of them."""
    ops = {name: op for name in ALGORITHMS if (op := _op(case, name)).algorithm == name}
    operands: dict[str, Array] = {}
    calls = {name: prepared(op, 1, operands) for name, op in ops.items()}
    if find_spec("torch") is not None:
        calls[RIVAL] = _in_torch(case.layer, operands)
    times, lines = timed(calls, repeats, SHORTEST), []
    for name, seconds in times.items():
        lines.append(line(f"{case.name}: {name}", seconds))
        if name in ops:
            nbytes = sum(each.size.at(1) for each in ops[name].workspace.values())
            lines.append(Line(f"{case.name}: {name}, workspace", nbytes, "B"))
    if RIVAL in times:
        best = min(ops, key=lambda name: median(times[name]))
        lines.append(ratio(f"{case.name}: {BEST}{best}", times[best], times[RIVAL]))
    return lines


def _op(case: Case, algorithm: str) -> Op:
    source = network("one layer", image=case.shape).then(case.layer, name="layer")
    step = inference_step(source.squared_error(), "fp32", algorithm)
    return next(op for op in step.ops if op.layer == "layer")


def _in_torch(layer: Conv2d, operands: dict[str, Array]) -> Way:
    """PyTorch's convolution of the same values."""
    import torch

    names = [name for name in ("x", "weight", "bias") if name in operands]
    given = [torch.from_numpy(operands[name]) for name in names]
    bias = given[2] if len(given) == 3 else None
    settings = layer.stride, layer.padding, layer.dilation, layer.groups
    return lambda: torch.nn.functional.conv2d(given[0], given[1], bias, *settings)
