"""Sentences of every picture of times that were measured: how, where, and by which library."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memlab import strings, units
from memlab.layers.algorithms import ALGORITHMS
from memlab.measure import recorded_figures
from memlab.measure.convolution import RIVAL
from memlab.measure.timing import BenchmarkLine, Machine, Timing


def rival(machine: Machine) -> str:
    """Return the name of the library that memlab is compared with: ``'PyTorch 2.13'``."""
    version = machine.versions.get("torch", "").split(".")
    return f"{RIVAL} {'.'.join(version[:2])}".strip()


def workspace(timing: Timing) -> str:
    """Return the planned workspace of a timing as text."""
    unknown = timing.workspace is None
    return strings.get("speed.unplanned") if unknown else units.short(timing.workspace or 0)


def way(timing: Timing) -> str:
    """Return the work of an algorithm, or its title. The algorithm of another
    library is not known."""
    key = f"speed.way.{timing.name}"
    if strings.has(key):
        return strings.get(key)
    return ALGORITHMS[timing.name].title if timing.name in ALGORITHMS else ""


def taken(samples: Iterable[Sequence[float]], processor: bool) -> list[str]:
    """Sentences on the number of samples behind each time, and on the clock."""
    counts = sorted(set(map(len, samples)))
    least_to_most = strings.get("speed.range", least=counts[0], most=counts[-1])
    count = least_to_most if len(counts) > 1 else str(counts[0])
    clock = strings.get("speed.processor") if processor else strings.get("speed.wall")
    return [strings.get("speed.samples", count=count, clock=clock)]


def where(machine: Machine) -> str:
    """Return the place and date of a measurement. A picture that is recorded has them below it
    instead."""
    return "" if recorded_figures.command() else strings.get("speed.where", machine=machine)


def said(key: str, **values: object) -> str:
    """Return a text about what is measured, or recorded."""
    return strings.get(f"speed.{key}{'_recorded' * bool(recorded_figures.command())}", **values)


def on_threads(count: int) -> str:
    """Return a number of threads as text: ``'1 thread'``."""
    return strings.get(f"speed.{'thread' if count == 1 else 'threads'}", count=count)


def origin(samples: Sequence[float], machine: Machine) -> str:
    """Return the place and date of a single figure, in short."""
    count, processor, date = len(samples), machine.processor, machine.date
    return said("origin", count=count, processor=processor, date=date)


def products(libraries: Sequence[str]) -> list[str]:
    """Return SciPy's linear algebra library, which multiplies matrices for memlab, or all libraries
    if its name is not known."""
    scipy = [library for library in libraries if "scipy" in library]
    return [strings.get("speed.blas", library=library) for library in scipy or libraries]


def rate(name: str, count: int, samples: Sequence[float]) -> BenchmarkLine:
    """Return a rate in billions per second, from the best sample, with the rates of all samples."""
    rates = tuple(count / sample / 1e9 for sample in samples)
    return BenchmarkLine(name, max(rates), "G/s", samples=rates)
