"""Folders of the lessons and of the files that belong to them.

In a checkout they stand beside the package ``memlab``; a wheel has them inside of it, without what
they are made from (``pyproject.toml`` says so).
"""

from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
CHECKOUT = None if (PACKAGE / "lessons").is_dir() else PACKAGE.parent
"""The folder of the repository; None where memlab was installed from a wheel."""
LESSONS = (CHECKOUT or PACKAGE) / "lessons"
"""Notebooks, solutions, images, recorded figures, the lecture and the pages for instructors."""


def requirement(extras: str) -> str:
    """Argument of pip that installs these extras: in a checkout, called in its folder."""
    return f'-e ".[{extras}]" -c constraints.txt' if CHECKOUT else f'"memlab[{extras}]"'
