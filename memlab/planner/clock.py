"""The clock: how long an operation takes, by a serial roofline.

An operation computes and moves bytes at the same time, and takes as long as the slower of the two::

    seconds = max(flops / (rate x share), bytes / bandwidth)

``share`` is the part of the rate of a large matrix product that an algorithm reached when it was
measured, on the layer of ``rates.json`` that is most like the one in question. Operations are
counted by the formula of the layer, so an algorithm that needs fewer may pass 1. The figures are
recorded: they hold for one thread of one machine, whose name and date stand in the file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import log, prod
from typing import Any

from memlab.devices import Device
from memlab.errors import InputError
from memlab.networks.layers import Conv2d
from memlab.step.op import Op
from memlab.step.step import Step


@dataclass(frozen=True)
class Rates:
    """What was measured: ``flops`` in fp32 operations and ``bandwidth`` in bytes, per second.

    ``shares`` are those of each measured layer, by algorithm, forward and backward.
    """

    machine: Mapping[str, Any]
    command: str
    flops: float
    bandwidth: float
    shares: Mapping[tuple[int, ...], Mapping[str, Mapping[str, float]]]


@cache
def rates() -> Rates:
    """The recorded figures."""
    text = files("memlab.planner").joinpath("rates.json").read_text(encoding="utf-8")
    data = json.loads(text)
    shares = {tuple(row["layer"]): row["shares"] for row in data["layers"]}
    return Rates(data["machine"], data["command"], data["flops"], data["bandwidth"], shares)


def knows(op: Op) -> bool:
    """Whether a share was recorded for its algorithm; what has none of its own needs none."""
    return not op.algorithm or bool(_rows(op))


def seconds(op: Op, batch: int, device: Device | None = None) -> float:
    """How long an operation takes at a batch, on the recorded machine or on a device.

    Raises:
        InputError: a device without a rate and a bandwidth, or an algorithm without a share.
    """
    flops, bandwidth = _figures(device)
    wide = max(1.0, max((t.format.bits for t in op.touched()), default=32) / 32)
    return max(
        op.flops.at(batch) / (flops / wide * share(op)), op.bytes_moved.at(batch) / bandwidth
    )


def total(step: Step, batch: int, device: Device | None = None) -> float:
    """The seconds of a step whose operations run one after the other.

    Raises:
        InputError: as ``seconds``.
    """
    return sum(seconds(op, batch, device) for op in step.ops)


def share(op: Op) -> float:
    """The part of the rate that an operation reaches; 1 for all but convolutions, of which most
    are bound by bytes.

    Raises:
        InputError: nothing was recorded for its algorithm.
    """
    if not op.algorithm:
        return 1.0
    if not knows(op):
        raise InputError(
            f"no rate is recorded for {op.algorithm}; measure it with `{rates().command}`."
        )
    layer = op.attributes["layer"]
    y = op.reads["dy"] if "dy" in op.reads else op.writes["y"]
    places = prod(extent for _, extent in y.axes[2:])
    at = describe(layer, op.reads["x"].axes[1][1], places)
    return min((_distance(key, at), share) for key, share in _rows(op).items())[1]


def _rows(op: Op) -> dict[tuple[int, ...], float]:
    """The recorded shares of an algorithm, forward or backward, by layer."""
    half = "backward" if op.kind.endswith(".backward") else "forward"
    rows = {key: row.get(op.algorithm, {}) for key, row in rates().shares.items()}
    return {key: row[half] for key, row in rows.items() if half in row}


def describe(layer: Conv2d, channels: int, places: int) -> tuple[int, ...]:
    """A layer as ``rates.json`` names it: kernel, stride, input and output channels of a group,
    places of the output."""
    outputs = layer.out_channels // layer.groups
    return layer.kernel, layer.stride, channels // layer.groups, outputs, places


def _distance(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[float, ...]:
    """The kernel counts before the stride, and that before the sizes."""
    kernel, stride, *sizes = (abs(log(a / b)) for a, b in zip(one, other, strict=True))
    return kernel, stride, sum(sizes)


def _figures(device: Device | None) -> tuple[float, float]:
    if device is None:
        return rates().flops, rates().bandwidth
    if device.flops is None or device.bandwidth is None:
        raise InputError(
            f"no source gives the rate and the bandwidth of the {device.name}; leave it out for "
            "the recorded machine."
        )
    return device.flops, device.bandwidth
