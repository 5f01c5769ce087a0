"""Lessons as the site lists them: number, title, question and minutes, from what the lessons say,
and their order, from ``docs/lessons.md``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from memlab.errors import InputError
from web.pyodide import ROOT
from web.site.notebook import first_words, read
from web.site.places import page_of

HEADING = re.compile(r"(\d\d) ([^:]+): (.+)")
MINUTES = re.compile(r"(\d+) minutes\. (?:Needs: (.+)\.)?")
SPINE = re.compile(r"The spine is ([^.]+)\.")


@dataclass(frozen=True)
class Lesson:
    """Lesson as its first lines tell it; ``needs`` are the numbers of lessons that come before."""

    number: str
    title: str
    question: str
    minutes: int
    needs: tuple[str, ...]
    file: str

    @property
    def place(self) -> str:
        """Path of its page in the site."""
        return page_of(self.file)

    @property
    def name(self) -> str:
        """Number and title."""
        return f"{self.number} {self.title}"

    @property
    def guide(self) -> str:
        """File for its instructors."""
        return f"lessons/instructor/{self.number}.md"


@cache
def lessons() -> tuple[Lesson, ...]:
    """Return all lessons by their numbers."""
    return tuple(
        _lesson(path.relative_to(ROOT).as_posix())
        for path in sorted(ROOT.glob("lessons/[0-9][0-9]_*.ipynb"))
    )


def _lesson(file: str) -> Lesson:
    first, *lines = first_words(read(ROOT / file))
    heading, minutes = HEADING.fullmatch(first), MINUTES.match(" ".join(lines))
    if not (heading and minutes):
        raise InputError(f"{file} does not begin with its number, its question and its minutes.")
    number, title, question = heading.groups()
    needs = tuple(re.findall(r"\b(\d\d) ", minutes[2] or ""))
    asked = question[0].upper() + question[1:]
    return Lesson(number, title, asked, int(minutes[1]), needs, file)


def find(number: str) -> Lesson:
    """Return the lesson of a number."""
    return next(lesson for lesson in lessons() if lesson.number == number)


@cache
def spine() -> tuple[Lesson, ...]:
    """Return the lessons that tell the story, in its order."""
    text = (ROOT / "docs" / "lessons.md").read_text(encoding="utf-8")
    found = SPINE.search(text)
    if found is None:
        raise InputError("docs/lessons.md does not say which lessons the spine is.")
    return tuple(find(number) for number in re.findall(r"\d\d", found[1]))


def side_roads() -> Sequence[Lesson]:
    """Return the other lessons."""
    return [lesson for lesson in lessons() if lesson not in spine()]
