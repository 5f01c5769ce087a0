"""The benchmark of placing; a test holds a safety limit, five times the aim, and no more."""

from __future__ import annotations

import pytest

from memlab import bench
from memlab.bench import placement
from memlab.placement.placement import arrange

SAFETY = 5


@pytest.mark.usefixtures("alone")
def test_ten_thousand_blocks_are_placed_in_time():
    given = placement.of_step(placement.SHORT)
    assert 9_000 < len(given) < 11_000
    lines, _ = placement._times(given, "in a step", 1, placement.AIM_SHORT)
    seconds = [line for line in lines if line.unit == "s"]
    assert len(seconds) == len(placement.WAYS)
    assert [line for line in seconds if line.value > SAFETY * placement.AIM_SHORT] == []


def test_blocks_at_random_are_always_the_same():
    given = placement.at_random(200)
    assert given == placement.at_random(200)
    assert arrange(given).overlaps() == ()
    assert all(64 <= block.nbytes <= 2**24 for block in given)
    lives = [block.death - block.birth + 1 for block in given]
    assert 1 <= min(lives) < max(lives) <= 200


def test_the_whole_benchmark_gives_seconds_and_waste_of_every_way():
    result = placement.run(repeats=1, stages=(1, 2), count=50)
    ways = len(placement.WAYS)
    assert len(result.lines) == 3 * 2 * ways + ways + (ways - 1)
    assert all(line.value >= 0 for line in result.lines if line.unit == "%")
    assert "biggest: 50 blocks at random" in str(result)


def test_the_benchmark_is_listed():
    assert bench.find("placement") is placement.run
    assert "placement: Time the placing of 10,000 and 100,000 blocks" in bench.listing()
