"""The benchmark of the board; a test holds a safety limit, five times the aim, and no more."""

from __future__ import annotations

import pytest

from benchmarks import budget

SAFETY = 5


@pytest.mark.usefixtures("alone")
def test_the_levels_are_searched_in_time() -> None:
    lines = budget.run(1).lines
    assert len(lines) == 2 * len(budget.LEVELS)
    assert [line for line in lines if line.aim is None or line.value > SAFETY * line.aim] == []
