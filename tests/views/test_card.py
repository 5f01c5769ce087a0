"""Prediction cards and exercises as widgets and pictures, without a browser."""

import json
import re
from fractions import Fraction
from importlib import import_module

import pytest
from IPython.core.formatters import DisplayFormatter

import memlab
from memlab import lesson, strings, views, zoo
from memlab.devices import Room
from memlab.lesson import words
from memlab.lesson.card import Card
from memlab.lesson.question import Figure, Kind, Topic, Truth, topics
from memlab.lesson.task import tasks
from memlab.runtime import guard
from memlab.views.cards import WIDEST, prediction_card
from tests.quick import apart

TEXTS = {
    "question": "How much, of {n}?",
    "seen": "It was {n} and {hidden}.",
    "option.one": "The first.",
    "option.two": "The second.",
    "wrong.one": "Why not the second?",
}
HIDDEN = 987_654


@pytest.fixture
def asked():
    """The numbers on which a truth was computed."""
    return []


@pytest.fixture
def ask(monkeypatch, asked):
    """`ask(kind, truth)` makes a card."""
    for key, text in TEXTS.items():
        monkeypatch.setitem(strings.table(), f"ask.00.own.{key}", text)

    def made(kind, value=Fraction(HIDDEN), fails=0, **more):
        def truth(numbers):
            asked.append(numbers)
            if len(asked) <= fails:
                guard.check(memlab.plan(memlab.training_step(zoo.linear1())), 4, Room(0))
            known = Fraction(HIDDEN) if isinstance(value, str) else value
            figures = (Figure("planned", known), Figure("measured", known, "again"))
            return Truth(value, figures, seen={"hidden": HIDDEN})

        return Card(Topic("00.own", kind, {"n": 1}, lambda chance: {"n": 2}, truth, **more))

    return made


@pytest.fixture
def amount(ask):
    return ask(Kind.AMOUNT)


def times(ask):
    return ask(Kind.TIMES, Fraction(9, 4), stops=("0.25", "0.5", "1", "2", "4"))


def choice(ask):
    return ask(Kind.CHOICE, "two", options=("one", "two"))


def send(view, *events):
    view._receive(view, {"number": 1, "events": [dict(event) for event in events]}, [])
    return view.now_["shown"]


def event(name, value=None):
    return {"name": name, "value": value}


def control(view, name):
    return next(found for found in view.now_["layout"]["controls"] if found["name"] == name)


def names(view):
    return [found["name"] for found in view.now_["layout"]["controls"]]


def labels(card, width=WIDEST, alone=True):
    """The texts of the picture, which has no collision and nothing outside."""
    drawn = prediction_card(card).page(width, alone).svg()
    assert drawn.collisions() == []
    assert drawn.outside() == []
    return [label.content for label in drawn.labels]


def integers(text):
    return {int(n.replace(",", "")) for n in re.findall(r"(?<![\d.,])(\d[\d,]*) B\b", text)}


# -- the three states ---------------------------------------------------------------------------


def test_one_guess_then_the_run_then_both_then_again(amount, asked):
    view = views.prediction_card(amount)
    assert names(view) == ["guess", "lock", "skip"]
    assert view.now_["layout"]["heading"] == ["Predict.", "How much, of 1?"]
    assert send(view, event("guess", "0.2 MB"), event("lock"))["state"] == "locked"
    assert amount.now.typed == "0.2 MB"
    assert names(view) == [view.now_["layout"]["next"]] == ["reveal"]
    assert asked == []
    shown = send(view, event("reveal"))
    assert shown["state"] == "revealed"
    assert list(shown["lines"]) == [(f"It was 1 and {HIDDEN}.", False)]
    assert "your guess: 0.2 MB; planned: 987,654 B" in shown["says"]
    assert shown["says"].endswith("4.94 times too small.")
    assert view.now_["layout"]["name"].startswith("your guess: 0.2 MB; planned: 987,654 B")
    assert names(view) == [view.now_["layout"]["next"]] == ["retry"]
    shown = send(view, event("retry"))
    assert (shown["state"], shown["svg"]) == ("open", "")
    assert shown["says"] == view.now_["layout"]["heading"][1] == "How much, of 2?"
    assert view.now_["layout"]["next"] == "guess"
    assert control(view, "guess")["value"] == ""
    assert len(shown["after"]) == 1
    assert "0.2 MB" in shown["after"][0][0]
    assert asked == [{"n": 1}]


def test_an_open_card_knows_nothing_of_the_truth(amount, asked):
    view = views.prediction_card(amount)
    send(view, event("width", 700), event("guess", "3 kB"))
    for stage in ("open", "lock", "skip"):
        bundle, _ = view._repr_mimebundle_() or ({}, {})
        assert "image/svg+xml" not in bundle, stage
        assert bundle["text/plain"] == amount.text() == str(view) == repr(view)
        assert str(HIDDEN) not in json.dumps([bundle, view.now_]).replace(",", "")
        assert view.now_["shown"]["svg"] == ""
        send(view, event("lock"))
    assert asked == []


def test_a_skipped_card_has_no_bar_for_a_guess(amount):
    view = views.prediction_card(amount)
    assert list(send(view, event("skip"))["lines"]) == [("No guess.", False)]
    shown = send(view, event("reveal"))
    assert 'class="before"' not in shown["svg"]
    assert "your guess" not in labels(amount)
    assert "987,654 B = 987.654 kB (964.506 KiB)" in labels(amount)


def test_a_view_is_no_card_and_a_card_no_view(amount):
    assert views.prediction_card(amount).now_["layout"]["classes"] == "memlab-card"
    network = views.memory("mnist_cnn", free=False)
    assert network.now_["layout"]["classes"] == "memlab-view"


# -- what is entered ----------------------------------------------------------------------------


def test_a_malformed_guess_is_refused_and_stays_in_the_box(amount):
    view = views.prediction_card(amount)
    for events in ([event("guess", "6.4")], [event("lock")]):
        assert "'6.4' is no amount of memory" in send(view, *events)["error"]
        assert control(view, "guess")["value"] == "6.4"
        assert amount.now.open
    shown = send(view, event("guess", "6.4 MB"))
    assert (shown["error"], shown["status"]) == ("", "6.4 MB are 6,400,000 B, not locked yet.")


@pytest.mark.parametrize("kind", [Kind.AMOUNT, Kind.CHOICE])
def test_locking_nothing_is_refused(ask, kind):
    card = ask(kind, options=("one", "two") if kind is Kind.CHOICE else ())
    view = views.prediction_card(card)
    assert send(view, event("lock"))["error"].startswith("Nothing is entered yet")
    assert card.now.open


def test_a_run_that_does_not_fit_leaves_the_guess_locked(ask):
    card = ask(Kind.AMOUNT, fails=1)
    view = views.prediction_card(card)
    shown = send(view, event("guess", "1 MB"), event("lock"), event("reveal"))
    assert shown["error"].startswith("refused before anything was allocated")
    assert shown["state"] == "locked"
    assert names(view) == ["reveal"]
    assert send(view, event("reveal"))["state"] == "revealed"


def test_a_slider_over_stops_and_a_box_for_what_lies_between(ask):
    card = times(ask)
    view = views.prediction_card(card)
    slider = control(view, "guess")
    assert (slider["value"], slider["ends"]) == (2, ("0.25", "4"))
    assert slider["spoken"] == "not set yet"
    send(view, event("guess", 3))
    assert (control(view, "exact")["value"], control(view, "guess")["spoken"]) == ("2", "2 x")
    send(view, event("exact", "2.5"))
    slider = control(view, "guess")
    assert 3 < slider["value"] < 3.5
    assert slider["spoken"] == "2.5 x"
    for far, place in (("1000", 4), ("0.01", 0), ("0", 0), ("4", 4)):
        send(view, event("exact", far))
        assert control(view, "guess")["value"] == place
    assert send(view, event("exact", "many"))["error"].startswith("'many' is no number of times")
    assert control(view, "exact")["value"] == "many"
    assert control(view, "guess")["spoken"] == "not set yet"
    send(view, event("exact", "2.25"), event("lock"), event("reveal"))
    assert labels(card).count("2.25 x") == 3


def test_a_choice_marks_what_was_chosen_and_what_is_right(ask):
    card = choice(ask)
    view = views.prediction_card(card)
    options = [("one", "The first."), ("two", "The second.")]
    assert control(view, "guess")["options"] == tuple(options)
    send(view, event("guess", "one"), event("lock"))
    shown = send(view, event("reveal"))
    assert labels(card)[1:4] == [
        *("The first. · your guess", "Why not the second?", "The second. · right answer")
    ]
    assert "your guess: The first; right answer: The second; planned" in shown["says"]
    right = choice(ask).guess("two").reveal()
    assert labels(right)[2:4] == ["The second. · your guess, right answer", "Right."]


# -- the picture --------------------------------------------------------------------------------

GUESSES = {
    "00.sample": ("16 B", "1 TB"),
    "00.unit": ("fits", "fails"),
    "00.double": ("less", "double", "more"),
    "01.sign": ("grows",),
    "01.peak": ("0 B", "12 B"),
    "02.output": ("6.4 MB", "0.2 MB", "6.125 MiB", "1 B", "900 TB"),
    "02.halve": ("2", "1.09", "1000000", "0"),
}


RUNS = {"01.peak", "01.sign", "02.output"}
"""Those whose truth is measured: a step is run for it."""


@pytest.mark.parametrize("width", [480, 560, 820])
@pytest.mark.parametrize("name", apart(GUESSES, RUNS.__contains__))
def test_the_picture_shows_the_figures_of_the_text(name, width):
    for guess in GUESSES[name]:
        card = Card(topics()[name]).guess(guess).reveal()
        text, shown = card.text(), labels(card, width)
        assert set(labels(card, width, alone=False)) <= set(shown)
        assert integers(prediction_card(card).page().text()) == integers(text)
        for said in words.said(card.now):
            assert said in " ".join(shown)
        assert card.now.truth
        for figure in card.now.truth.figures:
            assert words.amount(figure.value, card.topic.kind) in shown


def test_a_bar_is_as_long_as_its_value(ask):
    card = ask(Kind.AMOUNT, Fraction(4_000_000)).guess("1 MB").reveal()
    drawn = prediction_card(card).page().svg()
    (hollow,) = [part for part in drawn.parts if 'class="before"' in part]
    (guess,) = map(float, re.findall(r' width="([\d.]+)"', hollow))
    filled = [re.search(r'd="M([\d.]+) [\d.]+H([\d.]+)', part) for part in drawn.parts]
    bars = [float(found[2]) - float(found[1]) for found in filled if found]
    assert bars == [pytest.approx(4 * guess, abs=0.1)] * 2


def test_the_same_card_is_stored_the_same(ask):
    one, other = (times(ask).guess(2).reveal() for _ in range(2))
    assert views.prediction_card(one).svg() == views.prediction_card(other).svg()


def test_a_stored_picture_stands_alone(amount):
    amount.guess("1 MB").reveal().retry().guess("2 MB").reveal()
    view = views.prediction_card(amount)
    bundle, _ = view._repr_mimebundle_() or ({}, {})
    svg = bundle["image/svg+xml"]
    for said in ("How much, of 2?", "It was 2", "your guess", "guess 1 MB", "2 MB"):
        assert said in svg
    live = send(view, event("width", 600))["svg"]
    assert 'viewBox="0 0 600' in live
    assert "It was" not in live
    assert view.svg() == svg


# -- in Python and in a notebook ----------------------------------------------------------------


def test_the_widget_follows_the_card(amount):
    view, sent = views.prediction_card(amount), []
    view.observe(lambda change: sent.append(change["new"]["shown"]["state"]), "now_")
    amount.guess("0.2 MB")
    amount.reveal()
    amount.retry()
    assert sent == ["locked", "revealed", "open"]
    send(view, event("guess", "1 MB"), event("lock"), event("reveal"))
    assert sent[3:] == ["revealed"]
    assert views.prediction_card(amount) is view


def test_a_notebook_shows_cards_and_exercises(monkeypatch, amount):
    formatter = DisplayFormatter()
    formatter.active_types = ["text/plain", "image/svg+xml"]
    shell = type("Shell", (), {"display_formatter": formatter})()
    monkeypatch.setattr("IPython.core.getipython.get_ipython", lambda: shell)
    memlab._show_in_notebooks()
    widget = "application/vnd.jupyter.widget-view+json"
    assert set(formatter.format(amount)[0]) == {widget, "text/plain"}
    assert formatter.format(amount)[0]["text/plain"] == amount.text()
    amount.skip().reveal()
    assert set(formatter.format(amount)[0]) == {widget, "text/plain", "image/svg+xml"}
    exercise = lesson.Exercise(tasks()["00.mebibytes"])
    data = formatter.format(exercise)[0]
    assert set(data) == {widget, "text/plain"}
    assert data["text/plain"] == exercise.text()


def test_an_exercise_gives_hints_and_a_solution_where_they_are_asked_for(monkeypatch):
    code = "def mebibytes(nbytes):\n    return 0"
    monkeypatch.setattr(import_module("memlab.lesson.exercise"), "solution_of", lambda task: code)
    exercise = lesson.Exercise(tasks()["00.mebibytes"])
    view = views.exercise_card(exercise)
    lead, rest = view.now_["layout"]["heading"]
    assert f"{lead} {rest}" == exercise.text()
    assert not view.now_["shown"]["lines"]
    for degree in (1, 2, 3):
        assert control(view, "hint")["label"] == f"Hint {degree} of 3"
        lines = send(view, event("hint"))["lines"]
        assert len(lines) == degree
        assert lines[-1][0].startswith(f"Hint {degree} of 3: ")
    assert names(view) == [view.now_["layout"]["next"]] == ["solution"]
    lines = send(view, event("solution"), event("solution"))["lines"]
    assert list(lines[3:]) == [(code, True)]
