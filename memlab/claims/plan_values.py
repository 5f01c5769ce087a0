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
    """Bytes of the planned peak."""
    return memlab.plan(step).peak(batch)


def maps(step: Step, batch: int) -> int:
    """Bytes of the feature and gradient maps at the planned peak of a step (A9)."""
    roles = memlab.plan(step).roles(batch)
    return roles[Role.FEATURE_MAP] + roles[Role.GRADIENT_MAP]


def times_less(step: Step, other: Step, batch: int) -> float:
    """Ratio of the planned peaks of two steps, both in place: that of ``other`` over that of
    ``step`` (A10)."""
    return peak(memlab.in_place(step), batch) / peak(memlab.in_place(other), batch)


def saved(step: Step, other: Step, batch: int) -> float:
    """The share of the maps of one step that another one saves (A11)."""
    return 1 - maps(other, batch) / maps(step, batch)


def no_reuse_over(step: Step, other: Step, batch: int) -> float:
    """The planned peak of a step that reuses nothing, over that of another step (A9)."""
    return peak(memlab.no_reuse(step), batch) / peak(other, batch)


def input_bytes(network: Network, format: str, batch: int) -> int:
    """Planned bytes of the images of a mini-batch, were they kept in a format (A2, A12, B7)."""
    planned = memlab.plan(memlab.training_step(network)).of("input", batch).nbytes
    return formats.find(format).nbytes(planned // formats.find("fp32").nbytes(1))


def map_share(network: str, precision: str, batch: int) -> float:
    """The maps of a training step in a precision, over those of the same step in fp32 (A6)."""
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
    """Planned bytes of a convolution's workspace, or of some of its parts together (G1 to G9)."""
    ledger = memlab.plan(step)
    return sum(ledger.of(f"{layer}.{part}", batch).nbytes for part in parts or ("workspace",))


def all_workspace(step: Step, batch: int) -> int:
    """Planned bytes of all workspaces of a step together (G1)."""
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


def per_parameter(step: Step, *roles: Role | str) -> float:
    """Bytes that a step holds for each value that it learns: of some roles, or of parameters,
    their gradients and the optimizer's state (F1, F3)."""
    held = step.keep("gradients").live_out
    learned = sum(prod(t.shape(1)) for t in held if t.role is Role.PARAMETER)
    return sum(t.size.fixed for t in held if t.role in (roles or _OF_PARAMETERS)) / learned


def values_per_parameter(network: str, layer: str) -> float:
    """Values of a layer's output over its parameters (A15)."""
    node = memlab.zoo.build(network).by_name[layer]
    return prod(node.shape) / _parameters(node)


def parameter_share(network: str, *layers: str) -> float:
    """The share of a network's parameters that some layers hold (B4)."""
    net = memlab.zoo.build(network)
    return sum(_parameters(net.by_name[layer]) for layer in layers) / net.parameters


def parameters_of(network: str, kind: str) -> int:
    """Parameters of all layers of a kind (A15)."""
    return sum(_parameters(node) for node in memlab.zoo.build(network).nodes if node.kind == kind)


def layers_of(network: str, kind: str) -> int:
    """Number of layers of a kind that a network has (C2)."""
    return sum(node.kind == kind for node in memlab.zoo.build(network).nodes)


def _parameters(node: Node) -> int:
    return sum(array.count for array in node.parameters)


# -- counting rules -----------------------------------------------------------------------------


def total(network: Network, rule: str, batch: int) -> int:
    """Bytes of all parts of a counting rule together, in fp32 (A4, C2)."""
    return sum(memlab.counting.find(rule).total_bytes(network, batch).values())


def all_times(network: Network, rule: str, batch: int) -> int:
    """A batch times the bytes of one sample, parameters and all: what no step holds (A5)."""
    return batch * total(network, rule, batch=1)


def stored(network: Network, rule: str, format: str) -> int:
    """Bytes of the parameters and of one sample's counted values in a format (A13)."""
    values = network.parameters + memlab.counting.find(rule).values(network)
    return formats.find(format).nbytes(values)


def map_bytes(network: Network, rule: str, format: str, batch: int) -> int:
    """Bytes of a batch's counted values in a format (A4, A5, A6, B3)."""
    return batch * formats.find(format).nbytes(memlab.counting.find(rule).values(network))


def with_buffers(network: Network) -> int:
    """Bytes of parameters and of the running statistics of batch norm (B6)."""
    parts = memlab.counting.find("relu-in-place").total_bytes(network)
    return parts["parameters"] + parts["buffers"]


def input_share(network: str, rule: str) -> float:
    """Values of an image over all that a rule counts (A15)."""
    net = memlab.zoo.build(network)
    return prod(net.input_shape) / memlab.counting.find(rule).values(net)


def stage_share(network: str, rule: str, *stages: str) -> float:
    """The share of the values that a rule counts which lies in some stages (A15)."""
    net, counting = memlab.zoo.build(network), memlab.counting.find(rule)
    sizes = ((node.stage, prod(node.shape)) for node in net.nodes if counting.counts(node))
    return sum(size for stage, size in sizes if stage in stages) / counting.values(net)


def maps_over_bound(network: str, rule: str, batch: int) -> float:
    """Feature and gradient maps at the planned peak, over twice the values that a rule counts
    (B1)."""
    net = memlab.zoo.build(network)
    bound = 2 * map_bytes(net, rule, "fp32", batch)
    return maps(memlab.training_step(net), batch) / bound


def rounded_terms(parts: Mapping[str, int], batch: int, unit: str, places: int) -> float:
    """The bound of ``counting.bound_parts`` as a text adds it up: in a unit, each term rounded
    first, and that of the activations before it is multiplied by the batch (B2). In bytes."""
    scale = units.UNITS[unit]
    activations, *others = parts.values()
    terms = batch * round(activations / batch / scale, places)
    return (terms + sum(round(part / scale, places) for part in others)) * scale


def share(network: str, *parts: str, batch: int) -> float:
    """The share of some parts in a network's memory, under the counting of vDNN (C2, C9)."""
    counted = memlab.counting.find("vdnn").total_bytes(memlab.zoo.build(network), batch)
    return sum(counted[part] for part in parts) / sum(counted.values())


def falls(*networks: str, batch: int) -> int:
    """Number of times that the share of the feature maps falls from one network to
    the next (C9)."""
    shares = [share(network, "feature maps", batch=batch) for network in networks]
    return sum(after < before for before, after in pairwise(shares))


# -- lowering, and other ways to convolve -------------------------------------------------------


def lowered_bytes(network: str, batch: int) -> int:
    """Bytes of every convolution's lowered input together: k² Ho Wo values for each channel and
    image, those of 1x1 windows counted too (A7, A8)."""
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
    """Columns of the smallest matrix that a convolution of a network is lowered to: an output place
    of a sample each (A6)."""
    return batch * min(height * width for _, _, height, width in _lowered(network))


def lanes(step: Step, bits: int) -> int:
    """Number of values of a step's convolutions that a vector of so many bits holds (A5, A6)."""
    return bits // max(op.writes["y"].format.bits for op in step.ops if op.kind == "conv2d")


def stored_winograd(network: str, layer: str, batch: int) -> int:
    """Bytes of Winograd's F(4x4, 3x3) with every transform in memory: 36 values for each kernel,
    and for each tile of 4x4 outputs and each channel on either side (G6)."""
    node = memlab.zoo.build(network).by_name[layer]
    (c, *_), (k, height, width) = node.input_shapes[0], node.shape
    tiles = -(-height // 4) * -(-width // 4)
    return formats.find("fp32").nbytes(_WINOGRAD**2 * (k * c + batch * tiles * (c + k)))


def indirection(network: str, layer: str) -> int:
    """Bytes of an indirection buffer: a pointer for each tap of each output place (G9)."""
    node = memlab.zoo.build(network).by_name[layer]
    assert isinstance(node.layer, Conv2d)
    _, height, width = node.shape
    return _POINTER * node.layer.kernel**2 * height * width


def _lowered(network: str, layer: str = "") -> Iterator[tuple[int, int, int, int]]:
    """Channels, kernel, and rows and columns of the output, of each convolution."""
    for node in memlab.zoo.build(network).nodes:
        if isinstance(node.layer, Conv2d) and layer in ("", node.name):
            _, height, width = node.shape
            yield node.input_shapes[0][0], node.layer.kernel, height, width


# -- networks and steps that several calls use ---------------------------------------------------


def chain(layers: int) -> Network:
    """So many convolutions of 8 channels one after another, and a classifier of 10 (E6)."""
    x = memlab.network("chain", image=(8, 8, 8))
    for _ in range(layers):
        x = x.conv(8, 3, pad="same")
    return x.flatten().linear(10).cross_entropy()


@cache
def resnet1000() -> Network:
    """A ResNet of 1,000 layers, of which its paper names no stages: 83 bottlenecks in each of four
    are a fit, 3 layers each (D3)."""
    return memlab.zoo.resnet((83, 83, 83, 83))


@cache
def chen2016_resnet1000() -> Step:
    """Its training step as its paper counts it (D3)."""
    return chen2016(resnet1000())


@cache
def rnn1000(slots: int | None = None) -> Step:
    """A training step of an RNN of 1,000 steps, or one that keeps so many of its states (A11)."""
    if slots is None:
        return memlab.training_step(memlab.zoo.rnn(steps=1000), "sgd")
    return memlab.recompute(rnn1000(), "slots", k=slots)


# -- operations ---------------------------------------------------------------------------------


def extra_work(step: Step, other: Step, batch: int) -> float:
    """The share by which another step computes more: sums, products and the like (A11, E1)."""
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
    """Bytes of the mask that a ReLU's backward reads, over those of the map that it read (F6)."""
    step = memlab.relu_masks(memlab.training_step(memlab.zoo.build(network)))
    written = next(op.writes for op in step.ops if op.layer == layer and "mask" in op.writes)
    return written["mask"].size.at(1) / written["y"].size.at(1)
