"""Small graphs: the integer program against a search through every state of the memory."""

from __future__ import annotations

import heapq
import itertools
import time
from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memlab import InputError
from memlab.techniques.recompute.chain import Usage
from memlab.techniques.recompute.exact_order import (
    LARGEST,
    GraphTask,
    least_memory,
    least_time,
    simulate,
)
from tests.drawn import examples
from tests.rows import every_row

SMALL = st.integers(0, 9)


@st.composite
def graphs(draw: st.DrawFn, most: int = 7) -> tuple[GraphTask, ...]:
    """Tasks that read earlier ones; some may run only once."""
    count = draw(st.integers(1, most))
    tasks = []
    for number in range(count):
        before = st.lists(st.integers(0, max(number - 1, 0)), max_size=min(number, 3))
        reads = tuple(sorted(set(draw(before)))) if number else ()
        again = draw(st.sampled_from([True, True, True, False]))
        figures = draw(SMALL), draw(SMALL), reads, again, draw(SMALL), draw(SMALL)
        tasks.append(GraphTask(f"task{number}", *figures))
    return tuple(tasks)


@st.composite
def results(draw: st.DrawFn) -> tuple[GraphTask, ...]:
    """The same, where tasks make several results, and some of them once."""
    tasks: list[GraphTask] = []
    for task in draw(graphs(6)):
        which = [draw(st.integers(0, len(tasks[each].made(False)) - 1)) for each in task.sources]
        reads = tuple(zip(task.sources, which, strict=True))
        few = st.lists(SMALL, max_size=1).map(tuple)
        more, once, repeat = draw(few), draw(few) if task.again else (), draw(SMALL)
        tasks.append(replace(task, reads=reads, more=more, once=once, repeat=repeat))
    return tuple(tasks)


Held = frozenset[tuple[int, int]]


def search(tasks: tuple[GraphTask, ...], budget: int) -> int | None:
    """The least cost within a budget, by Dijkstra over (phase, next task, what is held): at each
    place the task runs or not, and any result that is held may be dropped at any time."""
    count = itertools.count()
    queue: list[tuple[int, int, int, int, Held]] = [(0, 0, 0, 0, frozenset())]
    seen = set()
    while queue:
        cost, _, phase, task, held = heapq.heappop(queue)
        if phase == len(tasks):
            return cost
        if (phase, task, held) in seen:
            continue
        seen.add((phase, task, held))
        here = tasks[task]
        first = task == phase
        after = (phase + 1, 0) if first else (phase, task + 1)
        if not first:
            heapq.heappush(queue, (cost, next(count), *after, held))
        if (first or here.again) and set(here.read(task, not first)) <= held:
            made = here.made(not first)
            new = {(task, which) for which in range(len(made))}
            left = sum(each.left for each in tasks[: phase + first])
            others = sum(tasks[i].made(False)[which] for i, which in held - new)
            if others + sum(made) + here.inside + left <= budget:
                spent = cost + here.spent(not first)
                heapq.heappush(queue, (spent, next(count), *after, held | new))
        for result in held:
            heapq.heappush(queue, (cost, next(count), phase, task, held - {result}))
    return None


def brute_least(tasks: tuple[GraphTask, ...]) -> int:
    return next(budget for budget in range(10**6) if search(tasks, budget) is not None)


def spelt_out(tasks: tuple[GraphTask, ...], order: tuple[int, ...]) -> Usage:
    """Usage from the definition: a run's result counts where a later run reads it, up to then."""
    peak = 0
    for now, number in enumerate(order):
        alive = tasks[number].nbytes + tasks[number].inside
        alive += sum(tasks[made].left for made in set(order[: now + 1]))
        for at, made in enumerate(order[:now]):
            again = order.index(made, at + 1) if made in order[at + 1 :] else len(order)
            readers = [p for p in range(at + 1, again) if made in tasks[order[p]].reads]
            alive += tasks[made].nbytes * (max(readers, default=at) >= now)
        peak = max(peak, alive)
    return Usage(peak, sum(tasks[number].cost for number in order))


def chain_of_four(size: int = 10) -> tuple[GraphTask, ...]:
    """Four forwards, and four backwards that run once; each result has ``size`` bytes."""
    forwards = [GraphTask(f"forward{i}", 1, size, (i - 1,) if i else ()) for i in range(4)]
    backwards = [
        GraphTask(f"backward{3 - i}", 2, size, (3 - i, *((3 + i,) if i else ())), again=False)
        for i in range(4)
    ]
    return (*forwards, *backwards)


@pytest.mark.measures
@given(graphs() | results(), st.integers(0, 60))
@examples(50)
def test_least_time_equals_the_search(tasks: tuple[GraphTask, ...], budget: int) -> None:
    cost = search(tasks, budget + 1)
    if cost is None:
        with pytest.raises(InputError, match=f"at least {brute_least(tasks)} bytes"):
            least_time(tasks, budget + 1)
        return
    usage = simulate(tasks, least_time(tasks, budget + 1))
    assert usage.cost == cost
    assert usage.peak <= budget + 1


@given(graphs() | results())
@examples(30)
def test_least_memory_equals_the_search(tasks: tuple[GraphTask, ...]) -> None:
    usage = simulate(tasks, least_memory(tasks))
    least = brute_least(tasks)
    assert (usage.peak, usage.cost) == (least, search(tasks, least))


@given(graphs(), st.randoms(use_true_random=False))
@examples(100)
def test_the_interpreter_equals_liveness_spelt_out(tasks: tuple[GraphTask, ...], random) -> None:
    order: list[int] = []
    while len(set(order)) < len(tasks):
        again = [n for n in order if tasks[n].again]
        new = [n for n, t in enumerate(tasks) if n not in order and set(t.reads) <= set(order)]
        order.append(random.choice(again if again and random.random() < 0.5 else new))
    assert simulate(tasks, order) == spelt_out(tasks, tuple(order))


def test_a_chain_under_every_budget() -> None:
    tasks = chain_of_four()
    assert least_time(tasks, 1000) == tuple(range(8))
    assert simulate(tasks, range(8)) == Usage(50, 12)
    least = simulate(tasks, least_memory(tasks)).peak
    assert least == brute_least(tasks) < 50
    costs = [simulate(tasks, least_time(tasks, b)).cost for b in range(least, 51, 10)]
    assert costs == [search(tasks, b) for b in range(least, 51, 10)]
    assert costs[0] > costs[-1] == 12


def test_sizes_of_real_maps_are_exact() -> None:
    """Next to 2^40 bytes a single one decides, which is less than a solver rounds."""
    big = 2**40
    tasks = tuple(
        GraphTask(task.name, task.cost, big + number, task.reads, task.again)
        for number, task in enumerate(chain_of_four())
    )
    least = brute_by_runs(tasks)
    assert simulate(tasks, least_memory(tasks)).peak == least
    with pytest.raises(InputError, match=f"at least {least:,} bytes"):
        least_time(tasks, least - 1)


def brute_by_runs(tasks: tuple[GraphTask, ...]) -> int:
    """The least peak that some set of results at once can have."""
    sums = {
        sum(tasks[i].nbytes for i in chosen)
        for count in range(1, 5)
        for chosen in combinations(range(len(tasks)), count)
    }
    return next(budget for budget in sorted(sums) if search(tasks, budget) is not None)


def test_fixed_bytes_are_in_budget_and_peak() -> None:
    tasks = chain_of_four()
    least = simulate(tasks, least_memory(tasks)).peak
    order = least_time(tasks, least + 7, fixed=7)
    assert simulate(tasks, order, fixed=7).peak == least + 7
    with pytest.raises(InputError, match=f"at least {least + 7} bytes"):
        least_time(tasks, least + 6, fixed=7)


def test_tasks_in_any_row_are_sorted_by_their_reads() -> None:
    tasks = (
        GraphTask("last", 1, 1, (2,)),
        GraphTask("first", 1, 1, ()),
        GraphTask("middle", 1, 1, (1,)),
    )
    assert least_time(tasks, 10) == (1, 2, 0)


def test_a_graph_of_the_largest_size_is_solved_while_one_waits() -> None:
    half = LARGEST // 2
    forwards = [
        GraphTask(f"forward{i}", 3 + i % 4, 10 + i, (i - 1,) if i else ()) for i in range(half)
    ]
    backwards = [
        GraphTask(
            f"backward{i}", 9, 10, (half - 1 - i, *((half + i - 1,) if i else ())), again=False
        )
        for i in range(half)
    ]
    tasks = (*forwards, *backwards)
    start = time.thread_time()
    usage = simulate(tasks, least_time(tasks, 90))
    assert time.thread_time() - start < 60
    assert usage.peak <= 90 < simulate(tasks, range(len(tasks))).peak


@every_row(
    ("call", "says"),
    [
        (lambda: least_time(chain_of_four(), 0), "budget"),
        (lambda: least_time(chain_of_four(), -5), "budget"),
        (lambda: least_time(chain_of_four(), 50, fixed=-1), "fixed"),
        (lambda: least_time((), 1), f"for 1 to {LARGEST} tasks"),
        (lambda: least_memory((GraphTask("a", 1, 1, ()),) * (LARGEST + 1)), "tasks, got"),
        (lambda: least_memory((GraphTask("a", 1, 1, (1,)), GraphTask("b", 1, 1, (0,)))), "a, b"),
        (lambda: least_memory((GraphTask("a", 1, 1, (0,)),)), "wait for each other"),
        (lambda: least_memory((GraphTask("a", 1, 1, (7,)),)), "a reads task 7"),
        (lambda: least_memory((GraphTask("a", -1, 1, ()),)), "cost of a"),
        (lambda: least_memory((GraphTask("a", 1, 2**50, ()),)), "below"),
        (lambda: simulate(chain_of_four(), (0, 1)), "forward2 is missing"),
        (lambda: simulate(chain_of_four(), (1,)), "reads forward0, which has not run"),
        (lambda: simulate(chain_of_four(), (0, 9)), "got 9"),
        (lambda: simulate(chain_of_four(), (*range(8), 4)), "may run only once"),
        (lambda: least_time(chain_of_four(), 40, time_limit=1e-9), "not solved within"),
    ],
)
def test_bad_input_is_one_sentence(call, says: str) -> None:
    with pytest.raises(InputError, match=says) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_a_program_on_which_the_presolve_of_the_solver_fails() -> None:
    tasks = (GraphTask("first", 0, 5, (), True, 9, 5), GraphTask("alone", 0, 0, (), True, 0, 7),
             GraphTask("second", 0, 1, (), True, 1, 2), GraphTask("last", 0, 0, (0,
                 2)))  # fmt: skip
    assert simulate(tasks, least_memory(tasks)).peak == brute_least(tasks)
