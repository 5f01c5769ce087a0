"""Tools of a lesson: questions to answer before the truth is shown, exercises, hints, progress.

Example::

    from memlab import lesson

    halve = lesson.predict("02.halve")
    halve.guess(2, because="everything halves").revise("1.2").reveal()
    exercise = lesson.exercise("02.largest_batch")
    exercise.check(largest_batch)

``card`` and ``task`` make a card and an exercise of an instructor's own, in any notebook::

    own = lesson.card("How many bytes ...?", answer=planned_bytes, wrong={"4 MB": "One array?"})
    exercise = lesson.task("waiting", truth=waiting, arguments=cases, slips={one_side: "One side?"})
"""

from __future__ import annotations

from memlab.errors import InputError, one_option
from memlab.lesson import digits, progress
from memlab.lesson.card import Card
from memlab.lesson.card_question import Purpose, topics
from memlab.lesson.exercise import Exercise, exercise
from memlab.lesson.material.allocation import Allocation, measure
from memlab.lesson.material.recorded_models import model
from memlab.lesson.own_card import card
from memlab.lesson.own_task import task
from memlab.strings import gettext as _

_CARDS: dict[str, Card] = {}

__all__ = [
    "Allocation",
    "Card",
    "Exercise",
    "card",
    "change",
    "digits",
    "exercise",
    "measure",
    "model",
    "predict",
    "recall",
    "task",
]


def predict(name: str) -> Card:
    """Return the prediction card of that name, the same object at each call.

    A cell that runs again keeps the guess, and a new kernel finds it in the learner's progress
    file.

    Args:
        name: the lesson, a point, and the name of the question: ``"02.halve"``.

    Returns:
        The card; a notebook shows it as a widget with the question.

    Raises:
        InputError: there is no question of that name, or it is no prediction.

    >>> from memlab import lesson
    >>> lesson.predict("02.halve").name
    'halve'
    """
    return _card(Purpose.PREDICT, name)


def recall(name: str) -> Card:
    """Return the card of a question about an earlier lesson, the same object at each call.

    Args:
        name: the lesson, a point, and the name of the question: ``"02.reads"``.

    Returns:
        The card; a notebook shows it as a widget with the question.

    Raises:
        InputError: there is no question of that name, or it is of another kind.

    >>> from memlab import lesson
    >>> lesson.recall("02.reads").name
    'reads'
    """
    return _card(Purpose.RECALL, name)


def change(name: str) -> Card:
    """Return the card of a question about a change that the learner makes, the same object at each
    call.

    Args:
        name: the lesson, a point, and the name of the question: ``"01.gelu"``.

    Returns:
        The card; a notebook shows it as a widget with the question.

    Raises:
        InputError: there is no question of that name, or it is of another kind.

    >>> from memlab import lesson
    >>> lesson.change("01.gelu").name
    'gelu'
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
