"""The address map in JupyterLab: placings, Move mode by keyboard, a silent fault, both themes."""

import pytest

from tests.browser.live import ROOT, sees

MIB = 2**20


@pytest.fixture
def page_with_view(open_view):
    """A notebook with that view, opened."""
    page = open_view("memlab.views.addresses()")
    slider(page).wait_for()
    return page


def settled(page, how, arena, what="toy"):
    page.locator(f"{ROOT}[data-state='{what}|{how}|{arena}']").wait_for()


def slider(page):
    return page.get_by_label("Operation (of", exact=False)


def picture(page):
    return page.locator(f"{ROOT} .ml-picture")


def more(page):
    """Open what stands behind More."""
    page.locator(f"{ROOT} summary").click()


def press(page, *codes):
    for code in codes:
        page.keyboard.press(code)


def test_placings_cursor_and_presets(page_with_view):
    page = page_with_view
    settled(page, "no reuse", 13 * MIB)
    page.get_by_label("Placing", exact=True).select_option("biggest")
    settled(page, "biggest", 8 * MIB)
    slider(page).focus()
    press(page, "Home")
    page.locator(f"{ROOT}[data-shown='1']").wait_for()
    press(page, "ArrowRight")
    page.locator(f"{ROOT}[data-shown='2']").wait_for()
    assert slider(page).get_attribute("aria-valuetext") == "operation 2 of 8"
    more(page)
    page.get_by_role("button", name="Surprising").click()
    settled(page, "birth", 13 * MIB)
    sees(page, "13 MiB or 8 MiB")
    picture(page).focus()
    press(page, "r")
    page.get_by_text("The six tensors have no arithmetic").wait_for()


def test_the_toy_is_packed_by_keyboard(page_with_view):
    page = page_with_view
    picture(page).focus()
    page.get_by_label("Placing", exact=True).select_option("birth")
    settled(page, "birth", 13 * MIB)
    picture(page).focus()
    press(page, "m", "ArrowRight")
    page.get_by_role("button", name="Score").wait_for()
    moves = {"D": 4, "E": 5, "F": 9}  # down to the lowest place of each
    chosen = "F"
    press(page, *["ArrowRight"] * 6)
    for name in ("F", "E", "D"):
        press(page, *["ArrowLeft"] * (ord(chosen) - ord(name)))
        press(page, *["ArrowDown"] * moves[name])
        chosen = name
    page.locator(f"{ROOT} .ml-picture").get_by_text(
        "both are in memory at operation 5"
    ).first.wait_for()
    press(page, "Enter")
    page.locator(f"{ROOT} .ml-quiet").get_by_text("blocks overlap").wait_for()
    press(page, "Escape")
    page.get_by_role("button", name="Move mode", exact=True).wait_for()
    assert page.get_by_role("button", name="Score").count() == 0
    page.get_by_label("Placing", exact=True).select_option("biggest")
    settled(page, "biggest", 8 * MIB)


def test_a_fault_in_memory_is_silent(page_with_view):
    page = page_with_view
    more(page)
    page.get_by_role("button", name="Break it").click()
    lines = page.locator(f"{ROOT} .ml-lines")
    lines.get_by_text("values differ").first.wait_for()
    assert "the same, bit for bit" in lines.inner_text()
    assert "wrong gradients" in lines.inner_text()
    assert lines.get_attribute("role") == "status"


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


def test_a_real_network_and_every_number_of_it(page_with_view):
    page = page_with_view
    more(page)
    page.get_by_role("button", name="Real", exact=True).click()
    page.locator(f"{ROOT}[data-state^='resnet50|best|']").wait_for()
    sees(page, "1.28 GiB")
    picture(page).focus()
    press(page, "n")
    picture(page).get_by_text("The largest blocks").wait_for()
    page.get_by_label("All numbers").uncheck()
    picture(page).get_by_text("The largest blocks").wait_for(state="detached")
