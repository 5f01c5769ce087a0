"""Every text that a view shows, apart from the code: a translation is one more file here.

A file holds tables of ``name = "text"``; a text names the values that it wants as ``{peak}``.
What a translation leaves out is shown in English.
"""

from __future__ import annotations

import os
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

ENGLISH = "en"


def language() -> str:
    """The language of the views: ``MEMLAB_LANGUAGE``, or English."""
    return os.environ.get("MEMLAB_LANGUAGE", ENGLISH)


@cache
def table(name: str = ENGLISH) -> dict[str, str]:
    """The texts of one language by their dotted key; empty where there is no such file."""
    source = files(__package__).joinpath(f"{name}.toml")
    if not (name.isidentifier() and source.is_file()):
        return {}
    return dict(_flat(tomllib.loads(source.read_text(encoding="utf-8")), ""))


def get(key: str, **values: object) -> str:
    """The text of a key with its values filled in.

    Raises:
        KeyError: no such key in English, or a value that the text names is missing.
    """
    text = table(language()).get(key) or table()[key]
    return text.format(**values) if values else text


def _flat(tree: dict[str, Any], prefix: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for name, value in tree.items():
        key = prefix + name
        found += _flat(value, f"{key}.") if isinstance(value, dict) else [(key, value)]
    return found
