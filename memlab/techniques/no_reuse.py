"""The baseline of all reuse: every map and every gradient lives to the end of the step (A9, D2)."""

from __future__ import annotations

from dataclasses import replace

from memlab.step.lifetimes import BEFORE
from memlab.step.step import Step
from memlab.techniques import application_order
from memlab.techniques.registry import Order, technique


@technique(Order.LAST, "no reuse", "free nothing: what all reuse is compared with", compared=True)
def no_reuse(step: Step) -> Step:
    """Return the step in which nothing that is born is freed (A9, D2); workspace is freed after its
    operation.

    It takes the memory of a framework that never gave a block to a second tensor.

    >>> step = memlab.training_step(memlab.zoo.resnet18())
    >>> kept, plain = memlab.plan(memlab.no_reuse(step)), memlab.plan(step)
    >>> print(f"{kept.peak(32) / plain.peak(32):.1f} times")
    2.7 times

    Args:
        step: a step.

    Raises:
        InputError: no step.
    """
    application_order.check(step, "no_reuse")
    last = len(step.ops) - 1
    kept = (
        life.tensor
        for life in step.lifetimes.values()
        if life.birth != BEFORE and life.death <= last
    )
    return replace(step, live_out=(*step.live_out, *kept), notes=(*step.notes, "no reuse"))
