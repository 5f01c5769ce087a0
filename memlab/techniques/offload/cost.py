"""What it costs to move a set of maps, without the step of it: bytes and seconds to the last digit.

``offload`` writes a step with every name and check, which takes tens of milliseconds. A search asks
for thousands of sets: here each takes a fraction of one, by the same rules.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import accumulate
from math import inf
from typing import NamedTuple

from memlab import hardware
from memlab.clocks import roofline
from memlab.clocks.roofline import Machine
from memlab.clocks.streams import seconds_of
from memlab.errors import InputError, flag, known
from memlab.hardware import Device, Link
from memlab.layers.algorithms import ALGORITHMS, on
from memlab.ledger.plan import plan
from memlab.step.op import Op
from memlab.step.step import Step
from memlab.step.storage import DEVICE
from memlab.techniques import order
from memlab.techniques.in_place import in_place
from memlab.techniques.lowering import lowering, ways
from memlab.techniques.offload.prefetch import (
    ANY_ORDER,
    BUDGET,
    NEEDED,
    PREFETCH,
    VDNN,
    Return,
    Times,
    TooManyError,
    Trip,
    delayed,
    latest,
    needed,
)
from memlab.techniques.offload.rules import Move, WayBack, by_number
from memlab.techniques.recompute.repeats import repeated

KINDS = ("m", "p")
"""vDNN's letters for the algorithms: memory-optimal, which take no workspace, and
performance-optimal, the fastest (C6)."""


class Way(NamedTuple):
    """An operation by one algorithm: its seconds, and the bytes of its workspace."""

    seconds: float
    nbytes: int
    algorithm: str


@dataclass(frozen=True)
class Terms:
    """What a step is planned for: a batch, the speed of the link in bytes per second, a machine,
    whether in place follows, which algorithms convolutions may take, ``"m"`` the one without
    workspace alone, ``"p"`` any, and when maps come back, one of ``PREFETCH``."""

    batch: int
    speed: int
    machine: Machine
    in_place: bool = False
    algorithms: str = "p"
    prefetch: str = VDNN

    @property
    def names(self) -> list[str]:
        """The algorithms, that without workspace first: all on a device by its figures, those with
        a kernel on a processor that was measured."""
        device = isinstance(self.machine, Device)
        least = "implicit-gemm" if device else "direct"
        others = [*ALGORITHMS] if device else on("cpu")
        return [least] if self.algorithms == "m" else [*dict.fromkeys([least, *others])]

    def ways(self, op: Op, threads: int) -> list[Way]:
        """The operation by each algorithm, the fastest first and of these the smallest."""
        found = []
        for each in ways(op, self.names, threads):
            if len(self.names) == 1 or roofline.knows(each, self.machine):
                nbytes = sum(t.storage.size.at(self.batch) for t in each.workspace.values())
                seconds = seconds_of(each, self.batch, self.machine, None)
                found.append(Way(seconds, nbytes, each.algorithm))
        return sorted(found, key=lambda way: way[:2])


def terms(
    step: Step,
    batch: object,
    device: str | Machine | None,
    link: str | float | Link | None,
    in_place: bool = False,
    algorithms: str = "p",
    prefetch: str = VDNN,
) -> Terms:
    """What is asked for, checked.

    Raises:
        InputError: a batch that the step does not hold for, no such device or link, no link at all.
    """
    at = step.held(batch, "start from a step without techniques")
    machine = roofline.machine(device)
    own = machine.link if isinstance(machine, Device) else None
    wire = own if link is None else hardware.link(link)
    if wire is None:
        whose = machine.name if isinstance(machine, Device) else machine.title
        raise InputError(f"no source gives the link of {whose}; try link='12 GB/s'.")
    known("kind of algorithms", algorithms, KINDS)
    known("prefetch", prefetch, PREFETCH)
    return Terms(at, wire.speed, machine, flag("in_place", in_place), algorithms, prefetch)


def optimal(step: Step, algorithms: str, batch: int | None, device: str | Machine | None) -> Step:
    """The step with all convolutions by vDNN's memory-optimal (``"m"``) or performance-optimal
    (``"p"``) algorithms; the fastest ones are those of a batch.

    Raises:
        InputError: as ``terms``; ``"p"`` without a batch; a step that recomputes.
    """
    if known("kind of algorithms", algorithms, KINDS) == "m":
        return lowering(step, Terms(1, 1, roofline.machine(device), algorithms="m").names[0])
    order.check(step, "lowering", but=("offload",))
    at = terms(step, 1 if batch is None else batch, device, "1 GB/s")
    if batch is None:
        raise InputError(
            "the fastest algorithms are those of a batch; try memlab.offload(step, 'conv', "
            "algorithms='p', batch=256)."
        )
    fastest = [at.ways(op, step.threads)[0] for op in step.ops]
    return computed(step, fastest, fastest, at)


def computed(step: Step, picks: Sequence[Way], fastest: Sequence[Way], at: Terms) -> Step:
    """The step with every operation by the way that was picked; it holds for the batch alone."""
    used = {way.algorithm for way in picks if way.algorithm}
    if used <= {at.names[0]}:
        note = [f"{each} convolution" for each in used]
    elif all(one.seconds == other.seconds for one, other in zip(picks, fastest, strict=True)):
        note = [f"fastest convolutions by {roofline.by(at.machine)}"]
    else:
        note = ["convolutions within the budget"]
    notes = (*note, *(each for each in step.notes if "convolution" not in each))
    ops = tuple(
        ways(op, [way.algorithm], step.threads)[0] for op, way in zip(step.ops, picks, strict=True)
    )
    return replace(step, ops=ops, notes=notes, batches=range(at.batch, at.batch + 1))


class Cost(NamedTuple):
    """What a choice of maps comes to. ``over`` are the bytes that its peak has above the budget,
    ``picks`` the way of every operation, ``at`` the operation of the peak."""

    over: int
    seconds: float
    peak: int
    at: int
    picks: list[Way]
    moves: list[Move]


class Costs:
    """A step, read once, for the cost of moving any of its maps."""

    def __init__(self, step: Step, terms: Terms, like: Costs | None = None) -> None:
        """``like`` is the same step in another order, whose operations take as long."""
        self.step, self.terms = step, terms
        self.back = WayBack(step)
        self.by_name: dict[str, list[Way]] = {} if like is None else like.by_name
        for op in step.ops:
            if op.name not in self.by_name:
                self.by_name[op.name] = terms.ways(op, step.threads)
        self.ways = [self.by_name[op.name] for op in step.ops]
        self.fastest = [each[0] for each in self.ways]
        self.smallest = [min(each, key=lambda way: (way.nbytes, way.seconds)) for each in self.ways]
        self.twins = [each for each in _twins(step) if len(self.ways[each[0]]) > 1]
        base = in_place(step) if terms.in_place else step
        self.line = plan(base).timeline(terms.batch, DEVICE, workspace=False)
        self.sizes = {
            name: each.map.storage.size.at(terms.batch) for name, each in self.back.there.items()
        }
        self.takes = {name: nbytes / terms.speed for name, nbytes in self.sizes.items()}
        self.given_up = False
        self.few: bool = len(self.sizes) <= ANY_ORDER if like is None else like.few

    @property
    def all_ways(self) -> bool:
        """Whether all times at which maps may come back are tried, or a rule leaves one."""
        alone = all(len(twins) == 1 for twins in self.twins)
        return self.terms.prefetch != BUDGET or (self.few and alone and not self.given_up)

    def of(
        self, chosen: Collection[str], budget: float, level: str = "fits", exact: bool = False
    ) -> Cost:
        """The cost of a set of maps, each operation by the fastest way that ``"fits"`` into the
        budget beside what is alive then, by the ``"fastest"`` or by the ``"smallest"`` of all.

        Where maps come back as the budget asks, all choices are tried if the maps of the step are
        few, or ``exact`` says so.
        """
        early, prefetch = self.back.moves(chosen), self.terms.prefetch
        if prefetch == VDNN or not early:
            return self._of(early, budget, level)
        late = needed(self.back.there, chosen)
        if prefetch == NEEDED:
            return self._of(late, budget, level)
        costs = [self._late(late, budget, level)]
        costs.append(self._of(early, budget, level))
        if exact or self.few:
            known = min(costs, key=_worth)
            found = self._best(late, budget, level, known)
            costs += [self._of(moves, budget, level) for moves in found]
        return min(costs, key=_worth)

    def rank(self, chosen: Collection[str], budget: float) -> tuple[int, float, int]:
        """What is to be least: bytes over the budget, then seconds, then bytes that move."""
        cost = self.of(chosen, budget)
        return cost.over, cost.seconds, sum(self.sizes[name] for name in chosen)

    def _of(self, moves: list[Move], budget: float, level: str) -> Cost:
        line = self._line(moves)
        picks = self._picks(line, budget, level)
        inside = [alive + way.nbytes for alive, way in zip(line, picks, strict=True)]
        peak = max(inside)
        over = 0 if peak <= budget else int(peak - budget)
        return Cost(over, self._times(moves, picks).end, peak, inside.index(peak), picks, moves)

    def _picks(self, line: Sequence[int], budget: float, level: str) -> list[Way]:
        picks = {"fastest": self.fastest, "smallest": self.smallest}.get(level)
        return self._fitting(line, budget) if picks is None else picks

    def _late(self, late: list[Move], budget: float, level: str) -> Cost:
        """Every map comes back as late as costs no time, and later still as long as the peak is
        above the budget."""
        first = max(move.leaves for move in late) + 1
        picks = self._picks(self._line(late), budget, level)
        hurried = [replace(move, returns=min(first, move.waits)) for move in late]
        moves = latest(hurried, first, self._times(hurried, picks), self.takes)
        least = self._picks([*self.line], -inf, level)
        gone = self._line(self._never(late))
        room = [budget - alive - way.nbytes for alive, way in zip(gone, least, strict=True)]
        return self._of(delayed(moves, room, self.sizes), budget, level)

    def _never(self, moves: list[Move]) -> list[Move]:
        """The same moves without a way back."""
        return [replace(move, returns=len(self.step.ops)) for move in moves]

    def _best(self, late: list[Move], budget: float, level: str, known: Cost) -> list[list[Move]]:
        """The ways back that end first of all that fit; none where none ends before what is known,
        where choices are too many, or where operations that run again would have to agree on an
        algorithm."""
        first = max(move.leaves for move in late) + 1
        if late[0].waits < first or not all(len(twins) == 1 for twins in self.twins):
            return []
        try:
            found = self._asked(late, first, budget, level, known).moves()
        except TooManyError:
            self.given_up = True
            return []
        return [] if found is None else [found]

    def _asked(
        self, late: list[Move], first: int, budget: float, level: str, known: Cost
    ) -> Return:
        """The question for the best ways back, from the first operation on beside which a copy may
        start."""
        end = late[-1].waits + 1
        picks = self._picks(self._line(late), budget, level)
        rest = [*accumulate((way.seconds for way in reversed(picks[:end])), initial=0.0)][::-1]
        times, names = self._times(late, picks), [move.map.storage.name for move in late]
        trips = [
            Trip(move, self.sizes[name], self.takes[name], times.gone[name])
            for move, name in zip(late, names, strict=True)
        ]
        seconds = self._beside(self._line(self._never(late)), budget, level)
        most = known.seconds - sum(way.seconds for way in known.picks[end:])
        most = inf if known.over else most
        return Return(trips, first, times.ready[first], seconds, rest, most, self.few)

    def _beside(
        self, line: Sequence[int], budget: float, level: str
    ) -> Callable[[int, int], float | None]:
        """The seconds of an operation beside so many bytes more than a line has; None where they
        leave it no room."""
        one = {"fastest": self.fastest, "smallest": self.smallest}.get(level)
        ways = self.ways if one is None else [[way] for way in one]

        @cache
        def seconds(number: int, nbytes: int) -> float | None:
            room = budget - line[number] - nbytes
            return next((way.seconds for way in ways[number] if way.nbytes <= room), None)

        return seconds

    def freed(self, chosen: Collection[str], at: int) -> Iterator[tuple[str, int]]:
        """The chosen maps that are away in an operation, and their bytes."""
        early = self.terms.prefetch == VDNN
        for move in self.back.moves(chosen) if early else needed(self.back.there, chosen):
            if move.leaves < at < move.returns:
                name = move.map.storage.name
                yield name, self.sizes[name]

    def away(self, at: int) -> frozenset[str]:
        """The maps that an operation does not need, between forward and backward of them."""
        there = self.back.there.items()
        return frozenset(name for name, each in there if each.leaves < at < each.needed)

    def bound(self, budget: float) -> float:
        """Seconds that no choice undercuts: nobody waits, and every operation takes the fastest way
        that would fit if all maps were away that it does not need."""
        away = self._line(
            [Move(c.map, c.leaves, c.needed, c.needed) for c in self.back.there.values()]
        )
        return sum(way.seconds for way in self._fitting(away, budget))

    def _fitting(self, line: Sequence[int], budget: float) -> list[Way]:
        """Every operation by the fastest way that fits beside the bytes alive in it, or by the
        smallest where none does."""
        picks = [*self.fastest]
        for numbers in self.twins:
            room = budget - max(line[number] for number in numbers)
            for number in numbers:
                ways = self.ways[number]
                fits = (way for way in ways if way.nbytes <= room)
                picks[number] = next(fits, self.smallest[number])
        return picks

    def _line(self, moves: Sequence[Move]) -> list[int]:
        """Bytes alive in every operation, workspace left out. Inside a copy there are no more than
        in the operation beside it."""
        change = [0] * (len(self.line) + 1)
        for move in moves:
            nbytes = self.sizes[move.map.storage.name]
            change[move.leaves + 1] -= nbytes
            change[move.returns] += nbytes
        return [a + b for a, b in zip(self.line, accumulate(change), strict=False)]

    def _times(self, moves: Sequence[Move], picks: Sequence[Way]) -> Times:
        """When operations begin, as ``streams.slots`` has it."""
        out, back = by_number(moves, "leaves"), by_number(moves, "returns")
        end = end_out = end_in = 0.0
        waits: dict[int, float] = {}
        gone: dict[str, float] = {}
        begin: dict[int, float] = {}
        took, ready = [way.seconds for way in picks], list[float]()
        for number in sorted(_stops(moves)):
            for each in took[len(ready) : number]:  # nobody waits on the way here
                ready.append(end)
                end += each
            start = max(end, waits.get(number, 0.0))
            ready.append(start)
            for move in back.get(number, ()):
                name = move.map.storage.name
                end_in = max(end_in, start, gone[name]) + self.takes[name]
                waits[move.waits] = max(waits.get(move.waits, 0.0), end_in)
            begin[number] = max(end, waits.get(number, 0.0))
            end = begin[number] + took[number]
            for move in out.get(number, ()):
                name = move.map.storage.name
                end_out = gone[name] = max(end_out, start) + self.takes[name]
                waits[number + 1] = max(waits.get(number + 1, 0.0), end_out)
        for each in took[len(ready) :]:
            ready.append(end)
            end += each
        return Times(max(end, end_out, end_in), ready, begin, gone)


def _worth(cost: Cost) -> tuple[int, float]:
    return cost.over, cost.seconds


def _stops(moves: Sequence[Move]) -> set[int]:
    """The operations at which a copy starts or is waited for."""
    return {n for m in moves for n in (m.leaves, m.leaves + 1, m.returns, m.waits)}


def _twins(step: Step) -> Iterator[list[int]]:
    """Operations with those that run them again: the same algorithm makes the same bits."""
    found: dict[str, list[int]] = {}
    for number, op in enumerate(step.ops):
        times = op.attributes.get(order.AGAIN, 0)
        found.setdefault(op.name.removesuffix(repeated(times)), []).append(number)
    return iter(found.values())
