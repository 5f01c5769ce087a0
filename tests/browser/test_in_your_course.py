"""The examples of docs/in-your-course.md in JupyterLab, as they stand there."""

from tests.browser.live import ROOT, state, wait
from tests.course_examples import cells

LINKED, CARD, EXERCISE, CHECK = cells()
ASKED = ".memlab-card"


def test_the_slider_of_ones_own_moves_the_view(open_shared, findings):
    page = open_shared(LINKED.source)
    before = state(page)
    page.locator(".widget-slider [role='slider']").press("ArrowRight")
    wait(page, "root.dataset.state.split('|')[3] !== value", before[3])
    page.locator(".widget-label", has_text="17 kernels, 8 images:").wait_for()
    assert findings(page, ROOT) == []


def test_a_card_of_ones_own_is_answered_with_its_picture_under_the_answer(open_shared, findings):
    page = open_shared(CARD.source)
    card = page.locator(ASKED)
    card.locator("input[type=text]").first.fill("2")
    card.get_by_role("button", name="Lock the guess").click()
    card.get_by_text("Does everything in memory grow with the batch?").first.wait_for()
    assert page.locator(ROOT).count() == 0
    card.locator("input[type=text]").first.fill("1.1")
    card.get_by_role("button", name="Lock the revision").click()
    page.locator(f"{ROOT} svg").first.wait_for()
    wait(page, "root.dataset.state.split('|')[1] === String(value)", 4)
    card.locator("strong", has_text="Only 1.09 times smaller.").wait_for()
    assert findings(page, ASKED) == []
    card.get_by_role("button", name="Retry on new numbers").click()
    page.locator(f"{ASKED}[data-state=open]").wait_for()
    assert page.locator(ROOT).count() == 0


def test_an_exercise_of_ones_own_is_shown_and_checked(open_shared, findings):
    page = open_shared(EXERCISE.source, CHECK.source)
    page.get_by_text(
        "What does Adam keep for each parameter, besides its gradient?"
    ).last.wait_for()
    card = page.locator(ASKED)
    assert card.get_by_role("button").all_inner_texts() == ["Hint 1 of 1"]
    card.get_by_role("button").click()
    card.get_by_text("How many arrays are as large as the parameters?").wait_for()
    assert findings(page, ASKED) == []
