"""Which maps wait in host memory, so that a step fits into a budget and takes the least time.

vDNN's dynamic policy tries its static ones in an order of its own (C6). ``"best"`` asks for the set
of maps with the least planned seconds: of all sets where the maps are few, else by a search that
starts from vDNN's answers. Every set has the algorithms that its memory leaves room for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from operator import xor
from typing import Any, TypeVar

from memlab import units
from memlab.clocks import roofline
from memlab.clocks.streams import clock
from memlab.errors import InputError
from memlab.hardware import Device
from memlab.ledger.plan import plan
from memlab.step.step import Step
from memlab.step.storage import HOST
from memlab.techniques.in_place import in_place as placed
from memlab.techniques.offload.cost import Cost, Costs, Terms, computed
from memlab.techniques.offload.rules import POLICIES, back, moved

EXACT = 12
"""Maps of which all sets are tried: up to 4,096 sets."""
SWAPS = 40
"""Maps up to which a search also tries one map for another."""

Maps = frozenset[str]
T = TypeVar("T")


@dataclass(frozen=True)
class OffloadChoice:
    """Result of an offload search at a batch.

    ``step`` is the step of it, before ``in_place``. ``maps`` wait in host memory. ``seconds`` are
    those of ``memlab.clock``, and ``bound`` is what no choice undercuts: every operation by the
    fastest way, nobody waits. ``peak`` and ``host`` are bytes in the two memories, after in place
    where that was asked for. ``exact`` says that all choices were tried, ``tried`` what a policy
    went through.
    """

    step: Step
    policy: str
    batch: int
    budget: int
    maps: tuple[str, ...]
    seconds: float
    bound: float
    peak: int
    host: int
    exact: bool
    tried: tuple[str, ...] = ()

    @property
    def distance(self) -> float:
        """Extra time over the bound, as a share of the bound."""
        return self.seconds / self.bound - 1 if self.bound else 0.0

    def as_dict(self) -> dict[str, Any]:
        """Result as plain values for JSON."""
        names = ("policy", "batch", "budget", "seconds", "bound", "distance", "peak", "host")
        lists = {name: [*getattr(self, name)] for name in ("maps", "tried")}
        return {name: getattr(self, name) for name in names} | lists | {"exact": self.exact}

    def text(self) -> str:
        """Result in a few lines of text."""
        lines = [self.step.describe() + f", batch {self.batch}"]
        lines += [f"  {line}" for line in self.tried]
        lines.append(f"  in host memory: {', '.join(self.maps) or 'nothing'}")
        lines.append(
            f"  {units.exact(self.peak)} of {units.exact(self.budget)} on the device, "
            f"{units.exact(self.host)} on the host"
        )
        how = "the best of all choices" if self.exact else "the best that was found"
        how = "the first that fits" if self.policy == "dynamic" else how
        share = f"{100 * self.distance:.3g} % longer than {self.bound:.4g} s, which none undercuts"
        return "\n".join([*lines, f"  {self.seconds:.4g} s, {how}: {share}"])


def written(
    costs: Costs, maps: Collection[str], cost: Cost, policy: str, budget: int, exact: bool = False,
    tried: tuple[str, ...] = (),
) -> OffloadChoice:  # fmt: skip
    """Return the choice as a step, with the bytes and seconds of its own plan and clock."""
    at = costs.terms
    whose = "" if isinstance(at.machine, Device) else f", by {roofline.by(at.machine)}"
    note = f"offload ({policy}{back(at.prefetch)}{whose})"
    step = moved(computed(costs.step, cost.picks, costs.fastest, at), cost.moves, note)
    after = placed(step) if at.in_place else step
    ledger = plan(after)
    return OffloadChoice(
        step, policy.partition(":")[0], at.batch, budget,
        tuple(name for name in costs.sizes if name in maps),
        clock(after, at.batch, at.machine, at.speed).seconds, costs.bound(budget),
        ledger.peak(at.batch), ledger.peak(at.batch, HOST), exact, tried,
    )  # fmt: skip


# -- vDNN's dynamic policy ----------------------------------------------------------------------

ORDER = (
    ("none", "fastest"), ("conv", "fastest"), ("all", "fastest"), ("conv", "fits"),
    ("all", "fits"), ("conv", "smallest"), ("all", "smallest"),
)  # fmt: skip
"""What the dynamic policy tries after all maps without workspace, in its order (C6): the maps that
go, and the algorithms. ``"fits"`` is the greedy downgrade: a workspace lives in its operation
alone, so one downgrade after the other ends at the fastest algorithm that fits beside the maps."""
_SAID = {"fastest": "p", "fits": "as fast as fits", "smallest": "m"}


def dynamic(step: Step, at: Terms, budget: int) -> OffloadChoice:
    """Return the result of vDNN's dynamic policy: the first of its configurations that fits.

    Raises:
        InputError: all maps without workspace do not.
    """
    costs = Costs(step, at)
    tries = tuple(_tries(costs, budget))
    maps, cost = tries[-1][1:]
    said = tuple(f"{name}: {units.exact(attempt.peak)}" for name, _, attempt in tries)
    return written(
        costs, maps, cost, f"dynamic: {tries[-1][0].partition(',')[0]}", budget, tried=said
    )


def _tries(costs: Costs, budget: int) -> Iterator[tuple[str, Maps, Cost]]:
    """Sets of maps that the dynamic policy tries, up to the one that fits."""
    sets = static(costs)
    least = costs.of(sets["all"], budget, "smallest")
    yield "all, m", sets["all"], least
    if least.over:
        raise InputError(
            f"this step does not fit into {units.exact(budget)} with all maps in host memory and "
            f"no workspace; the least that this policy takes is {units.exact(least.peak)}; try "
            "that budget, 'best', or a smaller batch."
        )
    for policy, level in ORDER:
        cost = costs.of(sets[policy], budget, level)
        yield f"{policy}, {_SAID[level]}", sets[policy], cost
        if not cost.over:
            return


def static(costs: Costs) -> dict[str, Maps]:
    """Return the maps of vDNN's static policies that can go, by policy."""
    there = costs.sizes.keys()
    return {name: frozenset(rule(costs.step) & there) for name, rule in POLICIES.items()}


# -- the best set -------------------------------------------------------------------------------


def best(step: Step, at: Terms, budget: int) -> OffloadChoice:
    """Return the set of maps with the least seconds within the budget, as a step.

    Raises:
        InputError: no set fits; the message names the least that one takes.
    """
    costs = Costs(step, at)
    maps, exact = best_maps(costs, budget)
    cost = costs.of(maps, budget)
    if cost.over:
        raise refusal(at, budget, cost.peak)
    return written(costs, maps, cost, "best", budget, exact)


def refusal(at: Terms, budget: int, least: int) -> InputError:
    """Return the error for a budget that nothing keeps."""
    also = "" if at.in_place else ", in_place=True (--in-place)"
    return InputError(
        f"no choice of maps makes this step fit into {units.exact(budget)}; the least that was "
        f"found is {units.exact(least)}; try that budget{also}, or a smaller batch."
    )


def best_maps(costs: Costs, budget: float) -> tuple[Maps, bool]:
    """Return the set of maps that is over the budget by the fewest bytes, and of those within it
    the fastest; and whether all sets were tried."""
    rank = partial(costs.rank, budget=budget)
    if len(costs.sizes) <= EXACT:
        return min(subsets(costs.sizes), key=rank), True
    sets = static(costs)
    starts = {
        *sets.values(),
        *(_grown(costs, start, budget) for start in (frozenset(), sets["conv"])),
    }
    beside = changes(costs.sizes)
    ends = {descended(start, beside, rank) for start in sorted(starts, key=sorted)}
    return min(sorted(ends, key=sorted), key=rank), False


def subsets(names: Collection[str]) -> Iterator[Maps]:
    """Yield all sets of these maps, the smaller ones first."""
    for size in range(len(names) + 1):
        yield from map(frozenset, combinations(names, size))


def _grown(costs: Costs, start: Maps, budget: float) -> Maps:
    """Return a set that grows one map after the other, always one that is away at the peak and
    saves the most bytes for each second that it adds, until the step fits."""
    maps = start
    while (cost := costs.of(maps, budget)).over:
        worth = {}
        for name in costs.away(cost.at) - maps:
            more = maps | {name}
            if freed := dict(costs.freed(more, cost.at)).get(name):
                added = max(costs.of(more, budget).seconds - cost.seconds, 1e-9)
                worth[name] = (freed / added, name)
        if not worth:
            break
        maps |= {max(worth, key=lambda name: worth[name])}
    return maps


def changes(sizes: Mapping[str, int]) -> list[Callable[[Maps], Maps]]:
    """Changes of a set of maps: one map more, one less, and where they are not many one for
    another; the largest maps first."""
    names = sorted(sizes, key=lambda name: (-sizes[name], name))
    pairs = combinations(names, 2) if len(names) <= SWAPS else ()
    return [
        *(partial(xor, frozenset({name})) for name in names),
        *(partial(_swapped, frozenset(pair)) for pair in pairs),
    ]


def _swapped(pair: Maps, maps: Maps) -> Maps:
    return maps ^ pair if len(pair & maps) == 1 else maps


def descended(start: T, changes: Sequence[Callable[[T], T]], rank: Callable[[T], Any]) -> T:
    """Move from a choice to better ones beside it until none is better; return the last."""
    best, value = start, rank(start)
    before = None
    while value != before:
        before = value
        for change in changes:
            other = change(best)
            if other != best and (worth := rank(other)) < value:
                best, value = other, worth
    return best


SEARCHES: Mapping[str, Callable[[Step, Terms, int], OffloadChoice]] = {
    "dynamic": dynamic,
    "best": best,
}
"""The policies that ask for a batch and a budget, and choose by what a set of maps costs."""
