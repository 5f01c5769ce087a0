"""The data path: images from a disk through RAM and pinned memory to the device, as a plan.

A loader reads the next batches while the device computes. With n buffers there are n places in
pinned memory, and from 2 on a second one on the device; without a buffer one thread does everything
in turn. A place is used again once it is empty: an operation that fills it waits for the one that
empties it (``Op.after``). So the path is a step whose operations lie in streams, and
``clocks.streams`` says when each of them starts.

>>> step = memlab.training_step(memlab.zoo.alexnet())
>>> path = memlab.data_path(step, 128, disk="0.15 GB/s", link="12 GB/s", device="titan x")
>>> print(f"{path.images_per_second:.0f} images/s, of which compute waits {path.waits:.0%}")
927 images/s, of which compute waits 34%
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from memlab import hardware, units
from memlab.axes import BATCH
from memlab.clocks import roofline, streams
from memlab.clocks.roofline import Machine
from memlab.clocks.streams import COMPUTE, DISK, IN, Schedule, TimedOperation, slots
from memlab.errors import InputError, known, real_number, shorten, whole_number
from memlab.formats import FORMATS
from memlab.hardware import Device, Link
from memlab.step import tensor
from memlab.step.op import LOAD, Op, Phase
from memlab.step.paused_gc import paused
from memlab.step.step import Step
from memlab.step.storage import DEVICE, HOST, Size
from memlab.step.tensor import Role, Tensor

HOST_SIDE, DEVICE_SIDE = SIDES = ("host", "device")
"""Places at which images are augmented and become fp32."""
READ, COPY, CONVERT, LINK, TRAIN = PARTS = ("read", "copy", "convert", "link", "compute")
"""Stages that a batch passes. The loader copies only where it does not convert."""
AUGMENT = "augment"
"""The kind of an operation that converts."""
RAW = FORMATS["uint8"]
JPEG = 115_000
"""Bytes of an image's file: the mean of ImageNet, 147,897,477,120 B of 1,281,167 images."""
DECODED = 500
"""Images per second that a worker decodes: one thread of Pillow decodes 360 to 726 images of
ImageNet a second (arXiv 2605.08731, five processors)."""
MOST = 64
"""The most buffers, and ..."""
LONGEST = 10_000
"""... the most batches of a plan."""


def counted(buffers: int) -> str:
    """Return ``'no buffer'``, ``'1 buffer'`` or ``'2 buffers'``."""
    return f"{buffers or 'no'} buffer{'s' * (buffers > 1)}"


def images_of(step: Step) -> Tensor:
    """Return the input of a step whose samples are images, of shape (B, C, H, W).

    Raises:
        InputError: no step, or one with another input.
    """
    if not isinstance(step, Step):
        raise InputError(
            f"a data path feeds a step, got {shorten(step)}; try "
            "memlab.data_path(memlab.training_step(net), 128, link='12 GB/s')."
        )
    inputs = [t for t in step.live_in if t.role is Role.INPUT]
    if not inputs or len(inputs[0].axes) != 4 or inputs[0].format.kind != "float":
        raise InputError(
            f"a data path is of images (C, H, W), and {step.label or 'this step'} takes none; try "
            "memlab.zoo.googlenet()."
        )
    if any(op.kind == LOAD for op in step.ops):
        raise InputError(
            "a data path feeds a whole batch, and this step takes its batch in parts; try it "
            "before memlab.accumulate."
        )
    return inputs[0]


def operations(
    step: Step,
    batch: int,
    buffers: int = 2,
    augment: str = HOST_SIDE,
    batches: int = 12,
    jpeg: bool = False,
) -> Step:
    """Return the path as a step without seconds: the operations of all batches, one batch after
    another, each with the stream in which it runs. Arguments are those of ``data_path``; with
    ``jpeg`` the files have to be decoded.

    Raises:
        InputError: as ``data_path``.
    """
    x, held = images_of(step), step.held(batch)
    count = whole_number("buffers", buffers, least=0, most=MOST)
    known("side to augment on", augment, SIDES)
    number = whole_number("batches", batches, most=LONGEST)
    ring = _Ring(x, count, augment == DEVICE_SIDE, jpeg, _work(step))
    note = f"fed through {counted(count)}, augmented on the {augment}"
    return Step(
        tuple(op for index in range(number) for op in ring.batch(index)),
        ring.places,
        ring.places,
        network=step.network,
        label=step.label,
        format=step.format,
        training=step.training,
        notes=(note,),
        batches=range(held, held + 1),
    )


def _work(step: Step) -> tuple[Size, Size]:
    """Return the operations of arithmetic and the bytes moved in a whole step."""
    flops = sum((op.flops for op in step.ops), Size())
    return flops, sum((op.bytes_moved for op in step.ops), Size())


class _Ring:
    """Buffers of a path, and the operations that fill and empty them in turn."""

    def __init__(
        self, x: Tensor, buffers: int, late: bool, jpeg: bool, work: tuple[Size, Size]
    ) -> None:
        self.buffers, self.late, self.work = buffers, late, work
        self.values = x.size
        self.ram = [self._file("RAM 0") if jpeg else self._place("RAM 0", x, HOST, raw=True)]
        count = max(buffers, 1)
        self.pinned = [self._place(f"pinned {n}", x, HOST, raw=late) for n in range(count)]
        self.arrived = [self._place("device uint8 0", x, DEVICE, raw=True)] if late else []
        here = 2 if buffers > 1 and not late else 1
        self.device = [self._place(f"device {n}", x, DEVICE, raw=False) for n in range(here)]

    @property
    def places(self) -> tuple[Tensor, ...]:
        """Return all buffers. They exist before the first batch and after the last."""
        return (*self.ram, *self.pinned, *self.arrived, *self.device)

    def batch(self, number: int) -> Iterator[Op]:
        """Yield the stages that a batch passes, in order."""
        ram, pinned = self.ram[0], self._of(self.pinned, number)
        device = self._of(self.device, number)
        yield self._read(number, ram)
        first = COPY if self.late else CONVERT
        yield self._moved(first, number, ram, pinned, DISK)
        yield self._sent(number, pinned)
        if self.late:
            yield self._moved(CONVERT, number, self.arrived[0], device, COMPUTE)
        flops, moved = self.work
        yield Op(
            f"{TRAIN} {number}", TRAIN, Phase.FORWARD, {"x": device}, flops=flops,
            bytes_moved=moved, stream=COMPUTE, after=(f"{LINK} {number}",),
        )  # fmt: skip

    def _read(self, number: int, ram: Tensor) -> Op:
        """Return the operation that reads a batch from the disk. It first takes an empty buffer:
        the one that the link emptied or, without extra buffers, the only one, once the whole
        batch is done."""
        after = self._after(LINK, number - self.buffers) if self.buffers else ()
        if not self.buffers:
            after = self._after(TRAIN, number - 1)
        return Op(f"{READ} {number}", READ, Phase.FORWARD, writes={"y": ram},
                  bytes_moved=ram.size, stream=DISK, after=after)  # fmt: skip

    def _moved(self, part: str, number: int, x: Tensor, y: Tensor, stream: str) -> Op:
        """Return the operation that moves a batch between two buffers of the same memory, either
        unchanged or converted to the format of the step."""
        kind = AUGMENT if part == CONVERT else COPY
        return Op(f"{part} {number}", kind, Phase.FORWARD, {"x": x}, {"y": y},
                  bytes_moved=x.size + y.size, stream=stream)  # fmt: skip

    def _sent(self, number: int, pinned: Tensor) -> Op:
        """Return the operation that sends a batch over the link. The input of a step lives until
        the end of the step, and its buffer is free only then; raw bytes free theirs as soon as
        they are converted."""
        there = self.arrived or self.device
        frees = CONVERT if self.late else TRAIN
        return Op(f"{LINK} {number}", "copy in", Phase.COPY, {"x": pinned},
                  {"y": self._of(there, number)}, bytes_moved=2 * pinned.size, stream=IN,
                  after=self._after(frees, number - len(there)))  # fmt: skip

    @staticmethod
    def _after(part: str, number: int) -> tuple[str, ...]:
        return (f"{part} {number}",) if number >= 0 else ()

    @staticmethod
    def _of(places: list[Tensor], number: int) -> Tensor:
        return places[number % len(places)]

    @staticmethod
    def _file(name: str) -> Tensor:
        return tensor.new(name, (BATCH, ("JPEG", JPEG)), RAW, Role.INPUT, HOST)

    @staticmethod
    def _place(name: str, x: Tensor, memory: str, raw: bool) -> Tensor:
        format = RAW if raw else x.format
        return tensor.new(name, (BATCH, *x.axes[1:]), format, Role.INPUT, memory)


# -- its seconds --------------------------------------------------------------------------------


FOREVER = 1e100
"""The seconds of a part are fewer: what follows from them is still in the range of floats."""


class Station(NamedTuple):
    """Station of the data path in which images wait: ``places`` of ``nbytes`` each, in one of
    memlab's memories and in a number format. ``rate`` are the bytes per second that leave it, 0
    where the images are computed with."""

    name: str
    memory: str
    format: str
    places: int
    nbytes: int
    rate: int

    @property
    def reserved(self) -> int:
        """Return the bytes of all buffers of the station, full or not."""
        return self.places * self.nbytes


class Moves(NamedTuple):
    """Bytes that a mini-batch moves: read from the disk, written in RAM (pinned memory is RAM too),
    sent over the link, and written on the device (A12)."""

    disk: int
    ram: int
    link: int
    device: int


class Paced:
    """Pace of a data path by its schedule, planned or measured. The first batch, which is always
    awaited, is left out."""

    schedule: Schedule

    @property
    def batch(self) -> int:
        """Number of images in a batch."""
        return self.schedule.batch

    @property
    def seconds_each(self) -> float:
        """Seconds from one batch to the next; for a single batch, the seconds that it takes."""
        first, last = self._ends[0], self._ends[-1]
        return (last - first) / (len(self._ends) - 1) if last > first else last

    @property
    def images_per_second(self) -> float:
        """Images per second that the step trains with."""
        return self.batch / self.seconds_each

    @property
    def stalled(self) -> float:
        """Seconds in which compute waits for images."""
        return sum(slot.stall for slot in self._later)

    @property
    def waits(self) -> float:
        """Share of the time in which compute waits for images."""
        first, last = self._ends[0], self._ends[-1]
        return self.stalled / (last - first) if last > first else 0.0

    @cached_property
    def _computed(self) -> list[int]:
        """Indices of the operations that compute a step."""
        return [n for n, slot in enumerate(self.schedule.slots) if slot.op.kind == TRAIN]

    @cached_property
    def _ends(self) -> list[float]:
        return [self.schedule.slots[number].end for number in self._computed]

    @property
    def _later(self) -> Iterator[TimedOperation]:
        """Operations of compute after the first batch."""
        later = self.schedule.slots[self._computed[0] + 1 :]
        return (slot for slot in later if slot.op.stream == COMPUTE)


@dataclass(frozen=True)
class PathPlan(Paced):
    """Plan of the path of images, for a batch size and a number of ``buffers``.

    ``step`` are its operations, whose plan has the bytes of every buffer; ``schedule`` says when
    each of them starts. ``parts`` are the seconds of each part for one batch.
    """

    title: str
    buffers: int
    augment: str
    stations: tuple[Station, ...]
    parts: Mapping[str, float]
    schedule: Schedule

    @property
    def step(self) -> Step:
        """Return the operations of the path. Every buffer is a tensor with the role input, in its
        own memory."""
        return self.schedule.step

    @property
    def compute(self) -> float:
        """Seconds of one training step."""
        return self.parts[TRAIN]

    def batch_moves(self) -> Moves:
        """Bytes that move for one batch."""
        return self._moves(self.batch)

    def epoch_moves(self, images: int) -> Moves:
        """Return the bytes that move for ``images`` images.

        Raises:
            InputError: no whole number of at least 1.
        """
        return self._moves(whole_number("images", images))

    def _moves(self, images: int) -> Moves:
        disk, ram, pinned, *there = (station.nbytes // self.batch for station in self.stations)
        return Moves(disk * images, (ram + pinned) * images, pinned * images, sum(there) * images)

    def as_dict(self) -> dict[str, Any]:
        """Return the plan as plain values for JSON."""
        return {
            "step": self.title, "batch": self.batch, "machine": self.schedule.machine,
            "buffers": self.buffers, "augment": self.augment,
            "images_per_second": self.images_per_second, "seconds_each": self.seconds_each,
            "waits": self.waits, "seconds": dict(self.parts),
            "stations": [{**station._asdict(),
            "reserved": station.reserved} for station in self.stations],
            "batch_bytes": self.batch_moves()._asdict(),
        }  # fmt: skip

    def __str__(self) -> str:
        lines = [
            f"{self.title}, batch {self.batch}, {counted(self.buffers)}, on "
            f"{self.schedule.machine}, planned",
            f"{self.images_per_second:,.0f} images/s: a batch every {self.seconds_each:.4g} s, of "
            f"which compute waits {self.waits:.1%}",
            "seconds a batch: " + ", ".join(f"{n} {s:.4g}" for n, s in self.parts.items()),
        ]
        for station in self.stations[1:]:
            lines.append(
                f"{station.name:13} {station.places} x {units.exact(station.nbytes):>18}, "
                f"{station.format}"
            )
        return "\n".join(lines)


@paused()
def data_path(
    step: Step,
    batch: int,
    buffers: int = 2,
    augment: str = HOST_SIDE,
    disk: str | float = "0.15 GB/s",
    host: str | float = "10 GB/s",
    link: str | float | Link | None = None,
    device: str | Machine | None = None,
    batches: int = 12,
    seconds: Mapping[str, float] | None = None,
    decode: float | None = None,
) -> PathPlan:
    """Plan the way of a step's images from a disk to the device, in bytes and in seconds.

    >>> step = memlab.training_step(memlab.zoo.resnet18())
    >>> path = memlab.data_path(step, 32, device="titan x", link="12 GB/s")
    >>> print(f"{path.images_per_second:.0f} images/s")
    461 images/s

    Files hold raw values, one byte each, or with ``decode`` a JPEG of 115 kB for each image. With
    ``augment="host"`` the loader converts them, pinned memory and link carry the step's own format;
    with ``"device"`` they carry bytes, and a kernel of the device converts before every step (B7).

    Args:
        step: a step whose input are images.
        batch: images in a batch.
        buffers: batches that may wait in pinned memory; 0: one thread does everything in turn.
        disk: bytes per second that the disk reads, as a number or ``'0.15 GB/s'``.
        host: bytes per second that the loader's thread reads and writes together.
        link: between RAM and the device, as in ``memlab.clock``; on a processor by itself, a copy
            in its own memory.
        device: the machine that computes, as in ``memlab.clock``.
        batches: how many are planned, of which the first is left out of what is said of time.
        seconds: those of some parts (``PARTS``) for one batch, where they are known: measured ones
            count instead of what follows from the rates.
        decode: images per second that all workers of the loader decode from JPEG, together, and
            convert; None where files are raw.

    Raises:
        InputError: no step, or one without images; a batch that it does not hold for; a rate at
            which nothing moves; no link; an unknown side or part; parts that take no time at all.
    """
    count = whole_number("batches", batches, least=2)
    ring = operations(step, batch, buffers, augment, count, decode is not None)
    batch, machine = step.held(batch), roofline.machine(device)
    speeds = {
        READ: hardware.speed("disk", disk, "0.15 GB/s"),
        CONVERT: hardware.speed("host", host, "10 GB/s"),
        LINK: _link(link, machine),
    }
    known_seconds = _decoding(decode, batch, augment) | _given(seconds)
    parts = dict(_seconds(ring, step, batch, speeds, machine, known_seconds))
    if not any(parts.values()):
        raise InputError("a data path whose parts take no time at all has no pace; try "
                         "seconds={'compute': 0.25}.")  # fmt: skip
    timed_operations = slots(ring.ops, [parts[op.name.split()[0]] for op in ring.ops])
    schedule = Schedule(ring, batch, machine.title, speeds[LINK], tuple(timed_operations))
    stations = tuple(_stations(ring, batch, speeds))
    return PathPlan(step.describe(), int(buffers), augment, stations, parts, schedule)


def _link(given: str | float | Link | None, machine: Machine) -> int:
    if given is not None:
        return hardware.link(given).speed
    if not isinstance(machine, Device):
        return int(machine.bandwidth / 2)  # every byte is read and written
    if machine.link is None:
        raise InputError(
            f"no source gives the link of {machine.name}, over which images come; try "
            "link='12 GB/s'."
        )
    return machine.link.speed


def _decoding(decode: float | None, batch: int, augment: str) -> dict[str, float]:
    """Return the seconds in which the workers decode a batch; nothing for raw files."""
    if decode is None:
        return {}
    rate = real_number("decode, in images per second,", decode, DECODED, above=0.0)
    return {CONVERT if augment == HOST_SIDE else COPY: batch / rate}


def _given(seconds: Mapping[str, float] | None) -> dict[str, float]:
    if seconds is None:
        return {}
    if not isinstance(seconds, Mapping):
        raise InputError(
            f"seconds are those of parts by name, got {shorten(seconds)}; try {{'compute': 0.25}}."
        )
    return {
        known("part of the data path", name, PARTS): real_number(
            f"seconds of {name}", duration, 0.25, 0.0, below=FOREVER
        )
        for name, duration in seconds.items()
    }


def _seconds(
    ring: Step,
    step: Step,
    batch: int,
    speeds: Mapping[str, int],
    machine: Machine,
    given: Mapping[str, float],
) -> Iterator[tuple[str, float]]:
    """Seconds that each part of a batch takes, in the order of the path."""
    first = [op for op in ring.ops if op.name.endswith(" 0")]
    for op in first:
        part = op.name.split()[0]
        if part in given:
            yield part, given[part]
        elif part == TRAIN:
            yield part, _computing(step, batch, machine, speeds[LINK])
        elif op.stream == COMPUTE:
            yield part, roofline.seconds(op, batch, machine)
        else:
            moved = op.reads["x"].size if part == LINK else op.bytes_moved
            rate = speeds[READ if part == READ else LINK if part == LINK else CONVERT]
            yield part, moved.at(batch) / rate


def _computing(step: Step, batch: int, machine: Machine, link: int) -> float:
    """Return the seconds of one step. A step that copies between memories is timed with its own
    streams."""
    if any(op.phase is Phase.COPY for op in step.ops):
        return streams.clock(step, batch, machine, link).seconds
    return sum(streams.seconds_of(op, batch, machine, link) for op in step.ops)


def _stations(ring: Step, batch: int, speeds: Mapping[str, int]) -> Iterator[Station]:
    """Yield the stations of the path: the disk, RAM, pinned memory, and the device in one or two
    formats."""
    rooms: dict[tuple[str, str], list[Tensor]] = {}
    for place in ring.live_in:
        name = place.name.rstrip("0123456789 ")
        rooms.setdefault((name, place.format.name), []).append(place)
    (ram, *_), *_ = rooms.values()
    files = "JPEG" if ram.axes[-1][0] == "JPEG" else RAW.name
    yield Station("disk", "disk", files, 0, ram.size.at(batch), speeds[READ])
    known_ = {"RAM": ("RAM", speeds[CONVERT]), "pinned": ("pinned memory", speeds[LINK])}
    for (name, format), places in rooms.items():
        title, rate = known_.get(name, ("device", 0))
        memory, nbytes = places[0].storage.memory, places[0].size.at(batch)
        yield Station(title, memory, files if name == "RAM" else format, len(places), nbytes, rate)
