"""Environment in which JupyterLite is built: the release that fits a pair, and the widgets' files.

JupyterLite copies the extensions of the environment that it runs in: those of ipywidgets and
anywidget are what shows memlab's views.
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from memlab.errors import InputError
from web.pyodide import BUILD, ROOT, Pair

CONSTRAINTS = ROOT / "constraints.txt"
BESIDE = ("anywidget", "jupyterlab_widgets", "jupyter_server")
"""Packages of the environment, in the versions of the project: two with extensions for JupyterLab,
and the one that lists notebooks."""
STAMP = "complete"


@dataclass(frozen=True, slots=True)
class Release:
    """Release of JupyterLite whose kernel fits a pair.

    ``script`` is the file of Pyodide that its kernel begins with, ``packages`` are those that it
    loads.
    """

    core: str
    kernel: str
    script: str
    packages: tuple[str, ...]

    @property
    def folder(self) -> Path:
        """Folder of its environment."""
        return BUILD / f"lite-{self.core}"


RELEASES: Mapping[str, Release] = {
    "test": Release(
        "0.6.4", "0.6.1", "pyodide.js", ("ssl", "sqlite3", "micropip", "jedi", "ipython", "numpy")
    ),
    "published": Release("0.8.6", "0.8.7", "pyodide.mjs", ("micropip", "jedi", "ipython", "numpy")),
}
"""Release by the name of the pair."""


def environment(pair: Pair) -> Path:
    """Return the folder of programs of the environment, which is made where it is missing.

    Raises:
        InputError: a package cannot be installed.
    """
    release = RELEASES[pair.name]
    if not (release.folder / STAMP).exists():
        venv.create(release.folder, with_pip=True, clear=True)
        wanted = [
            f"jupyterlite-core=={release.core}",
            f"jupyterlite-pyodide-kernel=={release.kernel}",
            *BESIDE,
        ]
        pip(programs(release.folder) / "python", "install", *wanted)
        (release.folder / STAMP).touch()
    return programs(release.folder)


def programs(folder: Path) -> Path:
    """Return where an environment keeps its programs."""
    return folder / ("Scripts" if os.name == "nt" else "bin")


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
    pip(sys.executable, "download", "--no-deps", "--only-binary", ":all:", "--platform", "any",
        "--implementation", "py", "--abi", "none", "--python-version", "3.12",
        "--dest", str(folder), *names)  # fmt: skip
    return sorted(folder.glob("*.whl"))
