"""The fastest order of a small graph of tasks within a budget, exact: an integer program.

Checkmate (Jain et al. 2020, arXiv 1910.02653; fact E6), solved by HiGHS through SciPy. An order
has one phase for each task, in a row that the reads allow. A phase ends with the first run of its
task; before that any earlier tasks may run again, in the same row and each at most once. A place is
a pair (phase, task), the task no later than the phase: it may run there. Unlike in the paper, what
is held at every place are variables, so that the bytes of a place are one sum.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from math import gcd
from time import monotonic

import numpy as np

from memlab.arrays import Column, Floats, alive, column
from memlab.errors import InputError, whole_number
from memlab.placement.integer_program import milp, scipy
from memlab.techniques.recompute.chain import Usage

LARGEST = 24
"""The most tasks."""
MOST = 2**45
"""What no cost and no number of bytes reaches: sums are exact as floating-point numbers."""
SOLVED, INFEASIBLE = 0, 2
"""What ``scipy.optimize.milp`` calls these states."""

Order = tuple[int, ...]
Row = tuple[dict[int, float], float]
"""Coefficients of variables by number, and the most that their sum may be."""
Result = tuple[int, int]
"""A task, and which of its results."""
Block = tuple[int, int, int, Result | None]
"""Bytes, the first and the last run beside which they are, by place in an order, and the result
that they are."""


@dataclass(frozen=True, slots=True)
class GraphTask:
    """One task: its ``cost``, the ``nbytes`` of its result, what it ``reads``, whether it may run
    ``again``, the workspace bytes ``inside`` it, and the bytes that its first run has ``left`` to
    the end (gradients of parameters).

    It reads results of tasks by index (from 0); of one that makes ``more`` of them, each of which
    goes after its own last reader, the others are pairs: ``(task, 1)`` is the second. Those that
    it makes ``once`` (statistics of a batch) come after them; when it runs again, it reads them,
    and costs ``repeat`` instead.
    """

    name: str
    cost: int
    nbytes: int
    reads: tuple[int | Result, ...]
    again: bool = True
    inside: int = 0
    left: int = 0
    more: tuple[int, ...] = ()
    once: tuple[int, ...] = ()
    repeat: int | None = None

    @property
    def sources(self) -> set[int]:
        """Tasks whose results the task reads."""
        return {read[0] if isinstance(read, tuple) else read for read in self.reads}

    def spent(self, again: bool) -> int:
        """Cost of the task's first run, or of a repeated one (``again``)."""
        return self.cost if not again or self.repeat is None else self.repeat

    def made(self, again: bool) -> tuple[int, ...]:
        """Return the bytes of the results of a run."""
        return (self.nbytes, *self.more, *(() if again else self.once))

    def read(self, number: int, again: bool) -> list[Result]:
        """Results that a run of task ``number`` reads."""
        kept = range(len(self.made(True)), len(self.made(not again))) if again else ()
        results = [read if isinstance(read, tuple) else (read, 0) for read in self.reads]
        return results + [(number, result) for result in kept]


def _blocks(tasks: Sequence[GraphTask], order: Sequence[int]) -> Iterator[Block]:
    """Blocks that an order holds: a result from its making to its last reader before it is made
    again."""
    last: dict[Result, int] = {}
    first = {number: at for at, number in reversed([*enumerate(order)])}
    for at, number in reversed([*enumerate(order)]):
        task, again = tasks[number], first[number] < at
        yield task.inside, at, at, None
        yield 0 if again else task.left, at, len(order), None
        for which, nbytes in enumerate(task.made(again)):
            yield nbytes, at, last.pop((number, which), at), (number, which)
        for result in task.read(number, again):
            last.setdefault(result, at)


def _line(blocks: Sequence[Block], runs: int) -> Column:
    """The bytes inside every run, of shape (runs,)."""
    sizes, births, deaths, _ = zip(*blocks, strict=True)
    return alive(column(sizes), np.array(births), np.array(deaths), runs)


def simulate(tasks: Sequence[GraphTask], order: Sequence[int], fixed: int = 0) -> Usage:
    """Peak bytes, ``fixed`` ones that stay included, and cost of an order. A result is alive from
    its making to its last reader before it is made again.

    Raises:
        InputError: the order leaves a task out, runs one before what it reads, or runs one again
            that must not.
    """
    first_runs(tasks)
    _check(tasks, order)
    beside = whole_number("fixed (bytes)", fixed, least=0)
    peak = int(_line([*_blocks(tasks, order)], len(order)).max())
    ran: set[int] = set()
    cost = 0
    for number in order:
        cost += tasks[number].spent(number in ran)
        ran.add(number)
    return Usage(beside + peak, cost)


def least_time(
    tasks: Sequence[GraphTask], budget: int, fixed: int = 0, time_limit: float = 20
) -> Order:
    """Return the cheapest order whose peak is at most ``budget`` bytes.

    Raises:
        InputError: a cycle, too many tasks, less than the least that they need, or an integer
            program that is not solved within ``time_limit`` seconds.
    """
    row = first_runs(tasks)
    room = whole_number("budget (bytes)", budget) - whole_number("fixed (bytes)", fixed, least=0)
    order = _program(tasks, row, time_limit).fastest(room) if room >= 0 else None
    if order is None:
        least = simulate(tasks, least_memory(tasks, fixed, time_limit), fixed).peak
        raise InputError(
            f"these tasks need at least {least:,} bytes, got a budget of {budget:,}; try {least:,}."
        )
    return tuple(row[rank] for rank in order)


def least_memory(tasks: Sequence[GraphTask], fixed: int = 0, time_limit: float = 20) -> Order:
    """Return the cheapest order of the least peak.

    Raises:
        InputError: a cycle, too many tasks, or an integer program that is not solved within
            ``time_limit`` seconds.
    """
    whole_number("fixed (bytes)", fixed, least=0)
    row = first_runs(tasks)
    program = _program(tasks, row, time_limit)
    order = program.fastest(_peak(tasks, row, program.smallest()))
    while order is not None:
        best = order
        order = program.fastest(_peak(tasks, row, best) - 1)
    return tuple(row[rank] for rank in best)


def _peak(tasks: Sequence[GraphTask], row: Order, ranks: Sequence[int]) -> int:
    return simulate(tasks, [row[rank] for rank in ranks]).peak


def _program(tasks: Sequence[GraphTask], row: Order, time_limit: float) -> _Program:
    if not 1 <= len(tasks) <= LARGEST:
        raise InputError(f"an exact order is found for 1 to {LARGEST} tasks, got {len(tasks)}.")
    rank = {number: place for place, number in enumerate(row)}
    ranked = []
    for number in row:
        reads = tuple((rank[maker], which) for maker, which in tasks[number].read(number, False))
        ranked.append(replace(tasks[number], reads=reads))
    return _Program(ranked, time_limit)


def first_runs(tasks: Sequence[GraphTask]) -> Order:
    """Return the tasks in the row of their first runs: as given, but none before a task that it
    reads.

    Raises:
        InputError: a figure that is no number of at least 0 or too large, a read of no task, or a
            cycle.
    """
    for task in tasks:
        figures = [(what, getattr(task, what)) for what in ("cost", "nbytes", "inside", "left")]
        figures += [("nbytes", nbytes) for nbytes in (*task.more, *task.once)]
        for what, figure in (*figures, ("repeat", task.spent(again=True))):
            if whole_number(f"{what} of {task.name}", figure, least=0) >= MOST:
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


def _check(tasks: Sequence[GraphTask], order: Sequence[int]) -> None:
    done: set[int] = set()
    for number in order:
        if number not in range(len(tasks)):
            raise InputError(f"tasks go from 0 to {len(tasks) - 1}, got {number} in an order.")
        task = tasks[number]
        missing = task.sources - done
        if missing:
            raise InputError(
                f"{task.name} reads {tasks[min(missing)].name}, which has not run yet."
            )
        if number in done and not task.again:
            raise InputError(f"{task.name} may run only once.")
        done.add(number)
    rest = set(range(len(tasks))) - done
    if rest:
        raise InputError(f"an order runs every task, but {tasks[min(rest)].name} is missing.")


# -- the integer program ------------------------------------------------------------------------


@dataclass
class _Program:
    """Integer program for an order of tasks, in a row that their reads allow. ``time_limit`` is in
    seconds."""

    tasks: Sequence[GraphTask]
    time_limit: float

    def __post_init__(self) -> None:
        phases = range(len(self.tasks))
        self.until = monotonic() + self.time_limit
        self.places = [(phase, task) for phase in phases for task in range(phase + 1)]
        self.results = [
            (number, which)
            for number, task in enumerate(self.tasks)
            for which in range(len(task.made(again=False)))
        ]
        held = [(*place, maker) for place in self.places for maker in self._before(place[0])]
        self.variable = {key: number for number, key in enumerate([*self.places, *held])}
        self.peak = len(self.variable)  # the number of one more variable
        sizes = [[*task.made(again=False), task.inside, task.left] for task in self.tasks]
        self.unit = max(1, *(max(size) for size in sizes)) / 2**10
        self.everything = sum(map(sum, sizes))
        self.beside = [0, *accumulate(task.left for task in self.tasks)]  # before each phase
        self.rows = [*self._dependences(), *self._bytes()]

    def _before(self, phase: int) -> list[Result]:
        """Results that may be held in a phase."""
        return [result for result in self.results if result[0] < phase]

    def fastest(self, room: int) -> list[int] | None:
        """Return the tasks in the cheapest order within that many bytes; ``None`` where there is
        none.

        The solver rounds. Where what it finds needs too much, the results that do not fit are
        forbidden together, in whole numbers, and it solves again.

        Raises:
            InputError: not solved within the time limit, or SciPy is not installed.
        """
        objective = np.zeros(self.peak + 1)
        costs = [self.tasks[task].spent(task < phase) for phase, task in self.places]
        unit = gcd(*costs) or 1
        objective[: len(self.places)] = [cost // unit for cost in costs]
        rows = list(self.rows)
        while (order := self._solve(objective, rows, room)) is not None:
            excess = self._excess(order, room)
            if excess is None:
                return order
            rows += self._apart(*excess)
        return None

    def smallest(self) -> list[int]:
        """Return the tasks in an order of the least peak, up to the rounding of the solver.

        Raises:
            InputError: not solved within the time limit, or SciPy is not installed.
        """
        objective = np.zeros(self.peak + 1)
        objective[self.peak] = 1
        order = self._solve(objective, self.rows, self.everything)
        assert order is not None, "every task once is within all bytes"
        return order

    def _solve(self, objective: Floats, rows: Sequence[Row], room: int) -> list[int] | None:
        sparse = scipy("scipy.sparse", "an exact order")
        entries = [(n, at, value) for n, (row, _) in enumerate(rows) for at, value in row.items()]
        lines, columns, values = zip(*entries, strict=True)
        matrix = sparse.coo_array((values, (lines, columns)), (len(rows), self.peak + 1)).tocsr()
        least, most = np.zeros(self.peak + 1), np.ones(self.peak + 1)
        for at, (phase, task) in enumerate(self.places):
            least[at] = phase == task
            most[at] = phase == task or self.tasks[task].again
        most[self.peak] = room / self.unit
        remaining = self.until - monotonic()
        result = remaining > 0 and milp(
            "an exact order",
            c=objective,
            integrality=np.arange(self.peak + 1) < len(self.places),
            bounds=(least, most),
            constraints=(matrix, -np.inf, [bound for _, bound in rows]),
            options={"time_limit": remaining, "mip_rel_gap": 0},
        )
        if not result or result.status not in (SOLVED, INFEASIBLE):
            raise InputError(
                f"{len(self.tasks)} tasks were not solved within {self.time_limit:g} seconds; "
                "try fewer tasks or a larger time_limit."
            )
        if result.status == INFEASIBLE:
            return None
        return [task for at, (_, task) in enumerate(self.places) if result.x[at] > 0.5]

    def _excess(self, order: Sequence[int], room: int) -> tuple[int, int, set[Result]] | None:
        """Return the phase and the task in which an order first needs more than ``room``, and the
        results held beside it."""
        excess_rows = [*_blocks(self.tasks, order)]
        over = np.nonzero(_line(excess_rows, len(order)) > room)[0]
        if not len(over):
            return None
        now = int(over[0])
        held = {maker for _, birth, death, maker in excess_rows if maker and birth < now <= death}
        return max(order[: now + 1]), order[now], held

    def _apart(self, phase: int, task: int, held: set[Result]) -> list[Row]:
        """Return rows by which from a phase on the task does not run while all of these are held; a
        first run takes more than another, so that only that is without them."""
        number, rows = self.variable, []
        for later in range(phase, phase + 1 if task == phase else len(self.tasks)):
            row = {number[later, task, maker]: 1.0 for maker in held}
            rows.append(({**row, number[later, task]: 1.0}, float(len(held))))
        return rows

    def _dependences(self) -> list[Row]:
        """Return rows by which a task runs where its reads are held, and a held result was held
        before or made there."""
        number, rows = self.variable, []
        for phase, task in self.places:
            for read in self.tasks[task].read(task, task < phase):
                rows.append(({number[phase, task]: 1.0, number[phase, task, read]: -1.0}, 0.0))
        for (phase, task), after in pairwise(self.places):
            for maker in self._before(after[0]):
                row = {number[*after, maker]: 1.0}
                if maker[0] < phase:
                    row[number[phase, task, maker]] = -1.0
                if maker[0] == task and maker[1] < len(self.tasks[task].made(task < phase)):
                    row[number[phase, task]] = -1.0
                rows.append((row, 0.0))
        return rows

    def _bytes(self) -> list[Row]:
        """Rows of the program that bound the bytes held at a place, with those of the task that
        runs there, by the peak."""
        number, rows = self.variable, []
        for phase, task in self.places:
            here, size = self.tasks[task], [task.made(again=False) for task in self.tasks]
            row = {
                number[phase, task, maker]: size[maker[0]][maker[1]] / self.unit
                for maker in self._before(phase)
            }
            own = sum(here.made(task < phase)) + here.inside + here.left * (task == phase)
            row[number[phase, task]] = own / self.unit
            row[self.peak] = -1.0
            rows.append((row, -self.beside[phase] / self.unit))
        return rows
