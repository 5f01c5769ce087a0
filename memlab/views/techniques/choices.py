"""Which techniques are compared on a step, and the step that each makes of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from memlab.errors import InputError
from memlab.planner.book import plan
from memlab.planner.graphs import LARGEST
from memlab.planner.slots import sqrt_slots
from memlab.step.step import Step
from memlab.techniques.cuts import cuts
from memlab.techniques.in_place import in_place
from memlab.techniques.no_reuse import no_reuse
from memlab.techniques.recompute import recompute

LONGEST = 60
"""Stages of the longest chain whose optimum is looked for."""


@dataclass(frozen=True)
class Choice:
    """A technique: its key among the texts, the step that it makes, and the call that makes it.

    ``placed``: everything that is born in the step lies in one arena.
    """

    key: str
    call: str
    step: Step = field(repr=False)
    placed: bool = False


@dataclass(frozen=True)
class Choices:
    """What is compared, and the keys of what is left out; the ``stages`` of the step as a chain,
    whether the best schedules of it are known (``chained``), and the budget of one."""

    found: tuple[Choice, ...]
    left_out: tuple[str, ...]
    stages: int = 0
    chained: bool = False
    budget: int | None = None


def choices(step: Step, batch: int, budget: int | None) -> Choices:
    """The techniques of a step at a batch. Without a ``budget``, that of the chain is halfway from
    its least peak to the peak of the step; there is none where both are the same.

    Raises:
        InputError: a budget below the least peak of the chain.
    """
    shared = in_place(step)
    found = [
        Choice("no_reuse", "memlab.no_reuse(step)", no_reuse(step)),
        Choice("plain", "step", step),
        Choice("in_place", "memlab.in_place(step)", shared),
        Choice("placed", f"memlab.place(memlab.in_place(step), {batch})", shared, placed=True),
    ]
    if not step.training:
        return Choices(tuple(found), ("inference",))
    stages = len(cuts(step).parts)
    chained = stages <= LONGEST
    found += [_way("every", step, "every"), _way("cheap", step, "cheap")]
    if chained:
        budget = _halfway(step, batch) if budget is None else budget
        found += _chained(step, batch, budget)
    else:
        budget = None
        found.append(_way("slots", step, "slots", k=sqrt_slots(stages)[1]))
    least, exact = found[-1], _exact(step, batch)
    found += [*exact, _combined(least, batch)]
    left_out = (("chain", not chained), ("exact", not exact))
    out = tuple(key for key, missing in left_out if missing)
    return Choices(tuple(found), out, stages, chained, budget)


def _halfway(step: Step, batch: int) -> int | None:
    least, most = (plan(each).peak(batch) for each in (recompute(step, "chain", batch=batch), step))
    return (least + most) // 2 if least < most else None


def _way(key: str, step: Step, how: str, **given: Any) -> Choice:
    arguments = "".join(f", {name}={value}" for name, value in given.items())
    call = f'memlab.recompute(step, "{how}"{arguments})'
    return Choice(key, call, recompute(step, how, **given))


def _combined(least: Choice, batch: int) -> Choice:
    call = f"memlab.place(memlab.in_place({least.call}), {batch})"
    return Choice("combined", call, in_place(least.step), placed=True)


def _chained(step: Step, batch: int, budget: int | None) -> Iterator[Choice]:
    """Searches over the stages of a chain; the least peak comes last."""
    yield _way("greedy", step, "greedy", batch=batch)
    if budget is not None:
        yield _way("within", step, "chain", batch=batch, budget=budget)
    yield _way("chain", step, "chain", batch=batch)


def _exact(step: Step, batch: int) -> tuple[Choice, ...]:
    """The order of the least peak of a small step; none where it cannot be proved in seconds."""
    if len(step.ops) > LARGEST:
        return ()
    try:
        return (_way("exact", step, "exact", batch=batch),)
    except InputError:
        return ()
