"""Steps that a framework ran: what it holds longer than anybody needs it is freed, and what it
changes in place gets a value of its own.

The plan of such a step is what the framework does. Who rewrites it decides himself when a block is
freed, and has to know every value that was there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import replace

from memlab.errors import InputError, shorten
from memlab.step.op import NONE, Op, Operands, Phase
from memlab.step.rewrite_traits import RerunRule, Traits
from memlab.step.step import Step
from memlab.step.storage import Storage
from memlab.step.tensor import Role, Tensor
from memlab.techniques.application_order import CHUNKS
from memlab.techniques.registry import Order, technique

_STAY = (Role.BUFFER, Role.PARAMETER, Role.OPTIMIZER_STATE, Role.PARAMETER_GRADIENT)
NOTE = "freed after its last reader"


@technique(
    Order.LAST, "release", "what a framework holds longer than anybody needs it is freed",
    built=False,
)  # fmt: skip
def release(step: Step, roles: Collection[Role] = ()) -> Step:
    """Return the step in which every block is freed after the last operation that needs it; with
    ``roles`` only those that have one of them.

    A framework frees later: a gradient waits for the next step, the input for whoever named it, a
    map for the end of the function that made it. What that costs is the difference between the two
    plans; a step that memlab built holds nothing.

    >>> step = memlab.training_step(memlab.zoo.resnet18())
    >>> memlab.plan(memlab.release(step)).peak(32) == memlab.plan(step).peak(32)
    True

    Args:
        step: a step, such as one of ``memlab.record``.
        roles: the roles whose blocks are freed early; all where none is given.

    Raises:
        InputError: no step.
    """
    if not isinstance(step, Step):
        raise InputError(f"release rewrites a step, got {shorten(step)}; try memlab.record(...).")
    if not any(op.holds for op in step.ops):
        return step
    ops = tuple(replace(op, holds=_kept(op, roles)) if op.holds else op for op in step.ops)
    return replace(step, ops=ops, notes=(*step.notes, NOTE))


def _kept(op: Op, roles: Collection[Role]) -> Operands:
    """Tensors that an operation still holds, without those of these roles; none where no role is
    given."""
    if not roles:
        return NONE
    return {slot: tensor for slot, tensor in op.holds.items() if tensor.role not in roles}


def rewritable(step: Step) -> Step:
    """Return a released step in which every value of forward has a block of its own: then any
    operation may run again.

    ``memlab.in_place`` puts such values into one block again, where nobody reads the first any
    more. A step that memlab built stays as it is.
    """
    if not any(_changes(op) or op.holds for op in step.ops):
        return step
    values = _Values()
    return replace(release(step), ops=tuple(values.apart(op) for op in release(step).ops))


def _changes(op: Op) -> bool:
    """True if a forward operation changes a feature map in place, or running statistics."""
    return _may_run_again(op) and any(
        tensor.role is Role.FEATURE_MAP for tensor in op.updates.values()
    )


def _may_run_again(op: Op) -> bool:
    """True of the operations of forward; a chunk of a loss adds to the loss, and runs once."""
    return op.phase in (Phase.FORWARD, Phase.LOSS) and CHUNKS not in op.attributes


class _Values:
    """Newest value in every block that was changed in place."""

    def __init__(self) -> None:
        self.times: Counter[str] = Counter()
        self.newest: dict[str, Storage] = {}

    def apart(self, op: Op) -> Op:
        """Return the operation on the newest values, of which it changes none."""
        reads = {slot: self.current(tensor) for slot, tensor in op.reads.items()}
        if not _may_run_again(op):
            updates = {slot: self.current(tensor) for slot, tensor in op.updates.items()}
            return replace(op, reads=reads, updates=updates)
        changed = {slot: tensor for slot, tensor in op.updates.items() if tensor.role not in _STAY}
        kept = {slot: tensor for slot, tensor in op.updates.items() if tensor.role in _STAY}
        reads |= {slot: self.current(changed_tensor) for slot, changed_tensor in changed.items()}
        renewed = {
            f"new {slot}": self.renewed(changed_tensor) for slot, changed_tensor in changed.items()
        }
        over = {f"new {slot}": (slot,) for slot in changed}
        return replace(
            op,
            reads=reads,
            writes={**op.writes, **renewed},
            updates=kept,
            traits=Traits(over=over) if over else op.traits,
            again=op.again or (RerunRule((), op.flops) if kept else None),
        )

    def current(self, tensor: Tensor) -> Tensor:
        """Return a tensor where its newest value lies."""
        storage = self.newest.get(tensor.storage.name)
        return tensor if storage is None else replace(tensor, name=storage.name, storage=storage)

    def renewed(self, tensor: Tensor) -> Tensor:
        """Return a block for the next value."""
        name = tensor.storage.name
        self.times[name] += 1
        times = self.times[name]
        new = f"{name} changed" if times == 1 else f"{name} changed, {times} times"
        self.newest[name] = replace(tensor.storage, name=new)
        return self.current(tensor)
