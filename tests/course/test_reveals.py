"""Pictures under the answers of cards: one for each question that has one, on any numbers."""

import random
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import pytest

from memlab.course import reveals
from memlab.lesson.card_question import AnswerKind, Attempt, Question, topics
from memlab.lesson.typed_guess import Guess
from memlab.pictures.live.view import View
from tests.pictures.pages import page_of
from tests.quick import apart

TALLEST = 640
"""Pixels of a picture of the stored width: with its controls it fills a laptop's screen."""
WIDE = 850
"""Pixels beside a finding."""
GUESS = {AnswerKind.AMOUNT: "3 GB", AnswerKind.TIMES: "3", AnswerKind.COUNT: "3"}
FRONT = {"06.state": 5}
"""Controls that stand in front, where they are more than 4: a format for each role."""


def names() -> list[str]:
    return [name for name in topics() if reveals.picture_of(name)]


def measures(name: str) -> bool:
    """Whether a picture runs a step, or takes seconds."""
    return name == "07.address" or topics()[name].seconds > 0


def test_every_picture_belongs_to_a_question():
    for module in iter_modules(reveals.__path__):
        import_module(f"{reveals.__name__}.{module.name}")
        own = module.name.removeprefix("lesson_")  # or "case", for a card of each lesson
        assert any(own in name.split(".") for name in reveals._PICTURES)
    assert reveals._PICTURES.keys() <= topics().keys()


def test_two_modules_have_no_picture_for_one_question(monkeypatch):
    monkeypatch.setattr(reveals, "_PICTURES", {})

    def first(turn: Attempt) -> None:
        return None

    def second(turn: Attempt) -> None:
        return None

    second.__module__ = "elsewhere"
    assert reveals.reveal("02.halve")(first) is first
    with pytest.raises(ValueError, match=r"two pictures belong to .02\.halve."):
        reveals.reveal("02.halve")(second)


def test_a_question_without_a_picture_has_none():
    assert reveals.picture_of("02.reads") is None
    assert reveals.picture_of("own.question") is None


def in_front(view: Any) -> set[str]:
    """The settings whose controls do not stand behind More; a view that stands still has none."""
    controls = view.controls() if isinstance(view, View) else []
    shown = {each.name.removesuffix("_number") for each in controls if each.place != "more"}
    return shown - {"start", "copy"}


def a_guess(question: Question) -> Guess | str:
    return question.read(question.options[0] if question.options else GUESS[question.kind])


@pytest.mark.parametrize("name", apart(names(), measures))
def test_a_picture_is_made_for_any_numbers(name):
    question = topics()[name]
    picture = reveals.picture_of(name)
    assert picture is not None
    drawn = [question.draw(random.Random(seed)) for seed in range(2)] if question.draw else []
    for numbers in (question.first, *drawn):
        view = picture(Attempt(question, numbers, guess=a_guess(question), revealed=True))
        page = page_of(view, WIDE)
        assert page.text().strip()
        svg = page.svg()
        assert (svg.collisions(), svg.outside()) == ([], [])
        assert len(in_front(view)) <= FRONT.get(name, 4)
        if numbers is question.first:
            assert view.page().svg().height <= TALLEST
