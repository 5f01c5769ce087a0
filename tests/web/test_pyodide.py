"""The pair of Pyodide and NumPy, and code that runs in it under node."""

from pathlib import Path

import pytest

from memlab.errors import InputError
from web import pyodide
from web.node import run_code


def test_an_unknown_pair_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMLAB_PYODIDE", "newest")
    with pytest.raises(InputError, match="'newest'; it can be test or published"):
        pyodide.chosen()


def test_a_file_with_another_hash_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "numpy.whl"
    file.write_bytes(b"something else")
    with pytest.raises(InputError, match="a1 was expected"):
        pyodide.check(file, "a1")


@pytest.mark.measures
def test_python_and_numpy_run_with_32_bit_pointers() -> None:
    code = "import ctypes, sys, numpy\nprint(sys.platform, ctypes.sizeof(ctypes.c_void_p))"
    assert run_code(code).split() == ["emscripten", "4"]


@pytest.mark.measures
def test_an_error_in_pyodide_is_an_error_here() -> None:
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        run_code("1 / 0", packages=())
