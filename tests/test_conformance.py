"""Without Numba, SciPy and psutil, as in a web page: the same figures and pictures."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from typing import Any

import pytest

from memlab import views
from tests.conformance import MEASURED, TIMED, natively
from tests.pictures import pages

pytestmark = pytest.mark.measures

IMPORTED = "import sys, memlab, memlab.views; print('numpy' in sys.modules)"
CARDS = [f"card {name}" for name in (
    "01.peak", "01.gradients", "04.copies", "04.left", "05.quarter", "06.state", "06.dark",
    "07.address", "08.fault", "08.best",
)]  # fmt: skip
"""Their truth is that of a run or of a kernel."""
EXERCISES = ["exercise 01.my_step"]
"""Its cases come from a run."""
MISSING = ("numba", "psutil", "scikit-learn")


def output(*command: str) -> str:
    """What a fresh Python prints."""
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=True)
    return done.stdout


@cache
def without() -> Any:
    """What was loaded, what was shown and what was refused, with the packages blocked."""
    return json.loads(output("-m", "tests.conformance"))


def test_plans_and_pictures_are_the_same_byte_for_byte() -> None:
    loaded, found, _ = without()
    assert not loaded
    wanted = natively([*found])
    assert [name for name in wanted if wanted[name] != found.get(name)] == [*MEASURED]
    assert len(wanted) > 200


@pytest.mark.parametrize("name", [name for name in views.__all__ if name.islower()])
def test_every_view_works_or_says_what_is_missing(name: str) -> None:
    _, found, refused = without()
    works = name in pages.WORDS or any(case.startswith(f"{name}: ") for case in found)
    assert works is (name not in pages.COMPUTED)
    assert (name in refused) is (name in TIMED)


def test_cards_and_exercises_work_but_for_those_that_run_something() -> None:
    refused = without()[2]
    asked = [name for name in refused if " " in name]
    assert sorted(asked) == sorted([*CARDS, *EXERCISES])
    for said in refused.values():
        assert any(f"{name}, which is not installed; try pip install" in said for name in MISSING)


def test_importing_memlab_loads_no_numpy() -> None:
    assert output("-c", IMPORTED).split() == ["False"]
