"""The line of a check that takes long: beforehand, while it works, and gone at the end."""

from __future__ import annotations

import sys
import threading
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from memlab import strings
from memlab.lesson import exercise_check, notebook_cells, progress_line
from memlab.lesson.exercise_task import ExerciseTask, tasks
from memlab.lesson.progress_line import WorkingLine

SECONDS = 60
"""The longest that a test waits for a line: five times what it takes anywhere."""


def test_a_line_is_there_at_once_goes_on_and_is_gone_at_the_end(monkeypatch):
    monkeypatch.setattr(progress_line, "PACE", 0.001)
    shown: list[str] = []
    twice = threading.Event()

    def show(text: str) -> None:
        shown.append(text)
        if len(shown) == 2:
            twice.set()

    with WorkingLine(lambda seconds: f"{seconds} s", True, show):
        assert twice.wait(SECONDS)
    assert set(shown[:2]) <= {f"{n} s" for n in range(SECONDS)}
    assert shown[-1] == ""
    count = len(shown)
    threading.Event().wait(0.01)
    assert len(shown) == count


def test_what_is_quick_shows_nothing_and_so_does_what_is_stored():
    shown: list[str] = []
    with WorkingLine(str, False, shown.append):
        pass
    with WorkingLine(str, True, None):
        pass
    assert shown == []


def test_without_threads_nothing_is_shown(monkeypatch):
    def refuses(self: Any) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuses)
    shown: list[str] = []
    with WorkingLine(str, True, shown.append):
        pass
    assert shown == []


def test_a_notebook_shows_one_output_that_is_empty_in_the_end(monkeypatch):
    outputs: list[list[Any]] = []

    def display(bundle: Any, raw: bool, display_id: bool) -> Any:
        assert (raw, display_id) == (True, True)
        output = [bundle]
        outputs.append(output)
        return SimpleNamespace(update=lambda bundle, raw: output.append(bundle))

    monkeypatch.setattr(notebook_cells, "running", lambda: notebook_cells.Cell("a", 1))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    show = progress_line.line_display()
    assert show is not None
    for text in ("1 s", "2 s", ""):
        show(text)
    assert outputs == [[{"text/plain": "1 s"}, {"text/plain": "2 s"}, {"text/plain": ""}]]


def test_a_terminal_shows_one_line_and_what_is_stored_none(monkeypatch, capsys):
    monkeypatch.setattr(notebook_cells, "running", lambda: None)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    show = progress_line.line_display()
    assert show is not None
    show("1 s")
    show("")
    assert capsys.readouterr().err == "\r\x1b[K1 s\r\x1b[K"
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False, raising=False)
    assert progress_line.line_display() is None


# -- of a check -----------------------------------------------------------------------------------


def lines_of(monkeypatch: pytest.MonkeyPatch, task: ExerciseTask) -> list[tuple[str, bool]]:
    """The line that a check would show, and whether at once."""
    lines: list[tuple[str, bool]] = []

    class Line:
        def __init__(self, said: Any, at_once: bool, show: Any) -> None:
            lines.append((said(1), at_once))

        def __enter__(self) -> None: ...

        def __exit__(self, *error: object) -> None: ...

    monkeypatch.setattr(exercise_check, "WorkingLine", Line)
    exercise_check.check(task, lambda card, fixed, each: max(0, (card * 10**9 - fixed) // each), 0)
    return lines


@pytest.mark.parametrize(("seconds", "at_once"), [(0, False), (2, False), (15, True)])
def test_a_check_that_takes_long_says_so_beforehand(monkeypatch, seconds, at_once):
    monkeypatch.setattr(exercise_check, "_last_seconds", {})
    task = replace(tasks()["00.images_that_fit"], seconds=seconds)
    key = "working_about" if at_once else "working"
    more = {"most": seconds} if at_once else {}
    said = strings.get(f"exercise.check.{key}", name="images_that_fit", count=60, seconds=1, **more)
    assert lines_of(monkeypatch, task) == [(said, at_once)]


def test_the_check_before_tells_how_long_the_next_one_takes(monkeypatch):
    monkeypatch.setattr(exercise_check, "_last_seconds", {"00.images_that_fit": 7})
    ((said, at_once),) = lines_of(monkeypatch, tasks()["00.images_that_fit"])
    assert at_once
    assert "about 7 s" in said


def test_those_that_take_long_are_known():
    assert {name for name, task in tasks().items() if task.seconds} == {
        "01.my_step",
        "08.checkpoints",
        "09.offloaded",
        "11.cheapest_pair",
    }


def test_a_stub_is_told_without_a_truth(monkeypatch):
    def slow(**case: Any) -> Any:
        raise AssertionError("nobody needs the truth of a stub")

    task = replace(tasks()["01.my_step"], truth=slow)
    monkeypatch.setattr(ExerciseTask, "parameters", ("x", "t", "w1", "w2"))
    for answer in (None, ..., "1 B"):
        report = exercise_check.check(task, lambda x, t, w1, w2, answer=answer: answer)
        assert not report.passed
