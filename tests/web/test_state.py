"""State that a page keeps and a link restores, and what stays where a browser forbids something."""

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from html import unescape

import pytest

from memlab import views
from memlab.lesson import progress
from memlab.pictures.live import link
from tests.web import live_page
from tests.web.conftest import WHOLE
from web.runtime import notebook
from web.site import playground

pytestmark = pytest.mark.measures

slow = pytest.mark.skipif(not WHOLE, reason="Python starts several times: MEMLAB_WEB=full")
LESSON = "lessons/01_linear"
VIEW = ".memlab-view[data-state]"
ONE = 'network("one", features=784).linear(10).cross_entropy()'
NO_PYTHON = "**/live/**"

FORBIDDEN = """Object.defineProperty(window, "localStorage", {
    get() { throw new DOMException("denied", "SecurityError"); } });"""
FULL = """Storage.prototype.setItem = () => {
    throw new DOMException("full", "QuotaExceededError"); };"""
NO_WORKER = "window.Worker = class { constructor() { throw new Error('worker-src'); } };"


@pytest.fixture(scope="module")
def site(tmp_path_factory, still_site):
    """The address and the folder of a site; with Python, of two pages."""
    folder = still_site
    if WHOLE:
        folder = tmp_path_factory.mktemp("live_site")
        live_page.site_of(folder, LESSON.partition("/")[2])
    with live_page.served(folder) as address:
        yield address, folder


@contextmanager
def profile(browser, site, script="", python=True, **options):
    """A profile of a browser; without Python nothing of it loads."""
    with live_page.profile(browser, site[0], script, **options) as context:
        if not python:
            context.set_default_timeout(10_000)
            context.route(NO_PYTHON, lambda route: route.abort())
        yield context


def opened(context, address):
    page = context.new_page()
    page.goto(address)
    return page


def sentence(page):
    return page.locator("#python.failed").inner_text()


def edit(page, code, cell=0):
    page.locator(".editor textarea").nth(cell).fill(code)


# -- where something is forbidden ------------------------------------------------------------------


def test_from_a_file_pictures_and_a_sentence_stay(browser, site):
    with profile(browser, site, python=False) as context:
        page = opened(context, (site[1] / playground.PLACE).as_uri())
        assert "opened as a file" in sentence(page)
        assert page.locator(".output svg").is_visible()


@pytest.mark.parametrize(("script", "why"), [
    (NO_WORKER, "the browser blocks workers or WebAssembly"),
    ("", "does not run in this page"),
])  # fmt: skip
def test_without_python_pictures_and_a_sentence_stay(browser, site, script, why):
    with profile(browser, site, script, python=False) as context:
        page = opened(context, site[0] + playground.PLACE + "#playground?batch=8")
        said = sentence(page)
        assert why in said
        assert "Reload the page" in said
        assert page.get_by_text("this is the stored one").is_visible()  # not that of the link
        assert page.locator(".output svg").is_visible()


@slow
def test_without_webassembly_pictures_and_a_sentence_stay(browser, site):
    def strict(route):
        answer = route.fetch()
        policy = {"Content-Security-Policy": "script-src 'self'"}
        route.fulfill(response=answer, headers={**answer.headers, **policy})

    with profile(browser, site) as context:
        context.route("**/*.html", strict)
        context.route("**/*.js", strict)
        page = opened(context, site[0] + playground.PLACE)
        assert "the browser blocks workers or WebAssembly" in sentence(page)
        assert page.locator(".output svg").is_visible()


@pytest.mark.parametrize(("script", "why"), [(FORBIDDEN, "keeps nothing"), (FULL, "is full")])
def test_where_nothing_can_be_stored_a_sentence_says_so(browser, site, script, why):
    with profile(browser, site, script, python=False) as context:
        page = opened(context, f"{site[0]}{LESSON}.html")
        edit(page, "1 + 1")
        page.locator(".warning", has_text=why).wait_for()
        assert page.locator(".editor textarea").first.input_value() == "1 + 1"
        assert page.locator(".edited").first.is_visible()


def test_an_edited_cell_is_kept_until_it_is_reset(browser, site):
    with profile(browser, site, python=False) as context:
        page = opened(context, f"{site[0]}{LESSON}.html")
        field = page.locator(".editor textarea").first
        before = field.input_value()
        assert not page.locator(".edited").first.is_visible()
        edit(page, "mine = 1")
        page.reload()
        assert field.input_value() == "mine = 1"
        other = opened(context, f"{site[0]}{LESSON}.html")
        edit(other, "mine = 2", cell=1)
        page.get_by_role("button", name="Reset this cell").first.click()
        assert field.input_value() == before
        page.reload()
        assert field.input_value() == before
        assert page.locator(".editor textarea").nth(1).input_value() == "mine = 2"


# -- links -----------------------------------------------------------------------------------------


def drawn(page, state):
    """The picture in a state, without the names that each drawing has of its own."""
    page.locator(f".memlab-view[data-state='{state}']").wait_for()
    page.wait_for_function("!document.querySelector('[aria-busy]')")
    return page.locator(".ml-picture text").all_inner_texts()


@slow
def test_a_link_opens_the_same_picture_in_another_profile(browser, site, findings):
    with profile(browser, site, permissions=["clipboard-read", "clipboard-write"]) as context:
        page = opened(context, site[0] + playground.PLACE)
        page.get_by_label("Network", exact=True).select_option("written")
        field = page.get_by_label("Network, written by hand")
        field.fill(ONE.removesuffix(".cross_entropy()"))
        field.press("Control+Enter")
        page.get_by_text("the network has no loss yet").wait_for()
        field.fill(ONE)
        field.press("Control+Enter")
        page.locator("[data-state^='one|32']").wait_for()
        page.get_by_label("In place").check()
        page.locator("[data-state^='one|32']").wait_for()
        page.get_by_role("button", name="Copy link").press("Enter")
        page.get_by_text("Copied: ").wait_for()
        link = page.evaluate("navigator.clipboard.readText()")
        assert findings(page, "html") == []
        state = page.locator(VIEW).get_attribute("data-state")
        page.goto(site[0])  # nothing of the past
        page.goto(link)
        own = drawn(page, state)
    with profile(browser, site, color_scheme="dark") as context:
        other = opened(context, link)
        assert drawn(other, state) == own
        assert other.locator("main .note").count() == 0
        assert other.get_by_label("In place").is_checked()
        assert findings(other, "html") == []
        other.get_by_role("link", name="VGG-16 with Adam").click()
        other.locator("[data-state^='vgg16|8|adam']").wait_for()
        other.evaluate("location.hash = '#playground?batch=16&colour=red'")
        other.locator("[data-state^='resnet50|16']").wait_for()
        other.get_by_text("unknown setting 'colour'").wait_for()


@slow
def test_a_link_leads_to_the_view_of_a_cell(browser, site):
    with profile(browser, site, permissions=["clipboard-read", "clipboard-write"]) as context:
        page = opened(context, f"{site[0]}{LESSON}.html")
        page.locator(VIEW).first.wait_for()
        cell = page.locator("section.cell", has=page.locator(VIEW)).first
        cell.get_by_role("button", name="Copy link").first.click()
        cell.get_by_text("Copied: ").first.wait_for()
        link = page.evaluate("navigator.clipboard.readText()")
        number = cell.get_attribute("data-cell").split("-")[-1]
        assert f".{number}?" in link
        page.goto(site[0])
        page.goto(link.replace("batch=", "colour=red&batch="))
        cell.get_by_text("unknown setting 'colour'").wait_for()
        page.evaluate("location.hash = '#memory.99?batch=16'")
        page.get_by_text("The link leads to a cell").wait_for()


def test_the_playground_links_to_states_of_its_view():
    names, addresses = zip(*playground.examples(), strict=True)
    assert len(set(addresses)) == len(names) == len(playground.EXAMPLES)
    for address in addresses:
        view = views.playground()
        assert link.follow(view, unescape(address).partition("?")[2]) == []
        assert link.query_of(view) == unescape(address).partition("?")[2]


# -- progress --------------------------------------------------------------------------------------


def answer(page, number=0):
    """Skip a card of the lesson, and let its answer be shown."""
    page.locator("[data-tool=run_all]").click()
    card = page.locator(".memlab-card").nth(number)
    card.get_by_role("button", name="Skip").click()
    card.get_by_role("button", name="Reveal").click()


def kept(page, cards):
    """The stored progress, when it has so many cards."""
    page.wait_for_function(
        "(count) => Object.keys(JSON.parse(localStorage['memlab.progress.json'] ?? '{}').cards "
        "?? {}).length >= count", arg=cards)  # fmt: skip
    return page.evaluate("localStorage['memlab.progress.json']")


def test_python_in_a_page_merges_a_file_or_says_why_not(tmp_path, monkeypatch):
    told = []
    monkeypatch.setenv("MEMLAB_PROGRESS", str(tmp_path / "progress.json"))
    monkeypatch.setattr(notebook, "post", lambda kind, **content: told.append((kind, content)))
    other = {"at": "2026-01-01T10:00:00+00:00", "guess": "1", "right": True}
    record = {"schema": progress.SCHEMA, "seed": 3, "cards": {"02.a": [other]}, "exercises": {}}
    session = notebook.Session()
    progress.answered("02.a", "2", True)
    session.take_progress(json.dumps(record), "other.json")
    session.take_progress("{", "wrong.json")
    (kind, content), (refused, why) = told
    assert (kind, content["taken"], refused) == ("progress_json", "other.json", "refused")
    assert [turn["guess"] for turn in json.loads(content["text"])["cards"]["02.a"]] == ["1", "2"]
    assert why["why"] == "wrong.json was not added, because the file is not JSON."


@slow
def test_progress_survives_a_reload_and_is_what_memlab_reads(browser, site, findings, tmp_path):
    with profile(browser, site) as context:
        page = opened(context, f"{site[0]}{LESSON}.html")
        answer(page)
        text = kept(page, 1)
        page.reload()
        page.locator(".memlab-card").first.wait_for()
        assert kept(page, 1) == text
        menu = page.locator("summary", has_text="Progress")
        menu.press("Enter")
        assert findings(page, "header") == []
        page.get_by_role("button", name="Save progress.json").press("Escape")
        assert not page.locator(".kept .sheet").is_visible()
        menu.press("Enter")
        with page.expect_download() as download:
            page.get_by_role("button", name="Save progress.json").click()
        file = tmp_path / "progress.json"
        download.value.save_as(file)
    assert len(progress.read(file)["cards"]) == 1
    command = [sys.executable, "-m", "memlab", "progress"]
    own = {**os.environ, "MEMLAB_PROGRESS": str(file)}
    told = subprocess.run(command, capture_output=True, text=True, check=True, env=own).stdout
    assert next(iter(progress.read(file)["cards"])).partition(".")[2] in told
    with profile(browser, site) as context:
        page = opened(context, f"{site[0]}{LESSON}.html")
        page.locator(VIEW).first.wait_for()
        page.locator("summary", has_text="Progress").click()
        page.locator(".kept input").set_input_files(file)
        page.get_by_text("progress.json was added").wait_for()
        assert kept(page, 1) == text
        (wrong := tmp_path / "wrong.json").write_text('{"schema": "memlab.progress/9"}')
        page.locator(".kept input").set_input_files(wrong)
        page.get_by_text("wrong.json was not added, because the file").wait_for()
        assert kept(page, 1) == text


@slow
def test_two_tabs_keep_the_answers_of_both(browser, site):
    with profile(browser, site) as context:
        one, two = (opened(context, f"{site[0]}{LESSON}.html") for _ in range(2))
        answer(one, 0)
        answer(two, 1)
        assert len(json.loads(kept(one, 2))["cards"]) == 2
        one.reload()
        one.locator(".memlab-card").first.wait_for()
        assert len(json.loads(kept(two, 2))["cards"]) == 2


@slow
def test_where_nothing_can_be_stored_a_stopped_python_still_has_the_answers(browser, site):
    with profile(browser, site, FULL) as context:
        page = opened(context, f"{site[0]}{LESSON}.html")
        answer(page)
        page.locator(".warning", has_text="is full").wait_for()
        page.locator("summary", has_text="Progress").click()
        with page.expect_download() as download:
            page.get_by_role("button", name="Save progress.json").click()
        assert len(progress.read(download.value.path())["cards"]) == 1
