"""Write the table of what to cut: `python -m lessons.cuts`.

Each page for instructors has a plan of 25 minutes and one of 10, with what they leave out. The
table in `docs/syllabi.md` gathers them, so that a class is planned on one page.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from lessons import build, cost
from lessons.stored import LessonError
from memlab import atomic_files

PAGE = build.LESSONS.parent / "docs" / "syllabi.md"
BEGIN, END = "<!-- cuts: python -m lessons.cuts writes this table -->\n", "<!-- end of cuts -->\n"
SHORT = re.compile(
    r"^\*\*25 minutes\.\*\* (?P<cut>.+?)\n\n.*?"
    r"^\*\*10 minutes\*\* as a demonstration(?P<rest>.*?)(?=<!--|\Z)",
    re.MULTILINE | re.DOTALL,
)
"""Both short plans, below the heading What to cut."""
NAME = re.compile(r"`(\d\d\.\w+)`")


def table(lessons: Path = build.LESSONS) -> str:
    """Return the table, one row for each lesson."""
    heads = ("lesson", "whole", "in 25 minutes", "in 10 minutes, shown by you, keep")
    lines = [heads, ("---", "---:", "---", "---"), *rows(lessons)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def rows(lessons: Path) -> Iterator[tuple[str, str, str, str]]:
    """Yield the cells of each row: the page for instructors, minutes, what to cut, what to keep."""
    for source in cost.lessons():
        number = source.stem[:2]
        text = source.read_text(encoding="utf-8")
        title, minutes = cost.TITLE.findall(text)[0], cost.MINUTES.findall(text)[0]
        cut, kept = short_plans((lessons / "instructor" / f"{number}.md").read_text("utf-8"))
        link = f"[{title}](../lessons/instructor/{number}.md)"
        yield link, f"{minutes} min", cut, ", ".join(f"`{name}`" for name in kept)


def short_plans(page: str) -> tuple[str, list[str]]:
    """Return what the plan of 25 minutes leaves out, and the cards of the plan of 10 minutes."""
    found = SHORT.search(page.partition("\n## What to cut\n")[2])
    if found is None:
        raise LessonError(f"{page.partition(chr(10))[0]} has no plans of 25 and 10 minutes.")
    _, _, plan = found["rest"].partition("\n|")
    return " ".join(found["cut"].split()), list(dict.fromkeys(NAME.findall(plan)))


def page() -> str:
    """Return the page of the syllabi with the table as it should be."""
    before, begin, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    return f"{before}{begin}{table()}{end}{after}"


def main() -> int:
    """Write the table into its page."""
    atomic_files.write(PAGE, page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
