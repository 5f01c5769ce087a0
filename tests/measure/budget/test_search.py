"""The optimum of a board against all of its choices, each planned and timed."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from memlab.errors import InputError
from memlab.measure.budget.board import BlockState, Board, Choice, RatedChoice, Switch
from memlab.measure.budget.levels import search_of
from memlab.measure.budget.search import Search
from memlab.measure.budget.windows import sequences, windows_of
from tests.measure.budget.boards import LEVELS, board, choices, drawn_choice

CLOSE = 1e-9
"""Seconds between two sums of the same times."""


@cache
def brute(name: str) -> list[RatedChoice]:
    """All choices of a board with their bytes and seconds, the fastest first."""
    rated = (board(name).rated(choice) for choice in choices(board(name)))
    return sorted(rated, key=lambda one: (one.seconds, one.peak))


@cache
def search(name: str) -> Search:
    return Search(board(name))


@pytest.mark.parametrize("name", LEVELS)
def test_no_choice_beats_the_optimum_at_any_budget(name: str) -> None:
    """Every budget at which another set of choices fits, and the byte below it."""
    every = brute(name)
    assert len(every) == board(name).count
    least = min(one.peak for one in every)
    for peak in {one.peak for one in every}:
        for budget in (peak, peak - 1):
            if budget < least:
                continue
            optimum = search(name).within(budget)
            best = next(one for one in every if one.peak <= budget)
            assert optimum.exact
            assert optimum.rated.peak <= budget
            assert optimum.rated.seconds == pytest.approx(best.seconds, abs=CLOSE)


@pytest.mark.parametrize("name", LEVELS)
def test_a_budget_below_the_least_peak_is_refused_with_that_peak(name: str) -> None:
    least = min(one.peak for one in brute(name))
    assert search(name).smallest() == least
    with pytest.raises(InputError, match=f"the least that one takes is {least:,} B"):
        search(name).within(least - 1)


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("seed", range(12))
def test_windows_add_up_to_plan_and_clock(number: int, seed: int) -> None:
    """Drawn choices of the two levels that are searched exactly agree with plan and clock."""
    read = search_of(number)
    choice = drawn_choice(read.board, (number, seed))
    windows = read.windows((choice.switches, choice.parts))
    rated = read.board.rated(choice)
    assert windows.additive
    assert windows.peak(choice.states) == rated.peak
    assert windows.seconds(choice.states) == pytest.approx(rated.seconds, abs=CLOSE)


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("seed", range(12))
def test_no_drawn_choice_that_fits_beats_the_optimum_of_a_level(number: int, seed: int) -> None:
    read = search_of(number)
    rated = read.board.rated(drawn_choice(read.board, seed))
    optimum = read.within(rated.peak)
    assert optimum.exact
    assert optimum.rated.peak <= rated.peak
    assert optimum.rated.seconds <= rated.seconds + CLOSE


@pytest.mark.parametrize("seed", range(8))
def test_in_place_takes_no_time_and_no_more_bytes(seed: int) -> None:
    """So the search looks at choices in place alone."""
    of = search_of(1 + seed % 2).board
    choice = drawn_choice(of, seed)
    before = of.rated(Choice(choice.switches - {Switch.PLACE}, choice.parts, choice.states))
    after = of.rated(Choice(choice.switches | {Switch.PLACE}, choice.parts, choice.states))
    assert after.seconds == before.seconds
    assert after.peak <= before.peak


def test_three_neighbours_have_every_triple_once() -> None:
    rows = [*sequences(board("bottlenecks").level.states, 4)]
    for place in (0, 1):
        triples = [row[place : place + 3] for row in rows]
        assert len({*triples}) == len(triples) == 27


def test_windows_that_disagree_make_no_exact_optimum() -> None:
    """The guard looks: a window that a sequence contradicts is noticed."""
    small = Search(board("two stages"))
    first = windows_of(small.board, *small.combinations[0])
    first.additive = False
    small._windows[small.combinations[0]] = first
    optimum = small.within(10**12)
    assert not optimum.exact
    assert optimum.bound <= optimum.rated.seconds


@pytest.mark.parametrize("percent", [60, 80, 90])
def test_where_windows_do_not_add_up_the_choice_fits_all_the_same(percent: int) -> None:
    """A text on the host: without a convolution a map comes back in any block behind its own."""
    text = LEVELS["text"]
    hosts = Search(Board(replace(text, states=(BlockState.KEPT, BlockState.HOST), parts=(1,))))
    plain = hosts.board.rated(hosts.board.plain)
    optimum = hosts.within(plain.peak * percent // 100)
    assert optimum.rated.peak <= plain.peak * percent // 100
    assert optimum.bound <= optimum.rated.seconds
    assert not all(windows.additive for windows in hosts._windows.values())
    assert not optimum.exact


def test_a_search_that_is_cut_names_its_bound() -> None:
    cut = search_of(3, 1)
    optimum = cut.within(cut.board.level.budget)
    assert not optimum.exact
    assert optimum.bound < optimum.rated.seconds
    assert optimum.bound == cut.least(cut.combinations[1])


def test_the_line_is_of_optima() -> None:
    name = "bottlenecks"
    line = Search(board(name))
    line.within(10**12)
    budgets = [one.peak for one in brute(name)]
    points, read = line.line(budgets[:20]), {switches for switches, _ in line._windows}
    assert points
    for peak, seconds in points:
        allowed = (one for one in brute(name) if one.choice.switches | {Switch.PLACE} in read)
        fitting = [one.seconds for one in allowed if one.peak <= peak]
        assert seconds == pytest.approx(min(fitting), abs=CLOSE)
