"""Folders that the process of a submission sees, as arguments of bubblewrap: Python, its packages
without memlab, the libraries of the system, and a copy of the parts of memlab that know no answer.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from pathlib import Path

from memlab import lesson_folders

SYSTEM = "/usr/lib", "/usr/lib32", "/usr/lib64", "/etc/alternatives", "/etc/ld.so.cache"
"""Libraries, and the files by which they are found."""


def interpreter() -> str:
    """Return the path of the Python that the process runs: that of this one, outside of a virtual
    environment."""
    return os.path.realpath(getattr(sys, "_base_executable", sys.executable))


def packages() -> list[str]:
    """Return the folders of installed packages."""
    folders = (Path(entry).resolve() for entry in sys.path if entry)
    names = {"site-packages", "dist-packages"}
    return [str(path) for path in dict.fromkeys(folders) if path.name in names and path.is_dir()]


def places(copy: Path) -> list[str]:
    """Return the arguments of bubblewrap for the folders that the process sees."""
    trees = _trees(copy)
    binds = [part for path in trees for part in ("--ro-bind", str(path), str(path))]
    hidden = [part for path in _hidden(trees) for part in ("--tmpfs", str(path))]
    system = ["--proc", "/proc", "--dev", "/dev"]
    return [*parents(trees), *binds, *_libraries(), *hidden, *system]


def _trees(copy: Path) -> list[Path]:
    """Return the folders and files that are shown, none inside of another."""
    prefix = Path(sys.base_prefix).resolve()
    shown = [copy, Path(interpreter()), *map(Path, packages()), *map(Path, SYSTEM)]
    shown += [] if prefix == Path("/usr") else [prefix]
    trees = [path for path in dict.fromkeys(shown) if path.exists()]
    return [path for path in trees if not any(_below(path, other) for other in trees)]


def _libraries() -> Iterator[str]:
    """Yield the arguments for ``/lib`` and its like, which are links to folders of ``/usr``."""
    for name in ("/lib", "/lib32", "/lib64"):
        if os.path.islink(name):
            yield from ("--symlink", os.readlink(name), name)
        elif os.path.isdir(name):
            yield from ("--ro-bind", name, name)


def _below(path: Path, other: Path) -> bool:
    return path != other and path.is_relative_to(other)


def parents(paths: Sequence[Path]) -> list[str]:
    """Return the arguments that make the folders above these, so that everybody can pass."""
    above = dict.fromkeys(parent for path in paths for parent in reversed(path.parents))
    return [
        part for path in above if path != Path("/")
        for part in ("--perms", "0755", "--dir", str(path))
    ]  # fmt: skip


def _hidden(trees: Sequence[Path]) -> list[Path]:
    """Return the folders inside of what is shown that hold memlab, or packages of another
    environment."""
    known = [Path(path) for path in packages()]
    others = [
        Path(sysconfig.get_path(name, vars={"base": sys.base_prefix, "platbase": sys.base_prefix}))
        for name in ("purelib", "platlib")
    ]
    others += [Path("/usr/lib/python3/dist-packages")]
    others += [Path(sys.base_prefix, name) for name in ("envs", "pkgs")]  # of conda
    found = [path.resolve() for path in others if path.is_dir() and path.resolve() not in known]
    found += [path / "memlab" for path in known if (path / "memlab").is_dir()]
    found += [lesson_folders.PACKAGE, lesson_folders.LESSONS]
    return [
        path for path in dict.fromkeys(found)
        if path.is_dir() and any(path.is_relative_to(tree) for tree in trees)
    ]  # fmt: skip
