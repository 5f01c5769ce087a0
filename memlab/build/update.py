"""The last part of a step: the optimizer changes the parameters and frees their gradients."""

from __future__ import annotations

from math import prod

from memlab.build.forward import Build
from memlab.layers.layer import Node
from memlab.optimizers import OPTIMIZERS, Optimizer
from memlab.step.initial_values import Start
from memlab.step.op import Phase, Slot
from memlab.step.storage import Size
from memlab.step.tensor import Role, Tensor


def update(build: Build, optimizer: str) -> list[Tensor]:
    """Append one update per weighted layer; returns the optimizer's state.

    A layer whose row says so is updated together with the one that feeds it.
    """
    chosen, state = OPTIMIZERS[optimizer], list[Tensor]()
    for leader, nodes in _groups(build).items():
        reads, updates, count = dict[str, Tensor](), dict[str, Tensor](), 0
        slots: list[Slot] = []
        for parameter in (p for node in nodes for p in build.parameters[node.name].values()):
            gradient, own = build.gradients[parameter.name], _states(build, parameter, chosen)
            reads[gradient.name] = gradient
            updates |= {array.name: array for array in (parameter, *own.values())}
            names = {name: array.name for name, array in own.items()}
            slots.append(Slot(parameter.name, gradient.name, names))
            state += own.values()
            count += prod(extent for _, extent in parameter.axes)
        build.emit(
            build.network.by_name[leader], f"update of {leader}", optimizer, Phase.UPDATE, reads,
            {}, updates, flops=Size(chosen.operations * count), slots=tuple(slots),
        )  # fmt: skip
    return state


def _states(build: Build, parameter: Tensor, chosen: Optimizer) -> dict[str, Tensor]:
    """What the optimizer keeps of a parameter, by its own names."""
    return {
        name: build.new(
            f"{parameter.name}.{name}", parameter.axes, Role.OPTIMIZER_STATE,
            start=Start(squares=name in chosen.squares),
        )
        for name in chosen.states
    }  # fmt: skip


def _groups(build: Build) -> dict[str, list[Node]]:
    groups: dict[str, list[Node]] = {}
    for node in build.network.nodes:
        if node.parameters:
            joins = node.row.joins and node.inputs[0] in groups
            groups.setdefault(node.inputs[0] if joins else node.name, []).append(node)
    return groups
