"""Markdown of lessons and of docs as HTML: headings with ids, links of the site, tables that scroll
in their own frame, and the Chinese and Japanese words of the glossary with their languages."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from web.pyodide import ROOT
from web.site import places
from web.site.code import highlighted

Resolve = Callable[[str], str]
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
ROW = re.compile(r"[A-H]\d+")
ROWS = rf"{ROW.pattern}(?:, {ROW.pattern})*"
MENTION = re.compile(rf"<sup>({ROWS})</sup>")
"""Rows of the published table, as lessons mention them: ``<sup>B5, D2</sup>``."""
CLAIMS = f"{places.CLAIMS}:"
"""Link that stands for the page of the table."""
LANGUAGES = {"中文": "zh", "日本語": "ja"}
"""Languages of the cells of a column, by its heading."""
FRAME = '<div class="table" tabindex="0" role="group" aria-label="{label}">'
"""Beginning of the frame that a wide table scrolls in."""


@dataclass
class Headings:
    """Headings of a page so far: level, id and text of each. No id is given twice."""

    rows: list[tuple[int, str, str]] = field(default_factory=list)

    def add(self, level: int, text: str) -> str:
        """Return the id of a new heading."""
        slug = re.sub(r"[^\w]+", "-", text.lower()).strip("-") or "part"
        taken, name, number = {row[1] for row in self.rows}, slug, 2
        while name in taken:
            name, number = f"{slug}-{number}", number + 1
        self.rows.append((level, name, text))
        return name


def html(text: str, resolve: Resolve, headings: Headings) -> str:
    """Return Markdown as HTML.

    Args:
        text: Markdown, as notebooks and docs have it.
        resolve: from a link as it is written to that of the page; empty where a text stands for it.
        headings: headings of the page so far, which those of this text are added to.
    """
    tokens = _parser().parse(COMMENT.sub("", text))
    _prepare(tokens, resolve, headings)
    rendered: str = _parser().renderer.render(tokens, _parser().options, {})
    place = resolve(CLAIMS)
    return MENTION.sub(lambda found: f"<sup>{linked(found[1], place)}</sup>", rendered)


def linked(rows: str, place: str) -> str:
    """Return the rows of the published table that a text names as links to them; without a place
    for that table, as they are."""
    return ROW.sub(lambda row: f'<a href="{place}#{row[0]}">{row[0]}</a>', rows) if place else rows


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": True, "highlight": _block})
    return parser.enable("table")


def _block(code: str, language: str, _: str) -> str:
    """Return a block of code, which the keyboard reaches to scroll it."""
    return f'<pre tabindex="0"><code>{highlighted(code, language)}</code></pre>\n'


def _prepare(tokens: Sequence[Token], resolve: Resolve, headings: Headings) -> None:
    """Give tokens their ids, links, frames and languages, in place."""
    _say_languages(tokens)
    for at, token in enumerate(tokens):
        if token.type == "heading_open":
            token.attrSet("id", headings.add(int(token.tag[1:]), plain(tokens[at + 1])))
        if token.type == "code_block":
            token.type = "fence"
        if token.type in ("table_open", "table_close"):
            _framed(token)
        if token.children:
            token.children = list(_inline(token.children, resolve))


def plain(token: Token) -> str:
    """Return the words of an inline token."""
    kinds = ("text", "code_inline")
    return "".join(part.content for part in token.children or () if part.type in kinds)


def _framed(token: Token) -> None:
    """Put a table into a frame that it can scroll in."""
    opens = token.type == "table_open"
    token.type, token.tag = "html_block", ""
    token.content = f"{FRAME.format(label='Table')}<table>\n" if opens else "</table></div>\n"


def table(label: str, heads: Iterable[str], bodies: str) -> str:
    """Return a table in its frame; ``bodies`` are its ``tbody`` elements as HTML."""
    cells = "".join(f'<th scope="col">{head}</th>' for head in heads)
    return (
        f"{FRAME.format(label=label)}<table>"
        f"<thead><tr>{cells}</tr></thead>\n{bodies}</table></div>\n"
    )


def _inline(children: Sequence[Token], resolve: Resolve) -> Iterator[Token]:
    """Yield the parts of a line; a link to what is not on the site becomes its text."""
    dropped = 0
    for child in children:
        if child.type == "link_open":
            target = resolve(str(child.attrs["href"]))
            if not target:
                dropped += 1
                continue
            child.attrSet("href", target)
        if child.type == "link_close" and dropped:
            dropped -= 1
            continue
        if child.type == "image":
            child.attrSet("src", resolve(str(child.attrs["src"])))
            child.attrSet("alt", plain(child))
        if child.type == "text":
            child.type, child.content = "html_inline", _spoken(escape(child.content, quote=False))
        yield child


# -- languages -------------------------------------------------------------------------------------


def _say_languages(tokens: Sequence[Token]) -> None:
    """Mark the cells of a column whose heading is the name of a language."""
    columns: list[str] = []
    at = 0
    for i, token in enumerate(tokens):
        if token.type == "tr_open":
            at = 0
        if token.type == "th_open":
            columns = [*columns[:at], LANGUAGES.get(plain(tokens[i + 1]), "")]
        if token.type in ("th_open", "td_open"):
            if at < len(columns) and columns[at]:
                token.attrSet("lang", columns[at])
            at += 1


@cache
def _names() -> Mapping[str, str]:
    """Chinese and Japanese names of a term as a lesson writes them, by what the page has."""
    text = (ROOT / "lessons" / "source" / "glossary.toml").read_text(encoding="utf-8")
    terms: list[dict[str, Any]] = tomllib.loads(text)["term"]
    return {
        escape(f"{term['zh']} · {term['ja']}", quote=False): (
            f'<span lang="zh">{escape(term["zh"])}</span> · '
            f'<span lang="ja">{escape(term["ja"])}</span>'
        )
        for term in terms
    }


@cache
def _pattern() -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, sorted(_names(), key=len, reverse=True))))


def _spoken(text: str) -> str:
    """Mark the languages of the names of terms in a text."""
    return _pattern().sub(lambda found: _names()[found[0]], text) if " · " in text else text
