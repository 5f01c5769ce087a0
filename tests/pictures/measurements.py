"""Measurements that nobody made, for the views that show such ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from memlab import views
from memlab.layers import Conv2d
from memlab.layers.algorithms import on
from memlab.measure import batch_times, vector_lanes
from memlab.measure.batch_times import Sweep
from memlab.measure.convolution import RIVAL, Comparison, ConvolutionCase
from memlab.measure.memory_bandwidth import ReadingByFormat, ReadingSamples
from memlab.measure.recorded_figures import RecordedFigures
from memlab.measure.timing import BenchmarkLine, Machine, Result, TimedGroup, Timing
from memlab.measure.vector_lanes import LaneMeasurement, LoopSamples

MACHINE = Machine("a processor", 2, "Linux x86_64", "2026-01-31", {"torch": "2.13.0+cpu"})
LIBRARIES = ("BLAS of numpy, core A", "BLAS of scipy, core B")

# -- ways to convolve ---------------------------------------------------------------------------

CACHES = {"L1": 2**15, "L2": 2**20, "L3": 2**25}
LAYER = ConvolutionCase("Net conv1", (8, 12, 12), Conv2d(4, 3, pad=1))


def compared(*timings: Any, **others: Any) -> Comparison:
    given: dict[str, Any] = {"batch": 4, "threads": 1, "left_out": (), "caches": CACHES} | others
    found = tuple(Timing(name, size, (seconds,)) for name, size, seconds in timings)
    return Comparison(LAYER, timings=found, machine=MACHINE, blas=LIBRARIES, **given)


FALLING = compared(
    ("direct", 0, 1.9),
    ("im2col-batch", 115_605_504, 0.044),
    ("im2col-image", 28_901_376, 0.043),
    ("im2col-tile", 129_600, 0.035),
    ("offsets", 144, 0.0365),
    (RIVAL, None, 0.038),
)
ALGORITHMS = {
    "falling": FALLING,
    "one": compared(("im2col-image", 28_901_376, 0.043)),
    "nothing": compared(("im2col-image", 0, 2e-7), ("direct", 0, 2.2e-7)),
    "pointwise": compared(
        ("im2col-batch", 0, 0.002),
        ("im2col-image", 0, 0.002),
        ("im2col-tile", 12_288, 0.002),
        ("offsets", 16, 0.00201),
        ("direct", 0, 0.0021),
        (RIVAL, None, 0.0021),
    ),
    "every": compared(
        *((name, 10**index, 0.01 + index / 1000) for index, name in enumerate(on("cpu"))),
        (RIVAL, None, 9.0),
        left_out=("winograd",),
        threads=2,
        caches={},
    ),
    "same": compared(*((name, 4096, 0.0123) for name in on("cpu"))),
    "slow": compared(
        ("direct", 0, 0.972), ("im2col-batch", 57_802_752, 0.0386), (RIVAL, None, 0.0198)
    ),
    "left edge": compared(
        ("im2col-tile", 28_224, 0.00578),
        ("im2col-batch", 14_751_744, 0.00904),
        ("im2col-image", 7_375_872, 0.00752),
        ("mec", 4_365_312, 0.00942),
        (RIVAL, None, 0.0119),
    ),
}


def result(*groups: TimedGroup, lines: tuple[BenchmarkLine, ...] = ()) -> Result:
    return Result("convolution", MACHINE, lines, groups)


def layers(rival: bool) -> Result:
    return result(
        TimedGroup("one", tuple(t for t in FALLING.timings if rival or t.name != RIVAL)),
        TimedGroup(
            "two", tuple(t for t in ALGORITHMS["pointwise"].timings if rival or t.name != RIVAL)
        ),
        lines=(
            BenchmarkLine("a mean", 0.9, "x", 1.0),
            BenchmarkLine("BLAS of scipy, core B", 2, ""),
        ),
    )


PLAIN = TimedGroup("small", (Timing("im2col", None, (1.0,)), Timing("a copy", None, (0.5,))))
"""Without a workspace."""
PLOTS = {"rival": layers(True), "none": layers(False), "plain": result(PLAIN)}


# -- lanes and memory ---------------------------------------------------------------------------

BITS = {"fp64": 64, "fp32": 32, "bf16": 16, "int8": 8}


def rates(format: str, width: int, *, first: int = 1, lost: float = 1.0) -> vector_lanes.LaneCurve:
    """Linear up to ``width`` bits, 1 % more beyond, and at last only a part of it."""
    lanes = [first << n for n in range(7) if first << n <= 64]
    most = width // BITS[format]
    found = [14e9 * min(n, most) * (1.01 if n > most else 1) for n in lanes]
    found[-1] *= lost
    points = [
        LoopSamples(n, 10**9, (10**9 / rate,) * 3) for n, rate in zip(lanes, found, strict=True)
    ]
    return vector_lanes.LaneCurve(format, BITS[format], tuple(points))


def vectors(*found: vector_lanes.LaneCurve, **others: Any) -> LaneMeasurement:
    given: dict[str, Any] = {
        "bits": 512, "registers": 32, "feature": "avx512f", "target": "", "missing": (),
        "chosen": {"zmm": 16, "ymm": 4}, "chosen_bits": 512, "clock": "process_time",
    } | others  # fmt: skip
    return LaneMeasurement(found, machine=MACHINE, **given)


FP32 = vectors(rates("fp32", 512))
FORCED = vectors(
    rates("fp64", 256, lost=0.5), bits=256, registers=16, feature="avx2", target="avx2",
    chosen={"ymm": 12}, chosen_bits=256,
)  # fmt: skip
LANES = {
    "fp32": FP32,
    "parts": vectors(rates("fp32", 256)),
    "forced": FORCED,
    "narrow": vectors(rates("fp64", 512), chosen={}, chosen_bits=0),
    "bf16": vectors(rates("bf16", 256, first=8)),
    "unbroken": vectors(rates("int8", 512, first=16)),
    "lost": vectors(
        vector_lanes.LaneCurve(
            "fp32", 32, tuple(LoopSamples(2**n, 10**9, (2.0 ** -min(n, 4 - n),)) for n in range(4))
        )
    ),
    "wider": vectors(rates("fp32", 256), bits=128, feature="", clock="perf_counter"),
}


def read(*formats: str, speed: float = 30e9, **others: Any) -> ReadingByFormat:
    nbytes = 2**28
    found = tuple(
        ReadingSamples(name, BITS[name], nbytes, (nbytes / speed,) * 2) for name in formats
    )
    given: dict[str, Any] = {"largest": 2**25, "clock": "process_time"} | others
    return ReadingByFormat(nbytes, rates=found, machine=MACHINE, **given)


READINGS = {
    "all": read("fp64", "fp32", "bf16", "int8"),
    "one": read("fp32", speed=2e9, largest=0),
    "fast": read("int8", "fp64", speed=900e9, clock="perf_counter"),
}


# -- batches ------------------------------------------------------------------------------------


def curve(name, times, weights=0):
    return batch_times.BatchCurve(name, {2**i: (t * 1e-6,) for i, t in enumerate(times)}, weights)


def sweep(*curves, lanes=8):
    return Sweep(batch_times.LAYER, curves, lanes, MACHINE, LIBRARIES)


USUAL = sweep(
    curve("linear-4096", [640, 320, 160, 80, 50, 40, 30, 20], 2**26),
    curve("samples", [80, 40, 20, 10, 10.2, 10.5, 11, 11]),
    curve("pixels", [10, 9.8, 10, 10, 10, 10.5, 10, 10]),
    curve("loop", [4000, 2000, 1000, 500, 250, 200, 100, 100]),
    curve("one-lane", [4000, 2000, 1000, 800, 700, 600, 600, 600]),
)
ODD = sweep(
    curve("linear-1024", [10, 10, 10], 4096),
    curve("samples", [10, 5, 5]),
    curve("pixels", [30, 20, 10]),
    curve("one-lane", [10, 40, 10]),
    lanes=16,
)
TWO = sweep(curve("samples", [2_000_000, 5]), lanes=1)
EVERY = sweep(*(curve(name, [9, 3, 3]) for name in batch_times.WAYS))
SWEEPS = {"usual": USUAL, "odd": ODD, "two": TWO, "every": EVERY}
GPU = RecordedFigures(
    "NVIDIA X",
    "make gpu",
    Result(
        "gpu",
        replace(MACHINE, processor="NVIDIA X, beside a processor"),
        (
            BenchmarkLine("linear 4096x4096: per sample at batch 1", 5e-5, "s"),
            BenchmarkLine("linear 4096x4096: per sample at batch 128", 1e-6, "s"),
            BenchmarkLine("product of 4096x4096: fast", 1e-3, "s"),
        ),
    ),
)


# -- pages --------------------------------------------------------------------------------------

CASES: dict[str, dict[str, Callable[[], Any]]] = {
    "algorithm_times": {
        **{n: partial(views.AlgorithmTimes, found) for n, found in ALGORITHMS.items()},
        **{f"{n}, curve": partial(views.TimeAndMemory, f) for n, f in ALGORITHMS.items()},
    },
    "vector_lanes": {n: partial(views.VectorLanes, found) for n, found in LANES.items()},
    "memory_rate": {n: partial(views.MemoryRate, found) for n, found in READINGS.items()},
    "batch_times": {n: partial(views.BatchTimes, found, GPU) for n, found in SWEEPS.items()},
}
"""Of each factory what it could show, by name."""
