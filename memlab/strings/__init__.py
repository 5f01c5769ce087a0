"""Texts that learners see: written in English, and translated where there is a translation.

The texts of views, cards and exercises stand apart from the code, in ``en/*.toml``, whose tables
hold ``name = "text"``; a sentence that is used in one place stands there, in ``_("a sentence")``. A
text names the values that it needs as ``{peak}``.

A language is one file beside this one, ``zh.po`` for Chinese, in which the English text is the key
(``make messages`` writes it, a translator fills it in, Babel reads it). Texts without a
translation, and texts whose English has changed since, are shown in English.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from babel.messages.catalog import Catalog

FOLDER = Path(__file__).parent
ENGLISH = "en"
WORDS = 3
"""A text of at most so many words may need another translation elsewhere: its key is its
context."""

UNKNOWN = "MEMLAB_LANGUAGE is {given!r}, and texts are there in {known}; this is English."
NO_BABEL = (
    "Texts are in English: those in {given!r} are read by Babel, which is not installed; "
    "try pip install babel."
)


@cache
def language() -> str:
    """Return the language of the texts: that of ``MEMLAB_LANGUAGE`` at the first call.

    It is English, and one sentence says so, if there is no such language or Babel is not installed.
    """
    given = os.environ.get("MEMLAB_LANGUAGE") or ENGLISH
    name = given.replace("-", "_").partition("_")[0]
    if name == ENGLISH:
        return ENGLISH
    try:
        if name in languages() and messages(name):
            return name
        sentence = UNKNOWN
    except ModuleNotFoundError:
        sentence = NO_BABEL
    print(sentence.format(given=given, known=", ".join(languages())), file=sys.stderr)
    return ENGLISH


@cache
def languages() -> list[str]:
    """Return ``"en"`` and the languages that have a file of translations."""
    languages = [file.name for file in FOLDER.iterdir()]
    return [
        ENGLISH,
        *sorted(name.removesuffix(".po") for name in languages if name.endswith(".po")),
    ]


@cache
def table(name: str = ENGLISH) -> dict[str, str]:
    """Return all texts of a language by their dotted key; a text without a
    translation in English."""
    if name != ENGLISH:
        known = messages(name)
        return {key: known.get((context(key, text), text), text) for key, text in table().items()}
    import tomllib  # late: memlab is imported without a text

    texts: dict[str, str] = {}
    for file in sorted((FOLDER / name).iterdir(), key=lambda file: file.name):
        if file.name.endswith(".toml"):
            texts |= flat(tomllib.loads(file.read_text(encoding="utf-8")))
    return texts


@cache
def messages(name: str) -> dict[tuple[str, str], str]:
    """Return the translations of a language, by context (empty, or the key of a short text) and
    English text.

    Raises:
        ModuleNotFoundError: Babel is not installed.
    """
    from babel.messages.pofile import read_po

    with (FOLDER / f"{name}.po").open("rb") as file:
        return translations(read_po(file))


def translations(catalog: Catalog) -> dict[tuple[str, str], str]:
    """Return the usable translations of a catalog, by context and English text: empty ones, and
    those marked fuzzy for a second look, are left out."""
    return {
        (message.context or "", message.id): message.string
        for message in catalog
        if isinstance(message.id, str) and isinstance(message.string, str)
        if message.id and message.string and not message.fuzzy
    }


def context(key: str, text: str) -> str:
    """Return the context of a text: its key for at most ``WORDS`` words, which may need another
    translation elsewhere; empty for a longer one."""
    return key if len(text.split()) <= WORDS else ""


def get(key: str, **values: object) -> str:
    """Return the text of a key with its values filled in.

    Raises:
        KeyError: there is no such key in English, or a value that the text names is missing.
    """
    name = language()
    text = (table() if name == ENGLISH else table(name))[key]
    return text.format(**values) if values else text


def has(key: str) -> bool:
    """True if there is a text of that key."""
    return key in table()


def gettext(text: str, /, **values: object) -> str:
    """Return the translation of a sentence in the code, with its values filled in; imported as
    ``_``."""
    if language() != ENGLISH:
        text = messages(language()).get(("", text), text)
    return text.format(**values) if values else text


def flat(tree: dict[str, Any], prefix: str = "") -> dict[str, str]:
    """Return the texts of nested tables by their dotted key."""
    texts: dict[str, str] = {}
    for name, value in tree.items():
        key = prefix + name
        texts |= flat(value, f"{key}.") if isinstance(value, dict) else {key: value}
    return texts
