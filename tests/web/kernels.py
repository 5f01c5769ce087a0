"""The library of a page's kernels, built once where its sources have changed."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path

from filelock import FileLock

from web.pyodide import BUILD, ROOT

LIBRARY = BUILD / "kernels.wasm"


@cache
def library() -> Path:
    """Return the library; other tests that need it meanwhile wait."""
    BUILD.mkdir(parents=True, exist_ok=True)
    with FileLock(BUILD / "kernels.lock"):
        subprocess.run([sys.executable, "-m", "web.wasm"], cwd=ROOT, check=True)
    return LIBRARY


def environment() -> dict[str, str]:
    """Environment of a Python in a page with these kernels, mounted with the project."""
    place = Path("/project") / library().relative_to(ROOT)
    return {"MEMLAB_MACHINE": "recorded", "MEMLAB_KERNELS": str(place)}
