"""What the picture of techniques and its text show: one row for each, in exact bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from memlab.errors import InputError, flag, shorten, whole
from memlab.networks.graph import Network
from memlab.planner import exact
from memlab.planner.book import plan
from memlab.planner.placement import Block, Placement, arrange, blocks
from memlab.runtime import arena
from memlab.step.build import training_step
from memlab.step.step import Step
from memlab.step.storage import Size
from memlab.techniques import order
from memlab.techniques.cuts import cost
from memlab.views.network.source import network_of
from memlab.views.techniques.choices import Choice, choices
from memlab.views.techniques.measure import Measured, measure
from memlab.views.techniques.optimum import Floor, Trade, floor, trades, unbeaten, within

BEST = ("within", "chain")
"""Techniques that are the best schedules of a chain."""
BESIDE = ("every", "cheap", "greedy")
"""Techniques that such a schedule is compared with."""


@dataclass(frozen=True)
class Row:
    """One technique at the batch.

    ``peak`` is the most bytes inside an operation; where everything that is born is ``placed``, an
    arena and what is there before the step. ``again`` counts the operations that run again, and
    ``flops`` what they compute. ``cost`` is in nanoseconds by the clock. ``optimum`` is the
    fastest schedule of the stages of a chain within the same bytes, where there is one.
    """

    key: str
    call: str
    step: Step = field(repr=False)
    peak: int
    operations: int
    again: int
    flops: int
    cost: int
    floor: Floor
    placement: Placement | None = field(default=None, repr=False)
    optimum: Trade | None = None
    measured: Measured | None = None

    @property
    def point(self) -> tuple[int, int]:
        """Where it is drawn: bytes and nanoseconds."""
        return self.peak, self.cost


@dataclass(frozen=True)
class Rows:
    """Everything that is drawn and written.

    ``budget`` is that of the chain, ``given`` by the reader or halfway. ``trades`` are what some of
    the ``schedules`` take that are the best of a chain of ``stages``, none where it is too long.
    ``left_out`` has the keys of techniques that are not there.
    """

    network: str
    batch: int
    rows: tuple[Row, ...]
    budget: int | None = None
    given: bool = False
    stages: int = 0
    trades: tuple[Trade, ...] = ()
    schedules: int = 0
    left_out: tuple[str, ...] = ()

    def row(self, key: str) -> Row:
        """The row of a technique."""
        return next(row for row in self.rows if row.key == key)

    @property
    def plain(self) -> Row:
        """The step as it was given."""
        return self.row("plain")

    @property
    def operations(self) -> int:
        """Of the plain step."""
        return self.plain.operations

    @property
    def least(self) -> Row:
        """The row of the least peak; of equal ones the fastest, then the first."""
        return min(self.rows, key=lambda row: row.point)

    @property
    def floor(self) -> Floor:
        """What no order of the operations of any row can do without."""
        return min((row.floor for row in self.rows), key=lambda each: each.nbytes)

    @property
    def measured(self) -> bool:
        """Whether the rows have run, too."""
        return self.plain.measured is not None

    def ratio(self, row: Row, key: str = "plain") -> float:
        """The peak of a row divided by that of another one."""
        return row.peak / self.row(key).peak

    def extra(self, row: Row) -> float:
        """How much longer than the plain step it takes by the clock, in percent."""
        return self.percent(row.cost)

    def percent(self, cost: int) -> float:
        """Nanoseconds against those of the plain step."""
        return 100 * (cost / self.plain.cost - 1) if self.plain.cost else 0.0

    def slower(self, row: Row) -> float | None:
        """How much longer than the plain step its run took, in percent; negative: less long."""
        if row.measured is None or self.plain.measured is None:
            return None
        return 100 * (row.measured.seconds / self.plain.measured.seconds - 1)


def rows(subject: object, batch: int, budget: int | None, run: bool, progress: bool) -> Rows:
    """The rows of a network or a step; ``run`` runs every one of them.

    Raises:
        InputError: no network or step, one with techniques in it, or a batch that it does not hold
            for; a budget below the least peak of the chain; what does not fit or has no kernel,
            before anything runs.
    """
    step, number, run = _step(subject), whole("batch", batch), flag("measure", run)
    if step.batches is not None and number not in step.batches:
        held = f"{step.batches.start} to {step.batches.stop - 1}"
        raise InputError(f"this step holds for batch {held}, got {number}; make it again for that.")
    chosen = choices(step, number, budget)
    found, count = trades(step, number) if chosen.chained else ((), 0)
    made = [_row(each, step, number, found) for each in chosen.found]
    on = [Trade(*row.point) for row in made if row.key in BEST]
    return Rows(
        step.label or step.network,
        number,
        tuple(measure(made, number, progress) if run else made),
        chosen.budget,
        budget is not None,
        chosen.stages,
        unbeaten([*found, *on]),
        count,
        chosen.left_out,
    )


def _step(subject: object) -> Step:
    if isinstance(subject, str):
        subject = network_of(subject)
    if isinstance(subject, Network):
        subject = training_step(subject)
    if not isinstance(subject, Step):
        raise InputError(
            f"techniques are compared on a network or a step, got {shorten(subject)}; try "
            "memlab.views.techniques('resnet50')."
        )
    if order.recomputes(subject) or order.shares(subject):
        raise InputError(
            "techniques are compared on a step without any, and this one recomputes or is in "
            "place; try memlab.training_step(network)."
        )
    return subject


def _row(choice: Choice, plain: Step, batch: int, known: Sequence[Trade]) -> Row:
    step, ledger = choice.step, plan(choice.step)
    placement = _placement(blocks(step, batch)) if choice.placed else None
    if placement is not None:
        ledger = arena.booked(ledger, placement, batch)
    peak = ledger.peak(batch)
    again = [op for op in step.ops if order.AGAIN in op.attributes]
    beside = known and choice.key in BESIDE
    return Row(
        key=choice.key,
        call=choice.call,
        step=step,
        peak=peak,
        operations=len(step.ops),
        again=len(again),
        flops=sum((op.flops for op in again), Size()).at(batch),
        cost=cost(step.ops, batch),
        floor=floor(step, batch),
        placement=placement,
        optimum=within(plain, batch, peak, known) if beside else None,
    )


@lru_cache(maxsize=8)
def _placement(found: tuple[Block, ...]) -> Placement:
    """The smallest arena where it can be proved in seconds, else the best that was found."""
    if len(found) <= exact.MOST:
        try:
            return arrange(found, "exact")
        except InputError:  # no proof in time
            pass
    return arrange(found, "best")
