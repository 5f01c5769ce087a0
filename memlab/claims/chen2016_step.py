"""A training step as a paper counts it, which keeps another table than the rows of layers.

Chen, Xu, Zhang and Guestrin 2016, "Training Deep Nets with Sublinear Memory Cost" (arXiv
1604.06174): one tensor for the output of every operation, and one for its gradient.
"""

from __future__ import annotations

from memlab.assemble.forward import numbered
from memlab.axes import Dims, dims
from memlab.errors import InputError, shorten
from memlab.formats import FORMATS
from memlab.layers.layer import Node
from memlab.layers.losses import Loss
from memlab.networks.graph import INPUT, Network
from memlab.step import tensor
from memlab.step.op import NONE, Op, Operands, Phase
from memlab.step.paused_gc import paused
from memlab.step.step import Step
from memlab.step.tensor import Role, Tensor

KEEPS: dict[str, tuple[str, ...]] = {
    "conv2d": ("x",),
    "batch_norm": ("x",),
    "relu": ("y",),
    "add": (),
    "max_pool2d": ("x", "y"),
    "avg_pool2d": ("x", "y"),
    "linear": ("x",),
    "softmax_cross_entropy": ("y",),
}
"""What the backward of each kind reads beside the gradient of its output."""


@paused()
def chen2016(network: Network) -> Step:
    """Return a training step in fp32 that holds only the feature maps and their gradients, as Chen
    et al. (2016) count them (A9, A10, D3).

    Labels, parameters, statistics and workspace are left out; the input is there before and after.
    A flatten is a view. The backward of an add copies its gradient for each input. Where several
    layers read a map, the first backward writes its gradient and the others add to it in place. The
    step can be planned and rewritten, not run.

    Raises:
        InputError: no network, or a layer that is not in the table.
    """
    if not isinstance(network, Network):
        raise InputError(f"a step is built from a network, got {shorten(network)}.")
    counted = _Counted(network)
    for node in network.nodes:
        counted.forward(node)
    for node in reversed(network.nodes):
        counted.backward(node)
    there = (counted.maps[INPUT],)
    note = "counted as Chen et al. 2016"
    return Step(tuple(counted.ops), there, there, network.name, network.label, notes=(note,))


class _Counted:
    """Operations so far, with the feature map of every layer and the gradient of every map."""

    def __init__(self, network: Network) -> None:
        self.ops: list[Op] = []
        self.maps = {INPUT: _new(INPUT, dims(network.input_shape), Role.INPUT)}
        self.gradients: dict[str, Tensor] = {}
        """By the storage of the map, which a flatten shares."""

    def forward(self, node: Node) -> None:
        """Append an operation that reads the inputs of a layer and writes its output."""
        reads = self.inputs(node)
        if node.kind == "flatten":
            self.maps[node.name] = reads["x"].view(node.name, dims(node.shape))
            return
        if node.kind not in KEEPS:
            raise InputError(
                f"the counting of 2016 has no {node.kind}, which {node.name} is; it has flatten, "
                f"{', '.join(KEEPS)}."
            )
        y = self.maps[node.name] = _new(node.name, dims(node.shape), Role.FEATURE_MAP)
        phase = Phase.LOSS if isinstance(node.layer, Loss) else Phase.FORWARD
        self.ops.append(_op(node, phase, reads, {"y": y}))

    def backward(self, node: Node) -> None:
        """Append an operation that reads what the backward of the layer needs and makes the
        gradients of its inputs."""
        if node.kind == "flatten":
            return
        inputs, y = self.inputs(node), self.maps[node.name]
        reads = {} if isinstance(node.layer, Loss) else {"dy": self.gradients[y.storage.name]}
        for name in KEEPS[node.kind]:
            reads |= inputs if name == "x" else {"y": y}
        writes: dict[str, Tensor] = {}
        updates: dict[str, Tensor] = {}
        for slot, x in inputs.items():
            there = self.gradients.get(x.storage.name)
            if there is not None:
                updates[f"d{slot}"] = there
            elif x.role is not Role.INPUT:
                writes[f"d{slot}"] = self.new_gradient(x.storage.name)
        self.ops.append(_op(node, Phase.BACKWARD, reads, writes, updates))

    def inputs(self, node: Node) -> dict[str, Tensor]:
        """Return the maps that a layer reads."""
        return numbered([self.maps[name] for name in node.inputs])

    def new_gradient(self, name: str) -> Tensor:
        """Return a new gradient of the named map, in its own storage."""
        gradient = _new(f"gradient of {name}", self.maps[name].axes, Role.GRADIENT_MAP)
        self.gradients[name] = gradient
        return gradient


def _new(name: str, axes: Dims, role: Role) -> Tensor:
    return tensor.new(name, axes, FORMATS["fp32"], role)


def _op(
    node: Node, phase: Phase, reads: Operands, writes: Operands, updates: Operands = NONE
) -> Op:
    name, kind, row = node.name, node.kind, node.row
    traits = row.traits
    if phase is Phase.BACKWARD:
        name, kind, traits = f"backward of {name}", f"{kind}.backward", row.backward_traits
    return Op(
        name, kind, phase, reads, writes, updates, layer=node.name, stage=node.stage, traits=traits
    )
