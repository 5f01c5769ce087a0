"""A step: operations in order, and what is alive before and after them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

from memlab.errors import InputError, known, whole_number
from memlab.optimizers import title
from memlab.step.lifetimes import Lifetimes, two_blocks
from memlab.step.op import Op
from memlab.step.tensor import Role, Tensor
from memlab.strings import gettext as _


class WorkspaceMeasurement(Protocol):
    """Measurement of the workspace of a step's operations, which is made when a batch is asked for.

    It serves the step that it was made for and every rewrite of it.
    """

    def key(self, batch: int | None) -> Hashable:
        """Return a key of the answer at ``batch``, or without one of that for any batch; equal
        answers have equal keys."""

    def step(self, step: Step, batch: int | None) -> Step:
        """Return the step with workspace as a part of its operations: at a batch, or without one as
        an upper bound for any."""


@dataclass(frozen=True)
class Step:
    """Training step, or inference, as data.

    ``live_in`` is alive before the first operation, as in the second step of training: parameters,
    buffers, optimizer state, input and labels. ``live_out`` stays alive. Everything else lives from
    its first writer to its last reader. ``threads`` is how many hold a workspace each; ``notes``
    say in a few words what is unlike the default, and every technique adds its own. ``batches`` are
    the batches that the plan is valid for, all where it is ``None``. ``measurement`` is there as
    long as the workspace is no part of the operations; it is no part of the step's value.
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
    notes: tuple[str, ...] = ()
    batches: range | None = None
    measurement: WorkspaceMeasurement | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if len({op.name for op in self.ops}) < len(self.ops):
            name = Counter(op.name for op in self.ops).most_common(1)[0][0]
            raise InputError(f"two operations of this step are named {name!r}; rename one.")
        _ = self.lifetimes

    @cached_property
    def lifetimes(self) -> Lifetimes:
        """Return when every block is alive, and which operations use it."""
        return Lifetimes(self.ops, self.live_in, self.live_out)

    def check_made_once(self) -> None:
        """Raise an error if two blocks have the same name, even if they are alike.

        Raises:
            InputError: two were made.
        """
        if self.lifetimes.twice:
            raise two_blocks(self.lifetimes.twice)

    def check_new(self, tensors: Iterable[Tensor]) -> None:
        """Raise an error if a technique adds blocks under names that the step already has.

        Raises:
            InputError: there is one.
        """
        names = self.lifetimes.names
        for tensor in tensors:
            if tensor.storage.name in names:
                raise two_blocks(tensor)

    def at(self, batch: int | None = None) -> Step:
        """Return the step with its workspace: itself where that is known, else the step in which it
        is measured at a batch, or without one is an upper bound for any."""
        return self if self.measurement is None else self.measurement.step(self, batch)

    def keep(self, what: str) -> Step:
        """Return the step with ``'gradients'`` kept alive until its end, and so in its plan.

        Raises:
            InputError: anything else than ``'gradients'``.
        """
        known("thing to keep", what, ["gradients"])
        kept = {
            tensor.storage.name: tensor
            for op in self.ops
            for tensor in op.writes.values()
            if tensor.role is Role.PARAMETER_GRADIENT
        }
        for tensor in self.live_out:
            kept.pop(tensor.storage.name, None)
        return replace(self, live_out=(*self.live_out, *kept.values()))

    def held(self, batch: object, hint: str = "make it again at that batch") -> int:
        """Return the batch as an ``int``, if the step is valid for it.

        Raises:
            InputError: no whole number of at least 1, or a batch that it does not hold for; the
                hint says what to do then.
        """
        number, valid = whole_number("batch", batch), self.batches
        if valid is not None and number not in valid:
            held = f"{valid.start} to {valid.stop - 1}"
            raise InputError(f"this step holds for batch {held}, got {number}; {hint}.")
        return number

    def describe(self) -> str:
        """Return the step in a few words: ``'ResNet-50 v1.5, fp32, SGD with
        momentum, training'``."""
        return describe(self.label, self.format, self.optimizer, self.training, self.notes)

    def __repr__(self) -> str:
        return f"<step: {self.describe()}, {len(self.ops)} operations>"


def describe(
    label: str, format: str, optimizer: str, training: bool, notes: tuple[str, ...] = ()
) -> str:
    """Return a step in a few words: ``'ResNet-50 v1.5, fp32, SGD with momentum, training'``."""
    mode = _("training") if training else _("inference")
    return ", ".join(filter(None, (label, format, title(optimizer), mode, *notes)))
