"""Processes that grade notebooks: what ends one of them costs one notebook, and no other."""

from __future__ import annotations

import multiprocessing
import signal
import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import TYPE_CHECKING

from memlab.classroom.limits import Limits
from memlab.classroom.marks import NotebookMarks
from memlab.errors import visible

if TYPE_CHECKING:
    from memlab.classroom.confinement import Confinement

LONGEST = 500
"""Characters of the sentence on an error of memlab's own."""

Work = tuple[Path, int, "Confinement", Limits, str]
"""Arguments of what grades: the notebook, the seed, how it is run, its limits, its lesson."""
Grade = Callable[[Path, int, "Confinement", Limits, str], NotebookMarks]


class Judge:
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


def marked(
    work: Sequence[Work],
    grade: Grade,
    jobs: int,
    patience: float,
    tell: Callable[[Iterable[int]], None],
) -> Generator[tuple[int, NotebookMarks | None, int]]:
    """Grade notebooks, several at once, each in a process that grades one after the other.

    Args:
        work: the arguments of ``grade`` for each notebook.
        grade: grades one.
        jobs: the number of processes.
        patience: the seconds after which a notebook is given up.
        tell: is called with the places of those that are being graded.

    Yields:
        the place of a notebook, its marks or None where they do not come, and the most bytes that
        the process held that marked it; whichever is done first comes first.
    """
    judges: list[Judge] = []
    left = [*range(len(work))]
    try:
        while left or judges:
            while left and len(judges) < jobs:
                judges.append(Judge(grade))
                judges[-1].begin(left[0], work[left.pop(0)], patience)
            tell([judge.place for judge in judges])
            for judge in ready(judges):
                place, marks, memory = judge.place, *judge.answer()
                if left and marks is not None:
                    judge.begin(left[0], work[left.pop(0)], patience)
                else:
                    judges.remove(judge)
                    judge.end()
                yield place, marks, memory
    finally:
        with _no_interrupts():  # an impatient second Ctrl-C would leave processes and folders
            for judge in judges:
                judge.end()


def ready(judges: Sequence[Judge]) -> list[Judge]:
    """Wait until some processes have answered, ended, or are given up, and return them."""
    while True:
        soonest = min(judge.late for judge in judges) - time.monotonic()
        answered = wait([judge.pipe for judge in judges], max(0.0, soonest))
        now = time.monotonic()
        if done := [judge for judge in judges if judge.pipe in answered or judge.late <= now]:
            return done


@contextmanager
def _no_interrupts() -> Iterator[None]:
    """Keep Ctrl-C from a process that is started inside, and from this one until the end."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # begun inside, it would let Ctrl-C through
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
                said = visible(f"memlab: {work[0].name}: {type(error).__name__}: {error}")
                print(said[:LONGEST], file=sys.stderr)
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
