"""The words of the lessons, from `source/glossary.toml`: as a page, and in place.

In a notebook `[peak](glossary.md)` leads to its line on that page, and shows the line when the
mouse rests on it: what it means, in Chinese, in Japanese. The list behind `Words:` in a head
becomes one that opens on demand, and the first mention of each of its words further down is linked
in the same way.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

from lessons.messages import Say

Term = dict[str, str]

FILE = "glossary.md"
HEAD = """# Glossary

The words of the lessons, with their names in Chinese and Japanese.

| term | what it means | 中文 | 日本語 |
|---|---|---|---|
"""
LINK = re.compile(r"\[([^]]+)\]\(((?:\.\./)*)glossary\.md\)")
COLON, COMMA, STOP = "[:\uff1a]", "[,\uff0c\u3001]", "[.\u3002]"
"""In English, Chinese and Japanese."""
ONE = r"\[[^]]+\]\([^)]*glossary\.md\)"
WORDS = re.compile(rf"^([^\n\[]{{1,20}}){COLON}\s*({ONE}(?:{COMMA}\s*{ONE})*){STOP}$", re.MULTILINE)
"""`Words: [peak](glossary.md), [batch size](glossary.md).`"""
APART = re.compile(
    r"((?s:```.*?```)|`[^`]*`|!?\[[^]]*\]\([^)]*\)|<[^>]*>|^\#.*$|^\|.*$|^\ {4}.*$"
    r"|(?s:\*\*.*?\*\*))",
    re.MULTILINE,
)
"""What of a text is no running prose: code, links, tags, headings, tables, bold words."""


def terms(lessons: Path) -> dict[str, Term]:
    """Every term by its English name, in the order of the alphabet."""
    text = (lessons / "source" / "glossary.toml").read_text(encoding="utf-8")
    found = sorted(tomllib.loads(text)["term"], key=lambda term: str(term["en"]).lower())
    return {term["en"]: term for term in found}


def page(known: dict[str, Term]) -> str:
    """`glossary.md`: a table in which each term has an anchor."""
    row = '| <a id="{anchor}"></a>{en} | {means} | {zh} | {ja} |\n'
    return HEAD + "".join(row.format(anchor=anchor(en), **term) for en, term in known.items())


def anchor(en: str) -> str:
    """``"MB, GB"`` as ``"mb-gb"``."""
    return re.sub(r"\W+", "-", en.lower()).strip("-")


def line(term: Term, say: Say = str) -> str:
    """What is shown in place."""
    return f"{say(term['means'])} {term['zh']} · {term['ja']}"


def link(text: str, term: Term, folder: str, say: Say) -> str:
    """A link to the term, seen from a folder, whose title is its line."""
    title = line(term, say).replace('"', "'")
    return f'[{text}]({folder}{FILE}#{anchor(term["en"])} "{title}")'


# -- in place -----------------------------------------------------------------------------------


def in_place(markdown: list[str], known: dict[str, Term], say: Say = str) -> list[str]:
    """The texts of a notebook with their words in place: the list of the words opens on demand, and
    below it the first mention of each is linked."""
    names = {term[tongue]: term for tongue in ("ja", "zh", "en") for term in known.values()}
    head = next((at for at, text in enumerate(markdown) if WORDS.search(text)), len(markdown))
    found = WORDS.search(markdown[head]) if head < len(markdown) else None
    links = LINK.findall(found[2]) if found else []
    listed = [(text, names[_flat(text)], folder) for text, folder in links if _flat(text) in names]
    opens = [opened(text, listed, say) for text in markdown[head : head + 1]]
    made = [*markdown[:head], *opens, *mentioned(markdown[head + 1 :], listed, say)]

    def linked(found: re.Match[str]) -> str:
        term = names.get(_flat(found[1]))
        return link(found[1], term, found[2], say) if term else found[0]

    return [LINK.sub(linked, text) for text in made]


def opened(head: str, listed: list[tuple[str, Term, str]], say: Say) -> str:
    """The head with its words as a list that opens on demand."""
    if not listed:
        return head
    inside = [
        f"- **[{text}]({folder}{FILE}#{anchor(term['en'])})**: {line(term, say)}"
        for text, term, folder in listed
    ]
    words = ", ".join(_flat(text) for text, _, _ in listed)

    def details(found: re.Match[str]) -> str:
        top = f"<summary>{found[1]}: {words}</summary>"
        return "\n".join(["<details>", top, "", *inside, "", "</details>"])

    return WORDS.sub(details, head, count=1)


def mentioned(
    markdown: Iterable[str], listed: Iterable[tuple[str, Term, str]], say: Say
) -> list[str]:
    """Running prose in which the first mention of each listed word is linked."""
    waiting = {mention(text): (term, folder) for text, term, folder in listed}
    return ["".join(_parts(text, waiting, say)) for text in markdown]


def _parts(text: str, waiting: dict[re.Pattern[str], tuple[Term, str]], say: Say) -> Iterator[str]:
    for index, part in enumerate(APART.split(text)):
        matches = () if index % 2 else (each.search(part) for each in waiting)
        found = min((each for each in matches if each), key=lambda each: each.start(), default=None)
        if found is None:
            yield part
        else:
            made = link(found[0], *waiting.pop(found.re), say)
            yield part[: found.start()] + made
            yield from _parts(part[found.end() :], waiting, say)


def mention(name: str) -> re.Pattern[str]:
    """The ways to mention a term: without what stands in parentheses, one or many."""
    words = re.sub(r" ?[(\uff08].*", "", _flat(name)).split(", ")
    each = "|".join(r"\s+".join(map(re.escape, word.split())) for word in words)
    return re.compile(rf"(?<![\w-])(?:{each})(?:e?s)?(?![\w-])", re.IGNORECASE)


def _flat(text: str) -> str:
    return " ".join(text.split())
