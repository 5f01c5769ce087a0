"""The cells of docs/in-your-course.md as they stand, and what the page says that they show."""

import re
from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).resolve().parents[1] / "docs/in-your-course.md"
BLOCK = re.compile(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```)?", re.DOTALL)


class Cell(NamedTuple):
    """A cell, its last line, which a notebook shows, and what it shows: empty where the page does
    not say."""

    source: str
    last: str
    shows: str


def cells() -> list[Cell]:
    """Every cell of the page, in its order."""
    found = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    return [Cell(source, source.strip().splitlines()[-1], shows) for source, shows in found]


def fits(text: str, shows: str) -> bool:
    """Whether a text is what the page shows, in which three points stand for anything."""
    pattern = re.escape(" ".join(shows.split())).replace(re.escape("..."), ".*")
    return re.fullmatch(pattern, " ".join(text.split())) is not None
