"""Pictures under the answers of lesson 11: they show the peaks that the cards tell, on any numbers,
and each technique can be taken away again."""

from __future__ import annotations

import pytest

from memlab.course.reveals.lesson_11 import SETTINGS
from memlab.ledger.plan import plan
from memlab.lesson.content.lesson_11 import together
from memlab.lesson.material import case_rows
from memlab.pictures.values.number_text import three_digits
from tests.course.revealed import revealed

SEEDS = (None, 1, 2, 3)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_peak_of_both_is_told_and_that_of_each_alone_was_asked(seed: int | None) -> None:
    turn, view = revealed("11.both", seed=seed)
    assert turn.truth is not None
    assert three_digits(view.peak) == turn.truth.seen["peak"]
    for kept, taken, key in ((turn.numbers["other"], turn.numbers["how"], "two"),
                             (turn.numbers["how"], turn.numbers["other"], "one")):  # fmt: skip
        name = next(iter(SETTINGS[taken]))
        before = getattr(view, name)
        setattr(view, name, "fp32" if name == "format" else "")
        assert three_digits(view.peak) == turn.words[key], kept
        setattr(view, name, before)


@pytest.mark.parametrize("seed", SEEDS)
def test_without_in_place_the_peak_is_higher_by_what_is_told(seed: int | None) -> None:
    turn, view = revealed("11.in_place", seed=seed)
    assert turn.truth is not None
    low = view.peak
    view.in_place = False
    assert three_digits(view.peak) == turn.words["again"]
    assert three_digits(view.peak - low) == turn.truth.seen["after"]


def test_at_the_peak_of_both_hardly_any_map_waits_on_the_host() -> None:
    """So offload has nothing left to move: all that it moves is back, or was never there."""
    ledger = plan(together("resnet50", 256, "chain", "offload"))
    host = ledger.timeline(256, "host")
    assert host[ledger.peak_at(256).index] < max(host) / 10


def test_times_are_those_of_the_case() -> None:
    turn, _ = revealed("11.both")
    assert turn.truth is not None
    assert turn.truth.seen["alone"] == f"{case_rows.row('08').extra:.0f}"
