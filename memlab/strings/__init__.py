"""Texts that learners see: written in English, and translated where there is a translation.

The texts of views, cards and exercises stand apart from the code, in ``en/*.toml``, whose tables
hold ``name = "text"``; a sentence that is used in one place stands there, in ``_("a sentence")``. A
text names the values that it needs as ``{peak}``.

A language is one file beside this one, ``zh.po`` for Chinese, in which the English text is the key
(``make messages`` writes it, a translator fills it in, Babel reads it). A text without a
translation, or whose English has changed since, is shown in English, and so is all of its part: a
card, an exercise or the texts of one view are never in two languages (``part_of``). What shows such
a part speaks one language inside of ``speaking``.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from babel.messages.catalog import Catalog

FOLDER = Path(__file__).parent
ENGLISH = "en"
SOURCE, READ = "po", "json"
"""Ends of the file that a translator writes, and of one that Babel has read, for a web page."""
WORDS = 3
"""A text of at most so many words may need another translation elsewhere: its key is its
context."""

_SPOKEN: ContextVar[str] = ContextVar("_SPOKEN", default="")
"""The language inside of ``speaking``; empty outside."""

UNKNOWN = "MEMLAB_LANGUAGE is {given!r}, and texts are there in {known}; this is English."
NO_BABEL = (
    "Texts are in English: those in {given!r} are read by Babel, which is not installed; "
    "try pip install babel."
)


def language() -> str:
    """Return the language of the texts: that of ``MEMLAB_LANGUAGE`` at the first call, or English
    inside of ``speaking`` where a text has no translation."""
    return _SPOKEN.get() or chosen()


@contextmanager
def speaking(*parts: str) -> Iterator[None]:
    """Speak one language inside: English where one of the parts lacks a translation.

    Args:
        parts: ``"ask.02.halve"``, ``"task.02.largest_batch"``, or tables such as ``"memory"``.

    Example::

        with strings.speaking("ask.02.halve", "card"):
            strings.get("card.control.lock")  # in English, if the question is
    """
    name = language()
    token = _SPOKEN.set(name if all(whole(name, part) for part in parts) else ENGLISH)
    try:
        yield
    finally:
        _SPOKEN.reset(token)


@cache
def chosen() -> str:
    """Return the language of ``MEMLAB_LANGUAGE`` at the first call.

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
    files = (file.name.rpartition(".") for file in FOLDER.iterdir())
    return [ENGLISH, *sorted({name for name, _dot, end in files if end in (SOURCE, READ)})]


@cache
def table(name: str = ENGLISH) -> dict[str, str]:
    """Return all texts of a language by their dotted key; those of a part that lacks a translation
    in English."""
    if name != ENGLISH:
        return {
            key: _translated(name, key) if whole(name, part_of(key)) else text
            for key, text in table().items()
        }
    import tomllib  # late: memlab is imported without a text

    texts: dict[str, str] = {}
    for file in sorted((FOLDER / name).iterdir(), key=lambda file: file.name):
        if file.name.endswith(".toml"):
            texts |= flat(tomllib.loads(file.read_text(encoding="utf-8")))
    return texts


def part_of(key: str) -> str:
    """Return the part that a key belongs to: its card or exercise, the question about one mistake,
    else its table: ``"ask.02.halve"``, ``"cause.batch"``, ``"memory"``."""
    words = key.split(".")
    return ".".join(words[: {"ask": 3, "task": 3, "cause": 2}.get(words[0], 1)])


@cache
def whole(name: str, part: str) -> bool:
    """True if each text of a part has a translation, or the language is English."""
    return name == ENGLISH or all(_translated(name, key) for key in _keys().get(part, ()))


@cache
def _keys() -> dict[str, list[str]]:
    """Return the keys of the texts of each part; an empty text needs no translation."""
    parts: dict[str, list[str]] = {}
    for key, text in table().items():
        if text:
            parts.setdefault(part_of(key), []).append(key)
    return parts


def _translated(name: str, key: str) -> str:
    """Return the translation of a text, empty where there is none."""
    text = table()[key]
    return messages(name).get((context(key, text), text), "")


@cache
def messages(name: str) -> dict[tuple[str, str], str]:
    """Return the translations of a language, by context (empty, or the key of a short text) and
    English text.

    Raises:
        ModuleNotFoundError: Babel is not installed, and they were not read before.
    """
    if (read := FOLDER / f"{name}.{READ}").exists():
        rows = json.loads(read.read_text(encoding="utf-8"))
        return {(place, text): translated for place, text, translated in rows}
    from babel.messages.pofile import read_po

    with (FOLDER / f"{name}.{SOURCE}").open("rb") as file:
        return translations(read_po(file))


def as_read(name: str) -> str:
    """Return the translations of a language as JSON, which is read where Babel is not installed."""
    rows = [[place, text, translated] for (place, text), translated in messages(name).items()]
    return json.dumps(rows, ensure_ascii=False, separators=(",", ":"))


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


def series(names: Sequence[object]) -> str:
    """Return names in a row: ``'x, t and y'``; a single one as it is, and "" for none."""
    *most, last = map(str, names or [""])
    return get("draw.series", names=", ".join(most), last=last) if most else last


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
