"""Parts of a lesson: questions with a guess first, exercises, hints, progress.

>>> from memlab import lesson
>>> halve = lesson.predict("02.halve")
>>> halve.guess(2, because="everything halves").revise("1.2").reveal()
>>> exercise = lesson.exercise("02.largest_batch")
>>> exercise.check(largest_batch)
"""

from __future__ import annotations

from memlab.errors import InputError, one_option
from memlab.lesson import digits, progress
from memlab.lesson.card import Card
from memlab.lesson.card_question import Purpose, topics
from memlab.lesson.exercise import Exercise, exercise
from memlab.lesson.material.allocation import Allocation, measure
from memlab.lesson.material.recorded_models import model
from memlab.strings import gettext as _

_CARDS: dict[str, Card] = {}

__all__ = [
    "Allocation",
    "Card",
    "Exercise",
    "change",
    "digits",
    "exercise",
    "measure",
    "model",
    "predict",
    "recall",
]


def predict(name: str) -> Card:
    """The prediction card of that name, ``"02.halve"``: lesson, then question.

    It is the same card each time: a cell that runs again keeps the guess, and a new kernel finds
    it in the learner's progress.

    Raises:
        InputError: there is none.
    """
    return _card(Purpose.PREDICT, name)


def recall(name: str) -> Card:
    """A question about an earlier lesson, ``"07.maps"``: the same card each time.

    Raises:
        InputError: there is none.
    """
    return _card(Purpose.RECALL, name)


def change(name: str) -> Card:
    """The question about a change that a learner makes, ``"02.twice"``: the same card each time.

    Raises:
        InputError: there is none.
    """
    return _card(Purpose.CHANGE, name)


def _card(part: Purpose, name: str) -> Card:
    asked = one_option("question", name, topics())
    if asked.part is not part:
        raise InputError(_("{name} is no question for {part}; try lesson.{right}({name}).",
                           name=repr(name), part=part, right=asked.part))  # fmt: skip
    if name not in _CARDS:
        _CARDS[name] = Card(asked, progress.first(name))
    return _CARDS[name]
