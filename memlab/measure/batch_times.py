"""Time per sample against the batch, of layers that fill their lanes in different ways.

A linear layer multiplies each weight by B values, so a larger batch reads fewer weights per sample.
A convolution fills its lanes from places of one sample, or from the samples where these are
neighbours in memory. A plain loop over the samples falls too, with lanes or without.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import NamedTuple

from memlab import free_memory, units
from memlab.assemble.step import inference_step
from memlab.errors import InputError, listed, several, shorten, whole_number
from memlab.kernels import registry
from memlab.kernels.registry import Array
from memlab.layers import Conv2d
from memlab.measure.convolution import ConvolutionCase, operation
from memlab.measure.processor import (
    MOST,
    PROCESSOR,
    Samples,
    Way,
    blas,
    clock,
    limited,
    prepared,
    settled,
)
from memlab.measure.timing import BenchmarkLine, Machine, line, machine, median
from memlab.networks.builder import network
from memlab.step.op import Op

BATCHES = tuple(2**i for i in range(8))
LAYER = ConvolutionCase("3x3 convolution", (48, 14, 14), Conv2d(48, 3, pad=1, bias=False))
"""Large enough that a call from Python is short beside it, at batch 1 too."""
PIXELS = "offsets"
"""The algorithm that fills its lanes from the places of a sample."""
SHORTEST, NEAR = 0.01, 1.1
"""Seconds of a measurement, so that short calls are repeated; and how many times its least a time
is near to it."""
PER_SAMPLE = ": per sample at batch "
"""How the name of a line says at which batch it was measured."""


@dataclass(frozen=True)
class BatchCurve:
    """Seconds per sample of one way to compute, by batch from the least to the largest, each with
    its samples; and the bytes of its weights, 0 where nobody counted them."""

    name: str
    samples: Mapping[int, Samples]
    weights: int = 0

    @property
    def batches(self) -> tuple[int, ...]:
        """Batches that were measured."""
        return tuple(self.samples)

    def at(self, batch: int) -> float:
        """Return the median of the seconds per sample at a batch."""
        return median(self.samples[batch])

    @property
    def least(self) -> float:
        """Least seconds per sample of all batches."""
        return min(map(self.at, self.batches))

    @property
    def fall(self) -> float:
        """Ratio of the time per sample at the least batch to that at the largest."""
        return self.at(self.batches[0]) / self.at(self.batches[-1])

    @property
    def near(self) -> int:
        """First batch within 10 % of the least time."""
        return next(batch for batch in self.batches if self.at(batch) <= NEAR * self.least)


@dataclass(frozen=True)
class Sweep:
    """Curves that were measured in turns on this machine, by processor time of one thread or by
    another ``clock``. ``case`` is the convolution; ``lanes`` are the fp32 values of a vector of
    this processor."""

    case: ConvolutionCase
    curves: tuple[BatchCurve, ...]
    lanes: int
    machine: Machine
    blas: tuple[str, ...]
    clock: str = PROCESSOR


class TimedLayer(NamedTuple):
    """Layer that is timed: bytes of the weights, bytes of input and output of a sample, and the
    function that prepares a batch of drawn values."""

    weights: int
    per_sample: int
    prepare: Callable[[int], Way]


def measure(
    ways: Iterable[str] | None = None, batches: Iterable[int] = BATCHES, most: int = MOST,
    progress: bool = False,
) -> Sweep:  # fmt: skip
    """Time every way at every batch, in turns; ``most`` limits the samples of each.

    Raises:
        InputError: no such way, no two batches, or more bytes than are free.
    """
    chosen, sizes = _ways(WAYS if ways is None else ways), _batches(batches)
    registry.load()
    with limited():
        layers = {name: WAYS[name]() for name in chosen}
        _check(layers.values(), sizes)
        calls: dict[str, Way] = {}
        for name, layer in layers.items():
            layer.prepare(1)()  # the first call compiles
            calls |= {f"{name}{PER_SAMPLE}{batch}": layer.prepare(batch) for batch in sizes}
        times = settled(calls, most, SHORTEST, progress=progress)
    batch_curves = tuple(
        _curve(name, layer.weights, times, sizes) for name, layer in layers.items()
    )
    libraries = tuple(blas.name for blas in blas())
    return Sweep(LAYER, batch_curves, _lanes(), machine(), libraries, clock())


def curves(lines: Iterable[BenchmarkLine]) -> list[BatchCurve]:
    """Return the curves that the lines of a result hold, in the order of their names."""
    samples: dict[str, dict[int, Samples]] = {}
    for figure in lines:
        name, said, batch = figure.name.partition(PER_SAMPLE)
        if said and batch.isdecimal():
            samples.setdefault(name, {})[int(batch)] = figure.samples or (figure.value,)
    return [BatchCurve(name, dict(sorted(samples.items()))) for name, samples in samples.items()]


# -- the arguments ------------------------------------------------------------------------------


def _ways(given: Iterable[str]) -> list[str]:
    names = several("way", given, WAYS)
    if not names:
        raise InputError("no way to measure; try ways=['samples', 'pixels'].")
    return list(names)


def _batches(given: Iterable[int]) -> list[int]:
    sizes = sorted({whole_number("batch", batch) for batch in listed("batches", given, 1, 16)})
    if len(sizes) < 2:
        raise InputError(f"two batches are compared at least, got {sizes}; try [1, 16].")
    return sizes


def _check(layers: Iterable[TimedLayer], batches: list[int]) -> None:
    """Refuse batches whose operands do not fit into memory together: all batches take turns."""
    need = sum(layer.weights + layer.per_sample * sum(batches) for layer in layers)
    said = f"the batches {shorten(batches)} need {units.short(need)}"
    free_memory.admit(need, said, "try smaller batches")


# -- what is measured ---------------------------------------------------------------------------


def linear(features: int) -> Op:
    """Return the forward operation of a square linear layer without bias."""
    source = network("one layer", features=features).linear(features, bias=False)
    return inference_step(source.squared_error()).ops[0]


def _planned(op: Op) -> TimedLayer:
    """Return an operation of a step as a layer that is timed with its kernel."""
    shared: dict[str, Array] = {}
    per_sample = op.reads["x"].size.at(1) + op.writes["y"].size.at(1)

    def prepare(batch: int) -> Way:
        operands = dict(shared)
        way = prepared(op, batch, operands)
        shared["weight"] = operands["weight"]
        return way

    return TimedLayer(op.reads["weight"].size.at(1), per_sample, prepare)


def _linear(features: int) -> TimedLayer:
    return _planned(linear(features))


def _pixels() -> TimedLayer:
    return _planned(operation(LAYER, PIXELS))


def _innermost(way: str) -> TimedLayer:
    """Return the same convolution for a batch whose samples are neighbours in memory."""
    import numpy as np

    from memlab.kernels.cpu.conv import samples_innermost

    layer, shape = LAYER.layer, LAYER.shape
    target = layer.output(shape)
    weights = layer.out_channels, shape[0], layer.kernel, layer.kernel

    def prepare(batch: int) -> Way:
        x, weight = _drawn((*shape, batch)), _drawn(weights)
        out = np.zeros((*target, batch), np.float32)
        return partial(samples_innermost.conv2d, x, weight, out, layer.stride, layer.padding, way)

    return TimedLayer(4 * prod(weights), 4 * (prod(shape) + prod(target)), prepare)


WAYS: dict[str, Callable[[], TimedLayer]] = {
    "linear-1024": partial(_linear, 1024),
    "linear-4096": partial(_linear, 4096),
    "samples": partial(_innermost, "samples"),
    "pixels": _pixels,
    "loop": partial(_innermost, "loop"),
    "one-lane": partial(_innermost, "one-lane"),
}
"""VGG-16's fc7 is the larger of the linear layers; the others are the same convolution."""


def _drawn(shape: tuple[int, ...]) -> Array:
    import numpy as np

    return np.random.default_rng(0).standard_normal(shape, np.float32)


def _lanes() -> int:
    from memlab.kernels.cpu.vector_code import BITS

    return BITS // 32


# -- figures ------------------------------------------------------------------------------------


def _curve(name: str, weights: int, times: Mapping[str, Samples], batches: list[int]) -> BatchCurve:
    samples = {
        batch: tuple(seconds / batch for seconds in times[f"{name}{PER_SAMPLE}{batch}"])
        for batch in batches
    }
    return BatchCurve(name, samples, weights)


def lines(curve: BatchCurve) -> Iterator[BenchmarkLine]:
    """Yield lines for times, for the weights that a linear layer reads, and for the fall of the
    time."""
    for batch, samples in curve.samples.items():
        yield line(f"{curve.name}{PER_SAMPLE}{batch}", samples)
        if curve.name.startswith("linear"):
            read = curve.weights / batch
            yield BenchmarkLine(f"{curve.name}: weights read per sample, batch {batch}", read, "B")
    first, last = curve.batches[0], curve.batches[-1]
    yield BenchmarkLine(f"{curve.name}: batch {first} by batch {last}", curve.fall, "x")
    yield BenchmarkLine(f"{curve.name}: within 10 % of its least from batch", curve.near, "samples")
