"""Faults that once passed every quick test are caught by them: each is planted in a copy.

`make full` runs this. A fault is a text of the package, which must occur exactly once in it,
wherever that is, and what takes its place. The tests are those of `make check` that concern it.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

pytestmark = [
    pytest.mark.measures,
    pytest.mark.skipif("MEMLAB_PLANTED" not in os.environ, reason="make full runs it"),
]

ROOT = Path(__file__).resolve().parents[1]
GOLDEN, FIGURES = "tests/golden", "tests/pictures/values/test_figures.py"


class Fault(NamedTuple):
    """A wrong text in the place of a right one, and the tests that catch it."""

    right: str
    wrong: str
    tests: tuple[str, ...]


FAULTS = {
    "a budget line at half its height": Fault(
        "yield Rule(y=nbytes, **look)", "yield Rule(y=nbytes / 2, **look)", (GOLDEN,)
    ),
    "parameters in the colour of feature maps": Fault(
        'Role.PARAMETER: Paint("#0072B2", 0.62)',
        'Role.PARAMETER: Paint("#009E73", 0.38)',
        (GOLDEN,),
    ),
    "the outline of explain at half its height": Fault(
        '[Stairs(self.before, "before", self._ridge)]',
        '[Stairs(self.before / 2, "before", self._ridge)]',
        (GOLDEN,),
    ),
    "two digits behind the point, up to 10": Fault(
        "2 if value < 9.995 else", "2 if value < 10 else", (FIGURES,)
    ),
    "one digit behind the point, up to 100": Fault(
        "1 if value < 99.95 else", "1 if value < 100 else", (FIGURES,)
    ),
    "a unit from 999.5 on is used at 1,000 only": Fault(
        "return 0.9995 * units.DECIMAL[unit]",
        "return 1.0 * units.DECIMAL[unit]",
        (FIGURES, "tests/pictures/test_svg.py"),
    ),
    "no room above a bytes axis": Fault(
        "TIGHT, SKY = Fraction(1), Fraction(26, 25)", "TIGHT, SKY = Fraction(1), Fraction(1)",
        (GOLDEN, "tests/pictures/test_svg.py"),
    ),
}  # fmt: skip
"""By what is wrong."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package and of its tests."""
    folder = tmp_path_factory.mktemp("planted")
    for name in ("memlab", "tests", "lessons"):
        shutil.copytree(ROOT / name, folder / name)
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def holders(folder: Path, text: str) -> list[Path]:
    """The modules with a text, once for each time that it occurs."""
    paths = sorted((folder / "memlab").rglob("*.py"))
    return [path for path in paths for _ in range(path.read_text("utf-8").count(text))]


def run(folder: Path, tests: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    """Run quick tests in a folder until one fails, without bytecode of a fault that is left."""
    command = [sys.executable, "-P", "-m", "pytest", "-q", "-x", "-p", "no:nbval", "-p",
               "no:cacheprovider", "-m", "not measures", *tests]  # fmt: skip
    environment = os.environ | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600
    )


def test_the_tests_pass_without_a_fault(folder: Path) -> None:
    tests = dict.fromkeys(test for fault in FAULTS.values() for test in fault.tests)
    result = run(folder, tuple(tests))
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_caught(folder: Path, name: str) -> None:
    fault = FAULTS[name]
    places = holders(folder, fault.right)
    assert len(places) == 1, f"{fault.right!r} occurs in {places or 'no module'}; it must once"
    (path,) = places
    before = path.read_text("utf-8")
    path.write_text(before.replace(fault.right, fault.wrong), "utf-8")
    try:
        result = run(folder, fault.tests)
    finally:
        path.write_text(before, "utf-8")
    assert result.returncode == 1, result.stdout
    assert re.search(r"\b1 failed\b", result.stdout), result.stdout
