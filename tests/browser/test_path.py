"""The data path in JupyterLab: buffers by keyboard, a rate in a box, and the line of now."""

import pytest

from memlab import views
from tests.browser.live import ROOT, sees, wait


def images(**given):
    """The images in a second, from the library."""
    return f"{views.path(**given).rows.path.images_per_second:.0f} images/s"


@pytest.fixture
def page_with_view(open_view):
    """A notebook with that view, opened."""
    page = open_view("memlab.views.path()")
    page.locator(f"{ROOT} svg").wait_for()
    return page


def test_buffers_rates_and_the_moment_follow_the_keyboard(page_with_view):
    page = page_with_view
    sees(page, images())
    page.get_by_role("radio", name="0", exact=True).focus()
    page.keyboard.press("ArrowRight")
    sees(page, images(buffers=1))
    page.keyboard.press("ArrowRight")
    sees(page, images(buffers=2))
    assert page.get_by_role("radio", name="2", exact=True).first.is_checked()
    page.locator(f"{ROOT} [data-send=choose][data-value=E]").first.hover(force=True)
    same = page.locator(f"{ROOT} .ml-same")
    assert {each.get_attribute("data-value") for each in same.all()} == {"E"}
    assert same.count() >= 3  # where it waits, is read, and is computed on
    box = page.locator(f"{ROOT} input[type=range] ~ input[type=text]").first
    box.fill("0.04")
    page.keyboard.press("Enter")
    sees(page, images(buffers=2, disk=0.04))
    box.fill("slow")
    page.keyboard.press("Enter")
    wait(page, "root.querySelector('.ml-error')")
    sees(page, images(buffers=2, disk=0.04))
    page.locator(f"{ROOT} .ml-picture").focus()
    page.keyboard.press("Home")
    sees(page, "for batch A")
    page.keyboard.press("KeyW")
    sees(page, "for batch B")
    page.keyboard.press("ArrowDown")
    sees(page, "77,070,336 B")
