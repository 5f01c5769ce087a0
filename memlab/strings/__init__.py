"""Every text that a learner sees, apart from the code: a translation is one more folder here.

A language is a folder of TOML files, whose tables hold ``name = "text"``; a text names the values
that it wants as ``{peak}``. What a translation leaves out is shown in English.
"""

from __future__ import annotations

import os
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

ENGLISH = "en"


@cache
def language() -> str:
    """The language of the texts: ``MEMLAB_LANGUAGE`` when the first one was asked for, or
    English."""
    return os.environ.get("MEMLAB_LANGUAGE", ENGLISH)


@cache
def table(name: str = ENGLISH) -> dict[str, str]:
    """The texts of one language by their dotted key; empty where there is no such folder."""
    folder = files(__package__).joinpath(name)
    if not (name.isidentifier() and folder.is_dir()):
        return {}
    found: dict[str, str] = {}
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        if file.name.endswith(".toml"):
            found |= _flat(tomllib.loads(file.read_text(encoding="utf-8")), "")
    return found


def get(key: str, **values: object) -> str:
    """The text of a key with its values filled in.

    Raises:
        KeyError: no such key in English, or a value that the text names is missing.
    """
    text = table(language()).get(key) or table()[key]
    return text.format(**values) if values else text


def has(key: str) -> bool:
    """Whether there is such a text."""
    return key in table()


def _flat(tree: dict[str, Any], prefix: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for name, value in tree.items():
        key = prefix + name
        found += _flat(value, f"{key}.") if isinstance(value, dict) else [(key, value)]
    return found
