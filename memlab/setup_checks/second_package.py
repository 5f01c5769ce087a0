"""A second memlab that Python finds: a folder or a file of that name beside the notebooks, or
another installation. A notebook imports the one that is found first."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from memlab.lesson_folders import PACKAGE
from memlab.setup_checks.setup_check import SetupCheck, unset

NAME = "memlab"


def look() -> list[Path]:
    """Return every memlab that a notebook in this folder would find, the one that it imports
    first."""
    places = [os.getcwd(), *(path for path in sys.path if path)]
    return list(dict.fromkeys(_found(places)))


def _found(places: Iterable[str]) -> Iterator[Path]:
    for place in places:
        if (folder := Path(place, NAME)).joinpath("__init__.py").is_file():
            yield folder.resolve()
        elif (file := Path(place, f"{NAME}.py")).is_file():
            yield file.resolve()


def check_single(
    found: list[Path], python: str, package: Path = PACKAGE, windows: bool = os.name == "nt"
) -> SetupCheck:
    """Check that there is no second memlab, above all none that is found first.

    Args:
        found: every memlab, in the order in which Python looks.
        python: executable of this Python.
        package: folder of the memlab that runs.
        windows: True for the command prompt of Windows.
    """
    name, others = "second memlab", [path for path in found if path != package]
    if not others:
        return SetupCheck(name, "ok", "none is in the way")
    if found[0] != package:
        other = found[0]
        text = f"notebooks here import {other}, and not {package}"
        return SetupCheck(name, "problem", text, _away(other, python, windows))
    told = ", ".join(map(str, others))
    text = f"{package} is used here; elsewhere a notebook may import {told}"
    return SetupCheck(name, "note", text)


def _away(other: Path, python: str, windows: bool) -> str:
    """Return the line that takes another memlab out of the way."""
    if {"site-packages", "dist-packages"} & {*other.parts}:
        return f'"{python}" -m pip uninstall {NAME}'
    if str(other.parent) in os.environ.get("PYTHONPATH", "").split(os.pathsep):
        return unset("PYTHONPATH", windows)
    renamed = f"my_{other.name}"
    if windows:
        return f'ren "{other}" "{renamed}"'
    return f'mv "{other}" "{other.parent / renamed}"'
