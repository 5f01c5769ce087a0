"""The ways out in JupyterLab: rows by keyboard and by pointer, a card in a box, and the sort."""

import pytest

from memlab import views
from tests.browser.live import ROOT, SIZES, hidden, sees, wait


@pytest.fixture
def page_with_view(open_view):
    """A notebook with that view, opened."""
    page = open_view("memlab.views.remedies()")
    page.locator(f"{ROOT} svg").wait_for()
    return page


def test_rows_cards_and_the_sort_follow_the_keyboard(page_with_view):
    page, found = page_with_view, views.remedies().rows
    assert {screen: over for screen in SIZES if (over := hidden(page, screen))} == {}
    page.locator(f"{ROOT} .ml-picture").focus()
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    sees(page, found["accumulation"].fact())
    page.keyboard.press("s")
    wait(page, "root.querySelector(\"[id$='-sort']\").value === 'peak'")
    page.keyboard.press("1")
    sees(page, found.plain.fact())
    page.keyboard.press("Escape")
    sees(page, found.sentences[0])
    page.locator(f"{ROOT} [data-send=choose][data-value=offload]").first.click()
    sees(page, found["offload"].fact())
    box = page.locator(f"{ROOT} input[type=text]").first
    box.fill("16 GB")
    page.keyboard.press("Enter")
    sees(page, "16 GB card")
    box.fill("16 apples")
    page.keyboard.press("Enter")
    wait(page, "root.querySelector('.ml-error')")
    sees(page, "16 GB card")
