"""Marks of a notebook: full ones for the solution, none for the stub, a hint for a wrong answer."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from lessons import build
from memlab import strings
from memlab.classroom import questions
from memlab.classroom.confinement import confined
from memlab.classroom.limits import MIB, Limits
from memlab.classroom.marking import grade_notebook
from memlab.classroom.running_submission import FunctionThere, RunningSubmission
from memlab.errors import InputError
from memlab.lesson import exercise_check
from memlab.lesson.exercise import SOLUTIONS
from memlab.lesson.exercise_task import tasks
from memlab.lesson.marked_text import plain
from tests.classroom.confined_here import LIMITS, full, solutions, write
from tests.lesson import wrong_answers
from tests.lesson.known import known

pytestmark = pytest.mark.measures  # starts processes

PATIENT = Limits(seconds=60, memory=1024 * MIB)
LESSONS = [path.stem for path in sorted(build.LESSONS.glob("??_*.ipynb"))]
PRACTICE = {"02_thumb_rule": "thumb_rule", "10_leak": "leak", "11_pairs": "pairs"}
"""Solved notebooks of the appendix, and the names they are handed out under."""
IN_BRIEF = ["01_linear", "04_cuda"]
"""Lessons that are always tried: arrays are measured, a kernel runs."""


def few(names):
    """The lessons, of which most take part in a full run alone."""
    return [name if name in IN_BRIEF else pytest.param(name, marks=full) for name in names]


def by_question(marks, kind="exercise"):
    return {mark.question: mark for mark in marks.marks if mark.kind == kind}


@pytest.mark.parametrize("name", few([*LESSONS, *PRACTICE]))
def test_the_solution_gets_full_marks(confinement, name):
    path, lesson = SOLUTIONS / f"{name}.ipynb", PRACTICE.get(name, "")
    marks = grade_notebook(path, 3, confinement, PATIENT, lesson)
    assert {mark.state for mark in marks.marks} == {"passed"}, marks.marks
    assert marks.marks
    assert not marks.ended
    measured = {"01.my_step", "10.means"}
    assert {q for q, mark in by_question(marks).items() if mark.peak is not None} <= measured


@pytest.mark.parametrize("name", few(LESSONS))
def test_the_stub_gets_no_mark_and_no_time_out(confinement, name):
    marks = grade_notebook(build.LESSONS / f"{name}.ipynb", 3, confinement, PATIENT)
    assert {mark.state for mark in marks.marks} == {"not tried"}, marks.marks
    assert not marks.ended


def test_a_wrong_answer_gets_the_hint_that_a_notebook_gives(confinement, tmp_path):
    code = "def kept(batch, inputs, hidden, outputs):\n    return 32 * batch\n"
    slip = "def my_step(x, t, w1, w2):\n    raise ZeroDivisionError('by \\x1b[31m0')\n"
    path = write(tmp_path / "01_linear.ipynb", code, slip)
    marks = by_question(grade_notebook(path, 5, confinement, LIMITS))
    space: dict[str, Any] = {}
    exec(code + slip, space)
    for name, mark in marks.items():
        task = tasks()[name]
        report = exercise_check.check(task, space[task.function], 5)
        assert mark.said == report.said.replace("\x1b", "\\x1b")
        assert mark.state == "failed"
        assert mark.slip == report.slip


def test_the_seed_decides_about_the_cases(confinement, tmp_path):
    code = "def kept(batch, inputs, hidden, outputs):\n    return batch\n"
    path = write(tmp_path / "01_linear.ipynb", code)
    graded = partial(grade_notebook, path, confinement=confinement, limits=LIMITS)
    one, again, other = (by_question(graded(seed))["01.kept"].said for seed in (1, 1, 2))
    assert one == again != other


def test_cards_are_marked_for_completion_alone(confinement, tmp_path):
    cells = [
        "from memlab import lesson",
        "lesson.recall('01.stays').guess('nothing of the kind')",
        "lesson.predict('01.peak').guess('backward', because='a\\x1b[31m').revise('forward')",
        "lesson.predict('01.gradients').skip()",
    ]
    marks = grade_notebook(write(tmp_path / "01.ipynb", *cells), 5, confinement, LIMITS)
    states = {name: mark.state for name, mark in by_question(marks, "card").items()}
    assert {name for name, state in states.items() if state == "passed"} == {"01.peak"}
    call = next(call for call in marks.calls if call.name == "01.peak")
    assert (call.guess, call.because, call.revision) == ("backward", "a\\x1b[31m", "forward")


def test_a_notebook_is_marked_by_the_last_function_of_the_name(confinement, tmp_path):
    right = next(cell for cell in solutions("13") if cell.startswith("def cache_bytes"))
    wrong = "def cache_bytes(*a, **k): return 0"
    for cells, state in (((wrong, right), "passed"), ((right, wrong), "failed")):
        path = write(tmp_path / "13.ipynb", *cells)
        marks = by_question(grade_notebook(path, 5, confinement, LIMITS))
        assert marks["13.cache_bytes"].state == state
        assert marks["13.passes"].state == "not tried"


def test_a_function_of_another_name_that_was_checked_is_marked(confinement, tmp_path):
    right = next(cell for cell in solutions("13") if cell.startswith("def cache_bytes"))
    cells = [
        right.replace("def cache_bytes", "def mine"),
        "from memlab import lesson\nlesson.exercise('13.cache_bytes').check(mine)",
    ]
    marks = by_question(
        grade_notebook(write(tmp_path / "13.ipynb", *cells), 5, confinement, LIMITS)
    )
    assert marks["13.cache_bytes"].state == "passed"


def test_a_peak_counts_only_where_the_source_shows_no_patching(confinement, tmp_path):
    cells = ["import numpy as np", *(c for c in solutions("01") if c.startswith("def "))]
    large = cells[-1].replace("):\n", "):\n    held = np.ones((100, *x.shape)) * x\n", 1)
    patch = (
        "from memlab.runtime.metering.meter import Meter, process_hook\n"
        "process_hook(); Meter.report = lambda *values: None"
    )
    states = {}
    for name, more in {"right": [], "large": [large], "patched": [large, patch]}.items():
        path = write(tmp_path / "01_linear.ipynb", *cells, *more)
        mark = by_question(grade_notebook(path, 5, confinement, LIMITS))["01.my_step"]
        states[name] = mark.state
        assert mark.peak is not None
        assert bool(mark.review) == (name == "patched")
    assert states == {"right": "passed", "large": "failed", "patched": "review"}
    assert "code cell 5: line 2 changes the attribute .report" in mark.review


def test_a_peak_is_that_of_a_notebook(confinement, tmp_path):
    cells = ["import numpy as np", *(c for c in solutions("01") if c.startswith("def my_step"))]
    path = write(tmp_path / "01_linear.ipynb", *cells)
    mark = by_question(grade_notebook(path, 5, confinement, LIMITS))["01.my_step"]
    space: dict[str, Any] = {}
    exec("\n".join(cells), space)
    task = tasks()["01.my_step"]
    asked = exercise_check.FunctionHere(task, space["my_step"])
    given = asked.answers(task.cases(Random(5)), measured=True)
    assert mark.peak == max(one.peak for one in given)


@full
def test_a_trusted_submission_ends_in_time_too(tmp_path):
    right = next(cell for cell in solutions("13") if cell.startswith("def cache_bytes"))
    loop = "def passes(square, each, fixed):\n    while True: pass"
    path = write(tmp_path / "13.ipynb", loop, right, "import os; os._exit(0)")
    limits = replace(LIMITS, seconds=2)
    with confined(limits, trusted=True) as trusted:
        marks = grade_notebook(path, 5, trusted, limits)
    states = {question: mark.state for question, mark in by_question(marks).items()}
    assert states == {"13.passes": "looped", "13.cache_bytes": "passed"}
    assert marks.ended == "Code cell 3 ended the process."


def test_what_lies_beside_a_notebook_is_not_imported(confinement, tmp_path):
    marker = tmp_path / "imported"
    for file in ("numpy.py", "memlab/__init__.py", "json.py", "sitecustomize.py"):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text(f"open({str(marker)!r}, 'w').write('imported')\nones = None")
    right = next(cell for cell in solutions("13") if cell.startswith("def cache_bytes"))
    cells = ["import numpy, memlab, json", "assert numpy.ones(1).sum() == 1", right]
    path = write(tmp_path / "13.ipynb", *cells)
    with confined(LIMITS, trusted=True) as trusted:
        for way in (confinement, trusted):
            marks = by_question(grade_notebook(path, 5, way, LIMITS))
            assert marks["13.cache_bytes"].state == "passed"
    assert not marker.exists()


def test_a_cell_that_fails_does_not_stop_the_next(confinement, tmp_path):
    right = next(cell for cell in solutions("13") if cell.startswith("def cache_bytes"))
    cells = ["1 / 0", "def f(:", "raise SystemExit", "%%bash\nls", "!ls", "input()", right]
    path = write(tmp_path / "13.ipynb", *cells)
    marks = by_question(grade_notebook(path, 5, confinement, LIMITS))
    assert marks["13.cache_bytes"].state == "passed"


def test_too_many_loops_leave_the_rest_unmarked(confinement, tmp_path):
    limits = replace(LIMITS, seconds=0.3, restarts=1)
    right = next(cell for cell in solutions("13") if cell.startswith("def cache_bytes"))
    path = write(tmp_path / "13.ipynb", *4 * ["while True: pass"], right)
    marks = grade_notebook(path, 5, confinement, limits)
    assert by_question(marks)["13.cache_bytes"].state == "error"
    assert marks.ended == "Code cells 1, 2 did not end within 0.3 s."


def test_a_file_that_is_no_notebook_gets_a_sentence_and_no_mark(confinement, tmp_path):
    path = tmp_path / "13_language_model.ipynb"
    path.write_text("no notebook")
    marks = grade_notebook(path, 5, confinement, LIMITS)
    assert {mark.state for mark in marks.marks} == {"not tried"}
    assert "is not graded: it is no notebook" in marks.ended


def test_an_unknown_lesson_is_an_error_of_whoever_grades(confinement):
    with pytest.raises(InputError, match="there is no lesson '99'"):
        grade_notebook(Path("99.ipynb"), 5, confinement, LIMITS)
    assert questions.of("02") == questions.of("02_network.ipynb")


def test_an_error_of_the_judge_is_no_mark(confinement, tmp_path, monkeypatch):
    def broken(*values):
        raise RuntimeError("planted")

    monkeypatch.setattr(exercise_check, "judge", broken)
    path = write(tmp_path / "13.ipynb", "def passes(): pass")
    mark = by_question(grade_notebook(path, 5, confinement, LIMITS))["13.passes"]
    assert (mark.state, "planted" in mark.review) == ("error", True)


# -- every wrong answer of the course -----------------------------------------------------------


ZOO_CELL = Path(wrong_answers.__file__).read_text(encoding="utf-8")


class Named(FunctionThere):
    """A function of another name, which the judge asks as that of the exercise."""

    name = ""

    def _asked(self, how, cases):
        return self.submission.ask(self.name, how, cases, self.task.run is not None)


def one_cell(task):
    """A function for each slip, with the parameters of the exercise."""
    names = ", ".join(task.parameters)
    passed = ", ".join(f"{word}={word}" for word in task.parameters)
    return "\n".join(
        f"def wrong_{number}({names}): return ZOO[{task.name!r}][{slip!r}]({passed})"
        for number, slip in enumerate(wrong_answers.ZOO[task.name])
    )


@full
@pytest.mark.parametrize("name", sorted(wrong_answers.ZOO))
def test_each_wrong_answer_of_the_course_gets_its_hint(confinement, name):
    task = known(name)
    cells = [ZOO_CELL, one_cell(task)]
    with RunningSubmission(cells, [False] * 2, [name], confinement, PATIENT) as there:
        for number, slip in enumerate(wrong_answers.ZOO[name]):
            asked = Named(task, there)
            asked.name = f"{task.lesson}.wrong_{number}"
            with strings.speaking(*task.parts):
                report = exercise_check.judge(task, asked, 3)
            assert not report.passed
            assert report.slip == slip
            assert plain(task.wording(f"slip.{slip.partition('.')[0]}")) in report.said
