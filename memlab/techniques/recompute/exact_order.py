"""The fastest order of a small graph of tasks within a budget, exact: an integer program.

Checkmate (Jain et al. 2020, arXiv 1910.02653; fact E6), solved by HiGHS through SciPy. An order
has one phase for each task, in a row that the reads allow. A phase ends with the first run of its
task; before that any earlier tasks may run again, in the same row and each at most once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from memlab.errors import InputError, whole
from memlab.techniques.recompute.chain import Usage
from memlab.techniques.recompute.checkmate import Program, Task, blocks, line

LARGEST = 24
"""The most tasks."""
MOST = 2**45
"""What no cost and no number of bytes reaches: sums are exact as floating-point numbers."""

Order = tuple[int, ...]


def simulate(tasks: Sequence[Task], order: Sequence[int], fixed: int = 0) -> Usage:
    """Peak bytes, ``fixed`` ones that stay included, and cost of an order. A result is alive from
    its making to its last reader before it is made again.

    Raises:
        InputError: the order leaves a task out, runs one before what it reads, or runs one again
            that must not.
    """
    first_runs(tasks)
    _check(tasks, order)
    beside = whole("fixed (bytes)", fixed, least=0)
    peak = int(line([*blocks(tasks, order)], len(order)).max())
    ran: set[int] = set()
    cost = 0
    for number in order:
        cost += tasks[number].spent(number in ran)
        ran.add(number)
    return Usage(beside + peak, cost)


def least_time(tasks: Sequence[Task], budget: int, fixed: int = 0, time_limit: float = 20) -> Order:
    """The cheapest order whose peak is at most ``budget`` bytes.

    Raises:
        InputError: a cycle, too many tasks, less than the least that they need, or an integer
            program that is not solved within ``time_limit`` seconds.
    """
    row = first_runs(tasks)
    room = whole("budget (bytes)", budget) - whole("fixed (bytes)", fixed, least=0)
    found = _program(tasks, row, time_limit).fastest(room) if room >= 0 else None
    if found is None:
        least = simulate(tasks, least_memory(tasks, fixed, time_limit), fixed).peak
        raise InputError(
            f"these tasks need at least {least:,} bytes, got a budget of {budget:,}; try {least:,}."
        )
    return tuple(row[rank] for rank in found)


def least_memory(tasks: Sequence[Task], fixed: int = 0, time_limit: float = 20) -> Order:
    """The cheapest order of the least peak.

    Raises:
        InputError: a cycle, too many tasks, or an integer program that is not solved within
            ``time_limit`` seconds.
    """
    whole("fixed (bytes)", fixed, least=0)
    row = first_runs(tasks)
    program = _program(tasks, row, time_limit)
    found = program.fastest(_peak(tasks, row, program.smallest()))
    while found is not None:
        best = found
        found = program.fastest(_peak(tasks, row, best) - 1)
    return tuple(row[rank] for rank in best)


def _peak(tasks: Sequence[Task], row: Order, ranks: Sequence[int]) -> int:
    return simulate(tasks, [row[rank] for rank in ranks]).peak


def _program(tasks: Sequence[Task], row: Order, time_limit: float) -> Program:
    if not 1 <= len(tasks) <= LARGEST:
        raise InputError(f"an exact order is found for 1 to {LARGEST} tasks, got {len(tasks)}.")
    rank = {number: place for place, number in enumerate(row)}
    ranked = []
    for number in row:
        reads = tuple((rank[made], which) for made, which in tasks[number].read(number, False))
        ranked.append(replace(tasks[number], reads=reads))
    return Program(ranked, time_limit)


def first_runs(tasks: Sequence[Task]) -> Order:
    """The tasks in the row of their first runs: as given, but none before what it reads.

    Raises:
        InputError: a figure that is no number of at least 0 or too large, a read of no task, or a
            cycle.
    """
    for task in tasks:
        figures = [(what, getattr(task, what)) for what in ("cost", "nbytes", "inside", "left")]
        figures += [("nbytes", nbytes) for nbytes in (*task.more, *task.once)]
        for what, figure in (*figures, ("repeat", task.spent(again=True))):
            if whole(f"{what} of {task.name}", figure, least=0) >= MOST:
                raise InputError(f"{what} of {task.name} must be below 2^45; try a smaller batch.")
        unknown = sorted(task.sources - {*range(len(tasks))})
        if unknown:
            raise InputError(
                f"{task.name} reads task {unknown[0]}; tasks go from 0 to {len(tasks) - 1}."
            )
    row: list[int] = []
    while len(row) < len(tasks):
        rest = [number for number in range(len(tasks)) if number not in row]
        ready = [number for number in rest if tasks[number].sources <= set(row)]
        if not ready:
            names = ", ".join(tasks[number].name for number in rest)
            raise InputError(f"these tasks wait for each other, or for one that does: {names}.")
        row.append(ready[0])
    return tuple(row)


def _check(tasks: Sequence[Task], order: Sequence[int]) -> None:
    made: set[int] = set()
    for number in order:
        if number not in range(len(tasks)):
            raise InputError(f"tasks go from 0 to {len(tasks) - 1}, got {number} in an order.")
        task = tasks[number]
        missing = task.sources - made
        if missing:
            raise InputError(
                f"{task.name} reads {tasks[min(missing)].name}, which has not run yet."
            )
        if number in made and not task.again:
            raise InputError(f"{task.name} may run only once.")
        made.add(number)
    rest = set(range(len(tasks))) - made
    if rest:
        raise InputError(f"an order runs every task, but {tasks[min(rest)].name} is missing.")


__all__ = ["Task", "first_runs", "least_memory", "least_time", "simulate"]
