"""The benchmarks that users run, by name: ``memlab bench machine``, ``memlab bench accuracy``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module

from memlab.errors import unknown
from memlab.measure.timing import Result

Benchmark = Callable[..., Result]
"""Called without arguments; one of those ``OF_MODELS`` takes a model of the user's, too."""


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


BENCHMARKS: Mapping[str, Benchmark] = Benchmarks(
    {"accuracy": "memlab.bench.accuracy", "machine": "memlab.bench.this_machine"}
)
PLOTTED = ("accuracy",)
"""The benchmarks whose result a plot shows."""
OF_MODELS = ("accuracy",)
"""The benchmarks that take a model of the user's."""


def find(name: str, benchmarks: Mapping[str, Benchmark]) -> Benchmark:
    """The benchmark of that name.

    Raises:
        InputError: there is none.
    """
    if name not in benchmarks:
        raise unknown("benchmark", name, benchmarks)
    return benchmarks[name]


def listing(benchmarks: Mapping[str, Benchmark]) -> str:
    """A line for each benchmark: its name, and the first line of its docstring."""
    return "\n".join(
        f"{name}: {(benchmark.__doc__ or '').partition(chr(10))[0]}"
        for name, benchmark in benchmarks.items()
    )
