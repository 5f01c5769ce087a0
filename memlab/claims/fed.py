"""What the calls of the table work out of the way of the images: disk, RAM, link, device (A12, B7).

A step keeps the images of one mini-batch, and no others: what an epoch moves, it moves in so many
pieces.
"""

from __future__ import annotations

import memlab


def copies_in_epoch(network: str, batch: int, images: int) -> int:
    """How many times an epoch over so many images copies a mini-batch to the device: each planned
    step has the images of one, and the last one may be smaller (A12)."""
    ledger = memlab.plan(memlab.training_step(memlab.zoo.build(network)))
    one, all_ = (ledger.of("input", count).nbytes for count in (batch, images))
    return -(-all_ // one)
