"""Write the files of translated messages: `python lessons/messages.py [zh...] [--all]`.

A language is two files of messages, in which the English text is the key:

    memlab/strings/zh.po   what memlab says: `memlab/strings/en/*.toml`, and `_("...")` in its code
    lessons/source/zh.po   the lessons: headings, list items, paragraphs, tables, comments in code;
                           and the lines of the glossary

The files hold what is translated; for every other message English is shown. With `--all` they also
list the messages that have no translation yet, for a translator to fill in; the next run without it
takes out what is still empty. `ja --all` begins a language.

A run takes the texts of now. What is translated stays; where the English text was changed a little
the message is marked `fuzzy`, to be looked at, and until then English is shown; what is gone is
kept at the end. Without a name it does so for every language that is there. A second run writes the
same bytes.

A translation that nobody has read who speaks the language says so: its `Last-Translator` is
`machine`, and `lessons/build.py` puts that below the head of each lesson.
"""

from __future__ import annotations

import argparse
import io
import sys
import tokenize
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jupytext
from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_file
from babel.messages.pofile import read_po, write_po
from markdown_it import MarkdownIt

from memlab import atomic_files, strings

LESSONS = Path(__file__).resolve().parent
ROOT = LESSONS.parent
WIDTH = 100
MACHINE = "machine"
"""Who translated what no reader of the language has read."""
MARKED = "strings import gettext as _"
"""What a file imports whose sentences are drawn out."""
FOR_TOOLS = ("fmt:", "noqa", "type:")
"""How a comment begins that is no sentence."""
HEADER = "# The texts of memlab in another language: docs/translate.md."
NOTE = "Run this cell: what it shows depends on your machine. It names the machine and the date."
UNREAD = "A machine made this translation. It waits for a reader who speaks the language."
AGAIN = "In a terminal, `memlab claims {claim}` says what a text claims, and computes it again."
"""What `lessons/build.py` says itself."""
Say = Callable[[str], str]
"""From a message in English to what stands in its place."""


# -- the messages of a text ---------------------------------------------------------------------


def prose(markdown: str, say: Say) -> str:
    """Markdown with each of its messages as `say` gives it: a heading, an item of a list or a
    paragraph, on one line, and a table as it stands. What stays the same keeps its lines."""
    lines = markdown.split("\n")
    for token in reversed(MarkdownIt("commonmark").parse(markdown)):
        if token.type != "inline" or token.map is None:
            continue
        text = token.content if token.content.startswith("|") else " ".join(token.content.split())
        if (said := say(text)) != text:
            first, last = token.map
            mark = lines[first].partition(token.content.split("\n")[0])[0]
            lines[first:last] = [mark + said]
    return "\n".join(lines)


def comments(code: str, say: Say) -> str:
    """Code with each of its comments as `say` gives it."""
    lines = code.split("\n")
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        text = token.string.removeprefix("#").strip()
        if token.type == tokenize.COMMENT and text and not text.startswith(FOR_TOOLS):
            row, column = token.start
            lines[row - 1] = f"{lines[row - 1][:column]}# {say(text)}"
    return "\n".join(lines)


@cache
def of_memlab() -> Catalog:
    """All that memlab says."""
    made = _empty()
    for file in sorted((ROOT / "memlab/strings/en").glob("*.toml")):
        for key, text in strings.flat(_toml(file)).items():
            if text:
                apart = strings.context(key, text) or None
                made.add(text, locations=_in(file), auto_comments=[key], context=apart)
    for file in sorted((ROOT / "memlab").rglob("*.py")):
        if MARKED in file.read_text(encoding="utf-8"):
            for _, said, *_ in extract_from_file("python", file, keywords={"_": None}):
                made.add(said, locations=_in(file))
    return made


@cache
def of_lessons() -> Catalog:
    """All that the lessons say."""
    made = _empty()
    for text in (NOTE, UNREAD, AGAIN):
        made.add(text, locations=_in(Path(__file__)))
    for source in sorted((LESSONS / "source").rglob("*.py")):
        for text in _said(source):
            made.add(text, locations=_in(source))
    for term in _toml(glossary := LESSONS / "source/glossary.toml")["term"]:
        made.add(term["means"], locations=_in(glossary), auto_comments=[term["en"]])
    return made


def _said(source: Path) -> Iterator[str]:
    """The messages of one lesson, in its order."""
    for cell in jupytext.reads(source.read_text(encoding="utf-8"), fmt="py:percent").cells:
        found: list[str] = []

        def heard(text: str, found: list[str] = found) -> str:
            found.append(text)
            return text

        if cell.cell_type == "code":
            comments(cell.source, heard)
            yield from found
        else:
            prose(cell.source, heard)
            yield from reversed(found)


def _toml(file: Path) -> dict[str, Any]:
    return tomllib.loads(file.read_text(encoding="utf-8"))


def _in(file: Path) -> list[tuple[str, int]]:
    return [(file.relative_to(ROOT).as_posix(), 0)]


# -- files --------------------------------------------------------------------------------------


def paths(language: str) -> tuple[Path, Path]:
    """The two files of a language: memlab's and that of the lessons."""
    name = f"{language}.po"
    return ROOT / "memlab/strings" / name, LESSONS / "source" / name


def files(language: str) -> dict[Path, Catalog]:
    """What is to be in each file of a language."""
    return dict(zip(paths(language), (of_memlab(), of_lessons()), strict=True))


def read(path: Path) -> Catalog:
    """A file of messages, or the beginning of one."""
    if not path.exists():
        return _empty(path.stem)
    with path.open("rb") as file:
        return read_po(file, locale=path.stem)


@cache
def sayer(path: Path) -> Say:
    """From a message to what it is in a file of messages."""
    known = {text: said for (_, text), said in strings.translations(read(path)).items()}
    return lambda text: known.get(text, text)


def updated(path: Path, template: Catalog, every: bool = False) -> tuple[Catalog, str]:
    """A file of messages with the texts of now, and what is to be written; with ``every`` also the
    messages that have no translation."""
    catalog = read(path)
    for gone in catalog.obsolete.values():  # it may be back
        catalog.add(gone.id, gone.string, context=gone.context)
    catalog.obsolete.clear()
    catalog.update(template, update_creation_date=False)
    catalog.obsolete = {
        key: gone for key, gone in catalog.obsolete.items() if gone.string and not gone.fuzzy
    }
    for message in catalog:
        message.flags.discard("python-format")  # Babel's guess, wherever a percent sign stands
    present = {message.id for message in template}
    for message in list(catalog):
        if message.fuzzy and present.intersection(message.previous_id):
            message.string = ""  # Babel's guess, from a similar text that has not changed
            message.flags.discard("fuzzy")
        if message.id and not (message.string or every):
            catalog.delete(message.id, message.context)
    return catalog, text_of(catalog)


def text_of(catalog: Catalog) -> str:
    """What the file holds."""
    text = io.BytesIO()
    write_po(text, catalog, WIDTH, include_lineno=False, include_previous=True)
    return text.getvalue().decode()


def _empty(language: str | None = None) -> Catalog:
    return Catalog(language, header_comment=HEADER, project="memlab", version="0", fuzzy=False,
                   last_translator=MACHINE, language_team="memlab developers",
                   msgid_bugs_address="the repository's issues")  # fmt: skip


def main(given: list[str]) -> int:
    """Write the files of these languages, or of all, and say how much is translated."""
    parser = argparse.ArgumentParser("lessons/messages.py", description=__doc__.partition("\n")[0])
    parser.add_argument("languages", nargs="*", help="such as zh; without a name, all of them")
    parser.add_argument("--all", action="store_true", help="list untranslated messages too")
    chosen = parser.parse_args(given)
    for language in chosen.languages or strings.languages()[1:]:
        for path, template in files(language).items():
            catalog, text = updated(path, template, chosen.all)
            atomic_files.write(path, text)
            good, fuzzy = len(strings.translations(catalog)), sum(m.fuzzy for m in catalog if m.id)
            print(f"{path.relative_to(ROOT)}: {good} of {len(template)} messages are translated, "
                  f"{fuzzy} are to be looked at")  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
