"""Timing: who runs when, what is kept, and what a result says."""

from __future__ import annotations

import json
import time
from datetime import date

import pytest

from memlab import InputError, free_memory
from memlab.measure import timing
from memlab.measure.timing import BenchmarkLine, Machine, Result

MACHINE = Machine("a processor", 2, "Linux x86_64", "2026-01-31", {"python": "3.12.1"})


def test_cases_take_turns_and_start_in_turn():
    calls = []
    cases = {name: lambda turn, name=name: calls.append((turn, name)) for name in ("a", "b", "c")}
    samples = timing.interleave(cases, repeats=2, warm_up=1)
    assert [name for _, name in calls] == list("abcbcacab")
    assert [turn for turn, _ in calls] == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert {name: len(kept) for name, kept in samples.items()} == {"a": 2, "b": 2, "c": 2}


def test_the_warm_up_is_not_kept(monkeypatch):
    monkeypatch.setattr(timing, "once", lambda case, turn, clock: float(turn))
    assert timing.interleave({"a": print}, repeats=2, warm_up=3) == {"a": (3.0, 4.0)}


@pytest.mark.parametrize(("repeats", "warm_up"), [(0, 1), (1.5, 1), (1, -1)])
def test_bad_counts_are_refused(repeats, warm_up):
    with pytest.raises(InputError):
        timing.interleave({"a": print}, repeats, warm_up)


def test_the_clock_is_read_around_the_call_alone(monkeypatch):
    ticks = iter([10.0, 12.5])
    monkeypatch.setattr(timing, "perf_counter", lambda: next(ticks))
    assert timing.once(lambda turn: turn) == 2.5


def test_another_clock_may_be_given():
    ticks = iter([1.0, 4.0, 5.0, 9.0])
    found = timing.interleave({"a": print}, repeats=1, warm_up=1, clock=lambda: next(ticks))
    assert found == {"a": (4.0,)}


def test_a_line_is_a_median_and_a_ratio_is_one_of_medians():
    slow, fast = (3.0, 100.0, 4.0), (2.0, 1.0, 2.0)
    assert timing.line("slow", slow).value == 4.0
    assert timing.ratio("slow by fast", slow, fast).value == 2.0


@pytest.mark.parametrize(
    ("line", "says", "reached"),
    [
        (BenchmarkLine("a plan", 0.002, "s", 0.05), "2 ms  aim     50 ms  reached", True),
        (BenchmarkLine("a plan", 0.2, "s", 0.05), "200 ms  aim     50 ms  NOT REACHED", False),
        (BenchmarkLine("a chain", 2.0, "s", 5.0), "2 s   aim      5 s   reached", True),
        (BenchmarkLine("growth", 1.2, "x", 1.5), "1.2 x   aim    1.5 x   reached", True),
        (BenchmarkLine("a plan", 2.0, "s"), "2 s", True),
    ],
)
def test_a_line_says_what_median_aim_and_whether_it_is_reached(line, says, reached):
    assert line.reached is reached
    assert str(line).startswith(line.name)
    assert str(line).endswith(says)


def test_a_result_says_where_it_was_measured():
    result = Result(
        "plan",
        MACHINE,
        (BenchmarkLine("a", 2.0, "s", 1.0, (2.0, 3.0)), BenchmarkLine("b", 1.0, "s")),
    )
    assert not result.reached
    assert "a processor, 2 cores, Linux x86_64; python 3.12.1; 2026-01-31" in str(result)
    facts = json.loads(json.dumps(result.as_dict()))
    assert facts["schema"] == "memlab.bench/1"
    assert facts["machine"]["versions"] == {"python": "3.12.1"}
    assert [line["reached"] for line in facts["lines"]] == [False, True]
    assert facts["lines"][0]["samples"] == [2.0, 3.0]


def test_this_machine_has_a_name_and_a_date():
    here = timing.machine()
    assert here.processor
    assert here.cores >= 1
    assert date.fromisoformat(here.date) >= date(2024, 1, 1)
    assert {"python", "memlab", "numpy"} <= set(here.versions)


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="Windows sets the zone for all programs")
@pytest.mark.parametrize("zone", ["EAST-14", "WEST+12"])  # in one of them the date is not UTC's
def test_the_date_is_that_of_the_clock_on_the_wall(monkeypatch, zone):
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        before, dates = date.today(), (timing.machine().date, free_memory.here()[-10:])
        assert all(before <= date.fromisoformat(day) <= date.today() for day in dates)
    finally:
        monkeypatch.undo()
        time.tzset()
