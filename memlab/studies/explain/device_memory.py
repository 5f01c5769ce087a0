"""Why a card shows more than a plan: what lies beside it, each with where its figure comes from."""

from __future__ import annotations

from typing import NamedTuple

from memlab.ledger.ledger import Ledger
from memlab.step.storage import DEVICE

BLOCK = 512
"""PyTorch's caching allocator on CUDA hands out multiples of 512 B (c10/cuda/CUDACachingAllocator,
kMinBlockSize)."""
CONTEXT = 426 * 2**20
"""The context of CUDA, before the first array: 426 MiB with PyTorch 2.10 and CUDA 13.0 on an RTX
6000 Ada (unslothai/unsloth-zoo#1053). It differs from card to card."""


class Beside(NamedTuple):
    """Bytes on the card that no plan of arrays has. ``origin`` is planned, simulated, recorded or
    estimated."""

    key: str
    nbytes: int
    origin: str


def beside(ledger: Ledger, batch: int) -> tuple[Beside, ...]:
    """What lies beside the plan at its peak: what blocks are rounded up by, and the context.

    Rounding is exact for the blocks that are alive there. Fragments, free memory between blocks
    that none fits into, are not among them: they depend on the order of all steps before.
    """
    at = ledger.peak_at(batch).index
    alive = (each.size.at(batch) for each in ledger.alive(at, DEVICE))
    rounding = sum(-nbytes % BLOCK for nbytes in alive)
    return Beside("rounding", rounding, "planned"), Beside("context", CONTEXT, "recorded")


def largest_batch(ledger: Ledger, nbytes: int) -> int | None:
    """The largest batch whose plan fits so many bytes with all that lies beside it: 0 where not
    one sample does, None where every batch does."""
    if nbytes <= CONTEXT:
        return 0
    found = ledger.fit(nbytes - CONTEXT)
    if found.batch is None:
        return None
    batch, least = found.batch, found.valid.start if found.valid else 1
    while (
        batch >= least
        and ledger.peak(batch) + sum(row.nbytes for row in beside(ledger, batch)) > nbytes
    ):
        batch -= 1
    return batch if batch >= least else 0
