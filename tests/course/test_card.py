"""Prediction cards and exercises as widgets and pictures, without a browser."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from importlib import import_module
from itertools import cycle
from threading import Event
from typing import Any

import pytest
from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from IPython.display import display

import memlab
from memlab import lesson, notebook_hooks, strings, views, zoo
from memlab.course import reveals
from memlab.course.cards import WIDEST, prediction_card, unseen, working
from memlab.errors import InputError
from memlab.free_memory import Room
from memlab.lesson import sentences
from memlab.lesson.card import Card
from memlab.lesson.card_question import (
    AnswerKind,
    Attempt,
    Purpose,
    Question,
    RevealBar,
    Truth,
    topics,
)
from memlab.lesson.exercise_task import tasks
from memlab.lesson.marked_text import plain
from memlab.lesson.misconceptions import Mistake
from memlab.pictures.draw.svg import NARROWEST
from memlab.pictures.live import outputs
from memlab.pictures.live.outputs import REQUIRED
from memlab.runtime import memory_guard
from tests.pictures.shown import send
from tests.quick import apart

TEXTS = {
    "question": "How much, of {n}?",
    "seen": "It was {n} and {hidden}.",
    "finding": "First {hidden}.\n\nThen {n}.",
    "option.one": "The first.",
    "option.two": "The second.",
    "wrong.one": "Why not the second?",
}
HIDDEN = 987_654
WIDGET = "application/vnd.jupyter.widget-view+json"


class Told(CapturingDisplayPublisher):
    """As in a kernel: it is told which cell runs."""

    def set_parent(self, parent):
        self.parent_header = parent


@pytest.fixture
def asked():
    """The numbers on which a truth was computed."""
    return []


@pytest.fixture
def ask(monkeypatch, asked):
    """`ask(kind, truth)` makes a card."""
    for key, text in TEXTS.items():
        monkeypatch.setitem(strings.table(), f"ask.00.own.{key}", text)

    def made(kind, value=Fraction(HIDDEN), fails=0, draw=lambda chance: {"n": 2}, **more):
        def truth(numbers):
            asked.append(numbers)
            if len(asked) <= fails:
                memory_guard.check(memlab.plan(memlab.training_step(zoo.linear1())), 4, Room(0))
            known = Fraction(HIDDEN) if isinstance(value, str) else value
            figures = (RevealBar("planned", known), RevealBar("measured", known, "again"))
            causes = (Mistake("bits", known * 8),) if kind is AnswerKind.AMOUNT else ()
            return Truth(value, figures, causes, {"hidden": HIDDEN})

        return Card(Question("00.own", kind, {"n": 1}, draw, truth, **more))

    return made


@pytest.fixture
def amount(ask):
    return ask(AnswerKind.AMOUNT)


def times(ask):
    return ask(AnswerKind.TIMES, Fraction(9, 4), stops=("0.25", "0.5", "1", "2", "4"))


def count(ask):
    return ask(AnswerKind.COUNT, Fraction(49), stops=("1", "7", "49", "1024"))


def choice(ask):
    return ask(AnswerKind.CHOICE, "two", options=("one", "two"))


def event(name, value=None):
    return name, value


def control(view, name):
    return view.get_state()[f"_control_{name}"]


def names(view):
    return view.now_["layout"]["controls"]


def labels(card, width=WIDEST, alone=True):
    """The texts of the picture, which has no collision and nothing outside."""
    drawn = prediction_card(card).page(width, alone).svg()
    assert drawn.collisions() == []
    assert drawn.outside() == []
    return [label.content for label in drawn.labels]


def integers(text):
    return {int(n.replace(",", "")) for n in re.findall(r"(?<![\d.,])(\d[\d,]*) B\b", text)}


# -- the states ---------------------------------------------------------------------------------


def test_one_guess_then_its_diagnosis_then_a_revision_then_the_answer_then_again(amount, asked):
    view = views.prediction_card(amount)
    assert names(view) == ["guess", "because", "lock", "skip"]
    assert view.now_["layout"]["heading"] == ["Predict.", "How much, of 1?"]
    shown = send(view, event("guess", "7.9 MB"), event("because", "It grows."), event("lock"))
    assert (shown["state"], amount.now.typed, amount.now.because) == (
        *("diagnosed", "7.9 MB", "It grows."),
    )
    assert list(shown["verdict"]) == [("guess", "your guess", "7.9 MB", "It grows.")]
    assert [line.text for line in shown["lines"]] == [
        "Too large. Did you count bits instead of bytes?"
    ]
    assert names(view) == ["guess", "revise", "reveal"]
    assert view.now_["layout"]["next"] == "guess"
    assert control(view, "guess")["value"] == ""
    shown = send(view, event("guess", "0.80 MB"), event("revise"))
    assert shown["state"] == "revealed"
    said = [f"It was 1 and {HIDDEN}.", f"First {HIDDEN}.", "Then 1."]
    *lines, wrong, again = shown["lines"]
    assert lines == [(line, False, bool(at), False) for at, line in enumerate(said)]
    assert wrong.text.startswith("Exactly 8 times too large. Did you count bits instead of bytes?")
    assert (again.text, again.dim) == ("Your revision: 1.23 times too small.", True)
    assert list(shown["verdict"]) == [
        ("truth", "", "988 kB", ""),
        ("guess", "your guess", "7.9 MB", "It grows."),
        ("revision", "your revision", "0.80 MB", ""),
        ("origin", "", "planned and measured: the same to the byte", ""),
    ]
    name = "your guess: 7.9 MB; your revision: 0.80 MB; planned: 987,654 B"
    assert shown["says"].startswith(name)
    assert view.now_["layout"]["name"].startswith(name)
    assert names(view) == [view.now_["layout"]["next"]] == ["retry"]
    shown = send(view, event("retry"))
    assert (shown["state"], shown["svg"]) == ("open", "")
    assert shown["says"] == view.now_["layout"]["heading"][1] == "How much, of 2?"
    assert view.now_["layout"]["next"] == "guess"
    assert [control(view, name)["value"] for name in ("guess", "because")] == ["", ""]
    before, *finding = [line for line, *_ in shown["after"]]
    assert "7.9 MB" in before
    assert finding == said[1:]  # what explains it does not go
    assert asked == [{"n": 1}]


@pytest.mark.measures
@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("05.columns", "planned and measured: equal"),
        ("05.weights", "planned, not run"),
    ],
)
def test_only_an_amount_of_bytes_is_equal_to_the_byte(name, says):
    topic = topics()[name]
    turn = Attempt(topic, topic.first, truth=topic.truth(topic.first), revealed=True)
    assert sentences.origin(turn) == says


def test_an_open_card_knows_nothing_of_the_truth(amount, asked):
    view = views.prediction_card(amount)
    send(view, event("width", 700), event("guess", "3 kB"), event("because", "so"))
    for stage in ("open", "skipped"):
        holds_nothing(view, stage)
        send(view, event("skip"))
    assert asked == []


def holds_nothing(view, stage):
    bundle = dict((view._repr_mimebundle_() or ({}, {}))[0])
    assert bundle["text/plain"] == view.card.text() == str(view) == repr(view)
    sent = json.dumps([bundle, view.now_]).replace(",", "")
    sent = re.sub(r"[0-9a-f]{32}", "", sent)  # an identifier may hold any digits
    assert not [number for number in (str(HIDDEN), "988", "987.7") if number in sent]
    assert (view.now_["shown"]["svg"], view.now_["shown"]["state"]) == ("", stage)


@pytest.mark.parametrize("guess", ["7.9 MB", "1.10 MB"])
def test_a_diagnosis_holds_nothing_of_the_truth(amount, guess):
    view = views.prediction_card(amount)
    send(view, event("guess", guess), event("lock"))
    holds_nothing(view, "diagnosed")
    send(view, event("guess", "5 kB"))
    holds_nothing(view, "diagnosed")


def test_a_right_guess_needs_no_second_step(amount):
    shown = send(views.prediction_card(amount), event("guess", f"{HIDDEN} B"), event("lock"))
    assert shown["state"] == "revealed"


def test_the_answer_is_shown_without_a_revision(amount):
    view = views.prediction_card(amount)
    shown = send(view, event("guess", "3 kB"), event("lock"), event("reveal"))
    assert shown["state"] == "revealed"
    assert "your revision" not in shown["says"]


def test_a_revision_of_nothing_is_refused(amount):
    view = views.prediction_card(amount)
    shown = send(view, event("guess", "3 kB"), event("lock"), event("revise"))
    assert shown["error"].startswith("Nothing is entered yet")
    assert shown["state"] == "diagnosed"


def test_other_questions_take_no_reason_and_may_have_one_set_of_numbers(ask):
    view = views.prediction_card(ask(AnswerKind.AMOUNT, part=Purpose.RECALL, draw=None))
    assert names(view) == ["guess", "lock", "skip"]
    assert control(view, "lock")["label"] == "Check"
    send(view, event("guess", "3 kB"), event("lock"), event("guess", "5 kB"), event("revise"))
    assert names(view) == []
    assert view.now_["layout"]["next"] == ""


def test_a_finding_is_sent_with_its_marks_and_a_reason_as_it_was_typed(ask, monkeypatch):
    monkeypatch.setitem(strings.table(), "ask.00.own.finding", "**First** `n`.")
    view = views.prediction_card(
        ask(AnswerKind.AMOUNT).guess("7.9 MB", because="2**3 is `8`, 2**4 not")
    )
    assert view.now_["shown"]["verdict"][0][3] == "2**3 is `8`, 2**4 not"
    view.card.reveal()
    assert tuple(view.now_["shown"]["lines"][1]) == ("**First** `n`.", False, True, False)
    assert "First 'n'." in view.card.text()


def test_a_skipped_card_has_no_bar_for_a_guess(amount):
    view = views.prediction_card(amount)
    assert [line.text for line in send(view, event("skip"))["lines"]] == ["You skipped the guess."]
    shown = send(view, event("reveal"))
    assert 'class="before"' not in shown["svg"]
    assert "your guess" not in labels(amount)
    assert "987,654 B = 988 kB" in labels(amount)


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
    assert (shown["error"], shown["status"]) == (
        "",
        "6.4 MB is read as 6,400,000 B. It is not locked yet.",
    )


@pytest.mark.parametrize("kind", [AnswerKind.AMOUNT, AnswerKind.CHOICE])
def test_locking_nothing_is_refused(ask, kind):
    card = ask(kind, options=("one", "two") if kind is AnswerKind.CHOICE else ())
    view = views.prediction_card(card)
    assert send(view, event("lock"))["error"].startswith("Nothing is entered yet")
    assert card.now.open


def test_a_run_that_does_not_fit_leaves_the_guess_locked(ask):
    card = ask(AnswerKind.AMOUNT, fails=1)
    view = views.prediction_card(card)
    shown = send(view, event("guess", "1 MB"), event("lock"))
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
    send(view, event("exact", "2.25"), event("lock"))
    assert labels(card).count("2.25 x") == 3


def test_a_count_has_a_slider_and_no_word_for_times(ask):
    card = count(ask)
    view = views.prediction_card(card)
    slider = control(view, "guess")
    assert (slider["label"], slider["ends"]) == ("Your guess", ("1", "1024"))
    send(view, event("guess", 1))
    assert (control(view, "exact")["value"], control(view, "guess")["spoken"]) == ("7", "7")
    assert "is no whole number" in send(view, event("exact", "7.5"))["error"]
    assert not send(view, event("exact", "49"))["error"]
    assert control(view, "guess")["value"] == 2
    shown = send(view, event("exact", "12"), event("lock"), event("reveal"))
    assert [text for _, _, text, _ in shown["verdict"][:2]] == ["49", "12"]
    assert "x" not in {label[-1] for label in labels(card)}


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
    "00.double": ("little", "double", "more"),
    "01.gradients": ("1", "32"),
    "02.halve": ("2", "1.09", "1000000", "0"),
}


RUNS = {"01.gradients"}
"""Those whose truth is measured: a step is run for it."""


@pytest.mark.parametrize("name", apart(GUESSES, RUNS.__contains__))
def test_the_picture_shows_the_figures_of_the_text(name):
    for guess, width in zip(GUESSES[name], cycle((NARROWEST, 820))):
        card = Card(topics()[name]).guess(guess).reveal()
        text, shown = card.text(), labels(card, width)
        assert set(labels(card, width, alone=False)) <= set(shown)
        assert integers(prediction_card(card).page().text()) == integers(text)
        for said in sentences.said(card.now):
            assert said in " ".join(shown)
        assert card.now.truth
        for figure in card.now.truth.figures:
            assert sentences.amount(figure.value, card.topic.kind) in " ".join(shown)


def test_a_bar_is_as_long_as_its_value(ask):
    card = ask(AnswerKind.AMOUNT, Fraction(4_000_000)).guess("1 MB").reveal()
    drawn = prediction_card(card).page().svg()
    (hollow,) = [part for part in drawn.parts if 'class="before"' in part]
    (guess,) = map(float, re.findall(r' width="([\d.]+)"', hollow))
    filled = [re.search(r'd="M([\d.]+) [\d.]+H([\d.]+)', part) for part in drawn.parts]
    bars = [float(match[2]) - float(match[1]) for match in filled if match]
    assert bars == [pytest.approx(4 * guess, abs=0.1)] * 2


def test_the_same_card_is_stored_the_same(ask):
    one, other = (times(ask).guess(2).reveal() for _ in range(2))
    assert views.prediction_card(one).svg() == views.prediction_card(other).svg()


def test_a_stored_picture_stands_alone(amount):
    amount.guess("1 MB").reveal().retry().guess("2 MB").reveal()
    view = views.prediction_card(amount)
    bundle, _ = view._repr_mimebundle_() or ({}, {})
    svg = bundle["image/svg+xml"]
    for said in ("How much, of 2?", "It was 2", "your guess", "your guess was 1 MB", "2 MB"):
        assert said in svg
    assert "First" not in svg  # said with the first numbers
    live = send(view, event("width", 600))["svg"]
    assert 'viewBox="0 0 600' in live
    assert "It was" not in live
    assert view.svg() == svg


def test_figures_of_a_choice_are_bytes(ask):
    assert "987,654 B = 988 kB" in labels(choice(ask).guess("two"))


# -- in Python and in a notebook ----------------------------------------------------------------


def test_the_widget_follows_the_card(amount):
    view, sent = views.prediction_card(amount), []
    view.observe(lambda change: sent.append(change["new"]["shown"]["state"]), "now_")
    amount.guess("0.2 MB")
    amount.reveal()
    amount.retry()
    assert sent == ["diagnosed", "revealed", "open"]
    send(view, event("guess", "1 kB"), event("lock"), event("reveal"))
    assert sent[3:] == ["revealed"]
    assert views.prediction_card(amount) is view


def test_a_stored_card_holds_everything_that_was_said(amount):
    amount.guess("7.9 MB", because="It grows.").revise("5 MB")
    said = " ".join(labels(amount))
    for part in ("Predict. How much, of 1?", "Because: It grows.", "7.9 MB", "your revision"):
        assert part in said
    for part in sentences.said(amount.now):
        assert part in said
    assert f"First {HIDDEN}." in said


@pytest.fixture
def shell(monkeypatch):
    """A notebook's shell; ``shown`` is what its cells have shown."""
    shell: Any = InteractiveShell.instance()
    monkeypatch.setattr(shell.display_formatter, "active_types", ["text/plain", "image/svg+xml"])
    notebook_hooks.show_values()
    publisher, shell.shown = shell.display_pub, []
    shell.display_pub = Publisher(shell.shown)
    yield shell
    shell.display_pub = publisher
    InteractiveShell.clear_instance()


class Publisher(CapturingDisplayPublisher):
    """Keeps what is displayed, by the names of its types."""

    def __init__(self, shown):
        super().__init__()
        self.shown = shown

    def publish(self, data, metadata=None, *args, **more):
        self.shown.append(data)


def test_a_notebook_shows_cards_and_exercises(shell, amount):
    display(amount)
    (open_card,) = shell.shown
    assert set(open_card) == {WIDGET, "text/plain", "image/svg+xml"}
    assert "Run this cell to answer here." in open_card["image/svg+xml"]
    assert open_card["text/plain"] == amount.text()
    display(amount.skip().reveal())
    assert set(shell.shown[1]) == {WIDGET, "text/plain", "image/svg+xml"}
    exercise = lesson.Exercise(tasks()["00.images_that_fit"])
    data = shell.display_formatter.format(exercise)[0]
    assert set(data) == {WIDGET, "text/plain"}
    assert data["text/plain"] == exercise.text()


# -- what follows -------------------------------------------------------------------------------


@pytest.fixture
def follows(amount):
    """The card with a function that follows; a list of its calls."""
    calls = []

    @amount.then
    def show():
        calls.append(1)
        print("printed", end="\n")
        display({"text/plain": "displayed"}, raw=True)
        print("after")
        return views.memory("mnist_cnn", free=False)

    return calls


def test_a_cell_that_runs_beside_what_follows_keeps_its_own_outputs(monkeypatch, capsys):
    """In JupyterLab a card is answered in a thread of its own, and the cells below it run on."""
    begun, told, shell = Event(), Event(), InteractiveShell()
    shell.display_pub = Told()
    monkeypatch.setattr(outputs, "get_ipython", lambda: shell)

    def slow():
        print("below the card")
        begun.set()
        assert told.wait(10)

    with ThreadPoolExecutor(1) as other:
        kept = other.submit(outputs.outputs_of, slow)
        assert begun.wait(10)
        shell.display_pub.set_parent("a cell")  # what a kernel does before it runs one
        print("below the cell")
        told.set()
        assert [output["text"] for output in kept.result(10)] == ["below the card\n"]
    assert shell.display_pub.parent_header == "a cell"
    assert "below the cell" in capsys.readouterr().out


def kinds(outputs):
    return [output.get("text") or sorted(output["data"]) for output in outputs]


FOLLOWED = ["printed\n", ["text/plain"], "after\n", [WIDGET, "image/svg+xml", "text/plain"]]


def test_what_follows_fills_the_slot_once_the_card_is_revealed(shell, amount, follows):
    display(amount)
    view = views.prediction_card(amount)
    assert shell.shown[0][WIDGET] == view.container.get_view_spec()
    assert view.container.children == (view, view.slot)
    assert (view.slot.outputs, follows) == ((), [])
    send(view, event("guess", "1 kB"), event("lock"))
    assert (view.slot.outputs, follows) == ((), [])
    send(view, event("reveal"))
    assert kinds(view.slot.outputs) == FOLLOWED
    send(view, event("retry"))
    assert view.slot.outputs == ()
    send(view, event("guess", "1 kB"), event("lock"), event("reveal"))
    assert kinds(view.slot.outputs) == FOLLOWED
    assert follows == [1]
    assert len(shell.shown) == 1


def test_pages_without_python_have_what_follows_below_a_revealed_card(shell, amount, follows):
    display(amount.skip().reveal())
    card, *below = shell.shown
    assert sorted(card) == [WIDGET, "image/svg+xml", "text/plain"]
    assert [data["text/plain"] for data in below[:3]] == ["printed\n", "displayed", "after\n"]
    assert "image/svg+xml" in below[3]
    assert {data[WIDGET]["model_id"] for data in below} == {unseen().model_id}
    display(amount)
    assert follows == [1]  # shown twice, run once


def test_a_cell_that_runs_again_registers_anew_without_doubling(shell, amount, follows):
    amount.skip().reveal()

    @amount.then
    def show():
        print("another")

    display(amount)
    assert [data["text/plain"] for data in shell.shown[1:]] == ["another\n"]
    assert follows == []


def test_a_picture_is_made_for_each_attempt(shell, amount, monkeypatch):
    monkeypatch.setitem(reveals._PICTURES, "00.own", lambda turn: turn.numbers["n"])
    display(amount)
    view = views.prediction_card(amount)
    assert view.slot.outputs == ()
    send(view, event("skip"), event("reveal"))
    (first,) = view.slot.outputs
    send(view, event("retry"))
    assert view.slot.outputs == ()
    send(view, event("skip"), event("reveal"))
    (second,) = view.slot.outputs
    assert [shown["data"]["text/plain"] for shown in (first, second)] == ["1", "2"]


def test_the_answer_is_shown_before_what_follows_it_has_run(shell, amount):
    view, shown = views.prediction_card(amount), []

    @amount.then
    def slow():
        (waits,) = view.slot.outputs
        shown.append((view.now_["shown"]["state"], waits["data"]["text/plain"]))
        assert "<progress></progress>" in waits["data"]["text/html"]

    display(amount)
    send(view, event("guess", "1 kB"), event("lock"), event("reveal"))
    assert shown == [("revealed", "Planning and running …")]
    assert view.slot.outputs == ()


def test_a_picture_that_takes_long_shows_how_far_it_is(shell, amount):
    view, shown = views.prediction_card(amount), []

    @amount.then
    def slow():
        reveals.tell_progress("offsets", 2, 6)
        (waits,) = view.slot.outputs
        shown.append(waits["data"])

    display(amount)
    send(view, event("guess", "1 kB"), event("lock"), event("reveal"))
    ((html, text),) = [(data["text/html"], data["text/plain"]) for data in shown]
    assert text.startswith("Measuring offsets: 2 of 6 are done after 0 s")
    assert '<progress value="2" max="6"></progress>' in html
    assert view.slot.outputs == ()
    reveals.tell_progress("offsets", 3, 6)  # no card waits any more
    assert view.slot.outputs == ()


def test_what_takes_long_says_how_long_beforehand():
    for name, seconds in (("03.tile", 20), ("06.dark", 15)):
        card = Card(topics()[name])
        said = f"Planning and running: about {seconds} seconds …"
        lock = next(
            control for control in views.prediction_card(card).controls() if control.name == "lock"
        )
        assert (lock.busy, lock.seconds) == (said, seconds)
        assert working(card.topic)["data"]["text/plain"] == said
    short = views.prediction_card(Card(topics()["02.output"])).controls()
    assert "Planning and running …" in {control.busy for control in short}
    assert {control.seconds for control in short} == {0}


def test_what_follows_and_was_interrupted_leaves_nothing_and_runs_again(shell, amount):
    view, calls = views.prediction_card(amount), []

    @amount.then
    def slow():
        calls.append(1)
        if len(calls) == 1:
            raise KeyboardInterrupt
        print("done")

    display(amount)
    send(view, event("guess", "1 kB"), event("lock"))
    with pytest.raises(KeyboardInterrupt):
        amount.reveal()
    assert view.slot.outputs == ()
    display(amount)
    assert [data["text/plain"] for data in shell.shown[-1:]] == ["done\n"]


def test_the_slot_is_filled_from_another_cell(shell, amount, follows):
    display(amount)
    display(amount.guess("1 kB").reveal())
    assert kinds(views.prediction_card(amount).slot.outputs) == FOLLOWED
    assert follows == [1]


def test_a_function_that_fails_says_so_below_the_card(shell, amount):
    @amount.then
    def refused():
        raise InputError("batch must be at least 1, got 0; try 1.")

    @amount.then
    def broken():
        print("begun")
        return 1 / 0

    display(amount)
    view = views.prediction_card(amount)
    assert send(view, event("skip"), event("reveal"))["state"] == "revealed"
    *said, error = view.slot.outputs
    assert kinds(said) == ["batch must be at least 1, got 0; try 1.\n", "begun\n"]
    assert (error["output_type"], error["ename"]) == ("error", "ZeroDivisionError")
    assert "return 1 / 0" in "\n".join(error["traceback"])
    display(amount)
    assert "ZeroDivisionError: division by zero" in shell.shown[-1]["text/plain"]


def test_where_cards_are_required_an_error_below_one_stops_the_cell(shell, amount, monkeypatch):
    monkeypatch.setenv(REQUIRED, "1")

    @amount.then
    def refused():
        raise InputError("batch must be at least 1, got 0; try 1.")

    display(amount)
    told = f"refused, below the card {amount.topic.name}, raised InputError: batch must be"
    with pytest.raises(RuntimeError, match=told):
        amount.skip().reveal()


def test_without_anything_that_follows_there_is_no_slot(shell, amount):
    display(amount)
    (shown,) = shell.shown
    assert shown[WIDGET] == views.prediction_card(amount).get_view_spec()


def test_an_exercise_gives_hints_and_a_solution_where_they_are_asked_for(monkeypatch):
    code = "def images_that_fit(card, fixed, each):\n    return 0"
    monkeypatch.setattr(import_module("memlab.lesson.exercise"), "solution_of", lambda task: code)
    exercise = lesson.Exercise(tasks()["00.images_that_fit"])
    view = views.exercise_card(exercise)
    lead, rest = view.now_["layout"]["heading"]
    (how,) = (line for line, *_ in view.now_["shown"]["after"])
    assert plain(f"{lead} {rest}\n{how}") == exercise.text()
    assert how.startswith("To check it: exercise.check(images_that_fit).")
    assert not view.now_["shown"]["lines"]
    for degree in (1, 2, 3):
        assert control(view, "hint")["label"] == f"Hint {degree} of 3"
        lines = send(view, event("hint"))["lines"]
        assert len(lines) == degree
        assert lines[-1][0].startswith(f"Hint {degree} of 3: ")
    assert names(view) == [view.now_["layout"]["next"]] == ["solution"]
    lines = send(view, event("solution"), event("solution"))["lines"]
    assert list(lines[3:]) == [(code, True, False, False)]
