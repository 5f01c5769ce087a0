"""Hostile notebooks change nothing, end within their limits, and cost no other question a mark."""

import os
import socket
import time
from pathlib import Path

import pytest

from memlab.classroom import control_groups
from memlab.classroom.limits import MIB
from memlab.classroom.marking import grade_notebook
from tests.classroom.confined_here import LIMITS, write
from tests.classroom.hostile import HOSTILE, SOLVED

pytestmark = pytest.mark.measures  # starts processes

PROCESSES = Path("/proc")
AT_MOST = 3 * LIMITS.seconds + 12
"""Seconds for one notebook: what loops is stopped, then the process starts again."""


def marks_of(path, confinement, lesson="13"):
    marks = grade_notebook(path, 7, confinement, LIMITS, lesson)
    return marks, {mark.question: mark for mark in marks.marks}


def groups_left():
    """The control groups of submissions that are still there."""
    folders = control_groups.find()
    return (
        []
        if folders is None
        else [*folders.memory.glob("memlab-*"), *folders.pids.glob("memlab-*")]
    )


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_notebook_changes_nothing(confinement, tmp_path, name):
    cells, states = HOSTILE[name]
    canary = tmp_path / "canary"
    canary.write_text("sings")
    with socket.create_server(("127.0.0.1", 0)) as server:
        known = {
            "CANARY": repr(str(tmp_path)),
            "PORT": server.getsockname()[1],
            "GRADER": os.getpid(),
        }
        head = "\n".join(f"{key} = {value}" for key, value in known.items())
        path = write(tmp_path / "13_language_model.ipynb", head, *cells, SOLVED)
        begin, before = time.monotonic(), {entry.name for entry in tmp_path.iterdir()}
        marks, by_name = marks_of(path, confinement)
        seconds = time.monotonic() - begin
    assert by_name["13.passes"].state in states, by_name
    assert by_name["13.cache_bytes"].state == "passed", (by_name, marks.ended)
    assert seconds < AT_MOST
    assert marks.peak_memory is None or marks.peak_memory <= LIMITS.memory + 4 * MIB
    assert canary.read_text() == "sings"
    assert {entry.name for entry in tmp_path.iterdir()} == before
    assert not groups_left()
