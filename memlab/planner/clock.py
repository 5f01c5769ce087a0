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

from memlab.errors import InputError
from memlab.hardware import Device
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

    A device computes all algorithms at its rate for the format, but Winograd's with fewer
    multiplications: the recorded shares are of this library's kernels on one processor, and say
    nothing of another machine.

    Raises:
        InputError: a device without a rate or a bandwidth, or an algorithm without a share.
    """
    bits, flops = _widest(op), op.flops.at(batch)
    if device is None:
        rate, bandwidth = rates().flops * 32 / max(bits, 32) * share(op), rates().bandwidth
    else:
        name = {64: "fp64", 16: "fp16"}.get(bits, "fp32")
        rate, bandwidth = device.rate(name) * FEWER.get(op.algorithm, 1.0), device.moves()
    return max(flops / rate, op.bytes_moved.at(batch) / bandwidth)


FEWER = {"winograd": 2.25}
"""How many times fewer multiplications an algorithm needs than the formula of a convolution: F(2x2,
3x3) takes 16 for 4 outputs of 9 (Lavin and Gray 2016)."""


def _widest(op: Op) -> int:
    """The most bits of a floating-point value that an operation touches; 32 where there is none."""
    return max((t.format.bits for t in op.touched() if t.format.kind == "float"), default=32)


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
