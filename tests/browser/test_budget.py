"""The board of the budget in JupyterLab: keys and clicks change blocks and switches, Submit shows
the optimum, T the text, and all of it is on the screen of a laptop."""

import pytest

from tests.browser.live import ROOT, sees, state, wait

LINE = "root.dataset.state.split('|')[1] === value"
SCREEN = {"width": 1366, "height": 768}


@pytest.fixture
def page(open_view):
    """A notebook with the board of the second level, opened."""
    page = open_view("memlab.views.budget(2)")
    page.locator(f"{ROOT} .ml-picture svg").wait_for()
    return page


def test_keys_and_clicks_find_a_way_into_the_budget(page, findings):
    page.locator(f"{ROOT} .ml-picture").focus()
    for key in ("ArrowRight", "Space", "Digit1", "Digit2", "Digit3", "Digit4"):
        page.keyboard.press(key)
    wait(page, LINE, "half eight cheap place AKKKKK")
    page.keyboard.press("Enter")
    page.locator(f"{ROOT} .ml-error", has_text="above the budget of 180,000,000 B").wait_for()
    page.keyboard.press("KeyZ")
    wait(page, LINE, "half cheap place AKKKKK")
    page.get_by_label("8-bit states").check()
    page.get_by_label("Parts").select_option("2")
    wait(page, LINE, "half eight cheap place parts=2 AKKKKK")
    for block, blocks in ((1, "AAKKKK"), (3, "AAKAKK")):
        page.locator(f"{ROOT} [data-send='block'][data-value='{block}']").click(force=True)
        wait(page, LINE, f"half eight cheap place parts=2 {blocks}")
    assert findings(page, ROOT) == []
    page.get_by_role("button", name="Submit").click()
    page.get_by_role("button", name="Try again").wait_for()
    sees(page, "It fits: this is the optimum")
    page.locator(f"{ROOT} .ml-picture").focus()
    page.keyboard.press("KeyT")
    page.locator(f"{ROOT} .ml-text", has_text="of 180,000,000 B: ").wait_for()


def test_the_board_is_on_one_screen(page):
    page.set_viewport_size(SCREEN)
    wait(page, "root.offsetWidth <= value", SCREEN["width"])
    box = page.locator(ROOT).bounding_box()
    assert box["height"] < 0.85 * SCREEN["height"]
    assert state(page)[0] == "2"
