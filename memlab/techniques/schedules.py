"""The ways to recompute: each decides an order in which the operations of a step run.

Orders are lists of numbers of operations. Those of a chain come from schedules of its stages
(``memlab.planner``); others name what is dropped, and every map is made again right before the
first operation that needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from memlab import units
from memlab.errors import InputError, unknown
from memlab.planner import chains, graphs, outputs, segments
from memlab.planner.book import plan
from memlab.planner.graphs import Task
from memlab.planner.stages import Chain, Schedule, Stage, simulate
from memlab.step.op import Op, Phase
from memlab.step.step import Step
from memlab.step.tensor import Role, Tensor
from memlab.techniques.again import STATISTICS, made, resequenced
from memlab.techniques.cuts import cost, cuts

CHEAP = ("batch_norm", "layer_norm", "relu", "tanh", "gelu", "dropout", "max_pool2d", "avg_pool2d")
"""Kinds that compute little for each byte that they write."""

_ALIKE = Stage(1, 2, 1, 1, 1, 2, 1, 1, 2)
"""A stage of a chain of which only the number of stages counts."""

Order = list[int]


@dataclass(frozen=True)
class Wish:
    """What is asked for: a step, and the arguments that the way takes."""

    step: Step
    k: int | None
    layers: tuple[str, ...]
    batch: int
    budget: int | None


@dataclass(frozen=True)
class Way:
    """A way to recompute: the arguments that it needs and those that it takes."""

    order: Callable[[Wish], Order]
    needs: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()
    example: str = "memlab.recompute(step)"


def _every(wish: Wish) -> Order:
    found = cuts(wish.step)
    chain = Chain((_ALIKE,) * len(found.parts))
    schedule = segments.sqrt(chain) if wish.k is None else segments.every_kth(chain, wish.k)
    return found.order(schedule)


def _slots(wish: Wish) -> Order:
    found = cuts(wish.step)
    assert wish.k is not None
    return found.order(outputs.output_schedule(len(found.parts), wish.k))


def _keep(wish: Wish) -> Order:
    found = cuts(wish.step)
    for name in wish.layers:
        if name not in found.names[:-1]:
            raise unknown("place to cut", name, found.names[:-1])
    ends = [number + 1 for number, name in enumerate(found.names[:-1]) if name in wish.layers]
    return found.order(segments._cut(ends, len(found.parts)))


def _greedy(wish: Wish) -> Order:
    return _by_bytes(wish, segments.greedy_search, segments.greedy_search)


def _chain(wish: Wish) -> Order:
    return _by_bytes(wish, chains.least_memory, chains.least_time)


def _by_bytes(
    wish: Wish,
    least: Callable[[Chain], Schedule],
    within: Callable[[Chain, int], Schedule],
) -> Order:
    """The order of the least peak; with a budget, that of the fastest below it."""
    found = cuts(wish.step)
    chain, beside = found.chain(wish.batch), found.throughout(wish.batch)
    smallest = least(chain)
    return _below(
        wish,
        found.order(smallest),
        simulate(chain, smallest).peak + beside,
        lambda budget: found.order(within(chain, budget - beside)),
    )


def _exact(wish: Wish) -> Order:
    inputs, tasks, fixed = _tasks(wish.step, wish.batch)
    graph = [*inputs, *tasks]

    def order(found: Sequence[int]) -> Order:
        ran = [number - len(inputs) for number in found if number >= len(inputs)]
        return [*ran, *range(len(tasks), len(wish.step.ops))]

    smallest = graphs.least_memory(graph, fixed)
    return _below(
        wish,
        order(smallest),
        graphs.simulate(graph, smallest, fixed).peak,
        lambda budget: order(graphs.least_time(graph, budget, fixed)),
    )


def _below(wish: Wish, smallest: Order, counted: int, within: Callable[[int], Order]) -> Order:
    """The order of the least peak, or with a budget the fastest below it; that of the step itself
    where it is as good. ``counted`` are the bytes that the way counts for the smallest: it may
    hold a value longer than the step does.

    Raises:
        InputError: the budget is below the least peak.
    """
    most = plan(wish.step).peak(wish.batch)
    minimum = min(most, plan(resequenced(wish.step, smallest)).peak(wish.batch))
    if most <= (minimum if wish.budget is None else wish.budget):
        return list(range(len(wish.step.ops)))
    if wish.budget is None:
        return smallest
    if wish.budget < minimum:
        raise InputError(
            f"no order of this kind fits into {units.exact(wish.budget)}; the least that one "
            f"takes is {units.exact(minimum)}: try that, or a smaller batch."
        )
    return within(wish.budget) if wish.budget >= counted else smallest


def _tasks(step: Step, batch: int) -> tuple[list[Task], list[Task], int]:
    """The inputs as tasks, which go free after their last reader, then every operation up to the
    last backward, and the bytes that live throughout."""
    there = {each.storage.name: each.storage for each in (*step.live_in, *step.live_out)}
    inputs = [each.storage for each in step.live_in if each.role is Role.INPUT]
    maker = {storage.name: number for number, storage in enumerate(inputs)}
    there = {name: storage for name, storage in there.items() if name not in maker}
    tasks = []
    end = max((i for i, op in enumerate(step.ops) if op.phase is Phase.BACKWARD), default=-1) + 1
    for number, op in enumerate(step.ops[:end], len(inputs)):
        there |= {op.writes[n].storage.name: op.writes[n].storage for n in _statistics(op)}
        tasks.append(_task(op, batch, maker, there))
        maker |= {name: number for name in _names(op.writes.values()) if name not in there}
    given = [Task(each.name, 0, each.size.at(batch), (), again=False) for each in inputs]
    return given, tasks, sum(storage.size.at(batch) for storage in there.values())


def _task(op: Op, batch: int, maker: Mapping[str, int], there: Collection[str]) -> Task:
    new = [each for each in op.writes.values() if each.storage.name not in there]
    left = [each for each in new if each.role is Role.PARAMETER_GRADIENT]
    read = _names((*op.reads.values(), *op.updates.values()))
    return Task(
        op.name,
        cost([op], batch),
        _total(new, batch) - _total(left, batch),
        tuple(sorted({maker[name] for name in read if name in maker})),
        again=op.phase is Phase.FORWARD and (op.pure or op.kind == "batch_norm"),
        inside=_total(op.workspace.values(), batch),
        left=_total(left, batch),
    )


def _total(tensors: Iterable[Tensor], batch: int) -> int:
    return sum(each.storage.size.at(batch) for each in tensors)


def _statistics(op: Op) -> tuple[str, ...]:
    return STATISTICS if op.kind == "batch_norm" and op.updates else ()


def _drop(wish: Wish) -> Order:
    forward = list(_forward(wish.step))
    known = dict.fromkeys([*(op.name for op in forward), *(op.kind for op in forward)])
    for name in wish.layers:
        if name not in known:
            raise unknown("operation or kind", name, known)
    chosen = (op for op in forward if {op.name, op.kind} & set(wish.layers))
    return _on_demand(wish.step, {name for op in chosen for name in made(op)})


def _cheap(wish: Wish) -> Order:
    """Dropped is what cheap operations make of what is kept, or of what is dropped itself."""
    step = wish.step
    kept = _needed(step) | {each.storage.name for each in step.live_in}
    dropped: set[str] = set()
    for op in _forward(step):
        sources = {each.storage.name for each in op.reads.values()}
        if op.kind in CHEAP and sources <= kept | dropped:
            dropped |= made(op)
    return _on_demand(step, dropped)


def _forward(step: Step) -> Iterator[Op]:
    return (op for op in step.ops if op.phase is Phase.FORWARD)


def _needed(step: Step) -> set[str]:
    """What backward touches."""
    later = (op for op in step.ops if op.phase is Phase.BACKWARD)
    return {each.storage.name for op in later for each in op.touched()}


def _on_demand(step: Step, dropped: Collection[str]) -> Order:
    """Forward once; then everything that is dropped right before who needs it first. What
    backward does not need is not there either when something is made again."""
    kept = _needed(step) - set(dropped)
    maker = {name: i for i, op in enumerate(step.ops) if _is_forward(op) for name in made(op)}
    there = kept | {name for name in _needed(step) if name not in maker}
    there |= {each.storage.name for each in step.live_in}
    result: Order = []

    for number, op in enumerate(step.ops):
        waiting = [number]
        while waiting:
            reads = step.ops[waiting[-1]].reads.values() if op.phase is Phase.BACKWARD else ()
            missing = [maker[n] for n in _names(reads) if n in maker and n not in there]
            if missing:
                waiting.append(missing[0])
            else:
                result.append(waiting.pop())
                there |= made(step.ops[result[-1]]) if op.phase is Phase.BACKWARD else set()
    return result


def _names(tensors: Iterable[Tensor]) -> list[str]:
    return [each.storage.name for each in tensors]


def _is_forward(op: Op) -> bool:
    return op.phase is Phase.FORWARD


_BYTES = 'memlab.recompute(step, "chain", batch=8, budget="2GB")'

WAYS = {
    "every": Way(_every, takes=("k",), example='memlab.recompute(step, "every", k=4)'),
    "keep": Way(_keep, ("layers",), example='memlab.recompute(step, "keep", layers=["pool1"])'),
    "drop": Way(_drop, ("layers",), example='memlab.recompute(step, "drop", layers=["relu"])'),
    "cheap": Way(_cheap, example='memlab.recompute(step, "cheap")'),
    "slots": Way(_slots, ("k",), example='memlab.recompute(step, "slots", k=10)'),
    "greedy": Way(_greedy, ("batch",), ("budget",), _BYTES.replace("chain", "greedy")),
    "chain": Way(_chain, ("batch",), ("budget",), _BYTES),
    "exact": Way(_exact, ("batch",), ("budget",), _BYTES.replace("chain", "exact")),
}
"""The ways to recompute, by name."""
