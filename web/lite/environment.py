"""Environment in which JupyterLite is built, with the extensions that show widgets.

JupyterLite copies the extensions of the environment that it runs in: those of ipywidgets and
anywidget are what shows memlab's views.
"""

from __future__ import annotations

import os
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

from web.pyodide import BUILD, ROOT, STAMP, run

CONSTRAINTS = ROOT / "constraints.txt"
BESIDE = ("anywidget", "jupyterlab_widgets", "jupyter_server")
"""Packages of the environment, in the versions of the project: two with extensions for JupyterLab,
and the one that lists notebooks."""
VERSION = "0.8.6"
"""Release of JupyterLite and of its kernel, which wants the Pyodide that is published."""
FOLDER = BUILD / f"lite-{VERSION}"
"""Folder of the environment."""
FAILURE = "JupyterLite cannot be built"
"""Beginning of what is said where a command fails."""


def environment() -> Path:
    """Return the folder of programs of the environment, which is made where it is missing.

    Raises:
        InputError: a package cannot be installed.
    """
    programs = FOLDER / ("Scripts" if os.name == "nt" else "bin")
    if not (FOLDER / STAMP).exists():
        venv.create(FOLDER, with_pip=True, clear=True)
        wanted = [f"jupyterlite-core=={VERSION}", f"jupyterlite-pyodide-kernel=={VERSION}"]
        pip(programs / "python", "install", *wanted, *BESIDE)
        (FOLDER / STAMP).touch()
    return programs


def pip(python: Path | str, command: str, *arguments: str) -> None:
    """Run pip with the versions of the project.

    Raises:
        InputError: pip failed; the sentence has its last line.
    """
    run([str(python), "-m", "pip", command, "--quiet", "--disable-pip-version-check",
         "--constraint", str(CONSTRAINTS), *arguments], FAILURE)  # fmt: skip


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
