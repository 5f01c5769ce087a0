"""Exercises and cards of a lesson, and its code cells, as they were handed out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from memlab import lesson_folders
from memlab.classroom import release
from memlab.errors import InputError, shorten

ASKED = re.compile(r"lesson\.(exercise|predict|recall|change)\(\s*[\"'](\w+\.\w+)[\"']")


@dataclass(frozen=True)
class LessonQuestions:
    """Questions of a notebook: the names of its exercises and of its cards, in order, and the code
    of its cells in every language."""

    exercises: tuple[str, ...]
    cards: tuple[str, ...]
    cells: frozenset[str]


@cache
def of(lesson: str) -> LessonQuestions:
    """Return the questions of a lesson, by its number or the name of its notebook: ``"02"``,
    ``"02_network"``; a notebook of the appendix by its name, ``"thumb_rule"``.

    Raises:
        InputError: there is no such lesson.
    """
    path = _notebook(lesson)
    codes = list(_codes(path))
    asked = [match.groups() for code in codes for match in ASKED.finditer(code)]
    exercises = dict.fromkeys(name for kind, name in asked if kind == "exercise")
    cards = dict.fromkeys(name for kind, name in asked if kind != "exercise")
    relative = path.relative_to(lesson_folders.LESSONS)
    others = lesson_folders.LESSONS.glob(f"??/{relative}")  # lessons/zh
    known = {code.strip() for file in (path, *others) for code in _codes(file)}
    known |= {release.progress_code(language) for language in release.languages()}
    return LessonQuestions(tuple(exercises), tuple(cards), frozenset(known))


def _notebook(lesson: str) -> Path:
    """Return the notebook of a lesson, as it is handed out.

    Raises:
        InputError: there is no such lesson.
    """
    folder, name = lesson_folders.LESSONS, lesson.removesuffix(".ipynb")
    if re.fullmatch(r"\w+", name):
        for pattern in (f"{name}.ipynb", f"{name}_*.ipynb", f"appendix/{name}.ipynb"):
            if paths := sorted(folder.glob(pattern)):
                return paths[0]
    known = ", ".join(path.stem for path in sorted(folder.glob("*.ipynb")))
    raise InputError(f"there is no lesson {shorten(lesson)}; there are {known}.")


def _codes(path: Path) -> Iterator[str]:
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            yield "".join(cell["source"])
