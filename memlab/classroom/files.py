"""The files that a graded class leaves: the marks, what Canvas and Moodle import, the reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from memlab import atomic_files
from memlab.classroom import reasons, tables
from memlab.classroom.batch import Batch
from memlab.classroom.roster import Roster
from memlab.classroom.submissions import Handed

FORMS = {"canvas": tables.canvas_csv, "moodle": tables.moodle_csv}
"""What writes the table that a service imports."""


def write(
    target: Path, handed: Handed, batch: Batch, table: Sequence[tables.Row], roster: Roster | None
) -> list[Path]:
    """Write the table of all marks to ``target``, and beside it the reasons and the tables to
    import: for the service that a roster comes from, else for both. Return the files.

    Raises:
        OSError: one cannot be written.
    """
    contents: dict[Path, str] = {target: tables.marks_csv(table)}
    for service, form in FORMS.items():
        if roster is None or roster.service == service:
            contents[_beside(target, f"-{service}.csv")] = form(handed, table, roster)
    contents[_beside(target, "-reasons.md")] = _reasons(handed, batch)
    for file, content in contents.items():
        atomic_files.write(file, content.encode("utf-8", "replace"))
    return [*contents]


def _beside(target: Path, end: str) -> Path:
    return target.with_name(f"{target.name.removesuffix('.csv')}{end}")


def _reasons(handed: Handed, batch: Batch) -> str:
    """Return the reasons at the cards of the lessons that were handed in."""
    numbers = {one.lesson[:2] for one in handed.submissions}
    records: Mapping[str, Mapping[str, object]] = {
        handed.label(learner): record for learner, record in handed.records.items()
    }
    calls = {f"{handed.label(one.submission.learner)}": one.marks.calls for one in batch.graded}
    said = reasons.reasons(records, calls)
    return reasons.page(one for one in said if one.card.partition(".")[0] in numbers)
