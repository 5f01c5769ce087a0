"""Values of the table of claims that follow from a plan, from a counting rule, or from shapes of a
network.

The calls name what they mean (``batch=32``): no figure of a text stands in here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise
from math import prod

import memlab
from memlab import formats, units
from memlab.claims.chen2016_step import chen2016
from memlab.layers import Conv2d
from memlab.layers.layer import Node
from memlab.networks.graph import Network
from memlab.step.op import Phase
from memlab.step.step import Step
from memlab.step.tensor import Role

_OF_PARAMETERS = (Role.PARAMETER, Role.PARAMETER_GRADIENT, Role.OPTIMIZER_STATE)
_WINOGRAD = 6
"""Rows and columns of an input tile of F(4x4, 3x3)."""
_POINTER = 8
"""Bytes of a pointer."""


# -- bytes of a step ----------------------------------------------------------------------------


def peak(step: Step, batch: int) -> int:
    """Return the bytes of the planned peak."""
    return memlab.plan(step).peak(batch)


def maps(step: Step, batch: int) -> int:
    """Return the bytes of the feature and gradient maps at the planned peak of a step (A9)."""
    roles = memlab.plan(step).roles(batch)
    return roles[Role.FEATURE_MAP] + roles[Role.GRADIENT_MAP]


def times_less(step: Step, other: Step, batch: int) -> float:
    """Return the planned peak of one step, divided by that of another. Both are rewritten in place
    (A10)."""
    return peak(memlab.in_place(step), batch) / peak(memlab.in_place(other), batch)


def saved(step: Step, other: Step, batch: int) -> float:
    """Return the share of the maps of one step that another step saves (A11)."""
    return 1 - maps(other, batch) / maps(step, batch)


def no_reuse_over(step: Step, other: Step, batch: int) -> float:
    """Return the planned peak of a step that reuses no memory, divided by that of another step
    (A9)."""
    return peak(memlab.no_reuse(step), batch) / peak(other, batch)


def input_bytes(network: Network, format: str, batch: int) -> int:
    """Return the planned bytes of the images of a mini-batch, stored in a given format (A2, A12,
    B7)."""
    planned = memlab.plan(memlab.training_step(network)).of("input", batch).nbytes
    return formats.find(format).nbytes(planned // formats.find("fp32").nbytes(1))


def map_share(network: str, precision: str, batch: int) -> float:
    """Return the bytes of the maps of a training step in one precision, divided by those in fp32
    (A6)."""
    step = memlab.training_step(memlab.zoo.build(network))
    return maps(memlab.precision(step, precision), batch) / maps(step, batch)


def kept(step: Step) -> int:
    """Number of values of a single layer that backward and update read or write and that were there
    when backward began: inputs, maps and parameters, without the target (A1)."""
    later = [op for op in step.ops if op.phase in (Phase.BACKWARD, Phase.UPDATE)]
    used = {t.name: t for op in later for t in (*op.reads.values(), *op.updates.values())}
    written = {t.name for op in later for t in op.writes.values()} | {"target"}
    return sum(prod(t.shape(1)) for name, t in used.items() if name not in written)


def workspace(step: Step, layer: str, *parts: str, batch: int) -> int:
    """Return the planned workspace bytes of a convolution, or of only the named
    buffers (G1 to G9)."""
    ledger = memlab.plan(step)
    return sum(ledger.of(f"{layer}.{part}", batch).nbytes for part in parts or ("workspace",))


def all_workspace(step: Step, batch: int) -> int:
    """Return the sum of all planned workspaces of a step, in bytes (G1)."""
    return sum(e.size.at(batch) for e in memlab.plan(step).entries if e.role is Role.WORKSPACE)


# -- parameters, and what is as large as they ---------------------------------------------------


def copies(optimizer: str) -> int:
    """Number of arrays as large as the parameters that a step holds: the parameters, their
    gradients and the optimizer's states (B1)."""
    network = memlab.zoo.mnist_cnn()
    step = memlab.training_step(network, optimizer).keep("gradients")
    held = sum(t.size.fixed for t in step.live_out if t.role in _OF_PARAMETERS)
    return held // formats.find("fp32").nbytes(network.parameters)


def gradient_copies(network: str, batch: int) -> int:
    """Number of copies of the parameters that their gradients take in a planned step (B5)."""
    net = memlab.zoo.build(network)
    ledger = memlab.plan(memlab.training_step(net))
    sizes = (e.size for e in ledger.entries if e.role is Role.PARAMETER_GRADIENT)
    return sum(size.at(batch) for size in sizes) // formats.find("fp32").nbytes(net.parameters)


def model_state_bytes(step: Step, *roles: Role | str) -> int:
    """Return the bytes that a step holds for the given roles, or for parameters, gradients and
    optimizer state (F2)."""
    there = step.keep("gradients").live_out
    return sum(t.size.fixed for t in there if t.role in (roles or _OF_PARAMETERS))


def per_parameter(step: Step, *roles: Role | str) -> float:
    """Return the bytes that a step holds per learned value, for the given roles or for parameters,
    gradients and optimizer state (F1, F3)."""
    learned = sum(prod(t.shape(1)) for t in step.live_out if t.role is Role.PARAMETER)
    return model_state_bytes(step, *roles) / learned


def values_per_parameter(network: str, layer: str) -> float:
    """Return the number of values in a layer's output, divided by the number of its parameters
    (A15)."""
    node = memlab.zoo.build(network).by_name[layer]
    return prod(node.shape) / _parameters(node)


def parameter_share(network: str, *layers: str) -> float:
    """Return the share of a network's parameters that the given layers hold (B4)."""
    net = memlab.zoo.build(network)
    return sum(_parameters(net.by_name[layer]) for layer in layers) / net.parameters


def parameters_of(network: str, kind: str) -> int:
    """Return the parameters of all layers of a kind, as a count (A15)."""
    return sum(_parameters(node) for node in memlab.zoo.build(network).nodes if node.kind == kind)


def layers_of(network: str, kind: str) -> int:
    """Number of layers of a kind that a network has (C2)."""
    return sum(node.kind == kind for node in memlab.zoo.build(network).nodes)


def _parameters(node: Node) -> int:
    return sum(array.count for array in node.parameters)


# -- counting rules -----------------------------------------------------------------------------


def total(network: Network, rule: str, batch: int) -> int:
    """Return the bytes of all parts of a counting rule together, in fp32 (A4, C2)."""
    return sum(memlab.counting.find(rule).total_bytes(network, batch).values())


def all_times(network: Network, rule: str, batch: int) -> int:
    """Return the batch size times the bytes of one sample with its parameters, which no real step
    holds (A5)."""
    return batch * total(network, rule, batch=1)


def stored(network: Network, rule: str, format: str) -> int:
    """Return the bytes of the parameters and of one sample's counted values, in a given format
    (A13)."""
    values = network.parameters + memlab.counting.find(rule).values(network)
    return formats.find(format).nbytes(values)


def map_bytes(network: Network, rule: str, format: str, batch: int) -> int:
    """Return the bytes of the counted values of a batch, in a given format (A4, A5, A6, B3)."""
    return batch * formats.find(format).nbytes(memlab.counting.find(rule).values(network))


def with_buffers(network: Network) -> int:
    """Return the bytes of the parameters and of the running statistics of batch norm (B6)."""
    parts = memlab.counting.find("relu-in-place").total_bytes(network)
    return parts["parameters"] + parts["buffers"]


def input_share(network: str, rule: str) -> float:
    """Return the number of values of an image, divided by all values that a rule counts (A15)."""
    net = memlab.zoo.build(network)
    return prod(net.input_shape) / memlab.counting.find(rule).values(net)


def stage_share(network: str, rule: str, *stages: str) -> float:
    """Return the share of the counted values that lies in the given stages (A15)."""
    net, counting = memlab.zoo.build(network), memlab.counting.find(rule)
    sizes = ((node.stage, prod(node.shape)) for node in net.nodes if counting.counts(node))
    return sum(size for stage, size in sizes if stage in stages) / counting.values(net)


def maps_over_bound(network: str, rule: str, batch: int) -> float:
    """Return the feature and gradient maps at the planned peak, divided by twice the values that a
    rule counts (B1)."""
    net = memlab.zoo.build(network)
    bound = 2 * map_bytes(net, rule, "fp32", batch)
    return maps(memlab.training_step(net), batch) / bound


def rounded_terms(parts: Mapping[str, int], batch: int, unit: str, places: int) -> float:
    """Return the bound of ``counting.bound_parts`` in bytes, added up as a text does it: each term
    is first rounded in a unit, and the rounded activations are then multiplied by the batch
    (B2)."""
    scale = units.UNITS[unit]
    activations, *others = parts.values()
    terms = batch * round(activations / batch / scale, places)
    return (terms + sum(round(part / scale, places) for part in others)) * scale


def share(network: str, *parts: str, batch: int) -> float:
    """Return the share of a network's memory that the given parts take, as vDNN counts (C2, C9)."""
    counted = memlab.counting.find("vdnn").total_bytes(memlab.zoo.build(network), batch)
    return sum(counted[part] for part in parts) / sum(counted.values())


def falls(*networks: str, batch: int) -> int:
    """Number of times that the share of the feature maps falls from one network to
    the next (C9)."""
    shares = [share(network, "feature maps", batch=batch) for network in networks]
    return sum(after < before for before, after in pairwise(shares))


# -- lowering, and other ways to convolve -------------------------------------------------------


def lowered_bytes(network: str, batch: int) -> int:
    """Return the bytes of the lowered inputs of all convolutions together: k² Ho Wo values for each
    channel and image, 1x1 windows included (A7, A8)."""
    values = sum(c * k * k * h * w for c, k, h, w in _lowered(network))
    return batch * formats.find("fp32").nbytes(values)


def lowered_factor(network: str, layer: str = "") -> float:
    """Ratio of a convolution's lowered copy to its input, or of all lowered copies of a network to
    all their inputs (A8)."""
    net = memlab.zoo.build(network)
    nodes = [net.by_name[layer]] if layer else [n for n in net.nodes if n.kind == "conv2d"]
    inputs = sum(c * h * w for c, h, w in (node.input_shapes[0] for node in nodes))
    return sum(c * k * k * h * w for c, k, h, w in _lowered(network, layer)) / inputs


def least_columns(network: str, batch: int) -> int:
    """Return the number of columns of the smallest lowered matrix in a network, which is the number
    of its output places over the batch (A6)."""
    return batch * min(height * width for _, _, height, width in _lowered(network))


def lanes(step: Step, bits: int) -> int:
    """Number of values of a step's convolutions that a vector of so many bits holds (A5, A6)."""
    return bits // max(op.writes["y"].format.bits for op in step.ops if op.kind == "conv2d")


def stored_winograd(network: str, layer: str, batch: int) -> int:
    """Return the bytes of Winograd's F(4x4, 3x3) with all transforms in memory: 36 values per
    kernel, and 36 per 4x4 output tile and channel of the input and of the output (G6)."""
    node = memlab.zoo.build(network).by_name[layer]
    (c, *_), (k, height, width) = node.input_shapes[0], node.shape
    tiles = -(-height // 4) * -(-width // 4)
    return formats.find("fp32").nbytes(_WINOGRAD**2 * (k * c + batch * tiles * (c + k)))


def indirection(network: str, layer: str) -> int:
    """Return the bytes of an indirection buffer: one pointer per tap and output place (G9)."""
    node = memlab.zoo.build(network).by_name[layer]
    assert isinstance(node.layer, Conv2d)
    _, height, width = node.shape
    return _POINTER * node.layer.kernel**2 * height * width


def _lowered(network: str, layer: str = "") -> Iterator[tuple[int, int, int, int]]:
    """Yield the channels, the kernel size, and the rows and columns of the output of each
    convolution."""
    for node in memlab.zoo.build(network).nodes:
        if isinstance(node.layer, Conv2d) and layer in ("", node.name):
            _, height, width = node.shape
            yield node.input_shapes[0][0], node.layer.kernel, height, width


# -- networks and steps that several calls use ---------------------------------------------------


def chain(layers: int) -> Network:
    """Return a network of ``layers`` convolutions of 8 channels in a row and a classifier with 10
    classes (E6)."""
    x = memlab.network("chain", image=(8, 8, 8))
    for _ in range(layers):
        x = x.conv(8, 3, pad="same")
    return x.flatten().linear(10).cross_entropy()


@cache
def resnet1000() -> Network:
    """Return a ResNet with 1,000 layers. Its paper names no stages; four stages of 83 bottlenecks,
    with 3 layers each, fit the number (D3)."""
    return memlab.zoo.resnet((83, 83, 83, 83))


@cache
def chen2016_resnet1000() -> Step:
    """Return the training step of that ResNet as its paper counts it (D3)."""
    return chen2016(resnet1000())


@cache
def rnn1000(slots: int | None = None) -> Step:
    """Return a training step of an RNN with 1,000 time steps, or one that keeps ``slots`` of its
    states and recomputes the others (A11)."""
    if slots is None:
        return memlab.training_step(memlab.zoo.rnn(steps=1000), "sgd")
    return memlab.recompute(rnn1000(), "slots", k=slots)


# -- operations ---------------------------------------------------------------------------------


def extra_work(step: Step, other: Step, batch: int) -> float:
    """Return the share by which one step computes more operations of arithmetic than another (A11,
    E1)."""
    one, two = (sum(op.flops.at(batch) for op in planned.ops) for planned in (step, other))
    return two / one - 1


def walked(network: Network) -> int:
    """Number of things that a walk with counters does for a training step: one for each tensor that
    an operation touches, and one for each block that is taken or given back (D1)."""
    step = memlab.training_step(network)
    touched = sum(1 for op in step.ops for _ in op.touched())
    return touched + sum(1 for _ in memlab.plan(step).events(1))


def overwriting(step: Step, kind: str) -> int:
    """Number of operations of a kind that write over an input of theirs (D1)."""
    pairs = ((op.reads["x"], op.writes["y"]) for op in step.ops if op.kind == kind)
    return sum(x.storage == y.storage for x, y in pairs)


def mask_share(network: str, layer: str) -> float:
    """Return the bytes of the mask that a ReLU's backward reads, divided by those of the map that
    it would otherwise read (F6)."""
    step = memlab.relu_masks(memlab.training_step(memlab.zoo.build(network)))
    written = next(op.writes for op in step.ops if op.layer == layer and "mask" in op.writes)
    return written["mask"].size.at(1) / written["y"].size.at(1)
