"""Every card, exercise and helper of the lessons, given values that nobody means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from memlab import lesson
from memlab.errors import InputError
from memlab.lesson import chains
from memlab.lesson import typed_guess as guesses
from memlab.lesson.card import Card
from memlab.lesson.card_question import AnswerKind, Question, Truth, topics
from tests.rows import every_row
from tests.strange import STRANGE, mostly_refused, said

NO_RUN = "nothing is run here."


def unrun(name: str) -> Question:
    """A question whose truth is not looked for: what is locked was taken as a guess."""

    def refuses(numbers: Any) -> Truth:
        raise InputError(NO_RUN)

    return replace(topics()[name], truth=refuses)


@pytest.mark.parametrize("name", topics())
def test_every_card_takes_a_guess_or_says_one_sentence(name: str) -> None:
    refused, before = 0, Card(unrun(name)).text()
    for given in STRANGE:
        card = Card(unrun(name))
        sentence = said(lambda: card.guess(given))  # noqa: B023
        if sentence == NO_RUN:
            assert card.now.typed
            assert card.text() != before
        else:
            refused += 1
            assert card.now.open
    assert refused > len(STRANGE) / 2


@every_row("given", STRANGE)
def test_a_reason_and_a_function_that_follows(given: Any) -> None:
    card = Card(unrun(next(name for name in topics() if topics()[name].kind is AnswerKind.TIMES)))
    assert said(lambda: card.guess(9, because=given))
    assert callable(given) or said(lambda: card.then(given))


def test_a_choice_is_one_of_the_options() -> None:
    card = Card(next(topic for topic in topics().values() if topic.kind is AnswerKind.CHOICE))
    assert said(lambda: card.guess(10**5000)).endswith("got a number of thousands of digits.")


@every_row("given", STRANGE)
def test_names(given: Any) -> None:
    assert said(lambda: lesson.predict(given))
    assert said(lambda: lesson.exercise(given))


@every_row("read", [chains.alike, chains.layers, guesses.amount, guesses.times])
def test_what_reads_an_answer(read: Callable[[Any], object]) -> None:
    mostly_refused(read)
