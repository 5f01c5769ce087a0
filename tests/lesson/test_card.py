"""A card: locked guess, reveal, retry, and what it says at each of them."""

from fractions import Fraction

import pytest

from memlab import lesson
from memlab.errors import InputError
from memlab.lesson.card import Card
from memlab.lesson.question import Figure, Kind, Topic, Truth, topics


@pytest.fixture
def card():
    return Card(topics()["02.output"])


@pytest.mark.measures
def test_a_guess_is_locked_and_stays(card):
    card.guess("0.2 MB")
    with pytest.raises(InputError, match=r"This guess is locked. Run output\.reveal\(\)"):
        card.guess("6.4 MB")
    card.reveal()
    with pytest.raises(InputError, match="locked"):
        card.guess("6.4 MB")
    assert card.rounds[0].typed == "0.2 MB"
    assert card.bytes == 200_000
    assert "Exactly 32 times too small: one image? The batch has 32." in card.text()
    card.retry().guess("1 B").reveal()
    assert card.bytes == 200_000
    assert "guess 0.2 MB, truth 6,422,528 B" in card.text()


def test_nothing_is_computed_before_the_reveal():
    asked = []

    def told(numbers):
        asked.append(numbers)
        return Truth(Fraction(1))

    topic = Topic("09.x", Kind.AMOUNT, {}, lambda _: {}, told)
    Card(topic).guess("3 MB")
    assert asked == []


@pytest.mark.measures
def test_the_truth_stands_nowhere_before_the_reveal(card):
    assert "6,422,528" not in card.text()
    card.guess("1 MB")
    assert "6,422,528" not in card.text()
    assert "6,422,528 B = 6.423 MB (6.125 MiB)" in card.reveal().text()


@pytest.mark.measures
def test_a_reveal_without_a_guess_asks_for_one(card):
    with pytest.raises(InputError, match=r"Predict first: .* run output\.skip\(\)"):
        card.reveal()
    assert card.skip().reveal().now.verdict is None
    assert "your guess     none" in card.text()


@pytest.mark.measures
def test_an_unanswered_card_says_so_and_lets_the_notebook_go_on(card, capsys):
    assert card.answered() is False
    assert capsys.readouterr().out == (
        "Predict first: answer the card above, or run output.skip(). Then run this cell again.\n"
    )
    card.guess("1 MB")
    assert card.answered() is True
    card.reveal().retry()
    assert card.answered() is True
    assert capsys.readouterr().out == ""


@pytest.mark.measures
def test_the_same_guess_twice_is_one(card):
    card.guess("0.2 MB").reveal()
    assert card.guess("0.2 MB").reveal() is card
    assert len(card.rounds) == 1


@pytest.mark.measures
def test_every_retry_has_numbers_of_its_own(card, monkeypatch):
    monkeypatch.setenv("MEMLAB_SEED", "5")
    other = Card(topics()["02.resnet"])
    again = Card(topics()["02.halve"])
    for one in (card, other, again):
        for _ in range(4):
            one.skip().reveal().retry()
        numbers = [dict(turn.numbers) for turn in one.rounds]
        assert all(numbers.count(found) == 1 for found in numbers)
    drawn = [[dict(turn.numbers) for turn in one.rounds[1:]] for one in (other, again)]
    assert drawn[0] != drawn[1]


def test_a_ratio_is_no_amount_for_a_chart():
    assert Card(topics()["02.halve"]).guess(2).bytes is None


@pytest.mark.measures
def test_progress_is_kept_although_a_picture_fails(card, monkeypatch):
    kept = []
    monkeypatch.setattr("memlab.lesson.progress.answered", lambda *told: kept.append(told))
    card.guess("0.2 MB")
    card.watch(lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        card.reveal()
    assert kept == [("02.output", "0.2 MB", False)]


def test_skip_takes_nothing_back(card):
    card.guess("1 MB").skip()
    assert not card.now.skipped


@pytest.mark.measures
def test_a_retry_comes_after_the_reveal(card):
    with pytest.raises(InputError, match="Predict first"):
        card.retry()
    card.guess("1 MB")
    with pytest.raises(InputError, match="locked"):
        card.retry()
    card.reveal().retry()
    assert card.now.open
    assert card.now.numbers != card.rounds[0].numbers


def test_a_bad_guess_changes_nothing(card):
    with pytest.raises(InputError, match="is no amount of memory"):
        card.guess("6.4")
    assert card.now.open


def test_a_reveal_that_fails_leaves_the_guess_locked():
    def fails(numbers):
        raise InputError("needs 5 GB, free are 2 GB.")

    card = Card(Topic("09.x", Kind.AMOUNT, {}, lambda _: {}, fails)).guess("3 MB")
    with pytest.raises(InputError, match="needs 5 GB"):
        card.reveal()
    assert not card.now.open
    assert card.now.truth is None


@pytest.mark.measures
def test_who_watches_is_told_of_every_change(card):
    told = []
    card.watch(lambda: told.append(len(card.rounds)))
    card.guess("1 MB").reveal().retry()
    assert told == [1, 1, 2]


@pytest.mark.measures
def test_a_right_guess_in_the_other_unit_gets_a_note(card):
    text = card.guess("6.13 MB").reveal().text()
    assert "Right in MiB. You wrote 6.13 MB" in text


def test_a_choice_says_what_a_wrong_option_shows():
    card = Card(topics()["00.double"])
    with pytest.raises(InputError, match="unknown option 'duble'; did you mean 'double'"):
        card.guess("duble")
    with pytest.raises(InputError, match="a guess is one of"):
        card.guess(2)
    text = card.guess("double").reveal().text()
    assert "Does everything double?" in text
    assert (card.bytes, card.option) == (None, "double")
    assert Card(topics()["00.double"]).option is None


def test_a_ratio_of_0_is_said_plainly(monkeypatch):
    def nothing(numbers):
        return Truth(Fraction(0), (Figure("planned", Fraction(0)),))

    topic = topics()["02.halve"]
    card = Card(topic.__class__(**{**vars(topic), "truth": nothing}))
    monkeypatch.setattr("memlab.lesson.words._text", lambda turn, key, **values: key)
    assert "One of the two is 0." in card.guess(2).reveal().text()


def test_a_cell_that_runs_again_keeps_the_guess():
    first = lesson.predict("02.halve")
    assert lesson.predict("02.halve") is first
    assert lesson.predict("02.resnet") is not first
