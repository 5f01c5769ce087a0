"""Marks of one notebook: a mark for each exercise and card of its lesson, as plain values."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class QuestionMark:
    """Mark of one exercise or card.

    ``question`` is its name, ``"02.largest_batch"``, and ``kind`` ``"exercise"`` or ``"card"``.
    ``state`` is one of ``STATES``. ``said`` are the sentences of the report: the smallest case that
    fails, the hint of a slip, whose name is ``slip``. ``peak`` are the most bytes of arrays in a
    call, as the submission's own process measured them; None where nothing is measured. ``review``
    says why a person should look, and is empty where nobody need.
    """

    question: str
    kind: str
    state: str
    said: str = ""
    slip: str = ""
    peak: int | None = None
    review: str = ""


STATES = {
    "passed": "the function is right; a card was answered",
    "failed": "the function gives wrong answers, or needs more memory than planned",
    "not tried": "the stub is as it was, or the function is not there",
    "looped": "the function, or the cell that defines it, did not end in time",
    "no memory": "it asked for more memory than the limit",
    "review": "the answers are right, and the source could have changed how they are measured",
    "error": "the process that runs the submission ended at this question",
}
"""Sentence for each state of a mark."""


@dataclass(frozen=True)
class CardCall:
    """Answer to a card in the notebook's own code: its name, the first guess as text, the reason
    for it, and the revision."""

    name: str
    guess: str
    because: str = ""
    revision: str = ""


@dataclass(frozen=True)
class NotebookMarks:
    """Marks of a notebook, in the order of the lesson.

    ``ended`` are sentences on what did not end as it should: a cell that looped, a file that cannot
    be read; empty if all went well. ``seconds`` is the time that grading took, ``peak_memory`` the
    most bytes that the submission's process held; None where they cannot be known.
    """

    lesson: str
    marks: tuple[QuestionMark, ...]
    calls: tuple[CardCall, ...] = ()
    seconds: float = 0.0
    peak_memory: int | None = None
    ended: str = ""
