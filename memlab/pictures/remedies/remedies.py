"""Remedies for a training step that does not fit its card: the memory each needs, and its cost.

Each remedy is a step that is built and planned. All train on as many images as the plain step, and
their time is card time for all of them; all but the plain step are in place too. A remedy whose
step cannot be built says why.
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
from memlab.pictures.values.number_text import columns, duration, round_bytes, three_digits
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
"""Name of a machine whose memory is on the chip alone."""
LEANER = {
    "overfeat": "alexnet", "vgg11": "googlenet", "vgg13": "googlenet", "vgg16": "googlenet",
    "vgg19": "googlenet", "resnet34": "resnet18", "resnet50": "resnet18",
    "resnet101": "resnet50", "resnet152": "resnet50", "resnet200": "resnet50", "lstm": "rnn",
    "gpt2": "gpt_small",
}  # fmt: skip
"""For each network, another one for the same task that keeps fewer bytes."""
SAME = ("recompute", "offload", "in_place")
"""Remedies that keep the card, the batch and the results, bit for bit."""
ROWS = ("larger_card", "accumulation", "smaller_batch", "recompute", "offload", "precision",
        "in_place", "leaner", "chip")  # fmt: skip
"""Keys of all remedies, each the name of the method that builds it."""
SORTS = ("time", "peak")
APART = ("leaner", "chip")
"""Remedies that train something else, or on another machine."""
SHARED = applied("in_place")
MIXED = applied("precision", "mixed fp16")
USUAL = "PCIe 3.0 x16"
"""Link of a card for which no source gives one."""
KEPT = 8
"""Number of tables that are cached."""
NAMED = 6
"""Most maps that a line of code names; more are taken from the row."""


def text_of(key: str, **values: object) -> str:
    """Return a text of this picture by its key."""
    return strings.get(f"remedies.{key}", **values)


# -- one way ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Remedy:
    """One remedy, planned.

    ``call`` is the code that makes its ``step``, which runs on ``batch`` images at a time. ``peak``
    and ``host`` are peak bytes on the device and in host memory, ``roles`` the bytes by role at the
    peak, in the operation ``at``; ``limit`` is the memory of the card in bytes. ``seconds`` is card
    time for all images, ``extra`` its share beyond the plain step's, None where that says nothing.
    ``asks`` says what the remedy demands, or why it is ``refused``; ``error`` is that reason in a
    whole sentence. ``largest`` is the largest block at the peak with its formula, ``names`` are the
    maps that are dropped or moved.
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
        """Display name: ``'smaller batch'``."""
        return text_of(f"way.{self.key}")

    @property
    def refused(self) -> bool:
        """True if no step could be built or found for this remedy."""
        return bool(self.error)

    @property
    def trains(self) -> bool:
        """True if the step exists and its peak is within the card's memory."""
        return not self.refused and self.peak <= self.limit

    @property
    def time(self) -> str:
        """Extra card time as text: ``'none'``, ``'3.0 %'``; empty where it says nothing."""
        if self.extra is None or self.key == "plain":
            return ""
        if abs(self.extra) < LITTLE:
            return text_of("none")
        digits = 1 if abs(self.extra) < 0.0995 else 0
        return text_of("percent", value=f"{100 * self.extra:.{digits}f}".replace("-", "−"))

    @property
    def fits(self) -> str:
        """One word: refused, fits, or too large."""
        return text_of("refused" if self.refused else "fits" if self.trains else "over")

    def fact(self) -> str:
        """Return sentences with the peak, the largest block, host bytes, time and the call."""
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
        """Return the remedy as a dictionary for JSON."""
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
    """Planned remedies for one step; ``table["recompute"]`` is the ``Remedy`` of that key."""

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
        """Row of the step without a remedy."""
        return self["plain"]

    @property
    def drawn(self) -> list[Remedy]:
        """Remedies that train the same network on a card of that kind."""
        return [row for row in self.rows if row.key not in (*APART, "plain")]

    def sorted(self, by: str = "time") -> list[str]:
        """Return the keys of the drawn remedies in order, those that train first.

        Args:
            by: ``'time'`` sorts by extra time and then by peak, ``'peak'`` the other way round.
        """

        def rank(row: Remedy) -> tuple[object, ...]:
            values = round(row.extra or 0.0, 4), row.peak
            return not row.trains, row.refused, *(values if by == "time" else values[::-1])

        return [row.key for row in sorted(self.drawn, key=rank)]

    @property
    def card(self) -> str:
        """Memory of the card as text: ``'12 GB'``."""
        return card(self.budget)

    # -- said -----------------------------------------------------------------------------------

    @property
    def title(self) -> str:
        """Finding without the asterisks around its bold part."""
        return self.finding.replace("*", "")

    @property
    def finding(self) -> str:
        """Finding in one sentence, its bold part between asterisks."""
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
        names = [self[key].name for key in SAME if self[key].trains]
        if not names:
            return [text_of("see.none")]
        both = text_of("and", one=names[0], other=names[1]) if len(names) > 1 else names[0]
        return [text_of(f"see.kept{'' if len(names) > 1 else '_one'}", names=both.capitalize())]

    @property
    def others(self) -> list[str]:
        """Sentences on the remedies that train another network, or on another machine."""
        leaner, chip = self["leaner"], self["chip"]
        machine = short(hardware.find(CHIP))
        sentences = []
        if not leaner.refused:
            key = "leaner" if leaner.trains else "leaner_over"
            network = network_of(LEANER[self.network.name]).title
            sentences.append(
                text_of(f"apart.{key}", network=network, bytes=three_digits(leaner.peak))
            )
        if chip.trains:
            sentences.append(text_of("apart.chip", machine=machine, count=images(chip.batch)))
        else:
            sentences.append(text_of("apart.chip_none", machine=machine))
        return sentences

    @property
    def notes(self) -> list[str]:
        machine = short(self.device) if isinstance(self.device, Device) else self.device.title
        return [
            text_of("planned", network=self.network.title, batch=f"{self.batch:,}", device=machine,
                optimizer=optimizers.title(self.optimizer))
        ]  # fmt: skip

    def lines(self) -> list[str]:
        """Return sentences on the plain step, on in place, on a larger card, and
        on the settings."""
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
        """Return heads and cells of a table with a row for each remedy.

        Remedies with another network or machine come last.

        Args:
            by: ``'time'`` or ``'peak'``, the order of the other rows.
        """
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
        """Return the code of each remedy with its name, or the reason why there is none."""
        lines = ((row.name, row.error or row.call) for row in self.rows)
        return [f"{name}: {line}" for name, line in lines if line]

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
    """Plan the remedies for a training step in fp32 that does not fit its card.

    The rows are the plain step, a larger card, accumulation, a smaller batch, recompute, offload,
    mixed precision, in place alone, a leaner network, and a chip with its own memory alone. Each
    has its bytes by role, card time for all images, its demands, and the code that makes it.

    Args:
        network: a name of ``memlab.zoo``, or a network of yours.
        batch: images of an update.
        device: the card, as in ``memlab.clock``; a larger one counts as equally fast.
        link: to the host's memory; the device's own, or PCIe 3.0 x16 where no source says it.
        budget: the bytes of the card, or ``'12 GB'``; those of the device where it is None.
        optimizer: as in ``memlab.training_step``.

    Returns:
        A table of remedies: ``table["recompute"]`` is a row, and ``print(table)`` shows all.

    Raises:
        InputError: no such network, device, link or optimizer; a batch below 1; a device without
            the figures that are needed, or without a memory where no budget is given.

    >>> table = memlab.remedies("vgg16", batch=256)
    >>> table["recompute"].trains, table["recompute"].peak
    (True, 12820495428)
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
    return _RECENT.of(maker, lambda: Remedies(*maker, tuple(maker.rows())))


_RECENT = RecentResults(KEPT)
"""The last few tables, by their arguments."""


@lru_cache(maxsize=24)
def _planned(network: Network, optimizer: str, *by: Applied) -> tuple[Step, Ledger]:
    """Return the step after some techniques, one after the other, and its plan."""
    step = built_step(network, optimizer)
    for rewrite in by:
        step = rewrite(step)
    return step, plan(step)


def _code_of(*by: Applied) -> str:
    """Return the line of code that applies some techniques, one after the other."""
    line = "step"
    for technique in by:
        line = technique.line(line)
    return line


class Maker(NamedTuple):
    """Builder of the remedies of a network at a batch, on a machine.

    ``budget`` is the memory of the card in bytes. The methods named in ``ROWS`` build one remedy
    each.
    """

    network: Network
    batch: int
    machine: Machine
    link: Link
    budget: int
    optimizer: str

    def rows(self) -> Iterator[Remedy]:
        """Yield the plain step and all remedies; one that cannot be built carries the reason."""
        yield self.plain
        for key in ROWS:
            try:
                yield getattr(self, key)()
            except InputError as error:
                yield Remedy(key, self.budget, asks=text_of(f"why.{key}"), error=str(error))

    # -- planned

    @property
    def plain(self) -> Remedy:
        """Row of the plain step; in its code, ``network`` stands for a network that is not from the
        zoo."""
        name = self.network.name
        given = f"memlab.zoo.{name}()" if self.network == ZOO.get(name, object)() else "network"
        call = f"step = {_plain_code(given, self.optimizer)}"
        return self._row("plain", built_step(self.network, self.optimizer), call=call)

    @property
    def shared(self) -> tuple[Step, Ledger]:
        """Step in place, and its plan."""
        return _planned(self.network, self.optimizer, SHARED)

    @property
    def seconds(self) -> float:
        """Card time of the plain step in seconds."""
        return clock(built_step(self.network, self.optimizer), self.batch, self.machine).seconds

    def _row(
        self, key: str, step: Step, ledger: Ledger | None = None, batch: int | None = None,
        asks: str = "", **more: Any,
    ) -> Remedy:  # fmt: skip
        """Return the row of a remedy from the plan of its step.

        Args:
            key: key of the remedy.
            step: step of the remedy.
            ledger: plan of the step; it is planned if not given.
            batch: samples of one run of the step; the whole batch if not given.
            asks: words on what the remedy demands; nothing if empty.
            **more: other fields of the row; ``seconds`` is card time for all images.
        """
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
        """Return the remedy in which outputs overwrite inputs that die, and
        nothing else changes."""
        return self._row("in_place", *self.shared, call=SHARED.line())

    def larger_card(self) -> Remedy:
        """Return the card with the smallest memory of the table of machines that holds the step in
        place.

        Raises:
            InputError: no card is large enough.
        """
        need = self.shared[1].peak(self.batch)
        larger = min(
            (device for device in _cards() if device.memory.value >= max(need, self.budget + 1)),
            key=lambda other: other.memory.value, default=None,
        )  # fmt: skip
        if larger is None:
            raise InputError(text_of("why_all.larger_card", bytes=units.exact(need)))
        asks, limit = text_of("asks.larger_card"), larger.memory.value
        return replace(self.in_place(), key="larger_card", asks=asks, limit=limit)

    def smaller_batch(self) -> Remedy:
        """Return the largest batch that fits; its time is for all images, with more updates.

        Raises:
            InputError: not even one image fits.
        """
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
        """Return the fewest equal micro-batches of which one fits beside the summed gradients.

        Raises:
            InputError: the batch is one image, or no number of parts up to ``MOST`` fits.
        """
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
            call=_code_of(SHARED, applied("accumulate", parts=parts)),
        )  # fmt: skip

    def _parts(self, parts: int) -> tuple[Step, Ledger]:
        """Return the step in place with accumulation over some micro-batches, and its plan."""
        return _planned(self.network, self.optimizer, SHARED, applied("accumulate", parts=parts))

    def recompute(self) -> Remedy:
        """Return the step that drops a set of maps of few seconds and computes them again.

        Where no such set fits, it is the best schedule of the stages of a chain.
        """
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
        """Return the step of the best schedule of the stages of a chain within the budget."""
        given: dict[str, Any] = {"batch": self.batch, "budget": self.budget, "in_place": True}
        step = SHARED(recompute(plain, "chain", **given, device=self.machine))
        call = _code_of(applied("recompute", "chain", **given), SHARED)
        return self._row("recompute", step, asks=text_of("asks.chain"), call=call)

    def offload(self) -> Remedy:
        """Return the step in which a set of maps that costs few seconds waits in host memory."""
        plain = built_step(self.network, self.optimizer)
        names = searches.moved(plain, self.batch, self.budget, self.machine, self.link)
        if not names:
            return self._row("offload", *self.shared, call=SHARED.line())
        step = SHARED(offload(plain, maps=names))
        call = f"memlab.in_place(memlab.offload(step, maps={written('offload', names)}))"
        return self._row("offload", step, asks=text_of("asks.offload"), call=call, names=names)

    def precision(self) -> Remedy:
        """Return the step in mixed fp16; buffers in fp32 for memlab's conversions are counted."""
        step, ledger = _planned(self.network, self.optimizer, MIXED, SHARED)
        call = _code_of(MIXED, SHARED)
        return self._row("precision", step, ledger, asks=text_of("asks.precision"), call=call)

    def leaner(self) -> Remedy:
        """Return the step of another network for the same task.

        Raises:
            InputError: no such network is known.
        """
        if self.network.name not in LEANER:
            raise InputError(text_of("why_all.leaner", network=self.network.title))
        other = network_of(LEANER[self.network.name])
        step, ledger = _planned(other, self.optimizer, SHARED)
        call = SHARED.line(_plain_code(f"memlab.zoo.{other.name}()", self.optimizer))
        asks = text_of("asks.leaner", network=other.title)
        return self._row("leaner", step, ledger, asks=asks, call=call)

    def chip(self) -> Remedy:
        """Return the largest batch on a machine whose memory is on the chip alone.

        Raises:
            InputError: not even one image fits.
        """
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


def _plain_code(network: str, optimizer: str) -> str:
    """Return the code that builds a plain step."""
    return f'memlab.training_step({network}, "{optimizer}", algorithm="{ALGORITHM}")'


def written(key: str, names: tuple[str, ...]) -> str:
    """Return a list of maps as code: few by their names, many as the names of a row."""
    if len(names) > NAMED:
        return f'rows["{key}"].names'
    return f"[{', '.join(f'{name!r}' for name in names)}]".replace("'", '"')


def _cards() -> list[Device]:
    """Return the machines that count as larger cards, first those that are given as a memory alone.

    Machines with their memory on the chip are left out, and so are machines with a stated bandwidth
    whose memory is not larger than that of all the first ones.
    """
    cards = [device for device in hardware.DEVICES.values() if not device.on_chip]
    stated = [device for device in cards if device.bandwidth is None]
    largest = max(device.memory.value for device in stated)
    return [*stated, *(device for device in cards if device.memory.value > largest)]


# -- words -----------------------------------------------------------------------------------------


def card(nbytes: int) -> str:
    """Return the memory of a card as text: ``'12 GB'``, ``'12.9 GB'``."""
    return round_bytes(nbytes) if nbytes >= units.DECIMAL["GB"] else three_digits(nbytes)


def role_name(role: Role, optimizer: str) -> str:
    """Return the display name of a role: ``'feature maps'``.

    The state of an optimizer that keeps none is the fp32 copy of mixed precision.
    """
    if role is Role.OPTIMIZER_STATE and not optimizers.OPTIMIZERS[optimizer].states:
        return text_of("master")
    return plural(role)


def number(count: int) -> str:
    """Return a count up to 10 as a word, a larger one in digits."""
    return text_of(f"number.{count}") if count <= 10 else f"{count:,}"


def images(count: int) -> str:
    """Return a number of images as words: ``'one image'``, ``'174 images'``."""
    return text_of("image") if count == 1 else text_of("images", count=f"{count:,}")


if not TYPE_CHECKING:  # a checker of types sees the new names only
    __getattr__ = old_names(__name__)
