"""A card that progress has as answered, in a kernel that has just begun."""

import json
from fractions import Fraction

import pytest

from memlab import lesson, strings
from memlab.course.cards import PredictionCard
from memlab.errors import InputError
from memlab.lesson import progress
from memlab.lesson.card import Card
from memlab.lesson.card_question import AnswerKind, Question, RevealBar, Truth
from memlab.lesson.misconceptions import Mistake

NAME = "09.own"
TRUTH = Fraction(6_400_000)
TEXTS = {
    f"ask.{NAME}.question": "How many bytes, of {n}?",
    f"ask.{NAME}.seen": "It is {n}.",
    f"ask.{NAME}.finding": "Every one has its own.",
    f"ask.{NAME}.option.one": "One map.",
    f"ask.{NAME}.option.all": "All maps.",
    f"ask.{NAME}.wrong.one": "Who else is read later?",
    "cause.one_image": "one image? The batch has {batch}.",
}


@pytest.fixture(autouse=True)
def texts(monkeypatch):
    for key, text in TEXTS.items():
        monkeypatch.setitem(strings.table(), key, text)


@pytest.fixture(autouse=True)
def path(progress_file):
    """The file of a learner, in every test."""
    return progress_file


@pytest.fixture
def asked():
    """The numbers on which a truth was looked for."""
    return []


@pytest.fixture
def opened(asked):
    """`opened()` is the card in a new kernel."""

    def card(kind=AnswerKind.AMOUNT, value=TRUTH, fails=False):
        def truth(numbers):
            asked.append(dict(numbers))
            if fails:
                raise InputError("needs 5 GB, free are 2 GB.")
            causes = (Mistake("one_image", TRUTH / 32, {"batch": 32}),)
            if isinstance(value, str):
                return Truth(value)
            return Truth(value, (RevealBar("planned", value),), causes)

        options = ("one", "all") if kind is AnswerKind.CHOICE else ()
        topic = Question(NAME, kind, {"n": 5}, lambda chance: {"n": 7}, truth, options=options)
        return Card(topic, progress.first(NAME))

    return card


def shown(card):
    """Everything that a learner sees of a card once it is shown."""
    view = PredictionCard(card)
    view.recall()
    picture = view.draw(stored=True)
    return card.now.state, picture.svg, picture.text, picture.lines, view.controls()


DONE = {
    "right": lambda card: card.guess("6.4 MB", because="one map"),
    "revised": lambda card: card.guess("0.2 MB", because="one map").revise("6.4 MB"),
    "revised to another wrong one": lambda card: card.guess("0.2 MB").revise("3 MB"),
    "shown without a revision": lambda card: card.guess("0.2 MB").reveal(),
    "diagnosed": lambda card: card.guess("0.2 MB"),
    "skipped": lambda card: card.skip().reveal(),
}


@pytest.mark.parametrize("done", DONE)
def test_an_answered_card_opens_as_it_was(opened, done):
    before = DONE[done](opened())
    assert shown(opened()) == shown(before)


def test_a_choice_opens_as_it_was(opened):
    before = opened(AnswerKind.CHOICE, "all").guess("one").revise("all")
    after = opened(AnswerKind.CHOICE, "all")
    assert after.option == "one"
    assert shown(after) == shown(before)


def test_the_truth_is_found_when_the_card_is_shown_and_not_before(opened, asked):
    opened().guess("0.2 MB").revise("6.4 MB")
    asked.clear()
    card = opened()
    assert card.bytes == 200_000
    assert asked == []
    assert "6,400,000 B" in str(card)
    assert asked == [{"n": 5}]


def test_nothing_is_kept_a_second_time(opened, path):
    opened().guess("0.2 MB").reveal()
    before = path.read_bytes()
    opened().guess("0.2 MB").reveal()
    assert path.read_bytes() == before


@pytest.mark.parametrize("given", ["0.2 MB", "9 MB"])
def test_a_cell_that_guesses_and_reveals_runs_again(opened, given):
    opened().guess("0.2 MB").revise("6.4 MB")
    card = opened().guess(given).revise("6.4 MB").reveal()
    assert (card.now.typed, card.now.retyped, card.now.state) == ("0.2 MB", "6.4 MB", "revealed")


def test_a_diagnosed_card_is_revised_after_a_restart(opened):
    opened().guess("0.2 MB")
    assert opened().revise("6.4 MB").now.state == "revealed"
    kept = progress.first(NAME)
    assert kept is not None
    assert kept["revision"] == "6.4 MB"
    assert opened().reveal().now.retyped == "6.4 MB"


def test_the_first_numbers_are_those_that_count_and_others_are_asked_again(opened):
    opened().guess("0.2 MB").reveal().retry().guess("1 MB").reveal()
    card = opened()
    assert str(card).count("0.2 MB") == 1
    card.retry()
    assert (card.now.numbers, card.now.state) == ({"n": 7}, "open")
    assert card.guess("6.4 MB").now.state == "revealed"


def test_a_truth_that_cannot_be_found_again_is_said_and_tried_again(opened):
    opened().guess("0.2 MB").reveal()
    view = PredictionCard(opened(fails=True))
    view.recall()
    assert view.now_["shown"]["error"] == "needs 5 GB, free are 2 GB."
    assert [control.name for control in view.controls()] == ["reveal"]


def test_a_card_says_that_it_works_while_its_truth_is_found(opened, monkeypatch):
    opened().guess("0.2 MB").reveal()
    card, said = opened(), []
    view = PredictionCard(card)
    monkeypatch.setattr(card, "recall", lambda: said.append(view.now_["shown"]["status"]))
    view.recall()
    assert said == [strings.get("card.control.busy")]
    assert view.now_["shown"]["status"] == ""


# -- files of others ---------------------------------------------------------------------------


def write(path, *turns):
    kept = {"schema": progress.SCHEMA, "seed": 1, "cards": {NAME: list(turns)}, "exercises": {}}
    path.write_text(json.dumps(kept), encoding="utf-8")


def turn(guess, right, **more):
    return {"at": "2026-01-01T00:00:00+00:00", "guess": guess, "right": right, **more}


def test_an_older_file_does_not_say_whether_an_answer_was_shown(opened, path):
    write(path, turn("0.2 MB", False), turn("9 MB", False))
    assert opened().recall().now.state == "revealed"


@pytest.mark.parametrize("more", [{"guess": "two maps"}, {"guess": "1 MB", "revision": "?"}])
def test_an_answer_to_another_question_leaves_the_card_open(opened, path, more):
    write(path, turn(**{"right": False, **more}))
    assert opened().recall().now.state == "open"


def test_without_a_file_a_card_is_open(opened, path, monkeypatch):
    opened().guess("0.2 MB").reveal()
    monkeypatch.setenv("MEMLAB_PROGRESS", "")
    assert opened().now.state == "open"


def test_to_look_for_an_answer_makes_no_file(opened, path):
    opened()
    assert not path.exists()


def test_a_lesson_finds_what_was_answered(path, monkeypatch):
    monkeypatch.setattr(lesson, "_CARDS", {})
    lesson.recall("01.larger").skip().reveal()
    monkeypatch.setattr(lesson, "_CARDS", {})
    assert lesson.recall("01.larger").now.pending
    assert lesson.recall("01.larger") is lesson.recall("01.larger")
