"""The best schedules of a chain: every trade of bytes for time, exact to the byte.

The dynamic program of Beaumont et al. 2019 (rotor, arXiv 1911.13214; fact E6). Its schedules are
persistent: what is stored stays until its last backward. Instead of slots of a rounded size, each
part of the chain has its frontier: all pairs of bytes and cost that no other pair beats in both.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple
from functools import lru_cache
from itertools import accumulate

from memlab.errors import InputError, whole
from memlab.lines import Integers, np
from memlab.planner.stages import Chain, Schedule, Stage, Usage, simulate

Frontier = tuple[Integers, Integers]
"""Bytes, growing, and the least cost within them, falling. Both of shape (points,)."""
LONGEST = 100
"""The most stages: 55 take about a second, 100 up to half a minute."""
MOST = 2**45
"""What no figure of a chain reaches, so that no sum over runs leaves 64 bits."""
NOTHING: Frontier = (np.zeros(1, np.int64), np.zeros(1, np.int64))
"""The frontier of no stage."""


def frontier(chain: Chain) -> tuple[tuple[int, int], ...]:
    """All best trades as (bytes, cost): from the least memory to the least time.

    Raises:
        InputError: the chain is too long, or its figures are too large.
    """
    sizes, costs = _table(chain)[0, len(chain) - 1]
    return tuple(zip((sizes + chain.input).tolist(), costs.tolist(), strict=True))


def least_time(chain: Chain, budget: int) -> Schedule:
    """The fastest schedule whose peak is at most ``budget`` bytes, of those the least peak.

    Raises:
        InputError: no whole number of bytes, or less than the least that the chain needs.
    """
    nbytes = whole("budget (bytes)", budget)
    sizes = [size for size, _ in frontier(chain)]
    if nbytes < sizes[0]:
        raise InputError(
            f"this chain needs at least {sizes[0]:,} bytes, got a budget of {nbytes:,}; "
            f"try {sizes[0]:,}."
        )
    return _reach(chain, max(size for size in sizes if size <= nbytes))


def least_memory(chain: Chain) -> Schedule:
    """The schedule of the least peak; of those the fastest.

    Raises:
        InputError: as ``frontier``.
    """
    return _reach(chain, frontier(chain)[0][0])


def _reach(chain: Chain, nbytes: int) -> Schedule:
    """The schedule of one point of the frontier."""
    return tuple(_schedule(chain, 0, len(chain) - 1, nbytes - chain.input))


@lru_cache(maxsize=8)
def _table(chain: Chain) -> dict[tuple[int, int], Frontier]:
    """The frontier of every part, from stage ``first`` to stage ``last`` (from 0): its bytes beside
    its input, with the gradient of its output and what later backwards have left."""
    _check(chain)
    table: dict[tuple[int, int], Frontier] = {}
    for first in reversed(range(len(chain))):
        for last in range(first, len(chain)):
            table[first, last] = _best([_both(*c[1:]) for c in _choices(chain, table, first, last)])
    return table


def _check(chain: Chain) -> None:
    if len(chain) > LONGEST:
        raise InputError(
            f"the best schedules are found for up to {LONGEST} stages, got {len(chain)}; "
            "try fewer and larger stages, or equal ones by their slots."
        )
    largest = max(chain.input, *(max(astuple(stage)) for stage in chain.stages))
    if largest >= MOST:
        raise InputError(
            f"the figures of a chain must be below 2^45, got {largest:,}; try a smaller batch."
        )


def _choices(
    chain: Chain, table: dict[tuple[int, int], Frontier], first: int, last: int
) -> Iterator[tuple[int, int, Frontier, Frontier]]:
    """What can be done first: keep the values of stage ``first``, or store nothing up to the input
    of stage ``split`` and recompute what is before it. Keeping counts as split ``first``. With it
    the bytes that it takes by itself, and the parts that come one after the other."""
    stages = chain.stages
    stage, around = stages[first], _around(chain)[last]
    floor = max(stage.keeping + around, stage.reversing + _left(chain)[first])
    sizes, costs = table.get((first + 1, last), NOTHING)
    yield first, floor, (sizes + stage.kept, costs + (stage.forward + stage.backward)), NOTHING
    floor, cost = stage.staying + around, stage.forward
    for split in range(first + 1, last + 1):
        sizes, costs = table[split, last]
        right = (sizes + stages[split - 1].output, costs + cost)
        yield split, floor, right, table[first, split - 1]
        floor = max(floor, stages[split].passing + around)
        cost += stages[split].forward


def _both(floor: int, one: Frontier, other: Frontier) -> Frontier:
    """One after the other: the bytes are the larger ones, the costs add up."""
    least = max(floor, int(one[0][0]), int(other[0][0]))
    larger = (each[0][each[0] > least] for each in (one, other))
    sizes = np.sort(np.concatenate([[least], *larger]))
    return sizes, _cost(one, sizes) + _cost(other, sizes)


def _cost(points: Frontier, sizes: Integers) -> Integers:
    """The least cost within each size."""
    return points[1][np.searchsorted(points[0], sizes, side="right") - 1]


def _best(choices: list[Frontier]) -> Frontier:
    """The points of all choices that no other one beats."""
    sizes = np.concatenate([choice[0] for choice in choices])
    order = np.argsort(sizes, kind="stable")  # merges what is sorted already
    costs = np.concatenate([choice[1] for choice in choices])[order]
    sizes, lowest = sizes[order], np.minimum.accumulate(costs)
    last = np.append(sizes[1:] != sizes[:-1], True)  # of equal sizes
    sizes, lowest = sizes[last], lowest[last]
    better = np.concatenate([[True], lowest[1:] < lowest[:-1]])
    return sizes[better], lowest[better]


def _schedule(chain: Chain, first: int, last: int, budget: int) -> Iterator[int]:
    """The fastest schedule of a part within its budget: stages from 0 become numbers from 1."""
    if first > last:
        return
    within = np.array(budget)
    fits = [
        (int(_cost(one, within) + _cost(other, within)), split)
        for split, floor, one, other in _choices(chain, _table(chain), first, last)
        if max(floor, one[0][0], other[0][0]) <= budget
    ]
    _, split = min(fits)
    stage = chain.stages[first]
    if split == first:
        yield first + 1
        yield from _schedule(chain, first + 1, last, budget - stage.kept)
        yield -(first + 1)
    else:
        yield from range(first + 1, split + 1)
        stored = chain.stages[split - 1].output
        yield from _schedule(chain, split, last, budget - stored)
        yield from _schedule(chain, first, split - 1, budget)


@lru_cache(maxsize=8)
def _left(chain: Chain) -> list[int]:
    """What the backwards of all later stages have left when that of a stage runs."""
    return list(accumulate((stage.left for stage in chain.stages[:0:-1]), initial=0))[::-1]


@lru_cache(maxsize=8)
def _around(chain: Chain) -> list[int]:
    """The same, with the gradient of the output of the stage, which the last stage makes itself."""
    gradients = [stage.gradient for stage in chain.stages[:-1]] + [0]
    return [left + gradient for left, gradient in zip(_left(chain), gradients, strict=True)]


__all__ = [
    "Chain",
    "Schedule",
    "Stage",
    "Usage",
    "frontier",
    "least_memory",
    "least_time",
    "simulate",
]
