"""Build of the library of kernels and of its table, for ``python -m web.wasm``."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from filelock import FileLock

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "web"
LIBRARY, OBJECTS = FOLDER / "kernels.wasm", FOLDER / "objects"
OWN = Path("web/wasm")
WORD = 32
"""Bits of a pointer in a page."""
ENVIRONMENT = {"MEMLAB_MACHINE": "recorded", "NUMBA_DISABLE_INTEL_SVML": "1"}
"""Environment of a process that compiles for pages."""


def sources(folders: Iterable[str]) -> str:
    """SHA-256 digest of the Python files of folders of the project."""
    files = sorted(file for folder in folders for file in (ROOT / folder).glob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def read_folders() -> list[str]:
    """Folders of the project that decide which kernels there are and what is in them: those whose
    modules this process imported. A registry reads a whole folder."""
    files = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    folders = {Path(file).parent for file in files if file}
    inside = {folder.relative_to(ROOT) for folder in folders if folder.is_relative_to(ROOT)}
    own = (folder for folder in inside if folder.parts[0] == "memlab" or folder == OWN)
    return sorted(map(str, own))


def is_current() -> bool:
    """Return whether the library was built from the present sources."""
    table = LIBRARY.with_suffix(".json")
    if not (LIBRARY.exists() and table.exists()):
        return False
    listed = json.loads(table.read_text())
    return bool(listed["sources"] == sources(listed.get("folders", ())))


def set_environment() -> None:
    """Set the environment of a process that compiles for pages, before Numba is loaded."""
    os.environ.update(ENVIRONMENT)


def ready() -> Path:
    """Build the library where sources have changed, in a process of its own, and return it.

    Of several processes that ask at once, one builds and the others wait.

    Raises:
        RuntimeError: the build failed; the message is what it wrote about that.
    """
    FOLDER.mkdir(parents=True, exist_ok=True)
    with FileLock(FOLDER / "kernels.lock"):
        if not is_current():
            command = [sys.executable, "-m", "web.wasm"]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
            if done.returncode:
                raise RuntimeError(done.stderr.strip())
    return LIBRARY


def build(extra: Sequence[str] = ()) -> Path:
    """Build the library and its table, and return the library. Objects are kept whose sources have
    not changed.

    Args:
        extra: modules of LLVM's code, as text, that are linked beside the kernels and the function
            by which the meter sees what NumPy frees.
    """
    set_environment()
    from memlab.runtime.metering.numpy_hook import freeing_code
    from web.wasm import compile, link, signatures, target

    target.install()
    signatures.install()
    OBJECTS.mkdir(parents=True, exist_ok=True)
    jobs = compile.jobs_of(signatures.gathered(), OBJECTS)
    compile.compile_jobs(jobs)
    objects = [job.file for job in jobs]
    objects += [link.object_of(text, OBJECTS) for text in (freeing_code(WORD), *extra)]
    link.library(objects, LIBRARY)
    folders = read_folders()
    listed = {
        "folders": folders,
        "sources": sources(folders),
        "triple": target.TRIPLE,
        "features": target.FEATURES,
        "kernels": compile.table(jobs),
    }
    LIBRARY.with_suffix(".json").write_text(json.dumps(listed, separators=(",", ":")))
    for file in {*OBJECTS.glob("*.o")} - {*objects}:
        file.unlink()
        file.with_suffix(".json").unlink(missing_ok=True)
    return LIBRARY
