"""HTML page of slides, which nbconvert writes of a notebook with a template of memlab's.

nbconvert's own slides load reveal.js, MathJax and RequireJS from other computers, and hold no copy
of them. This page has its script and its style in it, so it works in a room without a network.
"""

from __future__ import annotations

import html
import re
import warnings
from pathlib import Path
from typing import Any

from memlab import strings
from memlab.classroom.slides import card_text
from memlab.classroom.slides.deck import Slide, deck
from memlab.errors import InputError, library, shorten, unknown
from memlab.lesson_folders import LESSONS

HERE = Path(__file__).resolve().parent
SOLUTIONS, APPENDIX = "solutions", "appendix"
SPOKEN = re.compile(r"MEMLAB_LANGUAGE\W+(\w+)")
"""Code of a translated lesson that says which language it speaks."""


def notebook_of(lesson: str, solved: bool = False) -> Path:
    """Return the file of a lesson: ``03``, ``03_lowering``, the name of an appendix, or a path.

    Raises:
        InputError: there is no such lesson, or none that is solved.
    """
    own = Path(lesson)
    if own.suffix == ".ipynb":
        if solved:
            raise InputError(f"--solved is of memlab's lessons; leave it out, and give the solved "
                             f"notebook in the place of {shorten(lesson)}.")  # fmt: skip
        return own
    names = lessons()
    file = next((path for name, path in names.items() if lesson in (name, name[:2])), None)
    if file is None:
        raise unknown("lesson", lesson, names)
    if (translated := LESSONS / strings.language() / file.name).is_file():
        file = translated
    if not solved:
        return file
    folder = LESSONS if file.parent.name == APPENDIX else file.parent
    solutions = sorted((folder / SOLUTIONS).glob(f"*{file.name}"))
    if not solutions:
        raise InputError(f"{lesson} has no exercise, so it has no solutions; leave out --solved.")
    return solutions[0]


def lessons() -> dict[str, Path]:
    """Return the notebooks of the lessons and the appendices, by their names."""
    files = [*sorted(LESSONS.glob("[0-9]*.ipynb")), *sorted(LESSONS.glob("appendix/[!.]*.ipynb"))]
    return {file.stem: file for file in files}


def page(file: Path, dark: bool = False) -> tuple[str, int]:
    """Return the page of slides of a notebook with the outputs that are stored in it, and how many
    slides it has.

    Raises:
        InputError: the file is no notebook, or nbconvert is not installed.
    """
    exporters = library("nbconvert.exporters", "memlab slides")
    notebook = _read(file)
    slides = deck(notebook.cells)
    if not slides:
        raise InputError(f"{shorten(str(file))} has no cell to show; give a notebook with some.")
    exporter = exporters.HTMLExporter(
        extra_template_basedirs=[str(HERE)],
        template_name="template",
        exclude_anchor_links=True,
        embed_images=True,
    )
    exporter.register_filter("heading", _heading)
    exporter.register_filter("card", _card)
    resources: dict[str, Any] = {
        "metadata": {"path": str(file.parent)}, "deck": slides, "title": _title(slides, file),
        "dark": dark, "language": _language(notebook), "style": _text("page.css"),
        "script": _text("page.js"),
    }  # fmt: skip
    written, _ = exporter.from_notebook_node(notebook, resources)
    return written, len(slides)


def _read(file: Path) -> Any:
    """Return a notebook in the newest version of its format.

    Raises:
        InputError: the file cannot be read, or it is no notebook.
    """
    nbformat = library("nbformat", "memlab slides")
    try:
        with warnings.catch_warnings(action="ignore"):  # cells without ids, of an older format
            notebook = nbformat.read(file, as_version=4)
            nbformat.validate(notebook)
        return notebook
    except OSError as error:
        raise InputError(f"{shorten(str(file))} cannot be read: {error.strerror}; give a notebook "
                         "that you may read.") from None  # fmt: skip
    except Exception:  # whatever nbformat makes of a broken file
        raise InputError(f"{shorten(str(file))} is no notebook; give a file that Jupyter "
                         "wrote.") from None  # fmt: skip


def _language(notebook: Any) -> str:
    spoken = (SPOKEN.search(cell.source) for cell in notebook.cells)
    return next((found[1] for found in spoken if found), strings.ENGLISH)


def _title(slides: list[Slide], file: Path) -> str:
    return next((slide.heading for slide in slides if slide.heading), file.stem)


def _heading(text: str) -> str:
    """Return a heading as HTML, in which code alone is marked."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text, quote=False))


def _card(slide: Slide) -> str:
    """Return a question or an answer as HTML."""
    assert slide.card is not None
    write = card_text.answer_html if slide.kind == "answer" else card_text.question_html
    return write(slide.card)


def _text(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8").strip()
