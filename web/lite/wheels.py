"""Wheels that the notebook's kernel loads: those of Pyodide, of the widgets and memlab's own.

Pyodide loads what a lock file names, from the file's folder on, and checks each hash. The lock file
written here names only files that the site has, so that no request leaves it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from email.parser import Parser
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename

from memlab import __version__
from web import bundle
from web.pyodide import LOCK, Pair, locked, prepare

WIDGETS = ("anywidget", "comm", "ipywidgets", "lazy_loader", "psygnal", "typing_extensions")
"""Packages of pure Python that memlab's views and ipywidgets import in a kernel."""
PACKAGES = ("micropip", "jedi", "ipython", "numpy")
"""Packages of Pyodide that the kernel begins with, and NumPy."""
NEWER = {"test": ("micropip==0.10.0",)}
"""Packages by the name of a pair that is older than its kernel wants."""
NEEDED = ("anywidget", "ipywidgets", "lazy_loader", "numpy", "traitlets")
"""Packages that memlab needs there; Numba's place is taken by compiled kernels."""
STARTUP = "memlab_ipython"
"""Folder in which the kernel's IPython finds what it runs before the first cell."""
LEARNERS = ("web/__init__.py", "web/runtime/__init__.py", "web/runtime/learners_numba.py")
"""Files of the pages' Python that a notebook needs, too: learners' cells name Numba."""
FIRST = """\
import sys
from web.runtime.learners_numba import numba_of_a_page
sys.modules.setdefault("numba", numba_of_a_page())
del sys, numba_of_a_page
"""
INFO = {
    "METADATA": "Metadata-Version: 2.1\nName: memlab\nVersion: {version}\n",
    "WHEEL": "Wheel-Version: 1.0\nGenerator: memlab\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
}
"""Files that make a zip file a wheel, beside the list of all its files."""

Entry = dict[str, Any]


def closure(packages: Mapping[str, Entry], names: Iterable[str]) -> list[str]:
    """Return packages of a lock file with all that they depend on, in the alphabet's order.

    >>> closure({"a": {"depends": ["b"]}, "b": {"depends": []}, "c": {"depends": []}}, ["a"])
    ['a', 'b']
    """
    wanted: set[str] = set()
    waiting = [str(canonicalize_name(name)) for name in names]
    while waiting:
        name = waiting.pop()
        if name not in wanted:
            wanted.add(name)
            waiting += [str(canonicalize_name(each)) for each in packages[name]["depends"]]
    return sorted(wanted)


def of_pyodide(pair: Pair) -> tuple[Path, list[str]]:
    """Return the folder of a pair with the packages of it that the kernel needs, and their names.

    Raises:
        InputError: one cannot be had.
    """
    others = {canonicalize_name(name.partition("==")[0]) for name in beside(pair)}
    wanted = closure(locked(prepare(pair)), [name for name in PACKAGES if name not in others])
    names = [name for name in wanted if name not in others]
    return prepare(pair, tuple(names)), names


def beside(pair: Pair) -> Sequence[str]:
    """Return the requirements that do not come with a pair; of some, it has another version."""
    return [*WIDGETS, *NEWER.get(pair.name, ())]


def memlab_wheel(folder: Path, kernels: Iterable[Path] = ()) -> Path:
    """Write memlab's wheel for a kernel in a page, and return it.

    It holds what a page's archive holds of memlab, the compiled kernels beside the package, the
    names of Numba for cells, and no requirements, as Pyodide has no Numba.
    """
    files = {
        name: text
        for name, text in bundle.contents()
        if name.startswith("memlab/") or name in LEARNERS
    }
    files[f"{STARTUP}/profile_default/startup/numba.py"] = FIRST.encode()
    files |= {file.name: file.read_bytes() for file in kernels}
    files |= {
        f"memlab-{__version__}.dist-info/{name}": text.format(version=__version__).encode()
        for name, text in INFO.items()
    }
    return write(folder / f"memlab-{__version__}-py3-none-any.whl", files)


def write(wheel: Path, files: Mapping[str, bytes]) -> Path:
    """Write a wheel from its files, the same bytes from the same files, and return it."""
    content = dict(sorted(files.items()))
    (info,) = {name.split("/")[0] for name in content if name.endswith("/METADATA")}
    rows = [f"{name},sha256={_digest(text)},{len(text)}" for name, text in content.items()]
    content[f"{info}/RECORD"] = "\n".join([*rows, f"{info}/RECORD,,", ""]).encode()
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, text in content.items():
            archive.writestr(zipfile.ZipInfo(name, bundle.DAY), text, zipfile.ZIP_DEFLATED, 9)
    return wheel


def _digest(text: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text).digest()).rstrip(b"=").decode()


def entry(wheel: Path, address: str, depends: Sequence[str] | None = None) -> Entry:
    """Return the entry of a wheel in a lock file.

    Args:
        wheel: the file.
        address: where a page finds its folder, seen from the folder of the lock file.
        depends: the packages that are loaded with it; those of its metadata unless given.
    """
    name, version, *_ = parse_wheel_filename(wheel.name)
    with zipfile.ZipFile(wheel) as archive:
        files = archive.namelist()
        (info,) = (file for file in files if file.endswith(".dist-info/METADATA"))
        told = Parser().parsestr(archive.read(info).decode("utf-8"))
    return {
        "name": str(name),
        "version": str(version),
        "file_name": f"{address}{wheel.name}",
        "install_dir": "site",
        "sha256": hashlib.sha256(wheel.read_bytes()).hexdigest(),
        "package_type": "package",
        "imports": sorted(_imports(files)),
        "depends": list(_requirements(told.get_all("Requires-Dist", ())))
        if depends is None
        else list(depends),
        "unvendored_tests": False,
    }


def _imports(files: Iterable[str]) -> set[str]:
    """Return the names that a wheel lets Python import."""
    tops = {file.split("/")[0] for file in files if file.endswith(".py")}
    return {top.removesuffix(".py") for top in tops if "." not in top.removesuffix(".py")}


def _requirements(lines: Iterable[str]) -> Iterator[str]:
    """Yield the names of what a wheel always needs."""
    for requirement in map(Requirement, lines):
        if requirement.marker is None:
            yield str(canonicalize_name(requirement.name))


def lock(
    source: Path, names: Iterable[str], address: str, near: Iterable[str], more: Iterable[Entry]
) -> dict[str, Any]:
    """Return a lock file with packages of a pair, and with more entries.

    Args:
        source: folder of the pair, with its own lock file.
        names: packages of the pair.
        address: where a page finds their wheels, seen from the folder of the lock file.
        near: packages whose wheels lie beside the lock file.
        more: entries of other wheels.
    """
    told: dict[str, Any] = json.loads((source / LOCK).read_text(encoding="utf-8"))
    beside, packages = set(near), {}
    for name in closure(told["packages"], names):
        row = told["packages"][name]
        place = "" if name in beside else address
        packages[name] = row | {"file_name": place + row["file_name"]}
    packages |= {row["name"]: row for row in more}
    for row in packages.values():
        row["depends"] = [each for each in row["depends"] if canonicalize_name(each) in packages]
    return {"info": told["info"], "packages": dict(sorted(packages.items()))}
