"""Environment in which JupyterLite is built, with the extensions that show widgets.

JupyterLite copies the extensions of the environment that it runs in: those of ipywidgets and
anywidget are what shows memlab's views.
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

from memlab.errors import InputError
from web.pyodide import BUILD, ROOT

CONSTRAINTS = ROOT / "constraints.txt"
BESIDE = ("anywidget", "jupyterlab_widgets", "jupyter_server")
"""Packages of the environment, in the versions of the project: two with extensions for JupyterLab,
and the one that lists notebooks."""
STAMP = "complete"


VERSION = "0.8.6"
"""Release of JupyterLite and of its kernel, which wants the Pyodide that is published."""
FOLDER = BUILD / f"lite-{VERSION}"
"""Folder of the environment."""


def environment() -> Path:
    """Return the folder of programs of the environment, which is made where it is missing.

    Raises:
        InputError: a package cannot be installed.
    """
    found = FOLDER / ("Scripts" if os.name == "nt" else "bin")
    if not (FOLDER / STAMP).exists():
        venv.create(FOLDER, with_pip=True, clear=True)
        wanted = [f"jupyterlite-core=={VERSION}", f"jupyterlite-pyodide-kernel=={VERSION}"]
        pip(found / "python", "install", *wanted, *BESIDE)
        (FOLDER / STAMP).touch()
    return found


def pip(python: Path | str, command: str, *arguments: str) -> None:
    """Run pip with the versions of the project.

    Raises:
        InputError: pip failed; the sentence has its last line.
    """
    words = [str(python), "-m", "pip", command, "--quiet", "--disable-pip-version-check",
             "--constraint", str(CONSTRAINTS), *arguments]  # fmt: skip
    run(words, "JupyterLite cannot be built")


def run(words: Sequence[str], what: str, at: Path | None = None) -> None:
    """Run a program.

    Raises:
        InputError: it failed; the sentence begins with ``what``.
    """
    done = subprocess.run(words, cwd=at, capture_output=True, text=True)
    if done.returncode:
        lines = (done.stderr.strip() or done.stdout.strip()).splitlines() or ["no reason was given"]
        raise InputError(f"{what}: {lines[-1]}")


def download(names: Sequence[str], folder: Path) -> list[Path]:
    """Return wheels of pure Python, in the versions of the project, that run on any machine.

    Raises:
        InputError: one cannot be had.
    """
    before = set(folder.glob("*.whl"))
    pip(sys.executable, "download", "--no-deps", "--only-binary", ":all:", "--platform", "any",
        "--implementation", "py", "--abi", "none", "--python-version", "3.14",
        "--dest", str(folder), *names)  # fmt: skip
    return sorted(set(folder.glob("*.whl")) - before)
