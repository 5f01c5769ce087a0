"""A few cases of a test function are drawn, and a table in one test names the row that fails."""

import re
import subprocess
import sys

import pytest

from tests import run
from tests.rows import every_row

PLANTED = """
import pytest

class Case:
    def __init__(self, kind):
        self.drawn_by = kind

@pytest.mark.parametrize("b", range(3))
@pytest.mark.parametrize("a", range(3))
def test_cross(a, b):
    pass

@pytest.mark.parametrize("format", ["fp16", "fp32"])
@pytest.mark.parametrize("case", [Case(kind) for kind in ("relu", "relu", "relu", "tanh")])
def test_kinds(case, format):
    pass

@pytest.mark.every
@pytest.mark.parametrize("a", range(5))
def test_every(a):
    pass

@pytest.mark.table
@pytest.mark.parametrize("a", range(6))
def test_table(a):
    pass

def test_one():
    pass
"""


def names(folder, *options):
    """The planted cases that are run."""
    (folder / "test_planted.py").write_text(PLANTED, encoding="utf-8")
    line = [sys.executable, "-m", "pytest", "-p", "tests.drawn", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*line, "-q", "--collect-only", "--rootdir", ".", *options, "test_planted.py"],
        cwd=folder, env=run.environment(), capture_output=True, text=True, check=True,
    )  # fmt: skip
    return re.findall(r"::test_(\S+)", done.stdout)


@pytest.mark.measures
def test_the_cases_drawn_differ_and_stay_the_same(tmp_path):
    found = names(tmp_path, "--cases", "2")
    assert found == names(tmp_path, "--cases", "2")
    cross = [re.findall(r"\d", name) for name in found if name.startswith("cross")]
    assert all(len(set(values)) == 2 for values in zip(*cross, strict=True))
    assert len([name for name in found if name.startswith("kinds")]) == 2 * (2 + 1)
    assert len([name for name in found if name.startswith("every")]) == 5
    assert "one" in found


@pytest.mark.measures
def test_fewer_are_among_more_and_all_are_run_where_nothing_is_asked(tmp_path):
    assert {*names(tmp_path, "--cases", "2")} < {*names(tmp_path, "--cases", "4")}
    assert len(names(tmp_path)) == 9 + 8 + 5 + 6 + 1


@pytest.mark.measures
def test_a_table_is_whole_where_more_than_two_are_asked_for(tmp_path):
    counts = [
        sum(name.startswith("table") for name in names(tmp_path, "--cases", number))
        for number in ("2", "3")
    ]
    assert counts == [2, 6]


def test_a_row_that_fails_is_named():
    @every_row("a, b", [(1, 2), (3, 3)])
    def differ(a, b):
        assert a != b

    with pytest.raises(AssertionError) as failed:
        differ()
    assert failed.value.__notes__ == ["in the row {'a': 3, 'b': 3}"]


@every_row("a", [1, 2])
def test_a_row_stands_beside_fixtures(a, tmp_path):
    assert a
    assert tmp_path.is_dir()
