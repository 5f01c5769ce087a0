"""Recompute by segments: a chain is cut, only the outputs at the cuts are stored, and each segment
runs forward again right before its backward; the last one has kept its values already.

Chen et al. 2016, "Training Deep Nets with Sublinear Memory Cost" (arXiv 1604.06174; facts E1, E5).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sized
from itertools import pairwise
from math import isqrt

from memlab.errors import InputError, whole_number
from memlab.techniques.recompute.chain import Chain, Schedule, simulate


def every_kth(chain: Sized, k: int) -> Schedule:
    """Return the schedule that stores the output of every ``k``-th stage; with k = n, it keeps
    everything.

    Raises:
        InputError: ``k`` is no whole number from 1 to the number of stages.
    """
    stages = len(chain)
    step = whole_number("k (stages in a segment)", k)
    if step > stages:
        raise InputError(f"k must be at most the {stages} stages of the chain, got {step}.")
    return _cut(range(step, stages, step), stages)


def root(stages: int) -> int:
    """Return the nearest whole number to the root of n: the rule for stages that are all alike
    (E1)."""
    return (isqrt(4 * stages) + 1) // 2


def sqrt(chain: Sized) -> Schedule:
    """Return the schedule that stores the output of every k-th of n stages, with k by the rule of
    ``root``."""
    return every_kth(chain, root(len(chain)))


def greedy(chain: Chain, budget: int) -> Schedule:
    """Return the schedule that closes a segment at the first stage where its kept bytes exceed
    ``budget``, that stage included: algorithm 3 of the paper (fact E5). The budget is of one
    segment, not of the peak.

    Raises:
        InputError: no whole number of bytes of at least 0.
    """
    return _cut(
        _cuts(chain, whole_number("budget of a segment (bytes)", budget, least=0)), len(chain)
    )


def greedy_search(chain: Chain, limit: int | None = None) -> Schedule:
    """Return the greedy schedule of the least peak among budgets around sqrt(stored x largest
    segment), both with a segment for each stage, from 1/16 of it to 16 times (fact E5). With a
    ``limit``, the fastest of them whose peak is at most that.

    Raises:
        InputError: the limit is no whole number of bytes, or less than the least peak found.
    """
    tried = sorted((*_usage(chain, s), s) for s in {greedy(chain, b) for b in _budgets(chain)})
    if limit is None:
        return tried[0][2]
    nbytes, least = whole_number("limit (bytes)", limit), tried[0][0]
    fits = [(cost, peak, schedule) for peak, cost, schedule in tried if peak <= nbytes]
    if not fits:
        raise InputError(
            f"the greedy search found no schedule below {least:,} bytes, got a limit of "
            f"{nbytes:,}; try {least:,}."
        )
    return min(fits)[2]


def _usage(chain: Chain, schedule: Schedule) -> tuple[int, int]:
    usage = simulate(chain, schedule)
    return usage.peak, usage.cost


def _budgets(chain: Chain) -> Iterator[int]:
    """Yield a grid of 33 budgets, four to each doubling, and one that closes no segment."""
    stored = sum(stage.output for stage in chain.stages)
    largest = max(stage.kept for stage in chain.stages)
    for quarter in range(-16, 17):
        yield int((stored * largest) ** 0.5 * 2 ** (quarter / 4))
    yield sum(stage.kept for stage in chain.stages)


def _cuts(chain: Chain, budget: int) -> Iterator[int]:
    """Yield the last stage, from 1, of every segment but the last."""
    size = 0
    for number, stage in enumerate(chain.stages[:-1], 1):
        size += stage.kept
        if size > budget:
            yield number
            size = 0


def _cut(cuts: Iterable[int], stages: int) -> Schedule:
    *before, last = pairwise([0, *cuts, stages])
    schedule = [*range(1, stages + 1), *_backwards(*last)]
    for first, end in reversed(before):
        schedule += [*range(first + 1, end + 1), *_backwards(first, end)]
    return tuple(schedule)


def _backwards(first: int, end: int) -> Iterator[int]:
    """Numbers of the stages after ``first`` up to ``end``, the last one first."""
    return (-number for number in range(end, first, -1))
