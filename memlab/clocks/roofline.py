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
from memlab.layers.convolution import image_of
from memlab.step.fp32_tiles import conversions
from memlab.step.op import Op
from memlab.step.step import Step

Machine = Device | Rates
"""What operations are timed on: a machine by its figures, or one that was measured."""


def machine(given: str | Machine | None = None) -> Machine:
    """Return the machine of that name (from ``memlab.hardware``, ``"recorded"`` or ``"here"``).
    Without a name, return this machine if ``memlab bench machine`` measured it, else the
    recorded one.

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
    """Return where planned seconds come from, in a few words: ``'recorded rates of AMD EPYC'``,
    ``'rates of titan x'``."""
    if isinstance(machine, Device):
        return f"rates of {machine.name}"
    figures = machine or rates()
    return "rates measured here" if figures.here else f"recorded rates of {figures.processor}"


def knows(op: Op, machine: Machine | None = None) -> bool:
    """True if the seconds of the operation can be planned on the machine: it is a device that is
    described by its rates alone, the operation has no choice of algorithms, or its algorithm was
    measured there."""
    if isinstance(machine, Device) or not op.algorithm:
        return True
    return bool(_rows(op, machine or rates()))


def seconds(op: Op, batch: int, device: Machine | None = None) -> float:
    """Seconds that an operation takes at a batch, on a machine: where that is None on this one if
    it was measured, else on the recorded one.

    A device computes all algorithms at its rate for the format, but Winograd's with fewer
    multiplications: measured shares are of this library's kernels on one processor, and say nothing
    of another machine. Values of a format that it has a rate for are read and written as they are
    stored, without tiles in fp32.

    Raises:
        InputError: a device without a rate or a bandwidth, or an algorithm without a share.
    """
    format, flops, moved = _widest(op), op.flops.at(batch), op.bytes_moved.at(batch)
    if isinstance(device, Device):
        rate, bandwidth = device.rate(format.name) * FEWER.get(op.algorithm, 1.0), device.moves()
        moved -= conversions(op, device.flops).at(batch)
        return max(flops / rate, moved / bandwidth)
    figures = device or rates()
    rate = figures.flops * 32 / max(format.bits, 32) * share(op, figures)
    whole = max(flops / rate, moved / figures.bandwidth)
    return whole if op.algorithm else whole / figures.reached(op.kind, moved, flops)


FEWER = {"winograd": 2.25}
"""How many times fewer multiplications an algorithm needs than the formula of a convolution: F(2x2,
3x3) takes 16 for 4 outputs of 9 (Lavin and Gray 2016)."""


def _widest(op: Op) -> Format:
    """Return the floating-point format with the most bits that an operation touches, or fp32 if it
    touches none."""
    formats = (t.format for t in op.touched() if t.format.kind == "float")
    return max(formats, key=lambda format: format.bits, default=FORMATS["fp32"])


def total(step: Step, batch: int, device: Machine | None = None) -> float:
    """Return the seconds of a step whose operations run one after another.

    Raises:
        InputError: as ``seconds``.
    """
    figures = device or rates()
    return sum(seconds(op, batch, figures) for op in step.ops)


def share(op: Op, machine: Rates | None = None) -> float:
    """Return the share of the peak rate that an operation reaches. It is 1 for everything except
    convolutions, since most other operations are limited by bytes.

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
    at = describe(layer, image_of(op).axes[1][1], places)
    usual = _rows(op, figures, DEFAULT)
    near = _nearest([key for key in rows if key in usual] or rows, at)
    nearer = _nearest(usual or rows, at)
    if near not in usual or near == nearer:
        return rows[near]
    return usual[nearer] * rows[near] / usual[near]


def _rows(op: Op, machine: Rates, algorithm: str = "") -> dict[tuple[int, ...], float]:
    """Return the measured shares of an algorithm by layer, forward or backward; without its own
    measurements, those of a similar algorithm."""
    half = "backward" if op.kind.endswith(".backward") else "forward"
    rows = {key: row.get(algorithm or op.algorithm, {}) for key, row in machine.shares.items()}
    return {key: row[half] for key, row in rows.items() if half in row}


def _nearest(keys: Iterable[tuple[int, ...]], at: tuple[int, ...]) -> tuple[int, ...]:
    """Return the measured layer that is most like the given one."""
    return min(keys, key=lambda key: (_distance(key, at), key))


def describe(layer: Conv2d, channels: int, places: int) -> tuple[int, ...]:
    """Return a layer as ``rates.json`` describes it: kernel, stride, input and output channels of a
    group, places of the output."""
    outputs = layer.out_channels // layer.groups
    return layer.kernel, layer.stride, channels // layer.groups, outputs, places


def _distance(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[float, ...]:
    """Return the distance of two layers. The kernel counts more than the stride, and the stride
    more than the sizes."""
    kernel, stride, *sizes = (abs(log(a / b)) for a, b in zip(one, other, strict=True))
    return kernel, stride, sum(sizes)
