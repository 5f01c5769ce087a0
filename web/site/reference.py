"""Pages of the public names: the reference that ``docs/build.py`` makes, in the frame of the
site."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from html import unescape
from importlib import import_module
from inspect import ismodule
from pathlib import Path

from docs.build import PUBLIC, reference
from web.site.frame import SitePage
from web.site.markdown import Headings

FOLDER = "docs/api"
START = f"{FOLDER}/memlab.html"
MAIN = re.compile(r'<main class="pdoc">(.*?)</main>', re.DOTALL)
MEMBERS = re.compile(r'<section id="([^".]+)">')
WORDS = re.compile(r"<p>(.*?)</p>", re.DOTALL)
REPLACED = (
    (re.compile(r'<a class="headerlink".*?</a>', re.DOTALL), ""),
    (re.compile(r'<input [^>]*class="view-value-toggle-state".*?</label>', re.DOTALL), ""),
    (re.compile(r'<span class="default_value">.{200,}?</span>\n', re.DOTALL), "…\n"),
    (re.compile(r'<h6 id="[^"]*">(.*?)</h6>'), r'<p class="part">\1</p>'),
    (re.compile(r"\s*<h1 class=\"modulename\">\s*"), '\n<h1 class="modulename">'),
)
"""Parts of a page that need its own script and style, and what takes their place."""


def modules() -> Sequence[str]:
    """Return the modules whose names users call: the public ones, and those that they hold."""
    held = (getattr(import_module(name), each) for name in PUBLIC for each in _names(name))
    others = {value.__name__ for value in held if ismodule(value)}
    return [*PUBLIC, *sorted(others.difference(PUBLIC))]


def _names(module: str) -> Sequence[str]:
    names: Sequence[str] = import_module(module).__all__
    return names


def pages() -> Iterator[SitePage]:
    """Yield the pages of the reference."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        reference(folder, modules())
        for file in sorted(folder.rglob("*.html")):
            main = MAIN.search(file.read_text(encoding="utf-8"))
            if main:  # the first file leads to the reference alone
                yield _page(file.relative_to(folder).as_posix(), main[1])


def _page(place: str, main: str) -> SitePage:
    """Return a page of the reference in the frame of the site."""
    for pattern, replacement in REPLACED:
        main = pattern.sub(replacement, main)
    headings = Headings()
    headings.rows += [(2, name, name) for name in MEMBERS.findall(main)]
    title = place.removesuffix(".html").replace("/", ".")
    words = WORDS.search(main)
    about = unescape(re.sub(r"<[^>]*>", "", words[1])) if words else title
    return SitePage(
        f"{FOLDER}/{place}", f"{title} – memlab", about[:300], main,
        kind="api", headings=headings,
    )  # fmt: skip
