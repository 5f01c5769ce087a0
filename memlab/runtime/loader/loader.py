"""A loader: threads that read images from a disk into a ring of buffers, and on to the device.

The operations of ``clocks.buffer_ring`` run for real (``stream_threads``): files are read into RAM,
made into what the network reads, and copied over the link. Every buffer is allocated once, by the
thread that waits for them, before any other thread starts.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from contextvars import copy_context
from threading import Condition, Thread
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from memlab.clocks.data_path import AUGMENT, LINK, READ, TRAIN, Moves
from memlab.clocks.streams import COMPUTE, Schedule, TimedOperation
from memlab.errors import InputError, shorten
from memlab.kernels.registry import Array, Kernel, KernelCall
from memlab.runtime.backend import Backend
from memlab.runtime.loader.images import BadImageError, Source
from memlab.runtime.memory import Piece, RunMemory
from memlab.runtime.metering.meter import Meter
from memlab.step.op import Op
from memlab.step.step import Step
from memlab.step.storage import HOST
from memlab.step.tensor import Tensor

POLL = 0.2
"""Seconds after which a waiting thread looks again, so that it can be interrupted on any system."""


class LoaderFinished(Exception):  # noqa: N818  # it is the end, and no error
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
        with suppress(LoaderFinished):
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
            raise LoaderFinished from None
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
        raise LoaderFinished

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
            if not isinstance(error, LoaderFinished):
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

    def slots(self) -> Iterator[TimedOperation]:
        """What has run, as a schedule has it."""
        free: dict[str, float] = {}
        for op in self.ops:
            if op.name in self.times:
                start, end = self.times[op.name]
                stall = start - free[op.stream] if op.stream in free else 0.0
                yield TimedOperation(op, start, end, stall)
                free[op.stream] = end


def needed(ops: Sequence[Op]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """By operation, those which must have ended: those it names, and who wrote what it touches."""
    written: dict[str, str] = {}
    for op in ops:
        writers = (written.get(tensor.storage.name) for tensor in op.touched())
        yield op.name, tuple({*op.after, *filter(None, writers)})
        for tensor in (*op.writes.values(), *op.updates.values()):
            written[tensor.storage.name] = op.name


# -- the loader ---------------------------------------------------------------------------------


class Draws(NamedTuple):
    """The key of what is drawn for images, and how they are cropped, turned and normalised."""

    key: int
    settings: Mapping[str, float]


class Given(NamedTuple):
    """A batch on the device: where its images lie, and their labels."""

    x: Piece
    labels: list[int] | None


class Loader:
    """Reads images into a ring of buffers. Its memory is there from the start to ``close``, its
    threads while somebody goes through ``batches``."""

    skip, classes = False, 0
    pace: int | None = None

    def __init__(
        self, ring: Step, batch: int, buffers: int, place: Backend, meter: Meter | None,
        found: Source, convert: Kernel, draws: Draws,
    ) -> None:  # fmt: skip
        self.ring, self.batch, self.buffers, self.source = ring, batch, buffers, found
        self.place, self.meter, self.convert, self.draws = place, meter, convert, draws
        self.memory = RunMemory(batch, place, meter)
        self.stream: Any = None
        self.files = iter(found.files)
        self.labels: dict[int, list[int]] = {}
        self.skipped: list[str] = []
        self.read = 0
        self.lanes: Lanes | None = None
        try:
            for each in ring.live_in:
                self.memory.allocate(each.storage, each.name)
        except BaseException:
            self.close()
            raise

    def batches(self) -> Generator[Given]:
        """Batches on the device, one after the other: each lies there until the next one is asked
        for. However this ends, the threads have ended then.

        Raises:
            InputError: a file that holds no image, or the first batch cannot be filled.
        """
        lanes = self.lanes = Lanes(self.ring.ops, self._run, threads=self.buffers > 0)
        try:
            lanes.start()
            for op in self.ring.ops:
                if op.kind == TRAIN:
                    lanes.wait(op)
                    start = perf_counter()
                    yield self._given(op)
                    lanes.record(op, start, perf_counter())
                elif op.stream == COMPUTE or not lanes.threads:
                    lanes.perform(op)
        except LoaderFinished:
            pass
        finally:
            lanes.close()
        lanes.raised()
        if f"{TRAIN} 0" not in lanes.times:
            raise InputError(
                f"{shorten(str(self.source.folder))} holds {len(self.labels.get(0, ())):,} images "
                f"that can be read, fewer than a batch of {self.batch}; {len(self.skipped):,} were "
                f"skipped, the first because: {self.skipped[0]}"
            )

    def _given(self, op: Op) -> Given:
        number = int(op.name.split()[1])
        labels = self.labels.pop(number)
        return Given(self.memory.blocks[op.reads["x"].storage.name],
                     labels if self.classes else None)  # fmt: skip

    # -- operations -----------------------------------------------------------------------------

    def _run(self, op: Op) -> None:
        part, number = op.name.split()
        if part == READ:
            self._read(int(number), self._view(op.writes["y"]))
        elif part == LINK:
            self._send(op)
        elif op.kind == AUGMENT:
            x, y = self._view(op.reads["x"]), self._view(op.writes["y"])
            first = int(number) * self.batch
            self.convert(KernelCall({"x": x, "y": y}, key=self.draws.key, first=first,
                              settings=self.draws.settings))  # fmt: skip
        else:
            np.copyto(self._view(op.writes["y"]), self._view(op.reads["x"]))

    def _view(self, tensor: Tensor) -> Array:
        """The values of a place, where it lies."""
        if tensor.storage.memory != HOST:
            return self.memory.view(tensor)
        block = self.memory.blocks[tensor.storage.name].block
        return np.ndarray(tensor.shape(self.batch), tensor.format.dtype(), block)

    def _read(self, number: int, target: Array) -> None:
        """Fill a batch with the next good images.

        Raises:
            Over: there are too few left.
            BadImageError: a file holds none, and none is skipped.
        """
        labels: list[int] = []
        begun, before = perf_counter(), self.read
        while len(labels) < self.batch:
            name = next(self.files, None)
            if name is None:
                self.labels[number] = labels
                raise LoaderFinished
            try:
                size = self.source.read(name, target[len(labels)])
            except BadImageError as error:
                if not self.skip:
                    raise
                self.skipped.append(str(error))
                continue
            labels.append(self.source.label(name, self.classes or 1))
            self.read += size
            if self.pace:  # of the whole batch: who wakes up late for an image makes up for it
                self._slowed(begun + (self.read - before) / self.pace)
        self.labels[number] = labels

    def _slowed(self, until: float) -> None:
        """Wait until a slower disk would have given an image; who stops does not wait."""
        assert self.lanes is not None
        with self.lanes.changed:
            while (left := until - perf_counter()) > 0:
                if self.lanes.stopped:
                    raise LoaderFinished
                self.lanes.changed.wait(left)

    def _send(self, op: Op) -> None:
        """Copy to the device; there, in a stream beside the kernels."""
        source_, target = op.reads["x"].storage, op.writes["y"].storage
        if self.place.one_memory:
            self.memory.copy(source_, target)
            return
        if self.stream is None:
            device: Any = self.place
            self.stream = device.stream()
        self.memory.copy(source_, target, self.stream)
        self.stream.synchronize()

    # -- what came of it ------------------------------------------------------------------------

    def held(self, memory: str) -> int:
        """The measured bytes of all places in a memory, that are there now."""
        names = {each.name for each in self.ring.live_in}
        seen = self.meter.seen if self.meter is not None else []
        return sum(b.nbytes for b in seen
                   if b.label in names and b.memory == memory and b.death is None)  # fmt: skip

    def schedule(self, machine: str) -> Schedule:
        """What ran, and when."""
        assert self.lanes is not None
        return Schedule(self.ring, self.batch, machine, None, tuple(self.lanes.slots()))

    def moved(self) -> Moves:
        """The bytes that moved."""
        totals = dict.fromkeys(("ram", LINK, "device"), 0)
        for slot in self.schedule("").slots:
            for tensor in slot.op.writes.values():
                size = tensor.size.at(self.batch)
                totals["ram" if tensor.storage.memory == HOST else "device"] += size
                totals[LINK] += size if slot.op.name.startswith(LINK) else 0
        return Moves(self.read, totals["ram"], totals[LINK], totals["device"])

    def close(self) -> None:
        """End the threads, and give the memory back."""
        if self.lanes is not None:
            self.lanes.close()
        if self.stream is not None:
            device: Any = self.place
            device.end(self.stream)
            self.stream = None
        self.memory.clear()

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
