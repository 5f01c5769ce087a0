"""Changes that make a step fit a memory: each planned, with its cost and its lines of code.

``ExplainedStep`` is what is explained: a step of memlab and the techniques that it allows.
``memlab.pictures.explain.own_model`` has the changes of a model of PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from memlab import strings, units
from memlab.clocks import roofline
from memlab.errors import InputError
from memlab.ledger.ledger import Ledger
from memlab.ledger.plan import plan
from memlab.pictures.explain.modules import ending
from memlab.pictures.values.cache import RecentResults
from memlab.placement.caching_allocator import CONTEXT, CardEstimate, estimates
from memlab.step.op import Phase
from memlab.step.step import Step
from memlab.techniques import application_order
from memlab.techniques.registry import Applied, applied

TRIES = 4
"""How often a schedule is made with less room, where what lies beside it took more."""
NAMED = 4
"""So many modules are named; of more, one less."""
KEPT = 24
"""So many sets of changes are kept."""
PARTS = tuple(2**power for power in range(1, 7))
"""In so many parts a batch is taken, tried from the fewest on."""


def text_of(key: str, /, **values: object) -> str:
    """A text about a model that is explained."""
    return strings.get(f"explain.{key}", **values)


# -- a step at a batch ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Planned:
    """A step with its plan. ``parts`` is into how many parts a batch is taken: the plan is of one
    of them, and the step writes out two or more."""

    step: Step
    parts: int = 1

    @cached_property
    def ledger(self) -> Ledger:
        """Its blocks."""
        return plan(self.step)

    def held(self, batch: int) -> int:
        """The batch that its plan is asked for: that of one part."""
        return -(-batch // self.parts)

    def peak(self, batch: int) -> int:
        """The bytes of its plan at the peak."""
        return self.ledger.peak(self.held(batch))

    def beside(self, batch: int) -> tuple[CardEstimate, ...]:
        """Bytes that the card holds beside these, simulated, and recorded elsewhere."""
        held = self.held(batch)
        return self._kept.of(("beside", held), lambda: estimates(self.ledger, held))

    def total(self, batch: int) -> int:
        """Bytes that the card shows: the plan and all beside it."""
        return self.peak(batch) + sum(row.nbytes for row in self.beside(batch))

    def fit(self, nbytes: int) -> int | None:
        """The largest batch whose total is at most so many bytes; None where every batch is."""
        found = self._kept.of(("fit", nbytes), lambda: largest_batch(self.ledger, nbytes))
        return None if found is None else found * self.parts

    def times(self, batch: int) -> tuple[float, ...]:
        """The seconds of every operation by the clock."""
        held, machine = self.held(batch), roofline.rates()
        return self._kept.of(
            ("times", held),
            lambda: tuple(roofline.seconds(op, held, machine) for op in self.step.ops),
        )

    def seconds(self, batch: int) -> float:
        """Seconds of one step, with the parts that the step does not write out."""
        times = {True: 0.0, False: 0.0}
        for op, seconds in zip(self.step.ops, self.times(batch), strict=True):
            times[op.phase is Phase.UPDATE] += seconds
        written = application_order.parts(self.step) if self.parts > 1 else 1
        return times[True] + times[False] * self.parts / written

    @cached_property
    def _kept(self) -> RecentResults:
        return RecentResults(KEPT)


def largest_batch(ledger: Ledger, nbytes: int) -> int | None:
    """The largest batch whose plan fits so many bytes with all that lies beside it: 0 where not
    one sample does, None where every batch does. Fragments do not grow evenly with the batch: a
    smaller one may not fit."""
    if nbytes <= CONTEXT:
        return 0
    found = ledger.fit(nbytes - CONTEXT)
    if found.batch is None:
        return None
    least = found.valid.start if found.valid else 1
    fits, over = least - 1, found.batch + 1
    while over - fits > 1:
        batch = (fits + over) // 2
        if ledger.peak(batch) + sum(row.nbytes for row in estimates(ledger, batch)) <= nbytes:
            fits = batch
        else:
            over = batch
    return fits if fits >= least else 0


# -- a change ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class StepChange(Planned):
    """One change of a step.

    ``key`` names its text, ``names`` are the modules that it is about. ``code`` are the lines to
    paste, ``alone`` those that do the same without memlab. ``extra`` is the share of a step's time
    that it adds, planned; ``same`` says that it computes the same numbers, bit for bit.
    """

    key: str = ""
    code: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    alone: tuple[str, ...] = ()
    extra: float = 0.0
    same: bool = True

    @property
    def title(self) -> str:
        """Name in a few words."""
        return text_of(f"change.{self.key}", parts=self.parts, names=_listed(self.names))

    @property
    def cost(self) -> str:
        """Cost in time."""
        percent = round(100 * self.extra)
        if percent <= 0:
            return text_of("cost.none" if percent == 0 else "cost.less", percent=-percent)
        return text_of("cost.more", percent=percent)

    @property
    def asks(self) -> str:
        """Changes beside bytes and time; empty where there are none."""
        if self.same:
            return ""
        norms = self.key == "parts" and any("batch_norm" in op.kind for op in self.step.ops)
        return text_of("asks.parts_norm" if norms else f"asks.{self.key}", parts=self.parts)


def _listed(names: tuple[str, ...]) -> str:
    names = tuple(map(ending, names))
    if len(names) > NAMED:
        return text_of(
            "and_more", names=", ".join(names[: NAMED - 1]), count=len(names) - NAMED + 1
        )
    return (
        text_of("and", names=", ".join(names[:-1]), last=names[-1]) if names[1:] else "".join(names)
    )


# -- what is explained ---------------------------------------------------------------------------


class ExplainedStep:
    """A step that is explained, and what may make it fit. ``code`` is what makes it in Python."""

    def __init__(self, step: Step, code: str = "step") -> None:
        self.step, self.code = step, code
        self.plain = Planned(step)
        self._changes = RecentResults(KEPT)

    @property
    def label(self) -> str:
        """The model, for people."""
        return self.step.label or self.step.network

    def module_name(self, path: str) -> str:
        """A module, for people."""
        return path

    def call(self, batch: int, memory: str) -> str:
        """The line that explains it again; empty where that of the view does."""
        return ""

    def path(self, layer: str) -> str:
        """The module of a layer: blocks of memlab's own networks are numbers alone."""
        return f"block.{layer}" if layer[:1].isdigit() else layer

    def changes(self, batch: int, nbytes: int) -> tuple[StepChange, ...]:
        """Changes that make a batch fit so many bytes, the cheapest first: what computes the same
        numbers before what does not, then by time. Behind them what saves bytes, and not enough."""

        def rank(change: StepChange) -> tuple[bool, bool, float, int]:
            over = change.total(batch) > nbytes
            extra = 0.0 if over else round(change.extra, 2)
            return over, over or not change.same, extra, change.peak(batch)

        return self._changes.of(
            (batch, nbytes), lambda: tuple(sorted(self._made(batch, nbytes), key=rank))
        )

    def _made(self, batch: int, nbytes: int) -> Iterator[StepChange]:
        """All that save bytes at the peak; what this step does not allow is left out."""
        plain = self.plain.peak(batch)
        for make in self._ways(batch, nbytes):
            try:
                found = make()
                if found and found.peak(batch) < plain:
                    yield found
            except InputError:
                continue

    def _ways(self, batch: int, nbytes: int) -> list[Callable[[], StepChange | None]]:
        late = self.plain.ledger.peak_at(batch).row.phase is Phase.UPDATE
        ways: list[Callable[[], StepChange | None]] = [
            partial(self._used, batch, "in_place", applied("in_place")),
            partial(self._used, batch, "eight_bits", applied("eight_bit_states"), same=False),
            partial(self._parts, batch, nbytes),
        ]
        if not late:
            ways.append(partial(self._recompute, batch, nbytes))
        return ways

    def change(self, step: Step, batch: int, key: str, *code: str, **more: Any) -> StepChange:
        """A change as its step is planned."""
        seconds = Planned(step, more.get("parts", 1)).seconds(batch)
        extra = seconds / self.plain.seconds(batch) - 1
        return StepChange(step, key=key, code=code, extra=extra, **more)

    def _used(self, batch: int, key: str, by: Applied, **more: Any) -> StepChange:
        """Change by a technique."""
        return self.change(by(self.step), batch, key, f"step = {by.line()}", **more)

    def _parts(self, batch: int, nbytes: int) -> StepChange:
        step = applied("accumulate", 2)(self.step)
        count = self._fewest(step, batch, nbytes)
        code = f"step = {applied('accumulate', count).line()}"
        return self.change(step, batch, "parts", code, parts=count, same=False)

    def _fewest(self, step: Step, batch: int, nbytes: int) -> int:
        """The fewest parts that fit, or the most that there are, of a step that writes out two."""
        few = [count for count in PARTS if count <= batch] or [1]
        fits = (count for count in few if Planned(step, count).total(batch) <= nbytes)
        return int(next(fits, few[-1]))

    def _recompute(self, batch: int, nbytes: int) -> StepChange | None:
        """The fastest schedule that fits, or the least of all."""
        room, found = nbytes - sum(row.nbytes for row in self.plain.beside(batch)), None
        for _ in range(TRIES):
            found = self._chain(room, batch) if room > 0 else None
            if found is None or found.total(batch) <= nbytes:
                break
            room -= found.total(batch) - nbytes
        return found or self._chain(None, batch)

    def _chain(self, room: int | None, batch: int) -> StepChange | None:
        """The fastest schedule whose plan stays within the room, if there is one; without a room
        that with the least peak."""
        chain = applied("recompute", "chain", batch=batch, budget=room)
        try:
            return self._used(batch, "recompute", chain)
        except InputError:
            return None


def budget(given: int | str) -> int:
    """The bytes of a memory, or of ``'12 GB'``.

    Raises:
        InputError: no amount, or none at all.
    """
    nbytes = units.parse(given)
    if nbytes < 1:
        raise InputError("memory must be more than 0 B; try memory='12 GB'.")
    return nbytes
