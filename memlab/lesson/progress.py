"""Progress of a learner, in one local JSON file that people can read. No guess is ever a mark.

``MEMLAB_PROGRESS`` names the file; without it nothing is stored. A lesson never fails because of
it: a file that cannot be read or written is left unchanged, one sentence says so, the lesson goes
on.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from functools import cache
from pathlib import Path
from types import NoneType
from typing import Any

from memlab import atomic_files, strings
from memlab.errors import InputError, shorten, visible
from memlab.lesson import own
from memlab.lesson.merged_progress import merged

try:
    from filelock import FileLock, Timeout
except ModuleNotFoundError:  # a web page, which shares its files with no other process
    FileLock, Timeout = None, TimeoutError  # type: ignore[misc, assignment]  # the class is not there

FILE, SEED = "MEMLAB_PROGRESS", "MEMLAB_SEED"
SCHEMA = "memlab.progress/1"
PATIENCE = 3.0
"""Seconds to wait while another notebook writes."""
LARGEST = 2_000_000
"""Bytes of a file that is added: answers of all lessons are a hundredth, and a browser stores about
5,000,000."""
SEEDS = 10**9
"""Number of seeds: in a class of 100, two learners share one once in 200,000 classes."""

Record = dict[str, Any]
_TURN = {"at": str, "guess": str, "right": (bool, NoneType)}
_MAYBE = {"because": str, "revision": str, "revision_right": bool, "shown": bool}
"""Fields that an entry of a card may also have."""
_EXERCISE = {"checks": int, "passed": (str, NoneType), "hints": int, "solution": (str, NoneType)}


def file() -> Path | None:
    """Path of the progress file, from ``MEMLAB_PROGRESS``; None where no progress is stored."""
    named = os.environ.get(FILE, "")
    return Path(os.path.realpath(os.path.expanduser(named))) if named else None


def seed() -> int:
    """Seed of the learner: ``MEMLAB_SEED``, else the one in the progress file, else one drawn for
    this process."""
    given = os.environ.get(SEED, "")
    try:
        if given:
            return int(given)
    except ValueError:
        _print_once(strings.get("progress.seed", given=shorten(given)))
    record = _read_or_change()
    return _process_seed() if record is None else int(record["seed"])


def answered(name: str, guess: str, right: bool | None, because: str = "") -> None:
    """Record the answer to a card.

    Args:
        name: the card, ``"02.output"``.
        guess: the guess as it was typed; empty if the card was skipped.
        right: True for a right guess; None if the card was skipped. After a wrong guess the answer
            is recorded as not shown yet.
        because: the reason that was given.
    """
    turn = {"at": _time_now(), "guess": guess, "right": None if right is None else bool(right)}
    turn |= {"because": because} if because else {}
    turn |= {"shown": False} if right is not None and not right else {}
    _read_or_change(lambda record: record["cards"].setdefault(name, []).append(turn))


def revised(name: str, revision: str, right: bool) -> None:
    """Record the revision of the last answer to a card, and that the true answer was shown."""
    _update_last_answer(name, revision=revision, revision_right=bool(right), shown=True)


def shown(name: str) -> None:
    """Record that the true answer was shown to the last guess at a card, without a revision."""
    _update_last_answer(name, shown=True)


def first(name: str) -> Record | None:
    """Return the first recorded answer to a card; later ones may be about other numbers. None if
    there is none, or no file."""
    return _answers_by_card().get(name, [None])[0]


def lessons(cards: Mapping[str, Collection[str]]) -> frozenset[str]:
    """Return the lessons all of whose cards are answered with the true answer shown.

    Args:
        cards: the names of the cards of each lesson.
    """
    cards_answered = _answers_by_card()
    return frozenset(
        lesson
        for lesson, names in cards.items()
        if names
        and all(name in cards_answered and was_shown(cards_answered[name][0]) for name in names)
    )


def was_shown(turn: Mapping[str, Any]) -> bool:
    """True if the true answer was shown beside a recorded guess. Older files have no entry for it
    after a wrong guess without a revision: there, it was shown."""
    return bool(turn.get("shown", True))


def checked(name: str, passed: bool) -> None:
    """Record a check of an exercise ``"02.peak"``, and the time when it first passed."""

    def change(entry: Record) -> None:
        entry["checks"] += 1
        if passed:
            entry["passed"] = entry.get("passed") or _time_now()

    _update_exercise(name, change)


def hinted(name: str, degree: int) -> None:
    """Record that a hint of an exercise was shown; ``degree`` is 1, 2 or 3."""
    _update_exercise(name, lambda entry: entry.update(hints=max(entry["hints"], degree)))


def solved(name: str) -> None:
    """Record that the solution of an exercise was shown."""
    _update_exercise(
        name, lambda entry: entry.update(solution=entry.get("solution") or _time_now())
    )


def read(path: Path) -> Record:
    """Return the content of a progress file.

    Raises:
        InputError: the file is no progress file, or one of another schema.
        OSError: the file does not exist or cannot be opened.
    """
    return parsed(path.read_bytes(), path)


def parsed(content: str | bytes, path: Path, refusal: str = "broken") -> Record:
    """Return the record that the content of a progress file has.

    Args:
        content: all of the file.
        path: its name, for the error.
        refusal: the key of the error's text: that the file stays as it is, or ``"not_added"``.

    Raises:
        InputError: as ``read``.
    """
    try:
        record = json.loads(content)
    except (ValueError, RecursionError):
        raise _refused(path, refusal, strings.get("progress.why_json")) from None
    if not isinstance(record, dict) or record.get("schema") != SCHEMA:
        raise _refused(path, refusal, strings.get("progress.why_schema", schema=SCHEMA))
    if not _is_valid(record):
        raise _refused(path, refusal, strings.get("progress.why_entries"))
    return record


def add(content: str | bytes, source: Path) -> None:
    """Merge the content of another progress file into the learner's own, if that is named.

    Raises:
        InputError: one of the two is no progress file; the own one stays as it is.
        OSError: the own one cannot be written.
    """
    if len(content) > LARGEST:
        size = strings.get("progress.why_size", most=f"{LARGEST:,}")
        raise _refused(source, "not_added", size)
    other, path = parsed(content, source, "not_added"), file()

    def change(record: Record) -> None:
        both = merged(record, other)
        record.clear()
        record.update(other if both == other else both)  # the same bytes where nothing is new

    try:
        if path is not None:
            _changed_record(path, change)
    except RecursionError:  # lists in lists in lists, in an entry that nobody reads
        raise _refused(source, "not_added", strings.get("progress.why_entries")) from None


# -- as text ------------------------------------------------------------------------------------


def text(record: Mapping[str, Any], path: Path, asked: Collection[str] | None = None) -> str:
    """Return the progress as text: for each lesson a table of its cards, the reasons that were
    given, and a table of its exercises.

    Args:
        record: the content of a progress file.
        path: the file.
        asked: the cards and exercises of today's lessons; any other entry of a lesson was
            deleted, and is never shown as open. None if they are not known.
    """
    names = [*record["cards"], *record["exercises"]]
    lines = [strings.get("progress.top", path=path)]
    for lesson in sorted({name.partition(".")[0] for name in names}):
        lines += ["", _heading(lesson)]
        lines += _table(
            ("card", "guess", "revision", "result", "rounds"),
            _rows_of_lesson(lesson, record["cards"], _card_cells, asked),
        )
        lines += _reasons(lesson, record["cards"])
        lines += _table(
            ("exercise", "checks", "result", "hints", "solution"),
            _rows_of_lesson(lesson, record["exercises"], _exercise_cells, asked),
        )
    return "\n".join(lines if names else [*lines, strings.get("progress.empty")])


def _heading(lesson: str) -> str:
    """Return the heading of a lesson, of a week of an instructor's, or of the cards and exercises
    that belong to none."""
    if lesson == own.PREFIX:
        return _text("own")
    return strings.get("progress.lesson", lesson=lesson) if lesson.isdigit() else visible(lesson)


def _rows_of_lesson(
    lesson: str,
    entries: Mapping[str, Any],
    cells: Callable[[Any, str], tuple[str, ...]],
    asked: Collection[str] | None,
) -> list[tuple[str, ...]]:
    """Rows of a table: the name and the cells of each entry that belongs to a lesson. An open entry
    that is not asked any more says so in place of its result."""
    if not lesson.isdigit():  # an instructor's own are asked in other notebooks
        asked = None
    return [
        (
            name.partition(".")[2],
            *cells(entry, "not_yet" if asked is None or name in asked else "gone"),
        )
        for name, entry in entries.items()
        if name.partition(".")[0] == lesson
    ]


def _best_answer(turns: list[Record]) -> Record:
    """Return the answer that stands for a card: the first right one, also if right after a
    revision, else the last guess, else the last answer."""
    guessed = [turn for turn in turns if turn.get("right") is not None]
    right = [turn for turn in guessed if turn["right"] or turn.get("revision_right")]
    return (right[:1] or guessed[-1:] or turns[-1:])[0]


def _card_cells(turns: list[Record], still_open: str) -> tuple[str, ...]:
    """Return the cells of a card; ``still_open`` is the key of the result of one that is open."""
    turn, none = _best_answer(turns), _text("none")
    if turn.get("right") is None:
        return none, none, _text("skipped"), str(len(turns))
    wrong = "revised" if turn.get("revision_right") else still_open
    result = "right" if turn["right"] else wrong
    return turn["guess"], turn.get("revision", none), _text(result), str(len(turns))


def _reasons(lesson: str, cards: Mapping[str, list[Record]]) -> list[str]:
    """Return a line for each reason that was given in a lesson."""
    return [
        "  " + _because(name.partition(".")[2], turn["because"])
        for name, turns in cards.items()
        for turn in turns
        if name.partition(".")[0] == lesson and turn.get("because")
    ]


def _because(card: str, reason: str) -> str:
    return strings.get("progress.because", card=visible(card), because=visible(reason))


def _exercise_cells(entry: Record, still_open: str) -> tuple[str, ...]:
    """Return the cells of an exercise; ``still_open`` is the key of the result of one that is
    open."""
    result = _text("passed" if entry.get("passed") else still_open)
    solution = _text("shown" if entry.get("solution") else "not_shown")
    return str(entry["checks"]), result, str(entry["hints"]), solution


def _table(head: Iterable[str], rows: list[tuple[str, ...]]) -> list[str]:
    lines = [tuple(map(_text, head)), *(tuple(map(visible, row)) for row in rows)] if rows else []
    wide = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  " + "  ".join(f"{cell:{n}}" for cell, n in zip(line, wide, strict=True)).rstrip()
        for line in lines
    ]


def _text(name: str) -> str:
    return strings.get(f"progress.{name}")


# -- the file -----------------------------------------------------------------------------------


def _answers_by_card() -> dict[str, list[Record]]:
    """Return the recorded answers to each card; empty if no file is named, or it does not exist
    yet."""
    path = file()
    record = _read_or_change() if path is not None and path.exists() else None
    return {} if record is None else record["cards"]


def _update_last_answer(name: str, **fields: object) -> None:
    """Set fields of the last recorded answer to a card; do nothing if there is none."""

    def change(record: Record) -> None:
        for turn in record["cards"].get(name, [])[-1:]:
            turn |= fields

    _read_or_change(change)


def _update_exercise(name: str, change: Callable[[Record], None]) -> None:
    new = {"checks": 0, "passed": None, "hints": 0, "solution": None}
    _read_or_change(lambda record: change(record["exercises"].setdefault(name, new)))


def _read_or_change(change: Callable[[Record], None] | None = None) -> Record | None:
    """Return the content of the progress file, after a change if one is given. If that fails, print
    one sentence and return None."""
    path = file()
    if path is None:
        return None
    try:
        return read(path) if change is None and path.exists() else _changed_record(path, change)
    except InputError as error:
        _print_once(str(error))
    except Timeout:
        _print_once(strings.get("progress.locked", path=path))
    except (OSError, NotImplementedError) as error:
        why = getattr(error, "strerror", None) or type(error).__name__
        _print_once(strings.get("progress.unwritable", path=path, why=why))
    return None


def _changed_record(path: Path, change: Callable[[Record], None] | None) -> Record:
    """Read, change and write the progress file under a lock against other notebooks; a missing file
    is created with a new seed."""
    with _lock(path):
        try:
            record = read(path)
        except FileNotFoundError:
            seed = secrets.randbelow(SEEDS)
            record = {"schema": SCHEMA, "seed": seed, "cards": {}, "exercises": {}}
        if change is not None:
            change(record)
        content = json.dumps(record, indent=2, ensure_ascii=False) + "\n"
        atomic_files.write(path, content.encode(errors="replace"))
    return record


def _lock(path: Path) -> AbstractContextManager[object]:
    """Return a lock of a file against other notebooks."""
    if FileLock is None:
        return nullcontext()
    return FileLock(path.with_name(f".{path.name}.lock"), timeout=PATIENCE)


def _is_valid(record: Record) -> bool:
    """True if every entry has the fields that this module reads and changes."""
    cards, exercises = record.get("cards"), record.get("exercises")
    if not (isinstance(cards, dict) and isinstance(exercises, dict)):
        return False
    return (
        type(record.get("seed")) is int
        and all(isinstance(turns, list) and turns for turns in cards.values())
        and all(_is_turn(turn) for turns in cards.values() for turn in turns)
        and all(_has_fields(_EXERCISE, entry) for entry in exercises.values())
    )


def _is_turn(turn: object) -> bool:
    return _has_fields(_TURN, turn) and all(
        isinstance(turn[name], kind)  # type: ignore[index]  # a mapping, as it has the others
        for name, kind in _MAYBE.items()
        if name in turn  # type: ignore[operator]  # a mapping, too
    )


def _has_fields(fields: Mapping[str, Any], entry: object) -> bool:
    return isinstance(entry, dict) and all(
        isinstance(entry.get(name), kind) for name, kind in fields.items()
    )


def _refused(path: Path, refusal: str, why: str) -> InputError:
    return InputError(strings.get(f"progress.{refusal}", path=path, why=why))


def _time_now() -> str:
    return datetime.now().astimezone().isoformat(timespec="seconds")


@cache
def _process_seed() -> int:
    """Return the seed of this process, for a learner without a progress file."""
    return secrets.randbelow(SEEDS)


@cache
def _print_once(sentence: str) -> None:
    """Print a sentence, once per process."""
    print(visible(sentence))
