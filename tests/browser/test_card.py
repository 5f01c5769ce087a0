"""Prediction cards and exercises in JupyterLab, with the keyboard alone."""

import pytest

from memlab import strings

CARD = ".memlab-card"
OWN = """import time
from fractions import Fraction
from memlab import strings
from memlab.lesson.card import Card
from memlab.lesson.misconceptions import Mistake
from memlab.lesson.card_question import AnswerKind, Purpose, Question, RevealBar, Truth

strings.table().update({
    "ask.00.own.question": "How many bytes does it take?",
    "ask.00.own.seen": "It takes 6,422,528 B.",
    "ask.00.own.finding": "**Every image** has its own.\\n\\nSo the batch, `B`, counts.",
})

def truth(numbers):
    time.sleep(numbers["s"])
    value = Fraction(6422528)
    bars = (RevealBar("planned", value),)
    return Truth(value, bars, (Mistake("batch", value / 32, {"batch": 32}),))

def own(s=0, draw=lambda chance: {"s": 0.0}, part=Purpose.PREDICT):
    return Card(Question("00.own", AnswerKind.AMOUNT, {"s": s}, draw, truth, part=part))

"""
"""A question of its own, whose truth takes `s` seconds."""
SLOW = OWN + "card = own(1.5)\ncard"
FOLLOWS = (
    OWN
    + """from memlab import views
card = own()

@card.then
def show():
    print("It is measured.")
    time.sleep(1)
    return views.memory("mnist_cnn", networks=("mnist_cnn",), batch=8)

card"""
)

LATE = """import time
from memlab.course.cards import PredictionCard

on_event = PredictionCard.on_event

def late(self, name, value, dragging):
    time.sleep(0.4)
    on_event(self, name, value, dragging)

PredictionCard.on_event = late"""


@pytest.fixture
def shown(open_shared):
    """`shown(source, ...)` opens a notebook with these cells, of which the last shows a card."""

    def opened(*sources, opens=open_shared):
        page = opens(*sources)
        page.locator(CARD).first.wait_for()
        page.locator(f"{CARD} .ml-heading").first.click()  # the cell is selected, in command mode
        return page

    return opened


def own(given=""):
    """A card with a question of its own."""
    return f"{OWN}card = own({given})\ncard"


def card(name):
    """A card that nobody has answered: a lesson keeps its own."""
    topic = f"from memlab.lesson.card_question import topics\ncard = Card(topics()[{name!r}])"
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


def verdict(page):
    """The parts of the line of an answer."""
    return page.locator(f"{CARD} .ml-verdict > span").all_text_contents()


def cells(page):
    """The notebook's cells, which keys in a card must not change."""
    return page.evaluate(
        """() => jupyterapp.shell.currentWidget.model.sharedModel.cells
            .map(cell => [cell.cell_type, cell.source])"""
    )


def test_an_amount_is_typed_diagnosed_revised_and_asked_again(shown, findings):
    page = shown(own())
    before = cells(page)
    enters(page)
    assert focused(page) == "text"
    page.keyboard.type("xamdd 64")  # in command mode these cut, insert and turn cells
    keys(page, "Enter")
    says(page, "'xamdd 64' is no amount of memory")
    assert page.locator(f"{CARD} input").first.input_value() == "xamdd 64"
    keys(page, "Control+a")
    page.keyboard.type("0,2 MB")
    keys(page, "Enter")
    says(page, "0,2 MB is read as 200,000 B. It is not locked yet.")
    assert findings(page, CARD) == []
    keys(page, "Tab")
    page.keyboard.type("It is one image.")
    keys(page, "Tab")
    assert focused(page) == "Lock the guess"
    keys(page, "Enter")
    reaches(page, "diagnosed")
    assert verdict(page) == ["your guess 0.2 MB It is one image."]
    says(page, "Too small. Did you count one image only?")
    everything = page.locator(CARD).inner_text()
    assert not [leak for leak in ("6,4", "6.4", "32") if leak in everything]
    assert focused(page) == "text"  # for the revision
    assert findings(page, CARD) == []
    page.keyboard.type("0.4 MB")
    keys(page, "Tab")
    assert focused(page) == "Lock the revision"
    keys(page, "Space")
    reaches(page, "revealed")
    assert focused(page) == "Retry on new numbers"
    picture = page.locator(f"{CARD} .ml-picture")
    assert verdict(page) == [
        *("6.42 MB", "your guess 0.2 MB It is one image.", "your revision 0.4 MB"),
        "planned, not run",
    ]
    says(page, "Exactly 32 times too small. Did you count one image only? The batch has 32.")
    says(page, "Your revision: 16 times too small.")
    name = picture.get_attribute("aria-label")
    assert name.startswith("your guess: 0.2 MB; your revision: 0.4 MB; planned: 6,422,528 B")
    says(page, "It takes 6,422,528 B.")
    says(page, "So the batch, B, counts.")
    assert findings(page, CARD) == []
    keys(page, "Enter")
    reaches(page, "open")
    assert focused(page) == "text"
    assert not picture.is_visible()
    after = page.locator(f"{CARD} .ml-after").inner_text()
    assert "your guess was 0.2 MB" in after
    assert "So the batch, B, counts." in after
    assert cells(page) == before


def test_a_ratio_is_set_on_the_slider_or_typed(shown, findings):
    page = shown(card("01.gradients"))
    enters(page)
    assert focused(page) == "range"
    slider = page.locator(f"{CARD} input[type=range]")
    box = page.locator(f"{CARD} input[type=text]").first
    assert slider.get_attribute("aria-valuetext") == "not set yet"
    keys(page, "ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowLeft")
    page.locator(f"{CARD} [aria-valuetext='16 x']").wait_for()
    assert box.input_value() == "16"
    assert findings(page, CARD) == []
    keys(page, "Tab", "Control+a")
    page.keyboard.type("32")
    keys(page, "Tab", "Tab", "Space")
    reaches(page, "diagnosed")
    assert slider.get_attribute("aria-valuetext") == "not set yet"
    keys(page, "Tab", "Tab", "Tab")
    assert focused(page) == "Show the answer"
    keys(page, "Enter")
    reaches(page, "revealed")
    says(page, "Exactly 32 times too large")


def test_an_option_is_chosen_or_the_question_skipped(shown, findings):
    page = shown(card("00.double"))
    before = cells(page)
    enters(page)
    assert focused(page) == "radio"
    group = page.get_by_role("group", name="Your guess")
    keys(page, "Space", "ArrowDown", "ArrowDown", "ArrowDown")
    assert group.get_by_label("It doubles.").is_checked()
    assert findings(page, CARD) == []
    keys(page, "Tab", "Tab", "Enter")
    reaches(page, "diagnosed")
    assert group.locator(":checked").count() == 0
    assert focused(page) == "radio"
    keys(page, "Space", "Tab", "Enter")
    reaches(page, "revealed")
    says(page, strings.get("ask.00.double.wrong.double"))
    assert findings(page, CARD) == []
    keys(page, "Enter")
    reaches(page, "open")
    assert focused(page) == "radio"
    assert group.locator(":checked").count() == 0
    keys(page, "Tab", "Tab", "Enter")
    says(page, "Nothing is entered yet")
    keys(page, "Tab")
    assert focused(page) == "Skip"
    keys(page, "Enter")
    reaches(page, "skipped")
    keys(page, "Enter")
    reaches(page, "revealed")
    assert not [part for part in verdict(page) if "your guess" in part]
    assert cells(page) == before


def test_a_question_of_one_set_of_numbers_ends_with_its_answer(shown, findings):
    page = shown(own("draw=None, part=Purpose.CHANGE"))
    assert page.locator(f"{CARD} .ml-heading strong").inner_text() == "Change it."
    enters(page)
    page.keyboard.type("6.4 MB")
    keys(page, "Tab")
    assert focused(page) == "Check"
    keys(page, "Enter")
    reaches(page, "revealed")
    assert page.locator(f"{CARD} button").count() == 0
    assert findings(page, CARD) == []
    keys(page, "Escape", "ArrowUp")
    assert page.evaluate("document.activeElement.closest('.jp-Notebook') !== null")


def test_what_follows_comes_below_the_card_with_its_answer(shown):
    """Printed text and a live view, in the cell of the card; the view's slider moves it."""
    page = shown(FOLLOWS)
    view = page.locator(".memlab-view")
    enters(page)
    page.keyboard.type("0.2 MB")
    keys(page, "Tab", "Tab", "Enter")
    reaches(page, "diagnosed")
    assert page.get_by_text("It is measured.", exact=True).count() == 0
    keys(page, "Tab", "Tab")
    assert focused(page) == "Show the answer"
    keys(page, "Enter")
    reaches(page, "revealed")
    page.get_by_text("Planning and running …", exact=True).wait_for()  # that takes a second
    page.locator(f"{CARD}[aria-busy=true]").wait_for()
    assert view.count() == 0
    view.wait_for()
    page.locator(f"{CARD}:not([aria-busy])").wait_for()
    assert focused(page) == "Retry on new numbers"
    page.get_by_text("It is measured.", exact=True).wait_for()
    heights = [
        page.locator(css).first.bounding_box()["y"]
        for css in (".ml-truth", ".memlab-view", ".memlab-view svg")
    ]
    assert heights == sorted(heights)
    slider = view.locator("input[type=range]").first
    before, drawn = view.get_attribute("data-shown"), view.locator("svg").first.inner_html()
    slider.press("ArrowRight")
    page.wait_for_function(
        "was => document.querySelector('.memlab-view').dataset.shown !== was", arg=before
    )
    assert view.locator("svg").first.inner_html() != drawn
    assert view.count() == 1


def test_what_follows_comes_from_another_cell_too(shown):
    page = shown(FOLLOWS, "card.guess('0.2 MB').reveal()\nNone")
    page.get_by_text("It is measured.", exact=True).wait_for()
    assert page.locator(".memlab-view").count() == 1


def test_a_late_answer_does_not_undo_a_newer_choice(shown, open_cells):
    page = shown(LATE, card("00.double"), opens=open_cells)  # what is late stays so in its kernel
    enters(page)
    keys(page, "Space", "ArrowDown", "ArrowDown", "ArrowDown")
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
    keys(page, "Tab", "Tab", "Enter", "Enter")
    assert focused(page) == "Planning and running …"
    assert page.locator(f"{CARD} button").first.get_attribute("aria-disabled") == "true"
    reaches(page, "diagnosed")
    page.wait_for_timeout(300)
    assert page.locator(CARD).get_attribute("data-state") == "diagnosed"  # one press counted


def test_a_bar_follows_the_seconds_of_a_long_answer(shown):
    page = shown(SLOW.replace("part=part)", "part=part, seconds=3)"))
    enters(page)
    page.keyboard.type("4 B")
    keys(page, "Tab", "Tab", "Enter")
    bar = page.locator(f"{CARD} button progress")
    assert "about 3 seconds" in focused(page)
    assert bar.evaluate("node => node.max") == 3
    page.wait_for_function("() => document.querySelector('button progress').value > 0.4")
    reaches(page, "diagnosed")
    assert bar.count() == 0


def test_a_second_press_before_the_answer_does_nothing(shown):
    page = shown(own())
    enters(page)
    page.keyboard.type("16 kB")
    keys(page, "Tab")
    says(page, "16,000 B")
    page.get_by_role("button", name="Lock").evaluate("node => { node.click(); node.click(); }")
    page.locator(f"{CARD}[data-state=diagnosed]").wait_for()
    page.wait_for_timeout(300)
    assert page.locator(f"{CARD} .ml-says").inner_text() == ""


def test_what_is_being_typed_stays_when_the_page_changes(shown):
    page = shown(own())
    enters(page)
    page.keyboard.type("6.4")
    page.set_viewport_size({"width": 900, "height": 900})
    page.wait_for_timeout(500)  # the new width has been sent and answered
    page.keyboard.type(" MB")
    assert page.locator(f"{CARD} input").first.input_value() == "6.4 MB"


def test_shift_enter_still_runs_the_cell(shown):
    page = shown("runs = 0", own(), "runs += 1\nprint(runs)")
    page.locator(f"{CARD} input").first.focus()
    before = cells(page)
    keys(page, "Shift+Enter", "Shift+Enter")
    page.get_by_text("2", exact=True).wait_for()
    assert cells(page)[: len(before)] == before


def test_the_card_follows_another_cell(shown):
    page = shown(own(), "card.guess('6.4 MB').reveal()\nNone")
    assert page.locator(CARD).get_attribute("data-state") == "revealed"
    assert verdict(page)[:2] == ["6.42 MB", "your guess 6.4 MB"]


def test_a_finding_has_its_bold_words_and_its_code(shown):
    page = shown(own(), "card.guess('6.4 MB').reveal()\nNone")
    lines = page.locator(f"{CARD} .ml-lines")
    assert lines.locator("strong").all_text_contents() == ["Every image"]
    assert lines.locator("code").all_text_contents() == ["B"]
    assert lines.locator("p").all_text_contents()[1:] == [
        *("Every image has its own.", "So the batch, B, counts.")
    ]


def test_drawn_texts_are_where_the_layout_says(shown):
    """The browser's own measure: no text leaves the picture, in a narrow page either."""
    page = shown(own() + ".guess('1.5 GB', because='It is large.').revise('2 MB')")
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
    source = "from memlab import lesson\nexercise = lesson.exercise('00.images_that_fit')\nexercise"
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
    page.locator(f"{CARD} [aria-valuetext='6 x']").wait_for()
    assert page.locator(f"{CARD} input[type=text]").first.input_value() == "6"
