"""Recompute by segments: what is run, what is stored, and what the searches choose."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memlab import InputError
from memlab.claims.revolve import sqrt_slots
from memlab.techniques.recompute.chain import Chain, Schedule, Stage, simulate
from memlab.techniques.recompute.segments import every_kth, greedy, greedy_search, sqrt
from tests.drawn import examples
from tests.rows import every_row

SIZES = st.lists(st.tuples(st.integers(1, 9), st.integers(0, 20)), min_size=1, max_size=30)


def chain_of(sizes: list[tuple[int, int]]) -> Chain:
    """Stages of an output and more that they keep; no workspace, gradients like the outputs."""
    stages, above = [], 1
    for output, more in sizes:
        kept = output + more
        stages.append(
            Stage(1, 2, output, kept, output, above + output, output, kept, kept + output + above)
        )
        above = output
    return Chain(tuple(stages), 1)


def check_form(schedule: Schedule, stages: int) -> list[int]:
    """Each stage runs forward once or twice, each segment again right before its backward."""
    assert schedule[:stages] == tuple(range(1, stages + 1))
    rest, due, cuts = list(schedule[stages:]), stages, []
    while rest:
        again = []
        while rest[0] > 0:
            again.append(rest.pop(0))
        if again:
            assert again == list(range(again[0], due + 1))
            cuts.append(due)
        while rest and rest[0] < 0:
            assert rest.pop(0) == -due
            due -= 1
        assert not again or due == again[0] - 1
    assert due == 0
    return cuts[::-1]


@given(SIZES, st.data())
@examples(60)
def test_every_kth_output_is_stored(sizes, data: st.DataObject) -> None:
    chain = chain_of(sizes)
    k = data.draw(st.integers(1, len(chain)))
    schedule = every_kth(chain, k)
    assert check_form(schedule, len(chain)) == list(range(k, len(chain), k))
    assert simulate(chain, schedule).cost <= 4 * len(chain)


def test_a_schedule_by_hand() -> None:
    chain = chain_of([(1, 0)] * 5)
    assert every_kth(chain, 2) == (1, 2, 3, 4, 5, -5, 3, 4, -4, -3, 1, 2, -2, -1)
    assert every_kth(chain, 5) == (1, 2, 3, 4, 5, -5, -4, -3, -2, -1)
    assert every_kth(chain, 1) == (1, 2, 3, 4, 5, -5, 4, -4, 3, -3, 2, -2, 1, -1)


@every_row(("stages", "k"), [(1, 1), (2, 1), (3, 2), (6, 2), (7, 3), (100, 10)])
def test_root_is_the_nearest_whole_number(stages: int, k: int) -> None:
    chain = chain_of([(1, 0)] * stages)
    assert sqrt(chain) == every_kth(chain, k)


@pytest.mark.parametrize("stages", [100, 152])
def test_equal_stages_take_the_slots_of_the_root(stages: int) -> None:
    """Kept outputs of 1 byte, gradients of none: the least peak is near k + ceil(n / k), the slots
    of fact E1, in which the last segment stores no output and the input takes none."""
    chain = Chain((Stage(1, 2, 1, 1, 0, 1, 1, 1, 1),) * stages)
    _, slots = sqrt_slots(stages)
    assert simulate(chain, sqrt(chain)).peak <= slots + 1


@given(SIZES, st.integers(0, 200))
@examples(60)
def test_greedy_closes_a_segment_as_soon_as_it_is_over_the_budget(sizes, budget: int) -> None:
    chain = chain_of(sizes)
    cuts = check_form(greedy(chain, budget), len(chain))
    for first, end in pairwise([0, *cuts, len(chain)]):
        kept = [stage.kept for stage in chain.stages[first:end]]
        assert sum(kept[:-1]) <= budget
        assert sum(kept) > budget or end == len(chain)


@given(SIZES)
@examples(60)
def test_the_search_is_no_worse_than_the_budget_it_starts_from(sizes) -> None:
    chain = chain_of(sizes)
    stored = sum(stage.output for stage in chain.stages)
    largest = max(stage.kept for stage in chain.stages)
    found = simulate(chain, greedy_search(chain))
    start = simulate(chain, greedy(chain, int((stored * largest) ** 0.5)))
    assert (found.peak, found.cost) <= (start.peak, start.cost)


@given(SIZES, st.integers(0, 300))
@examples(60)
def test_the_search_keeps_to_its_limit(sizes, more: int) -> None:
    chain = chain_of(sizes)
    least = simulate(chain, greedy_search(chain))
    found = simulate(chain, greedy_search(chain, least.peak + more))
    assert found.peak <= least.peak + more
    assert found.cost <= least.cost
    everything = simulate(chain, every_kth(chain, len(chain)))
    assert simulate(chain, greedy_search(chain, everything.peak)).cost == everything.cost
    with pytest.raises(InputError, match=f"try {least.peak:,}"):
        greedy_search(chain, least.peak - 1)


@every_row(
    "call",
    [
        lambda chain: every_kth(chain, 0),
        lambda chain: every_kth(chain, 6),
        lambda chain: every_kth(chain, True),
        lambda chain: greedy(chain, -1),
        lambda chain: greedy_search(chain, 0),
        lambda chain: greedy_search(chain, 1),
    ],
)
def test_bad_input_is_one_sentence(call) -> None:
    with pytest.raises(InputError, match=r"^[^\n]+\.$"):
        call(chain_of([(1, 2)] * 5))
