"""Chains in bytes: the interpreter against liveness spelt out, the frontier against every
persistent schedule of short chains."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import pairwise, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memlab import InputError
from memlab.claims.revolve import (
    hidden_state,
)
from memlab.techniques.recompute import segments
from memlab.techniques.recompute.chain import (
    Chain,
    Schedule,
    Stage,
    StageRun,
    Usage,
    Ways,
    simulate,
)
from memlab.techniques.recompute.chain_optimum import frontier, least_memory, least_time
from tests.drawn import examples
from tests.rows import every_row

SMALL = st.integers(0, 9)
LARGE = SMALL | st.integers(0, 80)  # now and then it makes any operation the peak


@st.composite
def chains(draw: st.DrawFn, most: int = 8) -> Chain:
    """Figures that belong together: what is inside an operation is at least what is around it."""
    count = draw(st.integers(1, most))
    sizes = [draw(st.integers(0, 5))] + [draw(LARGE) for _ in range(count)]
    slopes = [0] + [draw(LARGE) for _ in range(count - 1)] + [0]
    stages = []
    for number in range(1, count + 1):
        above, output = sizes[number - 1], sizes[number]
        kept = output + draw(LARGE)
        left = draw(LARGE)
        stages.append(
            Stage(
                draw(SMALL),
                draw(SMALL),
                output,
                kept,
                slopes[number],
                above + output + draw(LARGE),
                output + draw(LARGE),
                kept + draw(LARGE),
                kept + slopes[number] + slopes[number - 1] + left + draw(LARGE),
                left,
            )
        )
    return Chain(tuple(stages), sizes[0])


def plain(count: int, **change: Any) -> Chain:
    """Equal stages that keep only their outputs of 1 byte and take no workspace."""
    stage = replace(Stage(1, 2, 1, 1, 1, 2, 1, 1, 3), **change)
    return Chain((stage,) * count, 1)


@cache
def persistent(count: int, reads: bool = True) -> tuple[Schedule, ...]:
    """Every schedule in which what is stored stays until its last backward: each sweep starts from
    the last stored value, and drops, stores or keeps at each stage on the way. What a keeping stage
    has read is stored for its backward where that ``reads`` it, so that nothing is dropped right
    before one."""

    def on(done: Schedule, stored: tuple[tuple[int, bool], ...], due: int) -> Iterator[Schedule]:
        top, kept = stored[-1]
        if not due:
            yield done
        elif top == due:  # its backward, or a stored output that the backward after it has read
            yield from (
                on((*done, -due), stored[:-1], due - 1) if kept else on(done, stored[:-1], due)
            )
        else:
            sweep = range(top + 1, due + 1)
            for some in product(("drop", "store", "keep"), repeat=len(sweep) - 1):
                what = (*some, "keep")
                if reads and ("drop", "keep") in pairwise(what):
                    continue
                new = [
                    (stage, how == "keep")
                    for stage, how in zip(sweep, what, strict=True)
                    if how != "drop"
                ]
                yield from on((*done, *sweep), (*stored, *new), due)

    return tuple(on((), ((0, False),), count))


def spelt_out(chain: Chain, schedule: Schedule) -> Usage:
    """Usage from the definition: for each entry, every value that some later entry reads."""
    places = range(len(schedule))

    def until(at: int, number: int) -> int:
        """Where the output that entry ``at`` made is read last."""
        reads = [number + 1, -(number + 1), -number]
        again = [p for p in places if p > at and schedule[p] == number]
        stop = min(again, default=len(schedule))
        return max((p for p in places if at < p < stop and schedule[p] in reads), default=at)

    peak = cost = 0
    for now, run in enumerate(schedule):
        number = abs(run)
        stage = chain.stages[number - 1]
        alive = chain.input if number > 1 else 0  # beside the values that this entry touches
        for at in places[:now]:
            made = schedule[at]
            back = schedule.index(-abs(made))
            if made < 0:
                alive += chain.stages[-made - 1].left
                continue
            keeps = made not in schedule[at + 1 : back]
            end = back if keeps else until(at, made)
            if end >= now and made not in (number - 1, -run):
                size = chain.stages[made - 1]
                alive += size.kept if keeps else size.output
        above, goes = chain.input, False
        if number > 1:
            at = max(p for p in places if p < now and schedule[p] == number - 1)
            back = schedule.index(1 - number)
            keeps = number - 1 not in schedule[at + 1 : back]
            above = chain.stages[number - 2].kept if keeps else chain.stages[number - 2].output
            goes = not keeps and until(at, number - 1) == now
        ready = [n for n in range(1, len(chain)) if schedule.index(-n - 1) < now]
        waiting = [n for n in ready if schedule.index(-n) >= now]
        alive += sum(chain.stages[n - 1].gradient for n in waiting if n != -run)
        if run < 0:
            inside = above + stage.reversing
        elif number not in schedule[now + 1 : schedule.index(-number)]:
            inside = above + stage.keeping
        else:
            inside = stage.passing if goes else above + stage.staying
        peak = max(peak, alive + inside)
        cost += stage.backward if run < 0 else stage.forward
    return Usage(peak, cost)


def best_of(points: set[tuple[int, int]]) -> list[tuple[int, int]]:
    best: list[tuple[int, int]] = []
    for nbytes, cost in sorted(points):
        if not best or cost < best[-1][1]:
            best.append((nbytes, cost))
    return best


@every_row(("count", "number"), [(1, 1), (2, 2), (3, 6), (4, 22), (8, 8558)])
def test_brute_force_sees_every_persistent_schedule_once(count: int, number: int) -> None:
    """The large Schroeder numbers."""
    found = persistent(count)
    assert len(found) == len(set(found)) == number


@given(chains(6), st.data())
@examples(150)
def test_the_interpreter_equals_liveness_spelt_out(chain: Chain, data: st.DataObject) -> None:
    schedule = data.draw(st.sampled_from(persistent(len(chain))))
    assert simulate(chain, schedule) == spelt_out(chain, schedule)


@given(chains(6), st.randoms(use_true_random=False))
@examples(150)
def test_the_same_for_schedules_that_recompute_at_random(chain: Chain, random) -> None:
    schedule, made, due = [], 0, len(chain)
    while due:
        if made >= due and random.random() < 0.5:
            schedule.append(-due)
            due -= 1
        else:
            made_now = random.randint(1, min(made + 1, due))
            schedule.append(made_now)
            made = max(made, made_now)
    assert simulate(chain, schedule) == spelt_out(chain, without_idle(schedule))


def without_idle(schedule: list[int]) -> Schedule:
    """A schedule without forwards that run again and that nobody reads before the next."""
    found: list[int] = []
    for at, run in reversed([*enumerate(schedule)]):
        until = found[: found.index(run)] if run in found else found
        if run < 0 or run not in schedule[:at] or {run + 1, -run - 1, -run} & {*until}:
            found.insert(0, run)
    return tuple(found)


def part_of(whole: StageRun, run: StageRun) -> StageRun:
    """A run of a part of the operations takes no more of anything; one that did would be faster
    with an output for nobody, which is left out of a schedule."""
    staying, going = min(run.staying, whole.staying), min(run.going, whole.going)
    return StageRun(min(run.cost, whole.cost), staying, max(staying, going))


@st.composite
def told(draw: st.DrawFn, most: int = 5) -> Chain:
    """Chains whose stages have ways of their own."""
    chain = draw(chains(most))

    def run(least: int, above: int) -> StageRun:
        staying = least + draw(SMALL)
        return StageRun(draw(SMALL), staying, staying + draw(st.integers(0, above)))

    def ways(number: int, stage: Stage) -> Ways:
        above, beside = chain.above(number), chain.beside(number)
        own, once, before = draw(st.booleans()), draw(SMALL), draw(SMALL)
        first, again = run(stage.output + once, above), run(stage.output, above)
        keeps, both, ends = first, again, StageRun(0, 0, 0)
        if own or beside:
            keeps, both = run(stage.kept + once, above), run(stage.kept, above)
            ends = both if own else part_of(both, run(beside, above))
        inside = stage.reversing - stage.kept + beside + own * stage.output + once + before
        source, backward = draw(st.booleans()), run(inside, above)
        return Ways(first, keeps, again, both, ends, backward, own, source, once, before)

    stages = (replace(each, ways=ways(n, each)) for n, each in enumerate(chain.stages))
    return Chain(tuple(stages), chain.input, draw(LARGE))


@pytest.mark.measures
@given(told())
@examples(250)
def test_stages_that_are_told_apart_have_the_frontier_of_brute_force(chain: Chain) -> None:
    check_frontier(chain, reads=False)
    for nbytes, cost in frontier(chain):
        assert simulate(chain, least_time(chain, max(nbytes, 1))) == Usage(nbytes, cost)


@pytest.mark.measures
@given(chains(6))
@examples(250)
def test_the_frontier_equals_brute_force_on_short_chains(chain: Chain) -> None:
    check_frontier(chain)


@pytest.mark.measures
@given(chains())
@examples(25)
def test_the_frontier_equals_brute_force(chain: Chain) -> None:
    check_frontier(chain)


def check_frontier(chain: Chain, reads: bool = True) -> None:
    usages = {simulate(chain, schedule) for schedule in persistent(len(chain), reads)}
    assert list(frontier(chain)) == best_of({(usage.peak, usage.cost) for usage in usages})


@given(chains(14), st.integers(0, 30))
@examples(60)
def test_schedules_reach_their_points(chain: Chain, above: int) -> None:
    points = frontier(chain)
    for nbytes, cost in points:
        if nbytes:
            assert simulate(chain, least_time(chain, max(nbytes, 1))) == Usage(nbytes, cost)
    budget = points[0][0] + above
    within = max(point for point in points if point[0] <= budget)
    assert simulate(chain, least_time(chain, max(budget, 1))) == Usage(*within)
    assert simulate(chain, least_memory(chain)) == Usage(*points[0])


@pytest.mark.measures
@given(chains(20), st.integers(0, 200))
@examples(80)
def test_no_segments_are_better(chain: Chain, budget: int) -> None:
    for schedule in (
        segments.sqrt(chain),
        segments.greedy(chain, budget),
        segments.greedy_search(chain),
    ):
        used = simulate(chain, schedule)
        best = simulate(chain, least_time(chain, max(used.peak, 1)))
        assert best.peak <= used.peak
        assert best.cost <= used.cost


@given(chains(12))
@examples(40)
def test_the_fastest_schedule_keeps_everything(chain: Chain) -> None:
    everything = (*range(1, len(chain) + 1), *range(-len(chain), 0))
    assert frontier(chain)[-1][1] == simulate(chain, everything).cost


def test_equal_stages_that_keep_much_are_those_of_hidden_states() -> None:
    """A stage keeps 100 bytes and its output takes 1: under 200 no two are kept at once. Beside the
    slots there is the input of the stage whose backward comes next."""
    chain = Chain((Stage(1, 0, 1, 100, 0, 1, 1, 100, 100),) * 20, 1)
    points = tuple(point for point in frontier(chain) if point[0] < 200)
    assert points == tuple((101 + m, hidden_state(20, m)) for m in range(1, 20))


def test_a_schedule_by_hand() -> None:
    """Two stages: outputs of 10 and 1 bytes, kept 30 and 6, gradients of 10 and 1 bytes."""
    first = Stage(5, 9, 10, 30, 10, 18, 12, 33, 41, left=3)
    second = Stage(7, 8, 1, 6, 1, 11, 2, 6, 20, left=2)
    chain = Chain((first, second), 8)
    assert simulate(chain, (1, 2, -2, -1)) == Usage(8 + 30 + 20, 5 + 7 + 8 + 9)
    assert simulate(chain, (1, 2, -2, 1, -1)) == Usage(8 + 10 + 2 + 33, 5 + 7 + 8 + 5 + 9)
    assert frontier(chain) == ((53, 34), (58, 29))
    assert least_time(chain, 57) == (1, 2, -2, 1, -1)


def test_a_deep_network_of_unequal_blocks_is_planned_while_one_waits() -> None:
    chain = bottlenecks()
    start = time.thread_time()
    points = frontier(chain)
    assert time.thread_time() - start < 50  # ten seconds at most, five times over
    nbytes, cost = points[len(points) // 2]
    assert simulate(chain, least_time(chain, nbytes)) == Usage(nbytes, cost)


def bottlenecks() -> Chain:
    """Shaped like ResNet-152 at 32 samples: a stem, blocks of 4 widths, a classifier."""
    sample = 4 * 32
    chain = [(112 * 112 * 64, 3 * 112 * 112 * 64, 118_013_952, 9_408)]
    for blocks, width, side in ((3, 64, 56), (8, 128, 28), (36, 256, 14), (3, 512, 7)):
        for block in range(blocks):
            output = 4 * width * side * side
            kept = 4 * output if block else 6 * output
            chain.append((output, kept, 17 * width * width * side * side, 17 * width * width))
    chain += [(2048, 2048, 100_352, 0), (1000, 1000, 2_048_000, 2_049_000), (1, 1001, 4_000, 0)]
    stages = []
    above = 224 * 224 * 3
    for output, kept, flops, weights in chain:
        nbytes = [sample * count for count in (above + output, output, kept, kept + above + output)]
        passing, out, keep, reverse = nbytes
        work = 9 * above * 4  # the buffer of the lowering, one image
        left = 4 * weights
        stages.append(
            Stage(
                flops,
                2 * flops,
                out,
                keep,
                out,
                passing + work,
                out + work,
                keep + work,
                reverse + work + left,
                left,
            )
        )
        above = output
    return Chain(tuple(stages), sample * 224 * 224 * 3)


@every_row(
    ("schedule", "says"),
    [
        ((1, 2, -2), "that of stage 1 is missing"),
        ((2, 1, -2, -1), r"\+2 reads what stage 1 has not made"),
        ((1, -2, 2, -1), "-2 reads what stage 2 has not made"),
        ((1, 2, -1, -2), "stage 1 cannot run backward where the backward of stage 2 is next"),
        ((1, 2, -2, 2, -1), "stage 2 cannot run forward where the backward of stage 1 is next"),
        ((1, 2, -2, -1, 1), "all backwards are done"),
        ((1, 3, -2, -1), "stages go from 1 to 2, got 3"),
        ((1, 0), "stages go from 1 to 2, got 0"),
        ((1, 1.5), "must be a whole number"),
        ((), "that of stage 2 is missing"),
    ],
)
def test_an_illegal_schedule_is_one_sentence(schedule, says: str) -> None:
    with pytest.raises(InputError, match=says) as caught:
        simulate(plain(2), schedule)
    assert "\n" not in str(caught.value)


@every_row("budget", [0, -1, 1.5, "9", True, None])
def test_a_budget_is_a_whole_number_of_bytes(budget) -> None:
    with pytest.raises(InputError, match="budget"):
        least_time(plain(3), budget)


def test_a_budget_below_the_least_names_the_least() -> None:
    chain = plain(5)
    least = frontier(chain)[0][0]
    with pytest.raises(InputError, match=f"at least {least} bytes"):
        least_time(chain, least - 1)
    assert simulate(chain, least_time(chain, least)).peak == least
    assert least_time(chain, 10**30) == (1, 2, 3, 4, 5, -5, -4, -3, -2, -1)


@every_row(
    "make",
    [
        lambda: Chain(()),
        lambda: Chain(plain(1).stages, -1),
        lambda: plain(1, output=2),
        lambda: plain(1, forward=-1),
        lambda: plain(1, left=-2),
        lambda: frontier(plain(1000)),
        lambda: frontier(plain(2, forward=2**62)),
        lambda: frontier(Chain(plain(2).stages, 2**62)),
    ],
)
def test_bad_chains_are_one_sentence(make) -> None:
    with pytest.raises(InputError, match=r"^[^\n]+\.$"):
        make()
