"""Notebooks as HTML that is complete without a script: texts, code and stored outputs.

A code cell is ``<section class="cell" data-cell="ID">``, with its code in ``pre.source`` and its
outputs in ``div.output``: ``web/page/page.js`` finds them by these names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from html import escape, unescape
from pathlib import Path
from typing import Any

from web.site import words
from web.site.code import highlighted
from web.site.markdown import Headings, Resolve, html

Cell = dict[str, Any]
TITLE = re.compile(r"<title>(.*?)</title>", re.DOTALL)
COLUMNS = re.compile(r"\S {2,}\S.*\n.*\S {2,}\S")
ASKS = re.compile(r"\blesson\.(?:predict|recall|change)\(")
"""Code of a card."""
CARD = re.compile(
    r'<figure class="svg">(?P<frame><div[^>]*><svg [^>]*width="844".*?)(?P<words><details .*?'
    r"<pre[^>]*>(?P<text>.*?)</pre>.*?</figure>)",
    re.DOTALL,
)
"""Picture of a card, whose text is what a narrow screen shows."""


def read(file: Path) -> list[Cell]:
    """Return the cells of a notebook."""
    cells: list[Cell] = json.loads(file.read_text(encoding="utf-8"))["cells"]
    return cells


def body(cells: list[Cell], resolve: Resolve, headings: Headings, language: str = "en") -> str:
    """Return the cells of a notebook as HTML.

    Args:
        cells: cells of the notebook.
        resolve: from a link of the notebook to that of its page.
        headings: headings of the page, which are filled in.
        language: language of what stands beside code and pictures.
    """
    return "".join(_cell(cell, resolve, headings, language) for cell in cells)


def _cell(cell: Cell, resolve: Resolve, headings: Headings, language: str) -> str:
    if cell["cell_type"] == "markdown":
        return f'<div class="text">\n{html(source(cell), resolve, headings)}</div>\n'
    outputs = "".join(_output(output, language) for output in cell["outputs"])
    if ASKS.search(source(cell)):
        outputs = as_question(outputs)
    return (
        f'<section class="cell" data-cell="{escape(cell["id"])}">\n'
        f"{_code(cell, language)}"
        f'<div class="output">{outputs}</div>\n</section>\n'
    )


def source(cell: Cell) -> str:
    """Return the text of a cell."""
    return joined(cell["source"])


def joined(lines: str | list[str]) -> str:
    """Return a text that a notebook keeps whole or line by line."""
    return lines if isinstance(lines, str) else "".join(lines)


def _code(cell: Cell, language: str) -> str:
    """Return the code of a cell; code that the notebook folds is folded here too."""
    label = escape(words.of("code", language))
    code = code_block(source(cell), language)
    if cell["metadata"].get("jupyter", {}).get("source_hidden"):
        code = f"<details><summary>{label}</summary>{code}</details>\n"
    return f'<div class="code">{code}</div>\n'


def code_block(code: str, language: str = "en") -> str:
    """Return the code of a cell in the element that becomes its editor."""
    label = escape(words.of("code", language))
    return (
        f'<pre class="source" tabindex="0" aria-label="{label}" translate="no">'
        f"<code>{highlighted(code)}</code></pre>\n"
    )


def as_question(outputs: str) -> str:
    """Return the outputs of a card with its text, which is shown where the screen is too narrow for
    its picture."""
    return CARD.sub(
        r'<figure class="svg asked">\g<frame><pre class="narrow">\g<text></pre>\g<words>', outputs
    )


# -- outputs ---------------------------------------------------------------------------------------


def _output(output: Cell, language: str) -> str:
    """Return one stored output."""
    if output["output_type"] == "stream":
        return _words(joined(output["text"]))
    if output["output_type"] == "error":
        return f'<pre class="error">{escape(output["ename"])}: {escape(output["evalue"])}</pre>\n'
    data = {kind: joined(value) for kind, value in output["data"].items()}
    return next(show(data, language) for kind, show in KINDS.items() if kind in data)


def _words(text: str) -> str:
    """Return text; one in columns keeps its lines on a narrow screen."""
    columns = ' class="columns"' if COLUMNS.search(text) else ""
    return f'<pre{columns} tabindex="0">{escape(text.rstrip(), quote=False)}</pre>\n'


def picture(svg: str, text: str, language: str = "en") -> str:
    """Return a picture in a frame that it can scroll in, with the text that says the same."""
    title = TITLE.search(svg)
    label = escape(unescape(title[1]) if title else words.of("picture", language))
    told = f'<pre tabindex="0">{escape(text, quote=False)}</pre>' if text else ""
    summary = escape(words.of("in words", language))
    twin = f'<details class="words"><summary>{summary}</summary>{told}</details>\n' if text else ""
    return (
        f'<figure class="svg"><div class="frame" tabindex="0" role="group" aria-label="{label}">'
        f'{svg}</div>\n<p class="wider">{words.of("wider", language)}</p>\n{twin}</figure>\n'
    )


def _svg(data: dict[str, str], language: str) -> str:
    return picture(data["image/svg+xml"], data.get("text/plain", ""), language)


def _html(data: dict[str, str], language: str) -> str:
    return f'<div class="table" tabindex="0">{data["text/html"]}</div>\n'


def _plain(data: dict[str, str], language: str) -> str:
    return _words(data["text/plain"])


KINDS: dict[str, Callable[[dict[str, str], str], str]] = {
    "image/svg+xml": _svg,
    "text/html": _html,
    "text/plain": _plain,
}
"""Kinds of outputs, the best one first."""


def first_words(cells: list[Cell]) -> Iterator[str]:
    """Yield the lines of the first text, without marks."""
    text = next(source(cell) for cell in cells if cell["cell_type"] == "markdown")
    for line in re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text).splitlines():
        if line.strip():
            yield line.strip("#*> ")
