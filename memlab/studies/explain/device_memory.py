"""Why a card shows more than a plan: what lies beside it, each with where its figure comes from,
and the largest batch that a card holds with all of it.
"""

from __future__ import annotations

from memlab.ledger.ledger import Ledger
from memlab.placement.caching_allocator import CONTEXT, Estimate, estimates

Beside = Estimate
"""Bytes on the card that no plan of arrays has; ``origin`` is planned, simulated or recorded."""


def beside(ledger: Ledger, batch: int) -> tuple[Beside, ...]:
    """What lies beside the plan: rounding and fragments of PyTorch's allocator, simulated, and
    what libraries and CUDA keep, recorded elsewhere."""
    return estimates(ledger, batch)


def largest_batch(ledger: Ledger, nbytes: int) -> int | None:
    """The largest batch whose plan fits so many bytes with all that lies beside it: 0 where not
    one sample does, None where every batch does. Fragments do not grow evenly with the batch: a
    smaller one may not fit."""
    if nbytes <= CONTEXT:
        return 0
    found = ledger.fit(nbytes - CONTEXT)
    if found.batch is None:
        return None
    least = found.valid.start if found.valid else 1
    fits, over = least - 1, found.batch + 1
    while over - fits > 1:
        batch = (fits + over) // 2
        if ledger.peak(batch) + sum(row.nbytes for row in beside(ledger, batch)) <= nbytes:
            fits = batch
        else:
            over = batch
    return fits if fits >= least else 0
