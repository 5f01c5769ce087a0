"""A card of an instructor's own: its guess, diagnosis, answer and progress, and what is refused."""

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import memlab
from memlab import InputError, lesson, views
from memlab.lesson import notebook_cells, progress
from memlab.lesson.card_question import AnswerKind, topics
from memlab.lesson.notebook_cells import Cell
from memlab.lesson.own_card import STOPS
from memlab.lesson.phrases import holds
from tests.rows import every_row
from tests.strange import STRANGE, said

QUESTION = "A layer keeps {maps} maps of 1 MB. How many bytes are they?"
MEGABYTE = 10**6


def kept(maps):
    return maps * MEGABYTE


def one(maps):
    return MEGABYTE


@pytest.fixture
def asked():
    """The numbers on which an answer was looked for."""
    return []


@pytest.fixture
def amount(asked):
    """A card that asks for bytes."""

    def answer(maps):
        asked.append(maps)
        return kept(maps)

    def made(question=QUESTION, **more):
        given = {
            "answer": answer,
            "numbers": {"maps": 4},
            "draw": lambda chance: {"maps": chance.choice((8, 16))},
            "wrong": {
                one: "Is that one **map**? There are more.",
                "8 MB": "Are there gradients too?",
            },
            "finding": "Each of the {maps} maps has its own: `{answer}`.\n\nThey add up.",
            "name": "maps",
        }
        return lesson.card(question, **{**given, **more})

    return made


@pytest.fixture
def choice():
    def made(**more):
        given = {
            "options": {"x": "Its input.", "y": "Its output."},
            "answer": lambda: "y",
            "wrong": {"x": "Where is the output 0?"},
        }
        return lesson.card("What does backward of a ReLU read?", **{**given, **more})

    return made


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    """No card was asked before."""
    monkeypatch.setattr("memlab.lesson.own_card._CARDS", {})


# -- asked, diagnosed, revised, revealed ----------------------------------------------------------


def test_an_amount_is_guessed_diagnosed_revised_and_revealed(amount, asked):
    card = amount()
    assert "A layer keeps 4 maps" in card.text()
    assert asked == []
    card.guess("1 MB", because="one map")
    assert asked == [4]
    assert card.now.state == "diagnosed"
    assert "Too small. Is that one map? There are more." in card.text()
    assert "4,000,000" not in card.text()
    card.revise("4 MB")
    assert card.revealed
    assert "Exactly 4 times too small. Is that one map?" in card.text()
    assert "Each of the 4 maps has its own: '4.00 MB'.\nThey add up." in card.text()


def test_a_wrong_number_is_a_number_or_a_function_of_the_numbers(amount):
    assert "Are there gradients too?" in amount().guess("8 MB").text()
    card = amount()
    card.guess("1 MB").reveal().retry()
    maps = card.now.numbers["maps"]
    assert maps in (8, 16)
    assert f"A layer keeps {maps} maps" in card.text()
    assert "Is that one map?" in card.guess("1 MB").text()


def test_a_factor(asked):
    def shrinks():
        asked.append(1)
        return Fraction(5, 4)

    card = lesson.card("By what factor?", answer=shrinks, unit="x", wrong={2: "All of it?"})
    assert card.topic.kind is AnswerKind.TIMES
    assert "Too large. All of it?" in card.guess(2).text()
    assert "right answer   1.25 x" in card.revise("1.25").text()


@pytest.mark.parametrize(
    ("value", "shown"),
    [(2, "2 x"), (1.5, "1.5 x"), (np.float32(1.5), "1.5 x"), (np.int64(3), "3 x")],
)
def test_a_factor_of_any_type(value, shown):
    card = lesson.card("By what factor?", answer=lambda: value, unit="x")
    assert f"right answer  {shown}" in card.skip().reveal().text()


def test_a_choice(choice):
    card = choice()
    assert "  x: Its input.\n  y: Its output." in card.text()
    assert "This is not the answer. Where is the output 0?" in card.guess("Its input").text()
    assert "right answer   Its output\n" in card.revise("y").text()


def test_a_choice_whose_options_are_a_list_and_have_no_diagnosis():
    options = ["The input.", "The output."]
    card = lesson.card("Which one?", options=options, answer=lambda: "The output.")
    assert "\n  The input.\n  The output.\n" in card.text()
    assert "\nThis is not the answer.\nChange it once" in card.guess("the input").text()
    assert (
        card.revise("The output.").text().endswith("This is not the answer.\nYour revision: Right.")
    )


def test_texts_call_the_card_by_its_name(amount, choice):
    assert "maps.guess(" in amount().text()
    assert "card.guess(" in choice().text()
    assert "halve.guess(" in choice(name="week2.halve").text()


def test_a_card_without_numbers_keeps_braces_out_and_asks_once(choice):
    card = choice()
    card.guess("y")
    assert "retry" not in card.text()
    with pytest.raises(InputError, match="has one set of numbers"):
        card.retry()


def test_numbers_are_drawn_first_where_none_are_given(amount):
    first = amount(numbers=None).now.numbers["maps"]
    assert first in (8, 16)
    assert amount(numbers=None).now.numbers["maps"] == first


def test_a_diagnosis_waits_with_a_sentence_that_holds_the_answer(amount):
    diagnosis = "Are there gradients? Then it is twice as much."
    card = amount(wrong={"8 MB": diagnosis}).guess("8 MB")
    assert "Too large. Are there gradients?\n" in card.text()
    assert diagnosis in card.reveal().text()


def test_the_answer_is_stored_nowhere(amount, progress_file):
    amount().guess("1 MB").reveal()
    assert "4000000" not in progress_file.read_text(encoding="utf-8")
    assert not hasattr(amount().topic, "value")


def test_an_answer_that_cannot_be_found_leaves_the_guess_locked(amount):
    def answer(maps):
        raise InputError("needs 5 GB, free are 2 GB.")

    card = amount(answer=answer)
    with pytest.raises(InputError, match="needs 5 GB"):
        card.guess("1 MB")
    assert card.now.state == "locked"


@pytest.mark.measures
def test_the_truth_may_run_a_step():
    step = memlab.training_step(memlab.network("a", features=4).linear(3).cross_entropy(), "sgd")
    card = lesson.card("How many bytes?", answer=lambda: memlab.run(step, batch=2).peak)
    planned = memlab.plan(step).peak(2)
    assert card.guess(planned).revealed


# -- the picture under the answer -----------------------------------------------------------------


def shown(card):
    """What stands under the answer in a notebook."""
    view = views.prediction_card(card)
    return [output["text"].strip() for output in view.fill()]


def test_a_function_of_the_numbers_runs_again_on_new_ones(amount):
    card = amount()

    @card.then
    def picture(maps):
        print(maps, "maps")

    @card.then
    def remark():
        print("once")

    assert shown(card) == []
    card.guess("4 MB")
    assert shown(card) == ["4 maps", "once"]
    card.retry()
    assert shown(card) == []
    maps = card.now.numbers["maps"]
    card.skip().reveal()
    assert shown(card) == [f"{maps} maps", "once"]


def test_a_function_of_something_else_is_refused(amount):
    card = amount()
    sentence = "a function for then is called with maps, got picture(layer); change its parameters."
    with pytest.raises(InputError) as refused:

        @card.then
        def picture(layer):
            pass

    assert str(refused.value) == sentence
    assert card.follows == {}


def test_the_widget_shows_the_card_in_each_state(amount):
    card = amount()
    view = views.prediction_card(card)
    assert view.heading() == ("Predict.", "A layer keeps 4 maps of 1 MB. How many bytes are they?")
    card.guess("1 MB")
    assert view.draw(stored=False).state == "diagnosed"
    card.reveal()
    lines = [line.text for line in view.draw(stored=False).lines]
    assert lines[:2] == ["Each of the 4 maps has its own: `4.00 MB`.", "They add up."]
    assert "" not in lines
    drawn = view.page().svg()
    assert drawn.collisions() == []
    assert drawn.outside() == []


def test_the_slider_of_a_factor_stops_at_increasing_numbers():
    stops = [Fraction(str(stop)) for stop in STOPS]
    assert stops == sorted({*stops})
    view = views.prediction_card(lesson.card("By what factor?", answer=lambda: 2, unit="x"))
    view.on_event("guess", STOPS.index(3), False)
    view.on_event("lock", None, False)
    assert view.card.now.typed == "3"


# -- progress -------------------------------------------------------------------------------------


def test_progress_is_kept_under_a_name_of_its_own(amount, choice, progress_file):
    amount().guess("1 MB", because="one map").revise("4 MB")
    choice(name="week2.reads").guess("y")
    choice().guess("x").reveal()
    cards = json.loads(progress_file.read_text(encoding="utf-8"))["cards"]
    kept, named, unnamed = cards
    assert (kept, named) == ("own.maps", "week2.reads")
    assert unnamed.startswith("own.what_does_backward_of_a_")
    assert cards["own.maps"][0]["revision"] == "4 MB"
    lines = progress.text(progress.read(progress_file), progress_file).splitlines()
    outside = lines.index("Cards and exercises outside the lessons")
    assert lines[outside + 2].split() == ["maps", "1", "MB", "4", "MB", "right,", "revised", "1"]
    assert lines[lines.index("week2") + 2].split() == ["reads", "y", "none", "right", "1"]


def test_a_new_kernel_finds_the_guess(amount, progress_file, monkeypatch):
    amount().guess("1 MB").revise("4 MB")
    monkeypatch.setattr("memlab.lesson.own_card._CARDS", {})
    again = amount()
    assert again.now.pending
    assert "Exactly 4 times too small" in str(again)


def test_a_cell_that_runs_again_keeps_the_guess_without_a_file(amount, monkeypatch):
    monkeypatch.delenv("MEMLAB_PROGRESS", raising=False)
    amount().guess("1 MB", because="one map")
    again = amount()
    assert "Too small. Is that one map?" in str(again)
    assert again.now.because == "one map"
    again.revise("4 MB")
    assert str(amount()) == str(again)
    assert amount("How many bytes are {maps} maps?").now.open


def test_a_cell_that_runs_again_finds_the_answer_of_now(amount):
    amount().guess("1 MB")
    again = amount(answer=lambda maps: MEGABYTE, wrong={})
    assert again.recall().revealed


def test_a_question_without_a_name_has_the_same_one_again_and_another_question_another(choice):
    def name(question):
        return lesson.card(question, answer=lambda: 1).topic.name

    assert name("How many bytes?") == name("How  many\nbytes?")
    assert name("How many bytes are there in the first map?") != name(
        "How many bytes are there in the last map?"
    )
    assert name("多少字节") != name("多少")


def test_a_name_that_another_cell_has_is_refused(amount, monkeypatch):
    def runs(name):
        monkeypatch.setattr(notebook_cells, "running", lambda: Cell(name, 1))

    runs("a")
    amount()
    amount("How many bytes are {maps} maps?")  # its cell was changed
    runs("b")
    with pytest.raises(InputError, match="another cell has a card named 'maps'; give this one"):
        amount()
    amount("How many bytes are {maps} maps?")  # its cell was moved


def test_a_lesson_has_no_card_of_that_name(amount):
    amount()
    assert "own.maps" not in topics()
    with pytest.raises(InputError, match=r"unknown question 'own\.maps'"):
        lesson.predict("own.maps")


# -- what gives it away ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "texts",
    [
        {"question": "Its own output, or the input?"},
        {"options": {"x": "Its input.", "y": "The output, its  own output."}},
        {"wrong": {"x": "Is it *its own output*?"}},
    ],
)
def test_a_text_that_gives_the_answer_away_is_refused(texts):
    given: dict[str, Any] = {
        "question": "What does backward of a ReLU read?",
        "options": {"x": "The input.", "y": "The output."},
        "answer": lambda: "y",
        "wrong": {"x": "Where is the output 0?"},
        "finding": "It reads its own output.",
        "gives": ["its own output"],
    }
    lesson.card(**given)
    with pytest.raises(InputError, match="holds 'its own output', which 'gives' lists"):
        lesson.card(**{**given, **texts})


def test_a_phrase_is_whole_words_and_a_formula_has_any_spaces():
    assert holds("The k**2 copies", "k²")
    assert holds("3 * k", "3·k")
    assert not holds("halved", "half")
    assert not holds("a halfway house", "half")


# -- bad input ------------------------------------------------------------------------------------

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "question": ({"question": ""}, "question must be a text, got ''; write it in quotes."),
    "answer": ({"answer": 4}, "answer must be a function, got 4; try answer=my_function, with "
               "nothing in brackets behind it."),
    "parameters": ({"answer": lambda: 4},
                   "answer is called with maps, got <lambda>(); change its parameters."),
    "unit": ({"unit": "MB"}, "unknown unit 'MB'; did you mean 'B'? Known: B, x."),
    "options": ({"options": ["one"]}, "options must be 2 or more, got ['one']; try "
                "['the input', 'the output']."),
    "wrong": ({"wrong": ["8 MB"]}, "wrong must be a dictionary, got ['8 MB']; try "
              "{2: 'Does everything grow?'}."),
    "a wrong amount": ({"wrong": {"many": "?"}}, "'many' is no amount of memory; give a number and "
                       "its unit, such as 6.4 MB, 512 KiB or 96 B."),
    "a wrong function": ({"wrong": {lambda: 4: "?"}},
                         "wrong[<lambda>] is called with maps, got <lambda>(); change its "
                         "parameters."),
    "no diagnosis": ({"wrong": {"8 MB": None}},
                     "wrong['8 MB'] must be a text, got None; write it in quotes."),
    "numbers": ({"numbers": 4}, "numbers must be values by name, got 4; try {'batch': 8}."),
    "draw": ({"draw": 4}, "draw must be a function, got 4; try draw=my_function, with nothing in "
             "brackets behind it."),
    "draws of nothing": ({"draw": lambda: {"maps": 4}}, "draw is called with a random.Random, got "
                         "<lambda>(); try draw=lambda chance: {'batch': chance.choice((4, 8))}."),
    "draws nothing": ({"draw": lambda chance: None},
                      "what draw returns must be values by name, got None; try {'batch': 8}."),
    "draws others": ({"draw": lambda chance: {"batch": 8}},
                     "draw must return the numbers maps, got batch; give all of them."),
    "braces": ({"question": "{size} B?"}, "'{size} B?' names a value in braces that it does not "
               "have; it has maps. Write {{ and }} for braces that are shown."),
    "no number": ({"question": "How many bytes?"}, "draw gives new numbers, and the question names "
                  "none of them; write {maps} where its number belongs."),
    "gives": ({"gives": 4}, "gives must be a list, got 4; try ['twice as large']."),
    "finding": ({"finding": 4}, "finding must be a text, got 4; write it in quotes."),
    "name": ({"name": "02.maps"},
             "'02.maps' is no name for a card; try 'halve', or 'week2.halve'."),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_an_argument_that_is_none_is_refused_in_one_sentence(amount, case):
    given, sentence = REFUSED[case]
    with pytest.raises(InputError) as refused:
        amount(**given)
    assert str(refused.value) == sentence


def test_an_option_that_is_none_is_refused(choice):
    with pytest.raises(InputError, match="unknown option in wrong 'z'"):
        choice(wrong={"z": "Why?"})
    with pytest.raises(InputError, match="unknown option 'z'"):
        choice(answer=lambda: "z").guess("x")
    with pytest.raises(InputError, match="wrong has a diagnosis for every option"):
        choice(wrong={"x": "Why?", "y": "Why?"})


def test_a_diagnosis_of_the_right_answer_is_refused(amount, choice):
    """On the first numbers; on drawn ones it is left out."""
    with pytest.raises(InputError, match=r"wrong\['4 MB'\] is the right answer.* returns 4000000"):
        amount(wrong={"4 MB": "Sure?"}).guess("1 MB")
    with pytest.raises(InputError, match=r"wrong\[kept\] is the right answer"):
        amount(wrong={kept: "Sure?"}).guess("1 MB")
    with pytest.raises(InputError, match="wrong\\['y'\\] is the right answer"):
        choice(wrong={"y": "Sure?"}).guess("x")
    drawn = amount(wrong={"8 MB": "Sure?"}, draw=lambda chance: {"maps": 8})
    assert "Sure?" not in drawn.guess("1 MB").reveal().retry().guess("1 MB").text()


STOPS_REFUSED = {
    (2, 1): "stops must be 2 or more numbers that rise, got (2, 1); try (1, 1.5, 2, 4).",
    (2,): "stops must be 2 or more numbers that rise, got (2,); try (1, 1.5, 2, 4).",
    4: "stops must be a list, got 4; try [1, 1.5, 2, 4].",
    "far": "'far' is no number of times; give one such as 9 or 2.25.",
}


def test_the_slider_stops_where_the_author_says(amount):
    card = lesson.card("By what factor?", answer=lambda: 1.09, unit="x", stops=(1, 1.1, 1.5))
    assert card.topic.stops == ("1", "1.1", "1.5")
    assert "Right, rounded to the digits" in card.guess(1.09).text()
    stops: Any
    for stops, sentence in STOPS_REFUSED.items():
        with pytest.raises(InputError) as refused:
            lesson.card("By what factor?", answer=lambda: 2, unit="x", stops=stops)
        assert str(refused.value) == sentence
    with pytest.raises(InputError, match="give unit='x', or leave stops out"):
        amount(stops=(1, 2))


@pytest.mark.parametrize("value", [None, "4 MB", -1, float("nan"), float("inf"), True, [4]])
def test_an_answer_that_is_no_number_is_refused(amount, value):
    with pytest.raises(InputError, match="answer must return a number from 0 on, got"):
        amount(answer=lambda maps: value).guess("1 MB")


@every_row("given", STRANGE)
def test_any_argument_is_taken_or_refused_in_a_sentence(given):
    for name in ("question", "options", "unit", "wrong", "gives", "stops", "finding", "numbers",
                 "draw", "name", "answer"):  # fmt: skip
        values = {"question": "How many bytes?", "answer": lambda: 1, name: given}
        if name != "draw" or not callable(given):  # which raises what it likes
            said(lambda: lesson.card(**values))  # noqa: B023
