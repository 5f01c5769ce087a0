"""One bit per value instead of a map: what backward of a ReLU needs is where it was positive (F6).

As the binarisation of Gist (Jain et al. 2018). It pays where nobody else reads the map in backward:
before a pooling that keeps its indices.
"""

from __future__ import annotations

from dataclasses import replace

from memlab.errors import InputError
from memlab.formats import FORMATS
from memlab.step import tensor
from memlab.step.fp32_tiles import is_staged, rewritten
from memlab.step.op import Op, Phase
from memlab.step.step import Step
from memlab.step.tensor import Role, Tensor
from memlab.techniques import application_order
from memlab.techniques.registry import Order, technique

COMPUTED_IN = ("fp32", "fp64")
"""The formats that a whole step is computed in."""


@technique(
    Order.KEPT, "1-bit ReLU masks", "a ReLU keeps one bit per value where nobody needs its map"
)
def relu_masks(step: Step) -> Step:
    """Return the step where a ReLU keeps a mask of 1 bit per value if its map is kept for it alone
    (F6).

    Forward writes the mask beside the map; the map dies after its last reader in forward. Bits are
    packed sample by sample, so that an odd number of values rounds up to a byte for each. The
    gradients are the same, bit for bit. An inference step stays as it is.

    >>> step = memlab.training_step(memlab.zoo.resnet18())
    >>> memlab.plan(memlab.relu_masks(step)).peak(32) < memlab.plan(step).peak(32)
    True

    Args:
        step: a step.

    Raises:
        InputError: no step; a training step built in half precision, or one in which no ReLU
            qualifies.
    """
    application_order.check(step, "relu_masks")
    if not step.training:
        return step  # it keeps no map for backward
    if step.format not in COMPUTED_IN and not any(is_staged(op) for op in step.ops):
        raise InputError(
            f"relu_masks rewrites a step in fp32 or fp64, got {step.format}; try it on "
            "memlab.precision(step, ...) of one in fp32."
        )
    masks = {op.writes["y"].storage.name: _mask(op) for op in _alone(step)}
    if not masks:
        raise InputError(
            "no ReLU of this step is kept for its own backward alone; try a network with a ReLU "
            "before a max pooling, such as memlab.zoo.vgg16()."
        )
    step.check_new(masks.values())
    ops = tuple(_masked(op, masks) for op in step.ops)
    return replace(step, ops=ops, notes=(*step.notes, "1-bit ReLU masks"))


def _alone(step: Step) -> list[Op]:
    """Return the ReLUs whose output no operation reads in backward but their own."""
    return [op for op in step.ops if op.kind == "relu" and _readers(step, op) == {"relu.backward"}]


def _readers(step: Step, op: Op) -> set[str]:
    """Return the kinds of the operations that read the output of an operation after forward."""
    reads = (step.ops[n] for n in step.lifetimes.uses[op.writes["y"].storage.name].reads)
    return {reader.kind for reader in reads if reader.phase is not Phase.FORWARD}


def _mask(op: Op) -> Tensor:
    y = op.writes["y"]
    return tensor.new(f"{y.name}.mask", y.axes, FORMATS["bit"], Role.FEATURE_MAP)


def _masked(op: Op, masks: dict[str, Tensor]) -> Op:
    """Return the two operations of a ReLU, with its mask."""
    if op.kind == "relu" and op.writes["y"].storage.name in masks:
        mask = masks[op.writes["y"].storage.name]
        return rewritten(op, writes={**op.writes, "mask": mask})
    if op.kind == "relu.backward" and op.reads["y"].storage.name in masks:
        reads = dict(op.reads)
        reads["mask"] = masks[reads.pop("y").storage.name]
        return rewritten(op, reads=reads)
    return op
