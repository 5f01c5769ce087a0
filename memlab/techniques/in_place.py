"""An output takes the place of an input that nobody needs any more (D1).

An operation that computes value by value may write over what it reads: the input's counter of
readers must be 1, and backward must not need it, or need the output alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from memlab.errors import InputError, unknown
from memlab.step.lifetimes import BEFORE
from memlab.step.op import Op, Operands
from memlab.step.step import Step
from memlab.step.storage import Storage
from memlab.step.tensor import Tensor
from memlab.techniques import application_order
from memlab.techniques.registry import Order, technique

THERE, STAYS = "what is there before the step", "what outlives the step"


@technique(
    Order.LAST, "in place", "outputs overwrite inputs that die there",
    shown=application_order.shares, does="is in place", compared=True,
)  # fmt: skip
def in_place(step: Step, layers: Iterable[str] | None = None) -> Step:
    """Return the step in which outputs overwrite inputs that die in the same operation (D1).

    Gradients and parameters are the same, bit for bit.

    >>> step = memlab.training_step(memlab.zoo.mnist_cnn(), "adam")
    >>> memlab.plan(memlab.in_place(step)).peak(32) < memlab.plan(step).peak(32)
    True

    Args:
        step: a step; in place comes after all other techniques.
        layers: the names of the only operations that may overwrite an input; then each of them must
            be able to. None: all operations.

    Raises:
        InputError: no step; one of ``layers`` is no operation, or would change a result: the
            message says which tensor is still needed, and by whom.
    """
    application_order.check(step, "in_place")
    wanted = None if layers is None else _named(step, layers)
    homes = _Homes(step)
    for op in step.ops:
        if wanted is None or op.name in wanted:
            why = homes.settle(op)
            if why and wanted is not None:
                raise InputError(f"{op.name} cannot run in place: {why}.")
    if not homes.moved:
        return step
    notes = step.notes if "in place" in step.notes else (*step.notes, "in place")
    return replace(
        step,
        ops=tuple(homes.rewritten(op) for op in step.ops),
        live_out=tuple(map(homes.tensor, step.live_out)),
        notes=notes,
    )


def _named(step: Step, layers: Iterable[str]) -> frozenset[str]:
    wanted, known = frozenset(application_order.names(layers)), [op.name for op in step.ops]
    for name in wanted:
        if name not in known:
            raise unknown("operation", name, known)
    return wanted


class _Homes:
    """Storages that have moved into another one, and the last reader of every storage."""

    def __init__(self, step: Step) -> None:
        self.step = step
        self.moved: dict[str, Storage] = {}
        self.shared = application_order.shared(step)
        self.last = {name: _last(step, name) for name in step.lifetimes}

    def home(self, tensor: Tensor) -> Storage:
        """Storage in which a tensor lies now."""
        return self.moved.get(tensor.storage.name, tensor.storage)

    def settle(self, op: Op) -> str:
        """Move the output of an operation to one of its inputs; return the reason where that cannot
        be."""
        if not op.traits.over:
            return f"{op.kind} reads values again after it has written others"
        reasons = [self.placed(op, slot, sources) for slot, sources in op.traits.over.items()]
        return "" if "" in reasons else " and ".join(dict.fromkeys(reasons))

    def placed(self, op: Op, slot: str, sources: Iterable[str]) -> str:
        """Move one output of an operation; return the reason where that cannot be."""
        if slot not in op.writes or "addend" in op.reads:
            return "its result is added to a gradient that is there already"
        output, reasons = op.writes[slot], list[str]()
        if output.storage.name in self.shared:
            return f"{output.name} shares its block with others already"
        for source in sources:
            reasons.append(self.reason(op, output, op.reads[source]))
            if not reasons[-1]:
                home = self.home(op.reads[source])
                self.moved[output.storage.name] = home
                self.last[home.name] = self.last[output.storage.name]
                return ""
        return " and ".join(dict.fromkeys(reasons))

    def reason(self, op: Op, output: Tensor, there: Tensor) -> str:
        """Return the reason why an output cannot lie where an input is; empty where it can."""
        home = self.home(there)
        last = self.last[home.name]
        if last in (THERE, STAYS):
            return f"{there.name} is {last}"
        if last != op.name:
            return f"{last} still needs {there.name}"
        if sum(self.home(tensor).name == home.name for tensor in op.reads.values()) > 1:
            return f"it reads {there.name} twice"
        if not alike(output, there):
            return f"{there.name} is not of the same bytes, format and role as {output.name}"
        return ""

    def rewritten(self, op: Op) -> Op:
        """Return the operation on its tensors where they lie now."""
        return replace(
            op,
            reads=self.operands(op.reads),
            writes=self.operands(op.writes),
            updates=self.operands(op.updates),
            holds=self.operands(op.holds),
        )

    def operands(self, operands: Operands) -> Operands:
        return {slot: self.tensor(operand) for slot, operand in operands.items()}

    def tensor(self, tensor: Tensor) -> Tensor:
        """Return a tensor in the storage that it has moved to."""
        home = self.moved.get(tensor.storage.name)
        return tensor if home is None else replace(tensor, storage=home)


def alike(output: Tensor, there: Tensor) -> bool:
    """Return whether each of two tensors fills its block, and both have the same bytes, format and
    role."""
    own, home = output.storage, there.storage
    same = home.size == own.size == there.size == output.size and home.memory == own.memory
    return same and there.format is output.format and there.role is output.role


def _last(step: Step, storage: str) -> str:
    """Return the last operation that uses a block, or the reason why no operation is."""
    life = step.lifetimes[storage]
    if life.death >= len(step.ops):
        return STAYS
    return THERE if life.birth == BEFORE else step.ops[step.lifetimes.uses[storage].all[-1]].name
