"""The schedule of ``recompute(step, "slots")``: chains of equal stages whose backward reads their
own output and that of the stage before, as the steps of a recurrent network do. A slot holds an
output, and a stored output serves two stages.

So a stage whose input and output are stored runs forward no more, which neither recurrence of
Gruslys et al. 2016 (arXiv 1606.03401) counts: this one lies between them. In the one (fact E2) a
slot holds all that the backward of a stage reads, in the other (E3) a state between two stages,
which runs forward again before each backward; ``claims/revolve.py`` has both.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np

from memlab.arrays import Integers
from memlab.errors import InputError, whole_number
from memlab.techniques.recompute.chain import Schedule

LARGEST = 20_000_000
"""The most steps x slots x steps of a table."""

Table = list[Integers]


def output_state(t: int, m: int) -> int:
    """Return the forward steps that it takes to run ``t`` steps forward and backward where ``m``
    outputs can be stored.

    C(t, m) = min of 1 + C(t - 1, m - 1), where the first output is stored for its own backward too,
    and of y + C(t - y, m - 1) + C(y, m) over 1 <= y < t; C(t, 1) = t (t + 1) / 2, C(0, m) = 0.

    >>> output_state(10, 3), output_state(1000, 50)
    (22, 1976)

    Raises:
        InputError: no whole numbers of at least 1, or too many of them.
    """
    steps, slots = _checked(t, m)
    return int(_table(steps, slots)[0][slots][steps])


def output_schedule(t: int, m: int) -> Schedule:
    """Return a schedule with as many forwards as ``output_state(t, m)``.

    Raises:
        InputError: as ``output_state``.
    """
    steps, slots = _checked(t, m)
    return tuple(_runs(_table(steps, slots)[1], steps, slots))


def _checked(t: int, m: int) -> tuple[int, int]:
    steps, slots = whole_number("t (steps)", t), whole_number("m (slots)", m)
    slots = min(slots, steps)
    if steps * steps * slots > 4 * LARGEST:
        raise InputError(
            f"{steps:,} steps and {slots:,} slots make too large a table; try at most 1,000 steps "
            "and 80 slots."
        )
    return steps, slots


@cache
def _table(steps: int, slots: int) -> tuple[Table, Table]:
    """Return costs and choices by slots and steps; a choice is y, or 0 to keep the first step."""
    cost, choice = ([np.zeros(steps + 1, np.int64) for _ in range(slots + 1)] for _ in range(2))
    cost[1] = np.cumsum(np.arange(steps + 1))
    for m in range(2, slots + 1):
        for t in range(1, steps + 1):
            stored = np.arange(1, t) + cost[m - 1][t - 1 : 0 : -1] + cost[m][1:t]
            cost[m][t] = 1 + cost[m - 1][t - 1]
            if t > 1 and stored.min() < cost[m][t]:
                choice[m][t] = 1 + int(stored.argmin())
                cost[m][t] = stored[choice[m][t] - 1]
    return cost, choice


def _runs(choice: Table, steps: int, slots: int) -> Iterator[int]:
    """Yield the schedule; work that is left waits on a stack: a part of the chain (its first step,
    its length, its slots), or the backward of one step."""
    waiting: list[tuple[int, int, int]] = [(0, steps, slots)]
    while waiting:
        first, count, free = waiting.pop()
        if count < 0:
            yield -first
        elif free == 1:
            for last in range(first + count, first, -1):
                yield from range(first + 1, last + 1)
                yield -last
        elif count and choice[free][count]:
            y = int(choice[free][count])
            yield from range(first + 1, first + y + 1)
            waiting += [(first, y, free), (first + y, count - y, free - 1)]
        elif count:
            yield first + 1
            waiting += [(first + 1, -1, 0), (first + 1, count - 1, free - 1)]
