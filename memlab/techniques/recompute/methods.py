"""The ways to recompute: each decides an order in which the operations of a step run.

Orders are lists of numbers of operations. Those of a chain come from schedules of its stages
(``chain_optimum``, ``segments``); others name what is dropped, and every map is made again right
before the first operation that needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple

from memlab import units
from memlab.clocks.roofline import Machine
from memlab.errors import InputError, unknown
from memlab.step.op import Op, Phase
from memlab.step.step import Step
from memlab.techniques.recompute import (
    chain_optimum,
    exact_order,
    segments,
    slots,
)
from memlab.techniques.recompute.chain import Chain, Schedule, simulate
from memlab.techniques.recompute.exact_order import GraphTask, Result
from memlab.techniques.recompute.order_memory import Liveness
from memlab.techniques.recompute.repeated_operations import made, names_of
from memlab.techniques.recompute.step_as_chain import cuts

Order = list[int]


@dataclass(frozen=True)
class RecomputeRequest:
    """Request for a recompute method: a step, and the arguments that the method takes."""

    step: Step
    k: int | None
    layers: tuple[str, ...]
    batch: int
    budget: int | None
    in_place: bool = False
    machine: Machine | None = None

    @cached_property
    def liveness(self) -> Liveness:
        """Reader of the step for the bytes of many orders."""
        return Liveness(self.step, self.batch, self.machine, self.in_place)


@dataclass(frozen=True)
class RecomputeMethod:
    """A way to recompute: the arguments that it needs and those that it takes."""

    order: Callable[[RecomputeRequest], Order]
    needs: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()
    example: str = "memlab.recompute(step)"


def _every(wish: RecomputeRequest) -> Order:
    stages = cuts(wish.step, wish.machine)
    parts = stages.parts
    schedule = segments.sqrt(parts) if wish.k is None else segments.every_kth(parts, wish.k)
    return stages.order(schedule)


def _slots(wish: RecomputeRequest) -> Order:
    stages = cuts(wish.step, wish.machine)
    assert wish.k is not None
    return stages.order(slots.output_schedule(len(stages.parts), wish.k))


def _keep(wish: RecomputeRequest) -> Order:
    stages = cuts(wish.step, wish.machine)
    for name in wish.layers:
        if name not in stages.names[:-1]:
            raise unknown("place to cut", name, stages.names[:-1])
    ends = [number + 1 for number, name in enumerate(stages.names[:-1]) if name in wish.layers]
    return stages.order(segments._cut(ends, len(stages.parts)))


def _chained(
    least: Callable[[Chain], Schedule],
    within: Callable[[Chain, int], Schedule],
    wish: RecomputeRequest,
) -> Order:
    """Return the schedule of the least peak, or the fastest one that the budget leaves room for:
    the bytes of the chain are those of the step."""
    stages = cuts(wish.step, wish.machine)
    chain = stages.chain(wish.batch, wish.in_place)
    schedule = least(chain)
    if wish.budget is not None:
        room = wish.budget - stages.throughout(wish.batch)
        if simulate(chain, schedule).peak <= room:
            schedule = within(chain, room)
    return _best(wish, [stages.order(schedule)], partial(_chained, least, within))


def _exact(wish: RecomputeRequest) -> Order:
    inputs, tasks, fixed = tasks_of(wish.step, wish.batch, wish.machine)
    graph = [*inputs, *tasks]

    def order(indices: Sequence[int]) -> Order:
        ran = [number - len(inputs) for number in indices if number >= len(inputs)]
        return [*ran, *range(len(tasks), len(wish.step.ops))]

    smallest = exact_order.least_memory(graph, fixed)
    tried = [order(smallest)]
    rest = wish.liveness.of(range(len(wish.step.ops))).timeline[len(tasks) :].tolist()
    least = max(exact_order.simulate(graph, smallest, fixed).peak, *rest, 0)
    room = least if wish.budget is None else wish.budget
    if least <= room:
        tried.append(order(exact_order.least_time(graph, room, fixed)))
    return _best(wish, tried, _exact)


def tasks_of(
    step: Step, batch: int, machine: Machine | None = None
) -> tuple[list[GraphTask], list[GraphTask], int]:
    """Return the blocks that go before the end of the step (inputs) as tasks, then every operation
    up to the last backward, and the bytes that live throughout. An order of the tasks takes the
    bytes and the time of the step that follows from it, up to there."""
    of = Liveness(step, batch, machine)
    end = max((i for i, op in enumerate(step.ops) if op.phase is Phase.BACKWARD), default=-1) + 1
    touched, after = (
        set[int]().union(*(run.touched for run in runs)) for runs in (of.runs[:end], of.runs[end:])
    )
    stay = of.left | after

    def nbytes(numbers: Iterable[int]) -> tuple[int, ...]:
        return tuple(int(of.nbytes[n]) if of.here[n] else 0 for n in numbers)

    inputs = sorted((of.there & touched) - stay)
    maker: dict[int, Result] = {input_: (number, 0) for number, input_ in enumerate(inputs)}
    tasks = []
    for number, (op, run) in enumerate(zip(step.ops[:end], of.runs, strict=False), len(inputs)):
        again = op.phase is Phase.FORWARD and (op.pure or op.again is not None)
        new = sorted(run.writes - of.there - maker.keys())
        own = [n for n in new if n not in stay]
        outputs = [n for n in own if n in run.made or not again]
        once = [n for n in own if n not in outputs]
        first, *more = nbytes(outputs) or (0,)
        reads = {maker[n] for n in run.touched if n in maker}
        maker |= {
            output: (number, which) for which, output in enumerate([*(outputs or [-1]), *once])
        }
        left, inside = (sum(nbytes(numbers)) for numbers in (set(new) - {*own}, run.workspace))
        tasks.append(
            GraphTask(
                op.name,
                run.time,
                first,
                tuple(sorted(reads)),
                again,
                inside,
                left,
                tuple(more),
                nbytes(once),
                run.repeated.time,
            )
        )
    given = [GraphTask(of.tensors[n].name, 0, sum(nbytes([n])), (), again=False) for n in inputs]
    return given, tasks, sum(nbytes(of.there - {*inputs}))


def _best(
    wish: RecomputeRequest, orders: Iterable[Order], way: Callable[[RecomputeRequest], Order]
) -> Order:
    """Return the order of the least peak, or with a budget the fastest whose peak is within it: one
    of these, or the step's own where that is as good.

    Raises:
        InputError: the budget is below the least peak, which the message names, and that of the
            ``way`` with in place after it.
    """
    own = _rated(wish, [*range(len(wish.step.ops))])
    if wish.budget is not None and own.peak <= wish.budget:
        return own.order
    rated = [own, *(_rated(wish, order) for order in orders)]
    least = min(rated, key=lambda order: (order.peak, order.cost, len(order.order)))
    if wish.budget is None:
        return least.order
    if wish.budget < least.peak:
        raise _refusal(wish, least.peak, way)
    fits = [order for order in rated if order.peak <= wish.budget]
    return min(fits, key=lambda order: (order.cost, order.peak)).order


def _refusal(
    wish: RecomputeRequest, least: int, way: Callable[[RecomputeRequest], Order]
) -> InputError:
    """Return the error for a budget that no order keeps."""
    also, these = "", "that"
    if not wish.in_place:
        after = replace(wish, in_place=True, budget=None)
        lower = _rated(after, way(after)).peak
        if lower < least:
            also = f", or {units.exact(lower)} with in place after it (in_place=True, --in-place)"
            these = "one of these budgets"
    assert wish.budget is not None
    return InputError(
        f"no order of this kind fits into {units.exact(wish.budget)}; the least that one takes is "
        f"{units.exact(least)}{also}; try {these}, or a smaller batch."
    )


class _Rated(NamedTuple):
    """Order with the bytes of its step, in place where that follows, and its time."""

    order: Order
    peak: int
    cost: int


def _rated(wish: RecomputeRequest, order: Order) -> _Rated:
    lives = wish.liveness.of(order)
    return _Rated(order, lives.peak, lives.cost)


def _drop(wish: RecomputeRequest) -> Order:
    forward = list(_forward(wish.step))
    known = dict.fromkeys([*(op.name for op in forward), *(op.kind for op in forward)])
    for name in wish.layers:
        if name not in known:
            raise unknown("operation or kind", name, known)
    chosen = [op for op in forward if {op.name, op.kind} & set(wish.layers)]
    for op in chosen:
        if op.updates and not made(op):
            changed = next(iter(op.updates.values())).name
            raise InputError(f"{op.name} changes {changed} in place, so it cannot run twice.")
    return _on_demand(wish.step, {name for op in chosen for name in made(op)})


def _cheap(wish: RecomputeRequest) -> Order:
    """Return the order that drops the outputs of cheap operations that are made of kept values, or
    of dropped ones."""
    dropped = (made(op) for op in cheap_operations(wish.step))
    return _on_demand(wish.step, set[str]().union(*dropped))


def cheap_operations(step: Step) -> list[Op]:
    """Return the operations of forward whose outputs ``"cheap"`` drops: they compute little for
    each byte that they write, of kept values or of dropped ones."""
    known = _needed(step) | {tensor.storage.name for tensor in step.live_in}
    cheap: list[Op] = []
    for op in _forward(step):
        if op.traits.cheap and known.issuperset(names_of(op.reads.values())):
            known |= made(op)
            cheap.append(op)
    return cheap


def _forward(step: Step) -> Iterator[Op]:
    return (op for op in step.ops if op.phase is Phase.FORWARD)


def _needed(step: Step) -> set[str]:
    """Return the storages that any backward operation reads or writes."""
    later = (op for op in step.ops if op.phase is Phase.BACKWARD)
    return {tensor.storage.name for op in later for tensor in op.touched()}


def _on_demand(step: Step, dropped: Collection[str]) -> Order:
    """Return the order of forward once, and then every dropped value right before the operation
    that needs it first. Values that backward does not need are not there either when something
    is made again."""
    kept = _needed(step) - set(dropped)
    forward = ((i, op) for i, op in enumerate(step.ops) if op.phase is Phase.FORWARD)
    maker = {name: i for i, op in forward for name in made(op)}
    there = kept | {name for name in _needed(step) if name not in maker}
    there |= {tensor.storage.name for tensor in step.live_in}
    result: Order = []

    for number, op in enumerate(step.ops):
        waiting = [number]
        while waiting:
            reads = step.ops[waiting[-1]].reads.values() if op.phase is Phase.BACKWARD else ()
            missing = [maker[n] for n in names_of(reads) if n in maker and n not in there]
            if missing:
                waiting.append(missing[0])
            else:
                result.append(waiting.pop())
                there |= made(step.ops[result[-1]]) if op.phase is Phase.BACKWARD else set()
    return result


_GREEDY = partial(_chained, segments.greedy_search, segments.greedy_search)
_CHAIN = partial(_chained, chain_optimum.least_memory, chain_optimum.least_time)
_BYTES = 'memlab.recompute(step, "chain", batch=8, budget="2GB")'

_TAKEN = ("budget", "in_place", "device")

WAYS = {
    "every": RecomputeMethod(_every, takes=("k",), example='memlab.recompute(step, "every", k=4)'),
    "keep": RecomputeMethod(
        _keep, ("layers",), example='memlab.recompute(step, "keep", layers=["pool1"])'
    ),
    "drop": RecomputeMethod(
        _drop, ("layers",), example='memlab.recompute(step, "drop", layers=["relu"])'
    ),
    "cheap": RecomputeMethod(_cheap, example='memlab.recompute(step, "cheap")'),
    "slots": RecomputeMethod(_slots, ("k",), example='memlab.recompute(step, "slots", k=10)'),
    "greedy": RecomputeMethod(_GREEDY, ("batch",), _TAKEN, _BYTES.replace("chain", "greedy")),
    "chain": RecomputeMethod(_CHAIN, ("batch",), _TAKEN, _BYTES),
    "exact": RecomputeMethod(_exact, ("batch",), _TAKEN, _BYTES.replace("chain", "exact")),
}
"""The ways to recompute, by name."""
