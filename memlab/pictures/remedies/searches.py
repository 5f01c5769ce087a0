"""Searches for feature maps to drop, or to move to the host, so that a step in place fits a budget.

A picture asks again for every batch, so each search plans a few dozen sets at most. Its result is
the best of those; it is not proved to be the best of all.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from memlab import units
from memlab.arrays import Floats, Truths
from memlab.clocks.roofline import Machine
from memlab.clocks.streams import seconds_of
from memlab.errors import InputError
from memlab.hardware import Link
from memlab.ledger.plan import plan
from memlab.step.op import Phase
from memlab.step.step import Step
from memlab.techniques.in_place import in_place
from memlab.techniques.offload.cost import Costs, Terms
from memlab.techniques.offload.search import changes, descended, static
from memlab.techniques.recompute import recompute

TRIES, GRID = 24, 1000
"""Sets that a search plans at most (and again with one map fewer), and parts in which a cover
counts bytes."""
MANY, SOME, LONG = 150, 6, 800
"""Maps beyond which offload searches from one start alone; sets that are planned for a step
of more than ``LONG`` operations."""


class Map(NamedTuple):
    """A feature map that backward reads: its operation, its bytes at a batch, and its price in
    seconds.

    ``seconds`` is the time to compute it again from maps that stay.
    """

    maker: str
    nbytes: int
    seconds: float


def maps(step: Step, batch: int, machine: Machine) -> list[Map]:
    """Return the feature maps that could be dropped: those that forward writes and backward reads.

    The last one is left out, for backward needs it at once.
    """
    later = {t.storage.name for op in step.ops if op.phase is Phase.BACKWARD for t in op.touched()}
    again: dict[str, float] = {}
    results = []
    for op in step.ops:
        if op.phase is not Phase.FORWARD:
            continue
        read = {tensor.storage.name for tensor in op.reads.values()} - later
        seconds = seconds_of(op, batch, machine, None) + sum(again.get(name, 0.0) for name in read)
        written = {tensor.storage.name: tensor.storage for tensor in op.writes.values()}
        again |= dict.fromkeys(written, seconds)
        nbytes = sum(tensor.size.at(batch) for name, tensor in written.items() if name in later)
        results += [Map(op.name, nbytes, seconds)] if nbytes else []
    return results[:-1]


def cover(items: Sequence[Map], need: int) -> tuple[str, ...] | None:
    """Return the makers of the maps of the least seconds that have ``need`` bytes together.

    It is a knapsack over bytes rounded down to ``GRID`` parts of ``need``; None where all maps
    together have fewer bytes.
    """
    best = np.full(GRID + 1, np.inf)
    best[0] = 0.0
    steps = []
    for item in items:
        parts = min(item.nbytes * GRID // need, GRID)
        after = best.copy()
        more = best + item.seconds
        if parts:
            after[parts:] = np.minimum(best[parts:], more[: GRID + 1 - parts])
            after[GRID] = min(best[GRID], more[GRID - parts :].min())
        steps.append((parts, after < best, more))
        best = after
    return _back(items, steps) if np.isfinite(best[GRID]) else None


def _back(items: Sequence[Map], steps: Sequence[tuple[int, Truths, Floats]]) -> tuple[str, ...]:
    """Return the makers of a cover, traced from the last map back to the first."""
    at, chosen = GRID, list[str]()
    for item, (parts, better, more) in zip(reversed(items), reversed(steps), strict=True):
        if better[at]:
            chosen.append(item.maker)
            low = at - parts
            at = low + int(more[low:].argmin()) if at == GRID else low
    return tuple(reversed(chosen))


def dropped(step: Step, batch: int, budget: int, machine: Machine) -> tuple[str, ...]:
    """Return the makers of the maps to compute again, so that the step in place fits a budget.

    The search begins with the maps of the least seconds whose bytes are enough on paper, asks for
    more bytes until the plan fits, and then leaves out maps that it does not need.

    Args:
        step: a training step without techniques.
        batch: samples of the mini-batch.
        budget: bytes of the device.
        machine: machine whose rates give the seconds.

    Raises:
        InputError: no set that was tried fits; the message names the least bytes.
    """
    items = maps(step, batch, machine)
    own = plan(in_place(step)).peak(batch)
    need, peaks, tries = own - budget, [own], _tries(step)
    while need > 0:
        names = cover(items, need) if len(peaks) <= tries else None
        if names is None:
            raise InputError(
                f"no set of maps that was tried fits into {units.exact(budget)}; the least that "
                f"one takes is {units.exact(min(peaks))}; try that budget, or a smaller batch."
            )
        peaks.append(_peak(step, batch, names))
        if peaks[-1] <= budget:
            return _pruned(step, batch, budget, items, names)
        need += max(peaks[-1] - budget, need // 100)
    return ()


def _pruned(
    step: Step, batch: int, budget: int, items: Sequence[Map], names: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the makers without those that the plan does not need; the slowest are tried first."""
    slowest = sorted(items, key=lambda item: -item.seconds)
    for maker in [item.maker for item in slowest if item.maker in names][: _tries(step)]:
        fewer = tuple(name for name in names if name != maker)
        if fewer and _peak(step, batch, fewer) <= budget:
            names = fewer
    return names


def _tries(step: Step) -> int:
    """Return the number of sets that a search plans at most; fewer for a long step."""
    return TRIES if len(step.ops) <= LONG else SOME


def _peak(step: Step, batch: int, names: Collection[str]) -> int:
    """Return the planned peak in bytes of the step in place that drops some maps."""
    return plan(in_place(recompute(step, "drop", layers=names))).peak(batch)


def moved(step: Step, batch: int, budget: int, machine: Machine, link: Link) -> tuple[str, ...]:
    """Return the maps that wait in host memory, so that the step in place fits a budget.

    The search begins with vDNN's static sets and changes one map at a time, to the least seconds.

    Args:
        step: a training step without techniques.
        batch: samples of the mini-batch.
        budget: bytes of the device.
        machine: machine whose rates give the seconds of the operations.
        link: link between both memories.

    Raises:
        InputError: no set that was tried fits; the message names the least bytes.
    """
    costs = Costs(step, Terms(batch, link.speed, machine, in_place=True, algorithms="m"))
    rank = partial(costs.rank, budget=budget)
    if not rank(frozenset())[0]:
        return ()
    starts = static(costs)
    chosen = ("conv", "all") if len(costs.sizes) <= MANY else ("all",)
    neighbours = changes(costs.sizes)
    ends = {descended(starts[name], neighbours, rank) for name in chosen}
    best = min(sorted(ends, key=sorted), key=rank)
    if rank(best)[0]:
        least = costs.of(best, budget).peak
        raise InputError(
            f"no set of maps that was tried fits into {units.exact(budget)}; the least that one "
            f"takes is {units.exact(least)}; try that budget, or a smaller batch."
        )
    return tuple(name for name in costs.sizes if name in best)
