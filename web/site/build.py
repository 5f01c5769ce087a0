"""All pages of the site, and the folder that they are written to."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from html import escape
from itertools import pairwise
from pathlib import Path, PurePosixPath

from memlab.course.hero import picture as hero
from memlab.pictures import live as live_view
from web.publish.repository import Repository
from web.pyodide import ROOT
from web.site import (
    claims,
    frame,
    lessons,
    markdown,
    mountain,
    notebook,
    playground,
    reference,
    start,
    teach,
    words,
)
from web.site.frame import SitePage
from web.site.markdown import COMMENT, Headings
from web.site.places import CLAIMS, COPIES, Places, page_of, places, relative

BUILD = ROOT / "build" / "site"
PAGE = Path(__file__).resolve().parents[1] / "page"
VIEW = Path(live_view.__file__).parent
ASSETS = (PAGE, VIEW)
"""Folders whose scripts, styles and icons pages load."""
WRITTEN = ("assets", "benchmarks", "docs", "lessons")
"""Folders of the site that are written anew each time."""
LOADED = (".js", ".css", ".svg")
OWN = {CLAIMS: "claims.html", "playground": playground.PLACE}
"""Pages that no file of the repository stands behind."""
READINGS = "lessons/readings.md"
CELL = re.compile(rf"<td>({markdown.ROWS})</td>")
"""Cell with the rows of the table that a text's claims are."""
REFERENCE = "reference"
"""Name of the page of the public names."""


def build(
    folder: Path = BUILD,
    repository: Repository | None = None,
    run: bool = True,
    lite: bool = False,
    names: bool = True,
) -> Places:
    """Write all static pages of the site, and return their places.

    Args:
        folder: where to write; it is made where it is missing.
        repository: where the files of the repository can be read, if it is named.
        run: also compute the claims that need a run of a step.
        lite: whether JupyterLite is added too, so that lessons have a button for it.
        names: also make the pages of the public names, which takes longer than all others.
    """
    known = places(repository, lite, OWN | ({REFERENCE: reference.START} if names else {}))
    clear(folder)
    for page in pages(known, run):
        write(page, known, folder)
    copy(folder)
    return known


def pages(known: Places, run: bool = True) -> Iterator[SitePage]:
    """Yield all pages."""
    yield start.page()
    yield playground.page()
    yield teach.page(known)
    yield claims.page(run)
    for file, place in known.of.items():
        if file.endswith(".ipynb"):
            yield notebook_page(file, known)
        elif file.endswith(".md") and place == page_of(file):
            yield text_page(file, known)
    if REFERENCE in known.extra:
        for page in reference.pages():
            yield replace(page, body=_docs_line(page.place, known) + page.body)


def _docs_line(place: str, known: Places) -> str:
    """Return the line above a page of docs: all pages of docs, and the public names."""
    rows = [("All pages of docs", known.of["docs/README.md"])]
    if REFERENCE in known.extra:
        rows.append(("Public names", known.extra[REFERENCE]))
    links = " · ".join(f'<a href="{relative(to, place)}">{name}</a>' for name, to in rows)
    return f'<p class="above">{links}</p>\n'


def clear(folder: Path) -> None:
    """Remove the pages of an earlier build from a folder that holds a site."""
    if (folder / "assets" / "page.css").exists():
        for name in WRITTEN:
            shutil.rmtree(folder / name, ignore_errors=True)


def write(page: SitePage, known: Places, folder: Path) -> None:
    """Write a page into the folder of the site."""
    target = folder / page.place
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(frame.html(page, known), encoding="utf-8")


def copy(folder: Path) -> None:
    """Copy pictures, the lecture, the licence, scripts and styles into the folder of the site."""
    for file in (file for name in COPIES for file in ROOT.glob(name)):
        _copy(file, folder / file.relative_to(ROOT))
    _copy(ROOT / "LICENSE", folder / "LICENSE.txt")
    for file in (file for source in ASSETS for file in source.iterdir()):
        if file.suffix in LOADED:
            _copy(file, folder / "assets" / file.name)
    (folder / "assets" / "mountain.js").write_text(mountain.script(), encoding="utf-8")
    still = folder / "assets" / "still"
    for name in hero.FILES:
        _copy(ROOT / "lessons" / "images" / name, still / name)
        (still / name).write_text(without_motion((still / name).read_text()), encoding="utf-8")


def without_motion(svg: str) -> str:
    """Return a moving picture as it stands still, with the question and the answer."""
    return svg.replace("</style>", "*{animation:none!important}</style>")


def _copy(file: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, target)


# -- notebooks -------------------------------------------------------------------------------------


def notebook_page(file: str, known: Places) -> SitePage:
    """Return the page of a notebook of the repository: ``lessons/01_linear.ipynb``."""
    cells = notebook.read(ROOT / file)
    headings, language = Headings(), language_of(file)
    body = notebook.body(cells, lambda link: known.resolve(link, file), headings, language)
    title, *lines = notebook.first_words(cells)
    solved = "/solutions/" in file
    said = words.of("solutions", language)
    return SitePage(
        place=known.of[file],
        title=f"{title} – {f'{said} – ' if solved else ''}memlab",
        about=" ".join([title, *lines])[:300],
        body=_note(file, known, language) + body if solved else body,
        file=file,
        language=language,
        lesson=file.removesuffix(".ipynb"),
        live=not solved,
        kind="lesson",
        headings=headings,
        around=tuple(around(file, known, language)),
    )


def language_of(file: str) -> str:
    """Return the language of a notebook, which its folder names: ``lessons/zh``."""
    folder = PurePosixPath(file).parts[1]
    return folder if len(folder) == 2 else "en"


def _note(file: str, known: Places, language: str) -> str:
    """Return the line above solutions."""
    said = words.of("solutions_long", language)
    unsolved = file.replace("/solutions/", "/")
    back = ""
    if unsolved in known.of:
        place = relative(known.of[unsolved], known.of[file])
        back = f' <a href="{place}">{escape(words.of("back", language))}</a>'
    return f'<p class="note">{escape(said)}.{back}</p>\n'


def around(file: str, known: Places, language: str) -> Iterator[tuple[str, str, str]]:
    """Yield the links at the end of a lesson: the lessons before and after, its solutions, and its
    page for instructors."""
    here = known.of[file]

    def link(place: str, text: str) -> str:
        return f'<a href="{relative(place, here)}">{escape(text)}</a>'

    for before, after in pairwise(lessons.lessons()):
        if after.file == file:
            yield "previous", words.of("previous", language), link(before.place, before.name)
        if before.file == file:
            yield "next", words.of("next", language), link(after.place, after.name)
    solved = str(PurePosixPath(file).parent / "solutions" / PurePosixPath(file).name)
    if solved in known.of:
        said = words.of("solutions_long", language)
        yield "solutions", words.of("solutions", language), link(known.of[solved], said)
    for guide in (lesson.guide for lesson in lessons.lessons() if lesson.file == file):
        said = words.of("instructor", language)
        yield "instructor", said, link(known.of[guide], "Minute plan, answers, wrong guesses")


# -- texts -----------------------------------------------------------------------------------------


def text_page(file: str, known: Places) -> SitePage:
    """Return the page of a Markdown file of the repository."""
    headings = Headings()
    text = (ROOT / file).read_text(encoding="utf-8")
    body = markdown.html(text, lambda link: known.resolve(link, file), headings)
    title = headings.rows[0][2]
    about = first_sentence(text)
    if file == READINGS:
        link = known.resolve(f"{CLAIMS}:", file)
        body = CELL.sub(lambda cell: f"<td>{markdown.linked(cell[1], link)}</td>", body)
    if file.startswith("docs/"):
        body = _docs_line(known.of[file], known) + body
    page = SitePage(known.of[file], f"{title} – memlab", about, body, file)
    return replace(page, headings=headings, kind=PurePosixPath(file).stem.lower())


def first_sentence(text: str) -> str:
    """Return the first words of a Markdown text below its heading, without marks; of one that has
    tables alone, its headings."""
    words = re.sub(r"\[([^\]]*)\]\([^)]*\)|<[^>]*>|[*`]", r"\1", COMMENT.sub("", text))
    paragraphs = [" ".join(part.split()) for part in re.split(r"\n\s*\n", words)]
    heads = ". ".join(part.strip("# ") for part in paragraphs if part.startswith("#"))
    return next((part for part in paragraphs if part and part[0] not in "#|-"), heads)[:300]
