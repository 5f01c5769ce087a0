"""The best schedules of a chain: every trade of bytes for time, exact to the byte.

The dynamic program of Beaumont et al. 2019 (rotor, arXiv 1911.13214; fact E6). Its schedules are
persistent: what is stored stays until its last backward. Instead of slots of a rounded size, each
part of the chain has its frontier: all pairs of bytes and cost that no other pair beats in both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import astuple
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from memlab.arrays import Integers
from memlab.errors import InputError, whole_number
from memlab.techniques.recompute.chain import Chain, Schedule

Frontier = tuple[Integers, Integers]
"""Bytes, growing, and the least cost within them, falling. Both of shape (points,)."""
LONGEST = 100
"""The most stages: 55 take about a second, 100 up to half a minute."""
MOST = 2**45
"""What no figure of a chain reaches, so that no sum over runs leaves 64 bits."""
NOTHING: Frontier = (np.zeros(1, np.int64), np.zeros(1, np.int64))
"""The frontier of no stage."""


def frontier(chain: Chain) -> tuple[tuple[int, int], ...]:
    """Return all best trades as (bytes, cost): from the least memory to the least time.

    Raises:
        InputError: the chain is too long, or its figures are too large.
    """
    sizes, costs = _table(chain).whole
    least_costs = dict(zip(np.maximum(sizes, chain.rest).tolist(), costs.tolist(), strict=True))
    return tuple(least_costs.items())  # of equal bytes the last one, which costs least


def least_time(chain: Chain, budget: int) -> Schedule:
    """Return the fastest schedule whose peak is at most ``budget`` bytes, of those the least peak.

    Raises:
        InputError: no whole number of bytes, or less than the least that the chain needs.
    """
    nbytes = whole_number("budget (bytes)", budget)
    sizes = [size for size, _ in frontier(chain)]
    if nbytes < sizes[0]:
        raise InputError(
            f"this chain needs at least {sizes[0]:,} bytes, got a budget of {nbytes:,}; "
            f"try {sizes[0]:,}."
        )
    return _reach(chain, max(size for size in sizes if size <= nbytes))


def least_memory(chain: Chain) -> Schedule:
    """Return the schedule of the least peak; of those the fastest.

    Raises:
        InputError: as ``frontier``.
    """
    return _reach(chain, frontier(chain)[0][0])


def _reach(chain: Chain, nbytes: int) -> Schedule:
    """Return the fastest schedule within so many bytes, of those the least peak."""
    table = _table(chain)
    return tuple(
        table.schedule(0, len(chain) - 1, int(table.whole[0][table.whole[0] <= nbytes][-1]))
    )


class _Choice(NamedTuple):
    """First decision in a part of a chain: keep the values of its first stage, or store nothing up
    to the input of stage ``split`` and recompute what is before it. Keeping counts as split
    ``first``, and as split ``last + 1`` that the backward of the last stage needs nothing. With
    the bytes that it takes by itself, those that it holds beside the part that comes next, and
    the frontiers of the parts that come one after the other."""

    split: int
    floor: int
    held: int
    right: Frontier
    left: Frontier = NOTHING


class _Table:
    """The frontier of every part, from stage ``first`` to stage ``last`` (from 0): its bytes with
    what is there whatever was chosen before it. That counts its input where it ``goes`` with the
    last run that reads it, and not where the stage before keeps it."""

    def __init__(self, chain: Chain) -> None:
        _check(chain)
        self.chain, self.end = chain, len(chain) - 1
        stages, ways = chain.stages, chain.ways
        once, before = (_sums(getattr(way, name) for way in ways) for name in ("once", "before"))
        left = _sums(stage.left for stage in stages[::-1])[-2::-1]
        self.first = [size + before[-1] for size in once]
        self.back = [sum(column) for column in zip(left, once, before, strict=False)]
        given = (stage.gradient for stage in stages)
        self.again = [sum(column) for column in zip(left, once[1:], before[1:], given, strict=True)]
        self.parts: dict[tuple[int, int, bool], Frontier] = {}
        for first in reversed(range(len(chain))):
            for last in range(first, len(chain)):
                self._solve(first, last)

    @property
    def whole(self) -> Frontier:
        """Frontier of peak bytes and cost for the chain from its first to its last stage."""
        return self.parts[0, self.end, True]

    def _solve(self, first: int, last: int) -> None:
        chain, backward = self.chain, self.chain.ways[first].backward
        goes = _best([_both(choice) for choice in self.choices(first, last, True)])
        self.parts[first, last, True] = goes
        if first and chain.ways[first - 1].own:
            above = chain.above(first)
            if chain.ways[first].source and backward.going == backward.staying + above:
                stays = goes[0] - above, goes[1]
            else:
                stays = _best([_both(choice) for choice in self.choices(first, last, False)])
            self.parts[first, last, False] = stays

    def choices(self, first: int, last: int, goes: bool) -> Iterator[_Choice]:
        """Decisions that a part of the chain can begin with."""
        chain, ways, again = self.chain, self.chain.ways, last < self.end
        above, way = chain.above(first) if goes else 0, ways[first]
        around = [self.again[last]] * (last + 1) if again else self.first
        yield self._keep(first, last, goes)
        run = way.forward(again, True, False)
        floor, cost = above + run.staying + around[first], run.cost
        for split in range(first + 1, last + 1):
            sizes, costs = self.parts[split, last, True]
            right = sizes + above, costs + cost
            yield _Choice(split, floor, above, right, self.parts[first, split - 1, goes])
            run = ways[split].forward(again, True, False)
            floor = max(floor, above + run.going + around[split])
            cost += run.cost
        if again and first < last and chain.bare(last):
            floor = above + ways[last].backward.staying + self.back[last]
            alone = NOTHING[0], NOTHING[1] + ways[last].backward.cost
            yield _Choice(last + 1, floor, 0, alone, self.parts[first, last - 1, goes])

    def _keep(self, first: int, last: int, goes: bool) -> _Choice:
        """Return the choice that keeps the values of the first stage."""
        chain, way = self.chain, self.chain.ways[first]
        above = chain.above(first) if goes else 0
        run, back = way.forward(last < self.end, first < last, True), way.backward
        closes = goes and not way.source
        inside = run.going if closes else run.staying + above
        inside += self.again[last] if last < self.end else self.first[first]
        floor = max(
            inside, (back.going if goes and way.source else back.staying) + self.back[first]
        )
        held = chain.beside(first) + way.own * chain.stages[first].output + (not closes) * above
        sizes, costs = self.parts.get((first + 1, last, not way.own), NOTHING)
        return _Choice(first, floor, held, (sizes + held, costs + (run.cost + back.cost)))

    def schedule(self, first: int, last: int, budget: int, goes: bool = True) -> Iterator[int]:
        """Yield the fastest schedule of a part within its budget: stages from 0 become numbers from
        1."""
        if first > last:
            return
        within = np.array(budget)
        fits = [
            (int(_cost(choice.right, within) + _cost(choice.left, within)), choice)
            for choice in self.choices(first, last, goes)
            if max(choice.floor, choice.right[0][0], choice.left[0][0]) <= budget
        ]
        _, (split, _, held, *_) = min(fits, key=lambda point: (point[0], point[1].split))
        if split == first:
            yield first + 1
            own = self.chain.ways[first].own
            yield from self.schedule(first + 1, last, budget - held, not own)
            yield -(first + 1)
        elif split > last:
            yield -split
            yield from self.schedule(first, last - 1, budget, goes)
        else:
            yield from range(first + 1, split + 1)
            yield from self.schedule(split, last, budget - held)
            yield from self.schedule(first, split - 1, budget, goes)


_table = lru_cache(maxsize=8)(_Table)


def _sums(figures: Iterable[int]) -> list[int]:
    """Return the sum of none of the figures, of the first, of the first two, and so on."""
    return [*accumulate(figures, initial=0)]


def _check(chain: Chain) -> None:
    if len(chain) > LONGEST:
        raise InputError(
            f"the best schedules are found for up to {LONGEST} stages, got {len(chain)}; "
            "try fewer and larger stages, or equal ones by their slots."
        )
    figures = (figure for stage in chain.stages for figure in astuple(stage)[:10])
    largest = max(chain.input, chain.rest, *figures)
    if largest >= MOST:
        raise InputError(
            f"the figures of a chain must be below 2^45, got {largest:,}; try a smaller batch."
        )


def _both(choice: _Choice) -> Frontier:
    """Return the frontier of two parts one after the other: the bytes are the larger ones, the
    costs add up."""
    _, floor, _, one, other = choice
    least = max(floor, int(one[0][0]), int(other[0][0]))
    larger = (frontier[0][frontier[0] > least] for frontier in (one, other))
    sizes = np.sort(np.concatenate([[least], *larger]))
    return sizes, _cost(one, sizes) + _cost(other, sizes)


def _cost(points: Frontier, sizes: Integers) -> Integers:
    """Return the least cost within each size."""
    return points[1][np.searchsorted(points[0], sizes, side="right") - 1]


def _best(choices: list[Frontier]) -> Frontier:
    """Return the points of all choices that no other one beats."""
    sizes = np.concatenate([choice[0] for choice in choices])
    order = np.argsort(sizes, kind="stable")  # merges what is sorted already
    costs = np.concatenate([choice[1] for choice in choices])[order]
    sizes, lowest = sizes[order], np.minimum.accumulate(costs)
    last = np.append(sizes[1:] != sizes[:-1], True)  # of equal sizes
    sizes, lowest = sizes[last], lowest[last]
    better = np.concatenate([[True], lowest[1:] < lowest[:-1]])
    return sizes[better], lowest[better]
