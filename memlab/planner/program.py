"""The integer program of the fastest order of a graph of tasks: places, runs, and what is held.

A place is a pair (phase, task), the task no later than the phase: it may run there. Checkmate (Jain
et al. 2020, arXiv 1910.02653) with what is held at every place as variables, so that the bytes of a
place are one sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import gcd
from time import monotonic

from memlab.errors import InputError
from memlab.lines import Floats, np
from memlab.planner.solver import milp, scipy

Row = tuple[dict[int, float], float]
"""Coefficients of variables by number, and the most that their sum may be."""
SOLVED, INFEASIBLE = 0, 2
"""What ``scipy.optimize.milp`` calls these states."""


@dataclass
class Program:
    """Tasks in a row that their reads allow: for each its cost, the bytes of its result, of its
    workspace and of what it leaves to the end, what it reads, and whether it may run again.
    ``time_limit`` is in seconds."""

    costs: Sequence[int]
    sizes: Sequence[int]
    insides: Sequence[int]
    left: Sequence[int]
    reads: Sequence[frozenset[int]]
    again: Sequence[bool]
    time_limit: float

    def __post_init__(self) -> None:
        phases = range(len(self.costs))
        self.until = monotonic() + self.time_limit
        self.places = [(phase, task) for phase in phases for task in range(phase + 1)]
        held = [(*place, made) for place in self.places for made in range(place[0])]
        self.variable = {key: number for number, key in enumerate([*self.places, *held])}
        self.peak = len(self.variable)  # the number of one more variable
        self.unit = max(*self.sizes, *self.insides, *self.left, 1) / 2**10
        self.beside = [0, *accumulate(self.left)]  # what the tasks before each phase have left
        self.rows = [*self._dependences(), *self._bytes()]

    def fastest(self, room: int) -> list[int] | None:
        """The tasks in the cheapest order within that many bytes; ``None`` where there is none.

        The solver rounds. Where what it finds needs too much, the results that do not fit are
        forbidden together, in whole numbers, and it solves again.

        Raises:
            InputError: not solved within the time limit, or SciPy is not installed.
        """
        objective = np.zeros(self.peak + 1)
        unit = gcd(*self.costs) or 1
        objective[: len(self.places)] = [self.costs[task] // unit for _, task in self.places]
        rows = list(self.rows)
        while (order := self._solve(objective, rows, room)) is not None:
            excess = self._excess(order, room)
            if excess is None:
                return order
            rows += self._apart(*excess)
        return None

    def smallest(self) -> list[int]:
        """The tasks in an order of the least peak, up to what the solver rounds.

        Raises:
            InputError: not solved within the time limit, or SciPy is not installed.
        """
        objective = np.zeros(self.peak + 1)
        objective[self.peak] = 1
        everything = sum(self.sizes) + sum(self.left) + max(self.insides)
        order = self._solve(objective, self.rows, everything)
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
            most[at] = phase == task or self.again[task]
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
                f"{len(self.costs)} tasks were not solved within {self.time_limit:g} seconds; "
                "try fewer tasks or a larger time_limit."
            )
        if result.status == INFEASIBLE:
            return None
        return [task for at, (_, task) in enumerate(self.places) if result.x[at] > 0.5]

    def _excess(self, order: Sequence[int], room: int) -> tuple[int, set[int]] | None:
        """The first task at which an order needs more than ``room``, and what is held beside it."""
        for now, task in enumerate(order):
            later = order[now:]
            held = {made for made in order[:now] if made != task and self._read(made, later)}
            size = self.sizes[task] + self.insides[task]
            left = self.beside[1 + max(order[: now + 1])]
            if sum(self.sizes[made] for made in held) + size + left > room:
                return task, held
        return None

    def _read(self, made: int, later: Sequence[int]) -> bool:
        """Whether a result is read before it is made again."""
        for task in later:
            if task == made:
                return False
            if made in self.reads[task]:
                return True
        return False

    def _apart(self, task: int, held: set[int]) -> list[Row]:
        """In no phase does a task run while all of these are held."""
        number, rows = self.variable, []
        for phase in range(max({task, *(made + 1 for made in held)}), len(self.costs)):
            row = {number[phase, task, made]: 1.0 for made in held}
            rows.append(({**row, number[phase, task]: 1.0}, float(len(held))))
        return rows

    def _dependences(self) -> list[Row]:
        """A task runs where its reads are held; what is held was so before, or was made there."""
        number, rows = self.variable, []
        for phase, task in self.places:
            for read in self.reads[task]:
                rows.append(({number[phase, task]: 1.0, number[phase, task, read]: -1.0}, 0.0))
        for (phase, task), after in pairwise(self.places):
            for made in range(after[0]):
                row = {number[*after, made]: 1.0}
                if made < phase:
                    row[number[phase, task, made]] = -1.0
                if made == task:
                    row[number[phase, task]] = -1.0
                rows.append((row, 0.0))
        return rows

    def _bytes(self) -> list[Row]:
        """What is held at a place, with what runs there, is at most the peak."""
        number, rows = self.variable, []
        for phase, task in self.places:
            row = {number[phase, task, made]: self.sizes[made] / self.unit for made in range(phase)}
            own = self.sizes[task] + self.insides[task] + self.left[task] * (task == phase)
            row[number[phase, task]] = own / self.unit
            row[self.peak] = -1.0
            rows.append((row, -self.beside[phase] / self.unit))
        return rows
