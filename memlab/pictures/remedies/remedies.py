"""Remedies for a training step that does not fit its card: what each leaves on it, costs and asks.

Each is a step that is made and planned. All train on the same images as the plain step, and their
time is card time for all of them; all but the plain step are in place too. One that cannot be made
says why.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple

from memlab import hardware, optimizers, strings, units
from memlab.clocks import roofline
from memlab.clocks.roofline import Machine
from memlab.clocks.streams import clock
from memlab.errors import InputError, one_option, whole_number
from memlab.hardware import Device, Link
from memlab.layers import BatchNorm
from memlab.ledger.ledger import Ledger
from memlab.ledger.plan import plan
from memlab.moved import old_names
from memlab.networks.graph import Network
from memlab.networks.zoo import ZOO
from memlab.optimizers import OPTIMIZERS
from memlab.pictures.mountain.stack_parts import role_name as plural
from memlab.pictures.offload.streams import ALGORITHM, LITTLE, built_step, short, speed
from memlab.pictures.remedies import searches
from memlab.pictures.values.cache import RecentResults
from memlab.pictures.values.number_text import columns, duration, three_digits
from memlab.pictures.values.step_recipe import named_or_given, network_of
from memlab.pictures.values.study import Study
from memlab.step.step import Step
from memlab.step.storage import HOST
from memlab.step.tensor import Role
from memlab.techniques.accumulate import MOST
from memlab.techniques.offload import offload
from memlab.techniques.recompute import recompute
from memlab.techniques.registry import Applied, applied

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
"""Remedies that keep the card, the batch and the results, bit for bit."""
ROWS = ("larger_card", "accumulation", "smaller_batch", "recompute", "offload", "precision",
        "in_place", "leaner", "chip")  # fmt: skip
"""All remedies, each named as what makes it."""
SORTS = ("time", "peak")
APART = ("leaner", "chip")
"""Remedies that train something else, or on another machine."""
SHARED = applied("in_place")
MIXED = applied("precision", "mixed fp16")
USUAL = "PCIe 3.0 x16"
"""The link of a card of which no source says it."""
KEPT = 8
"""So many tables are kept."""
NAMED = 6
"""So many maps are named in a line of code; more are those of the row."""


def text_of(key: str, **values: object) -> str:
    """A text of this picture."""
    return strings.get(f"remedies.{key}", **values)


# -- one way ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Remedy:
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
        return text_of(f"way.{self.key}")

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
            return text_of("none")
        digits = 1 if abs(self.extra) < 0.0995 else 0
        return text_of("percent", value=f"{100 * self.extra:.{digits}f}".replace("-", "−"))

    @property
    def fits(self) -> str:
        """Whether it fits, in a word."""
        return text_of("refused" if self.refused else "fits" if self.trains else "over")

    def fact(self) -> str:
        """All that there is to say of it."""
        if self.refused:
            return text_of("fact.refused", name=self.name, error=self.error)
        parts = [text_of("fact.peak", name=self.name, bytes=units.exact(self.peak), at=self.at,
                     fits=self.fits, limit=units.exact(self.limit))]  # fmt: skip
        if any(self.largest):
            parts.append(text_of("fact.largest", name=self.largest[0], formula=self.largest[1]))
        if self.host:
            parts.append(text_of("fact.host", bytes=units.exact(self.host)))
        if self.seconds is not None:
            parts.append(text_of("fact.time", seconds=duration(self.seconds)))
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
class Remedies(Study):
    """The ways out of one step: ``ways["recompute"]`` is a row of it."""

    network: Network
    batch: int
    device: Machine
    link: Link
    budget: int
    optimizer: str
    rows: tuple[Remedy, ...]

    def __getitem__(self, key: str) -> Remedy:
        return one_option("way", key, {row.key: row for row in self.rows})

    def __iter__(self) -> Iterator[Remedy]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def plain(self) -> Remedy:
        """The step that the others are compared with."""
        return self["plain"]

    @property
    def drawn(self) -> list[Remedy]:
        """Remedies that train the same network on such a card."""
        return [row for row in self.rows if row.key not in (*APART, "plain")]

    def sorted(self, by: str = "time") -> list[str]:
        """The keys of those, what trains first: by extra time and then by peak, or the other way
        round."""

        def rank(row: Remedy) -> tuple[object, ...]:
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
        """Finding, its bold part between asterisks."""
        fits = [row for row in self.drawn if row.trains]
        if self["in_place"].trains:
            return text_of(f"title.{'fits' if self.plain.trains else 'in_place'}")
        if not fits:
            return text_of("title.none")
        most = max(row.extra or 0.0 for row in fits)
        head = {"few": number(len(fits)).capitalize(), "all": number(len(self.drawn))}
        if len(fits) == 1:
            return text_of("title.one", **head)
        if most < LITTLE:
            return text_of("title.free", **head)
        digits = 1 if most < 0.1 else 0  # those of the bars
        most = ceil(10**digits * 100 * most - 1e-6) / 10**digits
        return text_of("title.most", **head, most=f"{most:g}")

    @property
    def sentences(self) -> list[str]:
        if self["in_place"].trains:
            return [text_of("see.fits")]
        kept = [self[key].name for key in SAME if self[key].trains]
        if not kept:
            return [text_of("see.none")]
        both = text_of("and", one=kept[0], other=kept[1]) if len(kept) > 1 else kept[0]
        return [text_of(f"see.kept{'' if len(kept) > 1 else '_one'}", names=both.capitalize())]

    @property
    def others(self) -> list[str]:
        """Sentences on the ways apart."""
        leaner, chip = self["leaner"], self["chip"]
        machine = short(hardware.find(CHIP))
        others = []
        if not leaner.refused:
            key = "leaner" if leaner.trains else "leaner_over"
            network = network_of(LEANER[self.network.name]).title
            others.append(text_of(f"apart.{key}", network=network, bytes=three_digits(leaner.peak)))
        if chip.trains:
            others.append(text_of("apart.chip", machine=machine, count=images(chip.batch)))
        else:
            others.append(text_of("apart.chip_none", machine=machine))
        return others

    @property
    def notes(self) -> list[str]:
        machine = short(self.device) if isinstance(self.device, Device) else self.device.title
        return [
            text_of("planned", network=self.network.title, batch=f"{self.batch:,}", device=machine,
                optimizer=optimizers.title(self.optimizer))
        ]  # fmt: skip

    def lines(self) -> list[str]:
        """The plain step, and what stands against what."""
        plain, place, larger = self.plain, self["in_place"], self["larger_card"]
        saved = f"{100 * (1 - place.peak / plain.peak):.1f}"
        halves = isinstance(self.device, Device) and "fp16" in self.device.flops
        return [
            text_of("twin.plain", network=self.network.title, batch=f"{self.batch:,}",
                card=self.card, bytes=three_digits(plain.peak),
                seconds=duration(plain.seconds or 0)),
            text_of("twin.in_place", saved=saved),
            *([] if larger.refused else [text_of("twin.larger", bytes=card(larger.limit))]),
            text_of("twin.chosen", card=self.card, link=speed(self.link.speed)),
            text_of(f"twin.{'registers' if halves else 'buffers'}"),
        ]  # fmt: skip

    def table(self, by: str = "time") -> tuple[list[str], list[list[str]]]:
        """Heads and cells: a row for each way, those apart last."""
        heads = [
            text_of(f"head.{name}") for name in ("way", "peak", "host", "fits", "time", "asks")
        ]
        keys = ["plain", *self.sorted(by), *APART]
        return heads, [
            [row.name, "" if row.refused else three_digits(row.peak),
             three_digits(row.host) if row.host else "",
             row.fits, row.time, row.asks]
            for row in map(self.__getitem__, keys)
        ]  # fmt: skip

    def calls(self) -> list[str]:
        """The line of code of each, or why there is none."""
        lines = ((row.name, row.error or row.call) for row in self.rows)
        return [f"{name}: {said}" for name, said in lines if said]

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


# -- how they are made -----------------------------------------------------------------------------


def remedies(
    network: str | Network,
    batch: int = 256,
    *,
    device: str | Machine = "titan x",
    link: str | float | Link | None = None,
    budget: int | str | None = None,
    optimizer: str = "sgd",
) -> Remedies:
    """The ways out of a training step in fp32 that does not fit: one row for each, planned.

    Rows are the plain step, a larger card, accumulation, a smaller batch, recompute, offload, mixed
    precision, in place alone, a leaner network, and a chip with its own memory alone. Each has its
    bytes by role, card time for all images, what it asks for, and the line of code that makes it.

    Args:
        network: a name of ``memlab.zoo``, or a network of yours.
        batch: images of an update.
        device: the card, as in ``memlab.clock``; a larger one counts as equally fast.
        link: to the host's memory; the device's own, or PCIe 3.0 x16 where no source says it.
        budget: the bytes of the card, or ``'12 GB'``; those of the device where it is None.
        optimizer: as in ``memlab.training_step``.

    Raises:
        InputError: no such network, device, link or optimizer; a batch below 1; a device without
            the figures that are needed, or without a memory where no budget is given.
    """
    machine, built = roofline.machine(device), named_or_given(network)
    own = machine if isinstance(machine, Device) else None
    if budget is None and own is None:
        raise InputError(f"nobody says how much memory a card like {machine.title} has; try "
                         "budget='12 GB'.")  # fmt: skip
    nbytes = own.memory.value if budget is None and own else units.exact_or_parsed(budget)  # type: ignore[arg-type]  # None has a device
    wire = own.wire if own and link is None else hardware.link(USUAL if link is None else link)
    one_option("optimizer", optimizer, OPTIMIZERS)
    maker = Maker(built, whole_number("batch", batch), machine, wire, nbytes, optimizer)
    return _MADE.of(maker, lambda: Remedies(*maker, tuple(maker.rows())))


_MADE = RecentResults(KEPT)
"""The last few, by what was asked for."""


@lru_cache(maxsize=24)
def _made(network: Network, optimizer: str, *by: Applied) -> tuple[Step, Ledger]:
    """The plain step after some techniques, one after the other, and its plan."""
    step = built_step(network, optimizer)
    for rewrite in by:
        step = rewrite(step)
    return step, plan(step)


def _call(*by: Applied) -> str:
    """The line of code of these techniques, one after the other."""
    line = "step"
    for technique in by:
        line = technique.line(line)
    return line


class Maker(NamedTuple):
    """Makes the rows of a network at a batch, on a machine."""

    network: Network
    batch: int
    machine: Machine
    link: Link
    budget: int
    optimizer: str

    def rows(self) -> Iterator[Remedy]:
        """All of them; one that is refused says why."""
        yield self.plain
        for key in ROWS:
            try:
                yield getattr(self, key)()
            except InputError as error:
                yield Remedy(key, self.budget, asks=text_of(f"why.{key}"), error=str(error))

    # -- planned

    @property
    def plain(self) -> Remedy:
        """The step itself; in its line ``network`` stands for one of the reader's."""
        name = self.network.name
        given = f"memlab.zoo.{name}()" if self.network == ZOO.get(name, object)() else "network"
        call = f"step = {_line(given, self.optimizer)}"
        return self._row("plain", built_step(self.network, self.optimizer), call=call)

    @property
    def shared(self) -> tuple[Step, Ledger]:
        """The step in place."""
        return _made(self.network, self.optimizer, SHARED)

    @property
    def seconds(self) -> float:
        """Seconds of the plain step."""
        return clock(built_step(self.network, self.optimizer), self.batch, self.machine).seconds

    def _row(
        self, key: str, step: Step, ledger: Ledger | None = None, batch: int | None = None,
        asks: str = "", **more: Any,
    ) -> Remedy:  # fmt: skip
        """A row as its step is planned; card time is for all images, as often as it takes."""
        ledger, batch = ledger or plan(step), batch or self.batch
        why = ledger.why(batch)
        peak, block = why.peak, why.blocks[0].entry
        more.setdefault("limit", self.budget)
        if "seconds" not in more:
            more["seconds"] = clock(step, batch, self.machine, self.link).seconds
        more.setdefault("extra", more["seconds"] / self.seconds - 1)
        return Remedy(
            key, asks=asks or text_of("asks.nothing"), step=step, batch=batch, peak=peak.nbytes,
            host=ledger.peak(batch, HOST), at=peak.row.name,
            roles=ledger.roles(batch, peak.index),
            largest=(block.name, block.formula(batch)), **more,
        )  # fmt: skip

    # -- the ways

    def in_place(self) -> Remedy:
        """Nothing but that outputs overwrite inputs that die there."""
        return self._row("in_place", *self.shared, call=SHARED.line())

    def larger_card(self) -> Remedy:
        """The smallest memory of the table of machines that holds the step in place."""
        need = self.shared[1].peak(self.batch)
        larger = min(
            (device for device in _cards() if device.memory.value >= max(need, self.budget + 1)),
            key=lambda row: row.memory.value, default=None,
        )  # fmt: skip
        if larger is None:
            raise InputError(text_of("why_all.larger_card", bytes=units.exact(need)))
        asks, limit = text_of("asks.larger_card"), larger.memory.value
        return replace(self.in_place(), key="larger_card", asks=asks, limit=limit)

    def smaller_batch(self) -> Remedy:
        """The largest batch that fits; time for all images, an update more often."""
        step, ledger = self.shared
        fit = ledger.fit(self.budget)
        if fit.batch == 0:
            raise InputError(str(fit))
        batch = self.batch if fit.batch is None else min(fit.batch, self.batch)
        call = f"memlab.plan(memlab.in_place(step)).fit({self.budget:_})"
        if batch == self.batch:
            return self._row("smaller_batch", step, ledger, call=call)
        seconds = clock(step, batch, self.machine).seconds * self.batch / batch
        asks = text_of("asks.smaller_batch", images=images(batch))
        return self._row("smaller_batch", step, ledger, batch, asks, call=call, seconds=seconds)

    def accumulation(self) -> Remedy:
        """The fewest parts of the batch, all alike, of which one fits beside the gradients."""
        if self.batch == 1:
            raise InputError(text_of("why_all.one_image"))
        most = self._parts(2)[1].fit(self.budget)
        room = self.batch if most.batch is None else most.batch
        divisors = (n for n in range(2, min(self.batch, MOST) + 1) if self.batch % n == 0)
        parts = next((n for n in divisors if self.batch // n <= room), 0)
        if not parts:
            raise InputError(text_of("why_all.parts", most=MOST, found=str(most)))
        normed = any(isinstance(node.layer, BatchNorm) for node in self.network.nodes)
        asks = text_of(f"asks.parts{'_norm' if normed else ''}", parts=number(parts))
        batch = self.batch // parts
        step, ledger = self._parts(min(parts, 3))
        # all parts but the first take the same time
        two, longer = (clock(self._parts(n)[0], batch, self.machine).seconds for n in (2, 3))
        seconds = two + (parts - 2) * (longer - two)
        return self._row(
            "accumulation", step, ledger, batch, asks, seconds=seconds,
            call=_call(SHARED, applied("accumulate", parts=parts)),
        )  # fmt: skip

    def _parts(self, parts: int) -> tuple[Step, Ledger]:
        """The step in place, in so many parts."""
        return _made(self.network, self.optimizer, SHARED, applied("accumulate", parts=parts))

    def recompute(self) -> Remedy:
        """The maps of the least seconds that are dropped and made again; where no such set fits,
        the best schedule of the stages of a chain."""
        plain = built_step(self.network, self.optimizer)
        try:
            names = searches.dropped(plain, self.batch, self.budget, self.machine)
        except InputError:
            return self._chain(plain)
        if not names:
            return self._row("recompute", *self.shared, call=SHARED.line())
        step = SHARED(recompute(plain, "drop", layers=names))
        call = (
            f'memlab.in_place(memlab.recompute(step, "drop", layers={written("recompute", names)}))'
        )
        asks = text_of(f"asks.again{'_one' if len(names) == 1 else ''}", count=number(len(names)))
        return self._row("recompute", step, asks=asks, call=call, names=names)

    def _chain(self, plain: Step) -> Remedy:
        given: dict[str, Any] = {"batch": self.batch, "budget": self.budget, "in_place": True}
        step = SHARED(recompute(plain, "chain", **given, device=self.machine))
        call = _call(applied("recompute", "chain", **given), SHARED)
        return self._row("recompute", step, asks=text_of("asks.chain"), call=call)

    def offload(self) -> Remedy:
        """The maps of the least seconds that wait in host memory."""
        plain = built_step(self.network, self.optimizer)
        names = searches.moved(plain, self.batch, self.budget, self.machine, self.link)
        if not names:
            return self._row("offload", *self.shared, call=SHARED.line())
        step = SHARED(offload(plain, maps=names))
        call = f"memlab.in_place(memlab.offload(step, maps={written('offload', names)}))"
        return self._row("offload", step, asks=text_of("asks.offload"), call=call, names=names)

    def precision(self) -> Remedy:
        """Mixed fp16: this library's conversions through buffers in fp32 are counted."""
        step, ledger = _made(self.network, self.optimizer, MIXED, SHARED)
        call = _call(MIXED, SHARED)
        return self._row("precision", step, ledger, asks=text_of("asks.precision"), call=call)

    def leaner(self) -> Remedy:
        """Another network for the same task."""
        if self.network.name not in LEANER:
            raise InputError(text_of("why_all.leaner", network=self.network.title))
        other = network_of(LEANER[self.network.name])
        step, ledger = _made(other, self.optimizer, SHARED)
        call = SHARED.line(_line(f"memlab.zoo.{other.name}()", self.optimizer))
        asks = text_of("asks.leaner", network=other.title)
        return self._row("leaner", step, ledger, asks=asks, call=call)

    def chip(self) -> Remedy:
        """A machine whose memory is on the chip alone: what trains there at all."""
        machine, (step, ledger) = hardware.find(CHIP), self.shared
        limit = machine.memory.value
        fit = ledger.fit(limit)
        batch = self.batch if fit.batch is None else min(fit.batch, self.batch)
        if not batch:
            raise InputError(text_of("why_all.chip", bytes=units.exact(ledger.peak(1)),
                                 machine=machine.title, limit=units.exact(limit)))  # fmt: skip
        call = f"memlab.plan(memlab.in_place(step)).fit({limit:_})"
        asks = text_of(f"asks.chip{'_all' if batch == self.batch else ''}", images=images(batch))
        return self._row("chip", step, ledger, batch, asks, limit=limit, call=call,
                         seconds=clock(step, batch, machine).seconds * self.batch / batch,
                         extra=None)  # fmt: skip


def _line(network: str, optimizer: str) -> str:
    """The line of a plain step."""
    return f'memlab.training_step({network}, "{optimizer}", algorithm="{ALGORITHM}")'


def written(key: str, names: tuple[str, ...]) -> str:
    """Some maps in a line of code: few by their names, many as those of the row."""
    if len(names) > NAMED:
        return f'rows["{key}"].names'
    return f"[{', '.join(f'{name!r}' for name in names)}]".replace("'", '"')


def _cards() -> list[Device]:
    """The machines with a memory beside the chip. Those that are budgets alone count first: a
    speed of their own is in nobody's way."""
    cards = [device for device in hardware.DEVICES.values() if not device.on_chip]
    stated = [device for device in cards if device.bandwidth is None]
    largest = max(device.memory.value for device in stated)
    return [*stated, *(device for device in cards if device.memory.value > largest)]


# -- words -----------------------------------------------------------------------------------------


def card(nbytes: int) -> str:
    """``'12 GB'``, ``'12.9 GB'``."""
    return f"{float(f'{nbytes / 1e9:.3g}'):g} GB" if nbytes >= 1e9 else three_digits(nbytes)


def role_name(role: Role, optimizer: str) -> str:
    """``'feature maps'``; the state of an optimizer that keeps none is the copy of mixed
    precision."""
    if role is Role.OPTIMIZER_STATE and not optimizers.OPTIMIZERS[optimizer].states:
        return text_of("master")
    return plural(role)


def number(count: int) -> str:
    """A small number as a word, another one in digits."""
    return text_of(f"number.{count}") if count <= 10 else f"{count:,}"


def images(count: int) -> str:
    """``'one image'``, ``'174 images'``."""
    return text_of("image") if count == 1 else text_of("images", count=f"{count:,}")


if not TYPE_CHECKING:  # a checker of types sees the new names only
    __getattr__ = old_names(__name__)
