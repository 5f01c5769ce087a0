"""Chains of linear layers with feature maps of chosen sizes, and the bytes of maps alive in
backward.

Example::

    step = memlab.training_step(chains.layers([60_000, 50_000, 40_000]), "sgd")
    chains.held(memlab.plan(memlab.recompute(step, "keep", layers=["fc2"])))
"""

from __future__ import annotations

from collections.abc import Sequence

from memlab.errors import InputError, shorten, whole_number
from memlab.ledger.ledger import Ledger
from memlab.networks.builder import network
from memlab.networks.graph import Network
from memlab.step.tensor import Role

BATCH = 250
"""At this batch a map takes 1 kB for each feature."""
KB = 1000
ALIKE = 10 * KB
"""Bytes of a map where all are alike, at that batch."""


def alike(count: int) -> Network:
    """Return a network of ``count`` equal layers, each a linear layer with a tanh.

    At batch 250 the input and each feature map take 10 kB.

    Raises:
        InputError: ``count`` is no whole number from 1 to 10,000.
    """
    count = whole_number("layers", count, most=10_000)
    x = network("alike", features=ALIKE // KB, title=f"{count} equal layers")
    for _ in range(count):
        x = x.linear(ALIKE // KB).tanh()
    return x.squared_error()


def layers(maps: Sequence[int]) -> Network:
    """Return a network of linear layers ``fc1``, ``fc2``, ... without biases.

    Args:
        maps: bytes of the output of each layer at batch 250, multiples of 1,000.

    Raises:
        InputError: no map, or one that is no multiple of 1,000 B.
    """
    listed = isinstance(maps, list | tuple) and len(maps) > 0
    if not listed or any(whole_number("a map (bytes)", nbytes) % KB for nbytes in maps):
        raise InputError(
            f"maps are multiples of {KB:,} B, got {shorten(maps)}; try [{6 * KB}, {5 * KB}]."
        )
    x = network("chain", features=1)
    for number, nbytes in enumerate(maps, 1):
        x = x.linear(nbytes // KB, bias=False, name=f"fc{number}")
    return x.squared_error()


def held(ledger: Ledger, batch: int = BATCH, *, source: bool = False) -> int:
    """Return the most bytes of feature maps that are alive in any backward operation of a layer.

    Operations that recompute a map do not count, only those of backward.

    Args:
        ledger: the planned step.
        batch: samples per batch.
        source: True adds the bytes of the network's input.
    """
    return max(
        sum(
            entry.size.at(batch)
            for entry in ledger.alive(index)
            if (entry.role is Role.FEATURE_MAP and entry.axes) or (source and entry.name == "input")
        )
        for index, row in enumerate(ledger.rows)
        if row.kind.endswith(".backward")
    )
