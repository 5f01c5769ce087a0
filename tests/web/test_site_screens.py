"""Static pages in a browser: clean under axe-core, no sideways scrolling on a phone, the slider of
the start page answers, and all of it is there soon."""

from contextlib import contextmanager

import pytest

from tests.web import live_page
from tests.web.conftest import WHOLE
from web.site import mountain

pytestmark = pytest.mark.measures

FEW = ("index.html", "lessons/02_network.html", "lessons/glossary.html", "claims.html")
"""Pages that are looked at each time; all of them with MEMLAB_WEB=full."""
PAINTED = "performance.getEntriesByName('first-contentful-paint')[0]"
WIDER = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def site(still_site):
    """The address and the folder of a site without Python."""
    with live_page.served(still_site) as address:
        yield address, still_site


def names(folder):
    every = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.html"))
    return [name for name in every if "/lecture/" not in name] if WHOLE else FEW


@contextmanager
def opened(browser, address, **options):
    """A page whose scripts start no Python; tests of live pages do."""
    with live_page.profile(browser, address, **options) as context:
        context.route("**/start.js", lambda route: route.abort())
        yield context.new_page()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_are_clean_under_axe_and_fit_a_phone(browser, findings, site, scheme):
    address, folder = site
    wrong = []
    with opened(browser, address, viewport=live_page.PHONE, color_scheme=scheme) as page:
        for name in names(folder):
            page.goto(address + name)
            wrong += [(name, each) for each in findings(page, "html")]
            wide = page.evaluate(WIDER)
            wrong += [(name, f"{wide} px wider than the screen")] if wide > 0 else []
    assert wrong == []


def test_without_a_script_the_text_is_there(browser, site):
    address, _ = site
    with opened(browser, address, java_script_enabled=False) as page:
        page.goto(address)
        assert page.locator(".move .peak").inner_text().startswith("Peak")
        assert not page.locator(".move input").is_visible()
        assert page.locator(".mountain.wide svg").is_visible()
        page.goto(address + "lessons/01_linear.html")
        assert page.locator(".cell svg").count() > 5


def test_the_slider_of_the_start_page_shows_a_state_of_the_view(browser, site):
    address, _ = site
    with opened(browser, address) as page:
        page.goto(address)
        slider = page.get_by_role("slider", name="Batch")
        slider.wait_for()
        for key, batch, before in (("ArrowRight", 32, 16), ("End", 64, 32), ("Home", 1, 64)):
            slider.press(key)
            state = mountain.states()[batch, before]
            assert page.locator(".peak").inner_text() == state.peak
            assert page.locator(".news").inner_text() == state.news
            assert page.locator(".move output").inner_text() == str(batch)
        assert page.locator(".mountain.wide title").first.text_content()


def test_the_moving_picture_can_be_stopped(page, site):
    address, _ = site
    page.goto(address)
    page.get_by_role("button", name="Stop the picture").click()
    shown = page.locator(".hero img").evaluate(
        "image => image.decode().then(() => image.currentSrc)"
    )
    assert "/assets/still/hero" in shown


def test_the_slider_works_in_a_page_that_is_opened_as_a_file(page, still_site):
    page.goto((still_site / "index.html").as_uri())
    slider = page.get_by_role("slider", name="Batch")
    slider.press("End")
    assert page.locator(".move output").inner_text() == "64"
    page.goto((still_site / "lessons" / "01_linear.html").as_uri())
    assert page.locator(".cell svg").count() > 5


def test_pages_follow_the_width(browser, site):
    address, _ = site
    with opened(browser, address) as page:
        page.goto(address + "lessons/02_network.html")
        assert page.locator("nav.contents .side").is_visible()
        page.set_viewport_size(live_page.PHONE)
        assert not page.locator("nav.contents .side").is_visible()
        assert page.locator("nav.contents summary").is_visible()


def test_the_content_is_there_within_a_second(browser, site):
    address, _ = site
    with opened(browser, address) as page:
        page.goto(address)  # the browser itself has started
        page.goto(address + "lessons/02_network.html")
        page.wait_for_function(f"{PAINTED} !== undefined")
        painted = page.evaluate(f"{PAINTED}.startTime")
        assert painted < 5_000  # 5 times what it may take on a quiet machine
