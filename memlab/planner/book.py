"""From a step to its ledger."""

from __future__ import annotations

from memlab.errors import InputError
from memlab.planner.ledger import BEFORE, Entry, Ledger, Row
from memlab.step.collector import paused
from memlab.step.step import Step
from memlab.step.tensor import Tensor


@paused()
def plan(step: Step) -> Ledger:
    """Book every storage of a step: born at its first writer, freed after its last reader.

    Raises:
        InputError: the step has no operation.
    """
    if not step.ops:
        raise InputError(
            "this step has no operation; build one with memlab.training_step(network)."
        )
    first, birth, death = dict[str, Tensor](), dict[str, int](), dict[str, int]()
    places = dict[str, tuple[str, str]]()
    owner = {op.layer: op.stage for op in step.ops}
    for tensor in step.live_in:
        name = tensor.storage.name
        first.setdefault(name, tensor)
        birth[name], death[name] = BEFORE, 0
        places.setdefault(name, _place(tensor.name, owner))
    scratch: list[Entry] = []
    for index, op in enumerate(step.ops):
        for tensor in op.touched():
            name = tensor.storage.name
            if name not in first:
                first[name], birth[name], places[name] = tensor, index, (op.layer, op.stage)
            death[name] = index
        scratch += [_entry(t, index, index, (op.layer, op.stage)) for t in op.workspace.values()]
    for tensor in step.live_out:
        death[tensor.storage.name] = len(step.ops)
    entries = [_entry(first[n], birth[n], death[n], places[n]) for n in first]
    return Ledger(
        tuple(Row(op.name, op.kind, op.phase, op.layer, op.stage) for op in step.ops),
        tuple(sorted(entries + scratch, key=lambda entry: entry.birth)),
        network=step.network,
        label=step.label,
        format=step.format,
        optimizer=step.optimizer,
        training=step.training,
        batches=step.batches,
    )


def _entry(tensor: Tensor, birth: int, death: int, place: tuple[str, str]) -> Entry:
    storage = tensor.storage
    return Entry(
        tensor.name,
        tensor.role,
        storage.size,
        birth,
        death,
        tensor.axes,
        tensor.format.name,
        *place,
        storage.memory,
    )


def _place(name: str, stages: dict[str, str]) -> tuple[str, str]:
    """Layer and stage of a resident, from its name: ``conv1.weight.momentum`` is of ``conv1``."""
    layer = name
    while layer and layer not in stages:
        layer = layer.rpartition(".")[0]
    return layer, stages.get(layer, "")
