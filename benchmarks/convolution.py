"""Every way to convolve, timed on layers of real networks, beside PyTorch's."""

from __future__ import annotations

import statistics
from collections.abc import Iterable

from memlab.axes import Shape
from memlab.layers import Conv2d
from memlab.measure.convolution import BEST, RIVAL, ConvolutionCase, lines, measure
from memlab.measure.processor import MOST, blas
from memlab.measure.timing import BenchmarkLine, Result, TimedGroup, machine
from memlab.networks import zoo

AIM = 1 / 0.9
"""The time of the best algorithm, at most this many times PyTorch's: over the layers, the geometric
mean."""
LAYERS = (
    ConvolutionCase("VGG-16 conv1_2", (64, 224, 224), Conv2d(64, 3, pad=1)),
    ConvolutionCase("VGG-16 conv3_2", (256, 56, 56), Conv2d(256, 3, pad=1)),
    ConvolutionCase("ResNet-50 conv1", (3, 224, 224), Conv2d(64, 7, 2, 3)),
    ConvolutionCase("ResNet-50 3x3", (64, 56, 56), Conv2d(64, 3, pad=1)),
    ConvolutionCase("ResNet-50 1x1", (256, 56, 56), Conv2d(64, 1)),
)


def run(most: int = MOST, cases: Iterable[ConvolutionCase] = LAYERS) -> Result:
    """Time every algorithm on five convolutions of VGG-16 and ResNet-50, one thread."""
    return _result("convolution", most, cases)


def resnet50(most: int = MOST) -> Result:
    """Time every algorithm on each different convolution of ResNet-50, one thread."""
    return _result("convolution-resnet50", most, of("resnet50"))


def of(name: str) -> list[ConvolutionCase]:
    """Each different convolution of a network, named after the first layer of its kind."""
    found: dict[tuple[Shape, Conv2d], ConvolutionCase] = {}
    for node in zoo.build(name).nodes:
        if isinstance(node.layer, Conv2d):
            case = ConvolutionCase(node.name, node.input_shapes[0], node.layer)
            found.setdefault((case.shape, case.layer), case)
    return list(found.values())


def _result(name: str, most: int, cases: Iterable[ConvolutionCase]) -> Result:
    found = [measure(case, most=most) for case in cases]
    made = [line for each in found for line in lines(each)]
    best = [each.value for each in made if BEST in each.name]
    if best:
        mean = statistics.geometric_mean(best)
        made.append(BenchmarkLine(f"the best against {RIVAL}, geometric mean", mean, "x", AIM))
    else:
        made.append(BenchmarkLine(f"{RIVAL} is not installed: no comparison", 0, ""))
    groups = tuple(TimedGroup(each.case.name, each.timings) for each in found)
    return Result(name, machine(), (*made, *blas()), groups)
