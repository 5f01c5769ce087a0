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


def with_code(*codes: str, lesson: str = LESSON) -> str:
    """The released notebook with more cells before its check."""
    notebook = stub(lesson)
    place = next(n for n, one in enumerate(notebook["cells"]) if "check(" in "".join(one["source"]))
    notebook["cells"][place:place] = [
        {
            "cell_type": "code", "id": f"own-{number}", "metadata": {}, "outputs": [],
            "execution_count": None, "source": code.splitlines(keepends=True),
        }
        for number, code in enumerate(codes)
    ]  # fmt: skip
    return json.dumps(notebook)


def kinds() -> dict[str, str]:
    """The notebooks of learners by what they did."""
    code = solution_of(tasks()[EXERCISE])
    assert code is not None
    hostile = {name: with_code(code, more) for name, more in HOSTILE.items()}
    one = {"solved": with_code(code), "wrong": with_code(WRONG), "stub": json.dumps(stub())}
    return {**one, **hostile}


def hand_in(folder: Path, who: Mapping[str, str]) -> None:
    """Write a folder for each learner, from names to notebooks; every one answered a card."""
    for number, (name, notebook) in enumerate(who.items()):
        (folder / name).mkdir(parents=True)
        (folder / name / f"{LESSON}.ipynb").write_text(notebook, encoding="utf-8")
        cards = {CARD: [turn("2", False, because=f"reason {number}")]}
        checks = {"checks": 3, "passed": None, "hints": 1, "solution": None}
        progress = record(number, cards, {EXERCISE: checks})
        (folder / name / "progress.json").write_text(progress, encoding="utf-8")
