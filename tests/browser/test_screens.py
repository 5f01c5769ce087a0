"""A lesson on the screen of a laptop: what moves is on the first screen, and an answer is on one
screen with the picture that shows it."""

import pytest

from lessons import build
from memlab.course import reveals
from memlab.lesson.card_question import Purpose, topics

LESSONS = sorted(path.name for path in build.LESSONS.glob("[0-9]*.ipynb"))
SCREEN = {"width": 1366, "height": 768}
ASKED_BELOW = ("01", "02", "03", "04", "07", "08", "10", "11", "13")
"""Lessons whose first picture is asked about in the first line of the cell below it."""
LINE = 20
"""Pixels of a line of text."""
READ = 120
"""Pixels of a picture from its top: its title and its first sentence."""
FIRST = """() => {
    const panel = jupyterapp.shell.currentWidget.content.node, box = panel.getBoundingClientRect();
    const root = panel.querySelector(".memlab-card, .memlab-view");
    const rows = [...root.querySelectorAll("input, select, .ml-heading:not([hidden])")];
    const picture = root.querySelector(".ml-picture svg")?.getBoundingClientRect();
    const asked = panel.querySelectorAll(".jp-Cell")[2].querySelector(".jp-RenderedMarkdown p");
    return {
        bottom: box.bottom,
        control: rows[0].getBoundingClientRect().bottom,
        picture: picture ? (picture.top + picture.bottom) / 2 : 0,
        question: asked ? asked.getBoundingClientRect().top + LINE : Infinity,
    };
}""".replace("LINE", str(LINE))
CARDS = """() => [...document.querySelectorAll(".memlab-asked .memlab-card")].map((card, index) => {
    card.dataset.index = index;
    return card.querySelector(".ml-heading").textContent;
})"""
SEEN = """index => {
    const panel = jupyterapp.shell.currentWidget.content.node.getBoundingClientRect();
    const card = document.querySelector(`.memlab-card[data-index="${index}"]`);
    const asked = card.closest(".memlab-asked");
    const verdict = asked.querySelector(".ml-truth")?.getBoundingClientRect();
    const picture = asked.querySelector(".widget-output :is(svg, img)")?.getBoundingClientRect();
    if (!verdict || !picture) return null;
    return {top: verdict.top - panel.top, title: picture.top + READ - panel.bottom};
}""".replace("READ", str(READ))


def with_pictures(name):
    """The questions of a lesson whose answers have a picture."""
    return [
        topic.name
        for topic in topics().values()
        if topic.name[:2] == name[:2] and topic.part is Purpose.PREDICT
        and reveals.picture_of(topic.name)
    ]  # fmt: skip


@pytest.mark.parametrize("name", LESSONS)
def test_what_moves_is_on_the_first_screen(open_notebook, name):
    page = open_notebook(name)
    page.set_viewport_size(SCREEN)
    page.evaluate("() => jupyterapp.commands.execute('notebook:move-cursor-down')")
    page.evaluate("() => jupyterapp.commands.execute('notebook:run-cell')")
    page.locator(".memlab-card, .memlab-view").first.wait_for(timeout=30_000)
    parts = ["control", "picture", *["question"] * (name[:2] in ASKED_BELOW)]
    page.wait_for_timeout(500)
    for _ in range(60):  # a busy kernel draws late, and the cells below follow
        shown = page.evaluate(FIRST)
        below = [part for part in parts if shown[part] > shown["bottom"]]
        if not below:
            break
        page.wait_for_timeout(250)
    assert below == [], shown


@pytest.mark.parametrize("name", LESSONS)
def test_an_answer_and_its_picture_are_on_one_screen(open_lesson, lab, name):
    lab.set_viewport_size(SCREEN)
    page = open_lesson(name)
    page.set_viewport_size(SCREEN)
    cards = page.evaluate(CARDS)
    assert len(cards) >= len(with_pictures(name))
    for index in range(len(cards)):
        card = page.locator(f'.memlab-card[data-index="{index}"]')
        for state in ("skipped", "revealed"):
            card.locator(".ml-below button").last.click()
            card.page.locator(f'.memlab-card[data-index="{index}"][data-state={state}]').wait_for(
                timeout=120_000
            )
        page.wait_for_function(f"index => ({SEEN})(index) !== null", arg=index, timeout=120_000)
        page.wait_for_timeout(300)
        seen = page.evaluate(SEEN, index)
        assert seen["top"] >= 0, cards[index]
        assert seen["title"] <= 0, cards[index]
