"""A whole class is graded: several notebooks at once, each result kept, and nothing lost by Ctrl-C.

A notebook is graded in a process of its own making, away from this one, so that no submission stops
the others. Each result is a file as soon as it is there; a second call grades what is missing, and
what has changed since.
"""

from __future__ import annotations

import json
import multiprocessing
import signal
import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any

import memlab
from memlab import atomic_files, free_memory
from memlab.classroom import questions
from memlab.classroom.limits import Limits
from memlab.classroom.marks import CardCall, NotebookMarks, QuestionMark
from memlab.classroom.submissions import LARGEST, Handed, Submission, regular
from memlab.errors import InputError

if TYPE_CHECKING:
    from memlab.classroom.confinement import Confinement

SCHEMA = "memlab.marks/1"
JUDGE = 300 * 2**20
"""Bytes that the process takes which marks a notebook, beside the one that runs it."""
PATIENCE = 120.0
"""Seconds beyond its limits after which a notebook is given up whose marks do not come."""

Grade = Callable[[Path, int, "Confinement", Limits, str], NotebookMarks]
Tell = Callable[[int, int, Sequence[Submission]], None]


@dataclass(frozen=True)
class Terms:
    """How notebooks are graded: what grades one, the way in which a submission is run, its limits,
    and how many are graded at once."""

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
        with closing(_marked(work, terms, running)) as marked:
            for place, marks, memory in marked:
                submission, key = left[place], keys[left[place]]
                if marks is not None:
                    _keep(parts, submission, key, marks)
                kept = marks or _lost(submission)
                batch.graded.append(Graded(submission, key["seed"], kept, lost=marks is None))
                batch.judge_memory = max(batch.judge_memory, memory)
    finally:
        batch.seconds += time.monotonic() - start


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
        content = sha256(regular(submission.notebook, LARGEST)).hexdigest()
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


# -- processes ------------------------------------------------------------------------------------

Work = tuple[Path, int, "Confinement", Limits, str]


class _Judge:
    """A process that grades one notebook after the other. ``place`` is that of the notebook that it
    grades now, ``late`` the time at which it is given up."""

    def __init__(self, grade: Grade) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=_serve, args=(other, grade), daemon=False)
        with _no_interrupts():
            self.process.start()
        other.close()
        self.place, self.late = -1, 0.0

    def begin(self, place: int, work: Work, patience: float) -> None:
        """Send a notebook."""
        self.place, self.late = place, time.monotonic() + patience
        self.pipe.send(work)

    def answer(self) -> tuple[NotebookMarks | None, int]:
        """Return the marks, and the memory of the process; no marks if it has ended or is late."""
        try:
            if not self.pipe.poll():
                return None, 0
            marks, memory = self.pipe.recv()
        except (EOFError, OSError):
            return None, 0
        return marks, memory

    def end(self) -> None:
        """End the process, and by that what it has started."""
        self.pipe.close()
        self.process.terminate()
        self.process.join(5)
        self.process.kill()
        self.process.join()


def _work(submission: Submission, seed: int, terms: Terms) -> Work:
    """Return the arguments of ``terms.grade`` for a submission."""
    return submission.notebook, seed, terms.confinement, terms.limits, submission.lesson[:2]


def _marked(
    work: Sequence[Work], terms: Terms, tell: Callable[[Iterable[int]], None]
) -> Generator[tuple[int, NotebookMarks | None, int]]:
    """Yield the place of each notebook with its marks, or None, as they come, and the memory of the
    process that marked it."""
    judges: list[_Judge] = []
    left = [*range(len(work))]
    try:
        while left or judges:
            while left and len(judges) < terms.jobs:
                judges.append(_Judge(terms.grade))
                judges[-1].begin(left[0], work[left.pop(0)], terms.patience)
            tell([judge.place for judge in judges])
            for judge in _ready(judges):
                place, marks, memory = judge.place, *judge.answer()
                if left and marks is not None:
                    judge.begin(left[0], work[left.pop(0)], terms.patience)
                else:
                    judges.remove(judge)
                    judge.end()
                yield place, marks, memory
    finally:
        for judge in judges:
            judge.end()


def _ready(judges: Sequence[_Judge]) -> list[_Judge]:
    """Wait until some processes have answered, ended, or are given up, and return them."""
    while True:
        soonest = min(judge.late for judge in judges) - time.monotonic()
        answered = wait([judge.pipe for judge in judges], max(0.0, soonest))
        now = time.monotonic()
        if ready := [judge for judge in judges if judge.pipe in answered or judge.late <= now]:
            return ready


@contextmanager
def _no_interrupts() -> Iterator[None]:
    """Keep Ctrl-C from a process that is started inside, and from this one until the end."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(pipe: Connection, grade: Grade) -> None:
    """Grade what comes through a pipe until it is closed. Ctrl-C is left to the process that
    started this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with suppress(EOFError, OSError):
        while True:
            work = pipe.recv()
            try:
                marks = grade(*work)
            except Exception as error:  # of memlab's own: the batch goes on, and the report says it
                print(f"memlab: {work[0].name}: {type(error).__name__}: {error}", file=sys.stderr)
                return
            pipe.send((marks, _most_memory()))


def _most_memory() -> int:
    """Return the most bytes that this process has held; 0 where the system does not say."""
    try:
        import resource
    except ModuleNotFoundError:  # Windows
        return 0
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
