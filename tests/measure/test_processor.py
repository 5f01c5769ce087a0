"""How often a way is sampled, on a clock that the test moves; what the system says of caches."""

from __future__ import annotations

import itertools

import pytest

from memlab.measure import processor


class Clock:
    """Stands still but for what each call takes."""

    def __init__(self):
        self.now, self.calls = 0.0, []

    def __call__(self):
        return self.now

    def way(self, name, *seconds):
        given = itertools.cycle(seconds)

        def call():
            self.calls.append(name)
            self.now += next(given)

        return call


@pytest.fixture
def clock(monkeypatch):
    found = Clock()
    monkeypatch.setitem(processor.CLOCKS, processor.clock(), found)
    return found


def test_steady_samples_are_few(clock):
    found = processor.settled({"steady": clock.way("steady", 0.1)})["steady"]
    assert found == pytest.approx((0.1,) * processor.LEAST)


def test_samples_that_vary_are_many(clock):
    ways = {"varying": clock.way("varying", 0.1, 0.2, 0.3)}
    assert len(processor.settled(ways)["varying"]) == processor.MOST
    assert len(processor.settled(ways, most=7)["varying"]) == 7


def test_a_long_call_is_sampled_once(clock):
    ways = {"long": clock.way("long", 2.0), "short": clock.way("short", 0.01)}
    found = processor.settled(ways)
    assert found["long"] == (2.0,)
    assert len(found["short"]) == processor.LEAST
    assert clock.calls.count("long") == 1


def test_the_first_call_of_a_short_way_is_a_warm_up(clock):
    ways = {"short": clock.way("short", 0.4, *[0.1] * 30)}
    assert processor.settled(ways)["short"] == pytest.approx((0.1,) * processor.LEAST)


def test_a_sample_is_long_enough_and_of_one_call(clock):
    found = processor.settled({"tiny": clock.way("tiny", 0.001)}, shortest=0.02)["tiny"]
    assert found == pytest.approx((0.001,) * processor.LEAST)
    assert len(clock.calls) == 1 + 20 * processor.LEAST


def test_ways_take_turns_and_start_in_turn(clock):
    processor.settled({name: clock.way(name, 0.1) for name in ("a", "b")}, most=2)
    assert clock.calls == ["a", "b", "a", "b", "b", "a"]


def test_a_function_is_told_what_is_timed_and_how_many_are_done(clock, capsys):
    told = []
    ways = {"long": clock.way("long", 2.0), "short": clock.way("short", 0.1)}
    samples = processor.settled(ways, progress=lambda *now: told.append(now))
    assert told == [("short", 1, 2)] * len(samples["short"])
    assert capsys.readouterr().err == ""


def test_several_threads_are_timed_by_the_wall(monkeypatch, clock):
    wall = iter(range(100))
    monkeypatch.setattr(processor, "perf_counter", lambda: float(next(wall)))
    assert processor.settled({"a": clock.way("a", 0.1)}, most=1, threads=2) == {"a": (1.0,)}


def test_caches_are_those_for_data(tmp_path):
    for index, (level, kind, size) in enumerate(
        [("1", "Data", "48K"), ("1", "Instruction", "32K"), ("2", "Unified", "2048K")]
    ):
        folder = tmp_path / f"index{index}"
        folder.mkdir()
        for name, text in (("level", level), ("type", kind), ("size", size)):
            (folder / name).write_text(f"{text}\n")
    (tmp_path / "index9").mkdir()
    assert processor.caches(tmp_path) == {"L1": 48 * 2**10, "L2": 2**21}
    assert processor.caches(tmp_path / "nowhere") == {}
