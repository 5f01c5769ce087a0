"""The benchmarks behind ``memlab bench``, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module

from memlab.errors import unknown
from memlab.measure.timing import Result

Benchmark = Callable[..., Result]
"""Called without arguments; one of those ``OF_MODELS`` takes a model of the user's, too."""


class _Benchmarks(Mapping[str, Benchmark]):
    """Functions by name, each loaded with its module when it is asked for: what was recorded is
    read without what measures."""

    def __init__(self, homes: Mapping[str, str]) -> None:
        self._homes = homes

    def __getitem__(self, name: str) -> Benchmark:
        room, module, *function = self._homes[name].split(".")
        found: Benchmark = getattr(import_module(f"memlab.{room}.{module}"), *function or ["run"])
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._homes)

    def __len__(self) -> int:
        return len(self._homes)


BENCHMARKS: Mapping[str, Benchmark] = _Benchmarks({
    "accuracy": "bench.accuracy",
    "machine": "bench.this_machine",
    "clock": "bench.planned_seconds",
    "plan": "bench.plan",
    "record": "bench.recording",
    "placement": "bench.placement",
    "step": "bench.step",
    "im2col": "bench.im2col",
    "convolution": "measure.convolution",
    "convolution-resnet50": "measure.convolution.resnet50",
    "batch": "measure.batch_times",
    "lanes": "measure.vector_lanes",
    "lowering": "measure.lecture_layer",
    "offload": "bench.offload",
    "path": "bench.data_path",
    "torch-lowering": "measure.torch_lowering",
    "torch-memory": "measure.torch_memory",
    "views": "bench.views",
    "walk": "bench.functions_walked",
    "gpu": "bench.gpu",
})  # fmt: skip

PLOTTED = ("im2col", "convolution", "convolution-resnet50", "accuracy")
"""Those whose result has groups of timings, or of estimates, which a plot shows."""
OF_MODELS = ("accuracy",)
"""Those that take a model of the user's."""


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
