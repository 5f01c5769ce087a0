"""The baseline of all reuse: every map and every gradient lives to the end of the step (A9, D2)."""

from __future__ import annotations

from dataclasses import replace

from memlab.step.lifetimes import BEFORE
from memlab.step.step import Step
from memlab.techniques import application_order
from memlab.techniques.registry import Order, technique


@technique(Order.LAST, "no reuse", "free nothing: what all reuse is compared with", compared=True)
def no_reuse(step: Step) -> Step:
    """The same step, in which nothing that is born is freed; workspace is, after its operation.

    It is what a framework would hold that never gave a block to a second tensor.

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
