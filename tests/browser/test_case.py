"""The case in JupyterLab: card and question change the picture, keys walk, a small run is told."""

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
    sees(page, "280 images on the card")
    picture(page).focus()
    page.keyboard.press("KeyB")
    sees(page, "In place saves 0.5 % here")


def test_keys_walk_the_rows_and_a_row_of_an_elective_comes(page_with_view):
    page = page_with_view
    picture(page).focus()
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    tip = page.locator(f"{ROOT} .ml-tip")
    tip.filter(has_text="in place: 21.9 GB = 21,949,009,124 B").wait_for()
    page.get_by_label("Lesson 06 too", exact=True).check()
    sees(page, "11.2 GB")
    picture(page).focus()
    page.keyboard.press("KeyN")
    sees(page, "11,204,171,376")


def test_the_rows_run_small(page_with_view):
    page = page_with_view
    page.get_by_role("button", name="Measure it small").click()
    sees(page, "Every byte as planned")
    sees(page, "in place: planned 138,600,060 B, measured 138,600,060 B")
