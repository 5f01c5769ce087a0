"""Each technique tried on one step: made, planned or placed, and run where that is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from memlab import units
from memlab.build.step import training_step
from memlab.claims.revolve import sqrt_slots
from memlab.clocks import roofline
from memlab.clocks.roofline import Machine
from memlab.errors import InputError, flag, shorten
from memlab.ledger.plan import plan
from memlab.networks.graph import Network
from memlab.pictures.techniques.bytes_and_time import (
    BEST,
    Floor,
    Measured,
    Technique,
    TechniqueStudy,
    Trade,
)
from memlab.pictures.values.recipe import network_of
from memlab.placement import exact_packing
from memlab.placement.placement import Block, Placement, arrange, blocks, booked
from memlab.step.step import Step
from memlab.step.storage import Size
from memlab.techniques import order
from memlab.techniques.recompute import chain_optimum, recompute
from memlab.techniques.recompute.exact_order import LARGEST
from memlab.techniques.recompute.order_memory import cost
from memlab.techniques.recompute.step_as_chain import cuts
from memlab.techniques.registry import Use, techniques, use

if TYPE_CHECKING:
    from memlab.kernels.registry import Array

BESIDE = ("every", "cheap", "greedy")
"""Techniques that the best schedule of a chain is compared with."""
LONGEST = 60
"""Stages of the longest chain whose optimum is looked for."""
MOST, ENOUGH = 5, 0.2
"""So many runs of each are timed at most, fewer where they have taken so many seconds."""


def compare_techniques(
    subject: str | Network | Step,
    batch: int = 8,
    budget: int | str | None = None,
    measure: bool = False,
    progress: bool = True,
    device: str | Machine | None = None,
) -> TechniqueStudy:
    """What each technique saves on a step at a batch, and what it costs.

    ``budget`` is the most bytes of the peak, or ``'2GB'``, for the fastest schedule of a chain
    below it; without it, halfway from the least peak of the chain to the plain one. ``measure``
    also runs each. Time is planned for ``device``, as in ``memlab.clock``.

    Raises:
        InputError: no network or step, one with techniques in it, or a batch that it does not hold
            for; a budget below the least peak of the chain; what does not fit or has no kernel,
            before anything runs.
    """
    limit = None if budget is None else units.exact_or_parsed(budget)
    step, measure = _step(subject), flag("measure", measure)
    number = step.held(batch)
    machine = roofline.machine(device)
    chosen = _choices(step, number, limit, device)
    known = trades(step, number, machine) if chosen.chained else ()
    rows = [_planned(each, number, known, machine) for each in chosen.made]
    return TechniqueStudy(
        network=step.label or step.network,
        batch=number,
        rows=tuple(_measured(rows, number, progress) if measure else rows),
        budget=chosen.budget,
        given=budget is not None,
        stages=chosen.stages,
        trades=unbeaten([*known, *(row.point for row in rows if row.key in BEST)]),
        schedules=len(known),
        left_out=chosen.left_out,
        machine=machine,
    )


def _step(subject: object) -> Step:
    if isinstance(subject, str):
        subject = network_of(subject)
    if isinstance(subject, Network):
        subject = training_step(subject)
    if not isinstance(subject, Step):
        raise InputError(
            f"techniques are compared on a network or a step, got {shorten(subject)}; try "
            "memlab.views.techniques('resnet50')."
        )
    if done := order.done(subject):
        raise InputError(
            f"techniques are compared on a step without any, and this one {done}; try "
            "memlab.training_step(network)."
        )
    return subject


# -- which techniques, and the step that each makes -----------------------------------------------


class Choice(NamedTuple):
    """A technique by its key: the call that makes its step, and the step; ``placed`` where
    everything that is born in the step lies in one arena."""

    key: str
    call: str
    step: Step
    placed: bool = False


class Choices(NamedTuple):
    """What is compared, and the keys of what is left out; the ``stages`` of the step as a chain,
    whether the best schedules of it are known (``chained``), and the budget of one."""

    made: list[Choice]
    left_out: tuple[str, ...]
    stages: int = 0
    chained: bool = False
    budget: int | None = None


def _choices(step: Step, batch: int, budget: int | None, device: str | Machine | None) -> Choices:
    alone = {row.name: _made(row.name, use(row.name), step)
             for row in techniques().values() if row.compared}  # fmt: skip
    shared = alone.pop("in_place")
    made = [alone.pop("no_reuse"), Choice("plain", "step", step), shared]
    made += [_placed("placed", shared.call, shared.step, batch), *alone.values()]
    if not step.training:
        return Choices(made, ("inference",))
    stages = len(cuts(step).parts)
    chained = stages <= LONGEST
    made += [_way("every", step, "every"), _way("cheap", step, "cheap")]
    if chained:
        budget = _halfway(step, batch) if budget is None else budget
        made += _chained(step, batch, budget, device)
    else:
        budget = None
        made.append(_way("slots", step, "slots", k=sqrt_slots(stages)[1]))
    least, proved = made[-1], _exact(step, batch, device)
    made += [*proved, _combined(least, batch)]
    left_out = (("chain", not chained), ("exact", not proved))
    out = tuple(key for key, missing in left_out if missing)
    return Choices(made, out, stages, chained, budget)


def _halfway(step: Step, batch: int) -> int | None:
    """The bytes between the least peak of the chain and the plain one; none where they are one."""
    least, most = (plan(each).peak(batch) for each in (recompute(step, "chain", batch=batch), step))
    return (least + most) // 2 if least < most else None


def _made(key: str, by: Use, step: Step) -> Choice:
    return Choice(key, by.line(), by(step))


def _way(key: str, step: Step, how: str, **given: Any) -> Choice:
    return _made(key, use("recompute", how, **given), step)


def _placed(key: str, call: str, step: Step, batch: int) -> Choice:
    """A step in place, with an address for everything that is born in it."""
    return Choice(key, f"memlab.place({call}, {batch})", step, placed=True)


def _combined(least: Choice, batch: int) -> Choice:
    last = use("in_place")
    return _placed("combined", last.line(least.call), last(least.step), batch)


def _chained(
    step: Step, batch: int, budget: int | None, device: str | Machine | None
) -> Iterator[Choice]:
    """Searches over the stages of a chain; the least peak comes last."""
    yield _way("greedy", step, "greedy", batch=batch, device=device)
    if budget is not None:
        yield _way("within", step, "chain", batch=batch, budget=budget, device=device)
    yield _way("chain", step, "chain", batch=batch, device=device)


def _exact(step: Step, batch: int, device: str | Machine | None) -> list[Choice]:
    """The order of the least peak of a small step; none where it cannot be proved in seconds."""
    if len(step.ops) > LARGEST:
        return []
    try:
        return [_way("exact", step, "exact", batch=batch, device=device)]
    except InputError:
        return []


# -- planned ------------------------------------------------------------------------------------


def _planned(choice: Choice, batch: int, known: Sequence[Trade], machine: Machine) -> Technique:
    step, ledger = choice.step, plan(choice.step)
    placement = _placement(blocks(step, batch)) if choice.placed else None
    if placement is not None:
        ledger = booked(ledger, placement, batch)
    peak = ledger.peak(batch)
    again = [op for op in step.ops if order.AGAIN in op.attributes]
    beside = known and choice.key in BESIDE
    return Technique(
        key=choice.key,
        call=choice.call,
        step=step,
        peak=peak,
        operations=len(step.ops),
        again=len(again),
        flops=sum((op.flops for op in again), Size()).at(batch),
        cost=cost(step.ops, batch, machine),
        floor=floor(step, batch),
        placement=placement,
        optimum=within(peak, known) if beside else None,
    )


@lru_cache(maxsize=8)
def _placement(found: tuple[Block, ...]) -> Placement:
    """The smallest arena where it can be proved in seconds, else the best that was found."""
    if len(found) <= exact_packing.MOST:
        try:
            return arrange(found, "exact")
        except InputError:  # no proof in time
            pass
    return arrange(found, "best")


# -- the optimum -------------------------------------------------------------------------------


def trades(step: Step, batch: int, machine: Machine | None = None) -> tuple[Trade, ...]:
    """What the best schedules of the stages of a step take, from the least bytes to the least time
    (fact E6)."""
    found = cuts(step, machine)
    beside = found.throughout(batch)
    rest = cost((step.ops[number] for number in found.rest), batch, machine)
    best = chain_optimum.frontier(found.chain(batch))
    return tuple(Trade(nbytes + beside, spent + rest) for nbytes, spent in best)


def unbeaten(found: Iterable[Trade]) -> tuple[Trade, ...]:
    """Those that no other one beats in both, from the least bytes on."""
    kept: list[Trade] = []
    for each in sorted(found):
        if not kept or each.cost < kept[-1].cost:
            kept.append(each)
    return tuple(kept)


def within(nbytes: int, known: Iterable[Trade]) -> Trade | None:
    """The fastest schedule of the stages whose peak is at most so many bytes; ``None`` where all
    have a higher one."""
    fits = (each for each in known if each.nbytes <= nbytes)
    return min(fits, key=lambda each: (each.cost, each.nbytes), default=None)


def floor(step: Step, batch: int) -> Floor:
    """What is there before and after the step, and what the largest operation touches beside it."""
    after = {each.storage.name for each in step.live_out}
    there = {each.storage for each in step.live_in if each.storage.name in after}
    always = sum(storage.size.at(batch) for storage in there)
    found = []
    for op in step.ops:
        touched = {each.storage for each in (*op.touched(), *op.workspace.values())} - there
        found.append(Floor(always + sum(each.size.at(batch) for each in touched), op.name))
    return max(found, key=lambda each: each.nbytes)


# -- measured -----------------------------------------------------------------------------------


class Results(NamedTuple):
    """What a step has computed."""

    loss: float | None
    gradients: Mapping[str, Array]
    parameters: Mapping[str, Array]
    output: Array | None

    def unlike(self, other: Results) -> tuple[str, ...]:
        """Which of them are not those of another step bit for bit."""
        pairs = zip(self._fields, self, other, strict=True)
        return tuple(name for name, one, another in pairs if not _same(one, another))


def _same(one: object, other: object) -> bool:
    """Bit for bit; NaN is NaN."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_same(one[name], other[name]) for name in one)
    import numpy as np

    return np.asarray(one).tobytes() == np.asarray(other).tobytes()


def _measured(rows: Sequence[Technique], batch: int, progress: bool) -> list[Technique]:
    """The rows with what their runs used; refused before the first where one of them cannot run.

    Each also runs once with its gradients kept, to compare them.
    """
    from memlab.runtime import backend, memory_guard
    from memlab.runtime.program import kernels_of

    room = backend.find("cpu").room()
    for step in (each for row in rows for each in (row.step, _kept(row.step))):
        memory_guard.check(plan(step), batch, room)
        kernels_of(step, "cpu")
    expected = _results(next(row for row in rows if row.key == "plain"), batch, progress)
    made = []
    for row in rows:
        other = _results(row, batch, progress).unlike(expected)
        peaks, residuals, seconds = zip(*_runs(row, batch, progress), strict=True)
        seen = Measured(max(peaks), max(residuals), median(seconds), other)
        made.append(replace(row, measured=seen))
    return made


def _runs(row: Technique, batch: int, progress: bool) -> list[tuple[int, int, float]]:
    """Peak, residual and seconds of some runs: one where it takes long."""
    from memlab.runtime.run import run

    found = list[tuple[int, int, float]]()
    while len(found) < MOST and sum(seconds for _, _, seconds in found) < ENOUGH:
        done = run(row.step, batch, placement=row.placement, poison=False, progress=progress)
        found.append((done.peak, done.residual, done.seconds))
    return found


def _kept(step: Step) -> Step:
    return step.keep("gradients") if step.training else step


def _results(row: Technique, batch: int, progress: bool) -> Results:
    """Of a run in which nobody may read what is free."""
    from memlab.runtime.run import run

    step = _kept(row.step)
    placement = None if row.placement is None else arrange(blocks(step, batch))
    done = run(step, batch, placement=placement, progress=progress)
    return Results(done.loss, done.gradients, done.parameters, done.output)
