"""Memory limits of a process: runs that do not fit are refused in one sentence, and those that fit
run.

Each case is a process of its own, with ``ulimit -v`` or ``-d`` set before anything is loaded.
"""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys

import numpy as np
import pytest

from memlab import cli, free_memory

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="Linux alone keeps these limits, and tells what counts for them"
)

MB = 10**6
LIMITED = """
import resource, sys
most = int(sys.argv[2])
resource.setrlimit(getattr(resource, sys.argv[1]), (most, most))
from memlab.cli import main
sys.exit(main(sys.argv[3:]))
"""
ENOUGH = 1200 * MB
"""For small runs: what every one of them takes beside its arrays, and some."""


def limited(kind: str, most: int, line: str) -> subprocess.CompletedProcess[str]:
    """Command line under a limit, on 2 threads, because each further thread takes more memory."""
    words = [sys.executable, "-c", LIMITED, kind, str(most), *line.split()]
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "2"}
    return subprocess.run(words, capture_output=True, text=True, env=environment, check=False)


def sentence(done: subprocess.CompletedProcess[str]) -> str:
    """One sentence of a refusal, from the output of a process."""
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("memlab: ")
    assert "None" not in line
    return line


@pytest.mark.parametrize("kib", [40_000, 150_000, 200_000, 400_000, 800_000, 1_600_000])
def test_a_run_that_a_limit_has_no_room_for_is_refused(kib):
    told = sentence(limited("RLIMIT_AS", 1024 * kib, "run mnist_cnn --batch 4000"))
    assert re.search(r"ulimit -v.* raise that limit(, or set \w+=1)?\.$", told)


@pytest.mark.parametrize("most", [40 * MB, 300 * MB, 900 * MB])
def test_the_limit_of_a_process_s_data_counts_too(most):
    told = sentence(limited("RLIMIT_DATA", most, "run mnist_cnn --batch 4000"))
    assert re.search(r"ulimit -d.* raise that limit(, or set \w+=1)?\.$", told)


@pytest.mark.parametrize(("kind", "compiled"), [("RLIMIT_AS", False), ("RLIMIT_DATA", True)])
def test_the_largest_batch_that_a_refusal_names_runs(kind, compiled, tmp_path, monkeypatch):
    """It also runs where all kernels are compiled in that process."""
    if not compiled:
        monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    told = sentence(limited(kind, ENOUGH, "run mnist_cnn --batch 100000"))
    (largest,) = re.findall(r"the largest batch that fits is (\d+)", told)
    done = limited(kind, ENOUGH, f"run mnist_cnn --batch {largest}")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("line", "little", "enough"),
    [
        ("plan mnist_cnn", 150, 250),
        ("plan mnist_cnn --recompute exact", 300, 500),
        ("fit mnist_cnn --memory 1GB", 150, 250),
        ("compare mnist_cnn --batch 1", 150, 250),
        ("compare mnist_cnn --batch 1000 --measure", 700, None),
        ("run mnist_cnn --batch 1 --device cuda", 300, None),
        ("bench batch", 500, None),
        ("lecture k2 -o k2.html", 600, 1000),
    ],
)
def test_every_command_says_what_it_has_no_room_for(line, little, enough, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sentence(limited("RLIMIT_AS", little * MB, line))
    assert not list(tmp_path.iterdir())
    if enough:
        assert limited("RLIMIT_AS", enough * MB, line).returncode == 0


def test_the_doctor_names_the_limit():
    done = limited("RLIMIT_AS", 300 * MB, "doctor")
    assert done.returncode == 1, done.stderr
    assert "memory: 0 B free; ulimit -v allows less than the machine's" in done.stdout
    assert "Numba starts: loading Numba and the kernels takes about" in done.stdout


@pytest.mark.parametrize(
    ("error", "limited", "told"),
    [
        (MemoryError(), False, True),
        (np.exceptions.AxisError("a bug"), True, False),
        (ImportError("libx.so: failed to map segment from shared object"), True, True),
        (ImportError("a bug"), False, False),
        (RuntimeError("can't start new thread"), True, True),
        (RuntimeError("a bug"), False, False),
        (OSError("cannot load a library"), True, True),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), False, True),
    ],
)
def test_whatever_fails_for_want_of_memory_is_one_sentence(
    error, limited, told, monkeypatch, capsys
):
    def examine() -> None:
        raise error

    monkeypatch.setattr("memlab.setup_checks.examine", examine)
    monkeypatch.setattr(free_memory, "limited", lambda: limited)
    if told:
        assert cli.main(["doctor"]) == 2
        (said,) = capsys.readouterr().err.splitlines()
        assert said.startswith(f"memlab: this process has no memory left ({type(error).__name__}")
        assert str(error) in said
    else:
        with pytest.raises(type(error)):
            cli.main(["doctor"])
