"""The board of the budget as a view: what a press does, what is said before Submit and after."""

from __future__ import annotations

from typing import Any

import pytest

from memlab import views
from memlab.errors import InputError
from memlab.measure.budget.levels import search_of
from memlab.pictures.budget.view import BudgetBoard

FITS, BEST = "half eight cheap place parts=2 AAAAAK", "half eight cheap place parts=2 AAAKKK"
"""Two choices on the second level: one that fits, and the fastest one."""
SECRETS = ("optimum", "exact line", "fastest", "best")


def board(choice: str | None = None, level: int = 2) -> BudgetBoard:
    return views.budget(level, choice)


def press(view: BudgetBoard, name: str, value: Any = None) -> str:
    """Send an event as the page does, and return the error that it shows."""
    view._receive(None, {"events": [{"name": name, "value": value}]}, None)
    return str(view.now_["shown"]["error"])


def key(view: BudgetBoard, code: str) -> str:
    return press(view, "key", code)


def test_the_line_of_a_choice_makes_it_again() -> None:
    view = board(FITS)
    view.half = False
    again = eval(view.code(), {"memlab": __import__("memlab")})
    assert again.choice == view.choice == FITS.replace("half ", "")
    assert again.peak == view.peak


def test_a_choice_is_a_trait() -> None:
    view, heard = board(), list[str]()
    view.observe(lambda change: heard.append(change["new"]), "choice")
    view.half = True
    view.choice = FITS
    assert heard == ["half KKKKKK", FITS]
    assert (view.eight, view.batch_parts) == (True, 2)


def test_nothing_gives_the_optimum_away_before_submit() -> None:
    for choice in (None, FITS):
        view = board(choice)
        told = view.text() + view.svg() + view.rows.title
        assert not [word for word in SECRETS if word in told.lower()]


def test_a_choice_that_does_not_fit_is_refused_in_one_sentence() -> None:
    view = board("half KKKKKK")
    error = press(view, "submit")
    assert error.startswith("this choice takes ")
    assert ". " not in error
    assert "above the budget of 180,000,000 B; try" in error
    assert not view.rows.submitted
    with pytest.raises(InputError, match="above the budget"):
        view.submit()


def test_submit_shows_the_distance_and_the_next_change_hides_it() -> None:
    view = board(FITS)
    assert press(view, "submit") == ""
    optimum = search_of(2).within(180 * 10**6).rated
    plain = view.rows.plain.seconds
    points = 100 * (view.rows.rated.seconds - optimum.seconds) / plain
    assert points > 1
    assert view.rows.title == f"It fits, {points:.1f} points slower than the optimum"
    assert view.rows.differing == [3, 4]
    press(view, "block", "3")
    assert not view.rows.submitted
    press(view, "undo")
    press(view, "retry")
    assert not view.rows.submitted


def test_the_optimum_is_said_to_be_one() -> None:
    view = board(BEST)
    view.submit()
    assert view.rows.title == "It fits: this is the optimum"
    assert view.rows.points == 0
    assert view.rows.difference == ""


def test_undo_goes_back_through_every_choice() -> None:
    view = board()
    lines = [view.choice]
    for name, value in (("half", True), ("block", "2"), ("batch_parts", "2"), ("cheap", True)):
        press(view, name, value)
        lines.append(view.choice)
    assert len({*lines}) == 5
    for line in reversed(lines[:-1]):
        press(view, "undo")
        assert view.choice == line
    press(view, "undo")
    assert view.choice == lines[0]


def test_keys_choose_a_block_turn_it_and_the_switches() -> None:
    view = board()
    for code in ("ArrowRight", "ArrowRight", "Space", "Digit1", "Digit3"):
        key(view, code)
    assert view.choice == "half place KAKKKK"
    assert view.now_["shown"]["fact"] == "block:1"
    key(view, "ArrowLeft")
    assert view.chosen == 0
    key(view, "KeyZ")
    assert view.choice == "half KAKKKK"
    assert "above the budget" in key(view, "Enter")
    view.choice = BEST
    assert key(view, "Enter") == ""
    assert view.rows.submitted


def test_a_block_has_the_states_that_the_level_offers() -> None:
    images, text = board(level=1), board()
    for view, states in ((images, "AHK"), (text, "AK")):
        for letter in states:
            press(view, "block", "0")
            assert view.blocks[0] == letter


def test_a_switch_of_another_level_is_refused() -> None:
    view = board(level=1)
    assert key(view, "Digit4") == ""
    assert not view.eight
    with pytest.raises(InputError, match="has no switch 'eight'"):
        view.eight = True
    with pytest.raises(InputError, match="one of K, A, H"):
        view.choice = "half KKK"
    assert view.choice == "KKK-KKKK-KKKKKK-KKK"


def test_another_level_begins_anew() -> None:
    view = board(FITS)
    view.submit()
    view.level = 1
    assert view.choice == "KKK-KKKK-KKKKKK-KKK"
    assert (view.tries, view.best, view.answer) == ((), "", "")


def test_another_budget_has_its_own_optimum_and_hides_the_last_answer() -> None:
    view = board(BEST)
    view.submit()
    view.budget = "200 MB"
    assert not view.rows.submitted
    assert view.budget == 200 * 10**6
    view.submit()
    within = search_of(2).within(200 * 10**6).rated
    assert view.rows.known == within
    assert view.rows.points > 0
    assert "budget=200000000" in view.code()
    view.level = 1
    assert view.budget == 6 * 10**9


def test_a_budget_is_at_least_a_byte_and_may_be_very_large() -> None:
    view = board(BEST)
    with pytest.raises(InputError, match="budget"):
        view.budget = 0
    view.budget = 3 * 10**15
    assert "3000 TB" in view.text()
    assert "Bar" not in view.text()
    assert view.fits


def test_the_parts_of_the_bar_that_can_be_seen_are_named_in_their_order() -> None:
    small = "parameters, optimizer state, feature maps, parameter gradients, then gradient maps."
    assert f"\nBar, from the left: {small}\n" in views.budget(2).text()
    assert "\nBar: feature maps.\n" in views.budget(2, budget="200 GB").text()


def test_a_better_submission_becomes_the_best_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that is cut has found the plain 16 bits in place of the best choice."""
    cut = search_of(2)
    best = cut.within(180 * 10**6)
    slow = cut.board.rated(cut.board.read(FITS))
    poor = type(best)(slow, best.rated.seconds * 0.9, False)
    monkeypatch.setattr(cut, "within", lambda budget: poor)
    view = board(BEST)
    view.submit()
    assert view.rows.title == "It fits: no choice that is known is faster"
    view.choice = FITS
    view.submit()
    assert view.rows.known.choice == cut.board.read(BEST)
    assert "slower than the best known choice" in view.rows.title
    assert "none is faster by more than" in view.rows.sentences[0]


def test_the_result_says_what_rounds() -> None:
    assert board("cheap place AAAAAA").rows.result == "The result is the same, bit for bit."
    rounded = board(FITS).rows.result
    for part in ("16 bits move", "8-bit states move", "parts move", "recorded"):
        assert part in rounded
