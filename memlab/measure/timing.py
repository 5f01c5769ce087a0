"""Timing that can be compared: cases interleaved in one run, medians, ratios of medians.

A machine's speed drifts. Cases that take turns meet the same drift, so their ratio is worth more
than either time.
"""

from __future__ import annotations

import gc
import json
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import date
from importlib import metadata
from importlib.util import find_spec
from time import perf_counter
from typing import Any

from memlab import free_memory
from memlab.errors import whole_number

PACKAGES = ("memlab", "numpy", "numba", "torch")
"""Those whose versions a result names, where they are installed."""


@dataclass(frozen=True, slots=True)
class Machine:
    """Machine and date of a measurement."""

    processor: str
    cores: int
    system: str
    date: str
    versions: Mapping[str, str]

    def __str__(self) -> str:
        versions = ", ".join(f"{name} {version}" for name, version in self.versions.items())
        return f"{self.processor}, {self.cores} cores, {self.system}; {versions}; {self.date}"


@dataclass(frozen=True, slots=True)
class BenchmarkLine:
    """One figure: its value in ``unit``, the aim it should stay under, and the samples behind it.

    ``aim`` is ``None`` where there is none.
    """

    name: str
    value: float
    unit: str
    aim: float | None = None
    samples: tuple[float, ...] = ()

    @property
    def reached(self) -> bool:
        """True if the value is at most the aim, or there is no aim."""
        return self.aim is None or self.value <= self.aim

    def __str__(self) -> str:
        scale, unit = (1e3, "ms") if self.unit == "s" and self.value < 1 else (1, self.unit)
        text = f"{self.name:54}{scale * self.value:10.4g} {unit:3}"
        if self.aim is None:
            return text.rstrip()
        verdict = "reached" if self.reached else "NOT REACHED"
        return f"{text} aim {scale * self.aim:6.4g} {unit:3} {verdict}"


@dataclass(frozen=True, slots=True)
class Timing:
    """One way to compute something: the planned bytes of its workspace, and the seconds of each
    sample. Of a rival no plan knows the workspace."""

    name: str
    workspace: int | None
    samples: tuple[float, ...]

    @property
    def seconds(self) -> float:
        """Median of the samples, in seconds."""
        return median(self.samples)


@dataclass(frozen=True, slots=True)
class TimedGroup:
    """Ways to compute the same thing, that took turns."""

    name: str
    timings: tuple[Timing, ...]


@dataclass(frozen=True)
class Result:
    """Figures of a benchmark, and the machine that they are of. ``groups`` are the parts that a
    plot shows."""

    benchmark: str
    machine: Machine
    lines: tuple[BenchmarkLine, ...]
    groups: tuple[TimedGroup, ...] = ()

    @property
    def reached(self) -> bool:
        """True if every aim is reached."""
        return all(line.reached for line in self.lines)

    def as_dict(self) -> dict[str, Any]:
        """Result as plain values for JSON."""
        lines = [{**asdict(line), "reached": line.reached} for line in self.lines]
        return {
            "schema": "memlab.bench/1",
            "benchmark": self.benchmark,
            "machine": asdict(self.machine),
            "lines": lines,
        }

    def __str__(self) -> str:
        return "\n".join([f"measured here: {self.machine}", *map(str, self.lines)])


def interleave(
    cases: Mapping[str, Callable[[int], object]], repeats: int = 5, warm_up: int = 1,
    clock: Callable[[], float] | None = None,
) -> dict[str, tuple[float, ...]]:  # fmt: skip
    """Time all cases interleaved, with ``repeats`` samples each; return the seconds of each.

    In each round every case runs once, from another one on each time; the rounds of the warm-up are
    not kept. A case is given the number of the round, so that it can do something new. ``clock`` is
    the time on the wall, or another in seconds.

    Raises:
        InputError: no repeat, or a negative warm-up.
    """
    rounds = whole_number("repeats", repeats) + whole_number("warm-up", warm_up, least=0)
    samples: dict[str, list[float]] = {name: [] for name in cases}
    names = list(cases)
    for turn in range(rounds):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            seconds = once(cases[name], turn, clock)
            if turn >= warm_up:
                samples[name].append(seconds)
    return {name: tuple(seconds) for name, seconds in samples.items()}


def once(
    case: Callable[[int], object], turn: int = 0, clock: Callable[[], float] | None = None
) -> float:
    """Return the seconds of one call. Garbage of earlier calls is collected before, not within."""
    clock = clock or perf_counter
    gc.collect()
    start = clock()
    result = case(turn)
    seconds = clock() - start
    del result  # freed outside the clock
    return seconds


def median(samples: tuple[float, ...]) -> float:
    """Return the middle sample."""
    return statistics.median(samples)


def line(name: str, samples: tuple[float, ...], aim: float | None = None) -> BenchmarkLine:
    """Return the median of some seconds as a line."""
    return BenchmarkLine(name, median(samples), "s", aim, samples)


def ratio(
    name: str, over: tuple[float, ...], under: tuple[float, ...], aim: float | None = None
) -> BenchmarkLine:
    """Return the ratio of two medians of the same run as a line."""
    return BenchmarkLine(name, median(over) / median(under), "x", aim)


def in_fresh_process(program: str, *arguments: str) -> Any:
    """Run a Python program in a process of its own, and return the value that it prints as JSON."""
    command = [sys.executable, "-c", program, *arguments]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def allow_torch() -> bool:
    """Let PyTorch be loaded, which times and bytes are compared with; return whether it is
    installed.

    Raises:
        InputError: it is installed, and a limit of this process leaves no room for it.
    """
    if find_spec("torch") is None:
        return False
    if "torch" not in sys.modules:
        free_memory.require("PyTorch, which this is compared with,", free_memory.TORCH)
    return True


def machine() -> Machine:
    """Return this machine, with its date."""
    versions = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return Machine(
        free_memory.processor(),
        os.cpu_count() or 1,
        f"{platform.system()} {platform.machine()}",
        date.today().isoformat(),
        versions,
    )
