"""The ways out of a step that does not fit its card: what each leaves on it, costs and asks for.

Every way trains on the same images as the plain step, and its time is card time for all of them.
All but the plain step are in place too. A way that cannot be gone says why.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from typing import Any

from memlab import hardware, optimizers, strings, units
from memlab.clocks.roofline import Machine
from memlab.errors import pick
from memlab.hardware import Device, Link
from memlab.networks.graph import Network
from memlab.pictures.mountain.stack_parts import role_name as plural
from memlab.pictures.offload.streams import LITTLE, short, speed
from memlab.pictures.values.number_text import columns, duration, three
from memlab.pictures.values.recipe import network_of
from memlab.pictures.values.study import Study
from memlab.step.step import Step
from memlab.step.tensor import Role

CHIP = "ipu mk2"
"""A machine whose memory is on the chip alone."""
LEANER = {
    "overfeat": "alexnet", "vgg11": "googlenet", "vgg13": "googlenet", "vgg16": "googlenet",
    "vgg19": "googlenet", "resnet34": "resnet18", "resnet50": "resnet18",
    "resnet101": "resnet50", "resnet152": "resnet50", "resnet200": "resnet50", "lstm": "rnn",
    "gpt2": "gpt_small",
}  # fmt: skip
"""Instead of a network, one for the same task that keeps fewer bytes."""
SAME = ("recompute", "offload", "in_place")
"""Ways that keep the card, the batch and the results, bit for bit."""
SORTS = ("time", "peak")
APART = ("leaner", "chip")
"""Ways that train something else, or on another machine."""


def say(key: str, **values: object) -> str:
    """A text of this picture."""
    return strings.get(f"ways.{key}", **values)


# -- one way ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Way:
    """One way out, planned.

    ``step`` is made by the line ``call``, and runs on ``batch`` images at a time. ``peak`` and
    ``host`` are bytes on the device and in host memory, ``roles`` those at the peak, in the
    operation ``at``; ``limit`` are the bytes that there are. ``seconds`` is the card time for all
    images, ``extra`` its share beyond that of the plain step; None where that says nothing.
    ``asks`` is what it asks for, or why it is ``refused``, and ``error`` that in a whole sentence.
    ``largest`` is the largest block at the peak with its formula, and
    ``names`` are the maps that are dropped or moved.
    """

    key: str
    limit: int
    call: str = ""
    asks: str = ""
    step: Step | None = None
    batch: int = 0
    peak: int = 0
    host: int = 0
    at: str = ""
    roles: dict[Role, int] | None = None
    seconds: float | None = None
    extra: float | None = None
    largest: tuple[str, str] = ("", "")
    names: tuple[str, ...] = ()
    error: str = ""

    @property
    def name(self) -> str:
        """``'smaller batch'``."""
        return say(f"way.{self.key}")

    @property
    def refused(self) -> bool:
        """Whether there is no such step."""
        return bool(self.error)

    @property
    def trains(self) -> bool:
        """Whether it is there, and fits."""
        return not self.refused and self.peak <= self.limit

    @property
    def time(self) -> str:
        """The extra card time: ``'none'``, ``'3.0 %'``; empty where that says nothing."""
        if self.extra is None or self.key == "plain":
            return ""
        if abs(self.extra) < LITTLE:
            return say("none")
        digits = 1 if abs(self.extra) < 0.0995 else 0
        return say("percent", value=f"{100 * self.extra:.{digits}f}".replace("-", "−"))

    @property
    def fits(self) -> str:
        """In a word."""
        return say("refused" if self.refused else "fits" if self.trains else "over")

    def fact(self) -> str:
        """All that there is to say of it."""
        if self.refused:
            return say("fact.refused", name=self.name, error=self.error)
        parts = [say("fact.peak", name=self.name, bytes=units.exact(self.peak), at=self.at,
                     fits=self.fits, limit=units.exact(self.limit))]  # fmt: skip
        if any(self.largest):
            parts.append(say("fact.largest", name=self.largest[0], formula=self.largest[1]))
        if self.host:
            parts.append(say("fact.host", bytes=units.exact(self.host)))
        if self.seconds is not None:
            parts.append(say("fact.time", seconds=duration(self.seconds)))
        return " ".join([*parts, *([self.call] if self.call else [])])

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        roles = {str(role): nbytes for role, nbytes in (self.roles or {}).items() if nbytes}
        return {
            "way": self.key, "trains": self.trains, "batch": self.batch or None,
            "limit_bytes": self.limit, "peak_bytes": None if self.refused else self.peak,
            "peak_at": self.at or None, "roles": roles, "host_bytes": self.host,
            "seconds": self.seconds, "extra": self.extra, "asks": self.asks,
            "call": self.call or None, "names": list(self.names), "refused": self.error or None,
        }  # fmt: skip


# -- all of them -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Ways(Study):
    """The ways out of one step: ``ways["recompute"]`` is a row of it."""

    network: Network
    batch: int
    optimizer: str
    device: Machine
    link: Link
    budget: int
    rows: tuple[Way, ...]

    def __getitem__(self, key: str) -> Way:
        return pick("way", key, {row.key: row for row in self.rows})

    def __iter__(self) -> Iterator[Way]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def plain(self) -> Way:
        """The step that the others are compared with."""
        return self["plain"]

    @property
    def drawn(self) -> list[Way]:
        """Those that train the same network on such a card."""
        return [row for row in self.rows if row.key not in (*APART, "plain")]

    def sorted(self, by: str = "time") -> list[str]:
        """The keys of those, what trains first: by extra time and then by peak, or the other way
        round."""

        def rank(row: Way) -> tuple[object, ...]:
            values = round(row.extra or 0.0, 4), row.peak
            return not row.trains, row.refused, *(values if by == "time" else values[::-1])

        return [row.key for row in sorted(self.drawn, key=rank)]

    @property
    def card(self) -> str:
        """The budget: ``'12 GB'``."""
        return card(self.budget)

    # -- said -----------------------------------------------------------------------------------

    @property
    def title(self) -> str:
        """Without its bold."""
        return self.finding.replace("*", "")

    @property
    def finding(self) -> str:
        """What is seen, its bold part between asterisks."""
        fits = [row for row in self.drawn if row.trains]
        if self["in_place"].trains:
            return say(f"title.{'fits' if self.plain.trains else 'in_place'}")
        if not fits:
            return say("title.none")
        most = max(row.extra or 0.0 for row in fits)
        head = {"few": number(len(fits)).capitalize(), "all": number(len(self.drawn))}
        if len(fits) == 1:
            return say("title.one", **head)
        if most < LITTLE:
            return say("title.free", **head)
        digits = 1 if most < 0.1 else 0  # those of the bars
        most = ceil(10**digits * 100 * most - 1e-6) / 10**digits
        return say("title.most", **head, most=f"{most:g}")

    @property
    def sentences(self) -> list[str]:
        if self["in_place"].trains:
            return [say("see.fits")]
        kept = [self[key].name for key in SAME if self[key].trains]
        if not kept:
            return [say("see.none")]
        both = say("and", one=kept[0], other=kept[1]) if len(kept) > 1 else kept[0]
        return [say(f"see.kept{'' if len(kept) > 1 else '_one'}", names=both.capitalize())]

    @property
    def others(self) -> list[str]:
        """Of the ways apart."""
        leaner, chip = self["leaner"], self["chip"]
        machine = short(hardware.find(CHIP))
        found = []
        if not leaner.refused:
            key = "leaner" if leaner.trains else "leaner_over"
            network = network_of(LEANER[self.network.name]).title
            found.append(say(f"apart.{key}", network=network, bytes=three(leaner.peak)))
        if chip.trains:
            found.append(say("apart.chip", machine=machine, count=images(chip.batch)))
        else:
            found.append(say("apart.chip_none", machine=machine))
        return found

    @property
    def notes(self) -> list[str]:
        machine = short(self.device) if isinstance(self.device, Device) else self.device.title
        return [
            say("planned", network=self.network.title, batch=f"{self.batch:,}", device=machine,
                optimizer=optimizers.title(self.optimizer))
        ]  # fmt: skip

    def lines(self) -> list[str]:
        """The plain step, and what stands against what."""
        plain, place, larger = self.plain, self["in_place"], self["larger_card"]
        saved = f"{100 * (1 - place.peak / plain.peak):.1f}"
        return [
            say("twin.plain", network=self.network.title, batch=f"{self.batch:,}",
                card=self.card, bytes=three(plain.peak), seconds=duration(plain.seconds or 0)),
            say("twin.in_place", saved=saved),
            *([] if larger.refused else [say("twin.larger", bytes=card(larger.limit))]),
            say("twin.chosen", card=self.card, link=speed(self.link.speed)),
            say(f"twin.{'registers' if self.halves else 'buffers'}"),
        ]  # fmt: skip

    @property
    def halves(self) -> bool:
        """Whether the card computes in fp16 at a rate of its own."""
        return isinstance(self.device, Device) and "fp16" in self.device.flops

    def table(self, by: str = "time") -> tuple[list[str], list[list[str]]]:
        """Heads and cells: a row for each way, those apart last."""
        heads = [say(f"head.{name}") for name in ("way", "peak", "host", "fits", "time", "asks")]
        keys = ["plain", *self.sorted(by), *APART]
        return heads, [
            [row.name, "" if row.refused else three(row.peak), three(row.host) if row.host else "",
             row.fits, row.time, row.asks]
            for row in map(self.__getitem__, keys)
        ]  # fmt: skip

    def calls(self) -> list[str]:
        """The line of code of each, or why there is none."""
        found = []
        for row in self.rows:
            if row.error or row.call:
                found.append(f"{row.name}: {row.error or row.call}")
        return found

    def text(self) -> str:
        heads, rows = self.table()
        table = columns([heads, *rows], align="<>><><")
        return "\n".join([f"{self.title}.", *self.sentences, *self.lines(), "", *table, "",
                          *self.calls(), *self.notes])  # fmt: skip

    __str__ = __repr__ = text

    def as_dict(self) -> dict[str, Any]:
        machine = self.device.name if isinstance(self.device, Device) else self.device.title
        return {
            "title": self.title, "sentences": self.sentences, "notes": self.notes,
            "network": self.network.name, "batch": self.batch, "optimizer": self.optimizer,
            "device": machine, "link": self.link.speed, "budget": self.budget,
            "rows": [row.as_dict() for row in self.rows],
        }  # fmt: skip


def card(nbytes: int) -> str:
    """``'12 GB'``, ``'12.9 GB'``."""
    return f"{float(f'{nbytes / 1e9:.3g}'):g} GB" if nbytes >= 1e9 else three(nbytes)


def role_name(role: Role, optimizer: str) -> str:
    """``'feature maps'``; the state of an optimizer that keeps none is the copy of mixed
    precision."""
    if role is Role.OPTIMIZER_STATE and not optimizers.OPTIMIZERS[optimizer].states:
        return say("master")
    return plural(role)


def number(count: int) -> str:
    """A small number as a word, another one in digits."""
    return say(f"number.{count}") if count <= 10 else f"{count:,}"


def images(count: int) -> str:
    """``'one image'``, ``'174 images'``."""
    return say("image") if count == 1 else say("images", count=f"{count:,}")
