"""Picture under the answer of each card of the running case, ``NN.case``."""

from __future__ import annotations

from memlab.course.case import OneCase, case
from memlab.course.reveals import reveal
from memlab.lesson.card_question import Attempt
from memlab.lesson.material.case_rows import LESSONS


@reveal(*(f"{lesson}.case" for lesson in LESSONS if lesson != "00"))
def bars(turn: Attempt) -> OneCase:
    """Bars of the case, with that of the card's lesson."""
    return case(turn.topic.name.partition(".")[0])
