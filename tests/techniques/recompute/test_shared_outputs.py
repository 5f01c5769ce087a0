"""Chains whose stored outputs serve two stages: the recurrence, its schedule, its neighbours."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest

import memlab
from memlab import InputError
from memlab.claims.revolve import hidden_state, internal_state
from memlab.techniques.recompute.chain import Chain, Stage, simulate
from memlab.techniques.recompute.chain_optimum import frontier
from memlab.techniques.recompute.methods import WAYS, RecomputeRequest
from memlab.techniques.recompute.slots import output_schedule, output_state
from memlab.techniques.recompute.step_as_chain import cuts
from tests.rows import every_row

RECURRENT = Stage(1, 2, 1, 1, 0, 2, 1, 1, 1)
"""Keeps its output alone; the output takes 1 byte, no gradient is counted."""


@cache
def word_for_word(t: int, m: int) -> int:
    """The recurrence as the docstring has it."""
    if t == 0:
        return 0
    if m == 1:
        return t * (t + 1) // 2
    stored = [y + word_for_word(t - y, m - 1) + word_for_word(y, m) for y in range(1, t)]
    return min([1 + word_for_word(t - 1, m - 1), *stored])


@every_row("m", range(1, 9))
def test_the_table_is_the_recurrence(m: int) -> None:
    assert [output_state(t, m) for t in range(1, 25)] == [word_for_word(t, m) for t in range(1, 25)]


@every_row(("t", "m"), [(1, 1), (5, 1), (10, 3), (7, 7), (7, 30), (60, 9), (400, 20)])
def test_the_schedule_has_that_many_forwards_and_stays_within_the_slots(t: int, m: int) -> None:
    schedule = output_schedule(t, m)
    assert sum(run > 0 for run in schedule) == output_state(t, m)
    usage = simulate(Chain((RECURRENT,) * t), schedule)
    assert usage.peak <= m + 1  # one more while an output is made from the one before
    assert usage.cost == output_state(t, m) + 2 * t


def test_it_lies_between_the_schedules_that_share_nothing() -> None:
    for t, m in ((10, 3), (100, 10), (1000, 50)):
        assert internal_state(t, m) <= output_state(t, m) < hidden_state(t, m)
    assert output_state(1000, 50) == 1976


@every_row(("steps", "slots"), [(12, 1), (30, 4), (100, 10)])
def test_it_is_what_recompute_runs(steps: int, slots: int) -> None:
    """Of every way by its name, the runs that its docstring speaks of."""
    step = memlab.training_step(memlab.zoo.rnn(steps=steps), "sgd")
    parts = cuts(step).parts
    ran = Counter(WAYS["slots"].order(RecomputeRequest(step, slots, (), 1, None)))
    forwards = sum(ran[part.forward[-1]] for part in parts)
    assert forwards == output_state(len(parts), slots)
    assert internal_state(len(parts), slots) <= forwards <= hidden_state(len(parts), slots)


@every_row("t", [2, 5, 12])
def test_the_optimum_in_bytes_is_never_worse(t: int) -> None:
    best = dict(frontier(Chain((RECURRENT,) * t)))
    for m in range(2, t + 1):
        own = simulate(Chain((RECURRENT,) * t), output_schedule(t, m))
        fits = [cost for peak, cost in best.items() if peak <= own.peak]
        assert own.cost >= min(fits)
        if m == t:
            assert own.cost == min(fits) == 3 * t


@every_row(
    ("t", "m", "sentence"),
    [
        (0, 3, "t .steps. must be at least 1, got 0"),
        (3, 0, "m .slots. must be at least 1, got 0"),
        (3, 1.5, "m .slots. must be a whole number"),
        (100_000, 50, "make too large a table; try at most 1,000 steps"),
    ],
)
def test_bad_input_gives_one_sentence(t: int, m: int, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        output_state(t, m)
