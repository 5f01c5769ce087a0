"""Feature maps that are dropped, and computed again when backward needs them (A10, A11, E1 to E6).

Every way to do so decides an order of operations with repeats (``ways``); the step of it follows
(``repeats``).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from memlab import units
from memlab.clocks import roofline
from memlab.clocks.roofline import Machine
from memlab.errors import InputError, one_option, true_or_false, whole_number
from memlab.hardware import Device
from memlab.step.op import Phase
from memlab.step.paused_gc import paused
from memlab.step.step import Step
from memlab.techniques import application_order
from memlab.techniques.recompute.methods import WAYS, RecomputeMethod, RecomputeRequest
from memlab.techniques.recompute.repeated_operations import resequenced
from memlab.techniques.registry import Argument, ArgumentKind, Order, Takes, technique
from memlab.techniques.release import rewritable


@technique(
    Order.RECOMPUTE, "recompute", "maps are dropped and computed again",
    choice=Argument("how", tuple(WAYS)),
    more=(
        Argument("batch", ArgumentKind.BATCH), Argument("in_place", ArgumentKind.IN_PLACE),
        Argument("device", ArgumentKind.MACHINE),
        Argument("k", ArgumentKind.COUNT, "stages in a segment, or slots"),
        Argument("layers", ArgumentKind.NAMES, "what is kept, or dropped"),
        Argument("budget", ArgumentKind.BYTES, "of the peak, such as 2GB", "--budget"),
    ),
    of=lambda how: Takes(WAYS[how].needs, WAYS[how].takes),
    shown=application_order.recomputes, does="recomputes",
    idle="keeps nothing that could be computed again",
)  # fmt: skip
@paused()
def recompute(
    step: Step,
    how: str = "every",
    *,
    k: int | None = None,
    layers: Iterable[str] | None = None,
    batch: int | None = None,
    budget: int | str | None = None,
    in_place: bool = False,
    device: str | Machine | None = None,
) -> Step:
    """Return the step in which some feature maps are dropped in forward and computed again.

    Gradients and parameters are the same, bit for bit: dropout draws what it drew before, and a
    batch norm moves its running statistics once.

    >>> step = memlab.training_step(memlab.zoo.resnet18())
    >>> memlab.plan(memlab.recompute(step)).peak(32) / memlab.plan(step).peak(32) < 0.75
    True

    Args:
        step: a step, before ``in_place``; one without backward stays as it is.
        how: ``"every"``: the output of every ``k``-th stage is kept, of every sqrt(n)-th without
            ``k`` (E1); ``"keep"``: those of the operations ``layers`` are; ``"drop"``: the outputs
            of ``layers`` (operations, or kinds of them) are dropped, and each is made again when it
            is needed; ``"cheap"``: those of batch norm, ReLU and the like are; ``"slots"``: at most
            ``k`` outputs are kept at a time, a slot for each, as if all stages were alike; a kept
            output serves the backward of its stage and of the next one, so stages run no more often
            than where a slot holds a state that must run again (E3), and no less than where it
            holds all that a backward reads (E2); ``"greedy"``: a search over budgets of a segment
            (E5); ``"chain"``: the best schedule of its stages, in bytes (E6); ``"exact"``: the best
            order of the operations of a small step, stages or not.
        k: the stages in a segment of ``"every"``, the slots of ``"slots"``.
        layers: names for ``"keep"`` and ``"drop"``.
        batch: the batch that bytes are taken at where they decide (``"greedy"``, ``"chain"``,
            ``"exact"``); the result holds for that batch alone.
        budget: for these three, the most bytes of the peak, or ``'2GB'``: of all that stay below
            it the fastest by the clock. Without it, the least peak.
        in_place: for these three, whether the bytes are those after ``memlab.in_place``, which
            you then apply to the result.
        device: for these three, the machine whose seconds count, as in ``memlab.clock``.

    Raises:
        InputError: no step, or one that is in place or recomputes already; an unknown
            way or layer; an argument that is missing or has no meaning there; a budget below the
            least peak that was found, which the message names, and that with ``in_place``.
    """
    application_order.check(step, "recompute")
    if all(op.phase is not Phase.BACKWARD for op in step.ops):
        return step  # it keeps nothing that could be dropped
    step = rewritable(step)
    if application_order.recomputes(step):
        raise InputError("this step recomputes already; start from the step before that.")
    way = one_option("way to recompute", how, WAYS)
    given: dict[str, object] = {"k": k, "layers": layers, "batch": batch, "budget": budget}
    given["device"] = device
    given["in_place"] = true_or_false("in_place", in_place) or None
    _check(how, way, {name for name, value in given.items() if value is not None})
    samples = 1 if batch is None else whole_number("batch", batch)
    if budget is not None:
        step = step.at(samples)  # a budget is for workspace, too
    wish = RecomputeRequest(
        step,
        None if k is None else whole_number("k", k),
        () if layers is None else application_order.names(layers),
        samples,
        None if budget is None else units.exact_or_parsed(budget),
        in_place,
        None if device is None else roofline.machine(device),
    )
    again = resequenced(step, way.order(wish))
    if len(again.ops) == len(step.ops):
        return step
    return replace(
        again,
        notes=(*step.notes, f"recompute ({how}{_whose(wish)})"),
        batches=step.batches if batch is None else range(wish.batch, wish.batch + 1),
    )


def _whose(wish: RecomputeRequest) -> str:
    """Return the owner of the figures by which an order within a budget was found the fastest; a
    machine that was named by its figures goes without saying."""
    if wish.budget is None or isinstance(wish.machine, Device):
        return ""
    return f", by {roofline.by(wish.machine)}"


def _check(how: str, way: RecomputeMethod, given: set[str]) -> None:
    """Refuse arguments that a way to recompute does not take, or lacks."""
    for name in way.needs:
        if name not in given:
            raise InputError(f"recompute {how!r} needs {name}; try {way.example}.")
    for name in given:
        if name not in (*way.needs, *way.takes):
            raise InputError(f"recompute {how!r} takes no {name}; try {way.example}.")
