"""The archive that a page's Python unpacks: memlab with what its lessons need, and the runtime."""

from __future__ import annotations

import gzip
import io
import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from memlab import strings
from web.carried import CARRIED, folder
from web.pyodide import ROOT

LEFT_OUT = {
    "memlab": ("bench/", "classroom/", "cli/", "course/lecture/", "course/hero/", "jupyter/"),
    "traitlets": ("config/", "log.py"),
    "memlab/lessons/data": ("accuracy", "cost.json", "offload.json"),
}
"""Beginnings of paths that no page uses, by the folder of the archive that they lie in."""
NEEDS_TORCH = re.compile(rb"^(?:import|from) torch\b", re.MULTILINE)
"""Import at the top of a module that can be read only where PyTorch is."""
ENDS = {".py", ".pyi", ".toml", ".json", ".css", ".js", ".csv", ".txt"}
DAY = (2020, 1, 1, 0, 0, 0)
"""Date of every file, so that the same sources make the same archive."""


def write(file: Path) -> None:
    """Write the archive, compressed as a whole: its many small files have much in common."""
    plain = io.BytesIO()
    with zipfile.ZipFile(plain, "w") as archive:
        for name, content in sorted(contents(), key=_likeness):
            archive.writestr(zipfile.ZipInfo(name, DAY), content)
    file.write_bytes(gzip.compress(plain.getvalue(), mtime=0))


def _likeness(row: tuple[str, bytes]) -> tuple[str, str]:
    """Return the order of a file, by which files of one kind come one after the other."""
    return PurePosixPath(row[0]).suffix, row[0]


def contents() -> Iterator[tuple[str, bytes]]:
    """Yield the path and the content of each file of the archive."""
    yield from _files(ROOT / "memlab", "memlab")
    for language in strings.languages()[1:]:
        yield f"memlab/strings/{language}.json", strings.as_read(language).encode()
    yield "web/__init__.py", (ROOT / "web/__init__.py").read_bytes()
    yield from _files(ROOT / "web/runtime", "web/runtime")
    for name in CARRIED:
        yield from _files(folder(name), name)
    yield from _files(ROOT / "lessons/data", "memlab/lessons/data")
    yield "memlab/lessons/data/digits.csv.gz", _digits()
    for notebook in sorted((ROOT / "lessons/solutions").glob("*.ipynb")):
        yield f"memlab/lessons/solutions/{notebook.name}", _solutions(notebook)


def _files(place: Path, name: str) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a package, without its tests and what no page uses."""
    for path in sorted(place.rglob("*")):
        inside = path.relative_to(place).as_posix()
        is_left = inside.startswith(LEFT_OUT.get(name, ())) or "tests" in path.parts
        if path.suffix in ENDS and not is_left:
            content = path.read_bytes()
            if path.suffix != ".py" or not NEEDS_TORCH.search(content):
                yield f"{name}/{inside}", content


def _digits() -> bytes:
    """Return scikit-learn's file of handwritten digits, which lesson 06 trains on."""
    return (folder("sklearn") / "datasets/data/digits.csv.gz").read_bytes()


def _solutions(notebook: Path) -> bytes:
    """Return a solved notebook with nothing but its solutions, which ``exercise.solution``
    reads."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    kept = [
        {"cell_type": "code", "metadata": cell["metadata"], "source": cell["source"]}
        for cell in cells
        if cell["cell_type"] == "code" and "solution" in cell["metadata"].get("tags", [])
    ]
    return json.dumps({"cells": kept}, ensure_ascii=False).encode()
