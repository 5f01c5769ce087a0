"""Cost of moving a set of maps, without the step of it: bytes and seconds to the last digit.

``offload`` writes a step with every name and check, which takes tens of milliseconds. A search asks
for thousands of sets: here each takes a fraction of one, by the same rules.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import NamedTuple

from memlab import hardware
from memlab.clocks import roofline
from memlab.clocks.roofline import Machine
from memlab.clocks.streams import seconds_of
from memlab.errors import InputError, known, true_or_false
from memlab.hardware import Device, Link
from memlab.layers.algorithms import ALGORITHMS, on
from memlab.ledger.plan import plan
from memlab.step.op import Op
from memlab.step.step import Step
from memlab.step.storage import DEVICE
from memlab.techniques import application_order
from memlab.techniques.in_place import in_place
from memlab.techniques.lowering import lowering, ways
from memlab.techniques.offload.rules import PREFETCH, VDNN, Move, WayBack, by_number, needed
from memlab.techniques.recompute.repeated_operations import repeated

KINDS = ("m", "p")
"""vDNN's letters for the algorithms: memory-optimal, which take no workspace, and
performance-optimal, the fastest (C6)."""


class TimedAlgorithm(NamedTuple):
    """An operation by one algorithm: its seconds, and the bytes of its workspace."""

    seconds: float
    nbytes: int
    algorithm: str


@dataclass(frozen=True)
class Terms:
    """Terms of an offload search: a batch, the speed of the link in bytes per second, a machine,
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
        """Names of the algorithms, the one without workspace first: all on a device by its figures,
        those with a kernel on a processor that was measured."""
        device = isinstance(self.machine, Device)
        least = "implicit-gemm" if device else "direct"
        others = [*ALGORITHMS] if device else on("cpu")
        return [least] if self.algorithms == "m" else [*dict.fromkeys([least, *others])]

    def ways(self, op: Op, threads: int) -> list[TimedAlgorithm]:
        """Return the operation by each algorithm, the fastest first and of these the smallest."""
        timed = []
        for candidate in ways(op, self.names, threads):
            if len(self.names) == 1 or roofline.knows(candidate, self.machine):
                nbytes = sum(t.storage.size.at(self.batch) for t in candidate.workspace.values())
                seconds = seconds_of(candidate, self.batch, self.machine, None)
                timed.append(TimedAlgorithm(seconds, nbytes, candidate.algorithm))
        return sorted(timed, key=lambda way: way[:2])


def terms(
    step: Step,
    batch: object,
    device: str | Machine | None,
    link: str | float | Link | None,
    in_place: bool = False,
    algorithms: str = "p",
    prefetch: str = VDNN,
) -> Terms:
    """Return the terms of an offload search, checked.

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
    return Terms(at, wire.speed, machine, true_or_false("in_place", in_place), algorithms, prefetch)


def optimal(step: Step, algorithms: str, batch: int | None, device: str | Machine | None) -> Step:
    """Return the step with all convolutions by vDNN's memory-optimal (``"m"``) or
    performance-optimal (``"p"``) algorithms; the fastest ones are those of a batch.

    Raises:
        InputError: as ``terms``; ``"p"`` without a batch; a step that recomputes.
    """
    if known("kind of algorithms", algorithms, KINDS) == "m":
        return lowering(step, Terms(1, 1, roofline.machine(device), algorithms="m").names[0])
    application_order.check(step, "lowering", but=("offload",))
    if device is None and batch is not None:
        return lowering(step, batch=batch)
    at = terms(step, 1 if batch is None else batch, device, "1 GB/s")
    if batch is None:
        raise InputError(
            "the fastest algorithms are those of a batch; try memlab.offload(step, 'conv', "
            "algorithms='p', batch=256)."
        )
    fastest = [at.ways(op, step.threads)[0] for op in step.ops]
    return computed(step, fastest, fastest, at)


def computed(
    step: Step, picks: Sequence[TimedAlgorithm], fastest: Sequence[TimedAlgorithm], at: Terms
) -> Step:
    """Return the step with every operation by the algorithm that was picked; it holds for the batch
    alone."""
    used = {way.algorithm for way in picks if way.algorithm}
    if used <= {at.names[0]}:
        note = [f"{name} convolution" for name in used]
    elif all(one.seconds == other.seconds for one, other in zip(picks, fastest, strict=True)):
        note = [f"fastest convolutions by {roofline.by(at.machine)}"]
    else:
        note = ["convolutions within the budget"]
    notes = (*note, *(note for note in step.notes if "convolution" not in note))
    ops = tuple(
        ways(op, [way.algorithm], step.threads)[0] for op, way in zip(step.ops, picks, strict=True)
    )
    return replace(step, ops=ops, notes=notes, batches=range(at.batch, at.batch + 1))


class Cost(NamedTuple):
    """Cost of a choice of maps. ``over`` are the bytes that its peak has above the budget,
    ``picks`` the algorithm of every operation, ``at`` the operation of the peak."""

    over: int
    seconds: float
    peak: int
    at: int
    picks: list[TimedAlgorithm]
    moves: list[Move]


class Costs:
    """Reader of a step for the cost of moving any of its maps."""

    def __init__(self, step: Step, terms: Terms) -> None:
        self.step, self.terms = step, terms
        self.back = WayBack(step)
        self.ways = [terms.ways(op, step.threads) for op in step.ops]
        self.fastest = [way[0] for way in self.ways]
        self.smallest = [
            min(timed, key=lambda way: (way.nbytes, way.seconds)) for timed in self.ways
        ]
        self.twins = [twin for twin in _twins(step) if len(self.ways[twin[0]]) > 1]
        base = in_place(step) if terms.in_place else step
        self.line = plan(base).timeline(terms.batch, DEVICE, workspace=False)
        self.sizes = {
            name: move.map.storage.size.at(terms.batch) for name, move in self.back.there.items()
        }
        self.takes = {name: nbytes / terms.speed for name, nbytes in self.sizes.items()}

    def of(self, chosen: Collection[str], budget: float, level: str = "fits") -> Cost:
        """Return the cost of a set of maps, each operation by the fastest way that ``"fits"`` into
        the budget beside the bytes alive then, by the ``"fastest"`` or by the ``"smallest"`` of
        all."""
        moves = self.moves(chosen)
        line = self._line(moves)
        picks = {"fastest": self.fastest, "smallest": self.smallest}.get(level)
        if picks is None:
            picks = self._fitting(line, budget)
        inside = [alive + way.nbytes for alive, way in zip(line, picks, strict=True)]
        peak = max(inside)
        over = 0 if peak <= budget else int(peak - budget)
        return Cost(over, self._end(moves, picks), peak, inside.index(peak), picks, moves)

    def moves(self, chosen: Collection[str]) -> list[Move]:
        """Return the copies of a set of maps, which come back as ``terms.prefetch`` says."""
        early = self.terms.prefetch == VDNN
        return self.back.moves(chosen) if early else needed(self.back.there, chosen)

    def rank(self, chosen: Collection[str], budget: float) -> tuple[int, float, int]:
        """Return the key that orders choices: bytes over the budget, then seconds, then bytes that
        move."""
        cost = self.of(chosen, budget)
        return cost.over, cost.seconds, sum(self.sizes[name] for name in chosen)

    def freed(self, chosen: Collection[str], at: int) -> Iterator[tuple[str, int]]:
        """Yield the chosen maps that are away in an operation, with their bytes."""
        for move in self.moves(chosen):
            if move.leaves < at < move.returns:
                name = move.map.storage.name
                yield name, self.sizes[name]

    def away(self, at: int) -> frozenset[str]:
        """Return the maps that an operation does not need, between their last use in forward and
        their first in backward."""
        there = self.back.there.items()
        return frozenset(name for name, move in there if move.leaves < at < move.needed)

    def bound(self, budget: float) -> float:
        """Return the seconds that no choice undercuts: nobody waits, and every operation takes the
        fastest way that would fit if all maps were away that it does not need."""
        away = self._line(
            [Move(c.map, c.leaves, c.needed, c.needed) for c in self.back.there.values()]
        )
        return sum(way.seconds for way in self._fitting(away, budget))

    def _fitting(self, line: Sequence[int], budget: float) -> list[TimedAlgorithm]:
        """Return every operation by the fastest way that fits beside the bytes alive in it, or by
        the smallest where none does."""
        picks = [*self.fastest]
        for numbers in self.twins:
            room = budget - max(line[number] for number in numbers)
            for number in numbers:
                ways = self.ways[number]
                fits = (way for way in ways if way.nbytes <= room)
                picks[number] = next(fits, self.smallest[number])
        return picks

    def _line(self, moves: Sequence[Move]) -> list[int]:
        """Return the bytes alive in every operation, workspace left out. Inside a copy there are no
        more than in the operation beside it."""
        change = [0] * (len(self.line) + 1)
        for move in moves:
            nbytes = self.sizes[move.map.storage.name]
            change[move.leaves + 1] -= nbytes
            change[move.returns] += nbytes
        return [a + b for a, b in zip(self.line, accumulate(change), strict=False)]

    def _end(self, moves: Sequence[Move], picks: Sequence[TimedAlgorithm]) -> float:
        """Return the seconds of the step, as ``streams.slots`` has them."""
        out, back = by_number(moves, "leaves"), by_number(moves, "returns")
        end = end_out = end_in = 0.0
        waits: dict[int, float] = {}
        gone: dict[str, float] = {}
        took, done = [way.seconds for way in picks], 0
        for number in sorted(_stops(moves)):
            for seconds in took[done:number]:  # nobody waits on the way here
                end += seconds
            start = max(end, waits.get(number, 0.0))
            for move in back.get(number, ()):
                name = move.map.storage.name
                end_in = max(end_in, start, gone[name]) + self.takes[name]
                waits[move.waits] = max(waits.get(move.waits, 0.0), end_in)
            end = max(end, waits.get(number, 0.0)) + took[number]
            done = number + 1
            for move in out.get(number, ()):
                name = move.map.storage.name
                end_out = gone[name] = max(end_out, start) + self.takes[name]
                waits[number + 1] = max(waits.get(number + 1, 0.0), end_out)
        for seconds in took[done:]:
            end += seconds
        return max(end, end_out, end_in)


def _stops(moves: Sequence[Move]) -> set[int]:
    """Return the operations at which a copy starts or is waited for."""
    return {n for m in moves for n in (m.leaves, m.leaves + 1, m.returns, m.waits)}


def _twins(step: Step) -> Iterator[list[int]]:
    """Yield operations together with those that run them again: the same algorithm makes the same
    bits."""
    twin_ops: dict[str, list[int]] = {}
    for number, op in enumerate(step.ops):
        times = op.attributes.get(application_order.AGAIN, 0)
        twin_ops.setdefault(op.name.removesuffix(repeated(times)), []).append(number)
    return iter(twin_ops.values())
