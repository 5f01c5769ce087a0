"""Without NumPy, Numba, SciPy and psutil, as in a web page: the same figures and pictures."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.without_numpy import shown

pytestmark = pytest.mark.measures

IMPORTED = "import sys, memlab, memlab.views; print('numpy' in sys.modules)"


def output(*command: str) -> str:
    """What a fresh Python prints."""
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=True)
    return done.stdout


def test_plans_and_pictures_are_those_with_numpy_byte_for_byte() -> None:
    loaded, found = json.loads(output("-m", "tests.without_numpy"))
    assert not loaded
    wanted = shown()
    assert [name for name in wanted if wanted[name] != found.get(name)] == []
    assert len(found) == len(wanted) > 100


def test_importing_memlab_loads_no_numpy() -> None:
    assert output("-c", IMPORTED).split() == ["False"]
