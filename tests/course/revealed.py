"""Questions that were answered, with the pictures under their answers."""

from __future__ import annotations

from typing import Any

from memlab.course.reveals import picture_of
from memlab.lesson.card_question import Attempt, topics


def revealed(name: str, guess: str | None = None, seed: int | None = None) -> tuple[Any, Any]:
    """An attempt whose answer is shown, and its picture.

    Args:
        name: question.
        guess: typed guess, if any.
        seed: number that fixes the numbers of the question; without one they are the first.
    """
    topic, picture = topics()[name], picture_of(name)
    assert picture is not None
    numbers = topic.first if seed is None else topic.again(str(seed), [])
    read = None if guess is None else topic.read(guess)
    turn = Attempt(topic, numbers, guess=read, truth=topic.truth(numbers), revealed=True)
    return turn, picture(turn)
