"""What memlab is held to: ``python -m benchmarks NAME``, in a copy of the repository.

Benchmarks that users run, of their machine and of their models, are in ``memlab.bench``.
"""

from __future__ import annotations

from collections.abc import Mapping

from memlab.bench import Benchmark, Benchmarks

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
})  # fmt: skip

PLOTTED = ("im2col", "convolution", "convolution-resnet50")
"""The benchmarks whose result has groups of timings, which a plot shows."""
