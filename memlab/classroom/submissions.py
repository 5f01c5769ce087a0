"""The submissions in a folder: who handed in which lesson, by the names of files and folders.

A folder has a folder for each learner, as Moodle downloads them, or the flat files that Canvas
downloads, ``lastfirst_12345_67890_02_network.ipynb``. Names alone are read here, and of a notebook
whose name says no lesson, its metadata. Symbolic links are never followed, and no pipe or device is
opened.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from memlab.classroom.notebook_file import BYTES
from memlab.classroom.release import ABOUT, lesson_names
from memlab.errors import InputError, shorten, visible
from memlab.lesson import progress
from memlab.lesson_folders import LESSONS

PARTS = ".csv.parts"
"""End of the name of the folder in which results are kept, which may lie among the learners."""
DEPTH = 4
"""Folders below that of a learner in which files are looked for."""
FILES = 2000
"""The most files that are looked at for one learner."""
UNKNOWN, NAMED = 20, 3
"""Notebooks of a learner whose metadata are read though their names say no lesson; the most names
that a sentence lists."""
LARGEST_SEED = 10**18
"""A seed from here on is none; memlab's own are smaller than ``progress.SEEDS``."""
PACKED = ".zip", ".rar", ".7z", ".gz", ".tar"
"""Ends of the names of files in which a notebook may be packed; they are not opened."""
PROGRESS = "progress"
"""Stem of the file of a learner's progress."""
MOODLE = re.compile(r"(?P<name>.+)_(?P<id>\d+)_assignsubmission_(?:file|onlinetext)_?(?P<file>.*)")
CANVAS = re.compile(r"(?P<name>[^_]+)(?:_LATE)?_(?P<id>\d+)_(?P<number>\d+)_(?P<file>.+)")
AGAIN = re.compile(r"(?:-(\d{1,4})| ?\((\d{1,4})\))$")
"""End of the stem of a file that was handed in again: ``02_network-1``, ``02_network (1)``."""


Numbered = tuple[int, Path]
"""A file, with the number of its submission."""


@dataclass(frozen=True)
class Learner:
    """A learner by the name that files give, with the number that Canvas or Moodle knows, if the
    files have one; ``service`` is ``"canvas"``, ``"moodle"`` or empty."""

    name: str
    number: str = ""
    service: str = ""

    @property
    def seed(self) -> int:
        """Seed for a learner without a progress file: it follows from the name."""
        return (
            int.from_bytes(sha256(self.name.encode("utf-8", "replace")).digest()[:8])
            % progress.SEEDS
        )


@dataclass(frozen=True)
class Submission:
    """A notebook that a learner handed in for a lesson, ``"02_network"``."""

    learner: Learner
    lesson: str
    notebook: Path


@dataclass
class Handed:
    """All that was handed in: ``submissions`` in the order of names, ``learners`` with those who
    handed in nothing, the content of each learner's progress file in ``records``, those whose file
    is ``broken``, and sentences about what was left out."""

    learners: list[Learner] = field(default_factory=list)
    submissions: list[Submission] = field(default_factory=list)
    records: dict[Learner, Mapping[str, Any]] = field(default_factory=dict)
    broken: set[Learner] = field(default_factory=set)
    sentences: list[str] = field(default_factory=list)
    _labels: dict[Learner, str] = field(default_factory=dict, repr=False)

    def label(self, learner: Learner) -> str:
        """Name of a learner in tables, which no other one has: with the number where two have one
        name."""
        if len(self._labels) != len(self.learners):
            self._labels = _labels(self.learners)
        return self._labels[learner]

    def seed(self, learner: Learner) -> int:
        """Seed of a learner: that of the progress file, else one that follows from the name."""
        given = self.records[learner]["seed"] if learner in self.records else -1
        return int(given) if 0 <= given < LARGEST_SEED else learner.seed


def _labels(learners: Iterable[Learner]) -> dict[Learner, str]:
    """Return a name for each learner in tables. A folder may be called like the label of somebody
    else, whose points would be added to its own: so each is made to differ."""
    known = Counter(one.name for one in learners)
    labels: dict[str, Learner] = {}
    for one in sorted(learners, key=lambda one: known[one.name] > 1):
        number = f"{one.service or 'folder'} {one.number}".rstrip()
        label = one.name if known[one.name] == 1 else f"{one.name} ({number})"
        while label in labels:
            label += " (another)"
        labels[label] = one
    return {one: label for label, one in labels.items()}


def handed_in(folder: Path) -> Handed:
    """Return what learners handed in.

    Raises:
        InputError: the folder is none, or holds no learner.
    """
    if not folder.is_dir():
        raise InputError(
            f"{shorten(str(folder))} is no folder; give the folder that holds a folder "
            "for each learner, or the files that Canvas or Moodle downloads."
        )
    handed = Handed()
    by_learner = _by_learner(folder, handed.sentences)
    if not by_learner:
        raise InputError(
            f"{shorten(str(folder))} holds no folder of a learner, and no notebook by "
            "the name that Canvas or Moodle gives it."
        )
    for learner in sorted(by_learner, key=lambda learner: (learner.name.casefold(), learner.name)):
        _take(learner, by_learner[learner], handed)
    return handed


def _by_learner(folder: Path, sentences: list[str]) -> dict[Learner, list[tuple[str, Path]]]:
    """Return the files of each learner: the name that the learner gave a file, and its path."""
    files: dict[Learner, list[tuple[str, Path]]] = {}
    for entry in _entries(folder):
        if entry.name.endswith(PARTS):
            continue
        if entry.is_symlink():
            sentences.append(_link_left_out(_shown(entry.name)))
        elif entry.is_dir(follow_symlinks=False):
            moodle = MOODLE.fullmatch(entry.name)
            learner = _learner("moodle", moodle) if moodle else Learner(entry.name)
            inside = _inside(Path(entry.path), sentences)
            files.setdefault(learner, []).extend((path.name, path) for path in inside)
        elif entry.is_file(follow_symlinks=False):
            _flat(entry, files, sentences)
    return files


def _flat(
    entry: os.DirEntry[str], files: dict[Learner, list[tuple[str, Path]]], sentences: list[str]
) -> None:
    """Add a file whose name says whose it is."""
    for service, pattern in (("moodle", MOODLE), ("canvas", CANVAS)):
        if (match := pattern.fullmatch(entry.name)) and match["file"]:
            files.setdefault(_learner(service, match), []).append((match["file"], Path(entry.path)))
            return
    if entry.name.lower().endswith((".ipynb", ".json", *PACKED)):
        sentences.append(f"{_shown(entry.name)} was left out: its name does not say whose it is.")


def _learner(service: str, match: re.Match[str]) -> Learner:
    return Learner(match["name"], match["id"], service)


def _inside(folder: Path, sentences: list[str]) -> list[Path]:
    """Return the regular files in the folder of a learner, down to a depth and up to a number."""
    files: list[Path] = []
    links: list[str] = []
    waiting, seen = [(folder, DEPTH)], 0
    for here, left in waiting:
        for entry in _entries(here)[: FILES - seen]:
            seen += 1
            if entry.is_symlink():
                links.append(entry.name)
            elif entry.is_file(follow_symlinks=False):
                files.append(Path(entry.path))
            elif left and entry.is_dir(follow_symlinks=False):
                waiting.append((Path(entry.path), left - 1))
    if links:
        sentences.append(f"{_shown(folder.name)}: {_link_left_out(_listed(links))}")
    if seen == FILES:
        sentences.append(f"{_shown(folder.name)} has {FILES:,} files or more; others are left out.")
    return files


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    """Return what a folder holds by name, without hidden files. One that cannot be read is
    empty."""
    try:
        with os.scandir(folder) as entries:
            shown = [entry for entry in entries if not entry.name.startswith((".", "__MACOSX"))]
    except OSError:
        return []
    return sorted(shown, key=lambda entry: entry.name)


def _take(learner: Learner, files: Iterable[tuple[str, Path]], handed: Handed) -> None:
    """Add a learner, the newest notebook of each lesson, and the progress."""
    handed.learners.append(learner)
    lessons: dict[str, list[Numbered]] = {}
    records: list[Numbered] = []
    others: list[Path] = []
    for given, path in files:
        stem, number = _numbered(Path(given).stem)
        kind = path.suffix.lower()
        if kind == ".json" and stem == PROGRESS:
            records.append((number, path))
        elif kind == ".ipynb" and stem not in _appendices():
            lesson = _by_name(stem) or (_by_metadata(path) if len(others) < UNKNOWN else "")
            if lesson:
                lessons.setdefault(lesson, []).append((number, path))
            else:
                others.append(path)
        elif kind in PACKED or (kind != ".ipynb" and ".ipynb" in given.lower()):
            others.append(path)
    for lesson in sorted(lessons):
        notebook = _newest(learner, lesson, lessons[lesson], handed.sentences)
        handed.submissions.append(Submission(learner, lesson, notebook))
    if records:
        _read(learner, _newest(learner, "progress.json", records, handed.sentences), handed)
    if others:
        names = _listed([path.name for path in others])
        handed.sentences.append(
            f"{_shown(learner.name)}: {names} left out, no lesson by name or metadata."
        )


def _numbered(stem: str) -> tuple[str, int]:
    """Return the stem of a file without the number of a later submission, and that number."""
    match = AGAIN.search(stem)
    return (stem[: match.start()], int(match[1] or match[2])) if match else (stem, 0)


@cache
def _appendices() -> frozenset[str]:
    """Return the stems of the notebooks that come with lessons, and are not handed in."""
    return frozenset(path.stem for path in (LESSONS / "appendix").glob("*.ipynb"))


def _by_name(stem: str) -> str:
    """Return the lesson with whose name a stem ends; empty if there is none."""
    return next((name for name in lesson_names().values() if stem.lower().endswith(name)), "")


def _by_metadata(path: Path) -> str:
    """Return the lesson that ``memlab release`` wrote into a notebook; empty if there is none."""
    try:
        lesson = json.loads(regular(path, BYTES))["metadata"][ABOUT]["lesson"]
    except (InputError, ValueError, KeyError, TypeError, IndexError, RecursionError):
        return ""
    return lesson if lesson in tuple(lesson_names().values()) else ""


def _newest(learner: Learner, what: str, files: list[Numbered], sentences: list[str]) -> Path:
    """Return the file with the highest number; of several, the last one in the highest folder."""
    *others, newest = [
        path for _, path in sorted(files, key=lambda one: (one[0], -len(one[1].parts), one[1]))
    ]
    if others:
        sentences.append(
            f"{_shown(learner.name)} handed in {what} {len(files)} times: {_shown(newest.name)} "
            f"counts, not {_listed([_below(path, newest) for path in others])}."
        )
    return newest


def _below(path: Path, newest: Path) -> str:
    """Return the name of a file, with its folder where the newest has the same name."""
    return path.name if path.name != newest.name else f"{path.parent.name}/{path.name}"


def _read(learner: Learner, path: Path, handed: Handed) -> None:
    """Read a progress file. A broken one costs no mark."""
    try:
        handed.records[learner] = progress.parsed(
            regular(path, progress.LARGEST), path, "not_added"
        )
    except InputError as error:
        handed.broken.add(learner)
        handed.sentences.append(
            f"{_shown(learner.name)}: {error} Exercises are marked without it; look at the cards."
        )


def regular(path: Path, most: int) -> bytes:
    """Return the content of a regular file of at most so many bytes.

    Raises:
        InputError: it is a link, a pipe or a device, has more, or cannot be read.
    """
    try:
        with open(path, "rb", opener=_opened) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise InputError(f"{_shown(path.name)} is no regular file.")
            content = file.read(most + 1)
    except OSError as error:
        raise InputError(f"{_shown(path.name)} cannot be read: {error.strerror}.") from None
    if len(content) > most:
        raise InputError(f"{_shown(path.name)} has more than {most:,} bytes.")
    return content


def _opened(name: str, flags: int) -> int:
    """Open a file, but no link; a pipe without waiting for its writer."""
    return os.open(name, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))


def _link_left_out(names: str) -> str:
    return f"{names} not followed, a symbolic link."


def _listed(names: Sequence[str]) -> str:
    """Return some names for a sentence, and how many others there are."""
    first = ", ".join(map(_shown, names[:NAMED]))
    return f"{first} and {len(names) - NAMED} others" if len(names) > NAMED else first


def _shown(name: str) -> str:
    """Return a name that came from outside, for a sentence."""
    text = visible(name)
    return text if len(text) <= 80 else f"{text[:77]}..."
