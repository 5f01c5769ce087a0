"""What memlab is held to: ``python -m benchmarks NAME``, in a copy of the repository.

Benchmarks that users run, of their machine and of their models, are in ``memlab.bench``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module

from memlab.bench import Benchmark


class Benchmarks(Mapping[str, Benchmark]):
    """Benchmarks by name. Each is loaded with its module when it is asked for.

    Args:
        homes: the module of each, with the function behind a colon where it is not ``run``.
    """

    def __init__(self, homes: Mapping[str, str]) -> None:
        self._homes = homes

    def __getitem__(self, name: str) -> Benchmark:
        module, _, function = self._homes[name].partition(":")
        benchmark: Benchmark = getattr(import_module(module), function or "run")
        return benchmark

    def __iter__(self) -> Iterator[str]:
        return iter(self._homes)

    def __len__(self) -> int:
        return len(self._homes)


BENCHMARKS: Mapping[str, Benchmark] = Benchmarks({
    "clock": "benchmarks.planned_seconds",
    "plan": "benchmarks.plan",
    "record": "benchmarks.recording",
    "placement": "benchmarks.placement",
    "step": "benchmarks.step",
    "im2col": "benchmarks.im2col",
    "convolution": "benchmarks.convolution",
    "convolution-resnet50": "benchmarks.convolution:resnet50",
    "batch": "benchmarks.vectors:batch",
    "lanes": "benchmarks.vectors:lanes",
    "lowering": "benchmarks.lowering",
    "offload": "benchmarks.offload",
    "path": "benchmarks.data_path",
    "torch-lowering": "benchmarks.lowering:in_torch",
    "torch-memory": "benchmarks.torch_memory",
    "views": "benchmarks.views",
    "walk": "benchmarks.functions_walked",
    "gpu": "benchmarks.gpu",
    "cards": "benchmarks.cards",
    "budget": "benchmarks.budget",
})  # fmt: skip

PLOTTED = ("im2col", "convolution", "convolution-resnet50")
"""The benchmarks whose result has groups of timings, which a plot shows."""
