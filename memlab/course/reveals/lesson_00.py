"""Pictures under the answers of lesson 00."""

from __future__ import annotations

from memlab.course.reveals import BARE, reveal
from memlab.lesson.card_question import Answer, Attempt
from memlab.lesson.typed_guess import Guess
from memlab.pictures.graphics_cards import GraphicsCards, graphics_cards
from memlab.pictures.memory.view import Memory, memory

GUESSED = {"same": 1, "double": 2}
"""Options that name a height of the peak, as multiples of that of the batch."""


@reveal("00.case")
def in_cards(turn: Attempt) -> GraphicsCards:
    """Cards drawn to scale, filled with the bytes of the step, with the guesses as marks."""
    n = turn.numbers
    guess, revision = map(_bytes, (turn.guess, turn.revision))
    return graphics_cards(n["network"], most=n["batch"], card=n["card"], guess=guess,
                          revision=revision, only=("batch",))  # fmt: skip


@reveal("00.double")
def twice_the_batch(turn: Attempt) -> Memory:
    """Memory of the step at twice the batch, with the batch as the dashed outline."""
    n = turn.numbers
    view = memory(n["network"], n["batch"], n["optimizer"], only=("batch",),
                  largest=4 * n["batch"], **BARE)  # fmt: skip
    if turn.guess in GUESSED:
        view.guess = GUESSED[turn.guess] * view.peak
    view.batch = 2 * n["batch"]
    return view


def _bytes(answer: Answer | None) -> int | None:
    """Return a guess in whole bytes; None without one."""
    return round(answer.value) if isinstance(answer, Guess) else None
