"""Lesson 02, a whole network: the largest batch that fits."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from memlab.lesson.task import Arguments, Slip, task
from memlab.planner.entries import Entry, Row
from memlab.planner.ledger import Ledger
from memlab.step.op import Phase
from memlab.step.storage import Size
from memlab.step.tensor import Role


def _draw_budget(chance: Random, size: int) -> Arguments:
    """Operations of which some have no bytes that grow, as the updates of a step; in every second
    case one of them fills the memory at some batch to the last byte."""
    most, largest = chance.choice((2, 100 * size)), chance.choice((2, 50))
    fixed = [chance.randint(0, most) for _ in range(size + 1)]
    each = [chance.choice((0, 1, 1, 1)) * chance.randint(1, largest) for _ in fixed]
    full = chance.randrange(len(each))
    each[full] = chance.randint(1, largest)
    memory = max(fixed) + chance.randint(0, 2000)
    memory -= chance.choice((0, (memory - fixed[full]) % each[full]))
    if chance.random() < 0.1:
        memory = 0  # so that no sample fits
    return {"memory": max(memory, *fixed), "fixed": fixed, "each": each}


def _growing(a: Arguments) -> list[tuple[int, int]]:
    return [(one, other) for one, other in zip(a["fixed"], a["each"], strict=True) if other]


_BATCH_SLIPS: dict[str, Slip] = {
    "no_floor": lambda truth, a: min(a["memory"] // b for _, b in _growing(a)),
    "largest": lambda truth, a: max((a["memory"] - f) // b for f, b in _growing(a)),
    "mixed": lambda truth, a: (a["memory"] - max(a["fixed"])) // max(a["each"]),
    "sum": lambda truth, a: (a["memory"] - sum(a["fixed"])) // sum(a["each"]),
    "one_more": lambda truth, a: truth + 1,
    "not_whole": lambda truth, a: min((a["memory"] - f) / b for f, b in _growing(a)),
}


def _counting(counts: Callable[[int, int], bool]) -> Slip:
    """What comes out for somebody who looks at some operations only."""
    return lambda truth, a: min(
        ((a["memory"] - f) // b for f, b in _growing(a) if counts(f, b)), default=0
    )


_BATCH_TRAPS: dict[str, Slip] = {
    "strict": lambda truth, a: min((a["memory"] - f - 1) // b for f, b in _growing(a)),
    "each_1": _counting(lambda f, b: b > 1),
    "fixed_0": _counting(lambda f, b: f > 0),
    "fixed_1": _counting(lambda f, b: f != 1),
    "some_room": lambda truth, a: min(
        ((a["memory"] - f) // b for f, b in _growing(a) if f < a["memory"]), default=0
    ),
    "at_least_1": lambda truth, a: max(1, truth),
    "for_0_take_1": lambda truth, a: min(
        (a["memory"] - f) // max(b, 1) for f, b in zip(a["fixed"], a["each"], strict=True)
    ),
}


@task("02.largest_batch", _draw_budget, slips=_BATCH_SLIPS, traps=_BATCH_TRAPS)
def largest_batch(memory: int, fixed: list[int], each: list[int]) -> int:
    """The largest batch that a plan finds for these operations."""
    lines = list(zip(fixed, each, strict=True))
    rows = tuple(Row(f"operation {i}", "any", Phase.FORWARD) for i in range(len(lines)))
    entries = tuple(
        Entry(f"block {i}", Role.FEATURE_MAP, Size(*line), i, i) for i, line in enumerate(lines)
    )
    found = Ledger(rows, entries).fit(memory).batch
    assert found is not None
    return found
