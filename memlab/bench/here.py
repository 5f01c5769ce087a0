"""Measure this machine in a few seconds, so that planned seconds are its own.

Processor time of one thread. Operations are timed where they run, in steps of a few small networks,
each once before so that it is compiled; then every other way to convolve takes its turn on a few
layers. What was found is kept (``planner.recordings``).
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from math import prod
from statistics import median
from time import perf_counter, process_time
from typing import Any

from memlab.bench import rates
from memlab.bench.processor import limited
from memlab.bench.step import blas, freed_memory_kept
from memlab.bench.timing import Line, Result, machine
from memlab.kernels import registry
from memlab.kernels.registry import Kernel
from memlab.networks import zoo
from memlab.networks.layers import Conv2d, Shape
from memlab.planner import clock, recordings
from memlab.runtime.session import Session
from memlab.step.build import training_step
from memlab.step.op import Op
from memlab.step.step import Step

Subject = tuple[str, int | None, int]
"""A network of the zoo, the rows and columns of its images where they are not its own, a batch."""
STEPS: tuple[Subject, ...] = (
    ("mnist_cnn", None, 32),
    ("resnet18", 128, 4),
    ("resnet50", 128, 2),
    ("googlenet_bn", None, 1),
    ("googlenet", None, 2),
    ("alexnet", None, 2),
    ("gpt_small", None, 1),
)
"""Together they have all kinds of operations, small and large."""
LAYERS: tuple[tuple[Shape, Conv2d], ...] = (
    ((64, 28, 28), Conv2d(64, 3, pad=1)),
    ((256, 14, 14), Conv2d(64, 1)),
    ((16, 27, 27), Conv2d(32, 5, pad=2)),
)
"""Layers for all ways to convolve."""
ROUNDS = 3


Shares = dict[tuple[int, ...], dict[str, Any]]
Kinds = dict[str, dict[tuple[int, int], list[float]]]


class Timed(Session):
    """A session that notes how long each operation computes, in seconds of the processor."""

    def __init__(self, step: Step, batch: int) -> None:
        super().__init__(step, batch)
        self.seconds: dict[str, list[float]] = {}

    def _compute(self, op: Op, kernel: Kernel) -> None:
        start = process_time()
        super()._compute(op, kernel)
        self.seconds.setdefault(op.name, []).append(process_time() - start)


def run() -> Result:
    """Measure this machine and keep it, so that planned seconds are of this one."""
    begin = perf_counter()
    data = measure()
    path = recordings.save(data)
    kinds = len(data["kinds"]) + len({name for row in data["layers"] for name in row["shares"]})
    lines = (
        Line("a large product, fp32", data["flops"] / 1e9, "G/s"),
        Line("a large copy, read and written", data["bandwidth"] / 1e9, "GB/s"),
        Line("kinds of operations and ways to convolve", kinds, ""),
        Line("measured in", perf_counter() - begin, "s"),
        Line(f"kept in {path}: bytes", path.stat().st_size, "B"),
    )
    return Result("machine", machine(), lines)


def measure(
    steps: Iterable[Subject] = STEPS,
    layers: Iterable[tuple[Shape, Conv2d]] = LAYERS,
    rounds: int = ROUNDS,
) -> dict[str, Any]:
    """The figures of this machine, as ``recordings`` keeps them."""
    registry.load()
    with limited(), freed_memory_kept(), _frozen():
        flops, bandwidth = rates.product(rounds), rates.copy(rounds)
        shares, kinds = _reached(steps, rounds, (flops, bandwidth))
        for shape, layer in layers:
            row = rates.row(shape, layer, flops, rounds=2)
            shares.setdefault(tuple(row["layer"]), {}).update(row["shares"])
    return {
        "schema": recordings.SCHEMA,
        "machine": asdict(machine()) | {"blas": [line.name for line in blas()]},
        "command": recordings.COMMAND,
        "flops": flops,
        "bandwidth": bandwidth,
        "layers": [{"layer": list(key), "shares": row} for key, row in shares.items()],
        "kinds": {kind: _rows(found) for kind, found in kinds.items()},
    }


def _reached(
    steps: Iterable[Subject], rounds: int, machine: tuple[float, float]
) -> tuple[Shares, Kinds]:
    """What the operations of some steps reached of the machine's two rates."""
    shares: Shares = {}
    kinds: Kinds = {}
    for name, image, batch in steps:
        step = training_step(zoo.build(name, image=image))
        for op, seconds in timed(step, batch, rounds):
            _note(op, batch, seconds, machine, shares, kinds)
    return shares, kinds


@contextmanager
def _frozen() -> Iterator[None]:
    """What is there already is not looked through before each sample: that takes longer than
    they do."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def timed(step: Step, batch: int, rounds: int) -> Iterator[tuple[Op, float]]:
    """Every operation of a step, and the median of its seconds after one step that compiles."""
    session = Timed(step, batch)
    with session:
        session.step()
        session.seconds.clear()
        for _ in range(rounds):
            session.step()
        for op in step.ops:
            if op.name in session.seconds:
                yield op, max(median(session.seconds[op.name]), 1e-9)


def _note(
    op: Op,
    batch: int,
    seconds: float,
    machine: tuple[float, float],
    shares: Shares,
    kinds: Kinds,
) -> None:
    """What an operation reached: of the rate for a convolution, of the roofline for another."""
    flops, bandwidth = machine
    if op.algorithm:
        y = op.reads["dy"] if "dy" in op.reads else op.writes["y"]
        places = prod(extent for _, extent in y.axes[2:])
        key = clock.describe(op.attributes["layer"], op.reads["x"].axes[1][1], places)
        half = "backward" if op.kind.endswith(".backward") else "forward"
        reached = float(f"{op.flops.at(batch) / seconds / flops:.3g}")
        shares.setdefault(key, {}).setdefault(op.algorithm, {}).setdefault(half, reached)
        return
    moved, computed = op.bytes_moved.at(batch), op.flops.at(batch)
    if moved:
        whole = max(computed / flops, moved / bandwidth)
        kinds.setdefault(op.kind, {}).setdefault((moved, computed), []).append(whole / seconds)


def _rows(found: dict[tuple[int, int], list[float]]) -> list[list[float]]:
    """Bytes moved, operations computed and share, from the least on: medians of those alike."""
    return [[*key, float(f"{median(each):.3g}")] for key, each in sorted(found.items())]
