"""Places of pages: a file of the repository is a page of the site in the same folder.

``lessons/01_linear.ipynb`` becomes ``lessons/01_linear.html``, so a link between two files leads
to the page of the other one once its ending is changed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from urllib.parse import unquote

from memlab.errors import InputError
from web.publish.repository import Repository
from web.pyodide import ROOT

PAGES = (
    "lessons/*.ipynb", "lessons/appendix/*.ipynb", "lessons/solutions/*.ipynb",
    "lessons/??/*.ipynb", "lessons/??/solutions/*.ipynb", "lessons/*.md", "lessons/instructor/*.md",
    "docs/*.md", "CONTRIBUTING.md", "CHANGELOG.md", "benchmarks/LOG.md",
)  # fmt: skip
"""Files of the repository that become pages."""
COPIES = ("lessons/images/*", "lessons/lecture/*.html")
"""Files that are copied as they are."""
START = "index.html"
MOVED = {"README.md": START, "lessons": f"{START}#lessons", "lessons/instructor": "teach.html"}
"""Pages of the site that take the place of a file or a folder of the repository."""
CLAIMS = "claims"
"""Name of the page of the published table."""
SOURCES = (
    "datascience.stackexchange.com", "docs.pytorch.org", "github.com/soumith/convnet-benchmarks",
)  # fmt: skip
"""Texts that lessons and readings quote, by the beginnings of their addresses."""
TOOLS = (
    "docs.astral.sh/uv", "babel.pocoo.org", "keepachangelog.com", "semver.org", "tljh.jupyter.org",
    "github.com/containers/bubblewrap",
)  # fmt: skip
"""Tools and conventions that pages of docs name."""


def page_of(file: str) -> str:
    """Return the place of the page of a file of the repository.

    >>> page_of("lessons/01_linear.ipynb")
    'lessons/01_linear.html'
    """
    return str(PurePosixPath(file).with_suffix(".html"))


def relative(place: str, page: str) -> str:
    """Return the link from a page to a place of the site.

    >>> relative("index.html#lessons", "lessons/zh/01_linear.html")
    '../../index.html#lessons'
    """
    return os.path.relpath(place, PurePosixPath(page).parent).replace(os.sep, "/")


def outside(link: str) -> bool:
    """Tell if a link leads out of the site.

    >>> outside("https://semver.org"), outside("#peak")
    (True, False)
    """
    return bool(re.match(r"[a-z][a-z0-9+.-]*:|//", link))


@dataclass(frozen=True)
class Places:
    """All files of the repository that the site shows, each with its place in it.

    ``repository`` is where the repository's files can be read, if it is named; ``lite`` tells if
    the site has JupyterLite.
    """

    of: Mapping[str, str]
    repository: Repository | None = None
    lite: bool = False
    extra: Mapping[str, str] = field(default_factory=dict)
    """Pages that no file of the repository stands behind, by a name: ``"playground"``."""

    @property
    def all(self) -> frozenset[str]:
        """Paths of all pages and files of the site."""
        every = {place.partition("#")[0] for place in self.of.values()}
        return frozenset(every | set(self.extra.values()))

    def resolve(self, link: str, file: str) -> str:
        """Return a link of a file as a link of its page, or empty if it leads to what is not on
        the site.

        Args:
            link: as the file has it, seen from its folder.
            file: path of the file in the repository.

        Raises:
            InputError: it leads to no file, or out of the site to a text that is not declared.
        """
        if link == f"{CLAIMS}:":
            return relative(self.extra[CLAIMS], self.of[file]) if CLAIMS in self.extra else ""
        if outside(link):
            return declared(link, file)
        path, _, anchor = link.partition("#")
        if not path:
            return link
        target = os.path.normpath(PurePosixPath(file).parent / unquote(path)).replace(os.sep, "/")
        place = self.of.get(target, "")
        if place:
            found = relative(place, self.of[file])
            return f"{found}#{anchor}" if anchor and "#" not in found else found
        if not (ROOT / target).exists():
            raise InputError(f"{file} links to {link}, which is not there.")
        return f"{self.repository.files}/{target}" if self.repository else ""


def declared(link: str, file: str) -> str:
    """Return a link that leads out of the site.

    Raises:
        InputError: its text is not one of ``SOURCES`` or ``TOOLS``.
    """
    address = link.partition("//")[2]
    if not address.startswith((*SOURCES, *TOOLS)):
        raise InputError(
            f"{file} links to {link}, which is no declared source; web/site/places.py lists them."
        )
    return link


def places(
    repository: Repository | None = None,
    lite: bool = False,
    extra: Mapping[str, str] | None = None,
) -> Places:
    """Return the places of all files that the site shows."""
    own = {file: page_of(file) for file in _files(PAGES)} | {file: file for file in _files(COPIES)}
    return Places(own | MOVED, repository, lite, extra or {})


def _files(names: Iterable[str]) -> list[str]:
    """Return the paths of the files of the repository that patterns name."""
    return sorted(path.relative_to(ROOT).as_posix() for name in names for path in ROOT.glob(name))
