"""Make the notebooks from `lessons/source`: `python lessons/build.py [NAME...] [--check]`.

A lesson is one file of cells in jupytext's percent form, `source/NN_name.py`. It becomes

    NN_name.ipynb             what learners open, run once from the first cell to the last
    solutions/NN_name.ipynb   the same, with every exercise solved

and `source/glossary.toml` becomes `glossary.md`: `lessons/glossary.py`. An appendix is a page of
its own: `source/appendix/name.py` becomes `appendix/name.ipynb`. Each is written whole or not at
all, and a second run writes the same bytes. `--check` runs no cell and writes nothing: it says
which of these files no longer follow from the source. Their outputs are for nbval to check.

Tags of a cell, written `# %% tags=["solution"]`:

    solution               stands in the solutions only
    stub                   stands in the learners' notebook only: what the solution replaces
    numbers                stands in neither: what the numerals of the prose follow from
    nbval-ignore-output    shows seconds, GB/s, threads, free memory or what PyTorch takes: a note
                           stands for its output; in a solution, for those outputs only that do
    picture-name           the last picture of the solved cell is `images/NN-name.svg` too

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
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from datetime import date
from html import unescape
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from ipykernel.kernelspec import get_kernel_dict
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

from lessons import glossary as words
from lessons import messages
from lessons.messages import Say
from memlab import atomic
from memlab.strings import ENGLISH

LESSONS = Path(__file__).resolve().parent
APPENDIX = "appendix"
SOLUTION, STUB, NUMBERS, DIFFERS = TAGS = "solution", "stub", "numbers", "nbval-ignore-output"
PICTURE = re.compile(r"picture-([a-z0-9_]+)")
SVG = "image/svg+xml"
TIMES = LESSONS / "data" / "seconds.json"
CLAIMS = re.compile(r"Sources: (?:A1, )?([A-H]\d+).*\.")
WIDGET = "application/vnd.jupyter.widget-view+json"
SECONDS = 120  # as long as nbval gives a cell
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"file_extension": ".py", "mimetype": "text/x-python", "name": "python"},
}
NOTE = f"{messages.NOTE}\n"
SPOKEN = """import os

os.environ["MEMLAB_LANGUAGE"] = "{language}"
"""
"""A translated lesson speaks its language, whatever that of its reader's machine."""
FREE = re.compile(r"\bfree here\b|B\)? free\b|\bfree:? \d", re.IGNORECASE)
VARIES = re.compile(
    r"\d (?:s|ms|seconds?|GB/s)\b|\bper second, in billions\b|\bless time\b|\bthreads\b|"
    rf"\b(?:PyTorch|oneDNN)\b|{FREE.pattern}",
    re.IGNORECASE,
)
OWN = re.compile(rf"{VARIES.pattern}|\bcache\b", re.IGNORECASE)
BYTES = re.compile(r"\d (?:[kMGT]i?)?B\b(?!/s)")


class LessonError(Exception):
    """A lesson that cannot be made; its text is one sentence for the author."""


class Kernel(AsyncKernelManager):
    """A kernel of the running Python, whichever kernels the user has installed."""

    @property
    def kernel_spec(self) -> KernelSpec:
        return KernelSpec(**get_kernel_dict())


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
    """The two notebooks of a source in a language, and whether each is solved; an appendix is one
    notebook."""
    lessons, name = home(source), f"{source.stem}.ipynb"
    if source.parent.name == APPENDIX:
        return {lessons / APPENDIX / name: False}
    folder = lessons if language == ENGLISH else lessons / language
    return {folder / name: False, folder / "solutions" / name: True}


def cells(source: Path) -> list[NotebookNode]:
    """All cells of a source, in neither notebook yet; `metadata.tags` is always there.

    Raises:
        LessonError: a cell has a tag that is none, or two that say where it stands.
    """
    text = jupytext.reads(source.read_text(encoding="utf-8"), fmt="py:percent")
    for index, cell in enumerate(text.cells):
        tags = list(cell.metadata.get("tags", []))
        for tag in tags:
            if tag not in TAGS and not PICTURE.fullmatch(tag):
                known = ", ".join((*TAGS, "picture-name"))
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

    def told(text: str) -> str:
        claim = CLAIMS.fullmatch(text)
        return f"{say(text)} {say(messages.AGAIN).format(claim=claim[1])}" if claim else say(text)

    for cell in cells(source):
        tags = cell.metadata.tags
        if NUMBERS in tags or (STUB if solved else SOLUTION) in tags:
            continue
        cell.metadata = NotebookNode({"tags": tags} if tags else {})
        if cell.cell_type == "markdown":
            text = messages.prose(cell.source, told)
            cell.source = one_folder_down(text) if solved else text
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


# -- run and cleaned ----------------------------------------------------------------------------


def execute(made: NotebookNode, folder: Path, name: str) -> None:
    """Run every cell in a fresh kernel of this Python, with `folder` as its working folder.

    Raises:
        LessonError: a cell fails or takes too long.
    """
    folder.mkdir(parents=True, exist_ok=True)
    client = NotebookClient(
        made,
        kernel_manager_class=Kernel,
        resources={"metadata": {"path": str(folder)}},
        timeout=SECONDS,
        record_timing=False,
        store_widget_state=False,
        coalesce_streams=True,
    )
    with tempfile.TemporaryDirectory() as own:  # no start-up files of the author's
        env = os.environ | {"IPYTHONDIR": own, "MEMLAB_LANGUAGE": "en", "MEMLAB_PROGRESS": ""}
        try:
            client.execute(env=env, stderr=subprocess.DEVNULL)
        except CellExecutionError as error:
            print(error.traceback, file=sys.stderr)
            raise LessonError(f"{name}: a cell raised {error.ename}: {error.evalue}") from error
        except CellTimeoutError as error:
            raise LessonError(f"{name}: a cell took more than {SECONDS} s.") from error
        except DeadKernelError as error:
            raise LessonError(f"{name}: the kernel died; is there enough memory?") from error
    made.metadata = nbformat.from_dict(METADATA)


def clean(made: NotebookNode, name: str, say: Say = str) -> None:
    """Keep what every machine stores alike, and no live widget; in another language than English
    nothing is looked for that differs from machine to machine.

    Raises:
        LessonError: a cell wrote a warning, or shows what differs from machine to machine.
    """
    for cell in made.cells:
        if cell.cell_type != "code":
            continue
        if say is str and (fault := differs(cell)):
            raise LessonError(f"{name}: cell {cell.id} {fault}")
        if DIFFERS in cell.metadata.get("tags", []):
            cell.outputs = noted(cell, f"{say(messages.NOTE)}\n")
        for output in cell.outputs:
            output.get("data", {}).pop(WIDGET, None)
            if output.get("name") == "stderr":
                raise LessonError(f"{name}: a cell wrote to stderr: {output.text.strip()}")
        cell.outputs = [output for output in cell.outputs if output.get("data", True)]


def noted(cell: NotebookNode, note: str) -> list[NotebookNode]:
    """The outputs of a cell with the note for what varies: all of them, but in a solution."""
    told = nbformat.v4.new_output("stream", name="stdout", text=note)
    if SOLUTION not in cell.metadata.tags:
        return [told]
    kept = [told if measured(text_of_output(each)) else each for each in cell.outputs]
    return [each for each, before in zip(kept, [None, *kept], strict=False) if each is not before]


def differs(cell: NotebookNode) -> str:
    """What is wrong with what a cell shows of its machine, and empty where nothing is."""
    tags = cell.metadata.get("tags", [])
    texts = [text_of_output(output) for output in cell.outputs]
    if {SOLUTION, DIFFERS} <= {*tags}:  # a card above, of which every digit is the same
        texts = [text for text in texts if measured(text)]
    shown = "\n".join(texts)
    varies = VARIES.search(shown)
    if DIFFERS not in tags:
        return f"shows {varies[0]!r}; tag it {DIFFERS}." if varies else ""
    if not varies:
        return f"shows nothing that differs from machine to machine; it needs no {DIFFERS}."
    headed = False  # below a line such as "PyTorch 2.13, bytes of a convolution:"
    for line in shown.splitlines():
        if line.endswith((":", ".")):
            headed = line.endswith(":") and bool(OWN.search(line))
        if BYTES.search(line) and not OWN.search(line) and not headed:
            return f"shows bytes that are the same everywhere; show {line.strip()!r} in another."
    named = date.today().isoformat(), (platform.machine(), platform.system())
    if named[0] not in shown or not any(name and name in shown for name in named[1]):
        return f"shows {varies[0]!r}; name the machine ({named[1][0]}) and the date ({named[0]})."
    return ""


def measured(text: str) -> bool:
    """Whether an output of a solution differs from machine to machine, or names the day."""
    return bool(VARIES.search(text)) or date.today().isoformat() in text


def text_of_output(output: Any) -> str:
    """What a reader sees of an output: its text, and that of its pictures and tables."""
    data = output.get("data", {})
    parts = [output.get("text", ""), data.get("text/plain", "")]
    parts += [
        unescape(re.sub(r"<style.*?</style>|<[^>]*>", " ", "".join(data.get(kind, "")), flags=re.S))
        for kind in (SVG, "text/html")
    ]
    return "\n".join("".join(part) for part in parts)


# -- files --------------------------------------------------------------------------------------


def build(source: Path) -> Iterator[tuple[Path, str]]:
    """Both notebooks of a lesson, run, in each of its languages, as the text of their files."""
    for language in languages(source):
        say = str if language == ENGLISH else in_language(source, language)
        for target, solved in targets(source, language).items():
            made = notebook(source, solved, language)
            execute(made, target.parent, source.stem)
            clean(made, source.stem, say)
            yield target, text_of(made)
            if language == ENGLISH and (solved or source.parent.name == APPENDIX):
                yield from pictures(source, made.cells).items()


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
            name = f"{source.stem.partition('_')[0]}-{match[1]}.svg"
            found[home(source) / "images" / name] = [each for each in drawn if each][-1] + "\n"
    return found


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
        there = [path for path in lessons.rglob("*.ipynb") if path.parent.name[0] != "."]
        found += [path for path in there if path not in expected]
        found += old_pictures(lessons)
        page = lessons / "glossary.md"
        if not page.exists() or page.read_text(encoding="utf-8") != glossary(lessons):
            found.append(page)
    return sorted(found)


def old_pictures(lessons: Path) -> list[Path]:
    """The pictures that are not those of the stored solutions, and those that nothing makes."""
    expected: dict[Path, str] = {}
    for source in sources(lessons):
        target, _ = list(targets(source).items())[-1]
        try:
            cells = json.loads(target.read_text(encoding="utf-8"))["cells"]
            expected |= pictures(source, cells)
        except (OSError, ValueError, KeyError, LessonError):
            continue  # it is stale itself
    there = {*(lessons / "images").glob("[0-9][0-9]-*.svg"), *expected}
    return [
        path
        for path in there
        if not path.exists() or path.read_text(encoding="utf-8") != expected.get(path)
    ]


def _without_outputs(path: Path) -> Any:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        for cell in content["cells"]:
            if cell["cell_type"] == "code":
                cell["outputs"], cell["execution_count"] = [], None
    except (OSError, ValueError, KeyError):
        return None  # missing or broken: it does not follow from the source
    return content


def timed(lessons: Path, names: Iterable[str]) -> dict[str, Any]:
    """The seconds that each solved lesson takes to run here, from the start of its kernel."""
    found = {}
    for source in sources(lessons, names):
        target, solved = list(targets(source).items())[-1]
        begin = time.monotonic()
        execute(notebook(source, solved), target.parent, source.stem)
        found[source.stem] = round(time.monotonic() - begin, 1)
    machine = f"{platform.machine()}, {platform.system()}, {os.cpu_count()} processors"
    return {"machine": machine, "date": date.today().isoformat(), "seconds": found}


def main(arguments: list[str], lessons: Path = LESSONS) -> int:
    """Make or check the lessons; return the exit status."""
    parser = argparse.ArgumentParser(description="Make the notebooks from lessons/source.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="02_network or 02; all without")
    parser.add_argument("--check", action="store_true", help="name the files that are stale")
    parser.add_argument("--seconds", action="store_true", help=f"time all, into {TIMES.name}")
    options = parser.parse_args(arguments)
    try:
        if options.check:
            old = [str(path.relative_to(lessons.parent)) for path in stale(lessons, options.names)]
            if old:
                print(f"Stale: {', '.join(old)}; run `make lessons`.", file=sys.stderr)
            return int(bool(old))
        if options.seconds:
            found = json.dumps(timed(lessons, options.names), indent=2)
            atomic.write(lessons / "data" / TIMES.name, f"{found}\n")
            return 0
        for source in sources(lessons, options.names):
            for target, text in build(source):
                target.parent.mkdir(exist_ok=True)
                atomic.write(target, text)
                print(target.relative_to(lessons.parent), flush=True)
        if not options.names:
            atomic.write(lessons / "glossary.md", glossary(lessons))
    except LessonError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
