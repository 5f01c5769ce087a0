"""Timeline of a step whose feature maps wait in host memory: copies, waits, and both memories.

The step without offload stands beside it. ``MemoryOverTime`` has the bytes of one memory by role
over time. ``Copy`` is one transfer of a map: the operation it starts with, how long it takes, and
how much of that compute hides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from memlab import optimizers, strings, units
from memlab.arrays import Column, Floats, bytes_by_part, column
from memlab.assemble.step import training_step
from memlab.clocks.streams import COMPUTE, IN, OUT, Schedule, TimedOperation, clock
from memlab.hardware import Device
from memlab.networks.graph import Network
from memlab.pictures.mountain.layers import MountainLayer, pile_over_time
from memlab.pictures.mountain.stack_parts import ROLES
from memlab.pictures.values.number_text import duration, three_digits
from memlab.pictures.values.study import Study
from memlab.step.op import Op, Phase
from memlab.step.step import Step
from memlab.step.storage import DEVICE, HOST
from memlab.step.tensor import Role, Tensor
from memlab.techniques.in_place import in_place
from memlab.techniques.offload import offload

ALGORITHM = "implicit-gemm"
"""Algorithm of convolutions without a workspace, so that the plan depends on the maps alone."""
SEARCHED = ("dynamic", "best")
"""Policies that search for maps within the budget."""
SLOW = 0.2
"""Share of the time that compute waits, from which the finding is about waiting."""
LITTLE = 0.0005
"""Share of the time below which the page shows none."""

Seconds = Floats
Span = tuple[float, float]


class Copy(NamedTuple):
    """One transfer of a feature map over the link, to the host (``out``) or back.

    ``under`` is the operation of compute with which it starts. ``hidden`` counts the seconds of the
    transfer in which compute works, ``waits`` those in which compute stands still. ``needed`` is
    the operation that reads the map next; empty on the way out.
    """

    name: str
    out: bool
    nbytes: int
    start: float
    end: float
    under: str
    hidden: float
    waits: float
    needed: str

    @property
    def seconds(self) -> float:
        """Seconds on the link."""
        return self.end - self.start


class HostSlab(NamedTuple):
    """A feature map in host memory, from the start of its copy out to the end of its copy back.

    ``low`` counts the bytes of the maps that went before it, which lie below it in the picture.
    """

    name: str
    nbytes: int
    start: float
    end: float
    low: int


@dataclass(frozen=True, eq=False)
class MemoryOverTime:
    """Bytes of one memory by role, between some seconds; the last second is the end of the step."""

    seconds: Seconds
    lines: dict[Role, Column]

    @cached_property
    def total(self) -> Column:
        """Bytes of all roles together, between each two seconds."""
        return sum(self.lines.values(), np.zeros(len(self.seconds) - 1, np.int64))

    def layers(self, last: float, count: int) -> list[MountainLayer[Role]]:
        """Return the bytes by role as layers over ``count`` columns of time, up to the second
        ``last``."""
        return pile_over_time(self.lines, self.seconds[1:] * (count / last), count)


@dataclass(frozen=True, eq=False)
class OffloadTimeline(Study):
    """Timeline of a step under an offload policy, with the plain step beside it.

    ``link`` is in bytes per second, ``budget`` in bytes of the device. ``plain`` and ``now`` are
    the schedules without and with offload.
    """

    network: Network
    optimizer: str
    policy: str
    device: Device
    link: int
    budget: int
    plain: Schedule
    now: Schedule

    # -- figures --------------------------------------------------------------------------------

    @property
    def batch(self) -> int:
        """Samples of the mini-batch."""
        return self.now.batch

    @cached_property
    def peak(self) -> int:
        """Peak bytes of device memory."""
        return self.now.peak()

    @cached_property
    def plain_peak(self) -> int:
        """Peak bytes of device memory of the step without offload."""
        return self.plain.peak()

    @cached_property
    def host(self) -> int:
        """Peak bytes of host memory."""
        return self.now.peak(HOST)

    @property
    def fits(self) -> bool:
        """True if the peak is within the budget."""
        return self.peak <= self.budget

    @property
    def card(self) -> str:
        """Budget in words: ``'12 GB'``."""
        return f"{self.budget / 1e9:.4g} GB"

    @property
    def longer(self) -> float:
        """Added time as a share of the plain step's time: 0.06 for 6 % more."""
        return self.now.seconds / self.plain.seconds - 1

    @property
    def waiting(self) -> float:
        """Share of the step's time for which compute stands still."""
        return self.now.stalled() / self.now.seconds

    @cached_property
    def waits(self) -> list[Span]:
        """Start and end in seconds of each wait of compute, in the order of time."""
        return [(s.start - s.stall, s.start) for s in self._slots_of(COMPUTE) if s.stall > 0]

    @cached_property
    def longest(self) -> list[Span]:
        """Waits of compute, the longest first."""
        return sorted(self.waits, key=lambda wait: wait[0] - wait[1])

    def wait(self, span: Span) -> tuple[str, str]:
        """Return the map whose copy ends with a wait, and a sentence on that wait."""
        copy = min(self.copies, key=lambda copy: abs(copy.end - span[1]))
        return copy.name, text_of(
            "wait", seconds=duration(span[1] - span[0]), name=copy.name,
            way=text_of("out" if copy.out else "back"), link=duration(copy.seconds),
            hidden=duration(copy.hidden), under=copy.under,
        )  # fmt: skip

    @cached_property
    def copies(self) -> list[Copy]:
        """Copies of every map, out and back, in the order of time."""
        copies = [self._copy(at) for at, s in enumerate(self.now.slots) if s.op.stream in (OUT, IN)]
        return sorted(copies, key=lambda copy: (copy.start, copy.end))

    @cached_property
    def slabs(self) -> list[HostSlab]:
        """Feature maps in host memory, those that went first at the bottom."""
        slabs, low = [], 0
        for stay in sorted(self.now.stays(HOST), key=lambda stay: stay.start):
            name = self._blocks[_base_name(stay.tensor)]
            slabs.append(HostSlab(name, stay.nbytes, stay.start, stay.end, low))
            low += stay.nbytes
        return slabs

    @property
    def nested(self) -> bool:
        """True if the map that went first comes back last, so that every map keeps its level."""
        ends = [slab.end for slab in self.slabs]
        return ends == sorted(ends, reverse=True)

    @cached_property
    def on_device(self) -> MemoryOverTime:
        """Device memory over time."""
        return memory_over_time(self.now, DEVICE)

    @cached_property
    def plain_on_device(self) -> MemoryOverTime:
        """Device memory over time of the step without offload."""
        return memory_over_time(self.plain, DEVICE)

    @cached_property
    def on_host(self) -> MemoryOverTime:
        """Host memory over time."""
        return memory_over_time(self.now, HOST)

    @cached_property
    def backward(self) -> float:
        """Second at which backward begins."""
        return next(s.start for s in self._slots_of(COMPUTE) if s.op.phase is Phase.BACKWARD)

    @property
    def at_peak(self) -> str:
        """Sentence on the peak: its operation, and the largest map that is back before it is
        needed."""
        second = float(self.on_device.seconds[int(self.on_device.total.argmax())])
        slots = self._slots_of(COMPUTE)
        under = next((s.op.name for s in slots if s.end > second), slots[-1].op.name)
        sentence = text_of("at_peak", bytes=three_digits(self.peak), under=under)
        starts = {slot.op.name: slot.start for slot in slots}
        early = [copy for copy in self.copies if not copy.out and copy.end <= second
                 and starts.get(copy.needed, 0.0) > second]  # fmt: skip
        if not early:
            return sentence
        most = max(early, key=lambda copy: copy.nbytes)
        return f"{sentence} " + text_of("early", name=most.name, bytes=three_digits(most.nbytes),
                                needed=most.needed)  # fmt: skip

    @cached_property
    def _blocks(self) -> dict[str, str]:
        """Name of the storage of each map that moves, by the map's base name.

        It stays the same where an operation in place renames the map.
        """
        moves = (slot.op for slot in self._slots_of(OUT))
        tensors = (next(iter(op.reads.values())) for op in moves)
        return {_base_name(tensor): tensor.storage.name for tensor in tensors}

    def _slots_of(self, stream: str) -> list[TimedOperation]:
        """Return the slots of one stream: compute, or copies in one direction."""
        return [slot for slot in self.now.slots if slot.op.stream == stream]

    def _copy(self, at: int) -> Copy:
        """Return the copy that a slot of the schedule stands for."""
        slot = self.now.slots[at]
        out = slot.op.stream == OUT
        tensor = next(iter((slot.op.reads if out else slot.op.writes).values()))
        nearest = range(at - 1, -1, -1) if out else range(at + 1, len(self.now.slots))
        under = next(self.now.slots[i].op for i in nearest if self._computes(i))
        needed = "" if out else self._reader(at, tensor.storage.name)
        busy = ((s.start, s.end) for s in self._slots_of(COMPUTE))
        return Copy(
            self._blocks[_base_name(tensor)], out, tensor.storage.size.at(self.batch),
            slot.start, slot.end, under.name, _overlap((slot.start, slot.end), busy),
            _overlap((slot.start, slot.end), self.waits), needed,
        )  # fmt: skip

    def _computes(self, at: int) -> bool:
        """Return whether a slot of the schedule computes."""
        return self.now.slots[at].op.stream == COMPUTE

    def _reader(self, at: int, storage: str) -> str:
        """Return the name of the first operation after a slot that reads a storage; empty without
        one."""
        later = (slot.op for slot in self.now.slots[at + 1 :])
        return next((op.name for op in later if storage in _storages_read(op)), "")

    # -- said -----------------------------------------------------------------------------------

    @property
    def title(self) -> str:
        """Finding without the asterisks around its bold part."""
        return self.finding.replace("*", "")

    @property
    def finding(self) -> str:
        """Finding in one sentence, its bold part between asterisks."""
        fits = "fits" if self.fits else "over"
        if not self.copies:
            return text_of(f"title.none_{fits}")
        if self.waiting > SLOW:
            return text_of(f"title.slow_{fits}", share=round(100 * self.waiting))
        kind = f"free_{fits}" if self.longer < LITTLE else fits
        host = three_digits(self.host)
        return text_of(f"title.{kind}", host=host, longer=percent(self.longer))

    @property
    def sentences(self) -> list[str]:
        if not self.copies:
            return [text_of("see.none")]
        longest = max(self.copies, key=lambda copy: copy.waits)
        if longest.waits < LITTLE * self.now.seconds:
            return [text_of("see.hidden")]
        return [text_of("see.waits", name=longest.name)]

    @property
    def notes(self) -> list[str]:
        return [
            text_of("planned", network=self.network.title, batch=f"{self.batch:,}",
                optimizer=optimizers.title(self.optimizer), device=short(self.device))
        ]  # fmt: skip

    def fact(self, name: str) -> str:
        """Return a sentence on a map: its copy out and its copy back."""
        out, back = (self._copy_of(name, out) for out in (True, False))
        return text_of(
            "copy", name=name, bytes=three_digits(out.nbytes), under=out.under,
            link=duration(out.seconds), hidden=duration(out.hidden),
            back=back.under, needed=back.needed,
        )  # fmt: skip

    def _copy_of(self, name: str, out: bool) -> Copy:
        """Return the copy of a map, out or back."""
        return next(copy for copy in self.copies if copy.name == name and copy.out is out)

    def lines(self) -> list[str]:
        """Return sentences on peaks, averages, budget and seconds, and on the two longest waits."""
        plain, now = self.plain, self.now
        lines = [text_of("twin.memory", peak=three_digits(self.peak),
                     plain=three_digits(self.plain_peak),
                     average=three_digits(round(now.average())),
                     before=three_digits(round(plain.average())),
                     host=three_digits(self.host)),
                 text_of("twin.budget", budget=self.card, exact=units.exact(self.budget),
                     left=units.exact(abs(self.budget - self.peak)),
                     how=text_of("left" if self.fits else "missing"))]  # fmt: skip
        late = sum(copy.waits > 0 for copy in self.copies)
        lines.append(
            text_of("twin.time", seconds=duration(now.seconds), longer=percent(self.longer),
                plain=duration(plain.seconds), stalled=_seconds(now.stalled()), late=late,
                copies=len(self.copies), link=speed(self.link))
        )  # fmt: skip
        lines += [self.wait(span)[1] for span in self.longest[:2]]
        return lines

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return the heads and the rows of a table with one row for every copy."""
        heads = [text_of(f"head.{name}") for name in
                 ("map", "bytes", "way", "under", "link", "hidden", "waits", "needed")]  # fmt: skip
        return heads, [
            [copy.name, three_digits(copy.nbytes), text_of("out" if copy.out else "back"),
             copy.under,
             duration(copy.seconds), _seconds(copy.hidden), _seconds(copy.waits), copy.needed]
            for copy in self.copies
        ]  # fmt: skip


# -- how it is made -------------------------------------------------------------------------------


def offloaded(
    network: Network, batch: int, policy: str, link: int, device: Device, optimizer: str,
    budget: int,
) -> OffloadTimeline:  # fmt: skip
    """Return the timeline of a step under an offload policy, beside the plain one, both in place.

    Args:
        network: network to train.
        batch: samples of the mini-batch.
        policy: ``'none'``, or a policy of ``memlab.offload``.
        link: bytes per second between both memories.
        device: device whose figures time the operations.
        optimizer: name of an optimizer.
        budget: bytes of the device, for policies that search.

    Raises:
        InputError: an unknown policy or optimizer; a device without the figures that are needed; a
            budget below the least peak, where the policy asks for one.
    """
    plain = now = clock(plain_step(network, optimizer), batch, device)
    if policy in SEARCHED:
        step = offload(
            built_step(network, optimizer), policy, algorithms="m", batch=batch, budget=budget,
            device=device, link=link, in_place=True,
        )  # fmt: skip
        now = clock(in_place(step), batch, device, link)
    elif policy != "none":
        now = clock(_step(network, optimizer, policy), batch, device, link)
    return OffloadTimeline(network, optimizer, policy, device, link, budget, plain, now)


def plain_step(network: Network, optimizer: str) -> Step:
    """Return the training step without offload, in place; its convolutions have no workspace."""
    return _step(network, optimizer, "none")


@lru_cache(maxsize=8)
def _step(network: Network, optimizer: str, policy: str) -> Step:
    """Return the training step under a static policy, in place."""
    return in_place(offload(built_step(network, optimizer), policy))


@lru_cache(maxsize=8)
def built_step(network: Network, optimizer: str) -> Step:
    """Return the training step as it is built, not in place; its convolutions have no workspace."""
    return training_step(network, optimizer, algorithm=ALGORITHM)


# -- bytes in seconds ------------------------------------------------------------------------------


def memory_over_time(schedule: Schedule, memory: str) -> MemoryOverTime:
    """Return the bytes of a memory by role over time; at each second, after everything that changes
    then."""
    blocks = [*_blocks(schedule, memory)]
    roles, sizes, starts, ends = zip(*blocks, strict=True) if blocks else ((), (), (), ())
    seconds = np.unique([0.0, schedule.seconds, *starts, *ends])
    births, deaths = np.searchsorted(seconds, starts), np.searchsorted(seconds, ends) - 1
    lines = bytes_by_part(roles, column(sizes), births, deaths, len(seconds) - 1)
    return MemoryOverTime(seconds, {role: lines[role] for role in ROLES if role in lines})


def _blocks(schedule: Schedule, memory: str) -> Iterator[tuple[Role, int, float, float]]:
    """Yield role, bytes, first and last second of every block of a memory, workspaces too."""
    for stay in schedule.stays(memory):
        yield stay.tensor.role, stay.nbytes, stay.start, stay.end
    for slot in schedule.slots:
        for tensor in slot.op.workspace.values():
            if tensor.storage.memory == memory:
                size = tensor.storage.size.at(schedule.batch)
                yield Role.WORKSPACE, size, slot.start, slot.end


def _base_name(tensor: Tensor) -> str:
    """Return the name of a map without the words that tell in which memory a copy of it is."""
    return tensor.name.removesuffix(" on the host").removesuffix(" back")


def _overlap(span: Span, others: Iterator[Span] | Sequence[Span]) -> float:
    """Return the seconds of a span that lie in other spans, which do not overlap each other."""
    return sum(max(0.0, min(span[1], end) - max(span[0], start)) for start, end in others)


def _storages_read(op: Op) -> set[str]:
    """Return the names of the storages that an operation reads or updates."""
    return {tensor.storage.name for tensor in (*op.reads.values(), *op.updates.values())}


# -- words ----------------------------------------------------------------------------------------


def short(device: Device) -> str:
    """Return a device's title without its year, and without words that many titles share."""
    return device.model.removeprefix("GeForce ").removeprefix("GTX ")


def speed(link: int) -> str:
    """Return a rate in bytes per second as text: ``'12 GB/s'``."""
    return f"{link / 1e9:.12g} GB/s"


def _seconds(value: float) -> str:
    """Return a duration as text, 0 s below a nanosecond."""
    return duration(value) if value >= 1e-9 else "0 s"


def percent(part: float) -> str:
    """Return a share in percent: ``'6'``, and with one decimal below one percent: ``'0.4'``."""
    return f"{100 * part:.0f}" if part >= 0.01 else f"{100 * part:.1f}"


def text_of(key: str, **values: object) -> str:
    """Return a text of the offload picture by its key."""
    return strings.get(f"offload.{key}", **values)
