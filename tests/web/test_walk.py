"""A learner in a live page: with a keyboard alone, as axe-core sees it, in Chinese, and
without a text that jumps."""

import re

import pytest

from tests.web import live_page
from tests.web.conftest import WHOLE
from web.site import playground

pytestmark = [
    pytest.mark.measures,
    pytest.mark.skipif(not WHOLE, reason="live pages in every way: MEMLAB_WEB=full"),
]

ONE = "01_linear"
SEEN = ("01_linear", "03_lowering", "08_recompute", "11_budget", "13_language_model")
"""Lessons that are looked at in both schemes."""
STEADY = ("02_network", "03_lowering", "08_recompute")
SHIFT = 0.05
"""Layout shift that a page may have until its first views are drawn."""
CARD, STUB, CHECK = "01-linear-08", "01-linear-27", "01-linear-29"
MOST = 900
"""Stops that a walk through a page may have."""
ALL = "[data-tool=run_all]"
HAN = re.compile("[\u4e00-\u9fff]")
ENGLISH = re.compile(r"\b[A-Z][a-z]+(?: [a-z]+){3,}")
"""The beginning of a sentence."""
STOP = """(until) => {
  const at = document.activeElement;
  if (at === document.body) return null;
  window.stops ??= new Map();
  const before = window.stops.get(at) ?? 0;
  window.stops.set(at, before + 1);
  const style = getComputedStyle(at);
  const outlined = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
  const box = at.getClientRects()[0];  // of a link its first line
  const [top, bottom] = [Math.max(box.top, 0), Math.min(box.bottom, innerHeight)];
  const seen = document.elementFromPoint((box.left + box.right) / 2, (top + bottom) / 2);
  const label = at.getAttribute("aria-label") ?? at.textContent.slice(0, 40);
  return {
    name: `${at.tagName} ${at.className} ${label}`, cell: at.closest(".cell")?.dataset.cell,
    editor: at.matches(".editor > textarea"), there: until !== "html" && at.matches(until),
    again: before > 0, drawn: outlined || style.boxShadow !== "none",
    inside: bottom > top && (at.contains(seen) || seen?.closest("label")?.contains(at)),
  };
}"""
NEAR = """() => document.body.dataset.python === "ready" &&
    [...document.querySelectorAll("section.cell[data-near]")].every((cell) => cell.dataset.fine)"""
WATCH = """window.shift = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) window.shift += entry.value;
}).observe({ type: "layout-shift", buffered: true });"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The address of a site with the lessons, one of them in Chinese, and the playground."""
    folder = tmp_path_factory.mktemp("walked_pages")
    live_page.site_of(folder, *SEEN, "02_network", f"zh/{ONE}")
    with live_page.served(folder) as address:
        yield address


def stops(page, until="html"):
    """Yield each stop of the Tab key until something is reached, or to the end of the page; an
    editor, in which the key indents, is left with Escape."""
    for _ in range(MOST):
        page.keyboard.press("Tab")
        stop = page.evaluate(STOP, until)
        if stop is None:
            return
        yield stop
        if stop["there"]:
            return
        if stop["editor"]:
            page.keyboard.press("Escape")
    raise AssertionError(f"the end is not reached: {stop}")


def tab_to(page, css):
    """Press Tab until something is reached."""
    assert list(stops(page, css))[-1]["there"], f"Tab does not reach {css}"


def in_cell(name, css):
    return f"section.cell[data-cell='{name}'] {css}"


def test_tab_goes_through_a_live_page_and_is_always_seen(browser, site):
    with live_page.opened(browser, f"{site}lessons/{ONE}.html") as page:
        page.wait_for_function(NEAR)
        seen = list(stops(page, ALL))
        page.keyboard.press("Enter")
        page.wait_for_function(live_page.DONE)
        seen += stops(page)
    assert "skip" in seen[0]["name"]
    assert [stop["name"] for stop in seen if stop["again"]] == []
    assert [stop["name"] for stop in seen if not stop["drawn"]] == []
    assert [stop["name"] for stop in seen if not stop["inside"]] == []
    assert {stop.get("cell") for stop in seen} > {cell["id"] for cell in live_page.notebook(ONE)}


def test_shift_and_tab_pass_an_editor_that_was_left(browser, site):
    with live_page.opened(browser, f"{site}lessons/{ONE}.html") as page:
        page.wait_for_function(NEAR)
        tab_to(page, in_cell(STUB, "textarea"))
        page.keyboard.press("Control+Home")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.value").startswith("    def ")
        page.keyboard.press("Shift+Tab")
        assert page.evaluate("document.activeElement.value").startswith("def ")
        page.keyboard.press("Escape")
        assert page.evaluate("document.activeElement.className") == "run"
        for _ in range(2):
            page.keyboard.press("Shift+Tab")
        assert not page.locator(in_cell(STUB, ":focus")).count()


def test_a_question_is_answered_and_an_exercise_solved_without_a_pointer(browser, site):
    with live_page.opened(browser, f"{site}lessons/{ONE}.html") as page:
        page.wait_for_function(NEAR)
        tab_to(page, ALL)
        page.keyboard.press("Enter")
        page.wait_for_function(live_page.DONE)
        tab_to(page, in_cell(CARD, ".ml-row input"))
        page.keyboard.press("Space")
        for state, button in (("diagnosed", "first-child"), ("revealed", "last-child")):
            tab_to(page, in_cell(CARD, f".ml-below button:{button}"))
            page.keyboard.press("Enter")
            page.wait_for_selector(in_cell(CARD, f".memlab-card[data-state={state}]"))
            assert page.locator(in_cell(CARD, ":focus")).count()
        tab_to(page, in_cell(STUB, "textarea"))
        page.keyboard.press("Control+a")
        page.keyboard.insert_text(live_page.solution(ONE, "01-linear-28"))
        page.keyboard.press("Shift+Enter")  # runs it, and goes to the next cell
        page.keyboard.press("Shift+Enter")
        page.locator(in_cell(CHECK, ".output"), has_text="fresh cases").wait_for()


def findings_of(page, findings):
    """Yield what axe-core says of a page in both schemes."""
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.wait_for_timeout(300)
        yield from ((scheme, each) for each in findings(page, "html"))


@pytest.mark.parametrize("name", SEEN)
def test_widgets_and_revealed_cards_are_clean_under_axe(browser, findings, site, name):
    with live_page.opened(browser, f"{site}lessons/{name}.html") as page:
        live_page.run_all(page)
        live_page.reveal_all(page)
        assert page.locator("[data-state=revealed]").count()
        assert list(findings_of(page, findings)) == []


def test_the_live_playground_is_clean_under_axe(browser, findings, site):
    with live_page.opened(browser, f"{site}{playground.PLACE}") as page:
        page.locator(".memlab-view svg").first.wait_for()
        assert list(findings_of(page, findings)) == []


def test_widgets_of_a_chinese_page_speak_chinese(browser, site):
    with live_page.opened(browser, f"{site}lessons/zh/{ONE}.html") as page:
        live_page.run_all(page)
        live_page.reveal_all(page)
        told = [each.inner_text() for each in page.locator(".output:has(.memlab)").all()]
    assert told
    assert [text for text in told if not HAN.search(text)] == []
    assert [found for text in told for found in ENGLISH.findall(text)] == []


@pytest.mark.parametrize("name", STEADY)
def test_no_text_jumps_when_a_view_takes_the_place_of_its_picture(browser, site, name):
    with live_page.opened(browser, f"{site}lessons/{name}.html", script=WATCH) as page:
        page.wait_for_function(NEAR)
        page.wait_for_timeout(500)
        assert page.evaluate("window.shift") < SHIFT
