"""``memlab.feed``: training of a step on images from a disk, which a second thread reads ahead.

A session computes on the batches where the loader (``runtime.loader``) puts them. Both are measured
by one meter, and compared with the plan of the step and of all buffers.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path as Folder
from statistics import fmean
from typing import Any

import numpy as np

from memlab import devices, units
from memlab.clocks.data_path import (
    AUGMENT,
    HOST_SIDE,
    TRAIN,
    Moves,
    Paced,
    PathPlan,
    counted,
    data_path,
    images_of,
    operations,
)
from memlab.clocks.streams import Schedule
from memlab.errors import InputError, known, real_number, shorten, true_or_false, whole_number
from memlab.hardware import speed
from memlab.kernels import registry
from memlab.kernels.cpu.threads import NO_THREADS, threads_start
from memlab.kernels.registry import Kernel, KernelCall
from memlab.ledger.ledger import Ledger
from memlab.runtime import memory_guard
from memlab.runtime.interrupts import outside_the_hook
from memlab.runtime.loader.images import REFUSE, WHEN_BAD, ImageFolder, Source, source
from memlab.runtime.loader.loader import ImageDraws, Loader
from memlab.runtime.metering.meter import Meter
from memlab.runtime.program import Program
from memlab.runtime.session import Session
from memlab.step.step import Step
from memlab.step.storage import DEVICE, HOST
from memlab.step.tensor import Tensor

FORMATS = ("fp32", "fp64")
"""Formats that images can be converted to."""


@dataclass(frozen=True)
class Fed(Paced):
    """Result of training a step with a folder of images.

    Attributes:
        step: the step.
        buffers: number of batches that may wait for the link.
        augment: side on which images are converted, ``"host"`` or ``"device"``.
        device: name of the device.
        schedule: the operations that ran, in measured seconds.
        planned: the plan of the step and of all buffers.
        peaks: measured bytes of the buffers, by memory.
        peak: measured peak of the device in bytes, with the step.
        residual: largest difference of measured and planned bytes; 0 means that the plan held.
        moved: bytes that were read and copied.
        losses: loss of every step; for a step without a loss, the mean of its output.
        skipped: messages about the files that were skipped, each with the reason.
        left: number of images that are in no batch.
        passed: number of entries of the folder that are no images.
        in_turn: True if everything ran in turn although batches may wait, because no thread can
            start here.

    >>> import memlab
    >>> from tempfile import TemporaryDirectory
    >>> net = memlab.network("small", image=(3, 8, 8)).flatten().linear(10).cross_entropy()
    >>> with TemporaryDirectory() as folder:
    ...     images = memlab.images(folder, 9, (3, 8, 8))
    ...     fed = memlab.feed(memlab.training_step(net), folder, batch=4)
    >>> fed.batches, fed.images, fed.left, fed.residual
    (2, 8, 1, 0)
    """

    step: Step
    buffers: int
    augment: str
    device: str
    schedule: Schedule
    planned: Ledger
    peaks: Mapping[str, int]
    peak: int
    residual: int
    moved: Moves
    losses: tuple[float, ...] = field(repr=False)
    skipped: tuple[str, ...] = ()
    left: int = 0
    passed: int = 0
    in_turn: bool = False

    @property
    def batches(self) -> int:
        """Number of batches that were trained with."""
        return len(self._ends)

    @property
    def images(self) -> int:
        """Number of images that were trained with."""
        return self.batches * self.batch

    @cached_property
    def parts(self) -> dict[str, float]:
        """Mean seconds of each part of the data path, by name (``clocks.buffer_ring.PARTS``);
        without the first batch if there are others."""
        seconds: dict[str, list[float]] = {}
        for slot in self.schedule.slots:
            seconds.setdefault(slot.op.name.split()[0], []).append(slot.seconds)
        return {name: fmean(times[1:] or times) for name, times in seconds.items()}

    @property
    def compute(self) -> float:
        """Mean seconds of a training step."""
        return self.parts[TRAIN]

    def clocked(self, buffers: int | None = None) -> PathPlan:
        """Plan of the data path from the measured seconds of its parts.

        Args:
            buffers: number of buffers; None for the number that ran.
        """
        count = self.buffers if buffers is None else buffers
        return data_path(
            self.step, self.batch, count, self.augment, batches=max(self.batches, 2),
            seconds=self.parts,
        )  # fmt: skip

    def __str__(self) -> str:
        peaks = ", ".join(f"{name} {units.exact(size)}" for name, size in self.peaks.items())
        rows = [
            f"{self.step.describe()}, batch {self.batch}, {counted(self.buffers)}, augmented on "
            f"the {self.augment}, measured on {self.device}",
            f"{self.images_per_second:,.1f} images/s over {self.batches:,} batches; compute waited "
            f"{self.waits:.1%} of the time after the first",
            "seconds a batch: " + ", ".join(f"{n} {s:.4g}" for n, s in self.parts.items()),
            f"buffers   {peaks}",
            f"residual  {units.exact(self.residual)}",
            f"moved     disk {units.short(self.moved.disk)}, RAM {units.short(self.moved.ram)}, "
            f"link {units.short(self.moved.link)}",
        ]
        if self.in_turn:
            rows.append(f"threads   {NO_THREADS}: images are read and trained with in turn")
        if self.skipped or self.left:
            rows.append(f"skipped   {len(self.skipped):,} files; {self.left:,} images are in "
                        "no batch")  # fmt: skip
        return "\n".join(rows)

    def as_dict(self) -> dict[str, Any]:
        """Results as a dictionary for JSON; bytes and seconds."""
        return {
            "step": self.step.describe(), "batch": self.batch, "buffers": self.buffers,
            "augment": self.augment, "device": self.device, "batches": self.batches,
            "images_per_second": self.images_per_second, "waits": self.waits,
            "seconds": self.parts, "buffer_bytes": dict(self.peaks), "peak_bytes": self.peak,
            "residual_bytes": self.residual, "moved_bytes": self.moved._asdict(),
            "skipped": list(self.skipped), "left": self.left, "losses": list(self.losses),
        }  # fmt: skip


def feed(
    step: Step,
    images: str | Folder | ImageFolder,
    batch: int,
    buffers: int = 2,
    augment: str = HOST_SIDE,
    *,
    crop: int | None = None,
    flip: bool = True,
    mean: float = 0.5,
    deviation: float = 0.25,
    bad: str = REFUSE,
    disk: str | float | None = None,
    batches: int | None = None,
    seed: int = 0,
    settings: Mapping[str, float] | None = None,
    device: str = "cpu",
) -> Fed:
    """Train a step with every image of a folder once, in the order of their names, and measure
    bytes and seconds.

    Images are cropped, mirrored and normalised at random. The random numbers of an image depend on
    the seed and the image's number only, so the values are the same with any number of buffers, on
    either side. The seconds of reading include those of decoding, where a file is a PNG.

    Args:
        step: a training or inference step whose inputs are images.
        images: a folder, as ``memlab.images`` makes it: files of the size of the step's input.
        batch: images in a batch; images that fill no batch at the end are left out.
        buffers: batches that may wait for the link; with 0, one thread does everything in turn.
        augment: ``"host"`` to convert images in the loader's thread, ``"device"`` to do it by a
            kernel before every step.
        crop: largest shift of a crop in pixels, black beyond the edge; None for an eighth of the
            rows.
        flip: True to mirror images left to right at random, every second one on average.
        mean: value that is subtracted, from 0 (black) to 1 (white).
        deviation: value that is divided by, in the same unit.
        bad: ``"refuse"`` or ``"skip"`` for a file that holds no image of the size.
        disk: most bytes per second that are read, to see a slower disk; None for the disk's own
            speed.
        batches: largest number of batches; None for all.
        seed: seed of the parameters and of the random numbers of the images.
        settings: settings of the optimizer.
        device: ``"cpu"`` or ``"cuda"``.

    Returns:
        Measured bytes and seconds, losses, and the plan that they are compared with.

    Raises:
        InputError: there is no such folder, it holds fewer images than a batch, a file holds no
            image of the size, or the step takes no images, or takes them in a format that they are
            not converted to.
        DoesNotFitError: step and buffers need more than is free; nothing was allocated.

    >>> import memlab
    >>> from tempfile import TemporaryDirectory
    >>> net = memlab.network("small", image=(3, 8, 8)).flatten().linear(10).cross_entropy()
    >>> step = memlab.training_step(net)
    >>> with TemporaryDirectory() as folder:
    ...     images = memlab.images(folder, 8, (3, 8, 8))
    ...     fed = memlab.feed(step, folder, batch=2)
    >>> fed.images, len(fed.losses), fed.residual
    (8, 4, 0)
    """
    x, count = images_of(step), step.held(batch)
    _check_format(step, x)
    augmentation = {
        "crop": float(whole_number("crop", x.axes[2][1] // 8 if crop is None else crop, 0, 2**15)),
        "flip": float(true_or_false("flip", flip)),
        "mean": 255 * real_number("mean", mean, 0.5, 0.0, below=1.0),
        "scale": 1 / (255 * real_number("deviation", deviation, 0.25, above=1e-6)),
    }
    known("answer to a bad image", bad, WHEN_BAD)
    pace = None if disk is None else speed("disk", disk, "0.15 GB/s")
    folder = source(images, (x.axes[1][1], x.axes[2][1], x.axes[3][1]))
    ring = operations(step, count, buffers, augment, _batch_count(folder, count, batches))
    program = Program(step, count, device)
    program.lend(ring.live_in)
    memory_guard.admit(program)
    program.load()
    backend, planned = program.backend, program.planned
    convert = kernel(x.format.name, device if augment != HOST_SIDE else "cpu")
    draws = ImageDraws(zlib.crc32(f"{whole_number('seed', seed, 0)} images".encode()), augmentation)
    due = list(zip(planned.before(count), planned.timeline(count), planned.after(count),
                   strict=True))  # fmt: skip
    limits = (limit.below for limit in program.inputs if limit.what == "labels")
    classes = next(limits, 0)
    with outside_the_hook(), Meter(hook=backend.hook()) as meter:
        loader = Loader(ring, count, int(buffers), backend, meter, folder, convert, draws)
        loader.skip, loader.pace, loader.classes = bad != REFUSE, pace, classes
        return _train_epoch(program, loader, due, augment, seed, settings)


def _check_format(step: Step, x: Tensor) -> None:
    """Refuse a step that takes images in a format that they are not converted to."""
    if x.format.name not in FORMATS:
        raise InputError(
            f"images are converted to {' or '.join(FORMATS)}, and this step ({step.describe()}) "
            f"takes {x.format}; try memlab.training_step(network)."
        )


def _batch_count(folder: Source, batch: int, most: int | None) -> int:
    """Number of full batches in a folder, at most ``most``."""
    full = len(folder.files) // batch
    if not full:
        raise InputError(
            f"{shorten(str(folder.folder))} holds {len(folder.files):,} images, fewer than a batch "
            f"of {batch}; try batch={len(folder.files)}."
        )
    return full if most is None else min(full, whole_number("batches", most))


def _train_epoch(
    program: Program, loader: Loader, due: Sequence[tuple[int, int, int]],
    augment: str, seed: int, settings: Mapping[str, float] | None,
) -> Fed:  # fmt: skip
    """Train with all batches; in every case the threads end and the memory is given back."""
    step, batch = program.step, program.batch
    losses, residual, peak = [], 0, 0
    with loader, Session(program, seed, settings=settings, meter=loader.meter) as session:
        with closing(loader.batches()) as filled_batches:
            for filled_batch in filled_batches:
                counts = session.step(filled_batch.x, filled_batch.labels)
                losses.append(float(np.mean(session.output)))
                gaps = (m - p for got, want in zip(counts, due, strict=True)
                        for m, p in zip(got, want, strict=True))  # fmt: skip
                residual = max(residual, *map(abs, gaps))
                peak = max(peak, max(inside for _, inside, _ in counts))
        peaks = {memory: loader.buffer_bytes(memory) for memory in (HOST, DEVICE)}
    places = (p.size.at(batch) for p in loader.ring.live_in if p.storage.memory == HOST)
    name = loader.backend.name
    left = len(loader.source.files) - len(loader.skipped) - batch * len(losses)
    return Fed(
        step, loader.buffers, augment, name, loader.schedule(name), program.planned, peaks, peak,
        max(residual, abs(peaks[HOST] - sum(places))), loader.moved(), tuple(losses),
        tuple(loader.skipped), left, loader.source.passed,
        in_turn=bool(loader.buffers) and not threads_start(),
    )  # fmt: skip


def kernel(format: str, device: str) -> Kernel:
    """Kernel that converts images, compiled here, before anything is measured."""
    convert = registry.find(AUGMENT, "", device, format)
    if not devices.find(device).own_memory:
        small = {
            "x": np.zeros((1, 1, 1, 1), np.uint8),
            "y": np.zeros((1, 1, 1, 1), registry.DTYPES[format]),
        }
        convert(KernelCall(small, settings={"crop": 0.0, "flip": 0.0, "mean": 0.0, "scale": 1.0}))
    return convert
