"""Pages of the public names: the reference that ``docs/build.py`` makes, in the frame of the
site."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from html import unescape
from importlib import import_module
from inspect import ismodule
from os.path import normpath
from pathlib import Path, PurePosixPath

from docs.build import PUBLIC, reference
from web.site.frame import SitePage
from web.site.markdown import Headings

FOLDER = "docs/api"
START = f"{FOLDER}/memlab.html"
MAIN = re.compile(r'<main class="pdoc">(.*?)</main>', re.DOTALL)
MEMBERS = re.compile(r'<section id="([^".]+)">')
IDS = re.compile(r'\bid="([^"]+)"')
LINK = re.compile(r'<a href="([^":]*)">(.*?)</a>', re.DOTALL)
WORDS = re.compile(r"<p>(.*?)</p>", re.DOTALL)
REPLACED = (
    (re.compile(r'<a class="headerlink".*?</a>', re.DOTALL), ""),
    (re.compile(r'<input [^>]*class="view-value-toggle-state".*?</label>', re.DOTALL), ""),
    (re.compile(r'<span class="default_value">[^<]{200,}</span>'), "…"),
    (re.compile(r'<h6 id="[^"]*">(.*?)</h6>'), r'<p class="part">\1</p>'),
    (re.compile("<pre>"), '<pre tabindex="0">'),
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
        files = sorted(folder.rglob("*.html"))
        found = {file: MAIN.search(file.read_text(encoding="utf-8")) for file in files}
    bodies = {
        file.relative_to(folder).as_posix(): _in_frame(main[1])
        for file, main in found.items()
        if main  # the first file leads to the reference alone
    }
    known = {place: {"", *IDS.findall(body)} for place, body in bodies.items()}
    for place, body in bodies.items():
        yield _page(place, _alive(body, place, known))


def _in_frame(main: str) -> str:
    """Return what a page says without what needs its own script and style."""
    for pattern, replacement in REPLACED:
        main = pattern.sub(replacement, main)
    return main


def _alive(body: str, place: str, known: Mapping[str, set[str]]) -> str:
    """Return a page in which a link to a name that has no entry is the name alone."""

    def kept(link: re.Match[str]) -> str:
        path, _, anchor = link[1].partition("#")
        target = normpath(PurePosixPath(place).parent / path) if path else place
        return link[0] if anchor in known.get(target, ()) else link[2]

    return LINK.sub(kept, body)


def _page(place: str, main: str) -> SitePage:
    """Return a page of the reference in the frame of the site."""
    headings = Headings()
    headings.rows += [(2, name, name) for name in MEMBERS.findall(main)]
    title = place.removesuffix(".html").replace("/", ".")
    words = WORDS.search(main)
    about = unescape(re.sub(r"<[^>]*>", "", words[1])) if words else title
    return SitePage(
        f"{FOLDER}/{place}", f"{title} – memlab", about[:300], main, kind="api", headings=headings
    )
