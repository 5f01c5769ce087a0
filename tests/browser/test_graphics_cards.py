"""The case in cards, under the answer of the first card of the course, with the keyboard alone."""

import pytest

SCREEN = {"width": 1366, "height": 768}
SOURCE = """from memlab.lesson.card import Card
from memlab.lesson.card_question import topics
card = Card(topics()["00.case"])
card"""
"""A card that nobody has answered: a lesson keeps its own."""
ASKED = ".memlab-asked"
INSIDE = f"() => Boolean(document.activeElement.closest('{ASKED}'))"
BEFORE = ("6 cards", "5.5", "66.1", "× 12 GB")
"""Words that stand under the answer only."""


@pytest.fixture
def asked(open_shared):
    """The card, before any guess, on a screen of a small laptop."""
    page = open_shared(SOURCE)
    page.set_viewport_size(SCREEN)
    page.locator(f"{ASKED} input").first.wait_for()
    page.locator(f"{ASKED} .ml-heading").first.click()
    return page


def keys(page, *names):
    for name in names:
        page.keyboard.press(name)


def enters(page):
    for _ in range(6):
        keys(page, "Tab")
        if page.evaluate(INSIDE):
            return
    raise AssertionError("Tab does not reach the card")


def comes_on_screen(page, *parts):
    """Wait until these parts stand on the screen at once: the picture is scrolled in when drawn."""
    for _ in range(100):
        boxes = [part.bounding_box() for part in parts]
        if all(b["y"] >= 0 and b["y"] + b["height"] <= SCREEN["height"] for b in boxes):
            return
        page.wait_for_timeout(100)
    raise AssertionError(f"not on a screen of {SCREEN['height']} px: {boxes}")


def test_the_cards_stand_under_the_answer_and_follow_the_images(asked, findings, theme):
    page = asked
    text = page.locator(ASKED).inner_text()
    assert not [words for words in BEFORE if words in text]
    enters(page)
    page.keyboard.type("18 GB")
    keys(page, "Tab", "Tab", "Enter")
    page.get_by_role("paragraph").filter(has_text="Too small").wait_for()
    assert not [words for words in BEFORE if words in page.locator(ASKED).inner_text()]
    page.keyboard.type("40 GB")
    keys(page, "Tab", "Enter")
    title = page.locator(f"{ASKED} svg text").filter(has_text="256 images need 66.1 GB")
    title.wait_for()
    check = page.locator(f"{ASKED} .ml-truth").filter(has_text="66.1 GB")
    comes_on_screen(page, check, title)
    for words in ("your guess 18.0 GB", "your revision 40.0 GB", "6"):
        assert page.locator(f"{ASKED} svg").get_by_text(words, exact=True).count() == 1
    slider = page.locator(f"{ASKED} input[type=range]")
    slider.focus()
    keys(page, "ArrowLeft")
    page.locator(f"{ASKED} svg text").filter(has_text="255 images need").wait_for()
    assert page.locator(f"{ASKED} svg").get_by_text("your guess").count() == 0
    keys(page, "Home")
    page.locator(f"{ASKED} svg text").filter(has_text="1 image needs").wait_for()
    for name in ("Dark", "Light"):
        theme(name)
        assert findings(page, f"{ASKED} .memlab-view") == []
