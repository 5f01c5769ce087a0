"""Frame of every page: head, navigation, contents and the end, around what the page says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

from web.publish.doors import doors
from web.site import words
from web.site.markdown import Headings
from web.site.places import Places, relative

NAVIGATION = (
    ("Lessons", "index.html#lessons"),
    ("Playground", "playground.html"),
    ("Glossary", "lessons/glossary.html"),
    ("Claims, checked", "claims.html"),
    ("For instructors", "teach.html"),
    ("Docs", "docs/README.html"),
)
"""Names and places of the navigation; a place that the site does not have is left out."""
CONTENTS = 3
"""Headings from which on a page has its contents beside it."""


@dataclass
class SitePage:
    """Page before it is written.

    ``place`` is its path in the site, ``file`` that in the repository, ``lesson`` the notebook
    whose cells it has, without its ending, and ``live`` tells if they run.
    """

    place: str
    title: str
    about: str
    body: str
    file: str = ""
    language: str = "en"
    lesson: str = ""
    live: bool = False
    kind: str = "text"
    headings: Headings = field(default_factory=Headings)
    around: Sequence[tuple[str, str, str]] = ()
    """Links at the end: class, what it is, and the link as HTML."""
    scripts: Sequence[str] = ()
    styles: Sequence[str] = ()

    @property
    def root(self) -> str:
        """Path from the page to the folder of the site: empty, or ``../`` as often as needed."""
        return "../" * self.place.count("/")


def html(page: SitePage, places: Places) -> str:
    """Return the whole page."""
    live = ' data-live="1"' if page.live else ""
    say = escape(words.of("skip", page.language))
    contents = _contents(page)
    return (
        f'<!doctype html>\n<html lang="{page.language}">\n{_head(page)}'
        f'<body class="{page.kind}" data-lesson="{page.lesson}" data-root="{page.root}"{live}>\n'
        f'<a class="skip" href="#main">{say}</a>\n'
        f'{_header(page, places)}{contents}<main id="main">\n{page.body}{_around(page)}</main>\n'
        f"{_footer(page, places)}</body>\n</html>\n"
    )


def _head(page: SitePage) -> str:
    styles = ["page.css", *page.styles, *(["view.css", "live.css"] if page.live else [])]
    scripts = ["site.js", *page.scripts]
    links = "".join(f'<link rel="stylesheet" href="{page.root}assets/{name}">\n' for name in styles)
    links += "".join(
        f'<script defer src="{page.root}assets/{name}"></script>\n' for name in scripts
    )
    if page.live:
        links += f'<script src="{page.root}assets/start.js"></script>\n'
    return (
        '<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(page.title)}</title>\n"
        f'<meta name="description" content="{escape(page.about)}">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f'<link rel="icon" href="{page.root}assets/icon.svg" type="image/svg+xml">\n'
        f"{links}</head>\n"
    )


def _header(page: SitePage, places: Places) -> str:
    """Return the name of the site, its navigation, and what scripts fill: buttons of the page, and
    how far Python is."""
    english = "" if page.language == "en" else ' lang="en"'
    rows = [row for row in NAVIGATION if row[1].partition("#")[0] in places.all]
    links = "".join(_entry(name, place, page) for name, place in rows)
    if places.repository:
        links += f'<a href="{escape(places.repository.page)}">Source</a>'
    tools = ""
    if page.live:
        label = escape(words.of("tools", page.language))
        tools = (
            f'<div class="bar"><div class="tools" id="tools" role="group" aria-label="{label}">'
            f'</div><span id="python" role="status"></span>{_doors(page, places)}</div>'
        )
    return (
        f'<header class="site"><div class="top"{english}>'
        f'<a class="home" href="{page.root}index.html">memlab</a>'
        f'<nav aria-label="Site">{links}</nav></div>{tools}</header>\n'
    )


def _doors(page: SitePage, places: Places) -> str:
    """Return the links to the same lesson as a notebook, in JupyterLite or elsewhere."""
    rows = doors(page.file, page.root, places.lite, places.repository)
    if not rows:
        return ""
    label = escape(words.of("notebook", page.language))
    links = "".join(
        f'<a href="{escape(address)}" title="{escape(words.of(name, page.language))}">{name}</a>'
        for name, address in rows
    )
    return (
        f'<div class="tools notebooks" role="group" aria-label="{label}">'
        f"<span>{label}</span>{links}</div>"
    )


def _entry(name: str, place: str, page: SitePage) -> str:
    here = ' aria-current="page"' if place == page.place else ""
    return f'<a href="{relative(place, page.place)}"{here}>{escape(name)}</a>'


def _contents(page: SitePage) -> str:
    """Return the headings of the second level as links: at the side of a wide page, and folded on
    a narrow one."""
    rows = [(name, text) for level, name, text in page.headings.rows if level == 2]
    if len(rows) < CONTENTS:
        return ""
    label = escape(words.of("contents", page.language))
    links = "".join(f'<li><a href="#{name}">{escape(text)}</a></li>' for name, text in rows)
    return (
        f'<nav class="contents" aria-label="{label}"><details><summary>{label}</summary>'
        f'<ol>{links}</ol></details><p aria-hidden="true">{label}</p><ol class="side">{links}</ol>'
        "</nav>\n"
    )


def _around(page: SitePage) -> str:
    """Return the links to the pages before and after, and to those that belong to this one."""
    if not page.around:
        return ""
    label = escape(words.of("around", page.language))
    rows = "".join(
        f'<li class="{kind}"><span>{escape(what)}</span> {link}</li>'
        for kind, what, link in page.around
    )
    return f'<nav class="around" aria-label="{label}"><ul>{rows}</ul></nav>\n'


def _footer(page: SitePage, places: Places) -> str:
    english = "" if page.language == "en" else ' lang="en"'
    return (
        f'<footer class="site"{english}><p>memlab plans one training step to the byte, runs it, '
        "and measures it. All that you do here stays in this browser. "
        f'<a href="{page.root}LICENSE.txt">BSD-3-Clause</a></p></footer>\n'
    )
