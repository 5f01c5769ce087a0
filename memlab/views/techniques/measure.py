"""Every technique run on this machine, beside the plain step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from memlab.kernels.registry import Array
from memlab.planner.book import plan
from memlab.planner.placement import arrange, blocks
from memlab.runtime import backend, guard
from memlab.runtime.run import run
from memlab.runtime.session import kernels_of
from memlab.step.step import Step

if TYPE_CHECKING:
    from memlab.views.techniques.rows import Row

MOST, ENOUGH = 5, 0.2
"""So many runs of each are timed at most, fewer where they have taken so many seconds."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What runs used: the peak, the largest difference from the plan, the median of their seconds;
    and which results are not those of the plain step bit for bit, by key."""

    nbytes: int
    residual: int
    seconds: float
    other: tuple[str, ...]


class Results(NamedTuple):
    """What a step has computed."""

    loss: float | None
    gradients: Mapping[str, Array]
    parameters: Mapping[str, Array]
    output: Array | None


def measure(rows: Sequence[Row], batch: int, progress: bool) -> list[Row]:
    """The rows with what their runs used; refused before the first where one of them cannot run.

    Each also runs once with its gradients kept, to compare them.
    """
    room = backend.find("cpu").room()
    for row in rows:
        for step in (row.step, _kept(row.step)):
            guard.check(plan(step), batch, room)
            kernels_of(step, "cpu")
    expected = _results(next(row for row in rows if row.key == "plain"), batch, progress)
    found = []
    for row in rows:
        other = _differences(_results(row, batch, progress), expected)
        peaks, residuals, seconds = zip(*_runs(row, batch, progress), strict=True)
        seen = Measured(max(peaks), max(residuals), median(seconds), other)
        found.append(replace(row, measured=seen))
    return found


def _runs(row: Row, batch: int, progress: bool) -> list[tuple[int, int, float]]:
    """Peak, residual and seconds of some runs: one where it takes long."""
    found = list[tuple[int, int, float]]()
    while len(found) < MOST and sum(seconds for _, _, seconds in found) < ENOUGH:
        done = run(row.step, batch, placement=row.placement, poison=False, progress=progress)
        found.append((done.peak, done.residual, done.seconds))
    return found


def _kept(step: Step) -> Step:
    return step.keep("gradients") if step.training else step


def _results(row: Row, batch: int, progress: bool) -> Results:
    """Of a run in which nobody may read what is free."""
    step = _kept(row.step)
    placement = None if row.placement is None else arrange(blocks(step, batch))
    done = run(step, batch, placement=placement, progress=progress)
    return Results(done.loss, done.gradients, done.parameters, done.output)


def _differences(found: Results, expected: Results) -> tuple[str, ...]:
    pairs = zip(Results._fields, found, expected, strict=True)
    return tuple(name for name, one, other in pairs if not _same(one, other))


def _same(one: object, other: object) -> bool:
    """Bit for bit; NaN is NaN."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_same(one[name], other[name]) for name in one)
    return np.asarray(one).tobytes() == np.asarray(other).tobytes()
