"""Every text that a learner sees: written in English, and translated where there is a translation.

The texts of views, cards and exercises stand apart from the code, in ``en/*.toml``, whose tables
hold ``name = "text"``; a sentence that is said in one place stands there, in ``_("a sentence")``.
A text names the values that it wants as ``{peak}``.

A language is one file beside this one, ``zh.po`` for Chinese, in which the English text is the key
(``make messages`` writes it, a translator fills it in, Babel reads it). What it leaves out, and
what it has of an English text that was changed since, is shown in English.
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
"""A text of so few words may need another translation elsewhere: its key is its context."""

UNKNOWN = "MEMLAB_LANGUAGE is {given!r}, and texts are there in {known}; this is English."
NO_BABEL = (
    "Texts are in English: those in {given!r} are read by Babel, which is not installed; "
    "try pip install babel."
)


@cache
def language() -> str:
    """The language of the texts: that of ``MEMLAB_LANGUAGE`` when the first one was asked for; or
    English, where that is none, or Babel is not installed, and then one sentence says so."""
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
    """English, and the languages that there is a file of."""
    languages = [file.name for file in FOLDER.iterdir()]
    return [
        ENGLISH,
        *sorted(name.removesuffix(".po") for name in languages if name.endswith(".po")),
    ]


@cache
def table(name: str = ENGLISH) -> dict[str, str]:
    """All texts by their dotted key, in one of the languages; in English what it leaves out."""
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
    """Translations of a language, by context, which is empty or a key, and by the English text.

    Raises:
        ModuleNotFoundError: Babel is not installed.
    """
    from babel.messages.pofile import read_po

    with (FOLDER / f"{name}.po").open("rb") as file:
        return translations(read_po(file))


def translations(catalog: Catalog) -> dict[tuple[str, str], str]:
    """Entries of a file of messages that count: all but those that are empty, or fuzzy and so to be
    looked at."""
    return {
        (message.context or "", message.id): message.string
        for message in catalog
        if isinstance(message.id, str) and isinstance(message.string, str)
        if message.id and message.string and not message.fuzzy
    }


def context(key: str, text: str) -> str:
    """Context that tells a short text from the same one elsewhere; empty for a sentence."""
    return key if len(text.split()) <= WORDS else ""


def get(key: str, **values: object) -> str:
    """The text of a key with its values filled in.

    Raises:
        KeyError: no such key in English, or a value that the text names is missing.
    """
    name = language()
    text = (table() if name == ENGLISH else table(name))[key]
    return text.format(**values) if values else text


def has(key: str) -> bool:
    """Whether there is such a text."""
    return key in table()


def gettext(text: str, /, **values: object) -> str:
    """A sentence of the code with its values filled in; ``_`` where it is used."""
    if language() != ENGLISH:
        text = messages(language()).get(("", text), text)
    return text.format(**values) if values else text


def flat(tree: dict[str, Any], prefix: str = "") -> dict[str, str]:
    """The texts of nested tables by their dotted key."""
    texts: dict[str, str] = {}
    for name, value in tree.items():
        key = prefix + name
        texts |= flat(value, f"{key}.") if isinstance(value, dict) else {key: value}
    return texts
