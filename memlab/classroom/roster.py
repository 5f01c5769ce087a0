"""The table of learners that Canvas or Moodle exports, by which their identifiers are filled in."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from memlab.classroom.submissions import Learner, regular
from memlab.errors import InputError, shorten

LARGEST = 20_000_000
"""Bytes of a table."""
CANVAS = ("Student", "ID")
MOODLE = (
    *("Identifier", "User ID", "Username", "ID number", "Email address", "Full name"),
    *("First name", "Last name", "Surname"),
)
"""Columns by which Moodle knows a learner, in its English names."""

GRADE = "Grade"
"""The column of a grading worksheet of Moodle's that is filled in."""

Person = Mapping[str, str]


@dataclass(frozen=True)
class Roster:
    """The learners of a course. ``service`` is ``"canvas"`` or ``"moodle"``; ``columns`` are all
    those of the table, ``people`` its rows."""

    service: str
    columns: tuple[str, ...]
    people: tuple[Person, ...]
    _by_key: Mapping[str, list[Person]] = field(default_factory=dict)

    @property
    def identifying(self) -> list[str]:
        """The columns that say who a learner is."""
        return [name for name in self.columns if name in MOODLE]

    @property
    def is_worksheet(self) -> bool:
        """True of the grading worksheet of an assignment of Moodle's."""
        return {"Identifier", GRADE} <= {*self.columns}

    def maximum(self, person: Person, usual: int) -> float:
        """Return the maximum grade that a worksheet gives; the ``usual`` one where it has none."""
        columns = {name.casefold(): value for name, value in person.items()}
        try:
            most = float(columns["maximum grade"])
        except (KeyError, ValueError):
            most = usual
        return most if 0 < most < float("inf") else usual

    def column(self, lesson: str) -> str:
        """Return the name of the column of a lesson: that of the table, if it has one."""
        wanted = _plain(lesson)
        return next((name for name in self.columns if _plain(_title(name)) == wanted), lesson)

    def find(self, learner: Learner) -> Person | None:
        """Return the row of a learner; None if there is none, or more than one."""
        keys = [f"#{learner.number}"] if learner.number and learner.service == self.service else []
        for key in (*keys, _plain(learner.name)):
            if len(people := self._by_key.get(key, [])) == 1:
                return people[0]
        return None


def read(path: Path) -> Roster:
    """Return the learners of a table that Canvas or Moodle exported.

    Raises:
        InputError: it is no such table.
    """
    try:
        text = regular(path, LARGEST).decode("utf-8-sig")
        lines = list(csv.reader(io.StringIO(text), delimiter=_delimiter(text)))
    except (UnicodeDecodeError, csv.Error):
        raise _refused(path) from None
    columns = tuple(name.strip() for name in lines[0]) if lines else ()
    service = "canvas" if columns[:2] == CANVAS else "moodle" if {*columns} & {*MOODLE} else ""
    if not service:
        raise _refused(path)
    people = [dict(zip(columns, line, strict=False)) for line in lines[1:]]
    people = [person for person in people if not _is_heading(person)]
    by_key: dict[str, list[Person]] = {}
    for person in people:
        for key in dict.fromkeys(_keys(service, person)):
            by_key.setdefault(key, []).append(person)
    return Roster(service, columns, tuple(people), by_key)


def _delimiter(text: str) -> str:
    first = text.partition("\n")[0]
    return max(",;\t", key=first.count)


def _is_heading(person: Person) -> bool:
    """True of a row of Canvas that is about the columns, or about its test student."""
    name = person.get("Student", "").strip()
    return name in ("Points Possible", "Student, Test") or ("Student" in person and not name)


def _keys(service: str, person: Person) -> Iterator[str]:
    """Yield what a learner may be called in the name of a file or a folder."""
    number = person.get("ID" if service == "canvas" else "Identifier", "")
    if digits := re.search(r"\d+$", number):
        yield f"#{digits[0]}"
    names = [
        "Student",
        "SIS User ID",
        "SIS Login ID",
        "ID",
        "Username",
        "ID number",
        "Full name",
        "Email address",
    ]
    for text in (person.get(name, "") for name in names):
        yield from _orders(text)
    first, last = person.get("First name", ""), person.get("Last name", person.get("Surname", ""))
    yield from _orders(f"{last}, {first}" if first and last else "")


def _orders(text: str) -> Iterator[str]:
    """Yield a name as it is, ``"Last, First"`` also the other way round, and of an email address
    the part before the sign."""
    last, _, first = text.partition(",")
    for name in (text, first + last, text.partition("@")[0]):
        if key := _plain(name):
            yield key


def _plain(text: str) -> str:
    """Return the letters and digits of a name, in small letters: as Canvas writes it in files."""
    return re.sub(r"[\W_]+", "", text.casefold())


def _title(column: str) -> str:
    """Return the title of a column of Canvas, without the number of its assignment."""
    return re.sub(r" \(\d+\)$", "", column)


def _refused(path: Path) -> InputError:
    named: Sequence[str] = ("Student", "Email address", "ID number", "Full name")
    return InputError(
        f"{shorten(path.name)} is no table of learners that Canvas or Moodle exports: "
        f"its first line has none of the columns {', '.join(named)}; export the "
        "grades there, with English names of columns, and give that file."
    )
