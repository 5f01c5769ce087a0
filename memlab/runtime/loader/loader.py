"""Loader: threads that read images from a disk into a ring of buffers, and copy them to the device.

The operations of ``clocks.buffer_ring`` run for real: files are read into RAM, converted to what
the network reads, and copied over the link. Every buffer is allocated once, by the thread that
takes the batches, before any other thread starts.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from contextvars import copy_context
from threading import Condition, Thread
from time import perf_counter, sleep
from typing import Any, NamedTuple

import numpy as np

from memlab.clocks.data_path import AUGMENT, LINK, READ, TRAIN, Moves
from memlab.clocks.streams import COMPUTE, Schedule, TimedOperation
from memlab.errors import InputError, shorten
from memlab.kernels.cpu.threads import threads_start
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
    """Signal that nothing is left to do: there are no more images, or the loader was stopped."""


class Lanes:
    """Execution of operations on several streams.

    With ``threads``, all streams but compute have a thread each, in a copy of the context of the
    thread that makes them, so that its meter sees their arrays. Without, whoever takes the batches
    does everything in turn.

    Args:
        ops: the operations of all streams, in order.
        run: does one operation.
        threads: True for a thread for each stream but compute.
    """

    def __init__(self, ops: Sequence[Op], run: Callable[[Op], None], threads: bool) -> None:
        self.ops, self.run = ops, run
        self.needs = dict(prerequisites(ops))
        self.times: dict[str, tuple[float, float]] = {}
        self.error: BaseException | None = None
        self.last = len(ops)
        self.stopped = False
        self.changed = Condition()
        self.numbers = {op.name: number for number, op in enumerate(ops)}
        names = dict.fromkeys(op.stream for op in ops if op.stream != COMPUTE)
        self.threads = [
            Thread(target=copy_context().run, args=(self._run_stream, name), name=f"memlab {name}")
            for name in (names if threads else ())
        ]
        self.begin = 0.0

    def start(self) -> None:
        """Start the clock and the threads."""
        self.begin = perf_counter()
        for thread in self.threads:
            thread.start()

    def _run_stream(self, stream: str) -> None:
        """Do all operations of a stream, in its thread."""
        with suppress(LoaderFinished):
            for op in self.ops:
                if op.stream == stream:
                    self.perform(op)

    def perform(self, op: Op) -> None:
        """Wait until an operation may start, and do it.

        Raises:
            LoaderFinished: the operation will never start, or failed.
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
            LoaderFinished: it will never start.
        """
        needs, number = self.needs[op.name], self.numbers[op.name]
        with self.changed:
            while not (self.stopped or number >= self.last):
                if all(name in self.times for name in needs):
                    return
                self.changed.wait(POLL)
        raise LoaderFinished

    def record(self, op: Op, start: float, end: float) -> None:
        """Record that an operation has run, from ``start`` to ``end`` on the clock, in seconds."""
        with self.changed:
            self.times[op.name] = start - self.begin, end - self.begin
            self.changed.notify_all()

    def _end(self, op: Op, error: BaseException) -> None:
        """Let no operation of the loader after this one start; after an error, let none start."""
        with self.changed:
            self.last = min(self.last, self.numbers[op.name])
            if not isinstance(error, LoaderFinished):
                self.error, self.stopped = error, True
            self.changed.notify_all()

    def close(self) -> None:
        """Let no operation start any more, and return when all threads have ended."""
        with self.changed:
            self.stopped = True
            self.changed.notify_all()
        for thread in self.threads:
            if thread.ident is not None:  # it was started
                thread.join()

    def raise_error(self) -> None:
        """Raise the error that a thread ended with, if there is one."""
        if self.error is not None:
            raise self.error

    def slots(self) -> Iterator[TimedOperation]:
        """Yield the operations that ran, each with its start, end and stall, as a schedule has
        them."""
        free: dict[str, float] = {}
        for op in self.ops:
            if op.name in self.times:
                start, end = self.times[op.name]
                stall = start - free[op.stream] if op.stream in free else 0.0
                yield TimedOperation(op, start, end, stall)
                free[op.stream] = end


def prerequisites(ops: Sequence[Op]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each operation's name with the names of the operations that must have ended before it.

    These are the operations that it names, and the last writers of the storages that it touches.
    """
    written: dict[str, str] = {}
    for op in ops:
        writers = (written.get(tensor.storage.name) for tensor in op.touched())
        yield op.name, tuple({*op.after, *filter(None, writers)})
        for tensor in (*op.writes.values(), *op.updates.values()):
            written[tensor.storage.name] = op.name


# -- the loader ---------------------------------------------------------------------------------


class ImageDraws(NamedTuple):
    """Seed of the random numbers of images, and the settings of their crops, mirroring and
    normalisation."""

    key: int
    settings: Mapping[str, float]


class LoadedBatch(NamedTuple):
    """Batch on the device: the place of its images, and their labels."""

    x: Piece
    labels: list[int] | None


class Loader:
    """Loader of images into a ring of buffers.

    Its memory is allocated from the start to ``close``; its threads run while somebody iterates
    over ``batches``.

    Attributes:
        skip: True to skip bad files.
        classes: number of classes of the labels; 0 for no labels.
        pace: most bytes per second that are read; None for the disk's own speed.
    """

    skip, classes = False, 0
    pace: int | None = None

    def __init__(
        self, ring: Step, batch: int, buffers: int, backend: Backend, meter: Meter | None,
        images: Source, convert: Kernel, draws: ImageDraws,
    ) -> None:  # fmt: skip
        self.ring, self.batch, self.buffers, self.source = ring, batch, buffers, images
        self.backend, self.meter, self.convert, self.draws = backend, meter, convert, draws
        self.memory = RunMemory(batch, backend, meter)
        self.stream: Any = None
        self.files = iter(images.files)
        self.labels: dict[int, list[int]] = {}
        self.skipped: list[str] = []
        self.read = 0
        self.lanes: Lanes | None = None
        try:
            for buffer in ring.live_in:
                self.memory.allocate(buffer.storage, buffer.name)
        except BaseException:
            self.close()
            raise

    def batches(self) -> Generator[LoadedBatch]:
        """Yield batches on the device; each stays there until the next one is asked for.

        When this ends, in whatever way, the threads have ended.

        Raises:
            InputError: a file holds no image, or the first batch cannot be filled.
        """
        lanes = self.lanes = Lanes(
            self.ring.ops, self._run, threads=self.buffers > 0 and threads_start()
        )
        try:
            lanes.start()
            for op in self.ring.ops:
                if op.kind == TRAIN:
                    lanes.wait(op)
                    start = perf_counter()
                    yield self._loaded_batch(op)
                    lanes.record(op, start, perf_counter())
                elif op.stream == COMPUTE or not lanes.threads:
                    lanes.perform(op)
        except LoaderFinished:
            pass
        finally:
            lanes.close()
        lanes.raise_error()
        if f"{TRAIN} 0" not in lanes.times:
            raise InputError(
                f"{shorten(str(self.source.folder))} holds {len(self.labels.get(0, ())):,} images "
                f"that can be read, fewer than a batch of {self.batch}; {len(self.skipped):,} were "
                f"skipped, the first because: {self.skipped[0]}"
            )

    def _loaded_batch(self, op: Op) -> LoadedBatch:
        """Batch that a training operation reads."""
        number = int(op.name.split()[1])
        labels = self.labels.pop(number)
        return LoadedBatch(self.memory.blocks[op.reads["x"].storage.name],
                     labels if self.classes else None)  # fmt: skip

    # -- operations -----------------------------------------------------------------------------

    def _run(self, op: Op) -> None:
        """Do one operation: read, convert, copy in RAM, or send to the device."""
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
        """View of the values of a buffer."""
        if tensor.storage.memory != HOST:
            return self.memory.view(tensor)
        block = self.memory.blocks[tensor.storage.name].block
        return np.ndarray(tensor.shape(self.batch), tensor.format.dtype(), block)

    def _read(self, number: int, target: Array) -> None:
        """Fill a batch with the next good images.

        Raises:
            LoaderFinished: too few images are left.
            BadImageError: a file holds no image, and bad files are not skipped.
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
            if self.pace:  # over the batch, so that a late wake-up is made up for
                self._wait_for_disk(begun + (self.read - before) / self.pace)
        self.labels[number] = labels

    def _wait_for_disk(self, until: float) -> None:
        """Wait until a slower disk would have given an image, or until the loader is stopped."""
        assert self.lanes is not None
        if not self.lanes.threads:
            sleep(max(0.0, until - perf_counter()))
            return
        with self.lanes.changed:
            while (left := until - perf_counter()) > 0:
                if self.lanes.stopped:
                    raise LoaderFinished
                self.lanes.changed.wait(left)

    def _send(self, op: Op) -> None:
        """Copy a batch to the device; on a GPU, in a stream beside the kernels."""
        source_, target = op.reads["x"].storage, op.writes["y"].storage
        if self.backend.one_memory:
            self.memory.copy(source_, target)
            return
        if self.stream is None:
            device: Any = self.backend
            self.stream = device.stream()
        self.memory.copy(source_, target, self.stream)
        self.stream.synchronize()

    # -- what came of it ------------------------------------------------------------------------

    def buffer_bytes(self, memory: str) -> int:
        """Measured bytes of all buffers in a memory that are allocated now."""
        names = {buffer.name for buffer in self.ring.live_in}
        seen = self.meter.seen if self.meter is not None else []
        return sum(b.nbytes for b in seen
                   if b.label in names and b.memory == memory and b.death is None)  # fmt: skip

    def schedule(self, machine: str) -> Schedule:
        """Operations that ran, with their times, as a schedule of this machine."""
        assert self.lanes is not None
        return Schedule(self.ring, self.batch, machine, None, tuple(self.lanes.slots()))

    def moved(self) -> Moves:
        """Bytes that were read from the disk, written in RAM, sent over the link, and written on
        the device."""
        totals = dict.fromkeys(("ram", LINK, "device"), 0)
        for slot in self.schedule("").slots:
            for tensor in slot.op.writes.values():
                size = tensor.size.at(self.batch)
                totals["ram" if tensor.storage.memory == HOST else "device"] += size
                totals[LINK] += size if slot.op.name.startswith(LINK) else 0
        return Moves(self.read, totals["ram"], totals[LINK], totals["device"])

    def close(self) -> None:
        """End the threads, and free the memory."""
        if self.lanes is not None:
            self.lanes.close()
        if self.stream is not None:
            device: Any = self.backend
            device.end(self.stream)
            self.stream = None
        self.memory.clear()

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
