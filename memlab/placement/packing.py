"""From sizes and lifetimes to addresses: an order decides a packing.

Each block in turn takes the lowest address that is free during its whole life. Some order gives
the optimum, that of the addresses of an optimum; so to look for a packing is to look for an order.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from memlab.arrays import alive, column
from memlab.placement.free_addresses import BookedAddresses, Gaps

Packing = tuple[Sequence[int], Sequence[int]]
"""The blocks in the order in which they were placed, and the address of each block."""

TRIES, WORK = 60, 12_000
"""How many orders are tried from one start, and how many blocks they place in all."""


@dataclass(frozen=True, slots=True)
class Load:
    """Load to be packed: bytes, first and last operation of every block, one int each."""

    sizes: Sequence[int]
    births: Sequence[int]
    deaths: Sequence[int]

    def bound(self) -> tuple[int, int]:
        """Return the most bytes that are alive inside one operation, and the first operation where
        they are."""
        moments = sorted({*self.births})  # the most are alive where one is born
        births = [bisect_left(moments, birth) for birth in self.births]
        deaths = [bisect_right(moments, death) - 1 for death in self.deaths]
        lives = np.array(births, np.int64), np.array(deaths, np.int64)
        line = alive(column(self.sizes), *lives, len(moments))
        most = int(line.max(initial=0))
        return most, moments[line.tolist().index(most)] if most else 0

    def top(self, addresses: Sequence[int]) -> int:
        """Return the end of the highest block."""
        return max(map(int.__add__, addresses, self.sizes), default=0)

    def order(self, key: Callable[[int], tuple[int, ...]]) -> list[int]:
        """Return the block numbers sorted by a key. Ties are sorted by birth, then left in the
        given order."""
        return sorted(range(len(self.sizes)), key=lambda n: (*key(n), self.births[n], n))

    def lifetime(self, n: int) -> int:
        """Return the number of operations in which block ``n`` is alive."""
        return self.deaths[n] - self.births[n] + 1


def by_birth(load: Load) -> list[int]:
    """Return the block numbers in order of birth. Blocks of one operation stay in
    the given order."""
    return load.order(lambda n: ())


def by_size(load: Load) -> list[int]:
    """Return the block numbers with the largest blocks first."""
    return load.order(lambda n: (-load.sizes[n],))


def by_area(load: Load) -> list[int]:
    """Return the block numbers with the largest product of size and lifetime first."""
    return load.order(lambda n: (-load.sizes[n] * load.lifetime(n),))


def by_death(load: Load) -> list[int]:
    """Return the block numbers with the last to die first. Of those that die together, the largest
    comes first."""
    return load.order(lambda n: (-load.deaths[n], -load.sizes[n]))


def stacked(load: Load, order: Sequence[int]) -> list[int]:
    """Return addresses with each block on top of the previous one."""
    addresses, top = [0] * len(load.sizes), 0
    for n in order:
        addresses[n] = top
        top += load.sizes[n]
    return addresses


def first_fit(load: Load, order: Sequence[int]) -> list[int]:
    """Return addresses where each block in turn takes the lowest address that is free during its
    whole life."""
    moments = sorted(set(load.births))  # what lives together does so when one of the two is born
    taken, addresses = BookedAddresses(len(moments)), [0] * len(load.sizes)
    for n in order:
        if size := load.sizes[n]:
            first = bisect_left(moments, load.births[n])
            last = bisect_right(moments, load.deaths[n]) - 1
            addresses[n] = start = taken.lowest(size, first, last)
            taken.take(start, start + size, first, last)
    return addresses


def best_fit(load: Load, order: Sequence[int]) -> list[int]:
    """Return addresses where each block, in order of birth, takes the smallest free gap that it
    fits into."""
    gaps = Gaps(sum(load.sizes) + 1)
    addresses = [0] * len(load.sizes)
    filled = [n for n in order if load.sizes[n]]
    dying = iter(sorted(filled, key=lambda n: load.deaths[n]))
    next_ = next(dying, None)
    for n in filled:
        while next_ is not None and load.deaths[next_] < load.births[n]:
            gaps.give(addresses[next_], addresses[next_] + load.sizes[next_])
            next_ = next(dying, None)
        addresses[n] = gaps.take(load.sizes[n])
    return addresses


def search(load: Load, goal: int) -> Packing:
    """Return the best packing found, or the first that ends at ``goal`` bytes or below. The search
    tries four orders, and changes to the three best of these.

    How much is tried does not depend on a clock, so the same load is always packed the same.
    """
    packings: list[Packing] = []
    for way in (by_size, by_death, by_area, by_birth):
        order = way(load)
        packings.append((order, first_fit(load, order)))
        if load.top(packings[-1][1]) <= goal:
            return packings[-1]
    packings.sort(key=lambda packing: load.top(packing[1]))
    for number in range(3):
        packings[number] = _improved(load, packings[number], goal)
        if load.top(packings[number][1]) <= goal:
            return packings[number]
    return min(packings, key=lambda packing: load.top(packing[1]))


def _improved(load: Load, packing: Packing, goal: int) -> Packing:
    """Return a packing improved step by step: the block at the top is placed earlier, and any order
    that is no worse is kept."""
    seen, top = {tuple(packing[0])}, load.top(packing[1])
    for _ in range(min(TRIES, WORK // len(load.sizes))):
        new = next((order for order in _earlier(load, packing) if order not in seen), None)
        if new is None or top <= goal:
            break
        seen.add(new)
        tried = new, first_fit(load, new)
        if load.top(tried[1]) <= top:
            packing, top = tried, load.top(tried[1])
    return packing


def _earlier(load: Load, packing: Packing) -> Iterator[tuple[int, ...]]:
    """Yield orders in which the block at the top is placed first, at half or three quarters of its
    position, or one position earlier."""
    order, addresses = packing
    top = load.top(addresses)
    turn = next(t for t, n in enumerate(order) if addresses[n] + load.sizes[n] == top)
    others = [*order[:turn], *order[turn + 1 :]]
    for earlier in (0, turn // 2, turn * 3 // 4, max(turn - 1, 0)):
        yield (*others[:earlier], order[turn], *others[earlier:])
