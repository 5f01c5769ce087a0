"""From a step to its ledger."""

from __future__ import annotations

from functools import cached_property

from memlab.errors import InputError, shorten
from memlab.planner.entries import BEFORE, Entry, Later, Row, Tenant
from memlab.planner.ledger import Ledger
from memlab.step.lifetimes import Life
from memlab.step.op import Op
from memlab.step.step import Step


def plan(step: Step) -> Ledger:
    """Book every storage and every workspace of a step.

    Raises:
        InputError: the step has no operation.
    """
    if not isinstance(step, Step):
        raise InputError(
            f"a plan is made of a step, got {shorten(step)}; try "
            "memlab.plan(memlab.training_step(network))."
        )
    if not step.ops:
        raise InputError(
            "this step has no operation; build one with memlab.training_step(network)."
        )
    return Ledger(
        Later(step.ops, _row),
        Later(step.lifetimes.blocks, _Places(step).entry),
        network=step.network,
        label=step.label,
        format=step.format,
        optimizer=step.optimizer,
        training=step.training,
        notes=step.notes,
        batches=step.batches,
    )


def _row(op: Op) -> Row:
    return Row(op.name, op.kind, op.phase, op.layer, op.stage)


class _Places:
    """Layers and stages of the blocks of a step."""

    def __init__(self, step: Step) -> None:
        self.ops = step.ops

    def entry(self, life: Life) -> Entry:
        """A block as a ledger knows it."""
        tensor, storage = life.tensor, life.tensor.storage
        return Entry(
            tensor.name,
            tensor.role,
            storage.size,
            life.birth,
            life.death,
            tensor.axes,
            tensor.format.name,
            *self.place(life),
            storage.memory,
            _tenants(life) if life.followers else (),
        )

    def place(self, life: Life) -> tuple[str, str]:
        """Those of the operation in which it is born. Those of a resident follow from its name:
        ``conv1.weight.momentum`` is of ``conv1``."""
        if life.birth != BEFORE:
            op = self.ops[life.birth]
            return op.layer, op.stage
        layer = life.tensor.name
        while layer and layer not in self._stages:
            layer = layer.rpartition(".")[0]
        return layer, self._stages.get(layer, "")

    @cached_property
    def _stages(self) -> dict[str, str]:
        return {op.layer: op.stage for op in self.ops}


def _tenants(life: Life) -> tuple[Tenant, ...]:
    """The tensors that fill a block one after another, where they are several. Where one is made
    from the one before it, both are there in that operation."""
    all_ = ((life.tensor.name, life.birth), *life.followers)
    ends = (*(first for _, first in life.followers), life.death)
    return tuple(Tenant(name, first, end) for (name, first), end in zip(all_, ends, strict=True))
