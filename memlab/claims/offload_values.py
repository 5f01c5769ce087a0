"""Values of the table of claims about steps whose maps wait in host memory (C1 to C10).

Steps are as a planner of 2016 had them: SGD, in place, and ways to convolve without workspace, each
as fast as the card computes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from math import prod
from typing import Any

import memlab
from memlab import formats, hardware
from memlab.clocks.streams import Schedule
from memlab.hardware import Device, SourcedFigure
from memlab.layers.layer import Node
from memlab.networks.graph import Network
from memlab.step.op import Op, Phase
from memlab.step.step import Step
from memlab.step.tensor import Role
from memlab.techniques.offload.rules import is_activation

CARD, LINK = "titan x", "12.8 GB/s"
"""The card and the link of the paper."""
_KINDS = {
    Role.PARAMETER: "weights",
    Role.PARAMETER_GRADIENT: "weights",
    Role.FEATURE_MAP: "feature maps",
    Role.INPUT: "feature maps",
    Role.GRADIENT_MAP: "gradient maps",
    Role.WORKSPACE: "workspace",
}


@cache
def offloaded(network: str, policy: str) -> Step:
    """Return the training step of a network under a policy of vDNN, with in-place ReLUs."""
    net = memlab.zoo.build(network)
    step = memlab.training_step(net, "sgd", algorithm="implicit-gemm")
    return memlab.in_place(memlab.offload(step, policy))


@cache
def _clock(network: str, policy: str, batch: int, times: int = 1) -> Schedule:
    """Return the schedule of such a step in seconds, on a card whose arithmetic is ``times`` as
    fast as stated."""
    return memlab.clock(offloaded(network, policy), batch, _card(times), LINK)


def _card(times: int) -> Device:
    card = hardware.find(CARD)
    return replace(
        card, flops={name: SourcedFigure(times * f.value, f.sure) for name, f in card.flops.items()}
    )


def kinds_of_memory(network: str, algorithm: str) -> int:
    """Number of kinds of memory that a training step takes; gradients and states of the weights
    count as the weights' (C1)."""
    step = memlab.training_step(memlab.zoo.build(network), "sgd", algorithm=algorithm)
    return len({_KINDS[e.role] for e in memlab.plan(step).entries if e.role in _KINDS})


# -- seconds (C4, C10) --------------------------------------------------------------------------


@cache
def _dynamic(network: str, batch: int, card: str, algorithms: str) -> Step:
    """Return the step under the dynamic policy, for what a card is sold as: 12 GB are 12·10⁹ B."""
    step = memlab.training_step(memlab.zoo.build(network), "sgd", algorithm="implicit-gemm")
    at: dict[str, Any] = {"batch": batch, "device": CARD, "link": LINK}
    budget = hardware.find(card).room
    return memlab.in_place(
        memlab.offload(step, "dynamic", algorithms=algorithms, budget=budget, in_place=True, **at)
    )


def peak_dynamic(network: str, card: str, batch: int) -> int:
    """Return the device bytes of the planned peak under the dynamic policy for the memory of a
    card, without workspace (C4)."""
    return memlab.plan(_dynamic(network, batch, card, "m")).peak(batch)


def less_speed_dynamic(network: str, card: str, batch: int) -> float:
    """Return the share of its speed that a step loses under the dynamic policy, against a card with
    enough memory. Each convolution uses the algorithm with the fewest products for which there
    is room (C4)."""
    step = memlab.training_step(memlab.zoo.build(network), "sgd", algorithm="implicit-gemm")
    plain = memlab.offload(step, "none", algorithms="p", batch=batch, device=CARD)
    enough = memlab.clock(plain, batch, CARD).seconds
    return 1 - enough / memlab.clock(_dynamic(network, batch, card, "p"), batch, CARD, LINK).seconds


def less_speed(network: str, policy: str, batch: int, times: int = 1) -> float:
    """Return the share of its speed that a step loses to its copies, against a card with enough
    memory. The arithmetic is ``times`` as fast as stated (C4)."""
    plain = _clock(network, "none", batch, times).seconds
    return 1 - plain / _clock(network, policy, batch, times).seconds


def more_time(network: str, policy: str, batch: int, times: int = 1) -> float:
    """Return the same loss as the share of time that is added (C4)."""
    plain = _clock(network, "none", batch, times).seconds
    return _clock(network, policy, batch, times).seconds / plain - 1


def idle_share(network: str, batch: int) -> float:
    """Return the idle byte-seconds of the feature maps of a plain step as a share of all their
    byte-seconds (C10)."""
    return _clock(network, "none", batch).idle_share()


# -- average and peak (C3) ----------------------------------------------------------------------


def average_saved(network: str, batch: int) -> float:
    """Saving of a network's average device memory under the policy all, over the seconds of a step,
    against its static sum (C2): of the layers before the first fully connected one (C3)."""
    schedule = _clock(network, "all", batch)
    return 1 - schedule.average(blocks=_blocks(schedule.step, network)) / _static(network, batch)


def peak_saved(network: str, batch: int) -> float:
    """Return the share by which an offloaded step lowers the peak (C3)."""
    schedule = _clock(network, "all", batch)
    return 1 - schedule.peak(blocks=_blocks(schedule.step, network)) / _static(network, batch)


def average_saved_of_all(network: str, batch: int) -> float:
    """Return the share by which offloading every layer lowers the average memory (C3)."""
    static = memlab.counting.find("vdnn").total_bytes(memlab.zoo.build(network), batch)
    return 1 - _clock(network, "all", batch).average() / sum(static.values())


def _front(net: Network) -> list[Node]:
    """Return the layers before the first fully connected layer."""
    kinds = [node.kind for node in net.nodes]
    return list(net.nodes[: kinds.index("linear")])


def _static(network: str, batch: int) -> int:
    """Return the bytes of weights with their gradients, of what the layers read, and of the largest
    pair of gradient maps, for the layers before the first fully connected one (C2)."""
    net, rule = memlab.zoo.build(network), memlab.counting.find("vdnn")
    front = _front(net)
    maps = sum(prod(node.shape) for node in front if rule.counts(node)) + prod(net.input_shape)
    weights = sum(array.count for node in front for array in node.parameters)
    values = batch * maps + 2 * weights
    pair = rule.total_bytes(net, batch)["gradient maps"]
    return formats.find("fp32").nbytes(values) + pair


def _blocks(step: Step, network: str) -> set[str]:
    """Return the names of the storages that these layers touch first."""
    front = {node.name for node in _front(memlab.zoo.build(network))}
    first: dict[str, str] = {}
    for op in step.ops:
        for tensor in op.touched():
            first.setdefault(tensor.storage.name, op.layer)
    return {name for name, layer in first.items() if layer in front}


# -- what is moved, and when (C5, C7) -----------------------------------------------------------


def moved_bytes(network: str, *kinds: str, batch: int) -> int:
    """Return the bytes that layers of these kinds read, each map counted once (C7)."""
    net = memlab.zoo.build(network)
    read = {name for node in net.nodes if node.kind in kinds for name in node.inputs}
    sizes = {node.name: prod(node.shape) for node in net.nodes}
    values = sum(sizes.get(name, prod(net.input_shape)) for name in read)
    return batch * formats.find("fp32").nbytes(values)


def link_seconds(network: str, *kinds: str, batch: int) -> float:
    """Return the seconds that these bytes take over the link in one direction (C7)."""
    return moved_bytes(network, *kinds, batch=batch) / hardware.link(LINK).speed


def early_copies(network: str) -> int:
    """Number of maps that leave the device before the last layer of forward that
    reads them (C5)."""
    step = offloaded(network, "all")
    last: dict[str, int] = {}
    for number, op in enumerate(step.ops):
        if op.phase is Phase.FORWARD:
            last |= {tensor.storage.name: number for tensor in op.reads.values()}
    return sum(
        number < last[map_]
        for number, op in enumerate(step.ops)
        for map_ in (tensor.storage.name for tensor in op.reads.values())
        if op.kind == "copy out"
    )


def started_before_the_end(network: str, batch: int) -> int:
    """Number of layers that start before the copy out that began with the layer before has ended
    (C5)."""
    schedule = _clock(network, "all", batch)
    slots = {slot.op.name: slot for slot in schedule.slots}
    return sum(
        slot.start < slots[name].end
        for slot in schedule.slots
        for name in slot.op.after
        if slot.op.phase is not Phase.COPY and name in slots
    )


def moved_for_activations(network: str) -> int:
    """Number of maps that go to the host although activations alone read them (C5)."""
    read = _read_by(offloaded(network, "all"))
    return sum(all(map(is_activation, readers)) for readers in read)


def moved_for_others(network: str) -> int:
    """Number of maps that go to the host under the policy conv although no convolution reads them
    (C6)."""
    read = _read_by(offloaded(network, "conv"))
    return sum("conv2d" not in {op.kind for op in readers} for readers in read)


def _read_by(step: Step) -> list[list[Op]]:
    """Layers that read each map that goes to the host, a list for each map."""
    readers = _readers(step)
    sources = (next(iter(op.reads.values())) for op in step.ops if op.kind == "copy out")
    return [readers[source.storage.name] for source in sources]


def _readers(step: Step) -> dict[str, list[Op]]:
    ops: dict[str, list[Op]] = {}
    for op in step.ops:
        for tensor in op.reads.values() if op.phase is Phase.FORWARD else ():
            ops.setdefault(tensor.storage.name, []).append(op)
    return ops


def furthest_prefetch(*networks: str) -> int:
    """Return the largest number of convolutions between the layer whose backward starts a prefetch
    and the layer that needs the map (C5)."""
    return max(max(_passed(offloaded(name, "all")), default=0) for name in networks)


def _passed(step: Step) -> Iterator[int]:
    """Yield, for every copy back, the number of convolutions strictly between the layer that starts
    it and the layer that reads it first."""
    ops = [op for op in step.ops if op.phase in (Phase.BACKWARD, Phase.COPY)]
    for number, copy in enumerate(ops):
        if copy.kind == "copy in":
            home = next(iter(copy.writes.values())).storage.name
            following = [op for op in ops[number + 1 :] if op.phase is Phase.BACKWARD]
            until = next(
                i
                for i, op in enumerate(following)
                if home in {tensor.storage.name for tensor in op.touched()}
            )
            layers = dict.fromkeys(
                op.layer for op in following[:until] if op.kind.startswith("conv2d")
            )
            skip = {following[0].layer, following[until].layer}
            yield sum(layer not in skip for layer in layers)
