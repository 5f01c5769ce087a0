"""A lesson as its rules see it: the cells of its source, its sections, its two notebooks."""

import ast
import json
import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lessons import build
from memlab.lesson.card_question import Question, topics

ASKED = re.compile(r'\blesson\.(?:predict|recall|change)\("(\d\d\.\w+)"\)')
"""A card of any part, by the name of its question."""
START = r"Click a cell and press \*\*Shift\+Enter\*\* to run it\. .+"
"""Sentence on how to begin, in the first lesson."""
CODE = re.compile(r"\b[A-H]\d{1,2}(?:\.\w+)?\b")
"""The id of a claim."""


@dataclass(frozen=True)
class Lesson:
    """`cells` are those of the source; the notebooks are as they are stored, with outputs."""

    name: str
    cells: list[Any]
    learners: dict[str, Any]
    solved: dict[str, Any]
    terms: frozenset[str]
    topics: dict[str, Question] = field(default_factory=dict)

    @property
    def number(self) -> str:
        return self.name[:2]

    @property
    def numbers(self) -> list[Any]:
        return [cell for cell in self.cells if build.NUMBERS in cell.metadata.tags]

    def of(self, kind: str) -> list[Any]:
        """Cells of a kind that stand in a notebook."""
        shown = [cell for cell in self.cells if build.NUMBERS not in cell.metadata.tags]
        return [cell for cell in shown if cell.cell_type == kind]

    @property
    def head(self) -> list[str]:
        """The paragraphs of the first two cells of text, between which something moves."""
        return [part for cell in self.of("markdown")[:2] for part in cell.source.split("\n\n")]


@dataclass
class Section:
    heading: str
    prose: str = ""
    code: list[str] = field(default_factory=list)


def read(source: Path) -> Lesson:
    """A lesson of the checkout."""
    learners, solved = (json.loads(path.read_text("utf-8")) for path in build.targets(source))
    glossary = tomllib.loads((source.parent / "glossary.toml").read_text("utf-8"))
    terms = frozenset(term["en"] for term in glossary["term"])
    asked = {name: topic for name, topic in topics().items() if name[:2] == source.stem[:2]}
    return Lesson(source.stem, build.cells(source), learners, solved, terms, asked)


def sections(lesson: Lesson) -> list[Section]:
    """Text under each `## ` heading."""
    parts = [Section("")]
    for cell in lesson.cells:
        if build.NUMBERS in cell.metadata.tags:
            continue
        if cell.cell_type == "code":
            parts[-1].code.append(cell.source)
            continue
        text = re.sub(r"```.*?```", "", cell.source, flags=re.DOTALL)
        before, *rest = re.split(r"^## ", text, flags=re.MULTILINE)
        parts[-1].prose += before
        parts += [Section(*part.partition("\n")[::2]) for part in rest]
    return parts[1:]


def prose(lesson: Lesson) -> str:
    return "\n\n".join(cell.source for cell in lesson.of("markdown"))


def tree(cell: Any) -> ast.Module:
    """A cell as Python; a line of IPython (%%html) is none."""
    try:
        return ast.parse(str(cell.source))
    except SyntaxError:
        return ast.Module([], [])


def calls(cell: Any, method: str) -> list[ast.Call]:
    """Calls of `x.method(...)` in a cell."""
    nodes = [node for node in ast.walk(tree(cell)) if isinstance(node, ast.Call)]
    return [c for c in nodes if isinstance(c.func, ast.Attribute) and c.func.attr == method]


def minutes_line(lesson: Lesson) -> re.Match[str] | None:
    """Minutes, and the lessons that are needed; None in the first lesson, which says how to begin
    instead."""
    lines = [" ".join(part.split()) for part in lesson.head]
    matches = (re.fullmatch(rf"(\d+) minutes\. (?:Needs: (.+)\.|{START})", line) for line in lines)
    return next((match for match in matches if match), None)


def functions(cell: Any) -> set[str]:
    """The functions that a cell defines."""
    return {node.name for node in tree(cell).body if isinstance(node, ast.FunctionDef)}
