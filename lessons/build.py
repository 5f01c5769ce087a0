"""Make the notebooks from `lessons/source`: `python lessons/build.py [NAME...] [--check]`.

A lesson is one file of cells in jupytext's percent form, `source/NN_name.py`. It becomes

    NN_name.ipynb             what learners open, run once from the first cell to the last
    solutions/NN_name.ipynb   the same, with every exercise solved

`source/glossary.toml` becomes `glossary.md` (`lessons/glossary.py`), `source/readings.toml` becomes
`readings.md` (`lessons/readings.py`). An appendix is a page of its own: `source/appendix/name.py`
becomes `appendix/name.ipynb`, and where it has an exercise, `solutions/NN_name.ipynb` too. memlab
draws the README's moving pictures, `images/hero.svg` and `images/hero-narrow.svg`. Each file is
written whole or not at all, and a second run writes the same bytes. `--check` runs no cell and
writes nothing: it says which of these files no longer follow from the source. Their outputs are for
nbval to check.

Tags of a cell, written `# %% tags=["solution"]`:

    solution               stands in the solutions only
    stub                   stands in the learners' notebook only: what the solution replaces
    numbers                stands in neither: what the numerals of the prose follow from
    nbval-ignore-output    shows seconds, GB/s, threads, free memory or what PyTorch takes: a note
                           stands for its output; in a solution, for those outputs only that do
    picture-name           the last picture of the solved cell is `images/NN-name.svg` too
    recorded-name          a measured cell: `make record` keeps its last picture, with the figures,
                           and the solutions show it below the note

A cell tagged `nbval-ignore-output` names the machine and the date, and shows bytes only in lines
with one of these or with a cache; a cell that shows such figures without the tag stops the run, and
so does one that warns or fails.

Stored outputs hold no live widgets: JupyterLab cannot show one without its kernel, and shows the
picture beside it instead.

Where `source/zh.po` translates the head of a lesson, the same two are made in `zh/`, with the prose
and what memlab says in that language: `lessons/messages.py`.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from nbformat import NotebookNode

from lessons import glossary as words
from lessons import messages, readings, recordings
from lessons.kernel import METADATA, execute
from lessons.messages import Say
from lessons.recordings import Picture
from lessons.stored import DIFFERS, FIXED, PLANNED, SOLUTION, SVG, LessonError, clean
from memlab import atomic_files
from memlab.course.hero import picture as hero
from memlab.errors import InputError
from memlab.strings import ENGLISH

LESSONS = Path(__file__).resolve().parent
APPENDIX = "appendix"
STUB, NUMBERS = "stub", "numbers"
TAGS = SOLUTION, STUB, NUMBERS, DIFFERS, PLANNED, FIXED
PICTURE = re.compile(r"picture-([a-z0-9_]+)")
ASKS, OPEN_LINES = re.compile(r"\blesson\.(?:predict|recall|change)\("), 2
"""A cell of a card, and the lines of code that stand open above a question."""
EXERCISE = re.compile(r'\blesson\.exercise\("(\d\d)\.')
CLAIMS = re.compile(r"Sources: (?:A1, )?([A-H]\d+).*\.")
SPOKEN = """
import os

os.environ["MEMLAB_LANGUAGE"] = "{language}"
"""
"""A translated lesson speaks its language, whatever that of its reader's machine."""


# -- from a source to two notebooks, not yet run ------------------------------------------------


def sources(lessons: Path, names: Iterable[str] = ()) -> list[Path]:
    """The sources of the named lessons and appendices, or of all: `02_network`, or `02` for short.

    Raises:
        LessonError: there is no such lesson.
    """
    found = sorted((lessons / "source").glob("[0-9][0-9]_*.py"))
    found += sorted((lessons / "source" / APPENDIX).glob("*.py"))
    chosen = []
    for name in names:
        matches = [path for path in found if name in (path.stem, path.stem[:2])]
        if not matches:
            known = ", ".join(path.stem for path in found)
            raise LessonError(f"No lesson is called {name!r}; there are: {known}.")
        chosen += matches
    return chosen or found


def languages(source: Path) -> list[str]:
    """English, and the languages that the heading of a lesson is translated to."""
    heading = cells(source)[0].source.partition("\n")[0]
    found = sorted(path.stem for path in source.parent.glob("*.po"))
    return [ENGLISH] + [
        each for each in found if messages.prose(heading, in_language(source, each)) != heading
    ]


def in_language(source: Path, language: str) -> Say:
    """From a message of a lesson to what it is in a language."""
    return str if language == ENGLISH else messages.sayer(_file(source, language))


def _file(source: Path, language: str) -> Path:
    folder = next(folder for folder in source.parents if folder.name == "source")
    return folder / f"{language}.po"


def home(source: Path) -> Path:
    """The folder of the lessons that a source belongs to."""
    return source.parents[2 if source.parent.name == APPENDIX else 1]


def targets(source: Path, language: str = ENGLISH) -> dict[Path, bool]:
    """The two notebooks of a source in a language, and whether each is solved; an appendix without
    an exercise is one notebook, and the solutions of another have the number of its lesson."""
    lessons, name = home(source), f"{source.stem}.ipynb"
    if source.parent.name == APPENDIX:
        number = lesson_of(source)
        solved = {lessons / "solutions" / f"{number}_{name}": True} if number else {}
        return {lessons / APPENDIX / name: False, **solved}
    folder = lessons if language == ENGLISH else lessons / language
    return {folder / name: False, folder / "solutions" / name: True}


def lesson_of(appendix: Path) -> str:
    """The number of the lesson whose exercise an appendix has; empty where it has none."""
    found = EXERCISE.search(appendix.read_text(encoding="utf-8"))
    return found[1] if found else ""


def cells(source: Path) -> list[NotebookNode]:
    """All cells of a source, in neither notebook yet; `metadata.tags` is always there.

    Raises:
        LessonError: a cell has a tag that is none, or two that say where it stands.
    """
    text = jupytext.reads(source.read_text(encoding="utf-8"), fmt="py:percent")
    for index, cell in enumerate(text.cells):
        tags = list(cell.metadata.get("tags", []))
        for tag in tags:
            if tag not in TAGS and not (PICTURE.fullmatch(tag) or recordings.TAG.fullmatch(tag)):
                known = ", ".join((*TAGS, "picture-name", "recorded-name"))
                raise LessonError(f"{source.stem}: cell {index} is {tag}; the tags are {known}.")
        places = [tag for tag in (SOLUTION, STUB, NUMBERS) if tag in tags]
        if len(places) > 1:
            both = " and ".join(places)
            raise LessonError(f"{source.stem}: cell {index} is {both}; choose one.")
        cell.id = f"{source.stem.replace('_', '-')}-{index:02}"
        cell.metadata = NotebookNode({"tags": tags})
    return list(text.cells)


def notebook(source: Path, solved: bool, language: str = ENGLISH) -> NotebookNode:
    """The cells of one notebook, without outputs; a cell has the same id in all of them.

    Raises:
        LessonError: a cell has a tag that is none, or two that say where it stands.
    """
    made: NotebookNode = nbformat.v4.new_notebook(metadata=METADATA)
    say = in_language(source, language)
    down = solved and source.parent.name != APPENDIX  # an appendix and its solutions lie alike deep

    def told(text: str) -> str:
        claim = CLAIMS.fullmatch(text)
        return f"{say(text)} {say(messages.AGAIN).format(claim=claim[1])}" if claim else say(text)

    for cell in cells(source):
        tags = cell.metadata.tags
        if NUMBERS in tags or (STUB if solved else SOLUTION) in tags:
            continue
        cell.metadata = NotebookNode({"tags": tags} if tags else {})
        if ASKS.search(cell.source):
            lines = [line for line in cell.source.splitlines() if line.strip()]
            if len(lines) <= OPEN_LINES:
                cell.source = "\n".join(lines)  # no blank line below an import
            else:
                cell.metadata.jupyter = {"source_hidden": True}
        if cell.cell_type == "markdown":
            text = messages.prose(cell.source, told)
            cell.source = one_folder_down(text) if down else text
        elif language != ENGLISH:
            cell.source = messages.comments(cell.source, say)
        made.cells.append(cell)
    made = made if language == ENGLISH else abroad(made, source, solved, language)
    prose = [cell for cell in made.cells if cell.cell_type == "markdown"]
    known = words.terms(home(source))
    texts = words.in_place([cell.source for cell in prose], known, say)
    for cell, text in zip(prose, texts, strict=True):
        cell.source = text
    return made


def abroad(made: NotebookNode, source: Path, solved: bool, language: str) -> NotebookNode:
    """A notebook for the folder of its language. Its second cell says which language memlab speaks,
    and its head that no reader of the language has seen it."""
    there = {path.stem for path in source.parent.glob("*.py") if language in languages(path)}
    for cell in made.cells:
        if cell.cell_type == "markdown":
            cell.source = one_language_down(cell.source, solved, there)
    if messages.read(_file(source, language)).last_translator == messages.MACHINE:
        made.cells[0].source += f"\n\n> {in_language(source, language)(messages.UNREAD)}"
    spoken = nbformat.v4.new_code_cell(SPOKEN.format(language=language).strip(), id="language")
    spoken.metadata = NotebookNode({"jupyter": {"source_hidden": True}})
    made.cells.insert(1, spoken)
    return made


def one_folder_down(markdown: str) -> str:
    """The same links, seen from `solutions/`: its notebooks link to each other."""
    return re.sub(r"\]\((?![a-z]+:|#|/|[^)#/]*\.ipynb)", "](../", markdown)


def one_language_down(markdown: str, solved: bool, there: set[str]) -> str:
    """The same links, seen from the folder of a language, which has these lessons."""

    def down(link: re.Match[str]) -> str:
        file = Path(link[1].partition("#")[0])
        if file.stem in there:
            return link[0]
        return f"](../{'../solutions/' if solved and file.suffix == '.ipynb' else ''}{link[1]})"

    return re.sub(r"\]\((?![a-z]+:|#|/)([^)]*)\)", down, markdown)


def glossary(lessons: Path) -> str:
    """`glossary.md`, in the order of the alphabet."""
    return words.page(words.terms(lessons))


# -- files --------------------------------------------------------------------------------------


def build(source: Path) -> Iterator[tuple[Path, str]]:
    """Both notebooks of a lesson, run, in each of its languages, as the text of their files."""
    for language in languages(source):
        say = str if language == ENGLISH else in_language(source, language)
        for target, solved in targets(source, language).items():
            made = notebook(source, solved, language)
            execute(made, target.parent, source.stem)
            answers = solved or source.parent.name == APPENDIX
            clean(made, source.stem, say, kept_of(source) if answers else None)
            yield target, text_of(made)
            if language == ENGLISH and answers:
                yield from pictures(source, made.cells).items()


def kept_of(source: Path) -> dict[str, Picture]:
    """The recorded pictures of a lesson, as far as there are some."""
    names = [recordings.tagged(source.stem, cell.metadata.tags) for cell in cells(source)]
    found = {name: recordings.find(home(source), name) for name in names if name}
    return {name: picture for name, picture in found.items() if picture}


def pictures(source: Path, cells: Iterable[Any]) -> dict[Path, str]:
    """The files of pictures that the cells of a solved notebook make.

    Raises:
        LessonError: such a cell shows no picture that is the same on every machine.
    """
    found = {}
    for cell in cells:
        for match in filter(None, map(PICTURE.fullmatch, cell["metadata"].get("tags", []))):
            drawn = ["".join(each.get("data", {}).get(SVG, "")) for each in cell["outputs"]]
            if not any(drawn):
                raise LessonError(f"{source.stem}: cell {cell['id']} shows no picture to keep.")
            found[_picture(source, match[1])] = [each for each in drawn if each][-1] + "\n"
        for output in filter(recordings.is_recorded, cell.get("outputs", [])):
            picture, _ = recordings.files_of(home(source), output["metadata"]["recorded"])
            found[picture] = recordings.drawn(output) + "\n"
    return found


def _picture(source: Path, name: str) -> Path:
    return home(source) / "images" / f"{recordings.file_of(source.stem, name)}.svg"


def text_of(made: NotebookNode) -> str:
    """What the file holds."""
    nbformat.validate(made)
    return str(nbformat.writes(made)) + "\n"


def stale(lessons: Path, names: Iterable[str] = ()) -> list[Path]:
    """The files that do not follow from the source, and with no names the notebooks without one."""
    names = list(names)
    expected = {
        target: json.loads(text_of(notebook(source, solved, language)))
        for source in sources(lessons, names)
        for language in languages(source)
        for target, solved in targets(source, language).items()
    }
    found = [path for path, content in expected.items() if _without_outputs(path) != content]
    if not names:
        found += [*orphans(lessons), *old_pictures(lessons)]
        for page, text in pages(lessons).items():
            if not page.exists() or page.read_text(encoding="utf-8") != text:
                found.append(page)
    return sorted(found)


def pages(lessons: Path) -> dict[Path, str]:
    """The pages that are no notebooks: the glossary, the readings where there are some, and the
    moving pictures of the README beside the other images.

    Raises:
        ReadingError: a row of the readings leads to no cell.
    """
    found = {lessons / words.FILE: glossary(lessons)}
    if (lessons / "source" / "readings.toml").exists():
        found[lessons / readings.FILE] = readings.page(lessons)
    if lessons == LESSONS:  # its figures are those of this folder
        found |= {
            lessons / "images" / name: hero.hero(screen) for name, screen in hero.FILES.items()
        }
    return found


def old_pictures(lessons: Path) -> list[Path]:
    """The pictures that are not those of the stored solutions."""
    expected: dict[Path, str] = {}
    for source in sources(lessons):
        target, _ = list(targets(source).items())[-1]
        try:
            cells = json.loads(target.read_text(encoding="utf-8"))["cells"]
            expected |= pictures(source, cells)
        except (OSError, ValueError, KeyError, LessonError):
            continue  # it is stale itself
    return [
        path
        for path, drawn in expected.items()
        if not path.exists() or path.read_text(encoding="utf-8") != drawn
    ]


def orphans(lessons: Path) -> list[Path]:
    """The notebooks and pictures that no source makes."""
    made = {lessons / "images" / name for name in hero.FILES}
    for source in sources(lessons):
        made.update(*(targets(source, language) for language in languages(source)))
        for tags in (cell.metadata.tags for cell in cells(source)):
            named = filter(None, map(PICTURE.fullmatch, tags))
            made.update(_picture(source, match[1]) for match in named)
            if name := recordings.tagged(source.stem, tags):
                made.add(recordings.files_of(lessons, name)[0])
    there = [path for path in lessons.rglob("*.ipynb") if path.parent.name[0] != "."]
    return [path for path in (*there, *(lessons / "images").glob("*.svg")) if path not in made]


def _without_outputs(path: Path) -> Any:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        for cell in content["cells"]:
            if cell["cell_type"] == "code":
                cell["outputs"], cell["execution_count"] = [], None
    except (OSError, ValueError, KeyError):
        return None  # missing or broken: it does not follow from the source
    return content


def advice(lessons: Path, names: Iterable[str]) -> list[str]:
    """What is stale, and what to do: one sentence for what a source makes, and one for the rest."""
    found, alone = stale(lessons, names), orphans(lessons)
    old = ", ".join(_from_above(lessons, (each for each in found if each not in alone)))
    gone = ", ".join(_from_above(lessons, (each for each in found if each in alone)))
    said = [f"Stale: {old}; run `make lessons`."] if old else []
    return said + ([f"No source makes {gone}; delete what is not wanted."] if gone else [])


def _from_above(lessons: Path, paths: Iterable[Path]) -> list[str]:
    return [str(path.relative_to(lessons.parent)) for path in paths]


def main(arguments: list[str], lessons: Path = LESSONS) -> int:
    """Make or check the lessons; return the exit status."""
    parser = argparse.ArgumentParser(description="Make the notebooks from lessons/source.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="02_network or 02; all without")
    parser.add_argument("--check", action="store_true", help="name the files that are stale")
    options = parser.parse_args(arguments)
    try:
        if options.check:
            old = advice(lessons, options.names)
            print(*old, sep="\n", end="\n" if old else "", file=sys.stderr)
            return int(bool(old))
        for source in sources(lessons, options.names):
            for target, text in build(source):
                target.parent.mkdir(exist_ok=True)
                atomic_files.write(target, text)
                print(target.relative_to(lessons.parent), flush=True)
        if not options.names:
            for page, text in pages(lessons).items():
                atomic_files.write(page, text)
    except (LessonError, InputError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
