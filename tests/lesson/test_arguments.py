"""Every card, exercise and helper of the lessons, given values that nobody means."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memlab import lesson
from memlab.lesson import chains
from memlab.lesson import guess as guesses
from memlab.lesson.card import Card
from memlab.lesson.question import Kind, topics
from tests.strange import STRANGE, mostly_refused, name_of, said


@pytest.mark.parametrize("name", topics())
def test_every_card_takes_a_guess_or_says_one_sentence(name: str) -> None:
    refused, before = 0, Card(topics()[name]).text()
    for given in STRANGE:
        card = Card(topics()[name])
        if said(lambda: card.guess(given)):  # noqa: B023
            refused += 1
            assert card.now.open
        else:
            assert card.now.typed
            assert card.text() != before
    assert refused > len(STRANGE) / 2


def test_a_choice_is_one_of_the_options() -> None:
    card = Card(next(topic for topic in topics().values() if topic.kind is Kind.CHOICE))
    assert said(lambda: card.guess(10**5000)).endswith("got a number of thousands of digits.")


@pytest.mark.parametrize("given", STRANGE, ids=name_of)
def test_names(given: Any) -> None:
    assert said(lambda: lesson.predict(given))
    assert said(lambda: lesson.exercise(given))


@pytest.mark.parametrize("read", [chains.alike, chains.layers, guesses.amount, guesses.times])
def test_what_reads_an_answer(read: Callable[[Any], object]) -> None:
    mostly_refused(read)
