"""Variables of the environment that keep a library from working: one sentence names each."""

import os
import subprocess
import sys

import pytest

from memlab import __main__ as entry

pytestmark = pytest.mark.measures


def ended(words, folder, **variables):
    """The exit code and the errors of a command in a process of its own."""
    command = [sys.executable, "-m", "memlab", *words]
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **variables}, capture_output=True, text=True
    )
    return done.returncode, done.stderr


RUN, PICTURE = ["run", "linear1", "--batch", "2"], ["plan", "linear1", "--picture", "x.png"]


@pytest.mark.parametrize(
    ("words", "name", "value"),
    [
        (RUN, "NUMBA_NUM_THREADS", "0"),
        (RUN, "NUMBA_NUM_THREADS", "many"),
        (RUN, "NUMBA_DISABLE_JIT", "1"),
        (RUN, "NUMPY_MADVISE_HUGEPAGE", "some"),
        (PICTURE, "MPLBACKEND", "nope"),
    ],
)
def test_what_keeps_a_library_from_working_is_one_sentence(tmp_path, words, name, value):
    code, said = ended(words, tmp_path, **{name: value})
    assert (code, said.count("\n")) == (2, 1)
    assert name in said
    assert "unset it" in said
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "name", "value"),
    [
        (RUN, "NUMBA_NUM_THREADS", "1"),
        (RUN, "NUMBA_DISABLE_JIT", "0"),
        (RUN, "OPENBLAS_NUM_THREADS", "0"),
        (RUN, "OMP_NUM_THREADS", "many"),
        (RUN, "TMPDIR", "/nowhere"),
        (RUN, "HOME", "/nowhere"),
        (PICTURE, "MPLBACKEND", "agg"),
        (PICTURE, "MPLCONFIGDIR", "/nowhere"),
        (["claims", "A4"], "COLUMNS", "0"),
        (["claims", "A4"], "PYTHONIOENCODING", "ascii:strict"),
    ],
)
def test_what_keeps_no_library_from_working_is_passed_over(tmp_path, words, name, value):
    code, said = ended(words, tmp_path, **{name: value})
    assert code == 0
    assert "Traceback" not in said


@pytest.mark.parametrize("name", ["NUMBA_NUM_THREADS", "NUMBA_DISABLE_JIT"])
def test_doctor_names_the_variable(tmp_path, name):
    command = [sys.executable, "-m", "memlab", "doctor"]
    env = {**os.environ, name: "-1"}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 1
    assert f"Numba starts: {name}" in done.stdout
    assert "unset that variable" in done.stdout


def test_ctrl_c_while_memlab_is_loaded_is_silent(monkeypatch):
    class Interrupted:
        def find_spec(self, name, path=None, target=None):
            if name == "memlab.cli":
                raise KeyboardInterrupt  # a signal is ignored in the background

    monkeypatch.delitem(sys.modules, "memlab.cli", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Interrupted(), *sys.meta_path])
    assert entry.main() == 130
