"""The ways out of a training step, made and planned: a row for each, or why there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

from memlab import hardware, units
from memlab.clocks import roofline
from memlab.clocks.roofline import Machine
from memlab.clocks.streams import clock
from memlab.errors import InputError, pick, whole
from memlab.hardware import Device, Link
from memlab.layers import BatchNorm
from memlab.ledger.ledger import Ledger
from memlab.ledger.plan import plan
from memlab.networks.graph import Network
from memlab.networks.zoo import ZOO
from memlab.optimizers import OPTIMIZERS
from memlab.pictures.offload.streams import ALGORITHM, built_step
from memlab.pictures.values.cache import Kept
from memlab.pictures.values.recipe import named_or_given, network_of
from memlab.pictures.ways import searches
from memlab.pictures.ways.table import CHIP, LEANER, Way, Ways, images, number, say
from memlab.step.step import Step
from memlab.step.storage import HOST
from memlab.techniques.accumulate import MOST
from memlab.techniques.offload import offload
from memlab.techniques.recompute import recompute
from memlab.techniques.registry import Use, use

SHARED = use("in_place")
MIXED = use("precision", "mixed fp16")
USUAL = "PCIe 3.0 x16"
"""The link of a card of which no source says it."""
KEPT = 8
"""So many tables are kept."""
NAMED = 6
"""So many maps are named in a line of code; more are those of the row."""


def ways(
    network: str | Network,
    batch: int = 256,
    *,
    device: str | Machine = "titan x",
    link: str | float | Link | None = None,
    budget: int | str | None = None,
    optimizer: str = "sgd",
) -> Ways:
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
    wire = own.wire if own and link is None else _link(link)
    pick("optimizer", optimizer, OPTIMIZERS)
    return _kept(Maker(built, whole("batch", batch), machine, wire, nbytes, optimizer))


def _link(given: str | float | Link | None) -> Link:
    return hardware.link(USUAL if given is None else given)


def _kept(maker: Maker) -> Ways:
    """The table, made once."""
    network, batch, machine, link, budget, optimizer = maker
    return _MADE.of(
        maker, lambda: Ways(network, batch, optimizer, machine, link, budget, tuple(maker.rows()))
    )


_MADE = Kept(KEPT)
"""The last few, by what was asked for."""


@lru_cache(maxsize=24)
def _made(network: Network, optimizer: str, *by: Use) -> tuple[Step, Ledger]:
    """The plain step after some techniques, one after the other, and its plan."""
    step = built_step(network, optimizer)
    for rewrite in by:
        step = rewrite(step)
    return step, plan(step)


def _call(*by: Use) -> str:
    """The line of code of these techniques, one after the other."""
    line = "step"
    for each in by:
        line = each.line(line)
    return line


class Maker(NamedTuple):
    """Makes the rows of a network at a batch, on a machine."""

    network: Network
    batch: int
    machine: Machine
    link: Link
    budget: int
    optimizer: str

    def rows(self) -> Iterator[Way]:
        """All of them; one that is refused says why."""
        made: dict[str, Callable[[], Way]] = {
            "larger_card": self.larger_card, "accumulation": self.accumulation,
            "smaller_batch": self.smaller_batch, "recompute": self.recompute,
            "offload": self.offload, "precision": self.precision, "in_place": self.in_place,
            "leaner": self.leaner, "chip": self.chip,
        }  # fmt: skip
        yield self.plain
        for key, make in made.items():
            try:
                yield make()
            except InputError as error:
                yield Way(key, self.budget, asks=say(f"why.{key}"), error=str(error))

    # -- planned

    @property
    def plain(self) -> Way:
        """The step itself."""
        return self._row("plain", built_step(self.network, self.optimizer), call=self.written)

    @property
    def written(self) -> str:
        """The line of the plain step; ``network`` stands for one of the reader's."""
        name = self.network.name
        given = f"memlab.zoo.{name}()" if self.network == ZOO.get(name, object)() else "network"
        return f"step = {_line(given, self.optimizer)}"

    @property
    def shared(self) -> tuple[Step, Ledger]:
        """The step in place."""
        return _made(self.network, self.optimizer, SHARED)

    @property
    def seconds(self) -> float:
        """Of the plain step."""
        return clock(built_step(self.network, self.optimizer), self.batch, self.machine).seconds

    def _row(
        self, key: str, step: Step, ledger: Ledger | None = None, batch: int | None = None,
        asks: str = "", **more: Any,
    ) -> Way:  # fmt: skip
        """A row as its step is planned; card time is for all images, as often as it takes."""
        ledger, batch = ledger or plan(step), batch or self.batch
        why = ledger.why(batch)
        peak, block = why.peak, why.blocks[0].entry
        more.setdefault("limit", self.budget)
        if "seconds" not in more:
            more["seconds"] = clock(step, batch, self.machine, self.link).seconds
        more.setdefault("extra", more["seconds"] / self.seconds - 1)
        return Way(
            key, asks=asks or say("asks.nothing"), step=step, batch=batch, peak=peak.nbytes,
            host=ledger.peak(batch, HOST), at=peak.row.name,
            roles=ledger.roles(batch, peak.index),
            largest=(block.name, block.formula(batch)), **more,
        )  # fmt: skip

    # -- the ways

    def in_place(self) -> Way:
        """Nothing but that outputs overwrite inputs that die there."""
        return self._row("in_place", *self.shared, call=SHARED.line())

    def larger_card(self) -> Way:
        """The smallest memory of the table of machines that holds the step in place."""
        need = self.shared[1].peak(self.batch)
        larger = min(
            (each for each in _cards() if each.memory.value >= max(need, self.budget + 1)),
            key=lambda each: each.memory.value, default=None,
        )  # fmt: skip
        if larger is None:
            raise InputError(say("why_all.larger_card", bytes=units.exact(need)))
        asks, limit = say("asks.larger_card"), larger.memory.value
        return replace(self.in_place(), key="larger_card", asks=asks, limit=limit)

    def smaller_batch(self) -> Way:
        """The largest batch that fits; time for all images, an update more often."""
        step, ledger = self.shared
        found = ledger.fit(self.budget)
        if found.batch == 0:
            raise InputError(str(found))
        batch = self.batch if found.batch is None else min(found.batch, self.batch)
        call = f"memlab.plan(memlab.in_place(step)).fit({self.budget:_})"
        if batch == self.batch:
            return self._row("smaller_batch", step, ledger, call=call)
        seconds = clock(step, batch, self.machine).seconds * self.batch / batch
        asks = say("asks.smaller_batch", images=images(batch))
        return self._row("smaller_batch", step, ledger, batch, asks, call=call, seconds=seconds)

    def accumulation(self) -> Way:
        """The fewest parts of the batch, all alike, of which one fits beside the gradients."""
        if self.batch == 1:
            raise InputError(say("why_all.one_image"))
        two = self._parts(2)[1]
        most = two.fit(self.budget)
        room = self.batch if most.batch is None else most.batch
        divisors = (n for n in range(2, min(self.batch, MOST) + 1) if self.batch % n == 0)
        parts = next((n for n in divisors if self.batch // n <= room), 0)
        if not parts:
            raise InputError(say("why_all.parts", most=MOST, found=str(most)))
        normed = any(isinstance(node.layer, BatchNorm) for node in self.network.nodes)
        asks = say(f"asks.parts{'_norm' if normed else ''}", parts=number(parts))
        batch = self.batch // parts
        step, ledger = self._parts(min(parts, 3))
        seconds = self._repeated(parts, batch)
        return self._row(
            "accumulation", step, ledger, batch, asks, seconds=seconds,
            call=_call(SHARED, use("accumulate", parts=parts)),
        )  # fmt: skip

    def _parts(self, parts: int) -> tuple[Step, Ledger]:
        """The step in place, in so many parts."""
        return _made(self.network, self.optimizer, SHARED, use("accumulate", parts=parts))

    def _repeated(self, parts: int, batch: int) -> float:
        """Seconds of a step in so many parts: all parts but the first take the same time."""
        two, three_ = (clock(self._parts(n)[0], batch, self.machine).seconds for n in (2, 3))
        return two + (parts - 2) * (three_ - two)

    def recompute(self) -> Way:
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
        asks = say(f"asks.again{'_one' if len(names) == 1 else ''}", count=number(len(names)))
        return self._row("recompute", step, asks=asks, call=call, names=names)

    def _chain(self, plain: Step) -> Way:
        given: dict[str, Any] = {"batch": self.batch, "budget": self.budget, "in_place": True}
        step = SHARED(recompute(plain, "chain", **given, device=self.machine))
        call = _call(use("recompute", "chain", **given), SHARED)
        return self._row("recompute", step, asks=say("asks.chain"), call=call)

    def offload(self) -> Way:
        """The maps of the least seconds that wait in host memory."""
        plain = built_step(self.network, self.optimizer)
        names = searches.moved(plain, self.batch, self.budget, self.machine, self.link)
        if not names:
            return self._row("offload", *self.shared, call=SHARED.line())
        step = SHARED(offload(plain, maps=names))
        call = f"memlab.in_place(memlab.offload(step, maps={written('offload', names)}))"
        return self._row("offload", step, asks=say("asks.offload"), call=call, names=names)

    def precision(self) -> Way:
        """Mixed fp16: this library's conversions through buffers in fp32 are counted."""
        step, ledger = _made(self.network, self.optimizer, MIXED, SHARED)
        call = _call(MIXED, SHARED)
        return self._row("precision", step, ledger, asks=say("asks.precision"), call=call)

    def leaner(self) -> Way:
        """Another network for the same task."""
        if self.network.name not in LEANER:
            raise InputError(say("why_all.leaner", network=self.network.title))
        other = network_of(LEANER[self.network.name])
        step, ledger = _made(other, self.optimizer, SHARED)
        call = SHARED.line(_line(f"memlab.zoo.{other.name}()", self.optimizer))
        asks = say("asks.leaner", network=other.title)
        return self._row("leaner", step, ledger, asks=asks, call=call)

    def chip(self) -> Way:
        """A machine whose memory is on the chip alone: what trains there at all."""
        machine, (step, ledger) = hardware.find(CHIP), self.shared
        limit = machine.memory.value
        found = ledger.fit(limit)
        batch = self.batch if found.batch is None else min(found.batch, self.batch)
        if not batch:
            raise InputError(say("why_all.chip", bytes=units.exact(ledger.peak(1)),
                                 machine=machine.title, limit=units.exact(limit)))  # fmt: skip
        call = f"memlab.plan(memlab.in_place(step)).fit({limit:_})"
        asks = say(f"asks.chip{'_all' if batch == self.batch else ''}", images=images(batch))
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
    found = [each for each in hardware.DEVICES.values() if not each.on_chip]
    stated = [each for each in found if each.bandwidth is None]
    largest = max(each.memory.value for each in stated)
    return [*stated, *(each for each in found if each.memory.value > largest)]
