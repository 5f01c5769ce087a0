"""A step under construction: operations are appended, and every array gets its tensor.

Forward and loss are here; ``backward`` and ``update`` append the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from memlab.assemble.eight_bit_base import BASE, in_eight_bits, layers_in_eight_bits
from memlab.axes import BATCH, Dims, dims
from memlab.formats import FORMATS, Format
from memlab.layers import algorithms
from memlab.layers.layer import Node, Weights
from memlab.layers.layer_kind import NOTHING, KernelChoice, made
from memlab.layers.losses import Loss
from memlab.networks.graph import INPUT, Network
from memlab.step import tensor
from memlab.step.initial_values import ZEROS, InitialValue
from memlab.step.op import NONE, PLANNED, Op, Operands, Phase, UpdateSlot
from memlab.step.rewrite_traits import PLAIN, RerunRule, Traits
from memlab.step.step import Step
from memlab.step.storage import Size
from memlab.step.tensor import Role, Tensor


@dataclass
class Build:
    """Step under construction: its network, its format, and the operations so far."""

    network: Network
    format: Format
    algorithm: str
    threads: int
    training: bool
    autograd: bool = False
    """Whether a layer holds what PyTorch's autograd would save beside what backward reads."""
    eight_bit_base: bool = False
    """Whether frozen weights of linear layers are stored in 8 bits, with a scale for each row."""
    ops: list[Op] = field(default_factory=list)
    maps: dict[str, Tensor] = field(default_factory=dict)
    """The output of every node, and the input."""
    extras: dict[str, Operands] = field(default_factory=dict)
    """What forward wrote for backward alone."""
    gradients: dict[str, Tensor] = field(default_factory=dict)
    """Those of parameters that backward wrote, by the names of the parameters."""
    _attributes: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        algorithms.find(self.algorithm)
        self.maps[INPUT] = self._input()
        self.parameters: dict[str, Operands] = {}
        """Those that every node uses; they may belong to another node."""
        self.eight_bit_layers = (
            layers_in_eight_bits(self.network) if self.eight_bit_base else frozenset()
        )
        """Names of the layers whose weights are stored in 8 bits."""
        for node in self.network.nodes:
            own = self._owned(node, node.parameters, Role.PARAMETER)
            if node.name in self.eight_bit_layers:
                own = in_eight_bits(own)
            self.parameters[node.name] = self.parameters.get(node.shares) or own
        self.learning = self._learning() if self.training else frozenset()
        self.buffers = {
            node.name: self._owned(node, node.buffers, Role.BUFFER) for node in self.network.nodes
        }

    def _owned(self, node: Node, arrays: tuple[Weights, ...], role: Role) -> dict[str, Tensor]:
        """Tensors that a node keeps between steps, by name: its parameters or its buffers."""
        return {
            array.name: self.new(f"{node.name}.{array.name}", array.dims, role, start=array.start)
            for array in arrays
        }

    def _input(self) -> Tensor:
        """Return the input of the network: values, or tokens."""
        shape = self.network.input_shape
        if not self.network.vocabulary:
            return self.new(INPUT, dims(shape), Role.INPUT)
        return self.new(INPUT, (BATCH, ("T", shape[0])), Role.INPUT, FORMATS["int64"])

    def _learning(self) -> frozenset[str]:
        """Names of the nodes whose output depends on a parameter that learns. Only these pass
        a gradient back."""
        names: set[str] = set()
        for node in self.network.nodes:
            if self.trained(node) or not names.isdisjoint(node.inputs):
                names.add(node.name)
        return frozenset(names)

    def trained(self, node: Node) -> Operands:
        """Return the parameters that a node uses and that learn: none where it is frozen."""
        return NONE if self.network.is_frozen(node) else self.parameters[node.name]

    def residents(self) -> list[Tensor]:
        """Return the parameters and buffers of the network, which are alive before and after the
        step."""
        nodes = self.network.nodes
        own = (self.parameters[node.name] for node in nodes if not node.shares)
        return [array for arrays in (*own, *self.buffers.values()) for array in arrays.values()]

    def forward(self) -> None:
        """Append the forward operations of every node except the loss."""
        for node in self.network.nodes[:-1]:
            self.run(node)

    def run(self, node: Node) -> None:
        """Append the forward operation of a node. A node whose output is a view needs none."""
        row, inputs = node.row, [self.maps[name] for name in node.inputs]
        if row.is_view or (row.identity_in_inference and not self.training):
            self.maps[node.name] = node.layer.view(node.name, _axes(node, inputs[0]), inputs[0])
            return
        output = self.new(node.name, _axes(node, inputs[0]), Role.FEATURE_MAP)
        self.maps[node.name] = output
        flops, buffers = node.flops, self.buffers[node.name]
        reads = {**numbered(inputs), **self.parameters[node.name]}
        self.emit(
            node,
            node.name,
            node.kind,
            Phase.FORWARD,
            reads if self.training else reads | buffers,
            {"y": output, **self.write_extras(node)},
            buffers if self.training else NONE,
            self.choice(node),
            flops.forward if self.training or not flops.inference else flops.inference,
            traits=row.traits,
            again=node.layer.again(node.shape, *node.input_shapes) if self.training else None,
        )

    def loss(self) -> tuple[Tensor, Tensor]:
        """Append the loss of a training step, and return the labels (or targets) and the loss."""
        node = self.network.loss
        name, axes, format = self._loss.target(node.shape)
        labels = self.new(name, axes, Role.INPUT, format)
        loss = self.new(node.name, (), Role.FEATURE_MAP)
        self.emit(
            node,
            node.name,
            node.kind,
            Phase.LOSS,
            {"x": self.maps[node.inputs[0]], "labels": labels},
            {"loss": loss, **self.write_extras(node)},
            flops=node.flops.forward,
            traits=node.row.traits,
        )
        return labels, loss

    def predict(self) -> Tensor:
        """Add the prediction of the network: the output that its loss makes of the scores, or the
        scores themselves."""
        node, chosen = self.network.loss, self._loss.predicts
        x = self.maps[node.inputs[0]]
        if chosen is None:
            return x
        kind, traits = chosen
        output = self.new("prediction", dims(node.shape), Role.FEATURE_MAP)
        flops = node.flops.inference or Size()
        self.emit(
            node, "prediction", kind, Phase.FORWARD, {"x": x}, {"y": output}, flops=flops,
            traits=traits,
        )  # fmt: skip
        return output

    @property
    def _loss(self) -> Loss:
        layer = self.network.loss.layer
        assert isinstance(layer, Loss)  # the network has seen to it
        return layer

    def write_extras(self, node: Node) -> Operands:
        """Tensors that forward writes beside the output of a node, because its backward reads them;
        or because it updates statistics, which it computes there, also where it has no backward."""
        extras = node.layer.extras(node.shape, *node.input_shapes)
        computes_them = self.training and bool(node.buffers)
        if extras and (node.name in self.learning or computes_them):
            self.extras[node.name] = {
                name: self.new(f"{node.name}.{name}", axes, Role.FEATURE_MAP, format)
                for name, (axes, format) in extras.items()
            }
        return self.extras.get(node.name, NONE)

    def new(
        self,
        name: str,
        axes: Dims,
        role: Role,
        format: Format | None = None,
        start: InitialValue = ZEROS,
    ) -> Tensor:
        """Return a new tensor with its own storage, in the format of the step unless another is
        given."""
        return tensor.new(name, axes, format or self.format, role, start=start)

    def choice(self, node: Node, backward: bool = False) -> KernelChoice:
        """Return the kernel that a layer's forward or backward takes, with its workspace."""
        shapes = node.shape, *node.input_shapes
        name, buffers = node.layer.choose(self.algorithm, backward, *shapes)
        chosen = made(name, buffers, backward, node.name, self.format, self.threads)
        if self.has_eight_bit_weight(node):
            return self._with_wide_weight(node, chosen, backward)
        return chosen

    def has_eight_bit_weight(self, node: Node) -> bool:
        """Return whether the weight that a layer uses is stored in 8 bits."""
        return node.owner in self.eight_bit_layers

    def _with_wide_weight(self, node: Node, chosen: KernelChoice, backward: bool) -> KernelChoice:
        """Return a choice with room for the weight in the format of the step, which is what an
        operation computes with."""
        name = f"{node.name}.{'backward ' if backward else ''}wide weight"
        wide = self.new(name, self.parameters[node.name]["weight"].axes, Role.WORKSPACE)
        workspace = {**chosen.workspace, "wide weight": wide}
        return chosen._replace(workspace=workspace, moved=chosen.moved + 2 * wide.size)

    def emit(
        self,
        node: Node,
        name: str,
        kind: str,
        phase: Phase,
        reads: Operands,
        writes: Operands = NONE,
        updates: Operands = NONE,
        choice: KernelChoice = NOTHING,
        flops: Size = Size(),
        fills: int = 1,
        traits: Traits = PLAIN,
        again: RerunRule | None = None,
        slots: tuple[UpdateSlot, ...] = (),
        holds: Operands = NONE,
    ) -> None:
        """Append an operation. Its workspace is written and read ``fills`` times."""
        fixed = per_sample = 0
        for operands, times in ((reads, 1), (writes, 1), (updates, 2)):
            for operand in operands.values():
                # without a pitch it fills its storage, whose size is at hand
                size = operand.storage.size if operand.pitch is None else operand.size
                fixed, per_sample = fixed + times * size.fixed, per_sample + times * size.per_sample
        moved = Size(fixed, per_sample)
        if choice.moved:
            moved += fills * choice.moved
        attributes = self._attributes.get(node.name)
        if attributes is None:
            attributes = {"layer": node.layer, "draw": node.name}
            if self.has_eight_bit_weight(node):
                attributes[PLANNED] = BASE
            self._attributes[node.name] = attributes
        self.ops.append(
            Op(name, kind, phase, reads, writes, updates, choice.workspace, attributes,
               choice.algorithm, flops, moved, node.name, node.stage, traits=traits, again=again,
               slots=slots, holds=holds)
        )  # fmt: skip

    def step(self, live_in: list[Tensor], live_out: list[Tensor], optimizer: str = "") -> Step:
        """Return the finished step.

        Raises:
            InputError: a layer has the name of a block that another one makes.
        """
        notes = [] if self.algorithm == algorithms.DEFAULT else [f"{self.algorithm} convolution"]
        notes += [f"{self.threads} threads"] if self.threads > 1 else []
        notes += self._notes_on_frozen() if self.training else []
        step = Step(
            tuple(self.ops),
            tuple(live_in),
            tuple(live_out),
            network=self.network.name,
            label=self.network.label,
            format=self.format.name,
            optimizer=optimizer,
            training=self.training,
            threads=self.threads,
            notes=tuple(notes),
        )
        step.check_made_once()
        return step

    def _notes_on_frozen(self) -> list[str]:
        """Return what is to be said of frozen layers, where there are any."""
        frozen = len(self.network.frozen)
        if not frozen:
            return []
        owners = sum(bool(node.parameters) for node in self.network.nodes)
        kept = ["kept as by PyTorch's autograd"] if self.autograd else []
        base = ["8-bit base (planned, not run)"] if self.eight_bit_layers else []
        return [f"{frozen} of {owners} layers frozen", *kept, *base]


def numbered(inputs: list[Tensor]) -> dict[str, Tensor]:
    """Return the inputs of a layer by the names that its kernels use for them."""
    if len(inputs) == 1:
        return {"x": inputs[0]}
    return {f"x{i}": x for i, x in enumerate(inputs)}


def _axes(node: Node, x: Tensor) -> Dims:
    """Return the axes of an output. They are those of the first input where both have the same
    shape."""
    names = node.row.axes
    if names:
        return (BATCH, *zip(names, node.shape, strict=True))
    return x.axes if node.shape == node.input_shapes[0] else dims(node.shape)
