"""From a step to its ledger."""

from __future__ import annotations

from dataclasses import dataclass

from memlab.errors import InputError, shorten
from memlab.planner.entries import Tenant
from memlab.planner.ledger import BEFORE, Entry, Ledger, Row
from memlab.step.collector import paused
from memlab.step.op import Phase
from memlab.step.step import Step
from memlab.step.tensor import Tensor


@dataclass(slots=True)
class Life:
    """The life of one storage: the tensor that fills it, its first and its last operation, and
    the layer and stage it belongs to. The numbers are those of ``Entry``. ``followers`` fill it
    after its first tensor, each from the operation that writes it."""

    tensor: Tensor
    birth: int
    death: int
    layer: str
    stage: str
    followers: tuple[tuple[str, int], ...] = ()

    def follow(self, tensor: Tensor, index: int) -> None:
        """A tensor takes the place of the one before it."""
        if tensor.name != (self.followers[-1][0] if self.followers else self.tensor.name):
            self.followers = (*self.followers, (tensor.name, index))

    def tenants(self) -> tuple[Tenant, ...]:
        """The tensors that fill it one after another, where they are several. Where one is made
        from the one before it, both are there in that operation."""
        if not self.followers:
            return ()
        all_ = ((self.tensor.name, self.birth), *self.followers)
        ends = (*(first for _, first in self.followers), self.death)
        return tuple(
            Tenant(name, first, end) for (name, first), end in zip(all_, ends, strict=True)
        )

    def entry(self) -> Entry:
        """The same as a row of a ledger."""
        tensor, storage = self.tensor, self.tensor.storage
        return Entry(
            tensor.name,
            tensor.role,
            storage.size,
            self.birth,
            self.death,
            tensor.axes,
            tensor.format.name,
            self.layer,
            self.stage,
            storage.memory,
            self.tenants(),
        )


def lives(step: Step) -> dict[str, Life]:
    """Every storage by name, workspace left out: born at its first writer or before the step,
    dead after its last reader or not at all. A copy in a stream of its own holds what it reads
    until somebody waits for it."""
    found: dict[str, Life] = {}
    stages = {op.layer: op.stage for op in step.ops}
    for tensor in step.live_in:
        place = _place(tensor.name, stages)
        found.setdefault(tensor.storage.name, Life(tensor, BEFORE, 0, *place))
    for index, op in enumerate(step.ops):
        for tensor in op.touched():
            life = found.get(tensor.storage.name)
            if life is None:
                found[tensor.storage.name] = Life(tensor, index, index, op.layer, op.stage)
            else:
                life.death = index
        for tensor in op.writes.values():
            found[tensor.storage.name].follow(tensor, index)
    for number, waiter in _waited(step).items():
        for tensor in step.ops[number].reads.values():
            life = found[tensor.storage.name]
            life.death = max(life.death, waiter - 1)
    for tensor in step.live_out:
        found[tensor.storage.name].death = len(step.ops)
    return found


def _waited(step: Step) -> dict[int, int]:
    """By the number of each copy, the first operation after it that waits for it."""
    copies = {op.name: number for number, op in enumerate(step.ops) if op.phase is Phase.COPY}
    found: dict[int, int] = {}
    if copies:
        for number, op in enumerate(step.ops):
            for name in op.after:
                if name in copies:
                    found.setdefault(copies[name], number)
    return found


@paused()
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
    entries = [life.entry() for life in lives(step).values()]
    for index, op in enumerate(step.ops):
        for tensor in op.workspace.values():
            entries.append(Life(tensor, index, index, op.layer, op.stage).entry())
    return Ledger(
        tuple(Row(op.name, op.kind, op.phase, op.layer, op.stage) for op in step.ops),
        tuple(sorted(entries, key=lambda entry: entry.birth)),
        network=step.network,
        label=step.label,
        format=step.format,
        optimizer=step.optimizer,
        training=step.training,
        notes=step.notes,
        batches=step.batches,
    )


def _place(name: str, stages: dict[str, str]) -> tuple[str, str]:
    """Layer and stage of a resident, from its name: ``conv1.weight.momentum`` is of ``conv1``."""
    layer = name
    while layer and layer not in stages:
        layer = layer.rpartition(".")[0]
    return layer, stages.get(layer, "")
