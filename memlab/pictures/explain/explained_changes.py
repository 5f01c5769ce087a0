"""Changes that make a step fit a memory: each planned, with its cost and its lines of code.

``ExplainedStep`` is the subject: a step of memlab and the techniques that it allows.
``memlab.pictures.explain.own_model`` has the changes of a PyTorch model.
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
from memlab.pictures.explain.modules import shortened_path
from memlab.pictures.values.cache import RecentResults
from memlab.placement.caching_allocator import CardEstimate
from memlab.placement.cuda_cards import USUAL, CudaCard
from memlab.placement.step_on_card import StepOnCard
from memlab.step.op import Phase
from memlab.step.step import Step
from memlab.techniques import application_order
from memlab.techniques.registry import Applied, applied

TRIES = 4
"""Number of schedules that are tried, each with less room, until the card holds one."""
NAMED = 4
"""Largest number of modules that are named; of more, one less is named."""
ASKING = (
    "parts", "eight_bits", "adam8bit", "fused", "autocast", "chunked", "momentum", "sgd",
)  # fmt: skip
"""Keys of the changes that have a text on effects other than bytes and time."""
KEPT = 24
"""Number of results that are cached."""
PARTS = tuple(2**power for power in range(1, 7))
"""Numbers of micro-batches that are tried, from the fewest on."""


def text_of(key: str, /, **values: object) -> str:
    """Return a text about an explained model from the language files."""
    return strings.get(f"explain.{key}", **values)


# -- a step at a batch ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PlannedStep:
    """A step with its plan.

    ``parts`` is the number of micro-batches that a batch is taken in. The plan is that of one
    micro-batch; the step writes out at least two of them where ``parts`` is above 1. Without a
    ``card`` the step runs on a processor. Where the plan is of several training steps, they begin
    with the operations ``begins``.
    """

    step: Step
    parts: int = 1
    card: CudaCard | None = USUAL
    begins: tuple[int, ...] = ()

    @cached_property
    def on_card(self) -> StepOnCard:
        """The step with the bytes that its card adds, at the micro-batch."""
        return StepOnCard(self.step, self.card)

    @property
    def ledger(self) -> Ledger:
        """Ledger of the step."""
        return self.on_card.ledger

    def micro_batch(self, batch: int) -> int:
        """Return the samples of one micro-batch, for which the plan is evaluated."""
        return -(-batch // self.parts)

    def peak(self, batch: int) -> int:
        """Return the bytes of the plan at its peak."""
        return self.ledger.peak(self.micro_batch(batch))

    def card_estimates(self, batch: int) -> tuple[CardEstimate, ...]:
        """Return the bytes that CUDA and the allocator add to the plan on a card: simulated,
        computed, or recorded on another machine; none on a processor."""
        micro_batch = self.micro_batch(batch)
        return self._cache.of(("beside", micro_batch), lambda: self.on_card.estimates(micro_batch))

    def total(self, batch: int) -> int:
        """Return the bytes that the card shows at least: the plan, and the bytes that CUDA and the
        allocator add."""
        return self.peak(batch) + sum(row.nbytes for row in self.card_estimates(batch))

    def most(self, batch: int) -> int:
        """Return the bytes that the card shows at most, with what is only known as a range."""
        return self.total(batch) + sum(row.more for row in self.card_estimates(batch))

    def beside(self, batch: int) -> int:
        """Return the most bytes that CUDA and the allocator add to the plan."""
        return self.most(batch) - self.peak(batch)

    def fit(self, nbytes: int) -> int | None:
        """Return the largest batch that surely fits ``nbytes``, for at most that is on the card;
        None where all do."""
        largest = self._cache.of(("fit", nbytes), lambda: self.on_card.fit(nbytes))
        return None if largest is None else largest * self.parts

    def times(self, batch: int) -> tuple[float, ...]:
        """Return the planned seconds of every operation, by the roofline clock."""
        micro_batch, machine = self.micro_batch(batch), roofline.rates()
        return self._cache.of(
            ("times", micro_batch),
            lambda: tuple(roofline.seconds(op, micro_batch, machine) for op in self.step.ops),
        )

    def seconds(self, batch: int) -> float:
        """Return the planned seconds of one step, including the micro-batches that the step does
        not write out."""
        times = {True: 0.0, False: 0.0}
        for op, seconds in zip(self.step.ops, self.times(batch), strict=True):
            times[op.phase is Phase.UPDATE] += seconds
        written = application_order.parts(self.step) if self.parts > 1 else 1
        return times[True] + times[False] * self.parts / written

    @cached_property
    def _cache(self) -> RecentResults:
        """Results that were computed for this step."""
        return RecentResults(KEPT)


# -- a change ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class StepChange(PlannedStep):
    """A step with one change, and its plan.

    ``key`` is the name of the change and of its texts, ``names`` are the modules that it is about.
    ``code`` are the lines to paste, ``alone`` lines with the same effect without memlab. ``extra``
    is the planned share of a step's time that it adds. ``same`` is True if it computes the same
    numbers, bit for bit.
    """

    key: str = ""
    code: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    alone: tuple[str, ...] = ()
    extra: float = 0.0
    same: bool = True

    @property
    def title(self) -> str:
        """Name of the change in a few words."""
        return text_of(f"change.{self.key}", parts=self.parts, names=_listed_names(self.names))

    @property
    def expandable(self) -> bool:
        """True if the change lets segments of the caching allocator grow."""
        return self.key == "segments"

    @cached_property
    def on_card(self) -> StepOnCard:
        """The changed step with the bytes that its card adds, at the micro-batch."""
        return StepOnCard(self.step, self.card, self.expandable)

    @property
    def copies(self) -> bool:
        """True if the change copies maps to another memory, whose time is not planned."""
        return self.key == "offload"

    @property
    def cost(self) -> str:
        """Cost of the change in time, as text."""
        if self.copies:
            return text_of("cost.copies")
        percent = round(100 * self.extra)
        if percent <= 0:
            return text_of("cost.none" if percent == 0 else "cost.less", percent=-percent)
        return text_of("cost.more", percent=percent)

    @property
    def asks(self) -> str:
        """Sentence on effects other than bytes and time; empty where there are none."""
        if self.key not in ASKING:
            return ""
        norms = self.key == "parts" and any("batch_norm" in op.kind for op in self.step.ops)
        return text_of("asks.parts_norm" if norms else f"asks.{self.key}", parts=self.parts)


def _listed_names(names: tuple[str, ...]) -> str:
    """Return names of modules in a row; of many, the first three and the number of the others."""
    names = tuple(map(shortened_path, names))
    if len(names) > NAMED:
        return text_of(
            "and_more", names=", ".join(names[: NAMED - 1]), count=len(names) - NAMED + 1
        )
    return strings.series(names)


# -- the subject ---------------------------------------------------------------------------------


class ExplainedStep:
    """A step that is explained, and the changes that may make it fit.

    ``lacks_workspace`` is True for a step from a file that was written without the workspace of its
    operations.

    ``code`` is the Python expression that makes it; ``card`` is the card that it runs on, None for
    a processor.
    """

    def __init__(self, step: Step, code: str = "step", card: CudaCard | None = USUAL) -> None:
        self.step, self.code, self.card = step, code, card
        self.plain = PlannedStep(step, card=card)
        self._changes = RecentResults(KEPT)
        self.lacks_workspace = False

    @property
    def growth(self) -> str:
        """Sentences on memory that grows from step to step; empty where it does not."""
        return ""

    def cause(self, batch: int) -> str:
        """Return a sentence on what holds much of the peak of the unchanged step; empty where
        nothing special does."""
        return ""

    @property
    def one_batch(self) -> bool:
        """True if the plan is for one batch alone."""
        return self.plain.ledger.batches is not None and len(self.plain.ledger.batches) == 1

    @property
    def label(self) -> str:
        """Display name of the model."""
        return self.step.label or self.step.network

    def module_name(self, path: str) -> str:
        """Return the display name of a module."""
        return path

    def call(self, batch: int, memory: str) -> str:
        """Return the line of Python that explains the subject again; empty where the view's own
        line does."""
        return ""

    def path(self, layer: str) -> str:
        """Return the module of a layer. Blocks of memlab's own networks are numbers alone:
        ``"3.fc1"`` becomes ``"block.3.fc1"``."""
        return f"block.{layer}" if layer[:1].isdigit() else layer

    def changes(self, batch: int, nbytes: int) -> tuple[StepChange, ...]:
        """Return the changes that make a batch fit a memory, the cheapest first.

        Changes that compute the same numbers come before those that do not, then less time comes
        first; last come those whose time is not planned. Changes that save bytes but are not enough
        come after all others.

        Args:
            batch: samples of a step.
            nbytes: bytes of the memory.
        """

        def rank(change: StepChange) -> tuple[bool, bool, bool, float, int]:
            over = change.most(batch) > nbytes
            extra = 0.0 if over else round(change.extra, 2)
            copies = change.copies and not over
            return over, copies, over or not change.same, extra, change.peak(batch)

        return self._changes.of(
            (batch, nbytes), lambda: tuple(sorted(self._planned_changes(batch, nbytes), key=rank))
        )

    def _planned_changes(self, batch: int, nbytes: int) -> Iterator[StepChange]:
        """Yield the changes that save bytes at the peak, without those that this step does not
        allow."""
        for make_change in self._change_makers(batch, nbytes):
            try:
                change = make_change()
                if change and self.saved(change, batch) > 0:
                    yield change
            except InputError:
                continue

    def _change_makers(self, batch: int, nbytes: int) -> list[Callable[[], StepChange | None]]:
        """Return a function for each change that returns the planned change, or None."""
        late = self.plain.ledger.peak_at(batch).row.phase is Phase.UPDATE
        planned = partial(self._technique_change, batch)
        makers: list[Callable[[], StepChange | None]] = [
            partial(planned, "in_place", applied("in_place")),
            partial(planned, "eight_bits", applied("eight_bit_states"), same=False),
            partial(self._parts_change, batch, nbytes),
        ]
        if not late:
            makers.append(partial(self._recompute_change, batch, nbytes))
        return makers

    def saved(self, change: StepChange, batch: int) -> int:
        """Return the bytes that a change saves: at the peak of the plan, or where the plan stays
        as it is, on the card."""
        if change.expandable:
            return self.plain.most(batch) - change.most(batch)
        return self.plain.peak(batch) - change.peak(batch)

    def change(self, step: Step, batch: int, key: str, *code: str, **more: Any) -> StepChange:
        """Return a change with its planned cost in time.

        Args:
            step: the step with the change.
            batch: samples of a step.
            key: name of the change.
            code: lines to paste.
            more: other fields of ``StepChange``.
        """
        seconds = PlannedStep(step, more.get("parts", 1)).seconds(batch)
        extra = seconds / self.plain.seconds(batch) - 1
        return StepChange(step, key=key, code=code, extra=extra, card=self.card, **more)

    def _technique_change(self, batch: int, key: str, by: Applied, **more: Any) -> StepChange:
        """Return the change that a technique makes."""
        return self.change(by(self.step), batch, key, f"step = {by.line()}", **more)

    def _parts_change(self, batch: int, nbytes: int) -> StepChange:
        """Return the change that takes the batch in the fewest micro-batches that fit."""
        step = applied("accumulate", 2)(self.step)
        count = self._fewest_parts(step, batch, nbytes)
        code = f"step = {applied('accumulate', count).line()}"
        return self.change(step, batch, "parts", code, parts=count, same=False)

    def _fewest_parts(self, step: Step, batch: int, nbytes: int) -> int:
        """Return the smallest number of micro-batches that fits, or the largest that is tried.
        ``step`` writes out two."""
        few = [count for count in PARTS if count <= batch] or [1]
        fits = (count for count in few if self._planned(step, count).most(batch) <= nbytes)
        return int(next(fits, few[-1]))

    def _planned(self, step: Step, parts: int) -> PlannedStep:
        """Return a step in parts, planned for the card."""
        return PlannedStep(step, parts, self.card)

    def _recompute_change(self, batch: int, nbytes: int) -> StepChange | None:
        """Return the fastest recompute schedule that fits, or the one with the least peak."""
        room, change = nbytes - self.plain.beside(batch), None
        for _ in range(TRIES):
            change = self._chain_change(room, batch) if room > 0 else None
            if change is None or change.most(batch) <= nbytes:
                break
            room -= change.most(batch) - nbytes
        return change or self._chain_change(None, batch)

    def _chain_change(self, room: int | None, batch: int) -> StepChange | None:
        """Return the fastest recompute schedule whose plan stays within ``room`` bytes, or None.
        Without a room, return the one with the least peak."""
        chain = applied("recompute", "chain", batch=batch, budget=room)
        try:
            return self._technique_change(batch, "recompute", chain)
        except InputError:
            return None


def memory_bytes(given: int | str) -> int:
    """Return the bytes of a memory that is given as a number or as ``'12 GB'``.

    Raises:
        InputError: no amount, or less than 1 byte.
    """
    nbytes = units.parse(given)
    if nbytes < 1:
        raise InputError("memory must be more than 0 B; try memory='12 GB'.")
    return nbytes
