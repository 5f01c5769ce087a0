"""The marks of a class as tables: a row for each learner and question, and files that Canvas and
Moodle import.

A cell never starts a formula in a spreadsheet, and control characters of a submission are shown.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from typing import Any

from memlab.classroom.batch import Graded, blank
from memlab.classroom.marks import QuestionMark
from memlab.classroom.roster import GRADE, Roster
from memlab.classroom.submissions import Handed
from memlab.errors import visible

SELF_MEASURED = "self-measured"
"""A peak comes from the process that runs the submission."""
NOTHING = "nothing handed in"
LONGEST = 2000
"""Characters of a cell."""
FORMULA = ("=", "+", "-", "@", "\t", "\r", *"\uff1d\uff0b\uff0d\uff20")
"""First characters of a cell that a spreadsheet would compute, the last four as wide letters."""
_LATER = re.compile(rf"(;\s*)(?=[{re.escape(''.join(FORMULA))}])")
"""A formula after a semicolon, at which many a spreadsheet begins the next cell of a table."""


Totals = dict[tuple[str, str], tuple[int | None, int]]
"""Points of a learner in a lesson, and of how many; None for points that a person still decides."""


@dataclass(frozen=True)
class Row:
    """Row of the table: one learner, one question. ``points`` is None where a person decides.
    The fields are the columns."""

    learner: str
    lesson: str
    question: str
    kind: str
    state: str
    points: int | None
    of: int = 1
    verdict: str = ""
    smallest_failing_case: str = ""
    hint: str = ""
    peak_bytes: int | None = None
    peak_is: str = ""
    hints_used: int | None = None
    attempts: int | None = None
    solution_shown: str = ""
    review: str = ""
    seed: int | None = None
    seed_from: str = ""
    confinement: str = ""


def rows(handed: Handed, graded: Iterable[Graded], trusted: bool) -> list[Row]:
    """Return a row for each learner and each question of the lessons that anybody handed in."""
    marks = {(one.submission.learner, one.submission.lesson): one for one in graded}
    lessons = sorted({one.lesson for one in handed.submissions})
    table: list[Row] = []
    for learner in handed.learners:
        for lesson in lessons:
            one = marks.get((learner, lesson))
            if one is None:
                table += [
                    Row(handed.label(learner), lesson, mark.question, mark.kind, NOTHING, 0)
                    for mark in blank(lesson, NOTHING)
                ]
            else:
                table += [_row(handed, one, mark, trusted) for mark in one.marks.marks]
        if not lessons:
            table.append(Row(handed.label(learner), "", "", "", NOTHING, 0, 0))
    return table


def _row(handed: Handed, one: Graded, mark: QuestionMark, trusted: bool) -> Row:
    """Return the row of a question: its mark, and what the progress file says of it."""
    learner = one.submission.learner
    record = handed.records.get(learner)
    state, review = mark.state, mark.review
    if mark.kind == "card":
        state = _card_state(mark, record)
        if state == "passed":
            review = ""
        elif state == "not tried" and learner in handed.broken:
            state, review = "review", "progress.json could not be read"
    return Row(
        learner=handed.label(learner),
        lesson=one.submission.lesson,
        question=mark.question,
        kind=mark.kind,
        state=state,
        points=None if review else int(state == "passed"),
        peak_bytes=mark.peak,
        peak_is="" if mark.peak is None else SELF_MEASURED,
        review=review,
        seed=one.seed,
        seed_from="progress.json" if record and one.seed == record["seed"] else "name",
        confinement="trusted" if trusted else "confined",
        **_said(mark),
        **_recorded(mark, record),
    )


def _card_state(mark: QuestionMark, record: Mapping[str, Any] | None) -> str:
    """Return the state of a card: it has passed once it is answered, in the file or in code."""
    turns = record["cards"].get(mark.question, []) if record else []
    if mark.state == "passed" or any(turn["right"] is not None for turn in turns):
        return "passed"
    return "skipped" if turns else mark.state


def _said(mark: QuestionMark) -> dict[str, Any]:
    """Return the report on a wrong answer in three columns: the verdict, the smallest case that
    fails with what was returned there, and the hint. Any other report is a verdict."""
    verdict, case, *hint = [*mark.said.splitlines(), "", ""]
    if mark.state not in ("failed", "no memory"):
        return {"verdict": mark.said}
    return {"verdict": verdict, "smallest_failing_case": case, "hint": " ".join(hint).strip()}


def _recorded(mark: QuestionMark, record: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what the learner's own file says: hints used, attempts, whether the solution was
    shown."""
    if record is None:
        return {}
    if mark.kind == "card":
        return {"attempts": len(record["cards"].get(mark.question, []))}
    entry = record["exercises"].get(mark.question, {"hints": 0, "checks": 0, "solution": None})
    return {
        "hints_used": _count(entry["hints"]),
        "attempts": _count(entry["checks"]),
        "solution_shown": "yes" if entry["solution"] else "no",
    }


def _count(number: int) -> int:
    """Return a count of a learner's file, within what a count can be."""
    return max(0, min(int(number), 9999))


# -- files ----------------------------------------------------------------------------------------


def marks_csv(table: Sequence[Row]) -> str:
    """Return the table of all marks, with names of columns in words. It begins with the mark by
    which spreadsheets know UTF-8."""
    head = [field.name.replace("_", " ") for field in fields(Row)]
    return "\ufeff" + _written([head, *map(astuple, table)])


def totals(table: Iterable[Row]) -> Totals:
    """Return the points of each learner in each lesson."""
    sums: Totals = {}
    for row in table:
        points, of = sums.get((row.learner, row.lesson), (0, 0))
        both = None if points is None or row.points is None else points + row.points
        sums[row.learner, row.lesson] = both, of + row.of
    return sums


def canvas_csv(handed: Handed, table: Sequence[Row], roster: Roster | None) -> str:
    """Return the file that Canvas imports: a row for each learner, a column for each lesson."""
    sums, lessons = totals(table), _lessons(table)
    names = [roster.column(lesson) if roster else lesson for lesson in lessons]
    head = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]
    most = [
        next((of for (_, name), (_, of) in sums.items() if name == lesson), 0) for lesson in lessons
    ]
    lines: list[list[object]] = [[*head, *names], ["    Points Possible", "", "", "", "", *most]]
    for learner in handed.learners:
        known = roster.find(learner) if roster else None
        if roster and known is None:
            continue
        name = learner.name.replace("Points Possible", "Points possible")  # the row above alone
        own = {"Student": name, "ID": learner.number if learner.service == "canvas" else ""}
        who = known or own
        lines.append(
            [*(who.get(name, "") for name in head), *_points(handed.label(learner), lessons, sums)]
        )
    return _written(lines)


def moodle_csv(handed: Handed, table: Sequence[Row], roster: Roster | None) -> str:
    """Return the file that Moodle imports: a row for each learner, a column for each lesson, and
    columns by which Moodle knows the learner. A grading worksheet of one assignment is returned
    with its grades filled in."""
    sums, lessons = totals(table), _lessons(table)
    if roster and roster.is_worksheet and len(lessons) == 1:
        return _worksheet(handed, roster, lessons[0], sums)
    head = roster.identifying if roster else ["Identifier", "Full name", "Email address"]
    lines: list[list[object]] = [[*head, *lessons]]
    for learner in handed.learners:
        known = roster.find(learner) if roster else None
        if roster and known is None:
            continue
        number = f"Participant {learner.number}" if learner.service == "moodle" else ""
        who = known or {"Identifier": number, "Full name": learner.name}
        points = _points(handed.label(learner), lessons, sums)
        lines.append([*(who.get(name, "") for name in head), *points])
    return _written(lines)


def _worksheet(handed: Handed, roster: Roster, lesson: str, sums: Totals) -> str:
    """Return a grading worksheet with the grades of a lesson, in parts of its maximum grade."""
    lines: list[list[object]] = [[*roster.columns]]
    for learner in handed.learners:
        if person := roster.find(learner):
            points, of = sums.get((handed.label(learner), lesson), (None, 0))
            grade = "" if points is None else f"{roster.maximum(person, of) * points / of:.2f}"
            filled = {**person, GRADE: grade}
            lines.append([filled.get(name, "") for name in roster.columns])
    return _written(lines)


def _lessons(table: Iterable[Row]) -> list[str]:
    return sorted({row.lesson for row in table if row.lesson})


def _points(learner: str, lessons: Sequence[str], sums: Totals) -> list[int | None]:
    return [sums.get((learner, lesson), (None, 0))[0] for lesson in lessons]


def _written(lines: Iterable[Iterable[object]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerows([*map(cell, line)] for line in lines)
    return text.getvalue()


def cell(value: object) -> object:
    """Return a value for a table: text on one line, of visible characters, that is no formula.

    >>> cell("=1+1")
    "'=1+1"
    """
    if not isinstance(value, str):
        return "" if value is None else value
    text = visible(" ".join(value.split(" ")).replace("\n", " "))
    text = text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
    text = _LATER.sub(r"\1'", text)
    return f"'{text}" if text.lstrip().startswith(FORMULA) else text
