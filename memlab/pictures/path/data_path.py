"""Data path from disk to device in seconds: batches in each station, and compute's waits.

Each batch has a letter. It is read from the disk into RAM, converted into pinned memory, copied
over the link to the device, and computed on. A ``Visit`` is a batch in one place of a station, from
the start of the operation that writes it there to the end of the last one that reads it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from string import ascii_uppercase
from typing import NamedTuple

from memlab import strings, units
from memlab.clocks.data_path import DECODED, JPEG, PathPlan, data_path
from memlab.clocks.streams import COMPUTE, TimedOperation, clock
from memlab.hardware import Device
from memlab.networks.graph import Network
from memlab.pictures.offload.streams import LITTLE, plain_step, short, speed
from memlab.pictures.values.cache import RecentResults
from memlab.pictures.values.number_text import SECONDS, duration
from memlab.step.storage import HOST
from memlab.step.tensor import Tensor

BUFFERS = (0, 1, 2, 4)
"""Numbers of places in pinned memory; 0 means one place and one thread for everything."""
FILES = ("raw", "jpeg")
"""Forms of the files: a byte for each value, or a JPEG for each image."""
BATCHES = len(ascii_uppercase)
KEPT = 32
"""Number of paths that are cached."""
RAM, PINNED, CARD = "ram", "pinned", "device"

Span = tuple[float, float]


class Job(NamedTuple):
    """One operation on a batch: read, convert or copy, link, or compute; times in seconds."""

    kind: str
    batch: int
    start: float
    end: float
    lane: str


class Visit(NamedTuple):
    """A batch in a place of a station: it fills from ``start`` to ``full`` and stays until ``end``.

    ``uses`` are the spans in which the device computes on it.
    """

    batch: int
    start: float
    full: float
    end: float
    uses: tuple[Span, ...]


class Filling(NamedTuple):
    """State of a place at a moment: its batch (None if empty) and the part of it that is there
    already.

    ``used`` is True while the device computes on it.
    """

    tensor: Tensor
    batch: int | None
    part: float
    used: bool


@dataclass(frozen=True, eq=False)
class DataPath:
    """Data path of a network's batches to a device; ``others`` has it for every number of buffers.

    ``rates`` are bytes per second of disk, host and link; ``augment`` names who converts images to
    fp32: ``'host'`` or ``'device'``. ``decode`` is the number of images that the workers decode per
    second, 0 where files are raw.
    """

    network: Network
    device: Device
    augment: str
    rates: Mapping[str, int]
    path: PathPlan
    others: Mapping[int, PathPlan]
    decode: int = 0

    # -- figures --------------------------------------------------------------------------------

    @property
    def buffers(self) -> int:
        """Number of places in pinned memory; 0 where one thread does everything in turn."""
        return self.path.buffers

    @property
    def batch(self) -> int:
        """Images of a mini-batch."""
        return self.path.batch

    @cached_property
    def jobs(self) -> list[Job]:
        """Operations on all batches, in the order of the schedule."""
        return [_job(slot) for slot in self.path.schedule.slots]

    @cached_property
    def by_batch(self) -> list[dict[str, Job]]:
        """Operations of each batch, by kind."""
        jobs_by_batch: list[dict[str, Job]] = [
            {} for _ in range(1 + max(job.batch for job in self.jobs))
        ]
        for job in self.jobs:
            jobs_by_batch[job.batch][job.kind] = job
        return jobs_by_batch

    @cached_property
    def events(self) -> list[float]:
        """Seconds at which an operation starts or ends, in order."""
        return sorted({round(end, 12) for job in self.jobs for end in (job.start, job.end)})

    @cached_property
    def stalls(self) -> list[tuple[int, float, float]]:
        """Waits of compute: the batch it waits for, start and end in seconds."""
        stalls, free = [], 0.0
        for job in self.jobs:
            if job.lane != COMPUTE:
                continue
            if job.start - free > 1e-12:
                stalls.append((job.batch, free, job.start))
            free = job.end
        return stalls

    @property
    def ceases(self) -> bool:
        """True if compute waits for the first batch alone."""
        after = sum(end - start for batch, start, end in self.stalls if batch)
        return after < LITTLE * self.jobs[-1].end

    @cached_property
    def visits(self) -> dict[Tensor, list[Visit]]:
        """Visits of batches to each place, one after the other."""
        slots: dict[Tensor, dict[int, list[TimedOperation]]] = {}
        for slot, job in zip(self.path.schedule.slots, self.jobs, strict=True):
            for tensor in slot.op.touched():
                slots.setdefault(tensor, {}).setdefault(job.batch, []).append(slot)
        return {
            tensor: [_visit(batch, jobs) for batch, jobs in by.items()]
            for tensor, by in slots.items()
        }

    def station(self, name: str) -> list[Tensor]:
        """Return the places of a station: ``'ram'``, ``'pinned'`` or ``'device'``."""
        return [tensor for tensor in self.visits if _where(tensor) == name]

    def reserved(self, name: str) -> int:
        """Return the bytes of all places of a station, full or empty."""
        return sum(tensor.storage.size.at(self.batch) for tensor in self.station(name))

    def held(self, name: str, moment: float) -> list[Filling]:
        """Return the state of each place of a station at a moment in seconds."""
        return [self._filling(tensor, moment) for tensor in self.station(name)]

    def _filling(self, tensor: Tensor, moment: float) -> Filling:
        """Return the state of a place at a moment."""
        second = moment + 1e-12
        for visit in self.visits[tensor]:
            if visit.start <= second < visit.end:
                part = min(1.0, (moment - visit.start) / max(visit.full - visit.start, 1e-15))
                used = any(start <= second < end for start, end in visit.uses)
                return Filling(tensor, visit.batch, max(part, 0.0), used)
        return Filling(tensor, None, 0.0, used=False)

    def waiting_on_disk(self, moment: float) -> list[int]:
        """Return the batches that are not read yet at a moment in seconds."""
        return [job.batch for job in self.jobs if job.kind == "read" and job.start > moment + 1e-12]

    def busy(self, moment: float) -> str:
        """Return the letter of the batch that the device computes on, or that it waits for."""
        works = (job for job in self.jobs if job.kind == "compute")
        return letter(next((j.batch for j in works if j.end > moment + 1e-12), 0))

    def waiting(self, moment: float) -> str:
        """Return a sentence on the wait of compute at a moment; empty where
        compute does not wait."""
        for batch, start, end in self.stalls:
            if start <= moment + 1e-12 < end:
                return text_of("wait", seconds=duration(end - start), batch=letter(batch))
        return ""

    # -- who is slow ----------------------------------------------------------------------------

    @property
    def seconds(self) -> dict[str, float]:
        """Seconds of each operation on a batch, by kind."""
        return {kind: job.end - job.start for kind, job in self.by_batch[0].items()}

    def rate(self, name: str) -> str:
        """Return the rate of ``'disk'``, ``'host'`` or ``'link'`` as text; decoding is counted in
        images."""
        if name == "host" and self.decode:
            return text_of("pipe.images", images=f"{self.decode:,}")
        return speed(self.rates[name])

    @property
    def pipes(self) -> list[str]:
        """Kinds of the operations between two stations: read, convert or copy, link."""
        return [kind for kind, job in self.by_batch[0].items() if job.lane != COMPUTE]

    @property
    def slowest(self) -> str:
        """Kind of the operation between two stations that takes a batch longest."""
        return max(self.pipes, key=self.seconds.__getitem__)

    @property
    def limit(self) -> str:
        """Part of the path that takes longer for a batch than compute does; empty where none does.

        It is the disk, the host that converts, the loader that does both, or the link.
        """
        seconds = self.seconds
        work = sum(seconds[kind] for kind in seconds if kind not in self.pipes)
        host = sum(seconds[kind] for kind in ("copy", "convert") if kind in self.pipes)
        limits = {"loader": seconds["read"] + host, "link": seconds["link"]}
        name = max(limits, key=limits.__getitem__)
        if limits[name] <= work * (1 + LITTLE):
            return ""
        alone = {"disk": seconds["read"], "host": host}
        worst = max(alone, key=alone.__getitem__)
        return worst if name == "loader" and alone[worst] > work else name

    @property
    def fewest(self) -> int:
        """Smallest number of buffers with the same displayed images per second."""
        rate = images(self.path)
        return min(count for count, other in self.others.items() if images(other) == rate)

    # -- said -----------------------------------------------------------------------------------

    @property
    def title(self) -> str:
        """Finding without the asterisks around its bold part."""
        return self.finding.replace("*", "")

    @property
    def finding(self) -> str:
        """Finding in one sentence, its bold part between asterisks."""
        now, none = images(self.path), images(self.others[0])
        values = {"many": text_of(f"many.{self.buffers}"), "now": now, "none": none,
                  "waits": percent(self.path.waits)}  # fmt: skip
        if not self.buffers:
            return text_of("title.none", **values)
        if self.limit:
            limit = "decode" if self.decode and self.limit == "host" else self.limit
            return text_of(f"title.slow_{limit}", **values)
        kind = "never" if self.ceases else "little"
        return text_of(f"title.{kind}{'' if now != none else '_alike'}", **values)

    @property
    def sentences(self) -> list[str]:
        if not self.buffers:
            kind = "decode" if self.decode and self.augment == "host" else self.augment
            return [text_of(f"see.none_{kind}", waits=percent(self.path.waits))]
        if self.limit:
            return [text_of("see.slow")]
        if not self.ceases:
            kind = f"one_{self.augment}" if self.buffers == 1 else "all"
            return [text_of(f"see.waits_{kind}")]
        return [self._price]

    @property
    def _price(self) -> str:
        """Sentence on the bytes of the buffers, and on whether fewer would do."""
        fewest = self.fewest
        if not fewest:
            return text_of("see.without")
        if fewest < self.buffers:
            less = units.short(_reserved(self.path) - _reserved(self.others[fewest]))
            return text_of("see.fewer", many=text_of(f"many.{fewest}"), bytes=less)
        if self.buffers == 1:
            return text_of("see.one")
        return text_of(f"see.more_{self.augment}", many=text_of(f"some.{self.buffers}"))

    @property
    def notes(self) -> list[str]:
        files = text_of(f"files.{'jpeg' if self.decode else 'raw'}")
        return [text_of("planned", network=self.network.title, batch=f"{self.batch:,}",
                    files=files, device=short(self.device))]  # fmt: skip

    def fact(self, batch: int) -> str:
        """Return a sentence on a batch: when it is read, on the device, and computed."""
        jobs = self.by_batch[batch]
        at = self.second
        return text_of("fact", read=at(jobs["read"].start), until=at(jobs["read"].end),
                   there=at(jobs["link"].end), end=at(jobs["compute"].end))  # fmt: skip

    def lines(self, moment: float) -> list[str]:
        """Return sentences on the settings, the rates, the bytes of the stations,
        and on a moment."""
        seconds, path = self.seconds, self.path
        return [
            text_of("twin.settings", network=self.network.title, batch=f"{self.batch:,}",
                buffers=self.buffers, device=short(self.device),
                augment=text_of(f"on.{self.augment}"),
                **{name: self.rate(name) for name in self.rates}),
            text_of("twin.rate", images=images(path), each=duration(path.seconds_each),
                works=duration(path.seconds_each * (1 - path.waits)), waits=percent(path.waits)),
            text_of("twin.stages", stages=", ".join(
                text_of(f"twin.{kind}", seconds=duration(seconds[kind])) for kind in seconds)),
            text_of("twin.bytes", **{name: " + ".join(self._places(name))
                                 for name in (RAM, PINNED, CARD)}),
            self.at(moment),
        ]  # fmt: skip

    def _places(self, name: str) -> list[str]:
        """Return the places of a station by size: ``'2 x 77,070,336'``."""
        sizes = [tensor.storage.size.at(self.batch) for tensor in self.station(name)]
        return [f"{sizes.count(size)} x {units.exact(size)}" for size in dict.fromkeys(sizes)]

    def at(self, moment: float) -> str:
        """Return a sentence on the batches in each station at a moment in seconds."""
        parts = []
        for name in (RAM, PINNED, CARD):
            here = [
                _named(filling) for filling in self.held(name, moment) if filling.batch is not None
            ]
            parts.append(
                text_of(f"here.{name}", batches=", ".join(here) or text_of("here.nothing"))
            )
        return text_of("here.at", moment=self.second(moment), parts="; ".join(parts))

    def second(self, moment: float) -> str:
        """Return a moment as text, in one unit for the whole path: ``'0.880 s'``."""
        unit = "s" if self.turn > 0.1 else "ms" if self.turn > 1e-4 else "µs"
        return f"{moment / SECONDS[unit]:,.3f} {unit}"

    @property
    def turn(self) -> float:
        """Seconds from one batch to the next where one thread does everything in turn.

        The number of buffers does not change it.
        """
        return self.others[0].seconds_each

    def table(self, until: float) -> tuple[list[str], list[list[str]]]:
        """Return heads and rows of the times of the batches that are read before the second
        ``until``."""
        waited = {batch: end - start for batch, start, end in self.stalls}
        kinds = list(self.seconds)
        heads = [
            text_of("head.batch"),
            *(text_of(f"head.{kind}") for kind in kinds),
            text_of("head.waited"),
        ]
        rows = []
        for batch, jobs in enumerate(self.by_batch):
            if jobs["read"].start < until:
                ends = [text_of("to", start=self.second(jobs[kind].start),
                            end=self.second(jobs[kind].end)) for kind in kinds]  # fmt: skip
                rows.append([letter(batch), *ends, self.second(waited.get(batch, 0.0))])
        return heads, rows


# -- how it is made -------------------------------------------------------------------------------


def data_path_of(
    network: Network, batch: int, buffers: int, augment: str, disk: int, host: int, link: int,
    device: Device, files: str = "raw", workers: int = 1,
) -> DataPath:  # fmt: skip
    """Return the data path of a network's batches, planned for every number of buffers.

    The step is trained by SGD, in place, its convolutions by implicit products. The last paths are
    cached, and so are the seconds of their steps.

    Args:
        network: network that reads images.
        batch: images of a mini-batch.
        buffers: places in pinned memory: 0, 1, 2 or 4.
        augment: ``'host'`` or ``'device'``, where images become fp32.
        disk: bytes per second that the disk reads.
        host: bytes per second that a worker reads and writes where files are raw.
        link: bytes per second between host and device.
        device: device that computes.
        files: ``'raw'``, or ``'jpeg'``: each worker decodes 500 images per second.
        workers: processes of the loader that convert or decode a batch together.

    Raises:
        InputError: a network that reads no images; a device without the figures that are needed.
    """
    decode = workers * DECODED if files == "jpeg" else 0
    inputs = (network, batch, augment, device, disk, workers * host, link, decode)
    paths = _PATHS.of(inputs, lambda: _paths(*inputs))
    rates = {"disk": disk, "host": workers * host, "link": link}
    if decode:
        written = paths[buffers].stations[2].nbytes // batch
        rates["host"] = decode * (JPEG + written)
    return DataPath(network, device, augment, rates, paths[buffers], paths, decode)


def _paths(
    network: Network, batch: int, augment: str, device: Device, disk: int, host: int, link: int,
    decode: int,
) -> dict[int, PathPlan]:  # fmt: skip
    """Return the planned path for each number of buffers."""
    step = plain_step(network, "sgd")
    inputs = (network, batch, device)
    seconds = {"compute": _SECONDS.of(inputs, lambda: clock(step, batch, device).seconds)}
    return {
        buffers: data_path(step, batch, buffers, augment, disk, host, link, device, BATCHES,
                           seconds, decode or None)
        for buffers in BUFFERS
    }  # fmt: skip


_PATHS, _SECONDS = RecentResults(KEPT), RecentResults(KEPT)


def _job(slot: TimedOperation) -> Job:
    """Return the operation of a slot, whose name ends with the number of its batch."""
    kind, _, batch = slot.op.name.rpartition(" ")
    return Job(kind, int(batch), slot.start, slot.end, slot.op.stream)


def _visit(batch: int, slots: list[TimedOperation]) -> Visit:
    """Return the visit of a batch to a place from the operations that touch it there."""
    uses = tuple((s.start, s.end) for s in slots if s.op.stream == COMPUTE)
    return Visit(batch, slots[0].start, slots[0].end, max(slot.end for slot in slots), uses)


def _reserved(path: PathPlan) -> int:
    """Return the bytes of all places of a path but those of the disk."""
    return sum(station.reserved for station in path.stations)


def _where(tensor: Tensor) -> str:
    """Return the name of the station that a place belongs to."""
    if tensor.storage.memory != HOST:
        return CARD
    return RAM if tensor.name.startswith("RAM") else PINNED


# -- words ----------------------------------------------------------------------------------------


def letter(batch: int) -> str:
    """Return the letter that names a batch: ``'A'``."""
    return ascii_uppercase[batch]


def images(path: PathPlan) -> str:
    """Return the images per second of a path as text: ``'514'``."""
    rate = path.images_per_second
    return f"{rate:,.0f}" if rate >= 99.5 else f"{rate:.3g}"


def percent(part: float) -> str:
    """Return a share in percent as text: ``'37'``, ``'2.5'``, ``'0'``."""
    if part < LITTLE:
        return "0"
    return f"{100 * part:.0f}" if part >= 0.0995 else f"{100 * part:.1f}"


def _named(filling: Filling) -> str:
    """Return the letter of a place's batch, with words if it is in use or partly there."""
    assert filling.batch is not None
    name = letter(filling.batch)
    if filling.used:
        return text_of("here.used", batch=name)
    return (
        name if filling.part >= 1 else text_of("here.part", batch=name, part=percent(filling.part))
    )


def text_of(key: str, **values: object) -> str:
    """Return a text of the data path by its key."""
    return strings.get(f"path.{key}", **values)
