"""Compiled kernels that many learners share: they are read where that is safe, and only read."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from memlab.kernels import shared_cache
from memlab.kernels.cpu import compile as compiling

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows does not tell who can write")

KERNEL = """from probes.compile import compiled

@compiled
def probe(x):
    return x + 1
"""
CALL = "from probes.kernel import probe; print(probe(3), sum(probe.stats.cache_hits.values()))"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the package ``probes``, with its kernel compiled into ``shared``."""
    folder = tmp_path_factory.mktemp("built")
    (folder / "probes").mkdir()
    shutil.copy(compiling.__file__, folder / "probes")
    (folder / "probes" / "kernel.py").write_text(KERNEL)
    assert printed(folder, {"NUMBA_CACHE_DIR": str(folder / "shared")}) == "4 0\n"
    return folder


@pytest.fixture
def shared(built: Path, tmp_path: Path) -> Path:
    """Copy of that cache, which nobody may write to."""
    copy = tmp_path / "shared"
    shutil.copytree(built / "shared", copy)
    for path in [*copy.rglob("*"), copy]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    shared_cache.refusal.cache_clear()
    return copy


def printed(folder: Path, environment: dict[str, str]) -> str:
    """Output of a new Python process that calls the kernel: its result, and how often it was found
    in a cache."""
    done = subprocess.run(
        [sys.executable, "-c", CALL], capture_output=True, text=True, cwd=folder,
        env=os.environ | environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def called(built: Path, shared: Path) -> str:
    """The same with that shared folder, and a new folder of one's own."""
    own = shared.parent / "own"
    variables = {"NUMBA_CACHE_DIR": str(own), shared_cache.VARIABLE: str(shared)}
    return printed(built, variables)


def files(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_what_is_in_the_shared_folder_is_not_compiled_again(built: Path, shared: Path) -> None:
    before = files(shared)
    assert before
    assert called(built, shared) == "4 1\n"
    assert files(shared) == before
    assert files(shared.parent / "own") == {}, "nothing was compiled, so nothing was kept"


def test_a_folder_that_others_can_write_to_is_not_read(built: Path, shared: Path) -> None:
    """A pickle of somebody else's would run as this user."""
    mark = shared.parent / "evil"
    (index,) = shared.rglob("*.nbi")
    index.chmod(0o644)
    evil = b"cos\nmkdir\n(V%b\ntR." % str(mark).encode()
    index.write_bytes(evil)
    index.parent.chmod(0o1777)
    assert called(built, shared) == "4 0\n"
    assert not mark.exists()
    pickle.loads(evil)
    assert mark.exists(), "it would have run"


def test_a_damaged_file_is_no_error(built: Path, shared: Path) -> None:
    (damaged,) = shared.rglob("*.nbc")
    damaged.chmod(0o644)
    damaged.write_bytes(damaged.read_bytes()[:20])
    damaged.chmod(0o444)
    assert called(built, shared) == "4 0\n"
    assert called(built, shared) == "4 1\n", "it was kept in the own folder"


def test_who_can_write_is_asked_of_every_folder_above_too(shared: Path, tmp_path: Path) -> None:
    assert shared_cache.refusal(shared) == ""
    shared.chmod(0o775)
    shared_cache.refusal.cache_clear()
    assert shared_cache.refusal(shared) == f"others can write to {shared}"
    shared.chmod(0o755)
    tmp_path.chmod(0o777)
    shared_cache.refusal.cache_clear()
    assert shared_cache.refusal(shared) == f"others can write to {tmp_path}"
    tmp_path.chmod(0o1777)  # as /tmp, where nobody moves what belongs to others
    shared_cache.refusal.cache_clear()
    assert shared_cache.refusal(shared) == ""


def test_a_link_in_it_is_refused(shared: Path) -> None:
    shared.chmod(0o755)
    (shared / "link").symlink_to(shared.parent)
    assert "link" in shared_cache.refusal(shared)


@pytest.mark.skipif("os.geteuid() != 0", reason="only root gives a file to somebody else")
def test_a_file_that_belongs_to_somebody_else_is_refused(shared: Path) -> None:
    (index,) = shared.rglob("*.nbi")
    os.chown(index, 1234, -1)
    assert index.name in shared_cache.refusal(shared)


def test_the_variable_may_be_empty_or_name_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for named in ("", str(tmp_path / "missing")):
        monkeypatch.setenv(shared_cache.VARIABLE, named)
        assert shared_cache.folder() is None
    monkeypatch.delenv(shared_cache.VARIABLE)
    assert shared_cache.folder() is None
    shared_cache.refusal.cache_clear()
    monkeypatch.setenv(shared_cache.VARIABLE, str(tmp_path))
    assert shared_cache.folder() == tmp_path
