"""The baseline of all reuse: every map and every gradient lives to the end of the step (A9, D2)."""

from __future__ import annotations

from dataclasses import replace

from memlab.step.step import Step
from memlab.techniques import order


def no_reuse(step: Step) -> Step:
    """The same step, in which nothing that is born is freed; workspace is, after its operation.

    It is what a framework would hold that never gave a block to a second tensor.

    Raises:
        InputError: no step.
    """
    order.check(step, "no_reuse", ())
    there = {tensor.storage.name for tensor in (*step.live_in, *step.live_out)}
    born = {
        tensor.storage.name: tensor
        for op in reversed(step.ops)
        for tensor in op.writes.values()
        if tensor.storage.name not in there
    }
    kept = reversed(born.values())
    return replace(step, live_out=(*step.live_out, *kept), notes=(*step.notes, "no reuse"))
