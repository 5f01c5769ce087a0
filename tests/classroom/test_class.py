"""A class is graded with the command, as an instructor does: with three learners here, and with 100
folders, interrupted and resumed, where ``MEMLAB_CLASSROOM=full``."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.classroom.class_of import HOSTILE, hand_in, kinds
from tests.classroom.confined_here import full, need_bubblewrap
from tests.classroom.handing_in import CARD, EXERCISE

pytestmark = pytest.mark.measures

ROOT = Path(__file__).resolve().parents[2]
LIMITS = ["--seconds", "10", "--memory", "600MB"]
STATES = {"solved": "passed", "stub": "not tried", "wrong": "failed", "equal": "failed"}
STATES |= dict.fromkeys(("loop", "memory", "exit"), "passed")
"""The state of the exercise. Who loops in another cell has solved it before; after a fork bomb, the
processes that answer may be too many to be heard."""
ENDED = {
    "loop": "Code cell 13 did not end within 10 s.",
    "memory": "Code cell 13 asked for more than",
    "exit": "Code cell 13 ended the process.",
}
"""What the report says of the cell behind the solution."""


def started(folder, *words):
    """The command, in a session of its own, on a folder; its table stands beside the folder."""
    line = ["-m", "memlab", "grade", str(folder), "--csv", str(folder.parent / "m.csv"), "--json"]
    return subprocess.Popen(
        [sys.executable, *line, *LIMITS, *words], start_new_session=True, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip


def graded(folder, *words):
    """The facts that the command prints, and the rows of its table by learner and question."""
    process = started(folder, *words)
    out, err = process.communicate(timeout=3600)
    assert (process.returncode, err) == (0, "")
    with open(folder.parent / "m.csv", encoding="utf-8-sig", newline="") as file:
        rows = {(row["learner"], row["question"]): row for row in csv.DictReader(file)}
    return json.loads(out), rows


def test_three_learners_are_graded_and_a_second_call_keeps_their_marks(tmp_path):
    need_bubblewrap()
    folder, made = tmp_path / "class", kinds()
    hand_in(folder, {name: made[name] for name in ("solved", "stub", "wrong")})
    facts, rows = graded(folder)
    assert {name: rows[name, EXERCISE]["state"] for name in ("solved", "stub", "wrong")} == {
        name: STATES[name] for name in ("solved", "stub", "wrong")
    }
    every = {row["state"] for (name, _), row in rows.items()
             if name == "solved" and row["kind"] == "exercise"}  # fmt: skip
    assert every == {"passed"}
    wrong = rows["wrong", EXERCISE]
    assert "smallest" in wrong["smallest failing case"]
    assert wrong["hint"]
    assert (wrong["hints used"], wrong["attempts"], wrong["seed"]) == ("1", "3", "2")
    assert rows["stub", CARD]["points"] == "1"
    assert "reason 1" in (tmp_path / "m-reasons.md").read_text(encoding="utf-8")
    assert (tmp_path / "m-canvas.csv").exists()
    assert (tmp_path / "m-moodle.csv").exists()
    again, same = graded(folder)
    assert (facts["graded"], again["graded"], again["kept"]) == (3, 0, 3)
    assert same == rows


@full
def test_a_class_of_100_is_graded_interrupted_and_resumed(tmp_path, capsys):
    need_bubblewrap()
    folder, made = tmp_path / "class", kinds()
    rare = [name for name in made if name in HOSTILE]
    often = ["solved", "solved", "wrong", "stub"]
    who = {f"{n:03}-{kind}": made[kind] for n, kind in
           enumerate([*rare, *(often[n % 4] for n in range(100 - len(rare)))])}  # fmt: skip
    hand_in(folder, who)
    parts, start = tmp_path / "m.csv.parts", time.monotonic()
    process = started(folder)
    while len([*parts.glob("*.json")]) < 40:
        assert process.poll() is None
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "the same command goes on" in err
    kept = len([*parts.glob("*.json")])
    assert {path.suffix for path in parts.iterdir()} == {".json"}
    assert not (tmp_path / "m.csv").exists()
    for path in parts.iterdir():
        json.loads(path.read_bytes())
    facts, rows = graded(folder)
    assert (facts["kept"], facts["graded"]) == (kept, 100 - kept)
    for name in who:
        kind = name.partition("-")[2]
        state = rows[name, EXERCISE]["state"]
        assert state == STATES.get(kind, state), name
    said = " ".join(facts["sentences"])
    for kind, sentence in ENDED.items():
        (name,) = (name for name in who if name.endswith(f"-{kind}"))
        assert f"{name}, 02_network: {sentence}" in said
    with capsys.disabled():
        print(f"\n100 folders, interrupted after {kept}: {time.monotonic() - start:.0f} s, "
              f"{facts['at_once']} at once; largest worker {facts['largest_worker_bytes']:,} B, "
              f"largest judge {facts['largest_judge_bytes']:,} B")  # fmt: skip
