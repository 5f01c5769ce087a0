"""A class is graded in processes; results are kept, whatever happens."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from memlab.classroom import judges
from memlab.classroom.batch import JUDGE, Batch, Terms, grade_class, jobs_here
from memlab.classroom.limits import Limits
from memlab.classroom.submissions import handed_in
from tests.classroom.handing_in import EXERCISE, grade, notebook, record, unstarted, write

ROOT = Path(__file__).resolve().parents[2]
CLASS = {
    "ada/02_network.ipynb": notebook("passed"),
    "bo/02_network.ipynb": notebook("failed"),
    "cy/02_network.ipynb": notebook("looped"),
}
INTERRUPTED = """
import sys
from pathlib import Path
from memlab.classroom.batch import Batch, Terms, grade_class
from memlab.classroom.limits import Limits
from memlab.classroom.submissions import handed_in
from tests.classroom.handing_in import grade, unstarted

if __name__ == "__main__":
    folder, batch = Path(sys.argv[1]), Batch()
    try:
        terms = Terms(grade, unstarted(), Limits(), 2)
        grade_class(batch, handed_in(folder), folder.parent / "parts", terms)
    except KeyboardInterrupt:
        print(len(batch.graded), "graded")
        sys.exit(130)
"""


@pytest.fixture
def folder(tmp_path):
    return write(tmp_path / "class", CLASS)


def graded(folder, jobs=1, limits=None, trusted=False, **more):
    """The batch, and the state of the exercise by learner."""
    parts, confined = folder.parent / "parts", unstarted(trusted)
    batch, terms = Batch(), Terms(grade, confined, limits or Limits(), jobs)
    grade_class(batch, handed_in(folder), parts, terms, **more)
    return batch, {
        one.submission.learner.name: mark.state
        for one in batch.graded for mark in one.marks.marks if mark.question == EXERCISE
    }  # fmt: skip


@pytest.mark.measures
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
    parts = [json.loads(path.read_text()) for path in (folder.parent / "parts").iterdir()]
    assert [part["key"]["seed"] for part in parts if part["learner"] == "cy"] == [3]


@pytest.fixture
def at_once(monkeypatch):
    """The notebooks that are graded, without a process."""
    asked = []

    def marked(work, grade, jobs, patience, tell):
        for place, one in enumerate(work):
            asked.append(one[0].parent.name)
            yield place, grade(*one), 0

    monkeypatch.setattr("memlab.classroom.batch.marked", marked)
    return asked


@pytest.mark.parametrize("other", [{"limits": Limits(seconds=5)}, {"trusted": True}])
def test_other_options_grade_again(folder, at_once, other):
    graded(folder)
    assert graded(folder)[0].kept == 3
    assert graded(folder, **other)[0].kept == 0
    assert at_once == 2 * ["ada", "bo", "cy"]


def test_another_version_grades_again(folder, at_once, monkeypatch):
    graded(folder)
    monkeypatch.setattr("memlab.__version__", "99")
    assert graded(folder)[0].kept == 0


@pytest.mark.parametrize("content", ["", "{", "[]", "null", '{"schema": "memlab.marks/1"}'])
def test_a_broken_result_is_graded_again(folder, at_once, content):
    graded(folder)
    for path in (folder.parent / "parts").iterdir():
        path.write_text(content)
    batch, states = graded(folder)
    assert (batch.kept, states["ada"]) == (0, "passed")


@pytest.mark.measures
def test_a_process_that_ends_costs_its_own_notebook_alone_and_is_tried_again(folder, capfd):
    endings = {"ada": "die", "bo": "raise"}
    for name, how in endings.items():
        write(folder, {f"{name}/02_network.ipynb": notebook(how)})
    batch, states = graded(folder, jobs=2)
    assert states == {"ada": "review", "bo": "review", "cy": "looped"}
    assert "02_network.ipynb: RuntimeError: of the grader's own" in capfd.readouterr().err
    (ada,) = (one for one in batch.graded if one.submission.learner.name == "ada")
    assert "without an answer" in ada.marks.ended
    assert {one.submission.learner.name for one in batch.graded if one.lost} == {*endings}
    for name in endings:
        write(folder, {f"{name}/02_network.ipynb": notebook("passed")})
    batch, states = graded(folder)
    assert (batch.kept, states["ada"]) == (1, "passed")


@pytest.mark.measures
def test_a_notebook_whose_marks_do_not_come_is_given_up(folder):
    write(folder, {"ada/02_network.ipynb": notebook("sleep 600")})
    judge = judges.Judge(grade)
    try:
        path = folder / "ada/02_network.ipynb"
        judge.begin(0, (path, 7, unstarted(), Limits(), "02"), patience=0.2)
        assert judges.ready([judge]) == [judge]
        assert judge.answer() == (None, 0)
    finally:
        judge.end()
    assert judge.process.exitcode != 0


def test_progress_names_what_is_running(folder, monkeypatch):
    told = []

    def marked(work, grade, jobs, patience, tell):
        for place in range(len(work)):
            tell([place])
            yield place, grade(*work[place]), 0

    monkeypatch.setattr("memlab.classroom.batch.marked", marked)
    graded(folder, tell=lambda done, of, running: told.append((done, of, running[0].learner.name)))
    assert told == [(0, 3, "ada"), (1, 3, "bo"), (2, 3, "cy")]


@pytest.mark.measures
@pytest.mark.skipif(sys.platform != "linux", reason="it looks for processes in /proc")
def test_ctrl_c_leaves_whole_results_and_no_process_and_the_next_call_goes_on(folder):
    write(folder, {f"slow{n}/02_network.ipynb": notebook("sleep 600") for n in range(3)})
    script, parts = folder.parent / "interrupted.py", folder.parent / "parts"
    script.write_text(INTERRUPTED)
    with subprocess.Popen(
        [sys.executable, str(script), str(folder)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, start_new_session=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as process:  # fmt: skip
        deadline = time.monotonic() + 60
        while len([*parts.glob("02*.json")]) < 3 and time.monotonic() < deadline:
            assert process.poll() is None
            time.sleep(0.05)
        time.sleep(0.2)  # until the last result is counted
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (130, "3 graded\n", "")
    assert len(children) >= 2
    while any(there := [Path(f"/proc/{child}").exists() for child in children]):
        assert time.monotonic() < deadline, there
        time.sleep(0.05)
    assert {path.suffix for path in parts.iterdir()} == {".json"}
    for path in folder.glob("slow*/02_network.ipynb"):
        path.write_text(notebook("passed"))
    batch, states = graded(folder)
    assert (batch.kept, len(states)) == (3, 6)


@pytest.mark.measures
@pytest.mark.skipif(sys.platform == "win32", reason="Windows masks no signals")
def test_ctrl_c_is_kept_from_the_first_process_too():
    script = (
        "import signal\nfrom multiprocessing import resource_tracker\n"
        "from memlab.classroom.judges import _no_interrupts\n"
        "with _no_interrupts():\n    resource_tracker.ensure_running()\n"
        "    assert signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, [])\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60, env=environment)


def test_as_many_at_once_as_cores_and_memory_allow(monkeypatch):
    from memlab import free_memory

    monkeypatch.setattr(free_memory, "cores", lambda: 8)
    one = Limits().memory + JUDGE
    for free, jobs in ((100 * one, 8), (3.5 * one, 3), (0, 1)):
        monkeypatch.setattr(free_memory, "free_memory", lambda free=free: int(free))
        assert jobs_here(Limits())[0] == jobs
