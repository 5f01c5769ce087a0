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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from memlab.errors import whole_number
from memlab.ledger.entries import BEFORE, Event
from memlab.ledger.ledger import Ledger
from memlab.placement.cuda_cards import USUAL, CudaCard
from memlab.step.op import Phase
from memlab.step.storage import DEVICE
from memlab.step.tensor import Role

BLOCK, MIB = 512, 2**20
SMALL, SMALL_SEGMENT = MIB, 2 * MIB
LARGE, LARGE_SEGMENT, ROUND = 10 * MIB, 20 * MIB, 2 * MIB
STEPS = 3
"""Steps that are simulated; a later one finds the segments that it needs."""

CONTEXT = range(110 * MIB, 667 * MIB)
"""The context of CUDA, from the least to the most that was recorded: 110 MiB after the first call
on a T4, 287 MiB with modules loaded lazily, 426 MiB with PyTorch 2.10 and CUDA 13.0 on an RTX 6000
Ada (unslothai/unsloth-zoo#1053), 667 MiB with all modules loaded."""


@dataclass(frozen=True, slots=True)
class ReservedBytes:
    """Bytes of a step on a card: ``live`` is the peak of its plan, ``rounded`` the peak with blocks
    rounded up, and ``reserved`` the segments, each the maximum over time."""

    live: int
    rounded: int
    reserved: int


class CardEstimate(NamedTuple):
    """Estimate of the bytes that a card holds beside the plan: ``nbytes`` at least, and ``more``
    that there may be. ``origin`` is ``simulated`` or ``recorded`` (on another machine); ``source``
    says from what."""

    name: str
    nbytes: int
    origin: str
    source: str
    more: int = 0


def simulate(ledger: Ledger, batch: int, memory: str = DEVICE) -> ReservedBytes:
    """Return the segments that a plan needs at a batch, with its workspace if it has any.

    The optimizer makes its state in its first update, so in the first step the state is placed
    there; it stays where it is.

    Raises:
        InputError: a batch that the plan does not hold for.
    """
    events = list(ledger.events(whole_number("batch", batch), memory))
    cache, held = _Cache(), _HeldBlocks()
    for event in [*_first_step(ledger, events), *events * (STEPS - 1)]:
        held.apply(event, cache)
    live = max((event.live for event in events if event.nbytes), default=0)
    return ReservedBytes(live, held.top, cache.reserved)


def _first_step(ledger: Ledger, events: Sequence[Event]) -> Iterator[Event]:
    """Yield the events of the first step, in which the optimizer's state comes with the update."""
    begin = next((n for n, row in enumerate(ledger.rows) if row.phase is Phase.UPDATE), BEFORE)
    states = [event for event in events if begin != BEFORE and _is_state(event)]
    late = {id(event) for event in states}
    for event in events:
        if states and event.op >= begin:
            yield from states
            states = []
        if id(event) not in late:
            yield event


def _is_state(event: Event) -> bool:
    """Return whether an event makes optimizer state that is there before the step."""
    before = event.op == BEFORE and event.action == "allocate"
    return before and event.entry.role is Role.OPTIMIZER_STATE


def cublas(ledger: Ledger, card: CudaCard = USUAL) -> int:
    """Return the bytes that PyTorch keeps for cuBLAS: a workspace for each thread that multiplies
    matrices, forward one, and backward that of autograd; convolutions are cuDNN's. A step that is
    not of PyTorch is taken to multiply matrices in both."""
    if any(row.kind.endswith(".backward") for row in ledger.rows):
        return 2 * card.cublas
    phases = {row.phase for row in ledger.rows if row.kind in _PRODUCTS}
    forward = bool(phases & {Phase.FORWARD, Phase.LOSS})
    return (forward + (Phase.BACKWARD in phases)) * card.cublas


_PRODUCTS = frozenset({"addbmm", "addmm", "addmv", "baddbmm", "bmm", "mm", "mv"})
"""PyTorch's operators that multiply matrices by cuBLAS."""


def allocated(ledger: Ledger, batch: int, card: CudaCard = USUAL) -> int:
    """Return the bytes of ``torch.cuda.max_memory_allocated`` for a plan: its blocks rounded up,
    and the workspaces of cuBLAS.

    Raises:
        InputError: a batch that the plan does not hold for.
    """
    return simulate(ledger, batch).rounded + cublas(ledger, card)


def estimates(ledger: Ledger, batch: int, card: CudaCard = USUAL) -> tuple[CardEstimate, ...]:
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
        CardEstimate("cublas", cublas(ledger, card), "computed", "aten/src/ATen/cuda/CUDABlas.cpp"),
        CardEstimate("context", CONTEXT.start, "recorded", "unslothai/unsloth-zoo#1053",
                     CONTEXT.stop - CONTEXT.start),
    )  # fmt: skip


# -- the allocator -----------------------------------------------------------------------------


class _HeldBlocks:
    """Blocks of the allocator by the entries that lie in them: their bytes ``rounded`` up, and the
    most of them at one time."""

    def __init__(self) -> None:
        self.rounded = self.top = 0
        self._blocks: dict[int, _AllocatorBlock] = {}

    def apply(self, event: Event, cache: _Cache) -> None:
        """Take a block for an entry, or give it back; an entry that stays has one block in all
        steps."""
        key = id(event.entry)
        if event.action == "free":
            if key in self._blocks:
                block = self._blocks.pop(key)
                self.rounded -= block.size
                cache.give(block)
        elif event.nbytes and key not in self._blocks:
            self._blocks[key] = cache.take(event.nbytes)
            self.rounded += self._blocks[key].size
            self.top = max(self.top, self.rounded)


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
