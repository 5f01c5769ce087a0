"""Python packages that pages carry beside memlab: pure Python, as they are installed here."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from memlab.errors import InputError

CARRIED = ("lazy_loader", "traitlets")
"""Packages that memlab itself imports in a page, beside NumPy."""


def folder(package: str) -> Path:
    """Return the folder of a carried package.

    Raises:
        InputError: it is not installed.
    """
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise InputError(f"{package} is not installed; run `make test` once, which installs it.")
    return Path(spec.origin).parent
