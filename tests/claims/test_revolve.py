"""Equal stages: the closed forms against the recurrences of the papers, the schedules against a
walk that counts forward steps and slots."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memlab import InputError
from memlab.claims import revolve
from memlab.techniques.recompute.chain import Schedule
from tests.drawn import examples
from tests.rows import every_row

STEPS, SLOTS = st.integers(1, 300), st.integers(1, 40)


@cache
def internal(t: int, m: int) -> int:
    """Fact E2, word for word."""
    if t == 0 or m >= t:
        return t
    if m == 1:
        return t * (t + 1) // 2
    return min(y + internal(t - y, m - 1) + internal(y - 1, m) for y in range(1, t + 1))


@cache
def hidden(t: int, m: int) -> int:
    """Fact E3, word for word."""
    if m >= t:
        return 2 * t - 1
    if m == 1:
        return t * (t + 1) // 2
    return min(y + hidden(t - y, m - 1) + hidden(y, m) for y in range(1, t))


def long_table(steps: int, most: int) -> np.ndarray:
    """The recurrence of E2 for all t up to ``steps`` and m up to ``most``, row by row."""
    far = 2**60
    table = np.full((steps + 1, most + 1), far)
    table[0] = 0
    for t in range(1, steps + 1):
        y = np.arange(1, t + 1)
        without = np.hstack([np.full((t, 1), far), table[t - y, :-1]])
        table[t] = (y[:, None] + without + table[y - 1]).min(axis=0)
        table[t, 0], table[t, 1] = far, t * (t + 1) // 2
    return table


def slots_of_internal(schedule: Schedule) -> tuple[int, int]:
    """Forward steps, and the most steps whose values are kept at once."""
    kept: set[int] = set()
    now, forwards, most = 0, 0, 0  # the state after step ``now`` is at hand
    for at, run in enumerate(schedule):
        if run < 0:
            assert max(kept) == -run
            kept.remove(-run)
            now = 0
            continue
        assert run - 1 in {now, 0} | kept
        now, forwards = run, forwards + 1
        later = schedule[at + 1 :]
        if run not in later[: later.index(-run)]:
            kept.add(run)
        most = max(most, len(kept))
    assert not kept
    return forwards, most


@pytest.mark.parametrize(
    ("count", "expected"),
    [(revolve.internal_state, [55, 24, 18, 16, 15]), (revolve.hidden_state, [55, 30, 25, 24, 23])],
)
def test_ten_steps_as_in_the_facts(count, expected) -> None:
    assert [count(10, m) for m in range(1, 6)] == expected


def test_revolve_and_root_as_in_the_facts() -> None:
    given = [(10, 3), (14, 3), (64, 4), (1000, 50)]
    assert [revolve.revolve(*each) for each in given] == [15, 27, 200, 1948]
    assert [revolve.sqrt_slots(n) for n in (100, 152, 1000)] == [(10, 20), (11, 25), (28, 64)]


@every_row(
    ("count", "m", "percent"),
    [
        (revolve.internal_state, 50, 31.7),
        (revolve.internal_state, 10, 88.0),
        (revolve.internal_state, 100, 30.0),
        (revolve.hidden_state, 50, 64.9),
    ],
)
def test_a_thousand_steps_as_in_the_facts(count, m, percent) -> None:
    assert round(100 * revolve.extra_time(1000, count(1000, m)), 1) == percent


def test_closed_forms_equal_the_recurrences() -> None:
    for t in range(1, 61):
        for m in range(1, 13):
            assert revolve.internal_state(t, m) == internal(t, m)
            assert revolve.hidden_state(t, m) == hidden(t, m) == revolve.revolve(t, m) + t


def test_a_long_chain_equals_the_recurrence_without_its_short_cut() -> None:
    table = long_table(1000, 50)
    assert table[1000, 50] == 1950
    for t in (1, 2, 49, 50, 51, 52, 777, 1000):
        assert table[t, 1:].tolist() == [revolve.internal_state(t, m) for m in range(1, 51)]


@given(STEPS, SLOTS)
@examples(60)
def test_schedules_reach_their_counts(t: int, m: int) -> None:
    m = max(m, t // 40 + 1)  # or the schedule is long
    internal_walk = slots_of_internal(revolve.internal_schedule(t, m))
    assert internal_walk == (revolve.internal_state(t, m), min(t, m))


@every_row("m", [1, 2, 10, 50, 1000, 2000])
def test_schedules_of_a_thousand_steps(m: int) -> None:
    runs = revolve.internal_schedule(1000, m)
    assert sum(run > 0 for run in runs) == revolve.internal_state(1000, m)
    assert [-run for run in runs if run < 0] == list(range(1000, 0, -1))


def test_root_is_the_best_of_all() -> None:
    for n in range(1, 400):
        every = [k + -(-n // k) for k in range(1, n + 1)]
        assert revolve.sqrt_slots(n) == (every.index(min(every)) + 1, min(every))


@every_row(
    "call",
    [
        lambda: revolve.internal_state(0, 1),
        lambda: revolve.hidden_state(10, 0),
        lambda: revolve.revolve(True, 1),
        lambda: revolve.sqrt_slots(-100),
        lambda: revolve.internal_schedule(10**9, 3),
        lambda: revolve.extra_time(10, 9),
    ],
)
def test_bad_input_is_one_sentence(call) -> None:
    with pytest.raises(InputError, match=r"^[^\n]+\.$"):
        call()
