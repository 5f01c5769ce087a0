"""From a step to its ledger."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cached_property

from memlab.errors import InputError, shorten
from memlab.ledger.entries import BEFORE, Entry, LazyTuple, LedgerRow, Tenant
from memlab.ledger.ledger import Ledger
from memlab.step.lifetimes import Lifetime
from memlab.step.op import LOAD, Op
from memlab.step.step import Step
from memlab.step.tensor import Role

KEPT = 8
"""Number of batches whose ledgers with measured workspace are cached for a step."""


def plan(step: Step) -> Ledger:
    """Return the ledger of a step: every storage and every workspace, with its birth and its death.

    >>> ledger = memlab.plan(memlab.training_step(memlab.zoo.resnet18()))
    >>> ledger.peak(batch=32), ledger.fit("12 GB").batch
    (780481764, 567)

    Args:
        step: a step.

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
        LazyTuple(step.ops, _row),
        LazyTuple(step.lifetimes.blocks, _Places(step).entry),
        network=step.network,
        label=step.label,
        format=step.format,
        optimizer=step.optimizer,
        training=step.training,
        notes=step.notes,
        batches=step.batches,
        measure=_measure(step),
    )


def _measure(step: Step) -> Callable[[int | None], Ledger] | None:
    """Return the function that measures the workspace of a step and plans it; ``None`` where the
    workspace is a part of the operations."""
    measurement = step.measurement
    if measurement is None:
        return None
    ledgers: dict[Hashable, Ledger] = {}

    def measure(batch: int | None) -> Ledger:
        key = measurement.key(batch)
        if key not in ledgers:
            if len(ledgers) == KEPT:
                ledgers.pop(next(iter(ledgers)))
            ledgers[key] = plan(step.at(batch))
        return ledgers[key]

    return measure


def _row(op: Op) -> LedgerRow:
    return LedgerRow(op.name, op.kind, op.phase, op.layer, op.stage)


class _Places:
    """Layers and stages of the blocks of a step."""

    def __init__(self, step: Step) -> None:
        self.ops, self.live_in = step.ops, step.live_in

    def entry(self, life: Lifetime) -> Entry:
        """Return a block as a ledger stores it."""
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

    def place(self, life: Lifetime) -> tuple[str, str]:
        """Layer and stage of a block: those of the operation in which it is born. A block that was
        there before belongs to the operation that first uses it, a state of the optimizer to the
        layer of its parameter."""
        if life.birth != BEFORE:
            op = self.ops[life.birth]
            return op.layer, op.stage
        return self._residents.get(life.tensor.storage.name, ("", ""))

    @cached_property
    def _residents(self) -> dict[str, tuple[str, str]]:
        residents: dict[str, tuple[str, str]] = {}
        kept = (tensor for tensor in self.live_in if tensor.role in (Role.PARAMETER, Role.BUFFER))
        unseen = {entry.storage.name for entry in kept}
        for op in self.ops:
            for tensor in (*op.reads.values(), *op.updates.values()) if unseen else ():
                if tensor.storage.name in unseen:
                    unseen.remove(tensor.storage.name)
                    residents[tensor.storage.name] = op.layer, op.stage
            for slot in op.slots:
                own = op.updates[slot.parameter].storage.name
                place = residents.get(own, (op.layer, op.stage))
                residents |= {op.updates[name].storage.name: place for name in slot.kept}
            if op.kind == LOAD:  # of another part: input is of one layer in all of them
                residents[op.layer] = op.layer, op.stage
        return residents


def _tenants(life: Lifetime) -> tuple[Tenant, ...]:
    """Return the tensors that fill a block one after another, or nothing if there is only one.
    Where a tensor is made from the previous one, both exist in that operation."""
    all_ = ((life.tensor.name, life.birth), *life.followers)
    ends = (*(first for _, first in life.followers), life.death)
    return tuple(Tenant(name, first, end) for (name, first), end in zip(all_, ends, strict=True))
