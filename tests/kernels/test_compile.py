"""Cache of compiled kernels: kept while the files are unchanged, and never an error if it is
damaged."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numba
import pytest

from memlab.kernels.cpu import compile as compiling

HELPER = """from probes.compile import compiled

@compiled
def scaled(x):
    return x * 2
"""
KERNEL = """from probes.compile import compiled
from probes.helper import scaled

@compiled
def probe(x):
    return scaled(x) + 1
"""
CALL = """from probes.kernel import probe
print(probe(3), sum(probe.stats.cache_hits.values()))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Folder of the package ``probes``: a kernel that calls a function of another file."""
    return written(tmp_path)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of ``probes`` with a complete cache; the next call repairs what a test damages."""
    folder = written(tmp_path_factory.mktemp("compiled"))
    assert printed(CALL, folder) == "7 0\n"
    return folder


def written(folder: Path) -> Path:
    """Folder into which the package ``probes`` was written."""
    probes = folder / "probes"
    probes.mkdir()
    shutil.copy(compiling.__file__, probes)
    (probes / "helper.py").write_text(HELPER)
    (probes / "kernel.py").write_text(KERNEL)
    return folder


def printed(code: str, folder: Path) -> str:
    """Output of a new Python process that keeps its kernels in ``folder/cache``."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, cwd=folder
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_kernel_is_compiled_once(compiled: Path) -> None:
    assert printed(CALL, compiled) == "7 1\n"


def test_a_change_in_a_file_that_a_kernel_calls_is_seen(folder: Path) -> None:
    assert printed(CALL, folder) == "7 0\n"
    # Python takes a file of the same length and the same second for the same file.
    (folder / "probes" / "helper.py").write_text(HELPER.replace("2", "25"))
    assert printed(CALL, folder) == "76 0\n"
    assert printed(CALL, folder) == "76 1\n"


@pytest.mark.parametrize("ending", [".nbi", ".nbc"])
@pytest.mark.parametrize("length", [0, 20])
def test_a_file_that_ends_early_is_no_error(ending: str, length: int, compiled: Path) -> None:
    files = list((compiled / "cache").rglob(f"*{ending}"))
    assert files
    for file in files:
        file.write_bytes(file.read_bytes()[:length])
    assert printed(CALL, compiled) == "7 0\n"


def test_a_file_that_names_a_class_of_an_earlier_version_is_no_error(compiled: Path) -> None:
    """Numba reads all of an index before it looks whether the index is still fresh."""
    indices = [*(compiled / "cache").rglob("*.nbi")]
    assert indices
    for index in indices:
        lost = pickle.dumps(compiling.compiled).replace(b"compiled", b"was_here")
        index.write_bytes(pickle.dumps(numba.__version__) + lost)
    assert printed(CALL, compiled) == "7 0\n"


def test_a_cache_folder_that_goes_after_the_import_is_no_error(folder: Path) -> None:
    blocked = """import pathlib, shutil
from probes.kernel import probe
(cache,) = pathlib.Path("{cache}").iterdir()
shutil.rmtree(cache)
cache.touch()
"""
    code = blocked.format(cache=folder / "cache") + CALL
    assert printed(code, folder) == "7 0\n"


def test_a_cache_folder_that_takes_no_byte_after_the_import_is_no_error(folder: Path) -> None:
    """The limit on the size of a file holds for root too, who may write to any folder."""
    pytest.importorskip("resource", reason="Windows has no limit on the size of a file")
    full = """import resource
from probes.kernel import probe
resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
"""
    assert printed(f"{full}assert probe(3) == 7", folder) == ""
    assert not [file for file in (folder / "cache").rglob("*") if file.is_file()]


def test_without_a_cache_folder_a_kernel_is_compiled_in_each_session() -> None:
    names: dict[str, Any] = {}
    exec("def probe(x):\n    return x + 1", names)  # a function of no file
    assert compiling.compiled(names["probe"])(2) == 3
