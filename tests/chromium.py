"""Chromium, a page of it and axe-core, for the tests of notebooks and of web pages."""

import os
import shutil

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
VIEWPORT = {"width": 1300, "height": 1000}
"""As wide as a laptop."""


@pytest.fixture(scope="session")
def chromium():
    """The path of a Chromium; without one the test is skipped, or fails where one is required."""
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        reason = "no Chromium found: install one, or set CHROMIUM to its path"
        (pytest.fail if os.environ.get("MEMLAB_REQUIRE_BROWSER") == "1" else pytest.skip)(reason)
    return path


@pytest.fixture(scope="session")
def browser(chromium):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def page(browser):
    """A fresh page; an uncaught error in its scripts fails the test."""
    context = browser.new_context(viewport=VIEWPORT)
    page, errors = context.new_page(), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    context.close()
    assert errors == []


@pytest.fixture
def findings():
    """`findings(page, css)` runs axe-core there and returns what is serious or critical."""
    from axe_playwright_python.sync_playwright import Axe

    def found(page, css):
        violations = Axe().run(page, context=css).response["violations"]
        return [
            f"{violation['id']}: {node['html'][:200]}"
            for violation in violations
            if violation["impact"] in ("serious", "critical")
            for node in violation["nodes"]
        ]

    return found
