"""The clock: how long an operation takes, by a serial roofline.

An operation computes and moves bytes at the same time, and takes as long as the slower of the two::

    seconds = max(flops / (rate x share), bytes / bandwidth)

``share`` is the part of the rate of a large matrix product that an algorithm reached when it was
measured, on the layer of ``rates.json`` that is most like the one in question. Operations are
counted by the formula of the layer, so an algorithm that needs fewer may pass 1. The figures were
measured: they hold for one thread of one machine, which ``clocks.measured_rates`` names.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import log, prod

from memlab import hardware
from memlab.clocks import measured_rates
from memlab.clocks.measured_rates import HERE, RECORDED, Rates
from memlab.errors import InputError
from memlab.formats import FORMATS, Format
from memlab.hardware import Device
from memlab.layers import Conv2d
from memlab.layers.algorithms import DEFAULT
from memlab.step.op import Op
from memlab.step.step import Step

Machine = Device | Rates
"""What operations are timed on: a machine by its figures, or one that was measured."""


def machine(given: str | Machine | None = None) -> Machine:
    """The machine of that name (``memlab.hardware``, ``"recorded"``, ``"here"``), or without one
    this machine where ``memlab bench machine`` measured it, else the recorded one.

    Raises:
        InputError: there is none of that name, or this one was not measured.
    """
    if isinstance(given, Rates):
        return given
    if given is None or (isinstance(given, str) and given in (RECORDED, HERE)):
        return measured_rates.find(given)
    return hardware.find(given)


def rates() -> Rates:
    """Measured rates of this machine, or the recorded ones where it was not measured."""
    return measured_rates.find()


def by(machine: Machine | None = None) -> str:
    """Source of planned seconds, in a few words: ``'recorded rates of AMD EPYC'``,
    ``'rates of titan x'``."""
    if isinstance(machine, Device):
        return f"rates of {machine.name}"
    figures = machine or rates()
    return "rates measured here" if figures.here else f"recorded rates of {figures.processor}"


def knows(op: Op, machine: Machine | None = None) -> bool:
    """Whether a share was measured for its algorithm; what has none of its own needs none, and a
    machine by its figures knows all."""
    if isinstance(machine, Device) or not op.algorithm:
        return True
    return bool(_rows(op, machine or rates()))


def seconds(op: Op, batch: int, device: Machine | None = None) -> float:
    """Seconds that an operation takes at a batch, on a machine: where that is None on this one if
    it was measured, else on the recorded one.

    A device computes all algorithms at its rate for the format, but Winograd's with fewer
    multiplications: measured shares are of this library's kernels on one processor, and say nothing
    of another machine.

    Raises:
        InputError: a device without a rate or a bandwidth, or an algorithm without a share.
    """
    format, flops, moved = _widest(op), op.flops.at(batch), op.bytes_moved.at(batch)
    if isinstance(device, Device):
        rate, bandwidth = device.rate(format.name) * FEWER.get(op.algorithm, 1.0), device.moves()
        return max(flops / rate, moved / bandwidth)
    figures = device or rates()
    rate = figures.flops * 32 / max(format.bits, 32) * share(op, figures)
    whole = max(flops / rate, moved / figures.bandwidth)
    return whole if op.algorithm else whole / figures.reached(op.kind, moved, flops)


FEWER = {"winograd": 2.25}
"""How many times fewer multiplications an algorithm needs than the formula of a convolution: F(2x2,
3x3) takes 16 for 4 outputs of 9 (Lavin and Gray 2016)."""


def _widest(op: Op) -> Format:
    """The floating-point format with the most bits that an operation touches; fp32 where none."""
    formats = (t.format for t in op.touched() if t.format.kind == "float")
    return max(formats, key=lambda format: format.bits, default=FORMATS["fp32"])


def total(step: Step, batch: int, device: Machine | None = None) -> float:
    """The seconds of a step whose operations run one after the other.

    Raises:
        InputError: as ``seconds``.
    """
    figures = device or rates()
    return sum(seconds(op, batch, figures) for op in step.ops)


def share(op: Op, machine: Rates | None = None) -> float:
    """The part of the rate that an operation reaches; 1 for all but convolutions, of which most
    are bound by bytes.

    It is that of the layer most like it. Where the default algorithm was measured on one still more
    like it, it is what the default reached there, times what the algorithm reached of the default:
    two algorithms are compared on the same layer.

    Raises:
        InputError: nothing was recorded for its algorithm.
    """
    if not op.algorithm:
        return 1.0
    rows = _rows(op, figures := machine or rates())
    if not rows:
        raise InputError(
            f"no rate is recorded for {op.algorithm}; measure it with `{figures.command}`."
        )
    layer = op.attributes["layer"]
    y = op.reads["dy"] if "dy" in op.reads else op.writes["y"]
    places = prod(extent for _, extent in y.axes[2:])
    at = describe(layer, op.reads["x"].axes[1][1], places)
    usual = _rows(op, figures, DEFAULT)
    near = _nearest([key for key in rows if key in usual] or rows, at)
    nearer = _nearest(usual or rows, at)
    if near not in usual or near == nearer:
        return rows[near]
    return usual[nearer] * rows[near] / usual[near]


def _rows(op: Op, machine: Rates, algorithm: str = "") -> dict[tuple[int, ...], float]:
    """The measured shares of an algorithm, its own or another, forward or backward, by layer."""
    half = "backward" if op.kind.endswith(".backward") else "forward"
    rows = {key: row.get(algorithm or op.algorithm, {}) for key, row in machine.shares.items()}
    return {key: row[half] for key, row in rows.items() if half in row}


def _nearest(keys: Iterable[tuple[int, ...]], at: tuple[int, ...]) -> tuple[int, ...]:
    """The layer of these that is most like one."""
    return min(keys, key=lambda key: (_distance(key, at), key))


def describe(layer: Conv2d, channels: int, places: int) -> tuple[int, ...]:
    """A layer as ``rates.json`` names it: kernel, stride, input and output channels of a group,
    places of the output."""
    outputs = layer.out_channels // layer.groups
    return layer.kernel, layer.stride, channels // layer.groups, outputs, places


def _distance(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[float, ...]:
    """The kernel counts before the stride, and that before the sizes."""
    kernel, stride, *sizes = (abs(log(a / b)) for a, b in zip(one, other, strict=True))
    return kernel, stride, sum(sizes)
