"""The benchmarks that users run, by name: ``memlab bench machine``, ``memlab bench accuracy``."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from memlab.bench import accuracy, measured_machine
from memlab.measure.timing import Result

Benchmark = Callable[..., Result]
"""Called without arguments; that of accuracy takes a model of the user's, too."""

BENCHMARKS: Mapping[str, Benchmark] = {"accuracy": accuracy.run, "machine": measured_machine.run}


def listing(benchmarks: Mapping[str, Benchmark]) -> str:
    """A line for each benchmark: its name, and the first line of its docstring."""
    return "\n".join(
        f"{name}: {(benchmark.__doc__ or '').partition(chr(10))[0]}"
        for name, benchmark in benchmarks.items()
    )
