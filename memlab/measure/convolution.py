"""Time and workspace of every way to convolve, beside PyTorch's.

On one core the time is the processor's: other programs on the machine move it less than the time
on the wall.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from memlab import free_memory, units
from memlab.assemble.step import inference_step
from memlab.axes import Shape
from memlab.errors import InputError, one_option, several, whole_number
from memlab.kernels import registry
from memlab.kernels.registry import Array
from memlab.layers import Conv2d
from memlab.layers.algorithms import ALGORITHMS, on
from memlab.measure.processor import (
    MOST,
    PROCESSOR,
    Progress,
    Way,
    blas,
    caches,
    clock,
    freed_memory_kept,
    limited,
    prepared,
    settled,
)
from memlab.measure.timing import (
    BenchmarkLine,
    Machine,
    Timing,
    allow_torch,
    line,
    machine,
    ratio,
)
from memlab.networks import zoo
from memlab.networks.builder import network
from memlab.networks.graph import Network
from memlab.step.op import Op

SHORTEST = 0.02
"""Seconds of a sample: short calls are repeated."""
RIVAL, BEST = "PyTorch", "the best against PyTorch is "


class ConvolutionCase(NamedTuple):
    """Convolution, with the shape of its input per image."""

    name: str
    shape: Shape
    layer: Conv2d


@dataclass(frozen=True)
class Comparison:
    """Ways to compute the forward of one layer, timed in turns on this machine: on one thread by
    ``clock``, on several by that on the wall.

    ``left_out`` are the algorithms that were asked for and cannot compute it.
    """

    case: ConvolutionCase
    batch: int
    threads: int
    timings: tuple[Timing, ...]
    left_out: tuple[str, ...]
    machine: Machine
    blas: tuple[str, ...]
    caches: Mapping[str, int]
    clock: str = PROCESSOR


def find(source: str | Network, layer: str) -> ConvolutionCase:
    """Return one convolution of a network, or of a network of the zoo.

    Raises:
        InputError: no such network, or no such convolution in it.
    """
    there = source if isinstance(source, Network) else zoo.build(source)
    nodes = {node.name: node for node in there.nodes if isinstance(node.layer, Conv2d)}
    node = one_option(f"convolution of {there.label}", layer, nodes)
    assert isinstance(node.layer, Conv2d)
    return ConvolutionCase(f"{there.label} {node.name}", node.input_shapes[0], node.layer)


def measure(
    case: ConvolutionCase, batch: int = 1, algorithms: Iterable[str] = tuple(on("cpu")),
    threads: int = 1,
    most: int = MOST, progress: bool | Progress = False,
) -> Comparison:  # fmt: skip
    """Time the forward of a convolution on drawn values, by several algorithms and by PyTorch
    where it is installed.

    ``most`` limits the samples of each; a few seconds in all, but for large layers. ``progress``
    is that of ``memlab.measure.processor.settled``.

    Raises:
        InputError: no such algorithm, none that computes the layer, or more bytes than are free.
    """
    batch, threads = whole_number("batch", batch), whole_number("threads", threads)
    names = several("algorithm", algorithms, ALGORITHMS)
    chosen = {name: operation(case, name, threads) for name in names}
    ops = {name: op for name, op in chosen.items() if op.algorithm == name}
    registry.load()
    _check(case, batch, ops)
    with limited(threads), freed_memory_kept():
        _compile(case, ops, threads)
        calls = _calls(case.layer, ops, batch)
        times = settled(calls, most, SHORTEST, threads, progress)
    sizes = {name: workspace(op, batch) for name, op in ops.items()}
    timings = tuple(Timing(name, sizes.get(name), time) for name, time in times.items())
    left_out = tuple(name for name in chosen if name not in ops)
    libraries = tuple(blas.name for blas in blas())
    return Comparison(
        case, batch, threads, timings, left_out, machine(), libraries, caches(), clock()
    )


def lines(comparison: Comparison) -> list[BenchmarkLine]:
    """Return lines for time and workspace of every way, and for the best of them."""
    name, figures = comparison.case.name, []
    for timing in comparison.timings:
        figures.append(line(f"{name}: {timing.name}", timing.samples))
        if timing.workspace is not None:
            figures.append(
                BenchmarkLine(f"{name}: {timing.name}, workspace", timing.workspace, "B")
            )
    *ours, last = comparison.timings
    if last.name == RIVAL:
        best = min(ours, key=lambda timing: timing.seconds)
        figures.append(ratio(f"{name}: {BEST}{best.name}", best.samples, last.samples))
    return figures


# -- one layer ----------------------------------------------------------------------------------


def operation(case: ConvolutionCase, algorithm: str, threads: int = 1) -> Op:
    """Return the forward operation of a layer by that algorithm, or by the one that takes its
    place.

    Raises:
        InputError: no such algorithm.
    """
    one_option("algorithm", algorithm, ALGORITHMS)
    source = network("one layer", image=case.shape).then(case.layer, name="layer")
    step = inference_step(source.squared_error(), "fp32", algorithm, threads)
    return next(op for op in step.ops if op.layer == "layer")


def workspace(op: Op, batch: int) -> int:
    """Return the planned bytes of an operation's workspace at a batch."""
    return sum(tensor.size.at(batch) for tensor in op.workspace.values())


def _check(case: ConvolutionCase, batch: int, ops: dict[str, Op]) -> None:
    """Refuse ways whose workspaces do not fit into memory together: all ways take turns."""
    if not ops:
        raise InputError(f"no such algorithm computes {case.name}; try 'im2col-image'.")
    one = next(iter(ops.values()))
    operands = sum(operand.size.at(batch) for operand in {**one.reads, **one.writes}.values())
    need = operands + sum(workspace(op, batch) for op in ops.values())
    said = f"{case.name} at batch {batch} needs {units.short(need)} for all its algorithms"
    free_memory.admit(need, said, "try a smaller batch or fewer algorithms")


def _compile(case: ConvolutionCase, algorithms: Iterable[str], threads: int) -> None:
    """Compile the kernels by a first call on few values."""
    layer = replace(case.layer, out_channels=case.layer.groups)
    sizes = (min(extent, 2 * layer.kernel * layer.dilation) for extent in case.shape[1:])
    small = ConvolutionCase(case.name, (layer.groups, *sizes), layer)
    ops = {name: operation(small, name, threads) for name in algorithms}
    for call in _calls(layer, ops, 1).values():
        call()


def _calls(layer: Conv2d, ops: dict[str, Op], batch: int) -> dict[str, Way]:
    """Return a function for every way, all on the same values."""
    operands: dict[str, Array] = {}
    calls = {name: prepared(op, batch, operands) for name, op in ops.items()}
    if allow_torch():
        calls[RIVAL] = _in_torch(layer, operands)
    return calls


def _in_torch(layer: Conv2d, operands: dict[str, Array]) -> Way:
    """Return a function that computes PyTorch's convolution of the same values."""
    import torch

    names = [name for name in ("x", "weight", "bias") if name in operands]
    given = [torch.from_numpy(operands[name]) for name in names]
    bias = given[2] if len(given) == 3 else None
    settings = layer.stride, layer.padding, layer.dilation, layer.groups

    def convolve() -> object:
        with torch.inference_mode():
            return torch.nn.functional.conv2d(given[0], given[1], bias, *settings)

    return convolve
