"""The backward half of a step: operations in reverse, gradients handed on, added at forks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from math import prod

from memlab.assemble.eight_bit_base import SCALES
from memlab.assemble.forward import Build, numbered
from memlab.axes import dims
from memlab.layers.layer import Node
from memlab.layers.layer_kind import KernelChoice, Passes
from memlab.step.op import NONE, OF_PART, Operands, Phase
from memlab.step.rewrite_traits import SplitAxis, Traits
from memlab.step.storage import Size
from memlab.step.tensor import Role, Tensor

_Slots = dict[str, Tensor]
_Parts = list[tuple[str, Tensor]]
_BY_VALUE = Traits(cut=SplitAxis.VALUES)


def backward(build: Build, labels: Tensor) -> None:
    """Append the backward operations of a step whose forward and loss are written."""
    walk = _BackwardWalk(build)
    if build.network.loss.name in build.learning:
        walk.differentiate(build.network.loss, {"labels": labels})
    for node in reversed(build.network.nodes[:-1]):
        if node.name not in build.learning:
            continue
        dy = walk.gradients.take(node.name)
        if node.row.passes in (Passes.COMPUTED, Passes.FIRST):
            walk.differentiate(node, {"dy": dy})
        if node.row.passes is not Passes.COMPUTED:
            walk.hand_on(node, dy)


@dataclass
class Gradients:
    """Gradients that the backward pass has computed so far and not yet used, by the name of the
    output that they belong to.

    Several may view one storage (the inputs of an add), so a storage may be added to in place only
    when a single gradient is left in it.
    """

    current: dict[str, Tensor] = field(default_factory=dict)
    readers: Counter[str] = field(default_factory=Counter)

    def give(self, name: str, gradient: Tensor) -> Tensor:
        """Set the gradient of the output ``name``, in place of an earlier one."""
        if name in self.current:
            self.take(name)
        self.current[name] = gradient
        self.readers[gradient.storage.name] += 1
        return gradient

    def take(self, name: str) -> Tensor:
        """Remove and return the complete gradient of the output ``name``."""
        gradient = self.current.pop(name)
        self.readers[gradient.storage.name] -= 1
        return gradient

    def may_add(self, name: str, reads: Iterable[Tensor]) -> bool:
        """True if an operation with these reads may add its share to the gradient of ``name`` in
        place."""
        storage = self.current[name].storage.name
        return self.readers[storage] == 1 and all(read.storage.name != storage for read in reads)


class _BackwardWalk:
    def __init__(self, build: Build) -> None:
        self.build = build
        self.gradients = Gradients()
        self.sums: Counter[str] = Counter()

    def differentiate(self, node: Node, reads: _Slots) -> None:
        """Append the backward operation of a node: from ``dy``, or the labels, to the gradients of
        its inputs."""
        build, row, flops = self.build, node.row, node.flops
        trained = build.trained(node)
        computed = node.inputs[1:] if row.passes is Passes.FIRST else node.inputs
        passes_on = not build.learning.isdisjoint(computed)
        if not (trained or passes_on):
            return
        names = (*row.keeps, *(row.to_learn if trained else ()))
        reads = reads | self.kept(node, (*names, *(row.to_pass_on if passes_on else ())))
        writes, updates, cost = _Slots(), _Slots(), Size()
        if trained:
            cost = flops.weights + self.place_weights(trained, writes, updates)
        parts: _Parts = []
        if passes_on and len(node.inputs) > 1:
            cost += flops.input + self.place_each(node, reads, writes, updates, parts)
        elif passes_on:
            cost += flops.input + self.place(node.inputs[0], node, reads, writes, updates)
        build.emit(
            node,
            f"backward of {node.name}",
            f"{node.kind}.backward",
            Phase.BACKWARD,
            reads,
            writes,
            updates,
            self.choice(node, bool(trained)),
            cost,
            fills=bool(trained) + passes_on,
            traits=row.backward_traits,
            holds=self.saved_by_autograd(node, reads),
        )
        for source, part in parts:
            self.accumulate(source, node, part)

    def choice(self, node: Node, learns: bool) -> KernelChoice:
        """Return the kernel of a backward operation with its workspace: beside that of the layer,
        room for gradients of frozen parameters, where the kernel reads them."""
        build, chosen = self.build, self.build.choice(node, backward=True)
        if learns or not node.row.apart:
            return chosen
        room = {
            f"d{name}{OF_PART}": build.new(f"{node.name}.d{name}", array.axes, Role.WORKSPACE)
            for name, array in build.parameters[node.name].items()
        }
        return chosen._replace(workspace={**chosen.workspace, **room})

    def saved_by_autograd(self, node: Node, reads: _Slots) -> Operands:
        """Return what PyTorch's autograd would keep of a node until its backward, and backward
        does not read."""
        saved = self.kept(node, node.row.autograd) if self.build.autograd else NONE
        return {name: tensor for name, tensor in saved.items() if name not in reads}

    def kept(self, node: Node, names: Collection[str]) -> _Slots:
        """Operands that the backward operation of a node reads: those with these names among its
        inputs, its output and its parameters, and the tensors that forward wrote for backward
        alone."""
        build, slots = self.build, _Slots()
        inputs = numbered([build.maps[source] for source in node.inputs])
        slots |= {name: x for name, x in inputs.items() if name in names or "x" in names}
        if "y" in names:
            slots["y"] = build.maps[node.name]
        slots |= build.extras.get(node.name, {})
        own = build.parameters[node.name].items()
        wanted = {*names, SCALES} if "weight" in names else {*names}
        return slots | {name: array for name, array in own if name in wanted}

    def place_weights(self, parameters: Operands, writes: _Slots, updates: _Slots) -> Size:
        """Put the gradients of parameters among the writes or the updates of a backward operation;
        return the operations that adding costs.

        The first backward operation that uses a parameter writes, every later one adds.
        """
        cost, written = Size(), self.build.gradients
        for name, array in parameters.items():
            if there := written.get(array.name):
                updates[f"d{name}"] = there
                cost += Size(prod(extent for _, extent in array.axes))
            else:
                gradient, role = f"gradient of {array.name}", Role.PARAMETER_GRADIENT
                written[array.name] = self.build.new(gradient, array.axes, role)
                writes[f"d{name}"] = written[array.name]
        return cost

    def place(
        self, source: str, node: Node, reads: _Slots, writes: _Slots, updates: _Slots
    ) -> Size:
        """Decide where the gradient of ``source`` is written, and return the operations of
        arithmetic that adding it costs.

        At a fork it is added to what is there: in place where nobody else still reads that storage,
        else into a new one.
        """
        there = self.gradients.current.get(source)
        if there is None:
            writes["dx"] = self.new_gradient(source, f"gradient of {source}")
            return Size()
        if self.gradients.may_add(source, reads.values()):
            updates["dx"] = there
        else:
            self.sums[source] += 1
            reads["addend"] = there
            name = f"gradient of {source}, sum {self.sums[source]}"
            writes["dx"] = self.new_gradient(source, name)
        return Size(0, prod(extent for _, extent in there.axes[1:]))

    def place_each(
        self, node: Node, reads: _Slots, writes: _Slots, updates: _Slots, parts: _Parts
    ) -> Size:
        """Decide where the gradients of several inputs are written, and return the operations of
        arithmetic that adding them costs.

        One that cannot be added in place is a part, which an operation of its own adds.
        """
        cost = Size()
        for i, source in enumerate(node.inputs):
            there = self.gradients.current.get(source)
            viewed = i == 0 and node.row.passes is Passes.FIRST
            if viewed or source not in self.build.learning:
                continue
            if there is None:
                writes[f"dx{i}"] = self.new_gradient(source, f"gradient of {source}")
            elif self.gradients.may_add(source, _tensors(reads, writes, updates)):
                updates[f"dx{i}"] = there
                cost += Size(0, prod(extent for _, extent in there.axes[1:]))
            else:
                name, axes = _part(source, i, node), self.build.maps[source].axes
                writes[f"dx{i}"] = self.build.new(name, axes, Role.GRADIENT_MAP)
                parts.append((source, writes[f"dx{i}"]))
        return cost

    def new_gradient(self, source: str, name: str) -> Tensor:
        """Return a new gradient map with its own storage, and make it the gradient
        of ``source``."""
        axes = self.build.maps[source].axes
        return self.gradients.give(source, self.build.new(name, axes, Role.GRADIENT_MAP))

    def hand_on(self, node: Node, dy: Tensor) -> None:
        """Make views of ``dy`` the gradients of the inputs of an add, a concat or a flatten, or of
        the first input alone, without a copy.

        One that meets a gradient already there is a part, with a name of its own: the first may
        have been a view of the same storage, which has other values by now.
        """
        start, count = 0, 1 if node.row.passes is Passes.FIRST else len(node.inputs)
        inputs = zip(node.inputs[:count], node.input_shapes[:count], strict=True)
        for i, (source, shape) in enumerate(inputs):
            first = source not in self.gradients.current
            name = f"gradient of {source}" if first else _part(source, i, node)
            axes = dims(shape)
            if node.row.passes is Passes.SLICES:
                share = dy.slice(name, axes, start)
                start += share.per_sample
            else:
                share = dy.view(name, axes)
            if source not in self.build.learning:
                continue
            if first:
                self.gradients.give(source, share)
            else:
                self.accumulate(source, node, share)

    def accumulate(self, source: str, node: Node, share: Tensor) -> None:
        """Append an operation that adds a view to the gradient that is already there."""
        reads, writes, updates = {"dy": share}, _Slots(), _Slots()
        self.sums[f"at {source}"] += 1
        cost = self.place(source, node, reads, writes, updates)
        name = f"sum {self.sums[f'at {source}']} of the gradients of {source}"
        owner = self.build.network.by_name[source]
        self.build.emit(
            owner, name, "accumulate", Phase.BACKWARD, reads, writes, updates, flops=cost,
            traits=_BY_VALUE,
        )  # fmt: skip


def _part(source: str, i: int, node: Node) -> str:
    """Return the name of the gradient that input ``i`` of a node adds to a sum."""
    return f"gradient of {source} by input {i} of {node.name}"


def _tensors(*groups: _Slots) -> list[Tensor]:
    return [tensor for group in groups for tensor in group.values()]
