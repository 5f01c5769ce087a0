"""The cheapest set of modules to run again within a budget of bytes: a mixed-integer program.

Of two modules of which one lies in the other at most one is chosen. Within the bytes that ``model``
counts, the choice is the best one, and the bound that the solver proves says so.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from memlab.frontends.torch.fitting.checkpointed_peak import ALWAYS, Literal, Model, SavedStorage
from memlab.placement.integer_program import milp

WHAT = "choosing modules to run again"
SECONDS = 20.0
"""The most that the solver takes; then the best that it has found counts, with its bound."""
_SCALE = 1e6
"""Bytes in one unit of the solver's constraints."""
Array = Any
"""Of NumPy."""


@dataclass(frozen=True, slots=True)
class ModuleChoice:
    """A set of modules with the peak that ``model`` gives it, and the seconds that it takes.

    ``bound`` is what no set falls below: seconds where a budget is kept, bytes where the least
    peak was asked for. ``proved`` says that the set reaches it.
    """

    names: tuple[str, ...]
    nbytes: int
    seconds: float
    bound: float
    proved: bool


class ModuleProgram:
    """Mixed-integer program of a model: bytes inside every call as a sum over the
    chosen modules."""

    def __init__(self, model: Model) -> None:
        self.model, self.names = model, model.names
        self.number = {name: at for at, name in enumerate(self.names)}
        self.length = len(model.base)
        self.constant = np.zeros(self.length + 1, np.int64)
        self.each: dict[int, Array] = {}
        self.joint: dict[frozenset[Literal], int] = {}
        for held in model.held:
            self._add(held)
        self.costs = {
            self._joint(names): module_names for names, module_names in model.shared.items()
        }
        self.rows, self.limits = self._table()

    def _joint(self, names: Iterable[str]) -> int:
        """Return the column of a variable that is 1 where any of these modules is chosen."""
        when = frozenset(("+", name) for name in names)
        return self.joint.setdefault(when, len(self.names) + len(self.joint))

    # -- what holds a storage -----------------------------------------------------------------

    def _add(self, held: SavedStorage) -> None:
        always = held.until.get(ALWAYS, held.born)
        self._span(None, held.born, always, held.nbytes)
        ends = sorted({end for end in held.until.values() if end > always})
        for first, last in zip([always, *ends], ends, strict=False):
            when = frozenset(end_call for end_call, end in held.until.items() if end >= last)
            self._when(when, first + 1, last, held.nbytes)
        for name, (first, last) in held.second.items():
            self._span(self.number[name], first, last, held.nbytes)

    def _when(self, when: frozenset[Literal], first: int, last: int, nbytes: int) -> None:
        """Add the bytes of a storage from one call to another, where one of the
        conditions is true."""
        plus = {condition[1] for condition in when if condition[0] == "+"}
        minus = [condition[1:] for condition in when if condition[0] == "-"]
        if any(plus.issuperset(names) for names in minus):
            self._span(None, first, last, nbytes)
        elif len(when) > 1:
            column = self.joint.setdefault(when, len(self.names) + len(self.joint))
            self._span(column, first, last, nbytes)
        elif plus:
            self._span(self.number[plus.pop()], first, last, nbytes)
        else:
            self._span(None, first, last, nbytes)
            for name in minus[0]:
                self._span(self.number[name], first, last, -nbytes)

    def _span(self, column: int | None, first: int, last: int, nbytes: int) -> None:
        """Add bytes to a column from one call to another, as differences; they are summed once."""
        last = min(last, self.length - 1)
        if first > last:
            return
        if column is not None and column not in self.each:
            self.each[column] = np.zeros(self.length + 1, np.int64)
        line = self.constant if column is None else self.each[column]
        line[first] += nbytes
        line[last + 1] -= nbytes

    # -- rows ---------------------------------------------------------------------------------

    def _table(self) -> tuple[Array, Array]:
        """Coefficients of every row, and the bytes that no choice changes, without the rows that
        others are never below."""
        columns = len(self.names) + len(self.joint)
        table = np.zeros((self.length, columns), np.int64)
        for column, line in self.each.items():
            table[:, column] = np.cumsum(line)[:-1]
        fixed = np.array(self.model.base, np.int64) + np.cumsum(self.constant)[:-1]
        again = [self._again(rerun, table, fixed) for rerun in self.model.agains]
        rows = np.vstack([table, *(row for row, _ in again)])
        fixed = np.concatenate([fixed, np.array([nbytes for _, nbytes in again], np.int64)])
        rows, at = np.unique(rows, axis=0, return_inverse=True)
        most = np.full(len(rows), -1, np.int64)
        np.maximum.at(most, at.reshape(-1), fixed)
        kept = _highest(rows, most)
        return rows[kept], most[kept]

    def _again(self, again: Any, table: Array, fixed: Array) -> tuple[Array, int]:
        """Return the row of a module that runs again: the bytes before it runs, without its second
        copies."""
        row, column = table[again.at].copy(), self.number[again.name]
        for held in self.model.held:
            first, last = held.second.get(again.name, (0, -1))
            if first <= again.at <= last:
                row[column] -= held.nbytes
        row[column] += again.inside
        return row, int(fixed[again.at]) - again.less

    # -- answers ------------------------------------------------------------------------------

    def peak(self, names: Iterable[str]) -> int:
        """The most bytes that a choice takes."""
        chosen = set(names)
        values = [int(name in chosen) for name in self.names]
        values += [int(any(_true(term, chosen) for term in when)) for when in self.joint]
        return int((self.rows @ np.array(values, np.int64) + self.limits).max())

    def cheapest(self, nbytes: int) -> ModuleChoice | None:
        """The set that takes the fewest seconds of those within so many bytes, or ``None``."""
        left = (nbytes - self.limits) / _SCALE
        many = np.maximum(self.rows, 0).sum(axis=1) / _SCALE > left
        columns = range(len(self.names), len(self.names) + len(self.joint))
        shared = [self.costs.get(column, 0.0) for column in columns]
        cost = np.array([self._cost(name) for name in self.names] + shared)
        choice = self._solved(cost, self.rows[many] / _SCALE, left[many])
        if choice is None:
            return None
        names, bound, proved = choice
        return ModuleChoice(names, self.peak(names), self.seconds(names), bound, proved)

    def _cost(self, name: str) -> float:
        """Return the cost of running a module again: its seconds; of equal costs fewer modules are
        better."""
        return self.model.seconds[name] + 1e-6 * max(self.model.total, 1e-3)

    def least(self) -> ModuleChoice:
        """The set with the least peak."""
        top = -np.ones((len(self.rows), 1))
        rows = np.hstack([self.rows / _SCALE, top])
        cost = np.zeros(rows.shape[1])
        cost[-1] = 1.0
        choice = self._solved(cost, rows, -self.limits / _SCALE)
        assert choice is not None  # no module at all is a choice
        names, bound, proved = choice
        return ModuleChoice(names, self.peak(names), self.seconds(names), bound * _SCALE, proved)

    def seconds(self, names: Iterable[str]) -> float:
        """Seconds that it takes to run these modules again."""
        chosen = set(names)
        alone = sum(self.model.seconds[name] for name in chosen)
        return alone + sum(
            shared_seconds for any_, shared_seconds in self.model.shared.items() if any_ & chosen
        )

    def _solved(
        self, cost: Array, rows: Array, most: Array
    ) -> tuple[tuple[str, ...], float, bool] | None:
        from scipy.optimize import Bounds, LinearConstraint
        from scipy.sparse import csr_matrix

        count, extra = len(self.names), len(cost) - len(self.names)
        if not count:
            return ((), 0.0, True) if bool((most >= -1e-9).all()) or extra else None
        limits = [LinearConstraint(csr_matrix(rows), -np.inf, most)] if len(rows) else []
        sides, least = self._sides(len(cost))
        limits.append(LinearConstraint(sides, least, np.inf))
        upper = np.ones(len(cost))
        upper[count + len(self.joint) :] = np.inf
        solution = milp(
            WHAT, c=cost, constraints=limits, bounds=Bounds(0, upper),
            integrality=np.array([1] * count + [0] * extra),
            options={"time_limit": SECONDS, "mip_rel_gap": 1e-6},
        )  # fmt: skip
        if solution.x is None:
            return None
        names = tuple(
            name for name, value in zip(self.names, solution.x, strict=False) if value > 0.5
        )
        return names, float(solution.mip_dual_bound), solution.status == 0

    def _sides(self, width: int) -> tuple[Array, Array]:
        """Constraints of the program: a module and those it lies in are chosen at most once, and
        what joint conditions follow."""
        from scipy.sparse import lil_matrix

        joint = [(column, module) for when, column in self.joint.items() for module in sorted(when)]
        terms = lil_matrix((len(self.names) + len(joint), width))
        least = np.zeros(len(self.names) + len(joint))
        for row, name in enumerate(self.names):
            for other in (name, *self.model.parents[name]):
                terms[row, self.number[other]] = -1
            least[row] = -1
        for row, (column, literal) in enumerate(joint, len(self.names)):
            terms[row, column] = 1
            for name in literal[1:]:
                terms[row, self.number[name]] = 1 if literal[0] == "-" else -1
            least[row] = 1 if literal[0] == "-" else 0
        return terms.tocsr(), least


def _highest(rows: Array, most: Array) -> list[int]:
    """Return the rows that can be the highest: no other row is at least as high
    under every choice."""
    kept: list[int] = []
    for at in np.lexsort((-rows.sum(axis=1), -most)).tolist():
        if not (rows[kept] >= rows[at]).all(axis=1).any():
            kept.append(at)
    return sorted(kept)


def _true(literal: Literal, chosen: set[str]) -> bool:
    if literal[0] == "+":
        return literal[1] in chosen
    return not any(name in chosen for name in literal[1:])
