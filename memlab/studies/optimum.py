"""The optimum beside the techniques: the best schedules of a chain, the least of any order."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

from memlab.errors import InputError
from memlab.planner import chains
from memlab.planner.book import plan
from memlab.step.step import Step
from memlab.techniques.again import resequenced
from memlab.techniques.cuts import cost, cuts
from memlab.techniques.recompute import recompute

MOST = 32
"""So many schedules of a chain are planned at most."""


class Trade(NamedTuple):
    """The most bytes alive, and nanoseconds by the clock."""

    nbytes: int
    cost: int


def trades(step: Step, batch: int) -> tuple[tuple[Trade, ...], int]:
    """What the best schedules of the stages of a step take, from the least bytes to the least time
    (fact E6), as they are planned; and how many there are, of which ``MOST`` are planned."""
    found = cuts(step)
    chain = found.chain(batch)
    best = chains.frontier(chain)
    count = min(len(best), MOST)
    chosen = (round(i * (len(best) - 1) / max(count - 1, 1)) for i in range(count))
    schedules = (chains.least_time(chain, best[number][0]) for number in chosen)
    made = (resequenced(step, found.order(schedule)) for schedule in schedules)
    return tuple(trade(each, batch) for each in made), len(best)


def trade(step: Step, batch: int) -> Trade:
    """What a step takes."""
    return Trade(plan(step).peak(batch), cost(step.ops, batch))


def unbeaten(found: Iterable[Trade]) -> tuple[Trade, ...]:
    """Those that no other one beats in both, from the least bytes on."""
    kept: list[Trade] = []
    for each in sorted(found):
        if not kept or each.cost < kept[-1].cost:
            kept.append(each)
    return tuple(kept)


def within(step: Step, batch: int, nbytes: int, known: Iterable[Trade]) -> Trade | None:
    """The fastest schedule of the stages whose peak is at most so many bytes, among those that are
    ``known`` and the one of a search; ``None`` where all have a higher one."""
    found = [*known]
    with suppress(InputError):  # less than the least
        found.append(trade(recompute(step, "chain", batch=batch, budget=nbytes), batch))
    fits = (each for each in found if each.nbytes <= nbytes)
    return min(fits, key=lambda each: (each.cost, each.nbytes), default=None)


class Floor(NamedTuple):
    """Bytes that no order of the operations can do without, and the operation that needs them."""

    nbytes: int
    operation: str


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
