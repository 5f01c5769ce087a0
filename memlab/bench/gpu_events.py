"""Times on a GPU, between two events around so many launches that the way of the first one to the
GPU is lost among them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from memlab.measure import timing
from memlab.measure.processor import Samples, Way
from memlab.measure.timing import Machine, interleave, once

SHORTEST = 0.02
"""Seconds of a sample: launches are repeated."""


class Clock:
    """Seconds on the GPU. What was launched before has ended when it is read."""

    def __init__(self) -> None:
        self._cuda: Any = import_module("numba.cuda")
        self._seconds = 0.0
        self._last = self._event()

    def _event(self) -> Any:
        event = self._cuda.event()
        event.record()
        event.synchronize()
        return event

    def __call__(self) -> float:
        now = self._event()
        self._seconds += self._last.elapsed_time(now) / 1e3
        self._last = now
        return self._seconds


def timed(ways: Mapping[str, Way], repeats: int) -> dict[str, Samples]:
    """Seconds of one launch of every way, interleaved, ``repeats`` samples each."""
    clock = Clock()
    counts = {name: _count(way, clock) for name, way in ways.items()}
    cases = {name: partial(_repeat, way, counts[name]) for name, way in ways.items()}
    samples = interleave(cases, repeats, clock=clock)
    return {name: tuple(each / counts[name] for each in found) for name, found in samples.items()}


def machine(device: str) -> Machine:
    """This one, now, with a GPU and what its kernels are compiled with."""
    here = timing.machine()
    driver = import_module("memlab.kernels.cuda.driver").driver().get_version()
    versions = {**here.versions, "CUDA driver": ".".join(map(str, driver))}
    with suppress(PackageNotFoundError):  # Numba's own
        versions["numba-cuda"] = version("numba-cuda")
    return replace(here, processor=f"{device}, beside {here.processor}", versions=versions)


def _count(way: Way, clock: Clock) -> int:
    """How many launches fill a sample. The first one compiles."""
    way()
    return max(1, int(SHORTEST / max(once(partial(_repeat, way, 1), clock=clock), 1e-6)))


def _repeat(way: Way, count: int, turn: int) -> None:
    for _ in range(count):
        way()
