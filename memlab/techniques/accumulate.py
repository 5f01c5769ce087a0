"""Gradient accumulation: the batch in parts, whose gradients are added up before one update.

Each part runs forward, loss and backward on its own, so the maps of one part alone are alive at a
time. What stays from part to part are the gradients of the parameters.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod

from memlab.errors import InputError, whole_number
from memlab.step.fp32_tiles import rewritten
from memlab.step.op import LOAD, OF_PART, Op, Operands, Phase, ending
from memlab.step.paused_gc import paused
from memlab.step.step import Step
from memlab.step.storage import Size
from memlab.step.tensor import Role, Tensor
from memlab.techniques import application_order
from memlab.techniques.application_order import PART, PARTS
from memlab.techniques.recompute.repeated_operations import names_of, renamed
from memlab.techniques.registry import Argument, ArgumentKind, Order, technique
from memlab.techniques.release import release

MOST = 1024
"""Parts of a step: each has all operations of the step but the updates."""


@technique(
    Order.LAST, "accumulate", "N parts of that batch, and one update for all",
    choice=Argument("parts", ArgumentKind.COUNT),
    shown=application_order.accumulates, does="accumulates",
    idle="has no gradients that could be added up", exact=False,
)  # fmt: skip
@paused()
def accumulate(step: Step, parts: int = 2) -> Step:
    """Return the step for ``parts`` times as many samples: its batch is that of one part.

    ``plan(accumulate(step, 2)).peak(128)`` is of a step that learns from 256 samples. Loss and
    gradients are those of the mean over all of them, up to rounding, where no layer looks at the
    batch: a batch norm normalizes each part by its own mean and variance, and moves its running
    statistics once for each. Dropout draws anew for each part.

    The first part writes the gradients of parameters, the others add to them, so they are alive
    through all forward and backward of the others. Weights are read once for each part, which costs
    time where a part is so small that a layer waits for them. Input and labels of a part have a
    block of their own, which is taken when the part begins and given back after its last reader:
    those of one part are on the device at a time, as a loader brings them.

    It comes after formats, recompute and offload, before or after in place; what these decided at
    a batch, they decided for one part, without the gradients of the parts before.

    >>> step = memlab.training_step(memlab.zoo.mnist_cnn(), "adam")
    >>> memlab.plan(memlab.accumulate(step, 4)).peak(8) < memlab.plan(step).peak(32)
    True

    Source: Ott et al. 2018, "Scaling Neural Machine Translation" (arXiv 1806.00187); with ``parts``
    as the micro-batches of Huang et al. 2019, GPipe (arXiv 1811.06965).

    Args:
        step: a training step; one without backward stays as it is.
        parts: how many, 1 to 1,024; 1 leaves the step as it is.

    Raises:
        InputError: no step, or one that accumulates already, keeps maps to its end, or does more
            than updates after the first one; no whole number of parts.
    """
    application_order.check(step, "accumulate")
    step, count = release(step), whole_number("parts", parts, most=MOST)
    if application_order.accumulates(step):
        raise InputError(
            f"this step accumulates over {application_order.parts(step)} parts already; start from "
            "the step before that, and ask for more parts."
        )
    if count == 1 or all(op.phase is not Phase.BACKWARD for op in step.ops):
        return step
    ops = tuple(_PartWriter(step, count).all())
    step.check_new(t for op in ops if op.attributes.get(PART, 1) > 1 for t in op.writes.values())
    return replace(step, ops=ops, notes=(*step.notes, f"accumulated over {count} parts"))


class _PartWriter:
    """Writer of the operations of one part after the other, then of the updates."""

    def __init__(self, step: Step, count: int) -> None:
        updates = (n for n, op in enumerate(step.ops) if op.phase is Phase.UPDATE)
        end = next(updates, len(step.ops))
        self.ops, self.updates, self.count = step.ops[:end], step.ops[end:], count
        self.names = {op.name for op in self.ops}
        self.inputs = [tensor for tensor in step.live_in if tensor.role is Role.INPUT]
        left = {tensor.storage.name for tensor in step.live_out}
        self.sums = {
            tensor.storage.name
            for op in self.ops
            for tensor in op.writes.values()
            if tensor.role is Role.PARAMETER_GRADIENT
            or (op.phase is Phase.LOSS and tensor.storage.name in left and not tensor.axes)
        }
        """The storages that all parts add to."""
        there = set(names_of(step.live_in)) - set(names_of(self.inputs))
        touched = {tensor.storage.name for op in self.ops for tensor in op.touched()}
        self.own = touched - there - self.sums
        """Those that each part has for itself."""
        self.check(step)

    def check(self, step: Step) -> None:
        """Refuse a step with something that no part can have for itself."""
        for op in self.updates:
            if op.phase is not Phase.UPDATE:
                raise InputError(
                    f"{op.name} comes after an update, and accumulate adds up the gradients of "
                    "all parts before the first; start from memlab.training_step(network)."
                )
        for tensor in step.live_out:
            if tensor.storage.name in self.own:
                raise InputError(
                    f"{tensor.name} outlives this step, and accumulate would keep it of one part "
                    "alone; try memlab.no_reuse(memlab.accumulate(step, ...))."
                )

    def all(self) -> Iterator[Op]:
        """Yield all operations of the new step."""
        for number in range(1, self.count + 1):
            yield from self.part(number)
        yield from map(self.waiting, self.updates)

    def part(self, number: int) -> Iterator[Op]:
        """Yield the operations of a part, counted from 1; all but the first begin
        with their input."""
        marked = {PART: number, PARTS: self.count}
        if number > 1:
            yield replace(self.load(number), attributes=marked)
        for op in self.ops:
            own = self.again(op, ending(number)) if number > 1 else op
            yield replace(own, attributes={**own.attributes, **marked})

    def load(self, number: int) -> Op:
        """Return the operation by which input and labels of a part take their blocks."""
        writes = {input_.name: renamed(input_, ending(number)) for input_ in self.inputs}
        moved = sum((tensor.size for tensor in writes.values()), Size())
        name = f"load of part {number}"
        layer = self.inputs[0].name if self.inputs else ""
        return Op(name, LOAD, Phase.FORWARD, writes=writes, bytes_moved=moved, layer=layer)

    def again(self, op: Op, suffix: str) -> Op:
        """Return an operation on the tensors of another part; it adds to the sums."""
        added = {
            name: tensor for name, tensor in op.writes.items() if tensor.storage.name in self.sums
        }
        writes = {name: tensor for name, tensor in op.writes.items() if name not in added}
        workspace = {name: renamed(scratch, suffix) for name, scratch in op.workspace.items()}
        if op.traits.apart:
            workspace |= {
                name + OF_PART: _beside(written, suffix) for name, written in added.items()
            }
        return rewritten(
            op,
            name=op.name + suffix,
            reads=self.renamed(op.reads, suffix),
            writes=self.renamed(writes, suffix),
            updates=self.renamed({**op.updates, **added}, suffix),
            workspace=workspace,
            holds=self.renamed(op.holds, suffix),
            attributes={**op.attributes, "draw": op.attributes.get("draw", op.name) + suffix},
            flops=op.flops + sum((_values(written) for written in added.values()), Size()),
            after=tuple(name + suffix for name in op.after),
        )

    def renamed(self, operands: Operands, suffix: str) -> Operands:
        """Return the tensors of another part where each part has its own."""
        return {
            slot: renamed(operand, suffix) if operand.storage.name in self.own else operand
            for slot, operand in operands.items()
        }

    def waiting(self, op: Op) -> Op:
        """Return an update, which waits for the last part where it waited for an operation of the
        step."""
        last = ending(self.count)
        return replace(op, after=tuple(n + last * (n in self.names) for n in op.after))


def _values(tensor: Tensor) -> Size:
    """Return the number of additions for a tensor: one for each value."""
    return Size(prod(extent for _, extent in tensor.axes))


def _beside(gradient: Tensor, suffix: str) -> Tensor:
    """Return a tensor with room for the gradient of one part."""
    return replace(renamed(gradient, OF_PART + suffix), role=Role.WORKSPACE)
