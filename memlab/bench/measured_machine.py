"""Measure this machine in a few seconds, so that planned seconds are its own.

Processor time of one thread. Operations are timed where they run, in steps of a few small networks,
each once before so that it is compiled. Ways to convolve take turns in the step of one network, so
that they are compared where they run, too. What was found is kept (``clocks.recordings``).
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import asdict
from itertools import chain
from math import prod
from statistics import median
from time import perf_counter, process_time
from typing import Any

from memlab.assemble.step import training_step
from memlab.clocks import measured_rates, roofline
from memlab.kernels import registry
from memlab.layers.algorithms import DEFAULT, on
from memlab.layers.convolution import image_of
from memlab.measure.processor import Way, blas, freed_memory_kept, limited, set_apart
from memlab.measure.processor import timed as timed_in_turns
from memlab.measure.timing import BenchmarkLine, Result, machine
from memlab.networks import zoo
from memlab.networks.builder import network
from memlab.networks.graph import Network
from memlab.runtime.program import OperationTurn, Program
from memlab.runtime.session import Session
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
SLOW = ("direct", "fft")
"""Ways that take many times as long: they convolve one small image."""
ROUNDS = 3


Shares = dict[tuple[int, ...], dict[str, Any]]
Samples = list[tuple[Op, list[float]]]
Kinds = dict[str, dict[tuple[int, int], list[float]]]


class Timed(Session):
    """Session that notes how long each operation computes, in seconds of the processor."""

    def __init__(self, step: Step, batch: int) -> None:
        super().__init__(Program(step, batch))
        self.seconds: dict[str, list[float]] = {}

    def _compute(self, turn: OperationTurn) -> None:
        start = process_time()
        super()._compute(turn)
        self.seconds.setdefault(turn.op.name, []).append(process_time() - start)

    def samples(self) -> Iterator[tuple[Op, list[float]]]:
        """Yield every operation with its seconds in all steps but the first."""
        for op in self.program.step.ops:
            if op.name in self.seconds:
                yield op, [max(duration, 1e-9) for duration in self.seconds[op.name][1:]]


def run() -> Result:
    """Measure this machine and keep it, so that planned seconds are of this one."""
    begin = perf_counter()
    data = measure()
    path = measured_rates.save(data)
    kinds = len(data["kinds"]) + len({name for row in data["layers"] for name in row["shares"]})
    lines = (
        BenchmarkLine("a large product, fp32", data["flops"] / 1e9, "G/s"),
        BenchmarkLine("a large copy, read and written", data["bandwidth"] / 1e9, "GB/s"),
        BenchmarkLine("kinds of operations and ways to convolve", kinds, ""),
        BenchmarkLine("how far samples of an operation lay apart", 100 * data["spread"], "%"),
        BenchmarkLine("measured in", perf_counter() - begin, "s"),
        BenchmarkLine(f"kept in {path}: bytes", path.stat().st_size, "B"),
    )
    return Result("machine", machine(), lines)


def measure(
    steps: Iterable[Subject] = STEPS, sizes: tuple[int, int] = (64, 32), rounds: int = ROUNDS
) -> dict[str, Any]:
    """Measure the rates of this machine, as ``recordings`` keeps them.

    ``sizes`` are the rows and columns of images for ways to convolve, and for slow ones.
    """
    registry.load()
    gc.collect()
    with limited(), freed_memory_kept(), set_apart():
        machine_figures = MachineFigures(product(rounds), copy(rounds))
        for name, image, batch in steps:
            step = training_step(zoo.build(name, image=image))
            for op, seconds in timed(step, batch, rounds):
                machine_figures.note(op, batch, seconds)
        large, small = sizes
        fast = [way for way in on("cpu") if way not in SLOW]
        machine_figures.compare(layers(large, (64, 128, 256)), fast, 4, rounds)
        machine_figures.compare(layers(small, (64,)), (DEFAULT, *SLOW), 1, 1)
    return {
        "schema": measured_rates.SCHEMA,
        "machine": asdict(machine()) | {"blas": [line.name for line in blas()]},
        "command": measured_rates.COMMAND,
        **machine_figures.as_dict(),
    }


def product(rounds: int, size: int = 2048) -> float:
    """Operations per second of a product of square matrices."""
    import numpy as np

    from memlab.kernels.cpu.blas import gemm

    a, b, out = (np.ones((size, size), np.float32) for _ in range(3))
    return 2 * size**3 / _median(lambda: gemm(a, b, out), rounds)


def copy(rounds: int, size: int = 2**26) -> float:
    """Bytes per second of a copy, which reads and writes each."""
    import numpy as np

    source, target = np.ones(size, np.uint8), np.ones(size, np.uint8)
    return 2 * size / _median(lambda: np.copyto(target, source), rounds)


def _median(way: Way, rounds: int) -> float:
    return median(timed_in_turns({"it": way}, rounds)["it"])


def layers(image: int, widths: Iterable[int]) -> Network:
    """Return a network with layers of each kernel and stride that networks have, on ever smaller
    and wider maps."""
    x = network("layers", image=(3, image, image)).conv(64, 7, 2, 3).conv(32, 1)
    x = x.conv(64, 5, pad=2).conv(128, 1, 2).conv(64, 1)
    for width in widths:
        x = x.conv(width, 3, pad=1).conv(4 * width, 1).conv(width, 1).conv(2 * width, 3, 2, 1)
    return x.conv(2 * width, 3, pad=1).squared_error()


def timed(step: Step, batch: int, rounds: int) -> Iterator[tuple[Op, float]]:
    """Yield every operation of a step with the median of its seconds, after one
    step that compiles."""
    for op, samples in alternated([step], batch, rounds)[0]:
        yield op, median(samples)


def alternated(steps: Iterable[Step], batch: int, rounds: int) -> list[Samples]:
    """Return the seconds of every operation of some steps that take turns, after a first turn,
    which compiles."""
    with ExitStack() as stack:
        sessions: list[Timed] = []
        for step in steps:
            sessions.append(Timed(step, batch))
            stack.enter_context(sessions[-1])
        for _ in range(rounds + 1):
            for session in sessions:
                session.step()
        return [[*session.samples()] for session in sessions]


class MachineFigures:
    """Rates of a machine, and the parts of them that its operations reached."""

    def __init__(self, flops: float, bandwidth: float) -> None:
        self.flops, self.bandwidth = flops, bandwidth
        self.shares: Shares = {}
        self.kinds: Kinds = {}
        self.spreads: list[float] = []

    def note(self, op: Op, batch: int, seconds: float) -> None:
        """Keep the seconds of an operation: as a share of the rate for a convolution, as a share of
        the roofline for any other."""
        moved, computed = op.bytes_moved.at(batch), op.flops.at(batch)
        if op.algorithm:
            y = op.reads["dy"] if "dy" in op.reads else op.writes["y"]
            places = prod(extent for _, extent in y.axes[2:])
            key = roofline.describe(op.attributes["layer"], image_of(op).axes[1][1], places)
            half = "backward" if op.kind.endswith(".backward") else "forward"
            reached = float(f"{computed / seconds / self.flops:.3g}")
            self.shares.setdefault(key, {}).setdefault(op.algorithm, {}).setdefault(half, reached)
        elif moved:
            whole = max(computed / self.flops, moved / self.bandwidth)
            rows = self.kinds.setdefault(op.kind, {})
            rows.setdefault((moved, computed), []).append(whole / seconds)

    def compare(self, net: Network, ways: Iterable[str], batch: int, rounds: int) -> None:
        """Time ways to convolve, in steps of a network that take turns, and note the shares."""
        steps = (training_step(net, algorithm=way) for way in ways)
        for op, samples in chain.from_iterable(alternated(steps, batch, rounds)):
            if op.algorithm:
                self.note(op, batch, median(samples))
                if rounds > 1:
                    self.spreads.append((max(samples) - min(samples)) / median(samples))

    def as_dict(self) -> dict[str, Any]:
        """Figures of the machine, as ``recordings`` keeps them."""
        return {
            "flops": self.flops,
            "bandwidth": self.bandwidth,
            "spread": float(f"{median(self.spreads or [0.0]):.3g}"),
            "layers": [{"layer": list(key), "shares": row} for key, row in self.shares.items()],
            "kinds": {kind: _rows(seconds) for kind, seconds in self.kinds.items()},
        }


def _rows(seconds: dict[tuple[int, int], list[float]]) -> list[list[float]]:
    """Return rows of bytes moved, operations computed and share, from the least on: medians of rows
    that are alike."""
    return [[*key, float(f"{median(samples):.3g}")] for key, samples in sorted(seconds.items())]
