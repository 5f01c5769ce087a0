"""The benchmarks behind ``memlab bench``, by name."""

from __future__ import annotations

from collections.abc import Callable

from memlab.bench import (
    batch,
    convolution,
    gpu,
    here,
    im2col,
    lanes,
    lowering,
    offload,
    path,
    placement,
    plan,
    seconds,
    step,
    torch_lowering,
    torch_memory,
    views,
    walk,
)
from memlab.bench.timing import Result
from memlab.errors import unknown

Benchmark = Callable[[], Result]

BENCHMARKS: dict[str, Benchmark] = {
    "machine": here.run,
    "clock": seconds.run,
    "plan": plan.run,
    "placement": placement.run,
    "step": step.run,
    "im2col": im2col.run,
    "convolution": convolution.run,
    "convolution-resnet50": convolution.resnet50,
    "batch": batch.run,
    "lanes": lanes.run,
    "lowering": lowering.run,
    "offload": offload.run,
    "path": path.run,
    "torch-lowering": torch_lowering.run,
    "torch-memory": torch_memory.run,
    "views": views.run,
    "walk": walk.run,
    "gpu": gpu.run,
}

PLOTTED = ("im2col", "convolution", "convolution-resnet50")
"""Those whose result has groups of timings, which a plot shows."""


def find(name: str) -> Benchmark:
    """The benchmark of that name.

    Raises:
        InputError: there is none.
    """
    if name not in BENCHMARKS:
        raise unknown("benchmark", name, BENCHMARKS)
    return BENCHMARKS[name]


def listing() -> str:
    """One line per benchmark: its name and what it times."""
    return "\n".join(
        f"{name}: {(benchmark.__doc__ or '').partition(chr(10))[0]}"
        for name, benchmark in BENCHMARKS.items()
    )
