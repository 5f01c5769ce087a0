"""What the published texts say, and where memlab shows it: `readings.md`.

The rows stand in `source/readings.toml`. A row names a cell by a piece of it; the page links the
notebook, with the heading above the cell, and takes the verdict from `memlab claims`.
"""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from memlab import claims as published
from memlab.claims import verdicts

FILE = "readings.md"
HEAD = """# Readings: what do the texts say, and does it come out?

Several texts tell the story of these lessons. Here stands what each of them says, in our words, and
the cell in which memlab computes it or runs it. A verdict is of the text's claim alone, to the
digits that it prints: `memlab claims A4` computes the claims of row A4 again.

"""
COLUMNS = "| it says | what comes out | where | claims |\n|---|---|---|---|\n"
TITLE = re.compile(r"\d\d |Appendix: ")
"""The heading of a page, which says no more than its name."""


@dataclass(frozen=True)
class Row:
    """One sentence of a text, and the cell that answers it."""

    text: str
    says: str
    page: str = ""
    cell: str = ""
    claims: tuple[str, ...] = ()
    found: str = ""


class ReadingError(Exception):
    """A row that leads nowhere; one sentence for the author."""


def rows(lessons: Path) -> list[Row]:
    """All rows, in the order of the texts."""
    return [Row(**{**row, "claims": tuple(row.get("claims", ()))}) for row in _file(lessons)["row"]]


def texts(lessons: Path) -> dict[str, str]:
    """The short names of the texts, and what each of them is."""
    return dict(_file(lessons)["texts"])


def heading(lessons: Path, row: Row) -> str:
    """The heading above the cell that a row names.

    Raises:
        ReadingError: the notebook is not there, or the piece stands in no cell of it or in several.
    """
    try:
        cells = _cells(lessons / f"{row.page}.ipynb")
    except OSError as error:
        raise ReadingError(f"{row.says!r}: there is no notebook {row.page!r}.") from error
    found = [i for i, text in enumerate(cells) if row.cell in text]
    if len(found) != 1:
        raise ReadingError(
            f"{row.says!r}: {row.cell!r} stands in {len(found)} cells of {row.page}; name a piece "
            "of one cell."
        )
    (at,) = found
    above = "\n".join([*cells[:at], cells[at].partition(row.cell)[0]])
    return str(re.findall(r"^#+ (.*)$", above, re.MULTILINE)[-1])


def page(lessons: Path) -> str:
    """`readings.md`: a table for each text.

    Raises:
        ReadingError: a row leads nowhere.
    """
    made = HEAD
    for name, what in texts(lessons).items():
        body = "".join(_line(lessons, row) for row in rows(lessons) if row.text == name)
        made += f"## {name}: {what}\n\n{COLUMNS}{body}\n"
    return made.rstrip() + "\n"


def outcome(row: Row) -> str:
    """What comes out: the verdicts of the row's claims, and the row's own sentence."""
    found = [each for id in row.claims for each in published.find(id)]
    due = [each for each in found if isinstance(each, published.Claim)]
    own = [each for each in due if row.text in each.text]  # what it says itself, not quotes
    return " ".join(part for part in (_verdicts(own or due), row.found) if part)


def _verdicts(found: list[published.Claim]) -> str:
    """One for all where they agree, else one for each, by its id."""
    said = dict.fromkeys("measured on your machine" if c.here else _verdict(c) for c in found)
    if len(said) > 1:
        said = dict.fromkeys(f"`{c.id}` {_verdict(c)}" for c in found)
    return "".join(f"{each}. " for each in said).strip()


def _verdict(claim: published.Claim) -> str:
    """``right``, or what comes out instead."""
    if claim.verdict != "differs":
        return claim.verdict
    return f"{claim.verdict}: {verdicts.beside(claim.claimed, claim.computed)}"


def _line(lessons: Path, row: Row) -> str:
    cells = (row.says, outcome(row), _where(lessons, row), ", ".join(_heads(row)))
    return "| " + " | ".join(text.replace("|", r"\|") for text in cells) + " |\n"


def _where(lessons: Path, row: Row) -> str:
    """The notebook, the heading above the cell and a piece of it."""
    above = heading(lessons, row)
    part = "" if TITLE.match(above) else f"{above} "
    piece = row.cell.partition("\n")[0].strip("`")
    return f"[{row.page.replace('_', ' ')}]({row.page}.ipynb): {part}`{piece}`"


def _heads(row: Row) -> list[str]:
    return list(dict.fromkeys(id.partition(".")[0] for id in row.claims))


@cache
def _file(lessons: Path) -> dict[str, Any]:
    text = (lessons / "source" / "readings.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


@cache
def _cells(path: Path) -> list[str]:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells]
