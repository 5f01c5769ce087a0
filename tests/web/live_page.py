"""Pages that are served, opened, run and answered, for tests that drive them."""

import json
import re
import threading
from contextlib import contextmanager
from urllib.parse import urlsplit

from web import live
from web.pyodide import ROOT
from web.site import build, playground, serve
from web.site.places import places

START = 180_000
"""Milliseconds that Python, or an answer, may take on a busy machine."""
ASKS = re.compile(r"lesson\.(?:predict|recall|change)\(")
ANSWERED = """([card, state]) => !card.getAttribute("aria-busy") &&
    (card.dataset.state !== state || card.querySelector(".ml-error"))"""
IDLE = "document.body.dataset.python === 'ready'"
EVERY = "[...document.querySelectorAll('section.cell')].every((cell) => cell.dataset.fine)"
DONE = f"{IDLE} && {EVERY}"
LAPTOP, PHONE = {"width": 1366, "height": 768}, {"width": 390, "height": 844}


def site_of(folder, *lessons):
    """Write some notebooks' pages and the playground, with all that their Python loads."""
    known = places(extra=build.OWN)
    build.write(playground.page(), known, folder)
    for lesson in lessons:
        build.write(build.notebook_page(f"lessons/{lesson}.ipynb", known), known, folder)
    build.copy(folder)
    live.assemble(folder / "live")


@contextmanager
def served(folder):
    """The address of a folder on this machine."""
    with serve.server(folder, 0) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        try:
            yield f"http://{serve.HOST}:{running.server_port}/"
        finally:
            running.shutdown()


@contextmanager
def profile(browser, address, script="", **options):
    """A profile of a browser that may ask one address alone; in its pages a script runs first."""
    context = browser.new_context(**{"viewport": LAPTOP, **options})
    context.set_default_timeout(START)
    outside = []

    def refuse(route):
        outside.append(route.request.url)
        route.abort()

    here = urlsplit(address).netloc
    context.route(lambda url: urlsplit(url).netloc not in ("", here), refuse)
    context.add_init_script(script or "0")
    try:
        yield context
    finally:
        context.close()
    assert outside == []


@contextmanager
def opened(browser, address, script="", **options):
    """A page of a profile; an uncaught error in its scripts fails the test."""
    errors = []
    with profile(browser, address, script, **options) as context:
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(address)
        yield page
    assert errors == []


def notebook(lesson):
    """The code cells of a notebook."""
    cells = json.loads((ROOT / f"lessons/{lesson}.ipynb").read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def code(cell):
    return "".join(cell["source"])


def solution(lesson, name):
    """The code of a cell of a solved notebook."""
    (solved,) = (code(cell) for cell in notebook(f"solutions/{lesson}") if cell["id"] == name)
    return solved


def draws(cell):
    """Whether a cell of a notebook shows a widget: a card, an exercise, a view."""
    pictures = any("image/svg+xml" in output.get("data", {}) for output in cell["outputs"])
    return pictures or bool(ASKS.search(code(cell))) or ".show()" in code(cell)


def section(page, name):
    return page.locator(f"section.cell[data-cell='{name}']")


def run(page, name, text=None):
    """Run a cell, with other code if it is given, and wait until it has ended."""
    cell = section(page, name)
    if text is not None:
        cell.locator("textarea").fill(text)
    before = cell.get_attribute("data-count") or "0"
    cell.locator("textarea").press("Shift+Enter")
    page.wait_for_function(
        "([cell, before]) => Number(cell.dataset.count) > Number(before)",
        arg=[cell.element_handle(), before],
    )
    return cell


def run_all(page):
    """Run every cell, and wait until all have ended."""
    page.wait_for_function(f"{IDLE} || document.body.dataset.python === 'runs'")
    page.locator("[data-tool=run_all]").click()
    page.wait_for_function(DONE)


def guess(page, card):
    """Lock a guess at a card that is open: the first option, or a number."""
    field = card.locator(".ml-row input").first
    kind = field.get_attribute("type")
    if kind == "radio":
        field.check(force=True)
    elif kind == "range":
        field.press("ArrowRight")
    else:
        field.fill("100 B")
        field.press("Tab")
    press(page, card, first=True)


def press(page, card, first):
    """Press a button of a card, and wait for the answer."""
    state = card.get_attribute("data-state")
    buttons = card.locator(".ml-below button")
    (buttons.first if first else buttons.last).click()
    page.wait_for_function(ANSWERED, arg=[card.element_handle(), state])
    if card.get_attribute("data-state") == state:
        raise TimeoutError(card.inner_text())


def reveal(page, card):
    """Take a card from a guess to its answer; return what it says of both, or None where it
    refuses."""
    try:
        if card.get_attribute("data-state") == "open":
            guess(page, card)
        if card.get_attribute("data-state") != "revealed":
            press(page, card, first=False)
    except TimeoutError:
        return None
    return card.inner_text()


def reveal_all(page):
    """Take every question of a page to its answer."""
    for card in page.locator(".memlab-card[data-state]:not([data-state=''])").all():
        if reveal(page, card) is None:
            raise TimeoutError(card.inner_text())
