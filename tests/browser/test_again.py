"""Cells that run twice, views side by side, kernels that restart: all cards and views still answer.

`make full` runs the cells of every lesson twice; `make test` those of lesson 00.
"""

import os
from pathlib import Path

import pytest

from lessons import build
from memlab.lesson.card_question import AnswerKind, Purpose, topics
from tests.browser.conftest import RUN_ALL

CARD, VIEW = ".memlab-card", ".memlab-view"
EVERY = "MEMLAB_EVERY_LESSON"
NAMES = sorted(path.name for path in Path(build.LESSONS).glob("[0-9]*.ipynb"))
LESSONS = NAMES if os.environ.get(EVERY) else NAMES[:1]
PATIENCE = 180_000
"""Milliseconds: some answers measure."""
TYPED = {AnswerKind.AMOUNT: "12.8 MB", AnswerKind.TIMES: "7", AnswerKind.COUNT: "7"}
FINISHED = """() => jupyterapp.shell.currentWidget.sessionContext.session.kernel.status === "idle"
    && jupyterapp.shell.currentWidget.model.sharedModel.cells
        .every(cell => cell.executionState !== "running")"""
RESTART = "() => jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()"
BOTH_MOVED = """was => [...document.querySelectorAll(".memlab-view")]
    .every(root => root.querySelector("input[type=range]").value !== was)"""
BROKEN = """import memlab
view = memlab.views.memory('mnist_cnn')
compose, failures = view.compose, ["no picture of it"]

def broken(scene):
    if failures and scene.previous:
        raise TypeError(failures.pop())
    return compose(scene)

view.compose = broken"""


def kinds():
    """A question of each kind and part."""
    first: dict[tuple[AnswerKind, Purpose], str] = {}
    for name, topic in sorted(topics().items()):
        first.setdefault((topic.kind, topic.part), name)
    return list(first.values())


def cell(name):
    """A cell that shows a card which nobody has answered: a lesson keeps its own."""
    return f"""from memlab.lesson.card import Card
from memlab.lesson.card_question import topics
cards = globals().setdefault("cards", {{}})
cards.setdefault({name!r}, Card(topics()[{name!r}]))"""


def runs_again(page):
    """Run all cells while nothing is answered."""
    page.evaluate(RUN_ALL)
    page.wait_for_function(FINISHED, timeout=PATIENCE)


def kind_of(card):
    """How a card is answered, by its controls."""
    if card.locator("input[type=radio]").count():
        return AnswerKind.CHOICE
    return AnswerKind.TIMES if card.locator("input[type=range]").count() else AnswerKind.AMOUNT


def answers(card, kind):
    """Enter a guess and check it."""
    if kind is AnswerKind.CHOICE:
        card.locator("input[type=radio]").first.check()
    else:
        card.locator("input[type=text]").first.fill(TYPED[kind])
        card.locator("input[type=text]").first.press("Tab")
    card.locator(".ml-below button").first.click()


def closes(page, card):
    """Wait until a card is no longer open."""
    page.wait_for_function("node => node.dataset.state !== 'open'", arg=card, timeout=PATIENCE)


def seen(card):
    """The state of a card, and all that it says."""
    return card.get_attribute("data-state"), card.inner_text()


@pytest.mark.parametrize("name", kinds())
def test_a_card_whose_cell_runs_twice_is_answered(open_shared, name):
    page = open_shared(cell(name))
    page.locator(CARD).wait_for()
    runs_again(page)
    card = page.locator(CARD)
    answers(card, topics()[name].kind)
    closes(page, card.element_handle())


@pytest.mark.parametrize("name", LESSONS)
def test_every_card_of_a_lesson_whose_cells_run_twice_is_answered(open_lesson, name):
    page = open_lesson(name)
    runs_again(page)
    cards = page.locator(f"{CARD}[data-state=open]")
    count = cards.count()
    assert count
    for _ in range(count):
        card = cards.first
        opened = card.element_handle()
        answers(card, kind_of(card))
        closes(page, opened)


def test_two_views_of_one_model_side_by_side_both_answer(open_shared):
    page = open_shared("import memlab\nview = memlab.views.memory('mnist_cnn')\nview", "view")
    first, second = page.locator(VIEW).all()
    for root in (first, second, first, second):
        slider = root.locator("input[type=range]").first
        before = slider.input_value()
        slider.press("ArrowRight")
        page.wait_for_function(BOTH_MOVED, arg=before)


def test_a_mistake_in_python_is_said_and_the_view_goes_on(open_cells):
    page = open_cells(BROKEN, "view")
    slider, says = page.locator("input[type=range]").first, page.locator(".ml-says")
    slider.press("ArrowRight")
    says.get_by_text("Stopped by TypeError: no picture of it").wait_for()
    before = page.locator(VIEW).get_attribute("data-shown")
    slider.press("ArrowRight")
    page.wait_for_function(
        f"was => document.querySelector('{VIEW}').dataset.shown !== was", arg=before
    )
    assert says.inner_text() == ""


def test_a_restarted_kernel_is_said_and_its_cell_runs_again(open_cells):
    page = open_cells(cell("00.double"))
    page.evaluate(RESTART)
    page.locator(".ml-says").get_by_text("Run this cell again").wait_for()
    answers(page.locator(CARD), AnswerKind.CHOICE)
    page.wait_for_timeout(600)  # as long as it takes to say that something works
    assert "Run this cell again" in page.locator(CARD).inner_text()
    assert page.locator(f"{CARD} [aria-disabled]").count() == 0
    runs_again(page)
    answers(page.locator(CARD), AnswerKind.CHOICE)
    closes(page, page.locator(CARD).element_handle())


def test_a_restarted_kernel_finds_answered_cards_answered(open_cells, tmp_path):
    names = kinds()
    asks = [f"lesson.{topics()[name].part}({name!r})" for name in names]
    kept = f"import os\nos.environ['MEMLAB_PROGRESS'] = {str(tmp_path / 'progress.json')!r}"
    page = open_cells(f"{kept}\nfrom memlab import lesson", *asks)
    for card, name in zip(page.locator(CARD).all(), names, strict=True):
        answers(card, topics()[name].kind)
        closes(page, card.element_handle())
    before = [seen(card) for card in page.locator(CARD).all()]
    page.evaluate(RESTART)
    page.locator(".ml-says").get_by_text("Run this cell again").first.wait_for()
    runs_again(page)
    page.wait_for_function("() => !document.body.innerText.includes('Planning and running')")
    after = [seen(card) for card in page.locator(CARD).all()]
    assert after == before
    assert {state for state, _ in after} <= {"diagnosed", "revealed"}
