"""A class of learners, made of the solution, the stub, wrong answers and hostile notebooks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memlab.classroom.release import contents
from memlab.lesson.exercise import solution_of
from memlab.lesson.exercise_task import tasks
from tests.classroom.handing_in import CARD, EXERCISE, LESSON, record, turn

WRONG = "def largest_batch(memory, fixed, each):\n    return (memory - max(fixed)) // max(each)"
HOSTILE = {
    "loop": "while True:\n    pass",
    "memory": "held = [bytearray(10**7) for _ in range(10**5)]",
    "forks": "import os\nwhile True:\n    os.fork()",
    "exit": "import os\nos._exit(0)",
    "equal": (
        "class Equal(int):\n    def __eq__(self, other):\n        return True\n\n"
        "def largest_batch(memory, fixed, each):\n    return Equal(1)"
    ),
}


def stub(lesson: str = LESSON) -> dict[str, Any]:
    """The released notebook of a lesson."""
    notebook: dict[str, Any] = json.loads(contents([lesson])[f"{lesson}.ipynb"])
    return notebook


def with_code(code: str, lesson: str = LESSON) -> str:
    """The released notebook with one more cell before its checks."""
    notebook = stub(lesson)
    cell: dict[str, Any] = {"cell_type": "code", "id": "own", "metadata": {}, "outputs": [],
            "execution_count": None, "source": code.splitlines(keepends=True)}  # fmt: skip
    places = [n for n, each in enumerate(notebook["cells"]) if "check(" in "".join(each["source"])]
    notebook["cells"].insert(places[0], cell)
    return json.dumps(notebook)


def solved() -> str:
    """The released notebook with the solution of its exercise."""
    code = solution_of(tasks()[EXERCISE])
    assert code is not None
    return with_code(code)


def kinds() -> dict[str, str]:
    """The notebooks of learners by what they did."""
    hostile = {name: with_code(code) for name, code in HOSTILE.items()}
    return {"solved": solved(), "stub": json.dumps(stub()), "wrong": with_code(WRONG), **hostile}


def hand_in(folder: Path, who: Mapping[str, str]) -> None:
    """Write a folder for each learner, from names to notebooks; every one answered a card."""
    for number, (name, notebook) in enumerate(who.items()):
        (folder / name).mkdir(parents=True)
        (folder / name / f"{LESSON}.ipynb").write_text(notebook, encoding="utf-8")
        cards = {CARD: [turn("2", False, because=f"reason {number}")]}
        checks = {"checks": 3, "passed": None, "hints": 1, "solution": None}
        progress = record(number, cards, {EXERCISE: checks})
        (folder / name / "progress.json").write_text(progress, encoding="utf-8")
