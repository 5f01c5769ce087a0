"""Offload in JupyterLab: keys and clicks say what a copy, a wait and the peak are; the link moves
seconds, and no bytes."""

import pytest

from tests.browser.live import ROOT, sees, state, wait


@pytest.fixture
def page(open_view):
    """A notebook with that view, opened."""
    page = open_view("memlab.views.offload()")
    page.locator(f"{ROOT} .ml-picture svg").wait_for()
    return page


def test_keys_and_clicks_say_what_is_in_focus(page, findings):
    page.locator(f"{ROOT} .ml-picture").focus()
    page.keyboard.press("KeyP")
    sees(page, "The peak of 12.0 GB is in backward of pool1.")
    page.keyboard.press("KeyW")
    sees(page, "Compute waits 130 ms for conv1_1 on its way")
    page.keyboard.press("ArrowDown")
    sees(page, "conv1_1 waits here")
    page.keyboard.press("Enter")
    page.locator(f"{ROOT} [data-value='out:pool1']").first.click(force=True)
    sees(page, "pool1, 822 MB, leaves during conv2_1")
    sees(page, "conv1_1, 3.29 GB, leaves during conv1_2")
    assert findings(page, ROOT) == []


def test_the_link_moves_seconds_and_no_bytes(page):
    before = state(page)
    slider = page.locator(f"{ROOT} input[type=range]").first
    slider.focus()
    page.keyboard.press("ArrowLeft")
    wait(page, "root.dataset.state.split('|')[3] === value", "8000000000")
    after = state(page)
    assert after[4:6] == before[4:6]
    assert float(after[6]) > float(before[6])
