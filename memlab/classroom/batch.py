"""The submissions of a class as a batch: graded several at once, each result kept as it comes.

Notebooks are graded in other processes (``judges``), so that no submission stops the others. Each
result is a file as soon as it is there; a second call grades what is missing, and what has changed
since.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import memlab
from memlab import atomic_files, free_memory
from memlab.classroom import questions
from memlab.classroom.judges import Grade, Work, marked
from memlab.classroom.limits import Limits
from memlab.classroom.marks import CardCall, NotebookMarks, QuestionMark
from memlab.classroom.notebook_file import BYTES
from memlab.classroom.submissions import Handed, Submission, regular
from memlab.errors import InputError

if TYPE_CHECKING:
    from memlab.classroom.confinement import Confinement

SCHEMA = "memlab.marks/1"
JUDGE = 300 * 2**20
"""Bytes that a process which marks notebooks may take, beside the one that runs a submission."""
PATIENCE = 120.0
"""Seconds beyond its limits after which a notebook is given up whose marks do not come."""

Tell = Callable[[int, int, Sequence[Submission]], None]


@dataclass(frozen=True)
class Terms:
    """Terms on which notebooks are graded: the function that grades one, the confinement of a
    submission, its limits, and how many are graded at once."""

    grade: Grade
    confinement: Confinement
    limits: Limits
    jobs: int

    @property
    def patience(self) -> float:
        """Seconds after which a notebook is given up whose marks do not come."""
        return PATIENCE + 2 * self.limits.whole


@dataclass(frozen=True)
class Graded:
    """A submission with its seed and its marks. ``kept`` marks one that an earlier call graded,
    ``lost`` one whose marks never came."""

    submission: Submission
    seed: int
    marks: NotebookMarks
    kept: bool = False
    lost: bool = False


@dataclass
class Batch:
    """All that was graded so far, with the seconds that this call took, and the largest memory of a
    process that marks, in bytes."""

    graded: list[Graded] = field(default_factory=list)
    seconds: float = 0.0
    judge_memory: int = 0

    @property
    def kept(self) -> int:
        """Number of submissions whose marks an earlier call left."""
        return sum(one.kept for one in self.graded)


def grade_class(
    batch: Batch,
    handed: Handed,
    parts: Path,
    terms: Terms,
    tell: Tell = lambda done, total, running: None,
) -> None:
    """Grade every submission that was not graded before, and add its marks to a batch. After
    Ctrl-C, the batch has what was done.

    Args:
        batch: is filled.
        handed: what was handed in.
        parts: the folder of the results, a file for each submission.
        terms: how notebooks are graded.
        tell: is called with the number that is done, of how many, and what runs now.

    Raises:
        OSError: a result cannot be written.
    """
    start = time.monotonic()
    parts.mkdir(parents=True, exist_ok=True)
    keys = {one: _key(one, handed.seed(one.learner), terms) for one in handed.submissions}
    left = [one for one in keys if not _resumed(batch, parts, one, keys[one])]

    def running(places: Iterable[int]) -> None:
        tell(len(batch.graded), len(keys), [left[place] for place in places])

    work = [_work(one, keys[one]["seed"], terms) for one in left]
    try:
        with closing(marked(work, terms.grade, terms.jobs, terms.patience, running)) as done:
            for place, marks, memory in done:
                submission, key = left[place], keys[left[place]]
                if marks is not None:
                    _keep(parts, submission, key, marks)
                kept = marks or _lost(submission)
                batch.graded.append(Graded(submission, key["seed"], kept, lost=marks is None))
                batch.judge_memory = max(batch.judge_memory, memory)
    finally:
        batch.seconds += time.monotonic() - start


def _work(submission: Submission, seed: int, terms: Terms) -> Work:
    """Return the arguments of ``terms.grade`` for a submission."""
    return submission.notebook, seed, terms.confinement, terms.limits, submission.lesson[:2]


def jobs_here(limits: Limits) -> tuple[int, str]:
    """Return how many notebooks are graded at once on this machine, and why: one for each core, and
    no more than the free memory holds."""
    cores, free = free_memory.cores(), free_memory.free_memory()
    fit = free // (limits.memory + JUDGE)
    if fit < cores:
        return max(1, fit), "as many as the free memory holds by the limit of each"
    return cores, "one for each core"


# -- results that are kept ------------------------------------------------------------------------


def _key(submission: Submission, seed: int, terms: Terms) -> dict[str, Any]:
    """Return all that a result depends on: another key, and the notebook is graded again."""
    try:
        content = sha256(regular(submission.notebook, BYTES)).hexdigest()
    except InputError as error:
        content = str(error)
    return {
        "notebook": content,
        "seed": seed,
        "version": memlab.__version__,
        "lesson": submission.lesson,
        "limits": asdict(terms.limits),
        "trusted": terms.confinement.trusted,
    }


def _name(submission: Submission) -> str:
    """Return the name of a result's file, which holds no character that a learner chose."""
    whole = f"{submission.learner}\n{submission.lesson}".encode("utf-8", "replace")
    return f"{submission.lesson}-{sha256(whole).hexdigest()[:20]}.json"


def _keep(parts: Path, submission: Submission, key: dict[str, Any], marks: NotebookMarks) -> None:
    facts = {
        "schema": SCHEMA,
        "key": key,
        "learner": submission.learner.name,
        "marks": asdict(marks),
    }
    atomic_files.write(parts / _name(submission), (json.dumps(facts, indent=1) + "\n").encode())


def _resumed(batch: Batch, parts: Path, submission: Submission, key: dict[str, Any]) -> bool:
    """Add the marks of an earlier call to a batch; False if there are none."""
    marks = _kept(parts / _name(submission), key)
    if marks is not None:
        batch.graded.append(Graded(submission, key["seed"], marks, kept=True))
    return marks is not None


def _kept(file: Path, key: dict[str, Any]) -> NotebookMarks | None:
    """Return the marks of an earlier call; None if there are none, or of something else."""
    try:
        facts = json.loads(file.read_bytes())
        if facts["schema"] != SCHEMA or facts["key"] != key:
            return None
        marks = facts["marks"]
        marks["marks"] = tuple(QuestionMark(**mark) for mark in marks["marks"])
        marks["calls"] = tuple(CardCall(**call) for call in marks["calls"])
        return NotebookMarks(**marks)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def blank(lesson: str, state: str, review: str = "") -> tuple[QuestionMark, ...]:
    """Return marks in one state for all questions of a lesson ``"02_network"``."""
    asked = questions.of(lesson[:2])
    kinds = {"exercise": asked.exercises, "card": asked.cards}
    return tuple(
        QuestionMark(name, kind, state, review=review)
        for kind, names in kinds.items()
        for name in names
    )


def _lost(submission: Submission) -> NotebookMarks:
    """Return the marks of a notebook whose process ended; they are not kept."""
    marks = blank(submission.lesson, "review", "the process that marks it ended")
    ended = "The process that marks it ended without an answer; grade again, or read the notebook."
    return NotebookMarks(submission.lesson[:2], marks, ended=ended)
