"""Chains of layers whose maps have the bytes that are asked for, and what a step holds of them.

>>> step = memlab.training_step(chains.convolutions([6_000_000, 5_000_000, 4_000_000]), "sgd")
>>> chains.held(memlab.plan(memlab.recompute(step, "keep", layers=["conv2"])), chains.BATCH)
"""

from __future__ import annotations

from collections.abc import Sequence

from memlab.errors import InputError, shorten, whole
from memlab.networks.builder import network
from memlab.networks.graph import Network
from memlab.planner.ledger import Ledger
from memlab.step.tensor import Role

BATCH = 50
"""At this batch 50 channels of 10·10 values take 1 MB."""
SIDE, CHANNEL = 10, 20_000
"""Rows of a map, and bytes of one of its channels at that batch."""
MB = 10**6


def alike(layers: int) -> Network:
    """So many layers, each a convolution and a tanh; the input and each map take 1 MB.

    Raises:
        InputError: no whole number of at least 1.
    """
    channels = MB // CHANNEL
    x = network("alike", image=(channels, SIDE, SIDE))
    for _ in range(whole("layers", layers)):
        x = x.conv(channels, 1, bias=False).tanh()
    return x.squared_error()


def convolutions(maps: Sequence[int]) -> Network:
    """Convolutions ``conv1``, ``conv2``, ... with maps of so many bytes.

    Raises:
        InputError: no map, or one that is no multiple of 20,000 B.
    """
    if not maps or any(whole("a map (bytes)", nbytes) % CHANNEL for nbytes in maps):
        raise InputError(
            f"maps are multiples of {CHANNEL:,} B, got {shorten(list(maps))}; try [{MB}, {2 * MB}]."
        )
    x = network("chain", image=(1, SIDE, SIDE))
    for number, nbytes in enumerate(maps, 1):
        x = x.conv(nbytes // CHANNEL, 1, bias=False, name=f"conv{number}")
    return x.squared_error()


def held(ledger: Ledger, batch: int = BATCH, *, source: bool = False) -> int:
    """The most bytes of maps that are alive in a backward of a layer, with ``source`` those of the
    input too. What a map takes while it is made again is not in it."""
    return max(
        sum(
            entry.size.at(batch)
            for entry in ledger.alive(index)
            if (entry.role is Role.FEATURE_MAP and entry.axes) or (source and entry.name == "input")
        )
        for index, row in enumerate(ledger.rows)
        if row.kind.endswith(".backward")
    )
