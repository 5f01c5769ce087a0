"""Folders of the lessons and their material.

In a checkout they stand beside the package ``memlab``; a wheel contains them, without the sources
that they are made from (``pyproject.toml`` says so).
"""

from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
CHECKOUT = None if (PACKAGE / "lessons").is_dir() else PACKAGE.parent
"""The folder of the repository; None where memlab was installed from a wheel."""
LESSONS = (CHECKOUT or PACKAGE) / "lessons"
"""Notebooks, solutions, images, recorded figures, the lecture and the pages for instructors."""


def requirement(extras: str) -> str:
    """Return the argument of ``pip install`` for these extras; in a checkout, for a call in its
    folder."""
    return f'-e ".[{extras}]" -c constraints.txt' if CHECKOUT else f'"memlab[{extras}]"'
