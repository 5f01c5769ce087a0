import pytest
from tests.browser.test_screens import *
@pytest.mark.parametrize("name", ["01_linear.ipynb","02_network.ipynb"])
def test_shots(open_lesson, open_notebook, lab, name):
    lab.set_viewport_size(SCREEN)
    page = open_lesson(name)
    page.set_viewport_size(SCREEN)
    cards = page.evaluate(CARDS)
    page.wait_for_timeout(1500)
    page.screenshot(path=f"/tmp/l12x/{name[:2]}_top.png")
    for index in range(len(cards)):
        card = page.locator(f'.memlab-card[data-index="{index}"]')
        card.scroll_into_view_if_needed(); page.wait_for_timeout(300)
        page.screenshot(path=f"/tmp/l12x/{name[:2]}_{index}_open.png")
        for state in ("skipped", "revealed"):
            card.locator(".ml-below button").last.click()
            card.page.locator(f'.memlab-card[data-index="{index}"][data-state={state}]').wait_for(timeout=120_000)
        page.wait_for_timeout(2500)
        page.screenshot(path=f"/tmp/l12x/{name[:2]}_{index}_rev.png")
