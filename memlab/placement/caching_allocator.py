"""Bytes that PyTorch's caching allocator on CUDA holds for a plan: simulated, by its published
rules.

It asks the driver for segments, cuts blocks off them, and gives neither back: what is free between
blocks, and fits nobody, is in what ``nvidia-smi`` shows. The rules are those of
``c10/cuda/CUDACachingAllocator.cpp`` with its usual settings: sizes are multiples of 512 B; up to 1
MiB come out of segments of 2 MiB, others below 10 MiB out of segments of 20 MiB, larger ones out of
a segment of their own, a multiple of 2 MiB; the smallest free block that is large enough is taken,
and cut where more than 512 B (1 MiB in large segments) are left.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from memlab.errors import whole_number
from memlab.ledger.ledger import Ledger
from memlab.step.storage import DEVICE

BLOCK, MIB = 512, 2**20
SMALL, SMALL_SEGMENT = MIB, 2 * MIB
LARGE, LARGE_SEGMENT, ROUND = 10 * MIB, 20 * MIB, 2 * MIB
STEPS = 2
"""Steps that are simulated; a later one finds the segments that it needs."""

CONTEXT = 426 * MIB
"""The context of CUDA: 426 MiB with PyTorch 2.10 and CUDA 13.0 on an RTX 6000 Ada, recorded in
unslothai/unsloth-zoo#1053. It differs from card to card."""
CUBLAS = 8_519_680
"""What PyTorch keeps for cuBLAS after the first matrix product: recorded in
discuss.pytorch.org/t/178671; ``CUBLAS_WORKSPACE_CONFIG`` changes it."""


@dataclass(frozen=True, slots=True)
class ReservedBytes:
    """Bytes of a step on a card: ``live`` is the peak of its plan, ``rounded`` the peak with blocks
    rounded up, and ``reserved`` the segments, each the maximum over time."""

    live: int
    rounded: int
    reserved: int


class CardEstimate(NamedTuple):
    """Estimate of the bytes that a card holds beside the plan. ``origin`` is ``simulated`` or
    ``recorded`` (on another machine); ``source`` says from what."""

    name: str
    nbytes: int
    origin: str
    source: str


def simulate(ledger: Ledger, batch: int, memory: str = DEVICE) -> ReservedBytes:
    """Return the segments that a plan needs at a batch, with its workspace if it has any.

    Raises:
        InputError: a batch that the plan does not hold for.
    """
    number, cache = whole_number("batch", batch), _Cache()
    blocks: dict[int, _AllocatorBlock] = {}
    live = rounded = top = 0
    for event in [*ledger.events(number, memory)] * STEPS:
        key = id(event.entry)
        if event.action == "free":
            if key in blocks:
                block = blocks.pop(key)
                rounded -= block.size
                cache.give(block)
        elif event.nbytes and key not in blocks:  # what stays is there in the next step
            blocks[key] = cache.take(event.nbytes)
            rounded += blocks[key].size
            live, top = max(live, event.live), max(top, rounded)
    return ReservedBytes(live, top, cache.reserved)


def estimates(ledger: Ledger, batch: int) -> tuple[CardEstimate, ...]:
    """Return the reasons why a card shows more than the plan, each with an estimate: rounding,
    fragmentation, cuBLAS, context. None is exact for a card that was not measured.

    Raises:
        InputError: a batch that the plan does not hold for.
    """
    held = simulate(ledger, batch)
    rules = "rules of PyTorch's caching allocator"
    return (
        CardEstimate("rounding", held.rounded - held.live, "simulated", rules),
        CardEstimate("fragments", held.reserved - held.rounded, "simulated", rules),
        CardEstimate("cublas", CUBLAS, "recorded", "discuss.pytorch.org/t/178671"),
        CardEstimate("context", CONTEXT, "recorded", "unslothai/unsloth-zoo#1053"),
    )


# -- the allocator -----------------------------------------------------------------------------


class _AllocatorBlock:
    """Addresses of a segment that form one block, linked to its neighbours."""

    __slots__ = ("after", "before", "free", "order", "size", "small")

    def __init__(self, order: int, size: int, small: bool) -> None:
        self.order, self.size, self.small = order, size, small
        self.free = False
        self.before: _AllocatorBlock | None = None
        self.after: _AllocatorBlock | None = None


class _Cache:
    """Segments of a caching allocator, and their free blocks by size."""

    def __init__(self) -> None:
        self.reserved = 0
        self._free: dict[bool, list[tuple[int, int]]] = {True: [], False: []}
        self._blocks: dict[int, _AllocatorBlock] = {}

    def take(self, nbytes: int) -> _AllocatorBlock:
        """Return a block of at least ``nbytes`` bytes, from an existing segment or a new one."""
        size = max(-(-nbytes // BLOCK) * BLOCK, BLOCK)
        small = size <= SMALL
        free = self._free[small]
        at = bisect_left(free, (size, -1))
        block = self._blocks[free.pop(at)[1]] if at < len(free) else self._segment(size, small)
        block.free = False
        left = block.size - size
        if left >= BLOCK if small else left > SMALL:
            self._cut(block, size)
        return block

    def _segment(self, size: int, small: bool) -> _AllocatorBlock:
        segment_bytes = SMALL_SEGMENT if small else LARGE_SEGMENT
        if size >= LARGE:
            segment_bytes = -(-size // ROUND) * ROUND
        block = _AllocatorBlock(self.reserved, segment_bytes, small)
        self.reserved += segment_bytes
        self._blocks[block.order] = block
        return block

    def _cut(self, block: _AllocatorBlock, size: int) -> None:
        """Cut a block to ``size`` bytes, and free the rest."""
        rest = _AllocatorBlock(block.order + size, block.size - size, block.small)
        rest.before, rest.after = block, block.after
        if block.after is not None:
            block.after.before = rest
        block.after, block.size = rest, size
        self._blocks[rest.order] = rest
        self._add(rest)

    def give(self, block: _AllocatorBlock) -> None:
        """Free a block, and merge it with free neighbours."""
        for other in _beside(block):
            self._free[other.small].remove((other.size, other.order))
            first, second = sorted((block, other), key=lambda neighbour: neighbour.order)
            first.size += second.size
            first.after = second.after
            if second.after is not None:
                second.after.before = first
            del self._blocks[second.order]
            block = first
        self._add(block)

    def _add(self, block: _AllocatorBlock) -> None:
        block.free = True
        insort(self._free[block.small], (block.size, block.order))


def _beside(block: _AllocatorBlock) -> Iterator[_AllocatorBlock]:
    """Yield the free neighbours of a block. The following one comes first, so that the preceding
    one can absorb both."""
    if block.after is not None and block.after.free:
        yield block.after
    if block.before is not None and block.before.free:
        yield block.before
