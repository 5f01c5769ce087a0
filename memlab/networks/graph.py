"""A network: layers in order, each with the names of what it reads. Shapes only."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from memlab.axes import Shape
from memlab.errors import InputError, named
from memlab.layers.layer import Node, text
from memlab.layers.losses import Loss

INPUT = "input"
RESERVED = (INPUT, "labels", "target", "prediction")
PREFIXES = ("gradient of ", "backward of ", "update of ", "sum ")
"""Names that a step gives to its own blocks and operations."""


@dataclass(frozen=True)
class Network:
    """Layers in an order in which they can run. The last one is the loss."""

    name: str
    title: str
    input_shape: Shape
    nodes: tuple[Node, ...]
    variant: str = ""
    vocabulary: int = 0
    """How many tokens there are, where the input is T of them."""
    frozen: frozenset[str] = frozenset()
    """Names of the layers whose parameters do not learn; others may share them."""

    def __post_init__(self) -> None:
        self._check_names()
        self._check_shares()
        losses = [isinstance(node.layer, Loss) for node in self.nodes]
        if sum(losses) != 1 or not losses[-1]:
            raise InputError(
                f"network {self.name!r} needs one loss, at its end; try .cross_entropy()."
            )
        read = {name for node in self.nodes for name in node.inputs}
        idle = [node.name for node in self.nodes[:-1] if node.name not in read]
        if idle:
            raise InputError(f"nothing reads {', '.join(idle)}; use it or leave it out.")

    def _check_names(self) -> None:
        """Raise an error if two names are equal, or equal to the name of a block
        that a step makes."""
        known = {INPUT}
        for node in self.nodes:
            name = named("a layer", node.name, "conv1")
            missing = [source for source in node.inputs if source not in known]
            if missing:
                raise InputError(f"{name!r} reads {missing[0]!r}, which no layer before it makes.")
            if node.layer.of_input and node.inputs != (INPUT,):
                raise InputError(
                    f"{name!r} reads {node.inputs[0]!r}; {node.kind} reads the input of the "
                    "network alone."
                )
            if name in known or name in RESERVED or name.startswith(PREFIXES):
                raise InputError(
                    f"{name!r} is taken in {self.name!r}; give each layer its own name."
                )
            known.add(name)
        arrays = [f"{n.name}.{a.name}" for n in self.nodes for a in (*n.parameters, *n.buffers)]
        if clash := known.intersection(arrays):
            raise InputError(f"{clash.pop()!r} is the name of a parameter; rename that layer.")

    def _check_shares(self) -> None:
        """Refuse a layer that shares its weights with one that does not come before it."""
        owners = {""}
        for node in self.nodes:
            if node.shares not in owners:
                raise InputError(
                    f"{node.name!r} shares the parameters of {node.shares!r}, which does not lead "
                    "to the loss; use its output, or leave share out."
                )
            if node.parameters:
                owners.add(node.name)
        if unknown := sorted(self.frozen - owners):
            raise InputError(
                f"{unknown[0]!r} has no parameters in {self.name!r}, so it cannot be frozen; name "
                "a layer that has."
            )

    @cached_property
    def by_name(self) -> dict[str, Node]:
        """Nodes by name."""
        return {node.name: node for node in self.nodes}

    @property
    def loss(self) -> Node:
        """Last node, which is the loss."""
        return self.nodes[-1]

    @cached_property
    def parameters(self) -> int:
        """Number of parameter values, shared ones once (published counts: H)."""
        return sum(array.count for node in self.nodes for array in node.parameters)

    @cached_property
    def learning(self) -> int:
        """Number of parameter values that learn: those of layers that are not frozen."""
        trained = (node for node in self.nodes if not self.is_frozen(node))
        return sum(array.count for node in trained for array in node.parameters)

    def is_frozen(self, node: Node) -> bool:
        """Return whether the parameters that a layer uses do not learn."""
        return node.owner in self.frozen

    @cached_property
    def stages(self) -> tuple[str, ...]:
        """Names of the stages, in order."""
        return tuple(dict.fromkeys(node.stage for node in self.nodes if node.stage))

    def table(self) -> str:
        """Return the layers as a text table: name, layer, settings, output per
        sample, parameters."""
        rows = [("layer", "kind", "settings", "output", "parameters")]
        rows += [(INPUT, "", "", text(self.input_shape), "")]
        for node in self.nodes:
            count = sum(array.count for array in node.parameters)
            settings = filter(None, (node.settings, "frozen" if self.is_frozen(node) else ""))
            rows.append((node.name, node.kind, ", ".join(settings), text(node.shape), f"{count:,}"))
        rows += [("total", "", "", "", f"{self.parameters:,}")]
        widths = [max(len(row[i]) for row in rows) for i in range(5)]
        lines = [
            "  ".join(
                cell.rjust(width) if i >= 3 else cell.ljust(width)
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        ]
        return "\n".join([self.label, *lines])

    @property
    def label(self) -> str:
        """Title with its variant: ``ResNet-50 v1.5``."""
        return f"{self.title} {self.variant}".strip()

    def __repr__(self) -> str:
        learning = f" ({self.learning:,} of them learn)" if self.frozen else ""
        return (
            f"<{self.label}: {len(self.nodes)} layers, {self.parameters:,} parameters{learning}, "
            f"input {text(self.input_shape)}>"
        )
