"""The feature maps of a step in seconds: alive from when to when, in use when, idle for how long.

A map is in use while an operation reads or writes it. Its area, bytes times seconds, is in use or
idle, and the share that is idle is one number for all maps (claim C10).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from memlab import optimizers, strings
from memlab.clocks.streams import COMPUTE, Schedule, Slot, Stay, clock
from memlab.hardware import Device
from memlab.networks.graph import Network
from memlab.pictures.offload.streams import plain_step, short
from memlab.pictures.values.number_text import columns, duration, share, three
from memlab.pictures.values.study import Study
from memlab.step.op import Phase
from memlab.step.tensor import Role

LITTLE = 0.2
"""A share that is idle, below which the maps are in use nearly all the time."""
SGD = "sgd"
"""Its states are no maps, so another optimizer has the same."""


class Row(NamedTuple):
    """A map: ``used`` are the seconds in which operations read or write it, joined where they
    meet; ``reads`` is the operation of backward that reads it first, empty where none does."""

    name: str
    nbytes: int
    start: float
    end: float
    used: list[tuple[float, float]]
    reads: str

    @property
    def gaps(self) -> list[tuple[float, float]]:
        """The seconds in which nothing does."""
        edges = [self.start, *(second for span in self.used for second in span), self.end]
        spans = zip(edges[::2], edges[1::2], strict=True)
        return [(start, end) for start, end in spans if end > start]

    @property
    def alive(self) -> float:
        """Seconds."""
        return self.end - self.start

    @property
    def in_use(self) -> float:
        """Seconds."""
        return sum(end - start for start, end in self.used)

    @property
    def idle(self) -> float:
        """The share of its life in which nothing reads or writes it."""
        return 1 - self.in_use / self.alive if self.alive else 0.0


@dataclass(frozen=True, eq=False)
class Idle(Study):
    """The feature maps of a step at a batch on a device; with ``asked`` no answer is told."""

    network: Network
    device: Device
    now: Schedule
    asked: bool

    @property
    def batch(self) -> int:
        """Samples."""
        return self.now.batch

    @cached_property
    def rows(self) -> list[Row]:
        """The maps in the order of birth."""
        maps = (stay for stay in self.now.stays() if stay.tensor.role is Role.FEATURE_MAP)
        return [self._row(stay) for stay in maps if stay.tensor.storage.size.per_sample]

    @cached_property
    def share(self) -> float:
        """Idle byte-seconds of all maps over all their byte-seconds (C10)."""
        return self.now.idle_share()

    @property
    def backward(self) -> float:
        """When backward begins."""
        return next(s.start for s in self.slots if s.op.phase is Phase.BACKWARD)

    @property
    def slots(self) -> list[Slot]:
        """The operations in time."""
        return [slot for slot in self.now.slots if slot.op.stream == COMPUTE]

    def _row(self, stay: Stay) -> Row:
        used: list[tuple[float, float]] = []
        for start, end in sorted(stay.uses):
            if used and start <= used[-1][1]:
                used[-1] = used[-1][0], max(end, used[-1][1])
            else:
                used.append((start, end))
        return Row(stay.tensor.name, stay.nbytes, stay.start, stay.end, used, self._reads(stay))

    def _reads(self, stay: Stay) -> str:
        name = stay.tensor.storage.name
        later = (s.op for s in self.slots if s.op.phase is Phase.BACKWARD)
        readers = (op.name for op in later if any(t.storage.name == name for t in op.touched()))
        return next(readers, "")

    # -- said -----------------------------------------------------------------------------------

    @property
    def title(self) -> str:
        return self.finding.replace("*", "")

    @property
    def finding(self) -> str:
        """What is seen, or what is asked; its bold part between asterisks."""
        if self.asked:
            return say("title.asked")
        return say("title.seen" if self.share > LITTLE else "title.used")

    @property
    def sentences(self) -> list[str]:
        return [say("see")]

    @property
    def notes(self) -> list[str]:
        return [
            say("planned", network=self.network.title, batch=f"{self.batch:,}",
                device=short(self.device), optimizer=optimizers.title(SGD))
        ]  # fmt: skip

    @property
    def number(self) -> str:
        """``'88 %'``."""
        return f"{round(100 * self.share)} %"

    def table(self) -> tuple[list[str], list[list[str]]]:
        """A row for every map, with its heads; of a question without what is asked."""
        names = ("map", "bytes", "alive", "used", "idle")[: 3 if self.asked else 5]
        rows = [
            [row.name, three(row.nbytes), duration(row.alive), duration(row.in_use),
             share(row.idle)][: len(names)]
            for row in self.rows
        ]  # fmt: skip
        return [say(f"head.{name}") for name in names], rows

    def lines(self) -> list[str]:
        """The number in words."""
        return [] if self.asked else [say("twin", number=self.number, share=share(self.share))]

    def text(self) -> str:
        heads, rows = self.table()
        table = columns([heads, *rows], align="<>>>>"[: len(heads)])
        return "\n".join([f"{self.title}", *self.sentences, *self.lines(), *table, *self.notes])

    def as_dict(self) -> dict[str, Any]:
        said = {"title": self.title, "sentences": self.sentences, "notes": self.notes}
        told = {} if self.asked else {"share": self.share}
        rows = [{"name": r.name, "nbytes": r.nbytes, "start": r.start, "end": r.end}
                | ({} if self.asked else {"used": r.used}) for r in self.rows]  # fmt: skip
        return {
            **said, "network": self.network.name, "batch": self.batch, "device": self.device.name,
            "seconds": self.now.seconds, "maps": rows, **told,
        }  # fmt: skip


def idle_maps(network: Network, batch: int, device: Device, asked: bool = False) -> Idle:
    """The maps of a training step in place, with SGD.

    Raises:
        InputError: a device without the figures that are needed.
    """
    return Idle(network, device, clock(plain_step(network, SGD), batch, device), asked)


def say(key: str, **values: object) -> str:
    """A text of the picture."""
    return strings.get(f"idle.{key}", **values)
