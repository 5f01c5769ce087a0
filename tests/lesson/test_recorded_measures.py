"""Cards whose bytes no web page can measure: what was recorded, and that it is said."""

import pytest

from lessons.record_cards import COMMAND, MEASURES
from memlab.errors import AbsentInPageError
from memlab.lesson.card import Card
from memlab.lesson.card_question import topics
from memlab.lesson.content import lesson_04
from memlab.lesson.material import recorded_measures
from memlab.measure import recorded_figures

WHY = "a kernel for a GPU needs numba, which no web page has; do it in the lab on a computer."


def absent(*_):
    raise AbsentInPageError(WHY)


@pytest.mark.parametrize("card", MEASURES)
def test_the_recorded_bytes_are_those_that_are_measured(card):
    kept = recorded_figures.load(recorded_measures.file_of(card))
    assert {line.name: line.value for line in kept.result.lines} == MEASURES[card]()
    assert kept.command == COMMAND


def test_a_card_shows_recorded_bytes_where_none_can_be_measured_and_says_so(monkeypatch):
    monkeypatch.setattr(lesson_04, "measured_peaks", absent)
    told = Card(topics()["04.left"]).guess("tiles").reveal().text()
    assert "The peak falls from 9,352 B (conv1) to 2,696 B (relu1)" in told
    assert "The measured bytes are recorded (simulator of CUDA, 20" in told
    assert told.count(WHY) == 1


def test_where_it_is_measured_nothing_is_said_to_be_recorded():
    assert "recorded" not in Card(topics()["04.left"]).guess("none").text()


def test_a_card_of_which_nothing_is_recorded_says_what_is_absent():
    with pytest.raises(AbsentInPageError, match="no web page has"):
        recorded_measures.measured("04.tile", absent)
