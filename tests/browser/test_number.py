"""The bits of a number in JupyterLab: typed, in a format, stepped by keyboard, in both themes."""

from fractions import Fraction

import pytest

from memlab import rounding

ROOT = ".memlab-view"


@pytest.fixture
def page_with_view(open_view):
    """A notebook with that view, opened."""
    page = open_view("memlab.views.number()")
    slider(page).wait_for()
    return page


def state(number, name, step=0):
    """What the view says of itself, from the library."""
    held = rounding.walk(Fraction(number), name, step)
    fate = "exact" if held == Fraction(number) or step else "rounded"
    return "|".join((number, name, str(step), fate, "".join(rounding.bits(held, name))))


def settled(page, wanted):
    page.locator(f"{ROOT}[data-state='{wanted}']").wait_for()


def slider(page):
    return page.locator(f"{ROOT} input[type=range]")


def type_number(page, number):
    page.get_by_label("Number", exact=True).fill(number)
    page.keyboard.press("Enter")


def test_the_picture_follows_number_format_and_steps(page_with_view):
    page = page_with_view
    settled(page, state("0.1", "fp16"))
    type_number(page, "1/3")
    settled(page, state("1/3", "fp16"))
    page.get_by_label("Format", exact=True).select_option("bf16")
    settled(page, state("1/3", "bf16"))
    slider(page).focus()
    for step in (1, 2):
        page.keyboard.press("ArrowRight")
        settled(page, state("1/3", "bf16", step))
        assert slider(page).get_attribute("aria-valuetext") == f"{step} values from the number"
    page.keyboard.press("Home")
    settled(page, state("1/3", "bf16", -16))
    assert page.locator(ROOT).get_attribute("data-shown") == "-16"
    assert page.evaluate("document.activeElement.type") == "range"
    value = f"{rounding.walk(Fraction(1, 3), 'bf16', -16)}"
    assert value in page.locator(f"{ROOT} .ml-picture").text_content()


def test_garbage_gets_one_sentence_and_the_picture_stays(page_with_view):
    page = page_with_view
    picture, status = page.locator(f"{ROOT} .ml-picture"), page.locator(f"{ROOT} .ml-says")
    before = picture.inner_html()
    type_number(page, "much")
    status.get_by_text("'much' is no number to show; try 0.1, 1e-8, 1/3, -inf or nan.").wait_for()
    assert status.get_attribute("role") == "status"
    assert picture.inner_html() == before
    type_number(page, "2049")
    settled(page, state("2049", "fp16"))
    assert status.inner_text() == ""


def test_both_themes_have_no_accessibility_finding_and_their_own_colours(
    page_with_view, findings, theme
):
    page, found = page_with_view, {}
    page.get_by_role("button", name="Text").click()
    for name in ("Light", "Dark"):
        theme(name)
        drawn = f"getComputedStyle(document.querySelector('{ROOT} svg text')).fill"
        found[name] = page.evaluate(drawn)
        assert findings(page, ROOT) == []
    assert found["Light"] != found["Dark"]


def fact(page):
    return page.locator(f"{ROOT} .ml-tip")


def test_a_mark_says_what_it_is_on_hover_and_escape_closes_it(page_with_view):
    page = page_with_view
    page.locator(f"{ROOT} [data-fact^=exponent]").hover()
    fact(page).get_by_text("exponent: 01011; 11, less the bias: 11 − 15 = −4").wait_for()
    page.keyboard.press("Escape")
    fact(page).wait_for(state="hidden")


def test_the_keyboard_walks_the_marks_and_a_screen_reader_hears_them(
    page_with_view, findings, theme
):
    page = page_with_view
    picture = page.locator(f"{ROOT} .ml-picture")
    picture.focus()
    for key, said in (
        ("ArrowRight", "sign: 0; positive"),
        ("ArrowRight", "exponent: 01011"),
        ("ArrowLeft", "sign: 0; positive"),
        ("End", "0.1; the number"),
    ):
        page.keyboard.press(key)
        fact(page).get_by_text(said).wait_for()
        page.locator(f"{ROOT} [role=status]").get_by_text(said).wait_for()
    for name in ("Light", "Dark"):
        theme(name)
        picture.focus()
        page.keyboard.press("Home")
        assert findings(page, ROOT) == []
        frame = page.locator(f"{ROOT}").bounding_box()
        box = fact(page).bounding_box()
        assert frame["x"] <= box["x"]
        assert box["x"] + box["width"] <= frame["x"] + frame["width"]
    page.keyboard.press("Escape")
    fact(page).wait_for(state="hidden")
    assert page.evaluate("document.activeElement.classList.contains('ml-picture')")


def test_the_text_is_there_once_it_is_asked_for(page_with_view):
    page = page_with_view
    assert page.locator(f"{ROOT} .ml-text").text_content() == ""
    page.get_by_role("button", name="Text").click()
    page.locator(f"{ROOT} .ml-text").get_by_text("0.1 becomes 0.0999755859375.").wait_for()
    type_number(page, "2049")
    page.locator(f"{ROOT} .ml-text").get_by_text("2049 becomes 2048.").wait_for()
