"""Notebooks for learners: without outputs, and with the files that they link to.

A released folder holds nothing that solves a lesson. Its notebooks keep a learner's progress beside
them, in ``progress.json``, unless the environment names another file, as ``memlab lab`` does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memlab import atomic_files, strings
from memlab.errors import InputError, shorten, unknown
from memlab.lesson.progress import FILE
from memlab.lesson_folders import LESSONS, PACKAGE

PAGES = PACKAGE / "classroom"
TUTOR, RULES = PAGES / "tutor.md", "AGENTS.md"
"""Rules for AI assistants, and the name under which assistants look for them."""
README, HAND_IN = "README.md", "hand_in"
"""Name of the page that tells learners how to hand in, and the stem of its sources: one for each
language that lessons are released in."""
ABOUT = "memlab"
"""Key of a notebook's metadata; its entry names the lesson."""
LESSON = re.compile(r"\d\d_\w+")
"""The name of a lesson, which is that of its notebook: ``"02_network"``."""
SOLVED = {"solution"}
"""Tags of cells that no released notebook has."""
_LINK = re.compile(r"""\]\(([^)#\s]+)|\bsrc=["']([^"']+)""")


@dataclass(frozen=True)
class Released:
    """The files of a release, by what was done with each: ``new``, ``replaced``, and ``same``,
    which were there already."""

    new: tuple[Path, ...]
    replaced: tuple[Path, ...]
    same: tuple[Path, ...]


def release(
    names: Sequence[str], folder: Path, language: str = strings.ENGLISH, force: bool = False
) -> Released:
    """Write lessons for learners into a folder: the notebooks, the files that they link to, the
    rules for AI assistants, and a page on how to hand in.

    Args:
        names: lessons, each by its number or its name: ``"02"``, ``"02_network"``.
        folder: the target; it is made where it is missing.
        language: ``"zh"`` takes the Chinese notebooks.
        force: files that differ are replaced.

    Returns:
        The files, in three groups.

    Raises:
        InputError: there is no such lesson, or not in that language; or, without ``force``, a file
            of the folder differs. Then nothing is written.
        OSError: a file cannot be written.
    """
    files = contents(names, language)
    kinds: dict[str, list[Path]] = {"new": [], "replaced": [], "same": []}
    for name, content in files.items():
        kinds[_kind(folder / name, content)].append(folder / name)
    if kinds["replaced"] and not force:
        raise _differs(folder, kinds["replaced"])
    for target in (*kinds["new"], *kinds["replaced"]):
        target.parent.mkdir(parents=True, exist_ok=True)
        atomic_files.write(target, files[target.relative_to(folder).as_posix()])
    return Released(*map(tuple, kinds.values()))


def contents(names: Sequence[str], language: str = strings.ENGLISH) -> dict[str, bytes]:
    """Return the files of a release, by their path in its folder.

    Raises:
        InputError: as ``release``.
    """
    known = languages()
    if language not in known:
        raise unknown("language", language, known)
    page = PAGES / f"{HAND_IN}.{language}.md"
    sources = [_source(name, language) for name in names]
    files = {
        path.relative_to(LESSONS).as_posix(): for_learners(path, language)
        if path in sources
        else cleared(path.read_bytes())
        if path.suffix == ".ipynb"
        else path.read_bytes()
        for path in _linked(sources)
    }
    return {**files, RULES: TUTOR.read_bytes(), README: page.read_bytes()}


def for_learners(notebook: Path, language: str) -> bytes:
    """Return the notebook of a lesson as learners get it: cleared, without what solves it, with its
    name in the metadata, and with a cell that keeps progress beside it."""
    content = json.loads(cleared(notebook.read_bytes()))
    content["cells"] = [cell for cell in content["cells"] if not SOLVED & {*_tags(cell)}]
    content["metadata"][ABOUT] = {"lesson": notebook.stem, "language": language}
    first = next(n for n, cell in enumerate(content["cells"]) if cell["cell_type"] == "code")
    content["cells"].insert(first, _progress_cell(notebook.stem, language))
    return _written(content)


def cleared(notebook: bytes) -> bytes:
    """Return the notebook without outputs, execution counts and saved widgets."""
    content = json.loads(notebook)
    content.get("metadata", {}).pop("widgets", None)
    for cell in content["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None
    return _written(content)


def languages() -> list[str]:
    """Return the languages in which lessons are released."""
    return sorted(path.name.split(".")[1] for path in PAGES.glob(f"{HAND_IN}.*.md"))


def lesson_names() -> dict[str, str]:
    """Return the name of every lesson by its number: ``{"02": "02_network"}``."""
    names = sorted(path.stem for path in LESSONS.glob("*.ipynb"))
    return {name[:2]: name for name in names if LESSON.fullmatch(name)}


def progress_code(language: str) -> str:
    """Return the code of the cell that names the file of the learner's progress, where the
    environment names none."""
    lines = ["import os", "", f'os.environ.setdefault("{FILE}", "progress.json")']
    if language != strings.ENGLISH:
        lines.append(f'os.environ.setdefault("MEMLAB_LANGUAGE", "{language}")')
    return "\n".join(lines) + ";"  # shown, the value would stand above the first picture


def _progress_cell(lesson: str, language: str) -> dict[str, Any]:
    source, name = progress_code(language).splitlines(keepends=True), f"{lesson[:2]}-progress"
    return {
        "cell_type": "code", "execution_count": None, "id": name, "outputs": [], "source": source,
        "metadata": {"jupyter": {"source_hidden": True}},
    }  # fmt: skip


def _source(given: str, language: str) -> Path:
    """Return the notebook of a lesson in a language.

    Raises:
        InputError: there is none.
    """
    lessons = lesson_names()
    name = lessons.get(given.zfill(2) if given else "", given.removesuffix(".ipynb"))
    if name not in lessons.values():
        raise unknown("lesson", given, lessons.values())
    folder = LESSONS if language == strings.ENGLISH else LESSONS / language
    if not (folder / f"{name}.ipynb").exists():
        there = ", ".join(sorted(path.stem for path in folder.glob("[!.]*.ipynb"))) or "no lesson"
        raise InputError(f"{name} is not there in {language!r}, in which there is {there}; release "
                         "it in English, without --language.")  # fmt: skip
    return folder / f"{name}.ipynb"


def _linked(notebooks: Sequence[Path]) -> list[Path]:
    """Return the notebooks, and all files of the lessons that they link to, directly or through
    another file. Other lessons are left out: what is not released yet stays so."""
    left_out = {path.resolve() for path in LESSONS.rglob("*.ipynb") if LESSON.fullmatch(path.stem)}
    files = dict.fromkeys(notebooks)
    for path in (waiting := [*notebooks]):
        for target in _targets(path):
            if target not in files and target not in left_out:
                files[target] = None
                waiting.append(target)
    return [*files]


def _targets(path: Path) -> Iterator[Path]:
    """Yield the files of the lessons that a page or a notebook links to."""
    if path.suffix not in (".ipynb", ".md"):
        return
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        text = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    for groups in _LINK.findall(text):
        target = (path.parent / "".join(groups)).resolve()
        if target.is_file() and target.is_relative_to(LESSONS):
            yield target


def _tags(cell: Mapping[str, Any]) -> list[str]:
    return list(cell["metadata"].get("tags", []))


def _written(notebook: object) -> bytes:
    return (json.dumps(notebook, indent=1, ensure_ascii=False) + "\n").encode()


def _kind(target: Path, content: bytes) -> str:
    """Return what a release does with one file: ``new``, ``same`` or ``replaced``."""
    if not target.exists():
        return "new"
    return "same" if target.read_bytes() == content else "replaced"


def _differs(folder: Path, targets: Sequence[Path]) -> InputError:
    first = f"{targets[0].relative_to(folder).as_posix()} in {shorten(str(folder))}"
    what = f"{first} and {len(targets) - 1} others differ" if targets[1:] else f"{first} differs"
    return InputError(
        f"{what} from this release, and nothing was written; try another folder (-o), or replace "
        "with --force."
    )
