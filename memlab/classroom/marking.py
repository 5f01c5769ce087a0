"""Marks of one notebook: its functions answer in a confined process, and are judged in this one.

Nothing of the submission is imported, evaluated or parsed here. The cases of each exercise are
drawn here, the confined process gets the arguments and gives plain values back, and the judge is
the one that a notebook has: ``memlab.lesson.exercise_check``.

Example::

    with confined(limits) as confinement:
        grade_notebook(Path("ada/02_network.ipynb"), 7, confinement, limits).marks
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from memlab import strings
from memlab.classroom import questions
from memlab.classroom.confinement import Confinement
from memlab.classroom.limits import Limits
from memlab.classroom.marks import CardCall, NotebookMarks, QuestionMark
from memlab.classroom.notebook_file import code_cells
from memlab.classroom.questions import LessonQuestions
from memlab.classroom.running_submission import FunctionThere, LostError, RunningSubmission
from memlab.errors import InputError, visible
from memlab.lesson import exercise_check
from memlab.lesson.card import Card
from memlab.lesson.card_question import topics
from memlab.lesson.exercise_check import Report
from memlab.lesson.exercise_task import ExerciseTask, tasks

LOST = {
    "looped": "{name} did not end within {seconds:g} s.",
    "no memory": "{name} asked for more than {memory:,} MiB of memory.",
    "error": "The process that runs the notebook ended at {name}.",
}
"""Sentences on a question that the process of a submission did not survive, by its state."""


def grade_notebook(
    path: Path, seed: int, confinement: Confinement, limits: Limits, lesson: str = ""
) -> NotebookMarks:
    """Return the marks of a notebook that somebody handed in. Nothing that it holds raises an
    error.

    Args:
        path: the file.
        seed: fixes the cases, from 0 on; each learner has another one.
        confinement: the way to run it, from ``confined``.
        limits: its limits.
        lesson: number or name of its lesson; that of the file if not given.

    Raises:
        InputError: there is no such lesson.
    """
    begin, name = time.monotonic(), lesson or path.stem
    asked = questions.of(name)
    try:
        cells = code_cells(path)
    except InputError as error:
        marks = (*_unread(asked.exercises, "exercise"), *_unread(asked.cards, "card"))
        return NotebookMarks(name, marks, ended=str(error))
    known = [cell.strip() in asked.cells for cell in cells]
    with RunningSubmission(cells, known, asked.exercises, confinement, limits) as submission:
        submission.start()
        exercises = [_exercise(tasks()[name], submission, seed) for name in asked.exercises]
    marks = (*exercises, *_cards(asked, submission.calls))
    seconds = time.monotonic() - begin
    ended = _ended(submission)
    return NotebookMarks(name, marks, submission.calls, seconds, submission.peak, ended)


def _unread(names: tuple[str, ...], kind: str) -> Iterator[QuestionMark]:
    for name in names:
        yield QuestionMark(name, kind, "not tried", review="the notebook could not be read")


# -- exercises ----------------------------------------------------------------------------------


def _exercise(task: ExerciseTask, submission: RunningSubmission, seed: int) -> QuestionMark:
    """Return the mark of an exercise."""
    if task.name not in (submission.functions or ()):
        return _without_function(task, submission)
    there = FunctionThere(task, submission)
    try:
        with strings.speaking(*task.parts):
            report = exercise_check.judge(task, there, seed)
    except LostError as lost:
        return QuestionMark(task.name, "exercise", lost.state, _lost(task, submission, lost.state))
    except Exception as error:  # of the judge itself: no mark, and somebody looks
        why = f"the marking itself failed: {type(error).__name__}: {visible(str(error))[:200]}"
        return QuestionMark(task.name, "exercise", "error", review=why)
    return _judged(task, report, there)


def _judged(task: ExerciseTask, report: Report, there: FunctionThere) -> QuestionMark:
    """Return the mark for a report. Where it rests on what the submission's process says of itself,
    and its source has signs of patching, a person decides."""
    submission, said = there.submission, visible(report.said, "\n")
    own_word = task.plan is not None or task.run is not None
    if report.passed and own_word and submission.signs:
        why = f"the source could change how it is measured: {'; '.join(submission.signs)}"
        return QuestionMark(task.name, "exercise", "review", said, peak=there.peak, review=why)
    state = "passed" if report.passed else "failed" if report.attempted else "not tried"
    if state == "failed" and there.full:
        state = "no memory"
    return QuestionMark(task.name, "exercise", state, said, report.slip, there.peak)


def _without_function(task: ExerciseTask, submission: RunningSubmission) -> QuestionMark:
    """Return the mark of an exercise whose function is not there: its cell may not have ended."""
    found = {"looped": submission.looped, "no memory": submission.full, "error": submission.ended}
    for state, cells in found.items():
        if any(f"def {task.function}" in submission.cells[number] for number in cells):
            return QuestionMark(task.name, "exercise", state, _lost(task, submission, state))
    if submission.functions is None:
        said = f"The cells of the notebook did not come to an end, so {task.function} has no mark."
        return QuestionMark(task.name, "exercise", "error", said)
    said = f"The notebook defines no function {task.function}."
    return QuestionMark(task.name, "exercise", "not tried", said)


def _lost(task: ExerciseTask, submission: RunningSubmission, state: str) -> str:
    limits = submission.limits
    return LOST[state].format(
        name=task.function, seconds=limits.seconds, memory=limits.memory // 2**20
    )


def _ended(submission: RunningSubmission) -> str:
    """Return sentences on the cells that did not end as they should."""
    if submission.unread:
        return "The process that runs the notebook ended before its first cell."
    limits = submission.limits
    sentences = {
        f"did not end within {limits.seconds:g} s": submission.looped,
        f"asked for more than {limits.memory // 2**20:,} MiB of memory": submission.full,
        "ended the process": submission.ended,
    }
    return " ".join(
        f"Code {_numbered(cells)} {said}." for said, cells in sentences.items() if cells
    )


def _numbered(cells: set[int]) -> str:
    """Return the numbers of code cells for a sentence: ``"cells 1, 3"``."""
    numbers = ", ".join(str(number + 1) for number in sorted(cells))
    return f"cells {numbers}" if len(cells) > 1 else f"cell {numbers}"


# -- cards --------------------------------------------------------------------------------------


def _cards(asked: LessonQuestions, calls: tuple[CardCall, ...]) -> Iterator[QuestionMark]:
    """Yield the mark of each card: whether the notebook's own code answered it."""
    answered = {call.name for call in calls if _is_answer(call)}
    for name in asked.cards:
        yield QuestionMark(name, "card", "passed" if name in answered else "not tried")


def _is_answer(call: CardCall) -> bool:
    """True if a guess is an answer of the kind that its card asks for."""
    topic = topics().get(call.name)
    if topic is None or not call.guess:
        return False
    try:
        Card(topic).read(call.guess)
    except InputError:
        return False
    return True
