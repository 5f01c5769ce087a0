"""Which addresses are free: over time for blocks in any order, and now for blocks as they are born.

Operations are numbered from 0, and lifetimes hold both ends.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator


class BookedAddresses:
    """Addresses that are taken, by operation, in a segment tree over the operations.

    Of the operations below it, a node knows the addresses taken in any (``within``), and those that
    were booked for all of them (``across``). Each is one sorted list: start, end, start, end;
    neighbours are joined, so that a dense packing has short ones.
    """

    def __init__(self, operations: int) -> None:
        self._leaves = 1 << max(operations - 1, 0).bit_length()
        self._within: list[list[int]] = [[] for _ in range(2 * self._leaves)]
        self._across: list[list[int]] = [[] for _ in range(2 * self._leaves)]

    def lowest(self, size: int, birth: int, death: int) -> int:
        """Return the lowest address at which ``size`` bytes are free from birth to death."""
        intervals = [self._within[node] for node in self._cover(birth, death)]
        intervals += [self._across[node] for node in self._above(birth, death)]
        lists, start, n = [taken for taken in intervals if taken], 0, 0
        while n < len(lists):
            free = _free(lists[n], start, size)
            n += 1
            if free > start:  # what was in the way is likely to be so again: it is asked first
                start = free
                lists.insert(0, lists.pop(n - 1))
                n = 1
        return start

    def take(self, start: int, end: int, birth: int, death: int) -> None:
        """Mark the addresses from start to end as taken from birth to death."""
        seen: set[int] = set()
        for node in self._cover(birth, death):
            _join(self._across[node], start, end)
            while node and node not in seen:
                seen.add(node)
                _join(self._within[node], start, end)
                node >>= 1

    def _cover(self, birth: int, death: int) -> Iterator[int]:
        """Yield the fewest nodes of the tree that cover exactly these operations."""
        left, right = birth + self._leaves, death + self._leaves + 1
        while left < right:
            if left & 1:
                yield left
                left += 1
            if right & 1:
                right -= 1
                yield right
            left, right = left >> 1, right >> 1

    def _above(self, birth: int, death: int) -> Iterator[int]:
        """Yield the nodes from both ends up to the root."""
        left, right = birth + self._leaves, death + self._leaves
        while left:
            yield left
            if left != right:
                yield right
            left, right = left >> 1, right >> 1


def _free(taken: list[int], start: int, size: int) -> int:
    """Return the lowest address from ``start`` on at which ``size`` bytes are not taken."""
    n = bisect_right(taken, start)
    if n % 2:
        start = taken[n]
        n += 1
    while n < len(taken) and taken[n] < start + size:
        start = taken[n + 1]
        n += 2
    return start


def _join(taken: list[int], start: int, end: int) -> None:
    first, last = bisect_left(taken, start), bisect_right(taken, end)
    taken[first:last] = [start] * (1 - first % 2) + [end] * (1 - last % 2)


class Gaps:
    """Free addresses below ``end``, as gaps between the live blocks."""

    def __init__(self, end: int) -> None:
        self._by_size: list[tuple[int, int]] = []
        self._ends: dict[int, int] = {}
        self._starts: dict[int, int] = {}
        self._add(0, end)

    def take(self, size: int) -> int:
        """Return the start of the smallest gap that is large enough; of equal gaps, the lowest."""
        _, start = self._by_size[bisect_left(self._by_size, (size, 0))]
        end = self._remove(start)
        if start + size < end:
            self._add(start + size, end)
        return start

    def give(self, start: int, end: int) -> None:
        """Free the addresses from start to end. Neighbouring gaps become one."""
        if end in self._ends:
            end = self._remove(end)
        if start in self._starts:
            before = self._starts[start]
            self._remove(before)
            start = before
        self._add(start, end)

    def _add(self, start: int, end: int) -> None:
        insort(self._by_size, (end - start, start))
        self._ends[start], self._starts[end] = end, start

    def _remove(self, start: int) -> int:
        end = self._ends.pop(start)
        del self._starts[end]
        del self._by_size[bisect_left(self._by_size, (end - start, start))]
        return end
