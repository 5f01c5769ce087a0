"""A class is graded in processes; results are kept, whatever happens."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from memlab.classroom.batch import JUDGE, Batch, grade_class, jobs_here
from memlab.classroom.limits import Limits
from memlab.classroom.submissions import handed_in
from tests.classroom.handing_in import EXERCISE, LESSON, Confined, grade, notebook, record, write

pytestmark = pytest.mark.measures

CLASS = {
    "ada/02_network.ipynb": notebook("passed"),
    "bo/02_network.ipynb": notebook("failed"),
    "cy/02_network.ipynb": notebook("looped"),
}


@pytest.fixture
def folder(tmp_path):
    return write(tmp_path / "class", CLASS)


def graded(folder, jobs=2, limits=None, trusted=False, **more):
    batch = grade_class(
        handed_in(folder),
        folder.parent / "parts",
        Confined(trusted),
        limits or Limits(),
        jobs,
        grade,
        **more,
    )
    return batch, {
        one.submission.learner.name: {mark.question: mark.state for mark in one.marks.marks}[
            EXERCISE
        ]
        for one in batch.graded
    }


def test_every_result_is_kept_and_only_what_changed_is_graded_again(folder):
    batch, states = graded(folder)
    assert states == {"ada": "passed", "bo": "failed", "cy": "looped"}
    assert batch.kept == 0
    assert batch.judge_memory > 10**7
    first = {one.submission.learner.name: one.marks for one in batch.graded}
    again, states = graded(folder)
    assert again.kept == 3
    assert {one.submission.learner.name: one.marks for one in again.graded} == first
    (folder / "bo/02_network.ipynb").write_text(notebook("passed"))
    write(folder, {"cy/progress.json": record(seed=3)})
    changed, states = graded(folder)
    assert changed.kept == 1
    assert states["bo"] == "passed"
    part = next(path for path in (folder.parent / "parts").iterdir() if '"cy"' in path.read_text())
    assert json.loads(part.read_text())["key"]["seed"] == 3


@pytest.mark.parametrize("other", [{"limits": Limits(seconds=5)}, {"trusted": True}])
def test_other_options_grade_again(folder, other):
    graded(folder)
    assert graded(folder, **other)[0].kept == 0


def test_a_broken_result_is_graded_again(folder):
    graded(folder)
    for path, content in zip(
        sorted((folder.parent / "parts").iterdir()), ("{", "[]", '{"schema": 1}'), strict=True
    ):
        path.write_text(content)
    batch, states = graded(folder)
    assert batch.kept == 0
    assert states["ada"] == "passed"


@pytest.mark.parametrize("how", ["die", "raise"])
def test_a_process_that_ends_costs_its_own_notebook_alone_and_is_tried_again(folder, how, capfd):
    (folder / "ada/02_network.ipynb").write_text(notebook(how))
    batch, states = graded(folder, jobs=1)
    assert states == {"ada": "review", "bo": "failed", "cy": "looped"}
    assert ("RuntimeError" in capfd.readouterr().err) == (how == "raise")
    (ada,) = (one for one in batch.graded if one.submission.learner.name == "ada")
    assert "without an answer" in ada.marks.ended
    assert graded(folder)[0].kept == 2


def test_a_notebook_whose_marks_do_not_come_is_given_up(folder, monkeypatch):
    monkeypatch.setattr("memlab.classroom.batch.PATIENCE", 2.5)
    (folder / "ada/02_network.ipynb").write_text(notebook("sleep 600"))
    start = time.monotonic()
    _, states = graded(folder, jobs=1, limits=Limits(seconds=0.001))
    assert states == {"ada": "review", "bo": "failed", "cy": "looped"}
    assert time.monotonic() - start < 30


def test_progress_names_what_is_running(folder):
    told = []
    graded(
        folder,
        jobs=2,
        tell=lambda done, total, running: told.append(
            (done, total, [one.learner.name for one in running])
        ),
    )
    assert told[0] == (0, 3, ["ada", "bo"])
    assert {name for _, _, names in told for name in names} == {"ada", "bo", "cy"}


INTERRUPTED = """
import sys
from pathlib import Path
from memlab.classroom.batch import Batch, grade_class
from memlab.classroom.limits import Limits
from memlab.classroom.submissions import handed_in
from tests.classroom.handing_in import Confined, grade

if __name__ == "__main__":
    folder, batch = Path(sys.argv[1]), Batch()
    try:
        grade_class(handed_in(folder), folder.parent / "parts", Confined(), Limits(), 2, grade,
                    batch=batch)
    except KeyboardInterrupt:
        print(len(batch.graded), "graded")
        sys.exit(130)
"""


def alive(marker):
    """The processes whose command names a folder of this test."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if marker.encode() in path.read_bytes():
                found.append(path)
        except OSError:
            continue
    return found


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is another signal there")
def test_ctrl_c_leaves_whole_results_and_no_process_and_the_next_call_goes_on(folder):
    for n in range(3):
        write(folder, {f"slow{n}/02_network.ipynb": notebook("sleep 600")})
    script = folder.parent / "interrupted.py"
    script.write_text(INTERRUPTED)
    command = [sys.executable, str(script), str(folder)]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        cwd=Path(__file__).parents[2],
    )
    parts = folder.parent / "parts"
    deadline = time.monotonic() + 60
    while len([*parts.glob("02*.json")]) < 3 and time.monotonic() < deadline:
        time.sleep(0.05)
    children = [
        int(word)
        for path in Path(f"/proc/{process.pid}/task").glob("*/children")
        for word in path.read_text().split()
    ]
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (130, "3 graded\n", "")
    assert len(children) >= 2
    assert not [child for child in children if Path(f"/proc/{child}").exists()]
    assert not [path for path in parts.iterdir() if path.suffix != ".json"]
    for path in folder.glob("slow*/02_network.ipynb"):
        path.write_text(notebook("passed"))
    batch, states = graded(folder)
    assert (batch.kept, len(states)) == (3, 6)


def test_as_many_at_once_as_cores_and_memory_allow(monkeypatch):
    from memlab import free_memory

    monkeypatch.setattr(free_memory, "cores", lambda: 8)
    one = Limits().memory + JUDGE
    for free, jobs in ((100 * one, 8), (3.5 * one, 3), (0, 1)):
        monkeypatch.setattr(free_memory, "free_memory", lambda free=free: int(free))
        assert jobs_here(Limits())[0] == jobs
