"""What is not quick is refused among the quick tests, and runs where it is marked."""

import re
import subprocess
import sys

import pytest

from tests import quick, run

pytestmark = pytest.mark.measures

PLANTED = """
import subprocess
import sys
import time

import pytest
from memlab.kernels.cpu.compile import compiled
from tests import quick

@compiled
def twice(x):
    return 2 * x

@pytest.fixture(scope="module")
def opened():
    return subprocess.run([sys.executable, "-c", ""])

def test_compiles():
    assert twice(3) == 6

def test_hides_that_it_compiles():
    try:
        twice(3)
    except AssertionError:
        pass

def test_compiles_too_where_another_has_done_so():
    assert twice(3) == 6

def test_starts_a_process():
    subprocess.run([sys.executable, "-c", ""])

def test_has_a_process(opened):
    pass

def test_takes_long(monkeypatch):
    monkeypatch.setattr(quick, "SECONDS", 0.05)
    end = time.thread_time() + 0.1
    while time.thread_time() < end:
        pass

def test_does_nothing():
    pass

def test_looks_for_fonts():
    try:
        subprocess.run(["fc-list", "--version"])
    except OSError:
        pass

@pytest.mark.measures
def test_may(opened):
    assert twice(3) == 6

@pytest.mark.parametrize("x", quick.apart([1, 2], lambda x: x == 2))
def test_some_may(x):
    assert x == 1 or twice(x) == 4
"""
REFUSED = {
    *("compiles", "hides_that_it_compiles", "compiles_too_where_another_has_done_so"),
    *("starts_a_process", "has_a_process", "takes_long"),
}


def outcome(folder, chosen):
    """What fails of the planted tests, and how many pass."""
    (folder / "test_planted.py").write_text(PLANTED, encoding="utf-8")
    line = [sys.executable, "-m", "pytest", "-q", "-p", "tests.quick", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*line, "--rootdir", ".", "-m", chosen, "test_planted.py"],
        cwd=folder, env=run.environment(), capture_output=True, text=True,
    )  # fmt: skip
    (passed,) = re.findall(r"(\d+) passed", done.stdout) or [done.stdout]
    return set(re.findall(r"(?:FAILED|ERROR) \S+::test_(\w+)", done.stdout)), int(passed)


def test_a_quick_test_is_refused_what_takes_long(tmp_path):
    assert outcome(tmp_path, f"not {quick.MARKER}") == (REFUSED, 3)


def test_a_marked_test_may_do_all_that(tmp_path):
    assert outcome(tmp_path, quick.MARKER) == (set(), 2)


def test_the_quick_part_is_what_is_not_marked():
    for part in ("quick", "cases"):
        assert f"not {quick.MARKER}" in run.command(run.PARTS[part])
    for part in ("measures", "web"):
        command = run.command(run.PARTS[part])
        assert command[command.index("-m") + 1] == quick.MARKER
