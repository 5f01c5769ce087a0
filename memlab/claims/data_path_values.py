"""Values of the table of claims about the data path (A12, B7) and about remedies (C8).

A step keeps the images of one mini-batch, and no others: what an epoch moves, it moves in so many
pieces.
"""

from __future__ import annotations

from tempfile import TemporaryDirectory
from typing import Any

import memlab
from memlab import hardware
from memlab.clocks.data_path import PathPlan

_CARD, _LINK = "titan x", "12 GB/s"
"""The card of the paper, and its link as it is reached."""


def copies_in_epoch(network: str, batch: int, images: int) -> int:
    """Number of times that an epoch over so many images copies a mini-batch to the device: each
    planned step has the images of one, and the last one may be smaller (A12)."""
    ledger = memlab.plan(memlab.training_step(memlab.zoo.build(network)))
    one, all_ = (ledger.of("input", count).nbytes for count in (batch, images))
    return -(-all_ // one)


def moved_in_epoch(network: str, where: str, batch: int, images: int) -> int:
    """Return the bytes that one epoch moves: read from the ``disk``, written in ``ram`` or on the
    ``device``, or sent over the ``link`` (A12)."""
    return int(getattr(_path(network, batch, 1, "host").epoch_moves(images), where))


def reserved(network: str, augment: str, buffers: int, batch: int) -> int:
    """Return the bytes of the device that are reserved for images, where either the host or the
    device augments them (B7)."""
    stations = _path(network, batch, buffers, augment).stations
    return sum(station.reserved for station in stations if station.name == "device")


def unplanned(augment: str, buffers: int, batch: int) -> int:
    """Return by how many bytes a measured run, fed from a folder of images, differs from its plan
    at any moment (B7)."""
    small = memlab.network("small", image=(3, 32, 32)).conv(8, 3).relu().flatten().linear(10)
    step = memlab.training_step(small.cross_entropy(), "sgd")
    with TemporaryDirectory() as folder:
        memlab.images(folder, 3 * batch, (3, 32, 32))
        return memlab.feed(step, folder, batch, buffers, augment).residual


def _path(network: str, batch: int, buffers: int, augment: str) -> PathPlan:
    step = memlab.training_step(memlab.zoo.build(network), "sgd", algorithm="implicit-gemm")
    return memlab.data_path(step, batch, buffers, augment, link=_LINK, device=_CARD)


def way(network: str, key: str, batch: int) -> Any:
    """One of the ways to train a network on a card of 12 GB: a row of ``memlab.remedies`` (C8)."""
    budget = hardware.find(_CARD).room
    return memlab.remedies(network, batch, device=_CARD, link=_LINK, budget=budget)[key]
