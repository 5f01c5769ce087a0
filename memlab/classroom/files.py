"""The files that a graded class leaves: the marks, what Canvas and Moodle import, the reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from memlab import atomic_files
from memlab.classroom import reasons, tables
from memlab.classroom.batch import Batch
from memlab.classroom.reasons import Reason
from memlab.classroom.roster import Roster
from memlab.classroom.submissions import CANVAS, MOODLE, PARTS, Handed
from memlab.errors import InputError, shorten

FORMS = {"canvas": tables.canvas_csv, "moodle": tables.moodle_csv}
"""Functions that write the table that a service imports."""
REASONS = "-reasons.md"
"""End of the name of the file of reasons."""


def keep_apart(target: Path, folder: Path, roster: Path | None) -> None:
    """Check that the tables overwrite nothing that was handed in, and not the roster.

    Raises:
        InputError: they would; nothing is written.
    """
    file, root = target.resolve(), folder.resolve()
    ends = [f"-{name}.csv" for name in FORMS]
    written = {file, *(_beside(file, end) for end in (*ends, REASONS))}
    if roster is not None and roster.resolve() in written:
        why = "would overwrite the roster"
    elif root in file.parent.parents:
        why = "lies in the folder of a learner"
    elif file.parent == root and any(form.fullmatch(file.name) for form in (CANVAS, MOODLE)):
        why = "has the name of a file that was handed in"
    else:
        return
    raise InputError(f"the table {shorten(str(target))} {why}; give another name or folder.")


def write(
    target: Path, handed: Handed, batch: Batch, table: Sequence[tables.Row], roster: Roster | None
) -> list[Path]:
    """Write the table of all marks to ``target``, and beside it the reasons and the tables to
    import: for the service that a roster comes from, else for both. Return the files. The reasons
    come last, for it may take long to find the true answers that stand there.

    Raises:
        OSError: one cannot be written.
    """
    _write(contents := _tables(target, handed, table, roster))
    said = _reasons(handed, batch)
    answers = reasons.answers({one.card for one in said}, parts(target) / "answers.json")
    page = _beside(target, REASONS)
    _write({page: reasons.page(said, answers)})
    return [*contents, page]


def _tables(
    target: Path, handed: Handed, table: Sequence[tables.Row], roster: Roster | None
) -> dict[Path, str]:
    """Return the contents of the tables, by their files."""
    services = [roster.service] if roster else [*FORMS]
    contents = {target: tables.marks_csv(table)}
    for name in services:
        contents[_beside(target, f"-{name}.csv")] = FORMS[name](handed, table, roster)
    return contents


def _write(contents: Mapping[Path, str]) -> None:
    for file, content in contents.items():
        atomic_files.write(file, content.encode("utf-8", "replace"))


def parts(target: Path) -> Path:
    """Return the folder of the results that belong to a table."""
    return _beside(target, PARTS)


def _beside(target: Path, end: str) -> Path:
    return target.with_name(f"{target.name.removesuffix('.csv')}{end}")


def _reasons(handed: Handed, batch: Batch) -> list[Reason]:
    """Return the reasons at the cards of the lessons that were handed in."""
    numbers = {one.lesson[:2] for one in handed.submissions}
    records = {handed.label(learner): record for learner, record in handed.records.items()}
    calls = [(handed.label(one.submission.learner), one.marks.calls) for one in batch.graded]
    said = reasons.reasons(records, calls)
    return [one for one in said if one.card.partition(".")[0] in numbers]
