"""Code as HTML, with the few classes of words that ``web/page/page.css`` has a colour for."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from html import escape

from pygments import lexers
from pygments.lexer import Lexer
from pygments.token import Token, _TokenType
from pygments.util import ClassNotFound

CLASSES = {
    Token.Comment: "c",
    Token.Keyword: "k",
    Token.Operator.Word: "k",
    Token.Literal.String: "s",
    Token.Literal.Number: "m",
    Token.Name.Function: "f",
    Token.Name.Class: "f",
    Token.Name.Decorator: "f",
}
"""Classes of elements by the kind of a word; other words have none."""


def highlighted(code: str, language: str = "python") -> str:
    """Return code as HTML; one in a language that is not known is escaped alone.

    >>> highlighted("return 1")
    '<span class="k">return</span> <span class="m">1</span>'
    """
    lexer = _lexer(language)
    if lexer is None:
        return escape(code, quote=False)
    return "".join(_joined(lexer.get_tokens(code))).rstrip("\n")


@cache
def _lexer(language: str) -> Lexer | None:
    try:
        return lexers.get_lexer_by_name(language, stripnl=False) if language else None
    except ClassNotFound:
        return None


def _joined(tokens: Iterable[tuple[_TokenType, str]]) -> Iterable[str]:
    for kind, text in tokens:
        name = next((CLASSES[part] for part in reversed(kind.split()) if part in CLASSES), "")
        plain = escape(text, quote=False)
        yield f'<span class="{name}">{plain}</span>' if name and plain.strip() else plain
