"""Hostile notebooks change nothing, end within their limits, and cost no other question a mark."""

import os
import socket
import time
from dataclasses import replace

import pytest

from memlab.classroom import control_groups
from memlab.classroom.limits import MIB
from memlab.classroom.marking import grade_notebook
from tests.classroom.confined_here import LIMITS, full, write
from tests.classroom.hostile import HOSTILE, MORE, SOLVED

pytestmark = pytest.mark.measures  # starts processes

SECOND_FORMS = {"endless loop in a cell", "one large array", "fork bomb that ends"}
NAMES = [pytest.param(name, marks=full) if name in SECOND_FORMS else name for name in HOSTILE]
AT_MOST = 30
"""Seconds for one notebook on a busy machine, where it takes at most 5 on an idle one."""


def limits_of(name):
    """What loops uses up its seconds; the others are patient, for the machine is busy."""
    return replace(LIMITS, seconds=2) if "loop" in name or "bomb" in name else LIMITS


def marks_of(path, confinement, limits):
    marks = grade_notebook(path, 7, confinement, limits)
    return marks, {mark.question: mark for mark in marks.marks}


def groups_left():
    """The control groups of this process's submissions that are still there: one goes when its last
    process has ended."""
    own = f"memlab-{os.getpid()}-*"
    folders = control_groups.find()
    return [] if folders is None else [*folders.memory.glob(own), *folders.pids.glob(own)]


@pytest.mark.parametrize("name", NAMES)
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
        marks, by_name = marks_of(path, confinement, limits_of(name))
        seconds = time.monotonic() - begin
    assert by_name["13.passes"].state in states, by_name
    assert by_name["13.cache_bytes"].state == "passed", (by_name, marks.ended)
    assert seconds < AT_MOST
    assert marks.peak_memory is None or marks.peak_memory <= LIMITS.memory + 4 * MIB
    assert canary.read_text() == "sings"
    assert {entry.name for entry in tmp_path.iterdir()} == before
    assert not groups_left()


@full
@pytest.mark.parametrize("name", MORE)
def test_more_attacks_end_in_time_and_say_nothing_to_a_terminal(confinement, tmp_path, name):
    cells, states, other = MORE[name]
    path = write(tmp_path / "13_language_model.ipynb", *cells, SOLVED)
    limits = replace(LIMITS, seconds=3)
    begin = time.monotonic()
    marks, by_name = marks_of(path, confinement, limits)
    assert time.monotonic() - begin < AT_MOST
    assert by_name["13.passes"].state in states, by_name
    if other is not None:
        assert (by_name["13.cache_bytes"].state == "passed") == other, by_name
    told = "".join(f"{mark.said}{mark.review}" for mark in marks.marks) + marks.ended
    assert told.replace("\n", "").isprintable()
    assert not groups_left()
