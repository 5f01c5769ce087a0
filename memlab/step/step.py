"""A step: operations in order, and what is alive before and after them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from memlab.errors import InputError
from memlab.step.op import Op
from memlab.step.rules import describe
from memlab.step.tensor import Role, Tensor


@dataclass(frozen=True)
class Step:
    """One training step (or one inference) as data.

    ``live_in`` is alive before the first operation, as in the second step of training: parameters,
    buffers, optimizer state, input and labels. ``live_out`` stays alive. Everything else lives from
    its first writer to its last reader. ``threads`` is how many hold a workspace each.
    ``batches`` are the batches that the plan is valid for, all where it is ``None``.
    """

    ops: tuple[Op, ...]
    live_in: tuple[Tensor, ...]
    live_out: tuple[Tensor, ...]
    network: str = ""
    label: str = ""
    format: str = "fp32"
    optimizer: str = ""
    training: bool = True
    threads: int = 1
    batches: range | None = None

    def __post_init__(self) -> None:
        self._check_names()
        self._check_order()

    def _check_names(self) -> None:
        if len({op.name for op in self.ops}) < len(self.ops):
            raise InputError("two operations of this step have one name; rename one.")

    def _check_order(self) -> None:
        born = {tensor.storage.name for tensor in self.live_in}
        for op in self.ops:
            for tensor in (*op.reads.values(), *op.updates.values()):
                if tensor.storage.name not in born:
                    raise InputError(f"{op.name} reads {tensor.name} before anything writes it.")
            born.update(tensor.storage.name for tensor in op.writes.values())
        for tensor in self.live_out:
            if tensor.storage.name not in born:
                raise InputError(f"{tensor.name} should outlive the step, but nothing writes it.")

    def keep(self, what: str) -> Step:
        """The same step with ``'gradients'`` alive at its end, and so in its plan.

        Raises:
            InputError: anything else than ``'gradients'``.
        """
        if what != "gradients":
            raise InputError(f"only 'gradients' can be kept, got {what!r}.")
        kept = {
            tensor.storage.name: tensor
            for op in self.ops
            for tensor in op.writes.values()
            if tensor.role is Role.PARAMETER_GRADIENT
        }
        for tensor in self.live_out:
            kept.pop(tensor.storage.name, None)
        return replace(self, live_out=(*self.live_out, *kept.values()))

    def describe(self) -> str:
        """In a few words: ``'ResNet-50 v1, fp32, SGD with momentum, training'``."""
        return describe(self.label, self.format, self.optimizer, self.training)

    def __repr__(self) -> str:
        return f"<step: {self.describe()}, {len(self.ops)} operations>"
