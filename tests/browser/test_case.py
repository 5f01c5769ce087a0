"""The case in JupyterLab: its card shows the picture with the answer, card and question change it,
keys walk, a small run is told."""

import pytest

from tests.browser.live import picture, sees, state

ROOT = ".memlab-view"


@pytest.fixture
def page_with_view(open_view):
    """A notebook with the picture at the end of lesson 07, opened."""
    page = open_view("memlab.views.case('07')")
    sees(page, "21.9 GB")
    return page


def test_the_card_and_the_question_change_the_picture(page_with_view):
    page = page_with_view
    assert state(page)[:3] == ["07", "12", "bytes"]
    page.get_by_label("Card", exact=True).select_option("24")
    sees(page, "The card holds 280 images")
    page.get_by_label("Show", exact=True).select_option("images")
    sees(page, "280 images fit")
    picture(page).focus()
    page.keyboard.press("KeyB")
    sees(page, "In place: 21.9 GB instead of 22.0 GB")


def test_the_bar_comes_with_the_answer(open_shared):
    page = open_shared("from memlab import lesson\nlesson.predict('08.case')")
    page.set_viewport_size({"width": 1366, "height": 768})
    card = page.locator(".memlab-card")
    card.locator(".ml-heading").filter(has_text="The case").wait_for()
    assert page.locator(".memlab-view:not(.memlab-card)").count() == 0
    card.get_by_role("textbox").first.fill("11 GB")
    card.get_by_role("button", name="Lock").click()
    card.get_by_text("Did you treat the stages as equal?").first.wait_for()
    assert "6.42 GB" not in page.locator(".jp-Notebook").text_content()
    card.get_by_role("button", name="Show the answer").click()
    page.locator(".memlab-view:not(.memlab-card)").filter(has_text="Recompute: 6.42 GB").wait_for()
    text = page.locator(".memlab-view:not(.memlab-card) .ml-picture").text_content()
    assert "Predict it first in lesson 09." in text


def test_keys_walk_the_rows(page_with_view):
    page = page_with_view
    picture(page).focus()
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    tip = page.locator(f"{ROOT} .ml-tip")
    tip.filter(has_text="in place: 21.9 GB = 21,949,009,124 B").wait_for()
    picture(page).focus()
    page.keyboard.press("KeyN")
    sees(page, "21,949,009,124")


def test_the_rows_run_small(page_with_view):
    page = page_with_view
    page.get_by_role("button", name="Measure it small").click()
    sees(page, "Every byte is as planned")
    sees(page, "in place: planned 138,600,060 B, measured 138,600,060 B")
