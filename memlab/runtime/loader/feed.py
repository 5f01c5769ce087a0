"""``memlab.feed``: a step that trains on images from a disk, which a second thread reads ahead.

What a loader brings (``runtime.loader``), a session computes with where it lies. Both are measured
by one meter, and held against the plan of the step and of all buffers.
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
from memlab.kernels.registry import Kernel, KernelCall
from memlab.ledger.ledger import Ledger
from memlab.runtime import memory_guard
from memlab.runtime.interrupts import outside_the_hook
from memlab.runtime.loader.images import REFUSE, WHEN_BAD, ImageFolder, Source, source
from memlab.runtime.loader.loader import Draws, Loader
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
    """What came of feeding a step with a folder of images.

    ``schedule`` is what ran, in measured seconds; ``planned`` the bytes of the step and of all
    buffers. ``peaks`` are the measured bytes of the buffers by memory, ``peak`` those of the device
    with the step. ``losses`` are those of every step, without a loss the means of its output.
    ``skipped`` names each file that was passed over, with the reason, ``left`` is how many images
    are in no batch, ``passed`` how many things in the folder are no images.
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

    @property
    def batches(self) -> int:
        """Batches that were trained with."""
        return len(self._ends)

    @property
    def images(self) -> int:
        """Images that were trained with."""
        return self.batches * self.batch

    @cached_property
    def parts(self) -> dict[str, float]:
        """The mean of the seconds of each part (``clocks.buffer_ring.PARTS``), the first batch
        left out where there are others."""
        found: dict[str, list[float]] = {}
        for slot in self.schedule.slots:
            found.setdefault(slot.op.name.split()[0], []).append(slot.seconds)
        return {name: fmean(each[1:] or each) for name, each in found.items()}

    @property
    def compute(self) -> float:
        """Seconds of one training step, on average."""
        return self.parts[TRAIN]

    def clocked(self, buffers: int | None = None) -> PathPlan:
        """The data path that the clock plans of the measured seconds of the parts, with as many
        buffers or another number of them."""
        count = self.buffers if buffers is None else buffers
        return data_path(
            self.step, self.batch, count, self.augment, batches=max(self.batches, 2),
            seconds=self.parts,
        )  # fmt: skip

    def __str__(self) -> str:
        held = ", ".join(f"{name} {units.exact(size)}" for name, size in self.peaks.items())
        rows = [
            f"{self.step.describe()}, batch {self.batch}, {counted(self.buffers)}, augmented on "
            f"the {self.augment}, measured on {self.device}",
            f"{self.images_per_second:,.1f} images/s over {self.batches:,} batches; compute waited "
            f"{self.waits:.1%} of the time after the first",
            "seconds a batch: " + ", ".join(f"{n} {s:.4g}" for n, s in self.parts.items()),
            f"buffers   {held}",
            f"residual  {units.exact(self.residual)}",
            f"moved     disk {units.short(self.moved.disk)}, RAM {units.short(self.moved.ram)}, "
            f"link {units.short(self.moved.link)}",
        ]
        if self.skipped or self.left:
            rows.append(f"skipped   {len(self.skipped):,} files; {self.left:,} images are in "
                        "no batch")  # fmt: skip
        return "\n".join(rows)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
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
    """Train with every image of a folder once, in the order of names, and measure bytes and
    seconds.

    Images are cropped, turned and normalised at random. What is drawn for an image depends on the
    seed and its number alone, so the values are the same with any number of buffers, on either
    side. The seconds of reading hold those of decoding, where a file is a PNG.

    Args:
        step: a step whose input are images.
        images: a folder, as ``memlab.images`` makes it: files of the size of the step's input.
        batch: images in a batch; what fills no batch at the end is left.
        buffers: batches that may wait for the link; 0: one thread does everything in turn.
        augment: ``"host"``: in the loader's thread; ``"device"``: by a kernel before every step.
        crop: how many pixels a crop is moved by at most, black beyond the edge; an eighth of the
            rows where it is None.
        flip: whether left and right change places in every second image.
        mean, deviation: subtracted and divided by, from 0 to 1, white being 1.
        bad: what becomes of a file that holds no image of the size: ``"refuse"`` or ``"skip"``.
        disk: bytes per second that the disk gives at most, to see a slower one; None: as it is.
        batches: at most so many of them.
        seed: of the parameters and of what is drawn for the images.
        settings: the optimizer's.
        device: ``"cpu"`` or ``"cuda"``.

    Raises:
        InputError: no folder, or none with as many images as a batch; a file that holds none; a
            step without images, or in a format that images are not converted to.
        DoesNotFitError: step and buffers need more than is free; nothing was allocated.
    """
    x, count = images_of(step), step.held(batch)
    _check(step, x)
    asked = {
        "crop": float(whole_number("crop", x.axes[2][1] // 8 if crop is None else crop, 0, 2**15)),
        "flip": float(true_or_false("flip", flip)),
        "mean": 255 * real_number("mean", mean, 0.5, 0.0, below=1.0),
        "scale": 1 / (255 * real_number("deviation", deviation, 0.25, above=1e-6)),
    }
    known("answer to a bad image", bad, WHEN_BAD)
    pace = None if disk is None else speed("disk", disk, "0.15 GB/s")
    found = source(images, (x.axes[1][1], x.axes[2][1], x.axes[3][1]))
    ring = operations(step, count, buffers, augment, _batches(found, count, batches))
    program = Program(step, count, device)
    program.lend(ring.live_in)
    memory_guard.admit(program)
    program.load()
    place, planned = program.place, program.planned
    convert = kernel(x.format.name, device if augment != HOST_SIDE else "cpu")
    draws = Draws(zlib.crc32(f"{whole_number('seed', seed, 0)} images".encode()), asked)
    due = list(zip(planned.before(count), planned.timeline(count), planned.after(count),
                   strict=True))  # fmt: skip
    classes = next((each.below for each in program.inputs if each.what == "labels"), 0)
    with outside_the_hook(), Meter(hook=place.hook()) as meter:
        loader = Loader(ring, count, int(buffers), place, meter, found, convert, draws)
        loader.skip, loader.pace, loader.classes = bad != REFUSE, pace, classes
        return _epoch(program, loader, due, augment, seed, settings)


def _check(step: Step, x: Tensor) -> None:
    if x.format.name not in FORMATS:
        raise InputError(
            f"images are converted to {' or '.join(FORMATS)}, and this step ({step.describe()}) "
            f"takes {x.format}; try memlab.training_step(network)."
        )


def _batches(found: Source, batch: int, most: int | None) -> int:
    full = len(found.files) // batch
    if not full:
        raise InputError(
            f"{shorten(str(found.folder))} holds {len(found.files):,} images, fewer than a batch "
            f"of {batch}; try batch={len(found.files)}."
        )
    return full if most is None else min(full, whole_number("batches", most))


def _epoch(
    program: Program, loader: Loader, due: Sequence[tuple[int, int, int]],
    augment: str, seed: int, settings: Mapping[str, float] | None,
) -> Fed:  # fmt: skip
    """Run it; whatever happens, threads end and memory is given back."""
    step, batch = program.step, program.batch
    losses, residual, peak = [], 0, 0
    with loader, Session(program, seed, settings=settings, meter=loader.meter) as session:
        with closing(loader.batches()) as given:
            for each in given:
                counts = session.step(each.x, each.labels)
                losses.append(float(np.mean(session.output)))
                gaps = (m - p for got, want in zip(counts, due, strict=True)
                        for m, p in zip(got, want, strict=True))  # fmt: skip
                residual = max(residual, *map(abs, gaps))
                peak = max(peak, max(inside for _, inside, _ in counts))
        peaks = {memory: loader.held(memory) for memory in (HOST, DEVICE)}
    places = (p.size.at(batch) for p in loader.ring.live_in if p.storage.memory == HOST)
    name = loader.place.name
    left = len(loader.source.files) - len(loader.skipped) - batch * len(losses)
    return Fed(
        step, loader.buffers, augment, name, loader.schedule(name), program.planned, peaks, peak,
        max(residual, abs(peaks[HOST] - sum(places))), loader.moved(), tuple(losses),
        tuple(loader.skipped), left, loader.source.passed,
    )  # fmt: skip


def kernel(format: str, device: str) -> Kernel:
    """What converts images; it is compiled here, before anything is measured."""
    found = registry.find(AUGMENT, "", device, format)
    if not devices.find(device).own_memory:
        small = {
            "x": np.zeros((1, 1, 1, 1), np.uint8),
            "y": np.zeros((1, 1, 1, 1), registry.DTYPES[format]),
        }
        found(KernelCall(small, settings={"crop": 0.0, "flip": 0.0, "mean": 0.0, "scale": 1.0}))
    return found
