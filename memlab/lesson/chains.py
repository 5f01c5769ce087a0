"""Chains of layers whose maps have the bytes that are asked for, and what a step holds of them.

>>> step = memlab.training_step(chains.convolutions([6, 5, 4], unit=10**6))
>>> chains.held(memlab.plan(memlab.recompute(step, "keep", layers=["conv2"])), chains.BATCH)
"""

from __future__ import annotations

from collections.abc import Sequence

from memlab.errors import InputError, whole
from memlab.networks.builder import network
from memlab.networks.graph import Network
from memlab.planner.ledger import Ledger
from memlab.step.op import Phase
from memlab.step.tensor import Role

BATCH = 250
"""At this batch a channel of 10·10 values takes 100,000 B, and 10 channels 1 MB."""
MB = 10**6
_SIDE, _CHANNEL = 10, 4 * BATCH * 10 * 10


def alike(layers: int) -> Network:
    """A convolution, then so many tanh; at batch 250 the input and each map take 1 MB."""
    x = network("alike", image=(MB // _CHANNEL, _SIDE, _SIDE)).conv(MB // _CHANNEL, 1, bias=False)
    for number in range(1, whole("layers", layers) + 1):
        x = x.tanh(f"tanh{number}")
    return x.squared_error()


def convolutions(maps: Sequence[int], unit: int = 1) -> Network:
    """Convolutions ``conv1``, ``conv2``, ... whose maps take so many bytes at batch 250.

    Args:
        maps: bytes of each map, times ``unit``.

    Raises:
        InputError: no map, or one that is no multiple of 100,000 B.
    """
    channels = [divmod(whole("a map", nbytes * unit), _CHANNEL) for nbytes in maps]
    if not channels or any(rest for _, rest in channels):
        raise InputError(f"maps are multiples of {_CHANNEL:,} B, got {list(maps)}.")
    x = network("chain", image=(1, _SIDE, _SIDE))
    for number, (count, _) in enumerate(channels, 1):
        x = x.conv(count, 1, bias=False, name=f"conv{number}")
    return x.squared_error()


def held(ledger: Ledger, batch: int, *, source: bool = False) -> int:
    """The most bytes of maps that are alive in backward, with ``source`` those of the input too."""
    return max(
        sum(
            entry.size.at(batch)
            for entry in ledger.alive(index)
            if (entry.role is Role.FEATURE_MAP and entry.axes) or (source and entry.name == "input")
        )
        for index, row in enumerate(ledger.rows)
        if row.phase is Phase.BACKWARD
    )
