"""Operations that run for real in the streams they are planned in, each stream in a thread.

An operation starts when its stream is free, what it waits for (``Op.after``) has ended, and what it
touches is written: as ``clocks.streams`` plans it. Where there is no buffer between them, all run
in one thread, one after the other. Whoever computes is the thread that made the lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from contextvars import copy_context
from threading import Condition, Thread
from time import perf_counter

from memlab.clocks.streams import COMPUTE, Slot
from memlab.step.op import Op

POLL = 0.2
"""Seconds after which one who waits looks again, and may be interrupted on any system."""


class Over(Exception):  # noqa: N818  # it is the end, and no error
    """There is nothing left to do: no more images, or somebody has stopped."""


class Lanes:
    """The operations of all streams; ``run`` does one of them. With ``threads``, all streams but
    compute have one of their own, which sees what the thread sees that makes them: also its
    meter."""

    def __init__(self, ops: Sequence[Op], run: Callable[[Op], None], threads: bool) -> None:
        self.ops, self.run = ops, run
        self.needs = dict(needed(ops))
        self.times: dict[str, tuple[float, float]] = {}
        self.error: BaseException | None = None
        self.last = len(ops)
        self.stopped = False
        self.changed = Condition()
        self.numbers = {op.name: number for number, op in enumerate(ops)}
        names = dict.fromkeys(op.stream for op in ops if op.stream != COMPUTE)
        self.threads = [
            Thread(target=copy_context().run, args=(self._lane, name), name=f"memlab {name}")
            for name in (names if threads else ())
        ]
        self.begin = 0.0

    def start(self) -> None:
        """Let the threads begin."""
        self.begin = perf_counter()
        for thread in self.threads:
            thread.start()

    def _lane(self, stream: str) -> None:
        """What a thread does."""
        with suppress(Over):
            for op in self.ops:
                if op.stream == stream:
                    self.perform(op)

    def perform(self, op: Op) -> None:
        """Wait until an operation may start, and do it.

        Raises:
            Over: it will never start.
        """
        self.wait(op)
        start = perf_counter()
        try:
            self.run(op)
        except BaseException as error:
            self._end(op, error)
            raise Over from None
        self.record(op, start, perf_counter())

    def wait(self, op: Op) -> None:
        """Return when an operation may start.

        Raises:
            Over: it will never start.
        """
        needs, number = self.needs[op.name], self.numbers[op.name]
        with self.changed:
            while not (self.stopped or number >= self.last):
                if all(name in self.times for name in needs):
                    return
                self.changed.wait(POLL)
        raise Over

    def record(self, op: Op, start: float, end: float) -> None:
        """An operation has run."""
        with self.changed:
            self.times[op.name] = start - self.begin, end - self.begin
            self.changed.notify_all()

    def _end(self, op: Op, error: BaseException) -> None:
        """Nothing from this operation on will run; what came before it may, unless it is an
        error."""
        with self.changed:
            self.last = min(self.last, self.numbers[op.name])
            if not isinstance(error, Over):
                self.error, self.stopped = error, True
            self.changed.notify_all()

    def close(self) -> None:
        """Let nothing start any more, and return when all threads have ended."""
        with self.changed:
            self.stopped = True
            self.changed.notify_all()
        for thread in self.threads:
            if thread.ident is not None:  # it was started
                thread.join()

    def raised(self) -> None:
        """Raise what a thread ended with."""
        if self.error is not None:
            raise self.error

    def slots(self) -> Iterator[Slot]:
        """What has run, as a schedule has it."""
        free: dict[str, float] = {}
        for op in self.ops:
            if op.name in self.times:
                start, end = self.times[op.name]
                stall = start - free[op.stream] if op.stream in free else 0.0
                yield Slot(op, start, end, stall)
                free[op.stream] = end


def needed(ops: Sequence[Op]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """By operation, those which must have ended: those it names, and who wrote what it touches."""
    written: dict[str, str] = {}
    for op in ops:
        writers = (written.get(tensor.storage.name) for tensor in op.touched())
        yield op.name, tuple({*op.after, *filter(None, writers)})
        for tensor in (*op.writes.values(), *op.updates.values()):
            written[tensor.storage.name] = op.name
