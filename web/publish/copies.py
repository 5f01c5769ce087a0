"""Copies of the learners' notebooks that Colab opens: ``python -m web.publish.copies FOLDER``.

Their first cell installs memlab where it is missing. The committed notebooks have no such cell: on
their first screen stands what the lesson is about.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from memlab.classroom.release import cleared
from memlab.errors import InputError
from memlab.lesson_folders import LESSONS
from web.publish.repository import NONE, Repository, repository

FOLDERS = ("", "appendix/", "[a-z][a-z]/")
CELL = """\
try:
    import memlab
except ImportError:
    %pip install --quiet "{package}"
"""
README = """\
# Notebooks for Colab

Copies of the lessons at {commit}, whose first cell installs memlab. They are written again when the
site is published: edit the files in `lessons/source` instead.
"""


def copy(notebook: bytes, where: Repository) -> str:
    """Return a notebook without outputs, with a first cell that installs memlab."""
    content: dict[str, Any] = json.loads(cleared(notebook))
    source = CELL.format(package=where.package).rstrip()
    content["cells"].insert(0, {
        "cell_type": "code", "id": "install", "metadata": {"tags": ["install"]},
        "execution_count": None, "outputs": [], "source": source.splitlines(keepends=True),
    })  # fmt: skip
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def write(folder: Path, where: Repository) -> int:
    """Write the copies of all notebooks, in the same folders, and return their number."""
    files = sorted(file for name in FOLDERS for file in LESSONS.glob(f"{name}[!.]*.ipynb"))
    for file in files:
        target = folder / "lessons" / file.relative_to(LESSONS)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(copy(file.read_bytes(), where), encoding="utf-8")
    (folder / "README.md").write_text(README.format(commit=where.commit), encoding="utf-8")
    return len(files)


def main(arguments: list[str]) -> int:
    """Write the copies and say how many; return the exit status."""
    try:
        where = repository()
        if where is None:
            raise InputError(NONE)
        print(f"{write(Path(*arguments), where)} notebooks for Colab.")
    except InputError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
