"""Prediction cards and exercises in JupyterLab, with the keyboard alone."""

import pytest

CARD = ".memlab-card"
SLOW = """import time
from fractions import Fraction
from memlab import strings
from memlab.lesson.card import Card
from memlab.lesson.question import Kind, Topic, Truth

strings.table()["ask.00.slow.question"] = "How long?"
strings.table()["ask.00.slow.seen"] = "Long."

def truth(numbers):
    time.sleep(1.5)
    return Truth(Fraction(4), ())

card = Card(Topic("00.slow", Kind.AMOUNT, {}, lambda chance: {}, truth))
card"""

LATE = """import time
from memlab.views.cards import PredictionCard

act = PredictionCard.act

def late(self, name, value, dragging):
    time.sleep(0.4)
    act(self, name, value, dragging)

PredictionCard.act = late"""


@pytest.fixture
def shown(open_shared):
    """`shown(source, ...)` opens a notebook with these cells, of which the last shows a card."""

    def opened(*sources, opens=open_shared):
        page = opens(*sources)
        page.locator(CARD).first.wait_for()
        page.locator(f"{CARD} .ml-heading").first.click()  # the cell is selected, in command mode
        return page

    return opened


def card(name):
    """A card that nobody has answered: a lesson keeps its own."""
    topic = f"from memlab.lesson.question import topics\ncard = Card(topics()[{name!r}])"
    return f"from memlab.lesson.card import Card\n{topic}\ncard"


def keys(page, *pressed):
    for key in pressed:
        page.keyboard.press(key)


def enters(page):
    """Go on with Tab until the focus is in the card: buttons of JupyterLab come first."""
    for _ in range(5):
        page.keyboard.press("Tab")
        if page.evaluate(f"document.activeElement.closest('{CARD}') !== null"):
            return
    raise AssertionError("Tab does not reach the card")


def reaches(page, state):
    """Wait until the card is there, and see that the focus is still in it."""
    page.locator(f"{CARD}[data-state={state}]").wait_for()
    assert page.evaluate(f"document.activeElement.closest('{CARD}') !== null")


def focused(page):
    """What has the focus: the words on a button, or the type of another control."""
    return page.evaluate(
        "[document.activeElement].map(n => n.tagName === 'BUTTON' ? n.textContent : n.type)[0]"
    )


def says(page, words):
    page.locator(f"{CARD} [role=status]").get_by_text(words).wait_for()


def cells(page):
    """The notebook's cells, which keys in a card must not change."""
    return page.evaluate(
        """() => jupyterapp.shell.currentWidget.model.sharedModel.cells
            .map(cell => [cell.cell_type, cell.source])"""
    )


def test_an_amount_is_typed_locked_revealed_and_asked_again(shown, findings):
    page = shown(card("02.output"))
    before = cells(page)
    enters(page)
    assert focused(page) == "text"
    page.keyboard.type("xamdd 64")  # in command mode these cut, insert and turn cells
    keys(page, "Enter")
    says(page, "'xamdd 64' is no amount of memory")
    assert page.locator(f"{CARD} input").input_value() == "xamdd 64"
    keys(page, "Control+a")
    page.keyboard.type("0.2 MB")
    keys(page, "Enter")
    says(page, "0.2 MB are 200,000 B, not locked yet.")
    assert findings(page, CARD) == []
    keys(page, "Tab")
    assert focused(page) == "Lock the guess"
    keys(page, "Enter")
    reaches(page, "locked")
    says(page, "Your guess, locked: 0.2 MB")
    assert focused(page) == "Reveal"
    keys(page, "Space")
    reaches(page, "revealed")
    assert focused(page) == "Retry on new numbers"
    picture = page.locator(f"{CARD} .ml-picture")
    assert "Exactly 32 times too small: one image? The batch has 32." in picture.text_content()
    name = picture.get_attribute("aria-label")
    assert name.startswith("your guess: 0.2 MB; planned: 6,422,528 B")
    says(page, "32·64·28·28·4 B = 6,422,528 B.")
    assert findings(page, CARD) == []
    keys(page, "Enter")
    reaches(page, "open")
    assert focused(page) == "text"
    assert not picture.is_visible()
    assert "guess 0.2 MB" in page.locator(f"{CARD} .ml-after").inner_text()
    assert cells(page) == before


def test_a_ratio_is_set_on_the_slider_or_typed(shown, findings):
    page = shown(card("01.gradients"))
    enters(page)
    assert focused(page) == "range"
    slider, box = (
        page.locator(f"{CARD} input[type=range]"),
        page.locator(f"{CARD} input[type=text]"),
    )
    assert slider.get_attribute("aria-valuetext") == "not set yet"
    keys(page, "ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowLeft")
    page.locator(f"{CARD} [aria-valuetext='24 x']").wait_for()
    assert box.input_value() == "24"
    assert findings(page, CARD) == []
    keys(page, "Tab", "Control+a")
    page.keyboard.type("32")
    keys(page, "Tab", "Space")
    reaches(page, "locked")
    keys(page, "Enter")
    reaches(page, "revealed")
    assert "Exactly 32 times too large" in page.locator(f"{CARD} .ml-picture").text_content()


def test_an_option_is_chosen_or_the_question_skipped(shown, findings):
    page = shown(card("00.double"))
    before = cells(page)
    enters(page)
    assert focused(page) == "radio"
    group = page.get_by_role("group", name="Your guess")
    assert group.get_by_role("radio").count() == 4
    keys(page, "Space", "ArrowDown", "ArrowDown")
    assert group.get_by_label("It doubles.").is_checked()
    assert findings(page, CARD) == []
    keys(page, "Tab", "Enter")
    reaches(page, "locked")
    keys(page, "Enter")
    reaches(page, "revealed")
    picture = page.locator(f"{CARD} .ml-picture")
    assert "Does everything double?" in picture.text_content()
    assert findings(page, CARD) == []
    keys(page, "Enter")
    reaches(page, "open")
    assert focused(page) == "radio"
    assert group.locator(":checked").count() == 0
    keys(page, "Tab", "Enter")
    says(page, "Nothing is entered yet")
    keys(page, "Tab")
    assert focused(page) == "Skip"
    keys(page, "Enter")
    reaches(page, "skipped")
    keys(page, "Enter")
    reaches(page, "revealed")
    assert "your guess" not in picture.text_content()
    assert cells(page) == before


def test_a_late_answer_does_not_undo_a_newer_choice(shown, open_cells):
    page = shown(LATE, card("00.double"), opens=open_cells)  # what is late stays so in its kernel
    enters(page)
    keys(page, "Space", "ArrowDown", "ArrowDown")
    chosen = page.evaluate(
        """async (card) => {
            const seen = new Set(), end = performance.now() + 2000;
            while (performance.now() < end) {
                seen.add(document.querySelector(`${card} input:checked`)?.value);
                await new Promise(requestAnimationFrame);
            }
            return [...seen];
        }""",
        CARD,
    )
    assert len(chosen) == 1
    group = page.get_by_role("group", name="Your guess")
    assert group.get_by_label("It doubles.").is_checked()


def test_a_button_is_busy_until_its_answer_comes(shown):
    page = shown(SLOW)
    enters(page)
    page.keyboard.type("4 B")
    keys(page, "Tab", "Enter")
    reaches(page, "locked")
    keys(page, "Enter", "Enter")
    assert focused(page) == "Planning and running …"
    assert page.locator(f"{CARD} button").get_attribute("aria-disabled") == "true"
    reaches(page, "revealed")
    assert focused(page) == "Retry on new numbers"
    page.wait_for_timeout(300)
    assert page.locator(CARD).get_attribute("data-state") == "revealed"  # one press counted


def test_a_second_press_before_the_answer_does_nothing(shown):
    page = shown(card("00.sample"))
    enters(page)
    page.keyboard.type("16 kB")
    keys(page, "Tab")
    says(page, "16,000 B")
    page.get_by_role("button", name="Lock").evaluate("node => { node.click(); node.click(); }")
    reaches(page, "locked")
    page.wait_for_timeout(300)
    assert page.locator(f"{CARD} .ml-says").inner_text() == ""


def test_what_is_being_typed_stays_when_the_page_changes(shown):
    page = shown(card("02.output"))
    enters(page)
    page.keyboard.type("6.4")
    page.set_viewport_size({"width": 900, "height": 900})
    page.wait_for_timeout(500)  # the new width has been sent and answered
    page.keyboard.type(" MB")
    assert page.locator(f"{CARD} input").input_value() == "6.4 MB"


def test_shift_enter_still_runs_the_cell(shown):
    page = shown("runs = 0", card("02.output"), "runs += 1\nprint(runs)")
    page.locator(f"{CARD} input").focus()
    before = cells(page)
    keys(page, "Shift+Enter", "Shift+Enter")
    page.get_by_text("2", exact=True).wait_for()
    assert cells(page)[: len(before)] == before


def test_the_card_follows_another_cell(shown):
    page = shown(card("02.output"), "card.guess('6.4 MB').reveal()\nNone")
    assert page.locator(CARD).get_attribute("data-state") == "revealed"
    assert (
        "Right, as far as your digits reach." in page.locator(f"{CARD} .ml-picture").text_content()
    )


def test_drawn_texts_are_where_the_layout_says(shown):
    """The browser's own measure: no text leaves the picture, in a narrow page either."""
    page = shown(card("02.output") + ".guess('1.5 GB').reveal()")
    for width in (1300, 700):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(500)
        wide, texts = page.evaluate(
            f"""() => {{
                const svg = document.querySelector('{CARD} svg');
                const boxes = [...svg.querySelectorAll('text')].map(text => text.getBBox());
                return [svg.viewBox.baseVal.width, boxes.map(box => [box.x, box.x + box.width])];
            }}"""
        )
        assert all(left >= -0.5 and right <= wide + 0.5 for left, right in texts)
        assert wide <= page.locator(f"{CARD} .ml-picture").bounding_box()["width"] + 1


def test_an_exercise_shows_hints_below_its_task(shown, findings):
    source = "from memlab import lesson\nexercise = lesson.exercise('00.mebibytes')\nexercise"
    page = shown(source)
    enters(page)
    for degree in (1, 2, 3):
        assert focused(page) == f"Hint {degree} of 3"
        keys(page, "Enter")
        says(page, f"Hint {degree} of 3: ")
    page.get_by_role("button", name="Hint").wait_for(state="detached")
    assert focused(page) == "Solution"
    assert findings(page, CARD) == []


def test_a_click_chooses_the_stop_where_the_slider_stands(shown):
    page = shown(card("01.gradients"))
    slider = page.locator(f"{CARD} input[type=range]")
    box = slider.bounding_box()
    assert slider.get_attribute("aria-valuetext") == "not set yet"
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.locator(f"{CARD} [aria-valuetext='8 x']").wait_for()
    assert page.locator(f"{CARD} input[type=text]").input_value() == "8"
