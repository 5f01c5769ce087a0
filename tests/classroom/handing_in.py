"""Folders of what learners hand in, and a grader that marks by the first cell of a notebook."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path

from memlab.classroom.confinement import Confinement
from memlab.classroom.marks import CardCall, NotebookMarks, QuestionMark

LESSON = "02_network"
CARD, EXERCISE = "02.halve", "02.largest_batch"
TOLD = "Not yet: 3 of 60 fresh cases disagree.\nThe smallest of them is a 1. There f gave 2.\nWhy?"


def unstarted(trusted=False):
    """A way to run submissions that is never started."""
    return Confinement(Path("nowhere"), "" if trusted else "bwrap", False, None)


def notebook(code="passed", lesson=None):
    """The bytes of a notebook of one cell."""
    metadata = {} if lesson is None else {"memlab": {"lesson": lesson}}
    cell: dict[str, object] = {
        "cell_type": "code", "source": [code], "outputs": [], "metadata": {}, "id": "a",
        "execution_count": None,
    }  # fmt: skip
    return json.dumps({"cells": [cell], "metadata": metadata, "nbformat": 4, "nbformat_minor": 5})


def record(seed=7, cards=None, exercises=None):
    """The bytes of a progress file."""
    facts = {
        "schema": "memlab.progress/1",
        "seed": seed,
        "cards": cards or {},
        "exercises": exercises or {},
    }
    return json.dumps(facts)


def turn(guess="2", right=True, **more):
    return {"at": "2026-01-01T00:00:00+00:00", "guess": guess, "right": right, **more}


def write(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files below a folder, by their path there."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def grade(path, seed, confinement, limits, lesson):
    """Mark a notebook by what its first cell says: a state, or what goes wrong."""
    said = "".join(json.loads(path.read_text())["cells"][0]["source"])
    if said == "die":
        os._exit(3)
    if said == "raise":
        raise RuntimeError("of the grader's own")
    if said.startswith("sleep"):
        time.sleep(float(said.split()[1]))
        said = "passed"
    marks = (
        QuestionMark(CARD, "card", "not tried"),
        QuestionMark(
            EXERCISE,
            "exercise",
            said,
            TOLD if said == "failed" else "",
            review="it sets np.empty" if said == "review" else "",
        ),
    )
    calls = (CardCall(CARD, "2", "by <b>halves</b>"),) if said == "passed" else ()
    ended = "A cell looped." if said == "looped" else ""
    return NotebookMarks(lesson, marks, calls, 0.1, 5_000_000, ended)
