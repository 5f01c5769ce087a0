"""Progress files of a class: the first answers of its learners, without their names.

A file is data of somebody else. What cannot be read is told in one sentence, and the others count.
The same answer in two files counts once, as where a learner handed in one file with two lessons.
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memlab import strings
from memlab.errors import LONGEST, InputError, shorten
from memlab.lesson import progress
from memlab.lesson.card_question import Answer, Question
from memlab.lesson.class_guesses import ClassGuesses
from memlab.strings import gettext as _

FILE = "progress.json"
"""Name of a progress file, in the folder of a learner or deeper."""


@dataclass(frozen=True, eq=False)
class ClassFiles:
    """First answers of a class to each card, by its name. ``files`` is the number of files that
    were read, ``broken`` has a sentence for each other one, which names the file."""

    files: int
    answers: Mapping[str, Sequence[Mapping[str, Any]]]
    broken: tuple[str, ...] = ()

    def guesses(self, topic: Question) -> ClassGuesses:
        """Return the guesses at a card. Where somebody revised a guess, the second series has the
        last answer of everybody, so that both are about the same people."""
        first, last, unread = list[Answer](), list[Answer](), list[str]()
        entries = self.answers.get(topic.name, ())
        given = [entry for entry in entries if entry["guess"]]
        for entry in given:
            try:
                guess = _read(topic, entry["guess"])
                revision = entry.get("revision", "")
                last.append(_read(topic, revision) if revision else guess)
                first.append(guess)
            except InputError:
                unread.append(entry["guess"])
        revised = any(entry.get("revision") for entry in given)
        series = (tuple(first), tuple(last)) if revised else (tuple(first),)
        return ClassGuesses(topic, series, len(entries) - len(given), tuple(unread))

    def others(self, known: Mapping[str, object]) -> Counter[str]:
        """Return the number of answers to cards that are not known here, such as an instructor's
        own, by their names."""
        return Counter({name: len(e) for name, e in self.answers.items() if name not in known})


def _read(topic: Question, text: str) -> Answer:
    if len(text) > LONGEST:
        raise InputError(strings.get("class_guesses.unread.long"))
    return topic.read(text)


def read(folder: str | Path) -> ClassFiles:
    """Return the answers in the progress files of a folder: each file ``progress.json`` in it or
    below it, and each file ``*.json`` directly in it.

    Raises:
        InputError: there is no such folder, or no such file in it.
    """
    root, named = Path(os.path.expanduser(folder)), shorten(str(folder))
    if not (str(folder) and root.is_dir()):
        raise InputError(_("{folder} is no folder; give one that holds the {file} of each learner, "
                           "or files NAME.json.", folder=named, file=FILE))  # fmt: skip
    answers: dict[str, dict[tuple[Any, ...], Mapping[str, Any]]] = {}
    broken: list[str] = []
    files = 0
    for path in _paths(root):
        try:
            record = _record(path, path.relative_to(root))
        except InputError as error:
            broken.append(str(error))
            continue
        files += 1
        for name, turns in record["cards"].items():
            turn = turns[0]  # later ones may be about other numbers
            key = record["seed"], turn["at"], turn["guess"]
            kept = answers.setdefault(name, {})
            if key not in kept or turn.get("revision"):
                kept[key] = turn
    if not files and not broken:
        raise InputError(_("{folder} has no progress files; give one that holds the {file} of each "
                           "learner, or files NAME.json.", folder=named, file=FILE))  # fmt: skip
    return ClassFiles(files, {n: tuple(turns.values()) for n, turns in answers.items()},
                      tuple(broken))  # fmt: skip


def _paths(root: Path) -> Iterator[Path]:
    """Yield the progress files of a folder in the order of their names. Links to folders are not
    followed."""
    for place, folders, files in os.walk(root):
        folders.sort()
        here = Path(place)
        for name in sorted(files):
            if name == FILE or (here == root and name.endswith(".json")):
                yield here / name


def _record(path: Path, shown: Path) -> Mapping[str, Any]:
    """Return the content of a progress file, which a sentence calls ``shown``.

    Raises:
        InputError: it is no regular file, too large, cannot be read, or has another content.
    """
    try:
        state = path.lstat()
        if not stat.S_ISREG(state.st_mode):
            raise _refused(shown, strings.get("class_guesses.unread.link"))
        if state.st_size > progress.LARGEST:
            most = f"{progress.LARGEST:,}"
            raise _refused(shown, strings.get("progress.why_size", most=most))
        with path.open("rb") as file:
            content = file.read(progress.LARGEST)
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise _refused(shown, strings.get("class_guesses.unread.closed", why=why)) from None
    return progress.parsed(content, shown, "not_counted")


def _refused(path: Path, why: str) -> InputError:
    return InputError(strings.get("progress.not_counted", path=path, why=why))
