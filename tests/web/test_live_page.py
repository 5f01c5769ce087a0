"""Lessons that run in a web page: every cell, every widget, the cards and the exercises."""

import json
import re
from pathlib import Path

import pytest

from tests.web import live_page
from tests.web.conftest import WHOLE
from web.site import lessons

pytestmark = pytest.mark.measures

NAMES = [Path(lesson.file).stem for lesson in lessons.lessons()]
PARTLY = "04_cuda", "10_data_path"
"""Lessons whose page has a result that it cannot measure, and says so."""
ONE = "01_linear"
RECORDED = {"04.left": "The measured bytes are recorded (simulator of CUDA, "}
"""Cards that need a GPU, and what they say with their recorded result."""
VIEW = ".memlab-view"
slow = pytest.mark.skipif(not WHOLE, reason="every lesson in a page: MEMLAB_WEB=full")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The address of a site with the lessons."""
    folder = tmp_path_factory.mktemp("live_pages")
    live_page.site_of(folder, *(NAMES if WHOLE else [ONE]))
    with live_page.served(folder) as address:
        yield address


@pytest.fixture(scope="module")
def lesson(browser, site):
    """Lesson 01 after all of its cells have run."""
    with live_page.opened(browser, f"{site}lessons/{ONE}.html") as page:
        live_page.run_all(page)
        yield page


def not_drawn(page, name):
    """Yield the cells whose widget is missing, and those that failed, with their outputs."""
    for cell in live_page.notebook(name):
        section = live_page.section(page, cell["id"])
        if live_page.draws(cell) and not section.locator(".memlab").count():
            yield cell["id"], section.locator(".output").inner_text()
        if section.get_attribute("data-fine") == "false":
            yield cell["id"], section.locator(".output").inner_text()


def test_every_cell_draws_its_widget(lesson):
    assert list(not_drawn(lesson, ONE)) == []


def test_a_key_on_a_slider_is_answered_with_another_picture(lesson):
    view = lesson.locator(VIEW).first
    before, shown = view.locator("svg").first.inner_html(), view.get_attribute("data-shown")
    view.locator("input[type=range]").press("ArrowRight")
    lesson.wait_for_function(
        "([view, shown]) => view.dataset.shown !== shown", arg=[view.element_handle(), shown]
    )
    assert view.locator("input[type=number]").input_value() == "2"
    assert view.locator("svg").first.inner_html() != before


def test_a_link_restores_the_settings_of_a_view(lesson):
    view = lesson.locator(VIEW).first
    view.get_by_role("button", name="Copy link").click()
    said = view.get_by_text(re.compile("(Copied|Copy this link): ")).inner_text()
    address, query = said.partition(": ")[2].rsplit("?", 1)
    assert address == f"{lesson.url.partition('#')[0]}#memory.01"
    before = view.get_attribute("data-state")
    view.locator("input[type=range]").press("End")
    lesson.wait_for_function("([view, state]) => view.dataset.state !== state",
                             arg=[view.element_handle(), before])  # fmt: skip
    lesson.evaluate("(hash) => { location.hash = hash; }", f"#memory.01?{query}")
    lesson.wait_for_function("([view, state]) => view.dataset.state === state",
                             arg=[view.element_handle(), before])  # fmt: skip


def test_a_card_goes_from_a_guess_to_measured_bytes(lesson):
    card = live_page.section(lesson, "01-linear-08").locator(".memlab-card")
    told = live_page.reveal(lesson, card)
    assert "planned and measured" in told
    assert "28 B" in told
    slot = live_page.section(lesson, "01-linear-08").locator(f"{VIEW} svg")
    slot.first.wait_for()
    kept = json.loads(lesson.evaluate("localStorage['memlab.progress.json']"))
    assert "01.peak" in kept["cards"]


def test_an_exercise_is_checked_with_the_arrays_that_it_makes(lesson):
    wrong = live_page.run(lesson, "01-linear-29")
    assert "Complete its body" in wrong.inner_text()
    live_page.run(lesson, "01-linear-27", live_page.solution(ONE, "01-linear-28"))
    right = live_page.run(lesson, "01-linear-29")
    assert re.search(r"Agrees on \d+ fresh cases", right.inner_text())


def test_an_error_is_told_below_its_cell_and_the_next_cell_runs(lesson):
    failed = live_page.run(lesson, "01-linear-16", "nothing_of_that_name")
    assert "NameError: name 'nothing_of_that_name' is not defined" in failed.inner_text()
    magic = live_page.run(lesson, "01-linear-16", "%timeit 1")
    assert "%timeit is a command of IPython" in magic.inner_text()
    assert live_page.run(lesson, "01-linear-16", "1 + 1").locator("pre", has_text="2").count()


def test_on_a_phone_no_picture_is_wider_than_the_page(lesson):
    lesson.set_viewport_size(live_page.PHONE)
    lesson.wait_for_function("""() => [document.documentElement,
        ...document.querySelectorAll(".ml-picture")].every(
            (each) => each.scrollWidth <= each.clientWidth)""")


@slow
@pytest.mark.parametrize(("code", "said"), [
    ("import os; os._exit(1)", "Python has ended"),
    ("number = 0\nwhile True: print(number); number += 1", "Stopped"),
])  # fmt: skip
def test_python_that_has_ended_is_said_and_starts_again(browser, site, code, said):
    with live_page.opened(browser, f"{site}lessons/{ONE}.html") as page:
        live_page.run_all(page)
        cell = live_page.section(page, "01-linear-16")
        cell.locator("textarea").fill(code)
        cell.locator("textarea").press("Shift+Enter")
        if said == "Stopped":
            cell.get_by_text("a page shows no more").wait_for()
            page.locator("[data-tool=stop]").click()
        page.locator("#python", has_text=said).wait_for()
        page.wait_for_function(live_page.IDLE)
        page.evaluate("document.querySelector('[data-cell=\"01-linear-16\"]').dataset.count = 0")
        assert live_page.run(page, "01-linear-16", "1 + 1").locator("pre", has_text="2").count()


@slow
@pytest.mark.parametrize("name", NAMES)
def test_all_cells_cards_and_exercises_of_a_lesson(browser, site, name):
    with live_page.opened(browser, f"{site}lessons/{name}.html") as page:
        live_page.run_all(page)
        assert list(not_drawn(page, name)) == []
        assert list(unanswered(page, name)) == []
        assert list(unsolved(page, name)) == []
        assert bool(page.locator(".recorded").count()) == (name in PARTLY)


def solutions(name):
    """Yield the cells of a solved notebook that solve something, each with its code."""
    for cell in live_page.notebook(f"solutions/{name}"):
        if "solution" in cell["metadata"].get("tags", []):
            yield cell, live_page.code(cell)


def measured_cards(name):
    """Yield the names of the cards that a computer measures."""
    for cell, code in solutions(name):
        texts = ("".join(o.get("data", {}).get("text/plain", "")) for o in cell["outputs"])
        asked = re.search(r'lesson\.\w+\("([\w.]+)"\)', code)
        if asked and any("measured here" in text for text in texts):
            yield asked[1]


def unsolved(page, name):
    """Yield the exercises whose solution is not accepted, and what they say."""
    functions = {code.split("(")[0]: code for _, code in solutions(name) if code.startswith("def ")}
    for cell in live_page.notebook(name):
        if "stub" in cell["metadata"].get("tags", []):
            stub = live_page.code(cell).split("(")[0]
            live_page.run(page, cell["id"], functions[stub])
        if ".check(" in live_page.code(cell):
            told = live_page.run(page, cell["id"]).locator(".output").inner_text()
            if not told.startswith("Agrees"):
                yield cell["id"], told


def unanswered(page, name):
    """Yield the cards that are not revealed, or show planned bars where a computer measures, with
    their texts."""
    measured = set(measured_cards(name))
    for cell in live_page.notebook(name):
        asked = re.search(r'lesson\.(?:predict|recall|change)\("([\w.]+)"', live_page.code(cell))
        if asked:
            card = live_page.section(page, cell["id"]).locator(".memlab-card").first
            told = live_page.reveal(page, card)
            if told is None or (asked[1] in measured and "measured" not in told):
                yield cell["id"], told or card.inner_text()
            elif RECORDED.get(asked[1], "") not in told:
                yield cell["id"], told
