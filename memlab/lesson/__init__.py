"""What turns a notebook into a lesson: predictions, exercises, hints, progress.

>>> from memlab import lesson
>>> output = lesson.predict("02.output")
>>> output.guess("2.5 MB").reveal()
>>> exercise = lesson.exercise("02.largest_batch")
>>> exercise.check(largest_batch)
"""

from __future__ import annotations

from memlab.errors import pick
from memlab.lesson import digits
from memlab.lesson.allocation import Allocation, measure
from memlab.lesson.card import Card
from memlab.lesson.exercise import Exercise, exercise
from memlab.lesson.question import topics

_CARDS: dict[str, Card] = {}

__all__ = ["Allocation", "Card", "Exercise", "digits", "exercise", "measure", "predict"]


def predict(name: str) -> Card:
    """The prediction card of that name, ``"02.output"``: lesson, then question.

    It is the same card each time: a cell that runs again keeps the guess.

    Raises:
        InputError: there is none.
    """
    return _CARDS.setdefault(name, Card(pick("question", name, topics())))
