"""Each map kept, moved to the host and back, or dropped and computed again: chosen together.

A copy takes the link and a repeat takes arithmetic, so the two hide behind each other: a step may
take both for less time than either alone. What is dropped decides the order of operations, and for
each order the maps that go are chosen as in ``offload.search``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from math import inf
from typing import NamedTuple

from memlab.errors import InputError
from memlab.step.op import Phase
from memlab.step.step import Step
from memlab.techniques.offload.cost import Costs, Terms
from memlab.techniques.offload.prefetch import BUDGET, VDNN
from memlab.techniques.offload.search import (
    Choice,
    Maps,
    best,
    best_maps,
    changes,
    descended,
    dynamic,
    refusal,
    subsets,
    written,
)  # fmt: skip
from memlab.techniques.order import AGAIN, recomputes
from memlab.techniques.recompute import recompute
from memlab.techniques.recompute.repeats import made, repeated

EXACT = 6
"""Maps of which all choices are tried: some 729."""
ORDERS = 120
"""How many orders of operations a search makes, a third of them for each start and for the rest."""
CHAIN = frozenset({"the best schedule of a chain"})
"""Stands for the order of ``recompute(step, "chain")``, which may run an operation many times."""


class State(NamedTuple):
    """The operations whose outputs are dropped, and the maps that go."""

    dropped: Maps
    away: Maps


Rank = tuple[float, float, int]


@dataclass
class Joint:
    """A step with its costs for every set of dropped maps that was asked for."""

    step: Step
    terms: Terms
    budget: int
    orders: dict[Maps, Costs | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.most = ORDERS
        plain = self.orders[frozenset()] = Costs(self.step, self.terms)
        self.plain, self.names = plain, [*plain.sizes]
        ops = [op for op in self.step.ops if op.phase is Phase.FORWARD]
        self.makers = {name: op.name for op in ops for name in made(op) if name in plain.sizes}
        self.cheap = {op.name for op in ops if op.traits.cheap}

    def costs(self, dropped: Maps) -> Costs | None:
        """The step without these maps; None where they cannot be made again, or where so many
        orders were made already."""
        if dropped not in self.orders and len(self.orders) < self.most:
            try:
                self.orders[dropped] = Costs(self._without(dropped), self.terms, self.plain)
            except InputError:
                self.orders[dropped] = None
        return self.orders.get(dropped)

    def _without(self, dropped: Maps) -> Step:
        if dropped != CHAIN:
            return recompute(self.step, "drop", layers=sorted(dropped))
        at = self.terms
        ordered = partial(
            recompute, self.step, "chain", batch=at.batch, in_place=at.in_place, device=at.machine
        )
        try:
            return ordered(budget=self.budget)
        except InputError:  # below the least peak: that, and maps go on top of it
            return ordered()

    def rank(self, state: State) -> Rank:
        """What is to be least (``Costs.rank``)."""
        costs = self.costs(state.dropped)
        if costs is None:
            return inf, 0.0, 0
        return costs.rank(state.away & costs.sizes.keys(), self.budget)

    def every(self) -> Iterator[State]:
        """All states; what runs again may read a map, as the input, that backward did not."""
        for dropped in subsets(dict.fromkeys(self.makers.values())):
            costs = self.costs(dropped)
            if costs is not None:
                yield from (State(dropped, away) for away in subsets(costs.sizes))
        yield from self.on_top(CHAIN)

    def on_top(self, dropped: Maps) -> Iterator[State]:
        """The best set of maps that go where these are dropped."""
        costs = self.costs(dropped)
        if costs is not None:
            yield State(dropped, best_maps(costs, self.budget)[0])

    def found(self) -> Iterator[State]:
        """What a search finds; nothing needs to be dropped where the maps that go cost no time."""
        only = State(frozenset(), best_maps(self.plain, self.budget)[0])
        yield only
        cost = self.rank(only)
        if cost[0] or cost[1] > self.plain.bound(inf) * (1 + 1e-12):
            for start in sorted({only, *self.starts()}, key=_sorted):
                yield descended(start, self.fates, self.rank)

    def starts(self) -> Iterator[State]:
        """Where a search starts: each of the two alone, and what is cheap to compute dropped."""
        nothing: Maps = frozenset()
        cheap = frozenset(op for op in self.makers.values() if op in self.cheap)
        sets = [CHAIN, cheap]
        for part, start in ((1, nothing), (2, cheap)):
            self.most = ORDERS * part // 3
            sets.append(self.alone(start))
        self.most = ORDERS
        for dropped in sets:
            yield State(dropped, nothing)
            yield from self.on_top(dropped)

    def alone(self, start: Maps) -> Maps:
        """The best set of dropped maps where none goes, from a start."""
        sizes = {self.makers[n]: size for n, size in self.plain.sizes.items() if n in self.makers}
        return descended(
            start, changes(sizes), lambda dropped: self.rank(State(dropped, frozenset()))
        )

    @cached_property
    def fates(self) -> list[Callable[[State], State]]:
        """What may change for one map, the largest first; what needs no new order of operations
        comes before what does."""
        names = sorted(self.names, key=lambda name: (-self.plain.sizes[name], name))
        made_ = [name for name in names if name in self.makers]
        return [
            *(partial(self.other_way, name) for name in names),
            *(partial(self.other_order, name, True) for name in made_),
            *(partial(self.other_order, name, False) for name in made_),
        ]

    def other_way(self, name: str, state: State) -> State:
        """A map that stays goes, or one that goes stays."""
        dropped = self.makers.get(name) in state.dropped
        return state if dropped else State(state.dropped, state.away ^ {name})

    def other_order(self, name: str, goes: bool, state: State) -> State:
        """A map is dropped, or one that was is kept, and maybe goes."""
        if state.dropped == CHAIN:
            return state
        away = state.away | {name} if goes else state.away - {name}
        return State(state.dropped ^ {self.makers[name]}, away)


def joint(step: Step, at: Terms, budget: int) -> Choice:
    """What becomes of each map: kept, moved, or dropped and computed again.

    Raises:
        InputError: a step that recomputes already; no choice fits, the message names the least.
    """
    if recomputes(step):
        raise InputError(
            "this step recomputes already; start from the step before that, or try 'best', which "
            "only moves maps."
        )
    all_ = Joint(step, at, budget)
    exact = len(all_.names) <= EXACT
    state = min(all_.every() if exact else _found(all_), key=all_.rank)
    costs = all_.costs(state.dropped)
    assert costs is not None
    away = state.away & costs.sizes.keys()
    cost = costs.of(away, budget)
    if cost.over:
        raise refusal(at, budget, cost.peak)
    exact = exact and all(each.all_ways for each in all_.orders.values() if each is not None)
    return written(
        costs, away, cost, "joint", budget, exact,
        all_.plain.bound(inf), repeats(costs.step),
    )  # fmt: skip


def _found(all_: Joint) -> Iterator[State]:
    """What a search finds; also with maps that come back early, where that is not asked for: so
    what a budget asks is never slower."""
    yield from all_.found()
    if all_.terms.prefetch == BUDGET:
        early = Joint(all_.step, replace(all_.terms, prefetch=VDNN), all_.budget)
        yield min(early.found(), key=early.rank)


def repeats(step: Step) -> tuple[str, ...]:
    """The operations that run again, by their first name."""
    times = {op.name: op.attributes.get(AGAIN, 0) for op in step.ops}
    return tuple(dict.fromkeys(name.removesuffix(repeated(n)) for name, n in times.items() if n))


def _sorted(state: State) -> tuple[list[str], list[str]]:
    return sorted(state.dropped), sorted(state.away)


SEARCHES: Mapping[str, Callable[[Step, Terms, int], Choice]] = {
    "dynamic": dynamic, "best": best, "joint": joint,
}  # fmt: skip
"""The policies that ask for a batch and a budget, and choose by what a set of maps costs."""
