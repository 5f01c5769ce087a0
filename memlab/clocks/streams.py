"""The clock of a step with streams: when every operation starts and ends, and who waits for whom.

Operations of one stream run one after the other, in the order of the step. One of another stream is
waited for where its result is read, or where ``after`` names it. An operation takes as long as the
roofline says (``clocks.roofline``), a copy between two memories as long as its bytes need on the
link. Copies and arithmetic share no bandwidth here: on a device, a copy takes a few percent of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby, pairwise
from typing import Any, NamedTuple

from memlab import hardware
from memlab.clocks import roofline
from memlab.clocks.roofline import Machine
from memlab.errors import InputError, known
from memlab.hardware import Device, Link
from memlab.step.lifetimes import BEFORE, Lifetime
from memlab.step.op import Op, Phase
from memlab.step.step import Step
from memlab.step.storage import DEVICE, MEMORIES, Storage
from memlab.step.tensor import Role, Tensor

COMPUTE, OUT, IN, DISK = STREAMS = ("compute", "copy out", "copy in", "disk")
"""The streams of a step: arithmetic, copies to the host, copies from it, reads from a disk."""


class TimedOperation(NamedTuple):
    """Operation with its start and end in seconds from the start of the step. ``stall`` is how long
    its stream waited for another stream before it."""

    op: Op
    start: float
    end: float
    stall: float

    @property
    def seconds(self) -> float:
        """Seconds that the operation takes."""
        return self.end - self.start


class Moment(NamedTuple):
    """Time from which a number of bytes is alive, until the next such time."""

    second: float
    nbytes: int


class Stay(NamedTuple):
    """Block of memory with the seconds from when to when it is alive, and in which operations use
    it. ``tensor`` is the first tensor in it."""

    tensor: Tensor
    nbytes: int
    start: float
    end: float
    uses: list[tuple[float, float]]


class IdleTime(NamedTuple):
    """Block of memory with the seconds that it is alive and the seconds that operations use it
    (C10)."""

    name: str
    nbytes: int
    alive: float
    used: float

    @property
    def share(self) -> float:
        """Share of its life in which no operation reads or writes the block."""
        return 1 - self.used / self.alive if self.alive else 0.0


@dataclass(frozen=True)
class Schedule:
    """Schedule of a step in seconds, for a batch size, on ``machine`` and with a ``link`` in bytes
    per second."""

    step: Step
    batch: int
    machine: str
    link: int | None
    slots: tuple[TimedOperation, ...]

    @property
    def seconds(self) -> float:
        """Seconds from the first operation to the last end of all streams."""
        return max(slot.end for slot in self.slots)

    def busy(self, stream: str = COMPUTE) -> float:
        """Return the seconds in which a stream works."""
        return sum(slot.seconds for slot in self.slots if slot.op.stream == stream)

    def stalled(self, stream: str = COMPUTE) -> float:
        """Return the seconds in which a stream waits for another stream before one of its own
        operations."""
        return sum(slot.stall for slot in self.slots if slot.op.stream == stream)

    def slot(self, name: str) -> TimedOperation:
        """Return the timed operation of that name.

        Raises:
            InputError: there is none.
        """
        return self.slots[self._numbers[known("operation", name, self._numbers)]]

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {slot.op.name: number for number, slot in enumerate(self.slots)}

    # -- bytes in seconds -----------------------------------------------------------------------

    def memory(self, memory: str = DEVICE, blocks: Collection[str] | None = None) -> list[Moment]:
        """Return the bytes alive in a memory, or in some of its blocks, from each time on at which
        they change.

        A block is taken when its first operation starts, and given back when the last operation
        that touches it has ended.

        Raises:
            InputError: no such memory.
        """
        known("memory", memory, MEMORIES)
        nbytes, moments = 0, [Moment(0.0, 0)]
        changes = sorted(self._changes(memory, blocks), key=lambda change: change[:3])
        for second, group in groupby(changes, key=lambda change: change[0]):
            most = nbytes
            for *_, change in group:
                nbytes += change
                most = max(most, nbytes)
            if most > nbytes:  # an operation that takes no time still holds its bytes
                moments.append(Moment(second, most))
            moments.append(Moment(second, nbytes))
        return moments

    def peak(self, memory: str = DEVICE, blocks: Collection[str] | None = None) -> int:
        """Return the most bytes that are alive at once in a memory, or in some of its blocks."""
        return max(moment.nbytes for moment in self.memory(memory, blocks))

    def average(self, memory: str = DEVICE, blocks: Collection[str] | None = None) -> float:
        """Return the bytes alive in a memory, or in some of its blocks, averaged over the seconds
        of the step."""
        moments = [*self.memory(memory, blocks), Moment(self.seconds, 0)]
        total = sum(one.nbytes * (other.second - one.second) for one, other in pairwise(moments))
        return total / self.seconds if self.seconds else float(moments[0].nbytes)

    def idle(self, *roles: Role) -> list[IdleTime]:
        """Seconds that each block of these roles is alive and in use, feature maps where no role is
        named; in the order of birth (C10)."""
        wanted = roles or (Role.FEATURE_MAP,)
        return [
            IdleTime(stay.tensor.name, stay.nbytes, stay.end - stay.start, covered(stay.uses))
            for stay in self.stays()
            if stay.tensor.role in wanted
        ]

    def stays(self, memory: str = DEVICE) -> list[Stay]:
        """Return the life of every block of a memory except workspaces, in the order of birth.

        Raises:
            InputError: no such memory.
        """
        known("memory", memory, MEMORIES)
        spans = self._spans()
        return [
            Stay(life.tensor, storage.size.at(self.batch), *self._span(life),
                 spans.get(storage.name, []))
            for life in self.step.lifetimes.values()
            if (storage := life.tensor.storage).memory == memory
        ]  # fmt: skip

    def idle_share(self, *roles: Role) -> float:
        """Return the idle byte-seconds of these roles as a share of all their
        byte-seconds (C10)."""
        rows = self.idle(*roles)
        whole_ = sum(row.nbytes * row.alive for row in rows)
        return 1 - sum(row.nbytes * row.used for row in rows) / whole_ if whole_ else 0.0

    @cached_property
    def _last(self) -> dict[str, int]:
        """Return, for each storage, the operation that touches it and ends last."""
        return {
            name: max(uses.all, key=lambda number: (self.slots[number].end, number))
            for name, uses in self.step.lifetimes.uses.items()
            if uses.all
        }

    def _spans(self) -> dict[str, list[tuple[float, float]]]:
        """Return, for each storage, the spans of seconds in which operations use it."""
        return {
            name: [(self.slots[number].start, self.slots[number].end) for number in uses.all]
            for name, uses in self.step.lifetimes.uses.items()
        }

    def _span(self, life: Lifetime) -> tuple[float, float]:
        """Return the first and the last second in which a block is alive."""
        start = 0.0 if life.birth == BEFORE else self.slots[life.birth].start
        if life.death >= len(self.slots):
            return start, self.seconds
        last = self._last.get(life.tensor.storage.name)
        return start, start if last is None else self.slots[last].end

    def _changes(
        self, memory: str, blocks: Collection[str] | None
    ) -> Iterator[tuple[float, int, int, int]]:
        """Yield the second, the operation, whether memory is freed, and the bytes, for every change
        of a memory."""
        for life in self.step.lifetimes.values():
            storage = life.tensor.storage
            if storage.memory == memory and (blocks is None or storage.name in blocks):
                size, (start, end) = storage.size.at(self.batch), self._span(life)
                yield start, life.birth, 0, size
                if life.death < len(self.slots):
                    yield end, self._last.get(storage.name, BEFORE), 1, -size
        for number, slot in enumerate(self.slots):
            for storage in _workspaces(slot.op, memory) if blocks is None else ():
                yield slot.start, number, 0, storage.size.at(self.batch)
                yield slot.end, number, 1, -storage.size.at(self.batch)

    # -- said -----------------------------------------------------------------------------------

    def as_dict(self) -> dict[str, Any]:
        """Return the seconds of the step and of its operations as plain values for JSON."""
        rows = [
            {"name": s.op.name, "stream": s.op.stream, "start": s.start, "end": s.end,
             "stall": s.stall}
            for s in self.slots
        ]  # fmt: skip
        return {
            "step": self.step.describe(), "batch": self.batch, "machine": self.machine,
            "link": self.link, "seconds": self.seconds, "stalled": self.stalled(),
            "operations": rows,
        }  # fmt: skip

    def __str__(self) -> str:
        lines = [f"{self.step.describe()}, batch {self.batch}, on {self.machine}"]
        lines.append(f"{self.seconds:.4g} s, of which compute waits {self.stalled():.4g} s")
        for stream in (OUT, IN, DISK):
            if self.busy(stream):
                lines.append(f"{stream}: {self.busy(stream):.4g} s")
        return "\n".join(lines)


def clock(
    step: Step,
    batch: int,
    device: str | Machine | None = None,
    link: str | float | Link | None = None,
    disk: str | float | None = None,
) -> Schedule:
    """Return the seconds at which every operation of a step starts and ends, at a batch.

    >>> step = memlab.training_step(memlab.zoo.resnet18())
    >>> print(f"{memlab.clock(step, 32, 'titan x').seconds:.3f} s")
    0.069 s

    Args:
        step: a step.
        batch: samples of a step.
        device: a machine by name (``memlab.hardware``, ``"recorded"``, ``"here"``). None: this one
            if ``memlab bench machine`` measured it, else the recorded one.
        link: the link between the memories of device and host (``"PCIe 3.0 x16"``, ``"12 GB/s"``).
            None: that of the device.
        disk: where maps wait in files, bytes per second at which they are written and read
            (``"0.5 GB/s"``): then one copy at a time is under way, either way, over the slower of
            link and disk.

    Raises:
        InputError: no step, or a batch that it does not hold for; a device without the figures
            that are needed; a step with copies and no link; an operation that waits for one which
            comes later or not at all.
    """
    if not getattr(step, "ops", ()):
        raise InputError("a clock is of a step; try memlab.clock(memlab.training_step(net), 32).")
    machine, batch = roofline.machine(device), step.held(batch)
    wire = _wire(step, machine, link, needed=disk is None)
    speed, ops = wire.speed if wire else None, step.ops
    if disk is not None:
        disk_speed = hardware.speed("disk", disk, "0.5 GB/s")
        speed = min(disk_speed, speed or disk_speed)
        ops = tuple(replace(op, stream=DISK) if op.phase is Phase.COPY else op for op in ops)
    seconds = [seconds_of(op, batch, machine, speed) for op in ops]
    return Schedule(step, batch, machine.title, speed, tuple(slots(ops, seconds)))


def slots(ops: tuple[Op, ...], seconds: list[float]) -> Iterator[TimedOperation]:
    """Yield the operations with their start and end, given the seconds that each takes.

    Raises:
        InputError: an operation waits for one which comes later or not at all.
    """
    free: dict[str, float] = {}
    ends: dict[str, float] = {}
    written: dict[str, float] = {}
    for op, duration in zip(ops, seconds, strict=True):
        ready = max(
            [_end(op, name, ends) for name in op.after]
            + [written.get(t.storage.name, 0.0) for t in op.touched()],
            default=0.0,
        )
        before = free.get(op.stream, 0.0)
        start = max(before, ready)
        yield TimedOperation(
            op, start, start + duration, start - before if op.stream in free else 0.0
        )
        free[op.stream] = ends[op.name] = start + duration
        for tensor in (*op.writes.values(), *op.updates.values()):
            written[tensor.storage.name] = start + duration


def _end(op: Op, name: str, ends: Mapping[str, float]) -> float:
    if name not in ends:
        raise InputError(f"{op.name} waits for {name!r}, which is no operation before it.")
    return ends[name]


def _wire(
    step: Step, machine: Machine, link: str | float | Link | None, needed: bool = True
) -> Link | None:
    """Return the link that carries the copies, or None where nothing is copied and no link is
    requested."""
    if link is not None:
        return hardware.link(link)
    wire = machine.link if isinstance(machine, Device) else None
    if wire is None and needed and any(op.phase is Phase.COPY for op in step.ops):
        whose = machine.name if isinstance(machine, Device) else machine.title
        raise InputError(
            f"this step copies between two memories, and no source gives the link of {whose}; "
            "try link='12 GB/s'."
        )
    return wire


def seconds_of(op: Op, batch: int, machine: Machine | None, link: int | None) -> float:
    """Seconds that an operation takes; a copy goes over a link of so many bytes per second.

    Raises:
        InputError: a device without a rate or a bandwidth.
    """
    if op.phase is Phase.COPY:
        assert link is not None
        moved = next(iter(op.reads.values())).storage.size.at(batch)
        return moved / link
    op = op if roofline.knows(op, machine) else replace(op, algorithm="")
    return roofline.seconds(op, batch, machine)


def _workspaces(op: Op, memory: str) -> list[Storage]:
    return [tensor.storage for tensor in op.workspace.values() if tensor.storage.memory == memory]


def covered(spans: list[tuple[float, float]]) -> float:
    """Return the seconds that at least one of these spans covers."""
    total, until = 0.0, 0.0
    for start, end in sorted(spans):
        total += max(0.0, end - max(start, until))
        until = max(until, end)
    return total
